"""Builds a program once in the jail, and runs each of its tests with the result.

A build consists of ordinary jailed runs, because the source code that a compiler reads may also be hostile.
The result of a build is a byte string in the driver's memory, and is executed only in the jail.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any

from rewardkit.sandbox.jail.limits import BUILD
from rewardkit.sandbox.languages import (
    RUNNERS,
    Language,
    LanguageCommand,
    LanguageUnavailable,
    Toolchain,
    toolchain,
)
from rewardkit.sandbox.outcome import IsolationLevel, Limits, Outcome
from rewardkit.sandbox.worker import Job, encoded

BUILD_LIMITS = Limits(
    cpu_s=30.0, wall_s=600.0, idle_s=60.0, memory_mb=2048, threads=32, output_bytes=64 << 20
)
"""Limits for a build in any language, whose steps share the CPU time. A program that exceeds the limits is
treated as if it did not compile."""

_ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "HOME": "/tmp",
    "TMPDIR": ".",
}
_KEPT = 64
_NO_VERDICT = ("sandbox_error", "cancelled", "wall_timeout")
"""Build statuses that depend on the host rather than on the program."""
_ENDED = ("ok", "runtime_error")
"""Statuses of build steps in which the compiler exited by itself."""
_HELLO_LIMITS = Limits(cpu_s=10.0, wall_s=300.0)

RunJob = Callable[[Job], Outcome]


@dataclass(frozen=True, slots=True)
class Build:
    """A program that is ready to run, either the compiler's output or the source itself."""

    language: Language
    tools: Toolchain
    source: str
    program: bytes

    def job(self, job: Job) -> Job:
        """Return the job that runs the built program, given the job that contains its source."""
        command = self.tools.run(self.source, job.limits)
        if job.assertions:
            command = replace(command, argv=(*command.argv[:1], *command.assertions, *command.argv[1:]))
        if command.script:
            files = (*job.files, *command.files)
            script = command.script.encode("utf-8", "surrogatepass")
            return Job(script, job.stdin, job.limits, files=files, fetch=job.fetch)
        processes = max(job.limits.processes, self.language.processes)
        run = replace(job, program=self.program, limits=replace(job.limits, processes=processes))
        return _job(command, self.tools, run, "exec")


