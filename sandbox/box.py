"""`Sandbox` runs programs, function calls and assertions on fork servers, which it starts and replaces.

Only one thread at a time may use a sandbox. `pool.py` shares several sandboxes among callers. If a server
dies, its run is repeated on a new server.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any

from rewardkit.sandbox import levels
from rewardkit.sandbox.answers import Answer, SolutionBudget, no_answer, read_answer, read_verdict
from rewardkit.sandbox.apart.declaration import ENDED_STATUS, ApartSources, UnusableDeclaration
from rewardkit.sandbox.building import Builds
from rewardkit.sandbox.jail import values
from rewardkit.sandbox.jail.channel import ENDED
from rewardkit.sandbox.jail.protocol import PROGRAM, TESTS
from rewardkit.sandbox.languages import PYTHON, RUNNERS, LanguageUnavailable, find_runner, unknown
from rewardkit.sandbox.outcome import DEFAULT_LIMITS, IsolationLevel, Limits, Outcome
from rewardkit.sandbox.usual import UsualTime
from rewardkit.sandbox.worker import RUN_TEST, Job, Worker, WorkerDied

_ATTEMPTS = 3
_PYTEST_S = 0.5
"""CPU time allowed for starting pytest, in seconds. The start usually takes much less."""
_MOST_PROGRAMS = 8
"""Number of programs whose CPU time a sandbox remembers."""
_FAILURE = re.compile(
    r"^(?:Exception in thread.*|thread '.*' panicked.*|panic: .*|\s*\w+_?\w*\.go:\d+:.*|[\w.]*Error\b.*"
    r"|.*: Assertion .*)",
    re.MULTILINE,
)
"""Pattern for the line in which the tests of some language report a failure."""
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
        usual: UsualTime | None = None,
    ) -> None:
        self.level: IsolationLevel = levels.choose(level, allow_unsafe=allow_unsafe)
        self._builds = builds or Builds()
        self._usual = usual or UsualTime()
        self._workers: dict[tuple[str, str, tuple[str, ...]], Worker] = {}
        self._busy: list[Worker] = []
        self._lock = threading.Lock()
        self._cancelled = False
        self._closed = False
        self._used_s: dict[bytes, float] = {}
        """CPU time of the runs of each of the latest programs, in seconds."""
        self._cut_off = False
        """True if a run since `arm` was called did not end by itself."""
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
        standard: str = "",
    ) -> Outcome:
        """Run a program to its end, and return its outcome.

        Args:
            program: Source of the program.
            stdin: The whole standard input.
            limits: Limits for the run.
            prelude: True to let a Python program use names from common modules without importing them.
            language: Language of the program, under any common name (docs/sandbox.md). Later runs of the same
                program reuse its build.
            standard: Standard of C++, such as `17`. By default, C++17 is tried, and then C++20.

        Raises:
            LanguageUnavailable: The language is unknown or cannot be run on this host.
        """
        job = Job(
            _bytes(program), _bytes(stdin), limits, prelude=prelude, language=language, standard=standard
        )
        return self.run_job(job)

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
                answers += answers * (len(cases) - 1)  # every case fails if the program cannot be loaded
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
        language: str = PYTHON,
    ) -> list[Answer]:
        """Run the assertions in `tests` in one jailed child process, while `program` runs in another.

        Names that neither the tests nor `setup` define are looked up in the program. `__candidate__('name')`
        always looks up a name in the program, and `import solution` imports the program as a module. Status
        `ok` means that a test passed.

        Args:
            program: Source of the program.
            setup: Code to run first, in the tests' process. In languages other than Python, the declaration
                of the function that the tests call (`apart/declaration.py`).
            tests: Tests to run one after the other in one namespace. In languages other than Python, each
                test is a program or a file of tests.
            limits: Limits for each test, which apply to each of the two processes.
            before: Code to run before each test, one entry per test. If a new child process takes over, it
                repeats the code for the earlier tests.
            budget: Limits that all tests share, as for `call`.
            stop: True to stop after a failed test.
            language: Language of the program and of the tests.

        Raises:
            LanguageUnavailable: Programs or tests in the language cannot be run on this host.
        """
        source = _bytes(program)
        budget = budget or SolutionBudget()
        if language != PYTHON:
            return self._check_apart(source, setup, tests, limits, budget, stop=stop, language=language)
        steps = list(before or [""] * len(tests))
        answers: list[Answer] = []
        while len(answers) < len(tests) and not budget.is_spent:
            done = len(answers)
            again = [step for step in steps[:done] if step]
            prepared = "\n".join([setup, *again])
            rest = list(zip(steps[done:], tests[done:], strict=True))
            # Setup code that a new process repeats does not count towards the time limit.
            budget.cpu_s += limits.cpu_s * len(again)
            ample = replace(limits, cpu_s=limits.cpu_s * (1 + len(again)))
            answers += self._check_some(source, prepared, rest, budget.within(ample), budget)
            failed = any(answer.status != "ok" for answer in answers[done:])
            if (stop and failed) or answers[-1].status == "cancelled":
                break
        return answers

    def _check_apart(
        self,
        program: bytes,
        declaration: str,
        tests: Sequence[str],
        limits: Limits,
        budget: SolutionBudget,
        *,
        stop: bool,
        language: str,
    ) -> list[Answer]:
        spoken = RUNNERS[_known(language)]
        if spoken.apart is None:
            raise LanguageUnavailable(f"tests in {spoken.title} cannot be run apart from the program")
        answers: list[Answer] = []
        for test in tests:
            if budget.is_spent:
                break
            try:
                sources = spoken.apart(program.decode("utf-8", "surrogateescape"), declaration, test)
            except UnusableDeclaration as error:
                answers.append(Answer("runtime_error", unusable=f"the tests cannot be used: {error}"))
                continue
            answers.append(self._check_sources(sources, spoken.name, budget.within(limits), budget))
            if (stop and answers[-1].status != "ok") or answers[-1].status == "cancelled":
                break
        return answers

    def _check_sources(
        self, sources: ApartSources, language: str, limits: Limits, budget: SolutionBudget
    ) -> Answer:
        checking = replace(limits, idle_s=None)
        tests = Job(_bytes(sources.tests), b"", checking, language=sources.runner, assertions=True)
        program = Job(_bytes(sources.program), b"", limits, language=language)
        runs = []
        for job in (tests, program):
            built = self._builds.get(job, self.level, self._run_one)
            if isinstance(built, Outcome):
                return _not_built(built, of_tests=job is tests)
            runs.append(built.job(job))
        answered, checked = self._run_pair(runs[1], runs[0])
        budget.spend(checked, failed=not checked.ok)
        budget.spend(answered, failed=not checked.ok)
        if checked.ok:
            return Answer("ok")
        if checked.exit_code == ENDED_STATUS:
            return no_answer(answered)
        failed = no_answer(checked)
        return replace(failed, error=_failure(checked) or failed.error)

    def _check_some(
        self, program: bytes, setup: str, tests: list[tuple[str, str]], limits: Limits, budget: SolutionBudget
    ) -> list[Answer]:
        """Run tests until either child ends. If a child ends early, the last answer describes how."""
        request = json.dumps({"setup": setup, "tests": tests}).encode()
        # The start of pytest does not count towards the time limit of the tests.
        start_s = _PYTEST_S if RUN_TEST in request else 0.0
        budget.cpu_s += start_s
        budget.failures_s += start_s
        checking = replace(limits, idle_s=None, cpu_s=limits.cpu_s + start_s)
        candidate = Job(program, b"", limits, "serve", prelude=True)
        answered, checked = self._run_pair(candidate, Job(request, b"", checking, "check"))
        count = len(tests)
        answers = [read_verdict(line) for line in checked.results.splitlines()[:count]]
        ended = checked
        for position, answer in enumerate(answers):
            if answer.error is not None and answer.error.endswith(ENDED):
                answers = answers[:position]
                ended = answered
                break
        # An interrupted test is repeated with the full limits, unless it already had the full limits.
        all_done = len(answers) == count or (bool(answers) and ended.status in _USED_UP)
        budget.spend(checked, failed=not all_done)
        budget.spend(answered, failed=not all_done)
        return answers if all_done else [*answers, no_answer(ended)]

    def _run_pair(self, program: Job, tests: Job) -> tuple[Outcome, Outcome]:
        """Run a program and its tests, which are connected by a socket, and return both outcomes."""
        for _ in range(_ATTEMPTS):
            ours, theirs = socket.socketpair()
            with ours, theirs, open(os.memfd_create("idle", os.MFD_CLOEXEC)) as idle:
                pair = (
                    replace(program, role=PROGRAM, channel=ours.fileno(), idle=idle.fileno()),
                    replace(tests, role=TESTS, channel=theirs.fileno(), idle=idle.fileno()),
                )
                with contextlib.suppress(WorkerDied):
                    return self._play(*pair, (ours, theirs))
            if self._closed or self._cancelled:
                return (Outcome("cancelled", level=self.level),) * 2
        return (self._deadly(),) * 2

    def _play(self, program: Job, tests: Job, ends: tuple[socket.socket, ...]) -> tuple[Outcome, Outcome]:
        with self._using("main", program) as one, self._using("second", tests) as two:
            self._begin(one, program)
            self._begin(two, tests)
            for end in ends:
                end.close()  # an open copy would hide the exit of a child
            checked = two.finish(self.on_parked)
            one.cancel()  # the tests have ended and call no more functions
            answered = one.finish(self.on_parked)
        if answered.status == "cancelled" and not self._cancelled:
            # The program was already ending by itself when it was cancelled.
            answered = replace(answered, status="runtime_error", exit_code=None)
        self._spend(program, answered)
        return answered, checked

    @contextlib.contextmanager
    def _using(self, slot: str, job: Job) -> Iterator[Worker]:
        """Yield a worker of the kind that the job needs. If the block fails, close the worker."""
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
        """Add the CPU time of a run to its program's total."""
        self.cpu_s += outcome.cpu_s
        if job.mode == "build":
            return  # says nothing about programs
        self._cut_off |= outcome.status not in ("ok", "runtime_error")
        if len(self._used_s) >= _MOST_PROGRAMS and job.program not in self._used_s:
            self._used_s.clear()
        self._used_s[job.program] = self._used_s.get(job.program, 0.0) + outcome.cpu_s

    def _begin(self, worker: Worker, job: Job) -> None:
        used_s = self._used_s.get(job.program, 0.0) - self._usual.allowance_s
        worker.begin(replace(job, used_s=used_s))
        with self._lock:  # an earlier cancellation did not reach the worker
            if self._cancelled:
                worker.cancel()

    def arm(self) -> None:
        """Prepare for new work by forgetting earlier cancellations and programs."""
        if self._used_s and not self._cut_off:
            self._usual.learn(max(self._used_s.values()))
        self._cut_off = False
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
        raise LanguageUnavailable(unknown(language, RUNNERS))
    return found


def _failure(outcome: Outcome) -> str | None:
    """Return the first line in which tests say that they failed, or None."""
    found = _FAILURE.search((outcome.stderr + b"\n" + outcome.stdout)[:20_000].decode("utf-8", "replace"))
    return " ".join(found[0].split())[:200] if outcome.status == "runtime_error" and found else None


def _not_built(outcome: Outcome, *, of_tests: bool) -> Answer:
    """Return the answer to a test if its source or the program's source cannot be built."""
    if of_tests and outcome.status == "compile_error":
        return Answer("runtime_error", unusable=f"the tests do not compile: {outcome.detail}")
    return no_answer(outcome)


def _bytes(text: str | bytes) -> bytes:
    return text.encode("utf-8", "replace") if isinstance(text, str) else text
