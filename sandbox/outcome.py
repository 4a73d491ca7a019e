"""Limits of a run (`Limits`) and its outcome (`Outcome`). Plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rewardkit.errors import RewardkitError

IsolationLevel = Literal["full", "warm", "guard", "none"]
"""Isolation levels. `warm`: the worker's own namespaces, seccomp, Landlock, rlimits. `guard`: the same
without namespaces. `full`: `warm` with new namespaces for every run. `none`: no isolation."""

OutcomeStatus = Literal[
    "ok",
    "runtime_error",
    "compile_error",
    "cpu_timeout",
    "idle_timeout",
    "wall_timeout",
    "memory_limit",
    "output_limit",
    "process_limit",
    "cancelled",
    "sandbox_error",
]
"""Ends of a run. `ok`: exit status 0. `compile_error`: there is no program to run. `wall_timeout` may be
caused by the load; `cancelled` and `sandbox_error` do not depend on the program."""

TIMED_OUT: frozenset[str] = frozenset({"cpu_timeout", "idle_timeout", "wall_timeout"})
OVER_LIMIT: frozenset[str] = frozenset({"memory_limit", "output_limit", "process_limit"})


class SandboxUnavailable(RewardkitError, RuntimeError):
    """Raised if this host cannot isolate programs at the requested level; the message has the reason for each
    level."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one run."""

    cpu_s: float = 5.0
    """CPU time of the process in seconds, with all threads. The main limit, because it does not depend on the
    load."""
    wall_s: float | None = None
    """Elapsed time in seconds, including any wait for a busy CPU. None: five times `cpu_s`."""
    memory_mb: int = 1024
    """Address space of each process beyond that of the interpreter itself, in MiB. For runtimes that reserve
    much more than they use, and for shell scripts with all their processes: memory in use."""
    output_bytes: int = 4 << 20
    """Size limit of stdout, of stderr and of each written file, in bytes."""
    processes: int = 0
    """Number of further processes it may start; needs level `warm` or `full`. A Python program can never
    execute another program."""
    threads: int = 64
    idle_s: float | None = None
    """Elapsed time in seconds in which the run neither ran nor waited for a CPU, but slept or waited for an
    event. Does not depend on the load. None: no limit except `wall_s`."""

    @property
    def wall(self) -> float:
        """Return the limit of elapsed time in seconds."""
        return 5.0 * self.cpu_s if self.wall_s is None else self.wall_s


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of one run, as measured from outside."""

    status: OutcomeStatus
    stdout: bytes = b""
    stderr: bytes = b""
    exit_code: int | None = None
    """Exit status as in `subprocess`: negative for the signal that ended it. None: it never ran."""
    cpu_s: float = 0.0
    wall_s: float = 0.0
    peak_memory: int = 0
    """Largest resident set, in bytes."""
    level: IsolationLevel = "none"
    """Isolation level of the run."""
    detail: str | None = None
    """One line on a `sandbox_error`, or the compiler's first message."""
    results: bytes = b""
    """Content that a function-call or assertion run has written to its result descriptor."""

    @property
    def ok(self) -> bool:
        """Return True if the program ended by itself with exit status 0."""
        return self.status == "ok"