class Builds:
    """Thread-safe cache of the most recent builds, by content, and of the languages found to work."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: OrderedDict[Any, Future[Build | Outcome]] = OrderedDict()

    def get(self, job: Job, level: IsolationLevel, run: RunJob) -> Build | Outcome:
        """Return the build of a job's program, or the outcome of the build if it failed.

        Args:
            job: Job whose program to build.
            level: Isolation level of the job.
            run: Function that runs one job in the jail.

        Raises:
            LanguageUnavailable: Programs in the job's language cannot be run on this host.
        """
        language = RUNNERS[job.language]
        tools = self.prove(language, level, run)
        key = (language.name, job.standard, _digest(job))
        return self._once(key, lambda: build(language, tools, job, run))

    def prove(self, language: Language, level: IsolationLevel, run: RunJob) -> Toolchain:
        """Build and run a small program in a language, and return the language's toolchain.

        Languages that differ only in the standard that is passed to the compiler share one test.

        Raises:
            LanguageUnavailable: The toolchain is missing or does not work in the jail.
        """
        tools = toolchain(language)
        if language.processes and level in ("guard", "none"):
            raise LanguageUnavailable(
                f"{language.title} programs start processes, which level {level} cannot contain; use "
                "level 'warm' (user namespaces or CAP_SYS_ADMIN)"
            )
        hello = Job(
            language.hello.encode(), language.hello_input.encode(), _HELLO_LIMITS, language=language.name
        )
        key = ("proof", tools.version, tools.readable, language.hello)
        proof = self._once(key, lambda: self._prove(language, tools, hello, run))
        if isinstance(proof, Outcome):
            raise LanguageUnavailable(_unproved(language, tools, proof))
        return tools

    def _prove(self, language: Language, tools: Toolchain, hello: Job, run: RunJob) -> Build | Outcome:
        built = build(language, tools, hello, run)
        if isinstance(built, Outcome):
            return built
        outcome = run(built.job(hello))
        return built if outcome.ok and b"42" in outcome.stdout.split() else outcome

    def _once(self, key: Any, make: Callable[[], Build | Outcome]) -> Build | Outcome:
        """Return the cached result for a key, or call `make`. Other threads wait for the same result."""
        while True:
            future, mine = self._future(key)
            if mine:
                return self._fulfil(key, future, make)
            made = future.result()
            if not (isinstance(made, Outcome) and made.status in _NO_VERDICT):
                return made  # a build that failed because of the host is repeated

    def _future(self, key: Any) -> tuple[Future[Build | Outcome], bool]:
        with self._lock:
            known = self._found.get(key)
            future = self._found.setdefault(key, known or Future())
            self._found.move_to_end(key)
            while len(self._found) > _KEPT:
                self._found.popitem(last=False)
            return future, known is None

    def _fulfil(
        self, key: Any, future: Future[Build | Outcome], make: Callable[[], Build | Outcome]
    ) -> Build | Outcome:
        try:
            made = make()
        except BaseException as error:
            self._forget(key)
            future.set_exception(error)
            raise
        if isinstance(made, Outcome) and made.status in _NO_VERDICT:
            self._forget(key)
        future.set_result(made)
        return made

    def _forget(self, key: Any) -> None:
        with self._lock:
            self._found.pop(key, None)


def _digest(job: Job) -> bytes:
    whole = hashlib.sha256(job.program)
    for name, content in job.files:
        whole.update(b"\0" + name.encode() + b"\0" + hashlib.sha256(content).digest())
    return whole.digest()


def _unproved(language: Language, tools: Toolchain, outcome: Outcome) -> str:
    said = outcome.detail or outcome.stderr[-300:].decode("utf-8", "replace").strip() or outcome.status
    return (
        f"{language.title} does not work in the sandbox at level {outcome.level} with {tools.version}: "
        f"{said}; 'rewardkit doctor' tries each language"
    )


def build(language: Language, tools: Toolchain, job: Job, run: RunJob) -> Build | Outcome:
    """Build a job's program in a folder with the job's files. Try each list of steps until one succeeds.

    If a limit stops a compiler, no further list is tried, because compiling for another language standard
    would take just as long.
    """
    source = job.program.decode("utf-8", "surrogateescape")
    made = Build(language, tools, source, job.program)
    failed: Outcome | None = None
    limits = BUILD_LIMITS
    for steps in _attempts(language, tools.build(source), job.standard):
        given = job.program
        for step in steps:
            outcome = run(_job(step, tools, Job(given, limits=limits, files=job.files), "build"))
            limits = replace(limits, cpu_s=max(limits.cpu_s - outcome.cpu_s, 0.01))
            if not outcome.ok or not outcome.results:
                break
            given = outcome.results
        else:
            return replace(made, program=given)
        failed = outcome
        if failed.status not in _ENDED:
            break
    return made if failed is None else _told(failed)


def _attempts(
    language: Language, every: Sequence[Sequence[LanguageCommand]], standard: str
) -> Sequence[Sequence[LanguageCommand]]:
    """Return the lists of build steps for a standard, or all lists if none is requested.

    Raises:
        LanguageUnavailable: The language has no such standard.
    """
    if not standard:
        return every
    chosen = [
        steps
        for steps in every
        if any(word.startswith("-std=") and word.endswith(standard) for step in steps for word in step.argv)
    ]
    if not chosen:
        raise LanguageUnavailable(f"{language.title} has no standard '{standard}'")
    return chosen


def _told(failed: Outcome) -> Outcome:
    """Turn the outcome of a failed build step into the outcome of the whole build."""
    if failed.status in _NO_VERDICT:
        return failed
    return replace(failed, status="compile_error", detail=_first_message(failed))


def _first_message(outcome: Outcome) -> str:
    """Return the compiler's first error message."""
    if outcome.status not in _ENDED:
        return f"the compiler was stopped: {outcome.status}"
    said = (outcome.stderr or outcome.stdout)[:20_000].decode("utf-8", "replace").splitlines()
    lines = [line.strip() for line in said if line.strip()]
    return next((line for line in lines if "error" in line.casefold()), lines[0] if lines else "no message")[
        :300
    ]


def _job(command: LanguageCommand, tools: Toolchain, job: Job, mode: str) -> Job:
    plan = {
        "argv": command.argv,
        "env": {**_ENVIRONMENT, **dict(command.env)},
        "file": command.file,
        "files": encoded((*job.files, *command.files)),
        "fetch": job.fetch,
        "output": command.output,
    }
    return Job(
        job.program,
        job.stdin,
        job.limits,
        mode,
        json.dumps(plan).encode(),
        readable=tools.readable if command.tools else (),
        files=job.files,
        fetch=job.fetch,
        profile=BUILD if mode == "build" else command.profile,
    )
