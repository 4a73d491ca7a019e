"""`Sandbox`: runs programs, function calls and assertions on fork servers that it starts and replaces.

For one thread at a time; `pool.py` shares several. A run whose server died is given to a new one.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any

from rewardkit.sandbox import levels
from rewardkit.sandbox.jail import values
from rewardkit.sandbox.jail.checks import ENDED
from rewardkit.sandbox.outcome import DEFAULT_LIMITS, Level, Limits, Outcome, Status
from rewardkit.sandbox.worker import Job, Worker, WorkerDied


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of one call or one assertion."""

    status: Status
    value: bytes = b""
    """The result as the program's process encoded it: one line, hostile, for `values.loads`."""
    error: str | None = None
    """One line on what it raised, or why there is no answer."""


_ATTEMPTS = 3
_LATE = Answer("wall_timeout", error="not run: the deadline of the whole solution had passed")


class Sandbox:
    """A few warm fork servers and the one level they run at. A context manager.

    Raises:
        SandboxUnavailable: the level asked for does not hold on this host.
    """

    def __init__(self, level: levels.LevelChoice = "auto", *, allow_unsafe: bool = False) -> None:
        self.level: Level = levels.choose(level, allow_unsafe=allow_unsafe)
        self._workers: dict[tuple[str, str], Worker] = {}
        self._busy: list[Worker] = []
        self._lock = threading.Lock()
        self._cancelled = False
        self._closed = False

    def run(
        self,
        program: str | bytes,
        stdin: str | bytes = b"",
        limits: Limits = DEFAULT_LIMITS,
        *,
        prelude: bool = False,
    ) -> Outcome:
        """Run a program to its end and return what came of it.

        Args:
            program: Python source.
            stdin: All of its standard input.
            limits: What it may use.
            prelude: Give it the names of common modules without an import.
        """
        return self.run_job(Job(_bytes(program), _bytes(stdin), limits, prelude=prelude))

    def run_job(self, job: Job) -> Outcome:
        """Run one job, on another server if the first one dies of it."""
        for _ in range(_ATTEMPTS):
            with contextlib.suppress(WorkerDied), self._using("main", job) as worker:
                self._begin(worker, job)
                return worker.finish()
            if self._closed or self._cancelled:
                return Outcome("cancelled", level=self.level)
        return Outcome("sandbox_error", level=self.level, detail="the sandbox's servers die of this run")

    def call(
        self,
        program: str | bytes,
        function: str,
        cases: Sequence[Sequence[Any]],
        limits: Limits = DEFAULT_LIMITS,
        *,
        deadline: float = float("inf"),
        stop: bool = False,
    ) -> list[Answer]:
        """Call `function` of a program (its own, or `Solution`'s method) with each case's arguments.

        All cases run in one child. Should it end early, the case it ended in has that end for an answer
        and the rest run in another child; so each case has all of `limits.cpu_s` if it needs it.

        Args:
            deadline: On `time.monotonic()`; cases that are not done by then are answered as wall_timeout.
            stop: Do not go on after a child that ended early.
        """
        source = _bytes(program)
        encoded = [values.encode(list(case)) for case in cases]
        answers: list[Answer] = []
        while len(answers) < len(cases):
            left = deadline - time.monotonic()
            if left <= 0 or (answers and stop and answers[-1].status != "ok"):
                return answers + [_LATE] * (len(cases) - len(answers))
            request = json.dumps({"function": function, "cases": encoded[len(answers) :]}).encode()
            job = Job(source, b"", within(limits, left), "call", request, prelude=True)
            outcome = self.run_job(job)
            got = [_answer(line) for line in outcome.results.splitlines()]
            answers += got[: len(cases) - len(answers)]
            if len(answers) < len(cases):
                answers.append(_no_answer(outcome))
                if not got and outcome.status == "runtime_error":  # it fails as it loads: so will every case
                    answers += [answers[-1]] * (len(cases) - len(answers))
        return answers

    def check(
        self,
        program: str | bytes,
        setup: str,
        tests: Sequence[str],
        limits: Limits = DEFAULT_LIMITS,
        *,
        deadline: float = float("inf"),
    ) -> list[Answer]:
        """Run each of `tests` (assertions) in one jailed child while `program` is in another.

        A name in them that neither they nor `setup` define is a function of the program, and so is
        `__candidate__('name')`; the two children speak plain values. `ok` means that a test passed.
        """
        answers: list[Answer] = []
        while len(answers) < len(tests):
            left = deadline - time.monotonic()
            if left <= 0:
                return answers + [_LATE] * (len(tests) - len(answers))
            answers += self._check_some(_bytes(program), setup, tests[len(answers) :], within(limits, left))
        return answers

    def _check_some(self, program: bytes, setup: str, tests: Sequence[str], limits: Limits) -> list[Answer]:
        """Run tests up to the first in which either child ends; that one's answer says how."""
        request = json.dumps({"setup": setup, "tests": list(tests)}).encode()
        for _ in range(_ATTEMPTS):
            ours, theirs = socket.socketpair()
            with ours, theirs:
                candidate = Job(program, b"", limits, "serve", channel=ours.fileno(), prelude=True)
                checker = Job(request, b"", limits, "check", channel=theirs.fileno(), prelude=True)
                with contextlib.suppress(WorkerDied):
                    return self._play(candidate, checker, (ours, theirs), len(tests))
            if self._closed or self._cancelled:
                break
        return [Answer("sandbox_error", error="the sandbox's servers die of this run")] * len(tests)

    def _play(
        self, candidate: Job, checker: Job, ends: tuple[socket.socket, ...], count: int
    ) -> list[Answer]:
        with self._using("main", candidate) as one, self._using("second", checker) as two:
            self._begin(one, candidate)
            self._begin(two, checker)
            for end in ends:
                end.close()  # so that each child sees the end of the other
            judged = two.finish()
            one.cancel()  # it has nothing left to answer
            answered = one.finish()
        answers = [_verdict(line) for line in judged.results.splitlines()[:count]]
        for position, answer in enumerate(answers):
            if answer.error is not None and answer.error.endswith(ENDED):
                return [*answers[:position], _no_answer(answered)]
        return answers if len(answers) == count else [*answers, _no_answer(judged)]

    @contextlib.contextmanager
    def _using(self, slot: str, job: Job) -> Iterator[Worker]:
        """A worker of the job's flavour; one that failed is replaced the next time."""
        key = (slot, job.flavour)
        worker = self._workers.pop(key, None)
        if worker is None or worker.owner != os.getpid():
            worker = Worker(self.level, job.flavour)
        with self._lock:
            closed = self._closed
            self._busy.append(worker)
        try:
            if closed:
                raise WorkerDied("the sandbox is closed")
            yield worker
        except BaseException:
            self._release(worker)
            worker.close()
            raise
        self._release(worker)
        if self.level == "full":
            worker.close()
        else:
            self._workers[key] = worker

    def _release(self, worker: Worker) -> None:
        with self._lock:
            self._busy.remove(worker)

    def _begin(self, worker: Worker, job: Job) -> None:
        worker.begin(job)
        with self._lock:  # a cancel that came before the run had begun has not reached it
            if self._cancelled:
                worker.cancel()

    def arm(self) -> None:
        """Forget an earlier `cancel`: what it was meant for has ended."""
        with self._lock:
            self._cancelled = False

    def cancel(self) -> None:
        """Have what is running killed, from any thread, and what starts before the next `arm`."""
        with self._lock:
            self._cancelled = True
            for worker in self._busy:
                worker.cancel()

    def kill(self) -> None:
        """End for good, from another thread: what is running is killed and nothing new starts."""
        with self._lock:
            self._closed = True
            for worker in self._busy:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(worker.pid, signal.SIGKILL)

    def close(self) -> None:
        """End every server. Idempotent."""
        self._closed = True
        while self._workers:
            self._workers.popitem()[1].close()

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def within(limits: Limits, left_s: float) -> Limits:
    """Return `limits` cut to what is left of a deadline, in seconds."""
    if left_s >= limits.wall:
        return limits
    left_s = max(left_s, 0.01)
    return replace(limits, cpu_s=min(limits.cpu_s, left_s), wall_s=left_s)


