"""`Sandbox`: runs programs, function calls and assertions on fork servers that it starts and replaces.

For one thread at a time; `pool.py` shares several. If a server dies, its run is repeated on a new one.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any

from rewardkit.sandbox import levels
from rewardkit.sandbox.answers import Answer, SolutionBudget, no_answer, read_answer, read_verdict
from rewardkit.sandbox.building import Builds
from rewardkit.sandbox.jail import values
from rewardkit.sandbox.jail.channel import ENDED
from rewardkit.sandbox.languages import PYTHON, RUNNERS, LanguageUnavailable, find_runner
from rewardkit.sandbox.outcome import DEFAULT_LIMITS, IsolationLevel, Limits, Outcome
from rewardkit.sandbox.worker import RUN_TEST, Job, Worker, WorkerDied

_ATTEMPTS = 3
_PYTEST_S = 0.5
"""CPU time for starting pytest, in seconds: several times the usual time."""
_USED_UP = ("cpu_timeout", "idle_timeout", "memory_limit", "output_limit")
"""Statuses that may be caused by earlier work of the same child."""


class Sandbox:
    """A few warm fork servers at one isolation level. A context manager.

    Raises:
        SandboxUnavailable: this host cannot provide the requested level.
    """

    def __init__(
        self,
        level: levels.LevelChoice = "auto",
        *,
        allow_unsafe: bool = False,
        builds: Builds | None = None,
    ) -> None:
        self.level: IsolationLevel = levels.choose(level, allow_unsafe=allow_unsafe)
        self._builds = builds or Builds()
        self._workers: dict[tuple[str, str, tuple[str, ...]], Worker] = {}
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
        language: str = PYTHON,
    ) -> Outcome:
        """Run a program to its end and return its outcome.

        Args:
            program: Its source.
            stdin: All of its standard input.
            limits: Its limits.
            prelude: Give a Python program the names of common modules without an import.
            language: Its language, by any usual name (docs/sandbox.md). The program is built once, for all
                later runs.

        Raises:
            LanguageUnavailable: the language is unknown or cannot be run on this host.
        """
        return self.run_job(Job(_bytes(program), _bytes(stdin), limits, prelude=prelude, language=language))

    def run_job(self, job: Job) -> Outcome:
        """Run one job, after building it if its language is not Python."""
        if job.language != PYTHON:
            job = replace(job, language=_known(job.language))
        if job.language == PYTHON:
            return self._run_one(job)
        built = self._builds.get(job, self.level, self._run_one)
        return built if isinstance(built, Outcome) else self._run_one(built.job(job))

    def prove(self, language: str) -> str:
        """Return the version of a language's toolchain, after building and running a small program with it.

        Raises:
            LanguageUnavailable: programs in that language cannot be run here; the message gives the reason.
        """
        return self._builds.prove(RUNNERS[_known(language)], self.level, self._run_one).version

    def _run_one(self, job: Job) -> Outcome:
        """Run one job as it is, again on another server if the first one dies."""
        for _ in range(_ATTEMPTS):
            with contextlib.suppress(WorkerDied), self._using("main", job) as worker:
                self._begin(worker, job)
                return worker.finish()
            if self._closed or self._cancelled:
                return Outcome("cancelled", level=self.level)
        return self._deadly()

    def _deadly(self) -> Outcome:
        """Return the outcome of a run that killed every server: out of memory, if servers survive another
        program.

        Only the kernel kills a server, for lack of memory, which may happen in a container long before the
        run's own limit.
        """
        canary = Job(b"print(42)", limits=Limits(wall_s=60.0))
        with contextlib.suppress(WorkerDied), self._using("main", canary) as worker:
            self._begin(worker, canary)
            if worker.finish().ok:
                detail = (
                    "the sandbox's processes are killed repeatedly: the machine has less memory than "
                    "the limit of a run"
                )
                return Outcome("memory_limit", level=self.level, detail=detail)
        return Outcome(
            "sandbox_error",
            level=self.level,
            detail="the sandbox's server process died in every attempt to run the program",
        )

    def call(
        self,
        program: str | bytes,
        function: str,
        cases: Sequence[Sequence[Any]],
        limits: Limits = DEFAULT_LIMITS,
        *,
        keywords: Sequence[Mapping[str, Any]] | None = None,
        budget: SolutionBudget | None = None,
        stop: bool = False,
    ) -> list[Answer]:
        """Call `function` of a program with each case's arguments.

        All cases run in one child. If it ends early, the case in which it ended runs again in another child
        with all of `limits` to itself, followed by the remaining cases; if that child ends in it too, this is
        the case's answer.

        Args:
            program: Python source.
            function: Its name; `Solution().name` is that method of a new object.
            cases: The positional arguments of each call.
            limits: Limits of each call.
            keywords: The keyword arguments of each call.
            budget: Limits of all calls together. Cases that exceed it have no answer: the list is then
                shorter.
            stop: Stop after a child that ended early.
        """
        source = _bytes(program)
        budget = budget or SolutionBudget()
        encoded = [values.encode(list(case)) for case in cases]
        named = [{k: values.encode(v) for k, v in case.items()} for case in keywords or []]
        answers: list[Answer] = []
        while len(answers) < len(cases) and not budget.is_spent:
            done = len(answers)
            request = {"function": function, "cases": encoded[done:], "keywords": named[done:]}
            job = Job(source, b"", budget.within(limits), "call", json.dumps(request).encode(), prelude=True)
            outcome = self.run_job(job)
            answers += [read_answer(line) for line in outcome.results.splitlines()][: len(cases) - done]
            all_done = len(answers) == len(cases) or (len(answers) > done and outcome.status in _USED_UP)
            budget.spend(outcome, failed=not all_done)
            if all_done:
                continue
            answers.append(no_answer(outcome))
            if stop:
                break
            if len(answers) == 1 and outcome.status == "runtime_error":
                answers += answers * (len(cases) - 1)  # it fails while loading, so every case fails
        return answers

    def check(
        self,
        program: str | bytes,
        setup: str,
        tests: Sequence[str],
        limits: Limits = DEFAULT_LIMITS,
        *,
        before: Sequence[str] | None = None,
        budget: SolutionBudget | None = None,
        stop: bool = False,
    ) -> list[Answer]:
        """Run each of `tests` (assertions) in one jailed child while `program` is in another.

        Names that neither the tests nor `setup` define are those of the program; `__candidate__('name')` also
        refers to the program, and `import solution` imports it. The status `ok` means that a test passed.

        Args:
            program: Python source.
            setup: Code that runs first, in the process of the tests.
            tests: Tests that run one after the other, in one namespace.
            limits: Limits of each test, in each of the two processes.
            before: Statements that run before each test, also if the test itself is skipped.
            budget: As for `call`.
            stop: Stop after a failed test.
        """
        source = _bytes(program)
        budget = budget or SolutionBudget()
        steps = list(before or [""] * len(tests))
        answers: list[Answer] = []
        while len(answers) < len(tests) and not budget.is_spent:
            done = len(answers)
            again = [step for step in steps[:done] if step]
            prepared = "\n".join([setup, *again])
            rest = list(zip(steps[done:], tests[done:], strict=True))
            # Repeated preparations do not count towards the time of this test or the others.
            budget.cpu_s += limits.cpu_s * len(again)
            ample = replace(limits, cpu_s=limits.cpu_s * (1 + len(again)))
            answers += self._check_some(source, prepared, rest, budget.within(ample), budget)
            failed = any(answer.status != "ok" for answer in answers[done:])
            if (stop and failed) or answers[-1].status == "cancelled":
                break
        return answers

    def _check_some(
        self, program: bytes, setup: str, tests: list[tuple[str, str]], limits: Limits, budget: SolutionBudget
    ) -> list[Answer]:
        """Run tests up to the first one in which a child ends; the last answer describes how."""
        request = json.dumps({"setup": setup, "tests": tests}).encode()
        start_s = _PYTEST_S if RUN_TEST in request else 0.0  # does not count towards the time of the tests
        budget.cpu_s += start_s
        budget.failures_s += start_s
        checking = replace(limits, idle_s=None, cpu_s=limits.cpu_s + start_s)
        for _ in range(_ATTEMPTS):
            ours, theirs = socket.socketpair()
            with ours, theirs, open(os.memfd_create("idle", os.MFD_CLOEXEC)) as idle:
                candidate = Job(program, b"", limits, "serve", b"", ours.fileno(), idle.fileno(), True)
                checker = Job(request, b"", checking, "check", b"", theirs.fileno(), idle.fileno())
                with contextlib.suppress(WorkerDied):
                    return self._play(candidate, checker, (ours, theirs), len(tests), budget)
            if self._closed or self._cancelled:
                return [Answer("cancelled", error="cancelled")]
        return [no_answer(self._deadly())]

    def _play(
        self,
        candidate: Job,
        checker: Job,
        ends: tuple[socket.socket, ...],
        count: int,
        budget: SolutionBudget,
    ) -> list[Answer]:
        with self._using("main", candidate) as one, self._using("second", checker) as two:
            self._begin(one, candidate)
            self._begin(two, checker)
            for end in ends:
                end.close()  # so that each child notices the end of the other
            checked = two.finish()
            one.cancel()  # it has nothing left to answer
            answered = one.finish()
        answers = [read_verdict(line) for line in checked.results.splitlines()[:count]]
        ended = checked
        for position, answer in enumerate(answers):
            if answer.error is not None and answer.error.endswith(ENDED):
                answers = answers[:position]
                ended = answered
                if answered.status == "cancelled" and not self._cancelled:  # it was just ending by itself
                    ended = replace(answered, status="runtime_error", exit_code=None)
                break
        # The test in which it ended gets all of the limits to itself, unless it just had them.
        all_done = len(answers) == count or (bool(answers) and ended.status in _USED_UP)
        budget.spend(checked, failed=not all_done)
        budget.spend(answered, failed=not all_done)
        return answers if all_done else [*answers, no_answer(ended)]

    @contextlib.contextmanager
    def _using(self, slot: str, job: Job) -> Iterator[Worker]:
        """Yield a worker of the job's flavour; a failed worker is replaced the next time."""
        key = (slot, job.flavour, job.readable)
        worker = self._workers.pop(key, None)
        if worker is None or worker.owner != os.getpid():
            worker = Worker(self.level, job.flavour, job.readable)
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
        with self._lock:  # a cancel from before the run began has not reached it
            if self._cancelled:
                worker.cancel()

    def arm(self) -> None:
        """Forget an earlier `cancel`, because the work that it was meant for has ended."""
        with self._lock:
            self._cancelled = False

    def cancel(self) -> None:
        """Kill the current runs, from any thread, and those that start before the next `arm`."""
        with self._lock:
            self._cancelled = True
            for worker in self._busy:
                worker.cancel()

    def kill(self) -> None:
        """Shut down from another thread: kill the current runs and let no new ones start."""
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


def _known(language: str) -> str:
    """Return the canonical name of a language.

    Raises:
        LanguageUnavailable: no language has this name.
    """
    found = find_runner(language)
    if found is None:
        raise LanguageUnavailable(
            f"unknown language '{language}'; expected one of {', '.join([PYTHON, *RUNNERS])}"
        )
    return found


def _bytes(text: str | bytes) -> bytes:
    return text.encode("utf-8", "replace") if isinstance(text, str) else text
