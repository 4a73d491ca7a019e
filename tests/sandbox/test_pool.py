"""The pool: fair, bounded, what is cancelled is killed; every run gets one result."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rewardkit.sandbox import Job, Limits, Outcome, Pool, Sandbox, SandboxBusy
from rewardkit.sandbox.levels import why_not
from tests.living import alive, descendants, held, nothing_more_than, until

GOOD, LOOP = b"print(int(input()) + 1)", b"while True: pass"
CRASH, FLOOD = b"import os\nos.abort()", b"while True: print('x' * 1000)"
SHORT = Limits(cpu_s=0.03, wall_s=20, output_bytes=1 << 16)


@pytest.fixture
def pool() -> Iterator[Pool]:
    if why_not("warm") and why_not("guard"):
        pytest.skip("no isolation holds on this host")
    with Pool(2) as pool:
        yield pool


def run_all(pool: Pool, jobs: list[Job]) -> list[Outcome]:
    return [ticket.result() for ticket in [pool.submit(job) for job in jobs]]


def test_each_run_gets_its_own_outcome(pool: Pool) -> None:
    outcomes = run_all(pool, [Job(GOOD, b"%d" % n) for n in range(20)])
    assert [o.stdout for o in outcomes] == [b"%d\n" % (n + 1) for n in range(20)]


def test_callers_take_turns(pool: Pool) -> None:
    ended: list[bytes] = []
    with Pool(1, pool.level) as single:
        with single._changed:  # nothing is taken from the queue before all of it is there
            tickets = [single.submit(Job(GOOD, b"%d" % n), caller="many") for n in range(20)]
            tickets.append(single.submit(Job(GOOD, b"70"), caller="few"))
            for ticket in tickets:
                ticket.add_done_callback(lambda ticket: ended.append(ticket.result().stdout))
        assert all(ticket.result().ok for ticket in tickets)
    assert ended[:3] == [b"1\n", b"71\n", b"2\n"] and len(ended) == 21


def test_a_caller_that_runs_nothing_gets_a_spare_sandbox(pool: Pool) -> None:
    spins = Job(b"while True: pass", limits=Limits(cpu_s=600, wall_s=600))
    with Pool(1, pool.level, spare=1) as busy:
        tickets = [busy.submit(spins, caller="many") for _ in range(4)]
        assert busy.submit(Job(GOOD, b"1"), caller="few").result(120).stdout == b"2\n"
        assert busy.submit(Job(GOOD, b"2"), caller="few").result(120).stdout == b"3\n"
        assert tickets[0].running() and not tickets[-1].running()
        assert not any(ticket.done() for ticket in tickets)
        for ticket in tickets:
            ticket.cancel()


def test_a_full_queue_refuses_who_will_not_wait() -> None:
    with Pool(1, queue_size=2) as pool:
        busy = [pool.submit(Job(b"import time\ntime.sleep(60)", limits=Limits(wall_s=60)))]
        with pytest.raises(SandboxBusy, match="waiting"):
            for _ in range(5):
                busy.append(pool.submit(Job(GOOD, b"1"), wait=False))


def test_cancelling_kills_the_run(pool: Pool) -> None:
    ticket = pool.submit(Job(b"import time\ntime.sleep(600)", limits=Limits(wall_s=600)))
    until(lambda: ticket.running() and ticket.sandbox is not None)
    time.sleep(0.1)
    ticket.cancel()
    assert ticket.result(60).status == "cancelled"
    assert pool.submit(Job(GOOD, b"1")).result().stdout == b"2\n"


def test_a_run_does_not_wait_for_those_that_sleep_and_their_threads_go_with_them() -> None:
    with Pool(1) as pool:
        threads = len(held()[1])
        asleep = [
            pool.submit(Job(b"import time\ntime.sleep(600)", limits=Limits(wall_s=600))) for _ in range(3)
        ]
        assert pool.submit(Job(GOOD, b"1")).result().stdout == b"2\n"
        assert not any(ticket.done() for ticket in asleep)
        for ticket in asleep:
            ticket.cancel()
        until(lambda: len(held()[1]) <= threads)
        assert pool.submit(Job(GOOD, b"1")).result().stdout == b"2\n"


def test_event_loops_share_it_and_cancel_what_they_started(pool: Pool) -> None:
    async def main() -> None:
        outcomes = await asyncio.gather(*(pool.arun(Job(GOOD, b"%d" % n)) for n in (1, 2, 1)))
        assert [o.stdout for o in outcomes] == [b"2\n", b"3\n", b"2\n"]
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(
                pool.arun(Job(b"import time\ntime.sleep(600)", limits=Limits(wall_s=600))), 0.3
            )
        assert (await pool.arun(Job(GOOD, b"5"))).stdout == b"6\n"

    asyncio.run(main())


def test_closing_leaves_no_process_thread_or_descriptor() -> None:
    before, children = held(), set(descendants(os.getpid()))
    pool = Pool(2)
    running = [pool.submit(Job(LOOP, b"%d" % n, Limits(cpu_s=60))) for n in range(5)]
    until(lambda: running[0].running())
    pool.close()
    assert all(t.done() for t in running)
    until(lambda: nothing_more_than(before))
    until(lambda: not any(alive(pid) for pid in set(descendants(os.getpid())) - children))


def test_a_template_that_is_killed_is_replaced_and_its_servers_go_on() -> None:
    if why_not("warm") and why_not("guard"):
        pytest.skip("no isolation holds on this host")
    with Sandbox() as first, Sandbox() as second:
        assert first.run("print(1)").ok
        below = [pid for pid in descendants(os.getpid()) if _parent(pid) == os.getpid()]
        templates = [pid for pid in below if b"jail.template" in _command(pid)]
        assert templates
        for pid in templates:
            os.kill(pid, signal.SIGKILL)
        assert second.run("print(2)").ok and first.run("print(3)").ok


@pytest.mark.slow
def test_every_run_gets_its_result_while_servers_are_killed(pool: Pool) -> None:
    """A server is killed each time that ten more runs have ended: each dies at some point of its work."""
    tickets = [pool.submit(Job((GOOD, CRASH, FLOOD)[n % 3], b"%d" % n, SHORT)) for n in range(200)]
    killed = set()
    for ended in range(10, 200, 10):
        until(lambda ended=ended: sum(t.done() for t in tickets) >= ended)  # type: ignore[misc]
        if mine := _servers() - killed:
            killed.add(victim := max(mine) if ended % 20 else min(mine))
            with contextlib.suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)
    outcomes = [t.result() for t in tickets]
    assert len(outcomes) == 200 and len(killed) > 10
    statuses = {o.status for o in outcomes}
    assert statuses <= {"ok", "runtime_error", "output_limit", "memory_limit", "sandbox_error", "cpu_timeout"}
    good = [o for n, o in enumerate(outcomes) if n % 3 == 0 and o.ok]
    assert len(good) >= 50


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _parent(pid: int) -> int:
    with contextlib.suppress(OSError):  # it has just ended
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return 0


def _servers() -> set[int]:
    """The servers of this process and their runs, but not the template from which they were forked."""
    templates = [pid for pid in descendants(os.getpid()) if b"jail.template" in _command(pid)]
    return {pid for template in templates for pid in descendants(template) if alive(pid)}


def _resident(pids: set[int]) -> int:
    pages = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            pages += int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages


@pytest.mark.slow
def test_a_soak_keeps_memory_descriptors_and_processes_constant(pool: Pool) -> None:
    def round_of(start: int) -> list[str]:
        jobs = [
            Job((GOOD, LOOP, CRASH, FLOOD)[n % 4 if n % 20 < 4 else 0], b"%d" % n, SHORT)
            for n in range(start, start + 200)
        ]
        return [str(o.status) for o in run_all(pool, jobs)]

    round_of(0)
    idle = 4 if pool.level == "warm" else 2  # there, each server is behind the first process of its namespace
    until(lambda: len(_servers()) == idle)  # no run is left beside them
    servers, before, descriptors = _servers(), _resident(_servers()), held()
    for start in range(1000, 1800, 200):
        assert round_of(start).count("sandbox_error") == 0
    until(lambda: _servers() == servers)
    until(lambda: nothing_more_than(descriptors))
    assert _resident(servers) <= before * 1.05 + 64
