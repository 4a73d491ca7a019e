"""Provides the table of turns (`jail/turns.py`) that all sandboxes of a process and its workers share."""

from __future__ import annotations

import contextlib
import os
import threading
from dataclasses import dataclass
from functools import cached_property

from rewardkit.host_memory import available_bytes
from rewardkit.sandbox.jail import turns
from rewardkit.sandbox.outcome import DEFAULT_LIMITS

VARIABLE = "REWARDKIT_SANDBOX_TABLE"

_MEMORY_SHARE = 0.8
"""Share of the available memory that all live programs together may claim."""


@dataclass(frozen=True)
class TurnTable:
    """A table of turns, which is closed with the object. No sandbox may use a closed table.

    Args:
        slots: Number of programs that may run at once.
    """

    slots: int

    @cached_property
    def descriptor(self) -> int:
        """Return the descriptor of the table."""
        table = os.memfd_create("sandbox-turns", os.MFD_CLOEXEC)
        turns.write_table(table, self.slots, memory_budget_mb(self.slots))
        return table

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment variables to add for a worker that inherits the descriptor."""
        return {VARIABLE: f"{self.descriptor}:{os.fstat(self.descriptor).st_ino}"}

    def close(self) -> None:
        """Close the descriptor."""
        os.close(self.descriptor)


_lock = threading.Lock()
_own: list[TurnTable] = []


def table_of_process() -> int:
    """Return the descriptor of the table that this process inherited, or of the process's own table."""
    descriptor, _, inode = os.environ.get(VARIABLE, "").partition(":")
    with contextlib.suppress(OSError, ValueError):
        if os.fstat(int(descriptor)).st_ino == int(inode):
            return int(descriptor)
    with _lock:
        if not _own:
            _own.append(TurnTable(len(os.sched_getaffinity(0))))
        return _own[0].descriptor


def memory_budget_mb(slots: int) -> int:
    """Return the memory that all live programs may claim, in MiB.

    The budget is a share of the available memory, but at least enough for one program with the default limit
    in each slot.
    """
    return max(int((available_bytes() >> 20) * _MEMORY_SHARE), slots * DEFAULT_LIMITS.memory_mb)
