"""Each limit has its own status, with what was measured; runs are alike and leave nothing behind."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from rewardkit.sandbox import Job, Limits, Sandbox, SandboxUnavailable
from rewardkit.sandbox.jail import values
from rewardkit.sandbox.levels import prove, why_not
from rewardkit.sandbox.outcome import IsolationLevel, Outcome
from rewardkit.sandbox.worker import Worker, WorkerDied
from tests.living import alive, until
from tests.sandbox.corpus import descendants

ROOT = Path(__file__).parents[2]

ENDINGS = {
    "ok": "print(1)",
    "runtime_error": "1 / 0",
    "cpu_timeout": "while True: pass",
    "idle_timeout": "import time\ntime.sleep(1000)",
    "wall_timeout": "import time\ntime.sleep(1000)",
    "memory_limit": "x = 'x' * (1 << 31)",
    "output_limit": "while True: print('x' * 1000)",
    "process_limit": "import threading, time\nthreading.stack_size(32768)\nfor _ in range(300): threading.Thread(target=time.sleep, args=(9,), daemon=True).start()\ntime.sleep(5)",
}


@pytest.mark.slow
@pytest.mark.parametrize("status", ENDINGS)
def test_every_limit_has_its_own_status(worker: Worker, status: str) -> None:
    wall_s = 2 if status == "wall_timeout" else 200
    idle_s = 0.5 if status == "idle_timeout" else None
    cpu_s = 0.15 if status == "cpu_timeout" else 1.0
    limits = Limits(cpu_s, wall_s=wall_s, idle_s=idle_s, memory_mb=256, output_bytes=1 << 16)
    outcome = worker.run(Job(ENDINGS[status].encode(), limits=limits))
    assert outcome.status == status, outcome
    assert outcome.level == worker.level
    assert 0 < outcome.cpu_s < 2 and outcome.wall_s > 0 and outcome.peak_memory > 1 << 20


def test_cpu_time_decides_not_elapsed_time(worker: Worker) -> None:
    outcome = worker.run(Job(b"import time\ntime.sleep(0.5)\nprint(1)", limits=Limits(cpu_s=0.3, wall_s=10)))
    assert outcome.ok


def test_a_raised_exception_is_told_as_the_interpreter_tells_it(worker: Worker) -> None:
    outcome = worker.run(Job(b"def f():\n    raise ValueError('no')\nf()"))
    assert outcome.exit_code == 1
    told = 'Traceback (most recent call last):\n  File "main.py", line 3, in <module>\n  File "main.py", line 2, in f\nValueError: no\n'
    assert outcome.stderr.decode() == told


@pytest.mark.parametrize(
    ("program", "code"),
    [
        ("import sys; sys.exit(3)", 3),
        ("import sys; sys.exit('x')", 1),
        ("import os; os.abort()", -signal.SIGABRT),
    ],
)
def test_exit_statuses_are_kept(worker: Worker, program: str, code: int) -> None:
    assert worker.run(Job(program.encode())).exit_code == code


def test_runs_are_bit_for_bit_alike(worker: Worker) -> None:
    program = Job(
        b"import random, time, os\nprint(random.random(), hash('x'), time.tzname, dict(os.environ), {'a', 'b', 'c'})"
    )
    assert len({worker.run(program).stdout for _ in range(3)}) == 1


def test_a_run_sees_nothing_of_the_one_before(worker: Worker) -> None:
    worker.run(
        Job(
            b"import sys, builtins, math\nmath.pi = 3\nbuiltins.left = 1\nsys.modules['x'] = 1\nsys.path.append('y')\nsys.setrecursionlimit(99)"
        )
    )
    outcome = worker.run(
        Job(
            b"import sys, math\nprint(math.pi, 'left' in dir(__builtins__), 'x' in sys.modules, 'y' in sys.path, sys.getrecursionlimit())"
        )
    )
    assert outcome.stdout == b"3.141592653589793 False False False 1000\n"


def test_files_can_be_written_where_there_is_a_room_of_their_own() -> None:
    try:
        sandbox = Sandbox("warm")
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    with sandbox:
        program = "import tempfile\nwith tempfile.NamedTemporaryFile('w+') as f:\n    f.write('x')\nopen('a', 'w').write('y')\nprint(open('a').read())"
        assert sandbox.run(program).stdout == b"y\n"
        assert sandbox.run("import os\nprint(os.path.exists('a'))").stdout == b"False\n"


def test_large_output_and_input_pass_without_a_pump(worker: Worker) -> None:
    data = bytes(range(256)) * 8192
    outcome = worker.run(Job(b"import sys\nsys.stdout.buffer.write(sys.stdin.buffer.read())", data))
    assert outcome.stdout == data


def test_level_none_has_to_be_asked_for_twice() -> None:
    with pytest.raises(SandboxUnavailable, match="allow_unsafe"):
        Sandbox("none")
    with Sandbox("none", allow_unsafe=True) as sandbox:
        assert sandbox.run("print(1)").level == "none"


def test_root_without_other_user_ids_has_the_levels_of_another_user() -> None:
    """As in a rootless container: `unshare` maps one user id."""
    if reason := why_not("warm"):
        pytest.skip(reason)
    script = "from rewardkit.sandbox import Sandbox\nwith Sandbox() as s: print(s.level, s.run('print(42)').stdout)"
    command = ["unshare", "--user", "--map-root-user", sys.executable, "-c", script]
    if subprocess.run([*command[:3], "true"], capture_output=True).returncode:
        pytest.skip("unshare cannot make a user namespace here")
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )
    assert done.stdout == "warm b'42\\n'\n", done.stderr


def test_a_level_that_runs_no_program_says_why_once(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = Outcome("sandbox_error", detail="sandbox: PermissionError: no such user")
    monkeypatch.setattr(
        "rewardkit.sandbox.levels.Worker", lambda level: SimpleNamespace(run=lambda job: failed, close=int)
    )
    assert [finding.seen for finding in prove("warm")] == [f"sandbox_error: {failed.detail}"]


def test_processes_are_allowed_only_where_they_can_be_held(level: IsolationLevel) -> None:
    job = Job(
        b"import os\npid = os.fork()\nif not pid: os._exit(0)\nos.waitpid(pid, 0)\nprint(1)",
        limits=Limits(processes=4),
    )
    with Sandbox(level) as sandbox:
        if level == "guard":
            with pytest.raises(SandboxUnavailable, match="processes"):
                sandbox.run_job(job)
        else:
            assert sandbox.run_job(job).stdout == b"1\n"


def test_the_worker_is_of_no_use_to_a_fork_of_the_driver(level: IsolationLevel) -> None:
    with Sandbox(level) as sandbox:
        assert sandbox.run("print(1)").ok
        child = os.fork()
        if child == 0:
            os._exit(0 if sandbox.run("print(2)").stdout == b"2\n" else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert sandbox.run("print(3)").stdout == b"3\n"


@pytest.mark.slow
@pytest.mark.parametrize("busy", [False, True])
def test_nothing_outlives_a_driver_that_is_killed(level: IsolationLevel, busy: bool) -> None:
    script = textwrap.dedent(f"""
        import time
        from rewardkit.sandbox import Sandbox, Limits
        sandbox = Sandbox({level!r})
        sandbox.run("print(1)")
        print("up", flush=True)
        sandbox.run("while True: pass" if {busy} else "print(1)", limits=Limits(cpu_s=100))
        time.sleep(100)
    """)
    driver = subprocess.Popen(
        [sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.PIPE
    )
    assert driver.stdout is not None and driver.stdout.readline() == b"up\n"
    time.sleep(0.3)
    below = descendants(driver.pid)
    assert below
    driver.kill()
    driver.wait()
    driver.stdout.close()
    until(lambda: not any(alive(pid) for pid in below))


@pytest.mark.parametrize(
    "value",
    [
        -(10**40),
        float("inf"),
        "x\ud800",
        (1, [{2}]),
        frozenset({3}),
        {"a": None, 2: (True,)},
        b"\x00",
        1 + 2j,
        int,
    ],
)
def test_values_cross_unchanged(value: object) -> None:
    assert values.decode(values.loads(values.line({"value": values.encode(value)}))["value"]) == value


@pytest.mark.parametrize(
    "text",
    [
        b"[",
        b"\xff",
        b'{"value": {"tuple": 3}}',
        b'{"value": {"ref": 0}}',
        b'{"value": {"dict": [[[], 1]]}}',
        b'{"value":' + b"[" * 100_000,
    ],
)
def test_what_is_no_value_is_refused(text: bytes) -> None:
    with pytest.raises((ValueError, RecursionError)):
        values.decode(values.loads(text)["value"])


@pytest.mark.slow
def test_the_idle_limit_spares_a_program_that_only_waits_for_a_cpu(worker: Worker) -> None:
    busy = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * (os.cpu_count() or 1))
    ]
    try:
        outcome = worker.run(
            Job(b"for i in range(4 * 10**6): pass\nprint(1)", limits=Limits(cpu_s=20, wall_s=200, idle_s=0.1))
        )
        assert outcome.ok, outcome
    finally:
        for process in busy:
            process.kill()
            process.wait()


def test_a_lock_in_the_jail_holds_nobody_up(worker: Worker) -> None:
    program = "import fcntl, os, time\nfile = open(os.__file__)\nfcntl.flock(file, fcntl.LOCK_EX)\nfcntl.lockf(file, fcntl.LOCK_SH)\nprint(1, flush=True)\ntime.sleep(60)"
    worker.begin(Job(program.encode(), limits=Limits(wall_s=60)))
    running = worker._running
    assert running is not None
    until(lambda: os.fstat(running.stdout).st_size)
    with (
        open(os.__file__) as file,
        open(os.__file__, "rb+" if os.access(os.__file__, os.W_OK) else "rb") as writable,
    ):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.lockf(writable, (fcntl.LOCK_EX if writable.writable() else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    worker.cancel()
    assert worker.finish().stdout == b"1\n"


def test_a_program_is_not_idle_while_its_tests_work(level: IsolationLevel) -> None:
    slow = "import time\nwhile time.process_time() < 1: pass\nassert f() == 1"
    idle = "import time\ntime.sleep(3)\nassert f() == 1"
    limits = Limits(cpu_s=20, wall_s=200, idle_s=0.3)
    with Sandbox(level) as sandbox:
        answers = [sandbox.check("def f(): return 1", "", [test], limits)[0] for test in (slow, idle)]
    assert [answer.status for answer in answers] == ["ok", "idle_timeout"]


@pytest.mark.slow
def test_a_run_that_takes_every_server_with_it_has_run_out_of_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    try:
        sandbox = Sandbox()
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    finish = Worker.finish

    def killed(worker: Worker, on_parked: object = None) -> Outcome:
        running = worker._running
        if running is not None and b"deadly" in running.job.program:
            worker.cancel()
            raise WorkerDied("killed by the kernel")
        return finish(worker)

    monkeypatch.setattr(Worker, "finish", killed)
    with sandbox:
        assert sandbox.run("deadly = 1").status == "memory_limit"
        assert sandbox.check("deadly = 1", "", ["x = f()"])[0].status == "memory_limit"
        monkeypatch.setattr(
            Worker, "finish", lambda worker, on_parked=None: (killed(worker) and None) or _die()
        )
        assert sandbox.run("print(1)").status == "sandbox_error"


def _die() -> None:
    raise WorkerDied("any run ends like this")
