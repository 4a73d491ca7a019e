"""The SymPy worker: killed when it takes too long, replaced, and usable from anywhere."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from rewardkit.rewards.math import Options, compare, score, symbolic
from rewardkit.rewards.math.killable import Killable, WorkerDied
from rewardkit.types import Sample

SERIES = ("\\sum_{k=0}^{\\infty}\\frac{1}{2^k}", "2")
ENDLESS = "\\sum_{n=1}^{\\infty}\\frac{1}{n^3+\\sin n}"


def closed_form() -> str:
    return compare(*SERIES, Options(deadline_s=20)).outcome


def test_closed_forms_are_found_and_refuted() -> None:
    assert closed_form() == "equal"
    assert compare(SERIES[0], "3", Options(deadline_s=20)).outcome == "not_equal"


def test_a_question_that_takes_too_long_is_a_timeout_and_not_a_wrong_answer() -> None:
    closed_form()
    start = time.monotonic()
    found = score(Sample("math", f"\\boxed{{{ENDLESS}}}", "1"), Options(deadline_s=0.5))
    assert time.monotonic() - start < 10
    assert (found.status, found.correct) == ("timeout", None)
    assert closed_form() == "equal"  # the spare has taken over


def test_a_worker_killed_from_outside_is_replaced() -> None:
    closed_form()
    os.kill(symbolic._WORKER._processes[0].pid, signal.SIGKILL)
    assert "equal" in (closed_form(), closed_form())


def test_the_symbolic_tier_can_be_turned_off() -> None:
    verdict = compare(*SERIES, Options(symbolic=False))
    assert (verdict.outcome, verdict.failure) == ("undecided", "")


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


def _send(queue: multiprocessing.Queue[str]) -> None:
    queue.put(closed_form())
    symbolic.close()


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_it_works_in_child_processes_which_leave_the_parents_worker_alone(method: str) -> None:
    closed_form()
    before = symbolic._WORKER._processes[0].pid
    context = multiprocessing.get_context(method)
    queue: multiprocessing.Queue[str] = context.Queue()
    child = context.Process(target=_send, args=(queue,))
    child.start()
    assert queue.get(timeout=60) == "equal"
    child.join()
    assert closed_form() == "equal"
    assert symbolic._WORKER._processes[0].pid == before


def test_no_worker_outlives_its_parent() -> None:
    program = (
        "from rewardkit.rewards.math import compare, symbolic; import os\n"
        f"compare({SERIES[0]!r}, '2')\n"
        "print(*(p.pid for p in symbolic._WORKER._processes), flush=True)\n"
        "os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    workers = [int(pid) for pid in done.stdout.split()]
    assert workers
    until = time.monotonic() + 20
    while any(_alive(pid) for pid in workers) and time.monotonic() < until:
        time.sleep(0.1)
    assert not any(_alive(pid) for pid in workers)


def _alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_worker_that_cannot_start_is_an_error_with_its_name() -> None:
    with pytest.raises(WorkerDied, match="no_such_module"):
        Killable("rewardkit.no_such_module").ask({}, 1.0)
