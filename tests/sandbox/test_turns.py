"""Turns of live programs: who runs, who waits, and what a program that waits may claim."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

import pytest

from rewardkit.sandbox import Limits, Sandbox
from rewardkit.sandbox.jail.turns import Turn, level_at, level_ends, write_table
from rewardkit.sandbox.outcome import IsolationLevel, Outcome
from rewardkit.sandbox.table import VARIABLE, TurnTable, memory_budget_mb
from rewardkit.sandbox.usual import UsualTime
from tests.living import until

SLEEPS = "import time\nprint(1, flush=True)\ntime.sleep(60)"
SPINS = "while True: pass"
LIMITS = Limits(cpu_s=20.0, wall_s=90.0, idle_s=60.0)


class Server:
    """A process of its own, because locks belong to processes, with the turn of one run."""

    def __init__(self, table: int, memory_mb: int) -> None:
        self.pipe, theirs = get_context("fork").Pipe()
        self.process = get_context("fork").Process(target=_serve, args=(theirs, table, memory_mb << 20))
        self.process.start()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            self.pipe.send((name, args))
            return self.pipe.recv()

        return call

    def kill(self) -> None:
        self.process.kill()
        self.process.join()


def _serve(pipe: Connection, table: int, memory: int) -> None:
    turn = Turn(table, memory)
    while True:
        name, args = pipe.recv()
        pipe.send(getattr(turn, name)(*args))


@pytest.fixture
def servers() -> Iterator[Callable[..., Server]]:
    """A function that makes servers with one table of one slot and 1,000 MiB."""
    table = os.memfd_create("table")
    write_table(table, 1, 1_000)
    made: list[Server] = []

    def make(memory_mb: int = 100) -> Server:
        made.append(Server(table, memory_mb))
        return made[-1]

    yield make
    for server in made:
        server.kill()
    os.close(table)


def test_a_level_lasts_twice_as_long_as_the_one_before() -> None:
    assert [level_at(seconds) for seconds in (0.0, 0.009, 0.01, 0.03, 0.1, 1_000.0)] == [0, 0, 1, 2, 4, 15]
    assert [level_at(level_ends(level)) for level in range(15)] == list(range(1, 16))


def test_a_program_that_has_used_less_cpu_comes_first_and_then_who_waits_longest(
    servers: Callable[..., Server],
) -> None:
    runs, old, older, fresh = servers(), servers(), servers(), servers()
    assert runs.take(0)
    assert not any([older.take(5), old.take(5), runs.is_wanted(5), runs.is_wanted(0)])
    assert not fresh.take(0)
    assert runs.is_wanted(5) and not runs.is_wanted(0)
    runs.give_back(0)
    assert [old.take(5), older.take(5), fresh.take(0)] == [False, False, True]
    fresh.end()
    assert [old.take(5), older.take(5)] == [False, True]


def test_a_server_that_dies_leaves_its_slot_and_its_place_and_its_memory(
    servers: Callable[..., Server],
) -> None:
    runs, waits, last = servers(1_000), servers(1_000), servers(1_000)
    assert [runs.take(0), waits.take(0), last.take(1)] == [True, False, False]
    runs.kill()
    waits.kill()
    assert last.take(1)


def test_claims_stay_within_the_budget_but_a_program_alone_always_runs(
    servers: Callable[..., Server],
) -> None:
    table = os.memfd_create("table")
    write_table(table, 2, 1_000)
    first, second, third = (Server(table, memory_mb) for memory_mb in (700, 300, 400))
    assert first.take(0)
    assert second.take(0)
    second.give_back(100 << 20)  # it sleeps, with 100 MiB in use
    assert not third.take(0)  # 700 + 100 + 400
    first.give_back(500 << 20)
    assert third.take(0)  # 500 + 100 + 400
    assert not first.take(1)
    third.give_back(400 << 20)
    assert first.take(1)  # nobody runs who could release memory
    for server in (first, second, third):
        server.kill()
    os.close(table)


def test_the_budget_allows_a_program_with_the_usual_limit_in_each_slot() -> None:
    assert memory_budget_mb(3) >= 3 * 1_024


@pytest.fixture
def one_slot(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    table = TurnTable(1)
    monkeypatch.setenv(VARIABLE, table.environment[VARIABLE])
    yield
    table.close()


class Started:
    """A run in a thread and a sandbox of its own, which ends with the block."""

    def __init__(
        self, level: IsolationLevel, program: str, limits: Limits = LIMITS, usual: UsualTime | None = None
    ) -> None:
        self.sandbox = Sandbox(level, usual=usual)
        self.parked = threading.Event()
        self.sandbox.on_parked = self.parked.set
        self.outcomes: list[Outcome] = []
        self.thread = threading.Thread(target=self._run, args=(program, limits))
        self.thread.start()

    def _run(self, program: str, limits: Limits) -> None:
        self.outcomes.append(self.sandbox.run(program, limits=limits))

    def end(self, *, cancel: bool = True) -> Outcome:
        if cancel:
            self.sandbox.cancel()
        self.thread.join()
        self.sandbox.close()
        return self.outcomes[0]


@pytest.mark.usefixtures("one_slot")
@pytest.mark.parametrize("program", [SLEEPS, SPINS])
def test_a_cheap_program_does_not_wait_for_others_to_end(level: IsolationLevel, program: str) -> None:
    others = [Started(level, program) for _ in range(3)]
    cheap = Started(level, "print(1)").end(cancel=False)
    running = [other.thread.is_alive() for other in others]
    ended = [other.end().status for other in others]
    assert cheap.status == "ok" and running == [True] * 3 and ended == ["cancelled"] * 3


@pytest.mark.usefixtures("one_slot")
def test_a_program_that_needs_what_others_have_needed_keeps_its_turn(level: IsolationLevel) -> None:
    usual = UsualTime()
    usual.learn(0.06)
    stop = threading.Event()

    def go_on() -> None:
        with Sandbox(level) as sandbox:
            while not stop.is_set():
                sandbox.run("pass")

    others = [threading.Thread(target=go_on) for _ in range(3)]
    for other in others:
        other.start()
    try:
        for given, seconds, gives_up in ((UsualTime(), 2.0, True), (usual, 0.06, False)):
            program = f"import time\nwhile time.process_time() < {seconds}: pass"
            run = Started(level, program, usual=given)
            assert run.end(cancel=False).status == "ok"
            assert run.parked.is_set() is gives_up
    finally:
        stop.set()
        for other in others:
            other.join()


def test_what_programs_usually_need_is_learnt_from_those_that_end(level: IsolationLevel) -> None:
    usual = UsualTime()
    spins = "import time\nwhile time.process_time() < 0.03: pass"
    with Sandbox(level, usual=usual) as sandbox:
        sandbox.run(SPINS, limits=Limits(cpu_s=0.2))
        sandbox.arm()
        assert usual.allowance_s == 0
        for i in range(40):
            sandbox.run(f"{spins} # {i}", limits=LIMITS)
            sandbox.arm()
        assert usual.allowance_s > 0.04


@pytest.mark.usefixtures("one_slot")
def test_a_program_that_was_held_back_has_its_whole_limits(level: IsolationLevel) -> None:
    """It stands still for much longer than it may idle, or may take in all."""
    right = "import time\nwhile time.process_time() < 0.3: pass\nprint(1)"
    held = Started(level, right, Limits(cpu_s=5.0, wall_s=60.0, idle_s=0.5))
    spinner = Started(level, SPINS)
    assert held.parked.wait(60) or held.outcomes
    cheap = [Started(level, "import time\nwhile time.process_time() < 0.1: pass") for _ in range(16)]
    assert [one.end(cancel=False).status for one in cheap] == ["ok"] * 16
    outcome = held.end(cancel=False)
    spinner.end()
    assert outcome.status == "ok" and outcome.wall_s < 60


@pytest.mark.usefixtures("one_slot")
def test_tests_and_their_program_get_their_turns_beside_programs_that_spin(level: IsolationLevel) -> None:
    spinners = [Started(level, SPINS) for _ in range(2)]
    source = "import time\ndef f(x):\n    end = time.process_time() + 0.05\n    while time.process_time() < end: pass\n    return x"
    with Sandbox(level) as sandbox:
        answers = sandbox.check(source, "", ["assert f(1) == 1"] * 3, LIMITS)
    assert [answer.status for answer in answers] == ["ok"] * 3
    assert [spinner.end().status for spinner in spinners] == ["cancelled"] * 2


@pytest.mark.slow
@pytest.mark.usefixtures("one_slot")
def test_a_run_that_waits_for_its_first_turn_says_so(level: IsolationLevel) -> None:
    """Its caller knows then that it does not hang, however long it waits."""
    busy = Started(level, SPINS)
    with Sandbox(level) as sandbox:
        until(lambda: sandbox.run("pass").ok and busy.parked.is_set())
        spent = f"{SPINS} # another program"
        sandbox._used_s[spent.encode()] = 1_000.0  # it comes after everybody
        said: list[float] = []
        sandbox.on_parked = lambda: (said.append(time.monotonic()), sandbox.cancel())[0]
        # The other program may be between two turns, so this one may begin before it waits.
        assert sandbox.run(spent, limits=LIMITS).cpu_s < 0.1 and said
    busy.end()


@pytest.mark.usefixtures("one_slot")
def test_a_run_is_cancelled_while_it_waits_for_its_first_turn(level: IsolationLevel) -> None:
    busy = Started(level, SPINS)
    with Sandbox(level) as sandbox:
        until(lambda: sandbox.run("pass").ok and busy.parked.is_set())
        spent = f"{SPINS} # another program"
        sandbox._used_s[spent.encode()] = 1_000.0  # it comes after everybody
        waiting = threading.Thread(target=lambda: found.append(sandbox.run(spent, limits=LIMITS)))
        found: list[Outcome] = []
        waiting.start()
        time.sleep(0.3)
        sandbox.cancel()
        waiting.join()
    assert found[0].status == "cancelled"
    assert busy.end().status == "cancelled"
