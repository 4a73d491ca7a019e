"""SymPy's server: one for all workers, its forks killed when they take too long, usable from anywhere."""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from rewardkit import worker_lifeline
from rewardkit.rewards.math import compare, score
from rewardkit.rewards.math.guards import SYMPY_CPU_S, budget
from rewardkit.rewards.math.sympy import client
from rewardkit.rewards.math.sympy.forkserver_client import ForkServer, ServerFailed, Undecided
from rewardkit.scoring.scorer import Scorer
from rewardkit.types import Sample
from tests.living import alive, descendants, until

SERIES = ("\\sum_{k=0}^{\\infty}\\frac{1}{2^k}", "2")
ENDLESS = "\\sum_{n=1}^{\\infty}\\frac{1}{n^3+\\sin n}"


def closed_form() -> str:
    with budget(20.0):
        return compare(*SERIES).outcome


def test_closed_forms_are_found_and_refuted() -> None:
    assert closed_form() == "equal"
    with budget(20.0):
        assert compare(SERIES[0], "3").outcome == "not_equal"


def test_what_an_answer_makes_undecidable_is_not_equal_and_no_failure() -> None:
    with budget(0.3):
        found = score(Sample("math", f"\\boxed{{{ENDLESS}}}", "1"))
    assert (found.status, found.score, found.correct) == ("ok", 0.0, False)
    assert "SymPy's time limit" in (found.detail or "")
    assert closed_form() == "equal"  # another fork has taken over


def test_the_parts_of_an_answer_share_one_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []

    def spend_all(question: object, cpu_s: float) -> dict[str, object]:
        asked.append(cpu_s)
        raise Undecided("too long")

    monkeypatch.setattr(client.SERVER, "ask", spend_all)
    boxes = ", ".join(f"\\boxed{{{ENDLESS}+{k}}}" for k in range(9))
    found = score(Sample("math", boxes, '["\\\\pi", "e"]'))
    assert (found.status, found.score) == ("ok", 0.0)
    assert sum(asked) <= SYMPY_CPU_S


TARGET = "fork_answers:answer"


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    yield ForkServer(TARGET)
    worker_lifeline.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("do", "reason"),
    [("spin", "too long"), ("eat", "out of memory"), ("crash", "crashed"), ("quit", "crashed")],
)
def test_a_question_that_breaks_its_fork_is_undecided_and_the_next_is_answered(
    server: ForkServer, do: str, reason: str
) -> None:
    with pytest.raises(Undecided, match=reason):
        server.ask({"do": do}, 0.2)
    assert server.ask({"do": "say"}, 1.0)["pid"]


def test_a_fork_killed_by_someone_else_costs_no_question(server: ForkServer, tmp_path: Path) -> None:
    assert server.ask({"do": "be killed once", "mark": str(tmp_path / "killed")}, 1.0)["pid"]
    with pytest.raises(ServerFailed, match="killed"):
        server.ask({"do": "be killed"}, 1.0)


@pytest.mark.slow
def test_a_server_killed_from_outside_is_replaced(server: ForkServer) -> None:
    server.ask({"do": "say"}, 1.0)
    before = server._started[-1]
    before.kill()
    before.wait()
    assert server.ask({"do": "say"}, 1.0)["pid"]
    assert server._started[-1] is not before


def test_a_library_that_raises_leaves_the_question_open(server: ForkServer) -> None:
    assert server.ask({"do": "raise"}, 1.0)["outcome"] == "undecided"


def test_a_server_that_cannot_start_is_a_failure_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ServerFailed, match="no_such_module"):
        ForkServer("rewardkit.no_such_module:answer").ask({}, 1.0)
    monkeypatch.setattr(client, "SERVER", ForkServer("rewardkit.no_such_module:answer"))
    found = score(Sample("math", f"\\boxed{{{SERIES[0]}}}", "2"))
    assert (found.status, found.correct) == ("error", None)


def _forks(process: int) -> set[int]:
    try:
        with open(f"/proc/{process}/task/{process}/children") as children:
            return {int(pid) for pid in children.read().split()}
    except OSError:
        return set()


@pytest.mark.slow
def test_all_workers_of_a_scorer_share_one_sympy_that_ends_with_it() -> None:
    samples = [Sample("math", f"\\boxed{{{SERIES[0]}}}", str(2 + k % 2)) for k in range(12)]
    before = _servers()
    with Scorer(workers=3) as scorer:
        assert [s.score for s in scorer.score_batch(samples)] == [1.0, 0.0] * 6
        until(lambda: len(_servers() - before) == 1)
        mine = _servers() - before
        until(lambda: 1 <= len(_forks(*mine)) <= 3)
    until(lambda: not any(alive(pid) for pid in mine))


def _servers() -> set[int]:
    """The servers below this process that run now, without their forks. Other tests have theirs beside us."""
    found = set()
    for pid in descendants(os.getpid()):
        with contextlib.suppress(OSError):
            command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            if any(part.endswith(b"forkserver:main") for part in command) and alive(pid):
                found.add(pid)
    return found - {fork for process in found for fork in _forks(process)}


@pytest.mark.slow
def test_it_works_from_threads_and_event_loops() -> None:
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(closed_form())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == ["equal"] * 4

    async def in_loop() -> list[str]:
        loop = asyncio.get_running_loop()
        return list(await asyncio.gather(*(loop.run_in_executor(None, closed_form) for _ in range(3))))

    assert asyncio.run(in_loop()) == ["equal"] * 3


def _send(server: ForkServer, queue: multiprocessing.Queue[tuple[int, int]]) -> None:
    queue.put((server.ask({"do": "say"}, 1.0)["pid"], server._started[-1].pid))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_it_works_in_child_processes_which_leave_the_parents_server_alone(
    server: ForkServer, method: str
) -> None:
    server.ask({"do": "say"}, 1.0)
    before = server._started[-1].pid
    context = multiprocessing.get_context(method)
    queue: multiprocessing.Queue[tuple[int, int]] = context.Queue()
    child = context.Process(target=_send, args=(server if method == "fork" else ForkServer(TARGET), queue))
    child.start()
    fork, process = queue.get(timeout=300)
    child.join()
    assert fork not in _forks(before)
    assert server.ask({"do": "say"}, 1.0)["pid"] in _forks(before)
    assert server._started[-1].pid == before != process
    until(lambda: not alive(process))


@pytest.mark.slow
@pytest.mark.parametrize(
    "end", ["os.kill(os.getpid(), 9)", "pass", "worker_lifeline.close(); time.sleep(60)"]
)
def test_no_server_outlives_who_started_it(end: str) -> None:
    program = (
        "import os, time\n"
        "from rewardkit import worker_lifeline\n"
        "from rewardkit.rewards.math.sympy.forkserver_client import ForkServer\n"
        f"server = ForkServer({TARGET!r})\n"
        "server.ask({'do': 'say'}, 1.0)\n"
        "process = server._started[0].pid\n"
        "print(process, open(f'/proc/{process}/task/{process}/children').read(), flush=True)\n"
        f"{end}"
    )
    owner = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parent
    )
    assert owner.stdout is not None
    processes = {int(pid) for pid in owner.stdout.readline().split()}
    assert len(processes) >= 2  # the server and its forks
    until(lambda: not any(alive(pid) for pid in processes))
    owner.kill()
    owner.wait()
    owner.stdout.close()
