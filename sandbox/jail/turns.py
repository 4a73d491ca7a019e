"""Turns of the live programs on the CPU and their claims on memory, shared by all servers with one table.

A table is a file whose bytes are only locked, never written. The kernel releases the locks of a server that
dies, so no process has to coordinate the turns. Three ranges of bytes are used:

- slots: a program that wants to run holds one byte. The number of slots limits the programs that run at once.
- line: a program that waits for a slot holds the byte of its place. Lower places come first. Programs that
  have used little CPU time come before all programs that have used more, then the longest wait decides.
- memory: a program holds as many bytes as the MiB that it claims. While it has a slot, it claims its memory
  limit. While it sleeps or is stopped, it claims the memory that it uses.

A program that sleeps has no slot. A program that has to wait for a slot is stopped, so it cannot use more
memory than it claims.
"""

from __future__ import annotations

import fcntl
import os
import struct
import time
from collections.abc import Iterator

QUANTUM_S = 0.01
"""CPU time of a program at the first level, in seconds. The time doubles at each further level."""

_LEVELS = 16
_LEVEL = 1 << 50
"""Number of places in the line at each level. A place is a time in microseconds."""
_LINE = 1 << 32
_MEMORY = 1 << 60

_NUMBERS = struct.Struct("=QQ")
_FLOCK = struct.Struct("@hh4xqqi4x")
"""The kernel's `struct flock`: type, whence, start, length, pid."""

_ByteRange = tuple[int, int]
"""First byte and number of bytes."""


def write_table(table: int, slots: int, memory_mb: int) -> None:
    """Write the number of slots and the memory budget into a new table."""
    os.pwrite(table, _NUMBERS.pack(slots, memory_mb), 0)


def level_at(cpu_s: float) -> int:
    """Return the level of a program that has used this much CPU time, not counting an allowance."""
    return min(int(max(cpu_s, 0.0) / QUANTUM_S).bit_length(), _LEVELS - 1)


def level_ends(level: int) -> float:
    """Return the CPU time in seconds at which a program leaves a level."""
    return QUANTUM_S * (1 << level) if level < _LEVELS - 1 else float("inf")


class Turn:
    """Slot, place in the line and memory claim of one run.

    Args:
        table: Descriptor of the table.
        memory: Memory limit of the run, in bytes.
    """

    def __init__(self, table: int, memory: int) -> None:
        self._table = table
        self._slots: int
        self._budget: int
        self._slots, self._budget = _NUMBERS.unpack(os.pread(table, _NUMBERS.size, 0))
        self._limit_mb = min(_mib(memory), self._budget)
        self._slot = -1
        self._place = -1
        self._claims: list[_ByteRange] = []
        self._since = 0.0
        self._waited_s = 0.0
        self.is_first = False
        """True if nobody comes before this run, so that it takes the next slot that becomes free."""

    @property
    def has_slot(self) -> bool:
        """Return True if the run may use the CPU."""
        return self._slot >= 0

    @property
    def is_waiting(self) -> bool:
        """Return True if the run is waiting for a slot."""
        return self._place >= 0

    @property
    def held_s(self) -> float:
        """Return the seconds that the run has waited for slots so far."""
        return self._waited_s + (time.monotonic() - self._since if self.is_waiting else 0.0)

    def take(self, level: int) -> bool:
        """Take a slot if one is free and no other run comes first. Otherwise keep a place in the line."""
        if self.has_slot:
            return True
        if not self.is_waiting:
            self._line_up(level)
        self.is_first = not self._is_held(_LINE, self._place - _LINE)
        if not self.is_first:
            return False
        slot = next((byte for byte in range(self._slots) if self._lock(byte, 1)), -1)
        if slot < 0:
            return False
        # A program that runs alone cannot wait for another one to release memory.
        if not self._claim(self._limit_mb) and self._others_run(slot):
            self._unlock(slot, 1)
            return False
        self._slot = slot
        self._leave_line()
        return True

    def is_wanted(self, level: int) -> bool:
        """Return True if a program at a lower level is waiting for a slot."""
        return self._slot >= 0 and level > 0 and self._is_held(_LINE, level * _LEVEL)

    def give_back(self, resident: int) -> None:
        """Release the slot, and claim only the memory in use, given in bytes."""
        if self._slot >= 0:
            self._unlock(self._slot, 1)
            self._slot = -1
            self._reduce(min(_mib(resident), self._limit_mb))

    def end(self) -> None:
        """Release everything, because the run has ended."""
        self.give_back(0)
        self._reduce(0)
        self._leave_line()

    def _line_up(self, level: int) -> None:
        self._since = time.monotonic()
        self._place = _LINE + level * _LEVEL + int(self._since * 1e6)
        while not self._lock(self._place, 1):
            self._place += 1

    def _leave_line(self) -> None:
        if self.is_waiting:
            self._waited_s = self.held_s
            self._unlock(self._place, 1)
            self._place = -1

    def _others_run(self, slot: int) -> bool:
        return self._is_held(0, slot) or self._is_held(slot + 1, self._slots - slot - 1)

    def _claim(self, wanted_mb: int) -> bool:
        """Claim memory in addition to earlier claims. Return False if there is too little left."""
        missing = wanted_mb - sum(size for _, size in self._claims)
        for start, size in self._free(_MEMORY, self._budget):
            if missing <= 0:
                break
            if self._lock(start, min(size, missing)):
                self._claims.append((start, min(size, missing)))
                missing -= min(size, missing)
        return missing <= 0

    def _free(self, start: int, size: int) -> Iterator[_ByteRange]:
        """Yield the unclaimed parts of a range of memory."""
        own = next((claim for claim in self._claims if start < sum(claim) and claim[0] < start + size), None)
        taken = own or self._conflict(start, size)
        if taken is None:
            yield start, size
            return
        end = sum(taken)
        if taken[0] > start:
            yield from self._free(start, taken[0] - start)
        if end < start + size:
            yield from self._free(end, start + size - end)

    def _reduce(self, wanted_mb: int) -> None:
        excess = sum(size for _, size in self._claims) - wanted_mb
        while excess > 0:
            start, size = self._claims.pop()
            kept = max(size - excess, 0)
            if kept:
                self._claims.append((start, kept))
            self._unlock(start + kept, size - kept)
            excess -= size - kept

    def _lock(self, start: int, size: int) -> bool:
        try:
            fcntl.lockf(self._table, fcntl.LOCK_EX | fcntl.LOCK_NB, size, start)
        except OSError:
            return False
        return True

    def _unlock(self, start: int, size: int) -> None:
        fcntl.lockf(self._table, fcntl.LOCK_UN, size, start)

    def _is_held(self, start: int, size: int) -> bool:
        return size > 0 and self._conflict(start, size) is not None

    def _conflict(self, start: int, size: int) -> _ByteRange | None:
        """Return a part of a range that another server has locked, or None."""
        asked = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, start, size, 0)
        kind, _, first, length, _ = _FLOCK.unpack(fcntl.fcntl(self._table, fcntl.F_GETLK, asked))
        return None if kind == fcntl.F_UNLCK else (first, length)


def _mib(size: int) -> int:
    return -(-size >> 20)
