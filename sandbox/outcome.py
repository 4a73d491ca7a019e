"""What may be used by a run (`Limits`) and what came of it (`Outcome`). Plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rewardkit.errors import RewardkitError

IsolationLevel = Literal["full", "warm", "guard", "none"]
"""`warm`: namespaces of the worker's own, seccomp, Landlock, rlimits. `guard`: the same without namespaces.
`full`: `warm` with new namespaces for every run. `none`: no isolation at all."""

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
"""How a run ended. `ok`: exit status 0. `compile_error`: there is no program to run. `wall_timeout` may be
due to the load; `cancelled` and `sandbox_error` say nothing of the program."""

TIMED_OUT: frozenset[str] = frozenset({"cpu_timeout", "idle_timeout", "wall_timeout"})
OVER_LIMIT: frozenset[str] = frozenset({"memory_limit", "output_limit", "process_limit"})


class SandboxUnavailable(RewardkitError, RuntimeError):
    """This host cannot isolate programs at the level asked for; the message says why, for every level."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one run may use."""

    cpu_s: float = 5.0
    """CPU time of the process, all threads together. It decides, since it does not depend on the load."""
    wall_s: float | None = None
    """Elapsed time, whatever it was spent on: waiting for a CPU that others use counts too. None: five times
    `cpu_s`."""
    memory_mb: int = 1024
    """Address space beyond what the interpreter itself has, for each process. Of runtimes that reserve much
    more than they use, and of shell scripts with all that they start: memory in use."""
    output_bytes: int = 4 << 20
    """For stdout, stderr and any file it writes, each."""
    processes: int = 0
    """Further processes it may start; needs level `warm` or `full`. A Python program can never execute
    another program."""
    threads: int = 64
    idle_s: float | None = None
    """Elapsed time in which it neither ran nor waited for a CPU: it slept, or waited for what never comes.
    Does not depend on the load. None: no limit but `wall_s`."""

    @property
    def wall(self) -> float:
        """The wall limit in seconds."""
        return 5.0 * self.cpu_s if self.wall_s is None else self.wall_s


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one run ended, as measured from outside."""

    status: OutcomeStatus
    stdout: bytes = b""
    stderr: bytes = b""
    exit_code: int | None = None
    """As in `subprocess`: the exit status, or minus the signal that ended it. None: it never ran."""
    cpu_s: float = 0.0
    wall_s: float = 0.0
    peak_memory: int = 0
    """Largest resident set, bytes."""
    level: IsolationLevel = "none"
    """The isolation that it ran under."""
    detail: str | None = None
    """One line on a `sandbox_error`, or the compiler's first message."""
    results: bytes = b""
    """What a function-call or assertion run has written on its result descriptor."""

    @property
    def ok(self) -> bool:
        """True when the program ended by itself with exit status 0."""
        return self.status == "ok"
