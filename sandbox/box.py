"""`Sandbox` runs programs, function calls and assertions on fork servers, which it starts and replaces.

Only one thread at a time may use a sandbox. `pool.py` shares several sandboxes among callers. If a server
dies, its run is repeated on a new server.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
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
"""CPU time allowed for starting pytest, in seconds. The start usually takes much less."""
_MOST_PROGRAMS = 8
"""Number of programs whose CPU time a sandbox remembers."""
_USED_UP = ("cpu_timeout", "idle_timeout", "memory_limit", "output_limit")
"""Statuses that earlier cases or tests in the same child process may have caused."""


class Sandbox:
    """A few warm fork servers at one isolation level. A sandbox can be used as a context manager.

    Raises:
        SandboxUnavailable: This host cannot provide the requested level.
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
        self._used_s: dict[bytes, float] = {}
        """CPU time of the runs of each of the latest programs, in seconds."""
        self.cpu_s = 0.0
        """CPU time in seconds of all runs since `arm` was called."""
        self.on_parked: Callable[[], None] | None = None
        """Function to call when a run sleeps or is stopped, and every few seconds while it waits for its
        turn."""

    def run(
        self,
        program: str | bytes,
        stdin: str | bytes = b"",
        limits: Limits = DEFAULT_LIMITS,
        *,
        prelude: bool = False,
        language: str = PYTHON,
    ) -> Outcome:
        """Run a program to its end, and return its outcome.

        Args:
            program: Source of the program.
            stdin: The whole standard input.
            limits: Limits for the run.
            prelude: True to let a Python program use names from common modules without importing them.
            language: Language of the program, under any common name (docs/sandbox.md). Later runs of the same
                program reuse its build.

        Raises:
            LanguageUnavailable: The language is unknown or cannot be run on this host.
        """
        return self.run_job(Job(_bytes(program), _bytes(stdin), limits, prelude=prelude, language=language))

    def run_job(self, job: Job) -> Outcome:
        """Run one job. If its language is not Python, build its program first."""
        if job.language != PYTHON:
            job = replace(job, language=_known(job.language))
        if job.language == PYTHON:
            return self._run_one(job)
        built = self._builds.get(job, self.level, self._run_one)
        return built if isinstance(built, Outcome) else self._run_one(built.job(job))

    def prove(self, language: str) -> str:
        """Build and run a small program in a language, and return the version of the language's toolchain.

        Raises:
            LanguageUnavailable: Programs in the language cannot be run on this host. The message says why.
        """
        return self._builds.prove(RUNNERS[_known(language)], self.level, self._run_one).version

    def _run_one(self, job: Job) -> Outcome:
        """Run one job without building anything. If its server dies, retry the job on another server."""
        for _ in range(_ATTEMPTS):
            with contextlib.suppress(WorkerDied), self._using("main", job) as worker:
                self._begin(worker, job)
                outcome = worker.finish(self.on_parked)
                self._spend(job, outcome)
                return outcome
            if self._closed or self._cancelled:
                return Outcome("cancelled", level=self.level)
        return self._deadly()

    def _deadly(self) -> Outcome:
        """Return the outcome of a run during which every server died.

        Only the kernel kills a server, and only when memory runs out. In a container, this may happen long
        before the run reaches its own limit. The outcome is `memory_limit` if a server survives a trivial
        program, and `sandbox_error` otherwise.
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
        """Call a function in a program with the arguments of each case, and return the answers.

        All cases run in one child process if possible. If the child exceeds its CPU, idle, memory or output
        limit in a later case, that case is repeated in a new child, with all of `limits` to itself. If the
        child ends early in any other way, its outcome is the answer to the case that was running. A new child
        then runs the remaining cases.

        Args:
            program: Python source.
            function: Name of the function. `Solution().name` means the method of a new `Solution` object.
            cases: Positional arguments of each call.
            limits: Limits for each call.
            keywords: Keyword arguments of each call.
            budget: Limits that all calls share. Once the budget is spent, the remaining cases get no answer,
                so the returned list is shorter.
            stop: True to stop at the first case during which a child process ends.
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
                answers += answers * (len(cases) - 1)  # the program fails to load, so every case fails
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
        """Run the assertions in `tests` in one jailed child process, while `program` runs in another.

        Names that neither the tests nor `setup` define are looked up in the program. `__candidate__('name')`
        always looks up a name in the program, and `import solution` imports the program as a module. Status
        `ok` means that a test passed.

        Args:
            program: Python source.
            setup: Code to run first, in the tests' process.
            tests: Tests to run one after the other in one namespace.
            limits: Limits for each test, which apply to each of the two processes.
            before: Code to run before each test, one entry per test. If a new child process takes over, it
                repeats the code for the earlier tests.
            budget: Limits that all tests share, as for `call`.
            stop: True to stop after a failed test.
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
            # Repeated code does not count towards the tests' time.
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
        """Run tests until either child ends. If a child ends early, the last answer describes how."""
        request = json.dumps({"setup": setup, "tests": tests}).encode()
        # Starting pytest does not count towards the tests' time.
        start_s = _PYTEST_S if RUN_TEST in request else 0.0
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
                end.close()  # otherwise a child would not notice that the other child has exited
            checked = two.finish(self.on_parked)
            one.cancel()  # the program has no more calls to answer
            answered = one.finish(self.on_parked)
        self._spend(candidate, answered)
        answers = [read_verdict(line) for line in checked.results.splitlines()[:count]]
        ended = checked
        for position, answer in enumerate(answers):
            if answer.error is not None and answer.error.endswith(ENDED):
                answers = answers[:position]
                ended = answered
                # The program was already ending by itself when it was cancelled.
                if answered.status == "cancelled" and not self._cancelled:
                    ended = replace(answered, status="runtime_error", exit_code=None)
                break
        # The test that was running is repeated with the full limits, unless it already had the full limits.
        all_done = len(answers) == count or (bool(answers) and ended.status in _USED_UP)
        budget.spend(checked, failed=not all_done)
        budget.spend(answered, failed=not all_done)
        return answers if all_done else [*answers, no_answer(ended)]

    @contextlib.contextmanager
    def _using(self, slot: str, job: Job) -> Iterator[Worker]:
        """Yield a worker of the job's flavour for the block. If the block fails, close the worker."""
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
        self._workers[key] = worker

    def _release(self, worker: Worker) -> None:
        with self._lock:
            self._busy.remove(worker)

    def _spend(self, job: Job, outcome: Outcome) -> None:
        """Add the CPU time of a run to that of its program."""
        self.cpu_s += outcome.cpu_s
        if len(self._used_s) >= _MOST_PROGRAMS and job.program not in self._used_s:
            self._used_s.clear()
        self._used_s[job.program] = self._used_s.get(job.program, 0.0) + outcome.cpu_s

    def _begin(self, worker: Worker, job: Job) -> None:
        worker.begin(replace(job, used_s=self._used_s.get(job.program, 0.0)))
        with self._lock:  # a cancellation before the run began did not reach the worker
            if self._cancelled:
                worker.cancel()

    def arm(self) -> None:
        """Forget an earlier cancellation and earlier programs, because new work begins."""
        with self._lock:
            self._cancelled = False
        self._used_s.clear()
        self.cpu_s = 0.0

    def cancel(self) -> None:
        """Kill the current runs, and any runs that start before `arm` is called.

        Any thread may call this method.
        """
        with self._lock:
            self._cancelled = True
            for worker in self._busy:
                worker.cancel()

    def kill(self) -> None:
        """Kill the servers of the current runs, and prevent new runs. Any thread may call this method."""
        with self._lock:
            self._closed = True
            for worker in self._busy:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(worker.pid, signal.SIGKILL)

    def close(self) -> None:
        """Stop all servers. Repeated calls have no effect."""
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
        LanguageUnavailable: No language has this name.
    """
    found = find_runner(language)
    if found is None:
        raise LanguageUnavailable(
            f"unknown language '{language}'; expected one of {', '.join([PYTHON, *RUNNERS])}"
        )
    return found


def _bytes(text: str | bytes) -> bytes:
    return text.encode("utf-8", "replace") if isinstance(text, str) else text
