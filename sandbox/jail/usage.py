"""Reads the resource usage and idle time of a run from /proc, for the run's server."""

from __future__ import annotations

import os
import resource
import struct
from dataclasses import dataclass

from . import child
from .protocol import CPU, ENDED, EXEC, MEMORY, PROCESSES, PROGRAM, TESTS

_SECONDS = struct.Struct("=d")
_HELD = {PROGRAM: 8, TESTS: 16}
"""Positions in the file that a program and its tests share, at which each of them writes for how long it has
been held back."""
_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


def most_resident(job: child.JailJob, jail: child.Jail) -> int:
    """Return the number of bytes of memory that a run may have in use."""
    return jail.before.resident + job.memory + (job.profile.memory_mb << 20)


def excess(pid: int, job: child.JailJob, jail: child.Jail) -> int:
    """Return the limit that a run exceeds, or ENDED. Limits that the kernel enforces are not checked."""
    used = _usage(pid)
    if used.threads > job.threads + job.profile.threads:
        return PROCESSES
    in_use = used.resident
    if job.processes:  # all other processes in this namespace are the run's children
        everything = [_usage(each) for each in _pids(pid, job)]
        if sum(each.cpu_s for each in everything) > job.cpu_s:
            return CPU
        # For Python, the limit applies to each process separately, because forks share most of their memory.
        in_use = (sum if job.mode == EXEC else max)(each.resident for each in everything)
    return MEMORY if in_use > most_resident(job, jail) else ENDED


def resident(pid: int, job: child.JailJob) -> int:
    """Return the memory that a run has in use, in bytes."""
    return sum(_usage(each).resident for each in _pids(pid, job))


def wants_cpu(pid: int, job: child.JailJob) -> bool:
    """Return True if a thread of a run is running, or is only waiting for a CPU or a memory page."""
    return any(map(_wants_cpu, _pids(pid, job)))


def write_held(job: child.JailJob, held_s: float) -> None:
    """Write how long a run has been held back, so that the other run of its pair can read it."""
    if job.role in _HELD:
        os.pwrite(job.idle, _SECONDS.pack(held_s), _HELD[job.role])


def held_by_other(job: child.JailJob) -> float:
    """Return the seconds for which the other run of a pair has been held back."""
    other = {PROGRAM: TESTS, TESTS: PROGRAM}.get(job.role)
    return 0.0 if other is None else _read_seconds(job.idle, _HELD[other])


def _pids(pid: int, job: child.JailJob) -> list[int]:
    """Return a run's processes. If the run may start processes, these are all processes except the server."""
    if not job.processes:
        return [pid]
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and name != "1"]


def has_idled(pid: int, job: child.JailJob, elapsed: float, cpu_s: float, held_s: float) -> bool:
    """Return True if a run has been idle for too long, not counting the seconds for which it was held back.

    A program and its tests wait for each other, so time counts as idle only while both are idle. The tests'
    server therefore reports idle time to the program's server, and only the latter applies the limit.
    """
    if job.role == TESTS:
        idle = max(_idled(pid, job, elapsed, cpu_s, held_s), _read_seconds(job.idle, 0))
        os.pwrite(job.idle, _SECONDS.pack(idle), 0)
        return False
    if not job.idle_s or elapsed - cpu_s - held_s <= job.idle_s:  # this is the usual case
        return False
    idle = _idled(pid, job, elapsed, cpu_s, held_s)
    if job.role == PROGRAM:
        idle += _read_seconds(job.idle, 0) - elapsed
    return idle > job.idle_s


def _read_seconds(fd: int, position: int) -> float:
    found = os.pread(fd, _SECONDS.size, position)
    return float(_SECONDS.unpack(found)[0]) if found else 0.0


def _idled(pid: int, job: child.JailJob, elapsed: float, cpu_s: float, held_s: float) -> float:
    """Return the idle time of a run in seconds, not counting time spent waiting for a CPU.

    If the host does not report how long processes wait for a CPU, return 0, because the machine may just be
    busy.
    """
    pids = _pids(pid, job)
    if job.processes:
        cpu_s = sum(_usage(each).cpu_s for each in pids)
    idle = elapsed - cpu_s - held_s
    if any(_wants_cpu(each) for each in pids):
        # The kernel counts a wait for a CPU only after the wait has ended, so a current wait is missing.
        return 0.0
    waited = [waited_for_cpu(each) for each in pids]
    return 0.0 if None in waited else idle - sum(w for w in waited if w is not None)


def _wants_cpu(pid: int) -> bool:
    """Return True if a thread of a process is running, or is only waiting for a CPU or a memory page."""
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/stat") as stat:
                if stat.read().rpartition(")")[2].split()[0] in ("R", "D"):
                    return True
    except OSError:
        pass  # the process has just ended
    return False


@dataclass(frozen=True)
class _Usage:
    threads: int
    cpu_s: float
    """CPU time in seconds, including that of children that the process has waited for."""
    resident: int


def _usage(pid: int) -> _Usage:
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        ticks = sum(map(int, fields[11:15]))
        return _Usage(int(fields[17]), ticks / _TICKS_A_SECOND, int(fields[21]) * resource.getpagesize())
    except (OSError, IndexError, ValueError):
        return _Usage(0, 0.0, 0)


def waited_for_cpu(pid: int) -> float | None:
    """Return the seconds that a process's threads were ready to run but had no CPU, or None if unknown."""
    waited = 0
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/schedstat") as file:
                waited += int(file.read().split()[1])
    except (OSError, IndexError, ValueError):
        return None
    return waited / 1e9
