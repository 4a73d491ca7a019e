"""Limits of a run (`Limits`) and its outcome (`Outcome`). Plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rewardkit.errors import RewardkitError

IsolationLevel = Literal["full", "warm", "guard", "none"]
"""Isolation levels. `warm`: namespaces of the worker, seccomp, Landlock and rlimits. `guard`: the same
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
"""Ways in which a run can end. `ok`: exit status 0. `compile_error`: no program could be built.
`wall_timeout` may be caused by the load. `cancelled` and `sandbox_error` do not depend on the program."""

TIMED_OUT: frozenset[str] = frozenset({"cpu_timeout", "idle_timeout", "wall_timeout"})
OVER_LIMIT: frozenset[str] = frozenset({"memory_limit", "output_limit", "process_limit"})


class SandboxUnavailable(RewardkitError, RuntimeError):
    """Raised if this host cannot isolate programs at the requested level. The message says why."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one run."""

    cpu_s: float = 5.0
    """CPU time of the process with all its threads, in seconds. The main limit, since it does not depend on
    the load."""
    wall_s: float | None = None
    """Elapsed time in seconds, including any wait for a busy CPU. None means five times `cpu_s`."""
    memory_mb: int = 1024
    """Address space of each process beyond that of the interpreter itself, in MiB. For runtimes that reserve
    much more memory than they use, and for shell scripts with all their processes, it limits memory in use
    instead."""
    output_bytes: int = 4 << 20
    """Maximum size of stdout, of stderr and of each written file, in bytes."""
    processes: int = 0
    """Number of additional processes that the run may start. Requires level `warm` or `full`. A Python
    program can never execute another program."""
    threads: int = 64
    idle_s: float | None = None
    """Elapsed time in seconds during which the run neither ran nor waited for a CPU, but slept or waited for
    an event. It does not depend on the load. None means no limit except `wall_s`."""

    @property
    def wall(self) -> float:
        """Return the limit on elapsed time, in seconds."""
        return 5.0 * self.cpu_s if self.wall_s is None else self.wall_s


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of one run, as measured from outside."""

    status: OutcomeStatus
    stdout: bytes = b""
    stderr: bytes = b""
    exit_code: int | None = None
    """Exit status as in `subprocess`: negative if a signal ended the run. None if nothing was run."""
    cpu_s: float = 0.0
    wall_s: float = 0.0
    peak_memory: int = 0
    """Peak resident set size, in bytes."""
    level: IsolationLevel = "none"
    """Isolation level of the run."""
    detail: str | None = None
    """One line about a `sandbox_error`, or the compiler's first message."""
    results: bytes = b""
    """Data that a run of function calls or assertions wrote to its result descriptor."""

    @property
    def ok(self) -> bool:
        """Return True if the program ended by itself with exit status 0."""
        return self.status == "ok"
