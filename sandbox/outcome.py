"""Limits of a run (`Limits`) and its outcome (`Outcome`), as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rewardkit.errors import RewardkitError

IsolationLevel = Literal["warm", "guard", "none"]
"""Isolation levels. `warm` combines namespaces for the worker with seccomp, Landlock and rlimits. `guard`
does the same without namespaces. `none` does not isolate programs."""

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
"""Ways in which a run can end. `ok` means exit status 0, and `compile_error` that the program could not be
built. A busy machine can cause `wall_timeout`. `cancelled` and `sandbox_error` do not depend on the
program."""

TIMED_OUT: frozenset[str] = frozenset({"cpu_timeout", "idle_timeout", "wall_timeout"})
OVER_LIMIT: frozenset[str] = frozenset({"memory_limit", "output_limit", "process_limit"})


class SandboxUnavailable(RewardkitError, RuntimeError):
    """Raised if this host cannot isolate programs at the requested level. The message says why."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one run."""

    cpu_s: float = 5.0
    """CPU time of the process and all its threads, in seconds. This is the main limit, because CPU time does
    not depend on how busy the machine is."""
    wall_s: float | None = None
    """Elapsed time in seconds, including any wait for a busy CPU. None means five times `cpu_s`."""
    memory_mb: int = 1024
    """Memory in use of each process in MiB, in addition to the memory of the interpreter or runtime. A shell
    script's limit covers all of its processes."""
    output_bytes: int = 4 << 20
    """Maximum size of stdout, of stderr and of each written file, in bytes."""
    processes: int = 0
    """Number of additional processes that the run may start. Any number above 0 requires level `warm`.
    A Python program can never execute another program."""
    threads: int = 64
    idle_s: float | None = None
    """Time in seconds that the run may spend sleeping or waiting for events, rather than running or waiting
    for a CPU. Idle time does not depend on how busy the machine is. None means that only `wall_s` applies."""

    @property
    def wall(self) -> float:
        """Return the limit on elapsed time, in seconds."""
        return 5.0 * self.cpu_s if self.wall_s is None else self.wall_s


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of one run, as measured outside its process."""

    status: OutcomeStatus
    stdout: bytes = b""
    stderr: bytes = b""
    exit_code: int | None = None
    """Exit status as in `subprocess`, which is negative if a signal ended the run, or None if nothing was
    run."""
    cpu_s: float = 0.0
    wall_s: float = 0.0
    held_s: float = 0.0
    """Seconds for which the run waited for its turn on the CPU. They are not part of `wall_s`."""
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
