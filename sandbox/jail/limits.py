"""Defines the limits of each kind of process in one table, `PROFILES`. `child.py` sets them before a run.

The server measures the memory in use every 20 ms and when a run ends. These measurements decide the outcome.
RLIMIT_DATA bounds the memory that a run can reach between two measurements. This limit must leave room for
thread stacks, which count in full when a thread starts. RLIMIT_AS is set much higher, because runtimes,
allocators and libraries reserve far more address space than they use.
"""

from __future__ import annotations

import resource
from collections.abc import Iterator
from dataclasses import dataclass

from . import seccomp

FILES = 1024
"""Maximum number of open files, which is the usual default on Linux."""

_MB = 1 << 20


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """Limits of one kind of process, in addition to the limits of a run."""

    calls: seccomp.Profile
    main_stack_mb: int | None
    """Stack limit of the main thread in MiB. None means the program's memory limit, as in programming
    contests."""
    thread_stack_mb: int
    """Largest stack that each thread may have in MiB, unless a program asks for another size."""
    memory_mb: int
    """Memory that the runtime itself needs, in addition to the program's memory, in MiB."""
    threads: int
    """Number of threads that the runtime itself starts."""
    space_gb: int
    """Address space beyond the memory limit, in GiB."""

    def rlimits(self, memory: int, threads: int, before: MemoryUse) -> Iterator[tuple[int, int]]:
        """Yield the rlimits on memory, as pairs of a resource and its limit in bytes.

        Args:
            memory: Memory limit of the program, in bytes.
            threads: Maximum number of threads of the program.
            before: Memory that the process uses before it starts the program.
        """
        own = memory + self.memory_mb * _MB
        yield resource.RLIMIT_DATA, before.data + own + (threads + self.threads) * self.thread_stack_mb * _MB
        yield resource.RLIMIT_AS, before.space + own + (self.space_gb << 30)

    def main_stack(self, memory: int) -> int:
        """Return the stack limit of the main thread in bytes, given the memory limit of the program."""
        return memory if self.main_stack_mb is None else self.main_stack_mb * _MB


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Memory of a process, in bytes."""

    space: int
    """Address space."""
    resident: int
    data: int
    """Private writable memory."""

    @classmethod
    def now(cls) -> MemoryUse:
        """Return the memory of this process."""
        with open("/proc/self/statm") as file:
            pages = [int(field) for field in file.read().split()]
        return cls(*(pages[place] * resource.getpagesize() for place in (0, 1, 5)))


PYTHON = "python"
BUILD = "build"
PROFILES = {
    #                        system calls     main stack  thread stack  memory  threads  address space
    PYTHON: ProcessLimits(   seccomp.PYTHON,  64,         8,            0,      0,       8),
    "native": ProcessLimits( seccomp.NATIVE,  None,       8,            0,      0,       8),
    "managed": ProcessLimits(seccomp.MANAGED, 64,         64,           256,    32,      96),
    "shell": ProcessLimits(  seccomp.SHELL,   8,          8,            64,     0,       8),
    BUILD: ProcessLimits(    seccomp.NATIVE,  64,         8,            0,      0,       16),
}  # fmt: skip
"""Limits by kind of process: Python programs, which run in a fork of the server, compiled programs, programs
that run in a runtime with its own memory management (Java, JavaScript and Go), shell scripts, and build steps
in every language."""