def _bytes(text: str | bytes) -> bytes:
    return text.encode("utf-8", "replace") if isinstance(text, str) else text


def _answer(line: bytes) -> Answer:
    if line.startswith(b'{"error":'):
        try:
            return Answer("runtime_error", error=str(json.loads(line)["error"])[:300])
        except (ValueError, KeyError, TypeError, RecursionError):
            return Answer("runtime_error", error="an unreadable answer")
    return Answer("ok", line)


def _verdict(line: bytes) -> Answer:
    said = json.loads(line)  # written by the checker, which is ours
    return Answer("ok") if said["passed"] else Answer("runtime_error", error=said["error"])


def _no_answer(outcome: Outcome) -> Answer:
    status: Status = "runtime_error" if outcome.status == "ok" else outcome.status
    return Answer(status, error=explain(outcome))


def explain(outcome: Outcome) -> str:
    """Say in one line how a run ended."""
    last = outcome.stderr[-2000:].decode("utf-8", "replace").strip().rpartition("\n")[2][:200]
    if outcome.status == "ok":
        return "it ended before it answered"
    if outcome.status == "runtime_error" and outcome.exit_code is not None and outcome.exit_code < 0:
        return f"killed by {_signal_name(-outcome.exit_code)}"
    if outcome.status == "runtime_error":
        return last or f"exit status {outcome.exit_code}"
    if outcome.status == "sandbox_error":
        return outcome.detail or "the sandbox failed"
    return f"{outcome.status} after {outcome.cpu_s:.2f} s of CPU time, {outcome.wall_s:.2f} s in all"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
