"""Shares the CPU between a run and the other live programs, by stopping and continuing the run's processes.

`turns.py` decides whose turn it is. A run needs a turn before it starts. A run loses its turn when it sleeps,
or when a program that has used less CPU time is waiting. The time for which a run is held back does not count
towards any limit.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import time

from . import child, usage
from .protocol import HELD, PARKED
from .turns import Turn, level_at, level_ends

_POLL_S = 0.02
"""Interval at which a running program is checked, in seconds."""

_SOON_S = 0.005
"""Interval at which a program is checked that was idle at the last check, or that has just started.

A program that sleeps should not keep others from running, and most programs that sleep do so at once.
"""

_SOON_POLLS = 4
"""Number of checks at which a program counts as just started."""

_FIRST_POLL_S = 0.002
"""Interval at which a program that is next in line tries to take a slot."""

_LINE_POLL_S = 0.025
"""Interval at which other programs in the line are checked."""

_ASLEEP_POLL_S = 0.05
"""Interval at which programs that sleep are checked."""

_QUIET_POLLS = 2
"""Number of checks in a row at which a program must be idle before it counts as asleep."""

_BUSY_S = 0.001
"""CPU time between two checks, in seconds, with which a program does not count as idle."""

_HELD_S = 5.0
"""Interval at which the driver is told that a run is still waiting."""


class SharedRun:
    """One run, which has a turn on the CPU, sleeps, or waits for its next turn.

    Args:
        turn: Turn of the run, in the table that all servers share.
        job: The run.
        control: Socket to the driver.
        whole: True to stop all processes of the namespace instead of the run's first process only.
    """

    def __init__(self, turn: Turn, job: child.JailJob, control: socket.socket, *, whole: bool) -> None:
        self.turn = turn
        self.job = job
        self._control = control
        self._whole = whole
        self._pid = -1
        self._pidfd = -1
        self._cpu_s = 0.0
        self._polls = 0
        self._quiet = 0
        self._told = time.monotonic()
        self._parked = False

    def start(self, pid: int, pidfd: int) -> None:
        """Record the process that was just forked for the run."""
        self._pid = pid
        self._pidfd = pidfd

    def may_start(self) -> bool:
        """Return True if the run may start now. Otherwise the run waits in the line."""
        return self.turn.take(level_at(self.job.used_s)) or self._still_held()

    @property
    def is_stopped(self) -> bool:
        """Return True if the run waits for its turn."""
        return self.turn.is_waiting

    @property
    def is_asleep(self) -> bool:
        """Return True if the run sleeps, and therefore uses no more memory than before."""
        return not self.turn.has_slot and not self.turn.is_waiting

    def pause_s(self, cpu_s: float) -> float:
        """Return the seconds until the next `update`, given the CPU time that the run has used."""
        if self.turn.is_waiting:
            return _FIRST_POLL_S if self.turn.is_first else _LINE_POLL_S
        if self.is_asleep:
            return _ASLEEP_POLL_S
        used_s = self.job.used_s + cpu_s
        soon = self._quiet or self._polls < _SOON_POLLS
        return min(level_ends(level_at(used_s)) - used_s, _SOON_S if soon else _POLL_S)

    def update(self, cpu_s: float) -> None:
        """Take, keep or give back the turn, given the CPU time that the run has used."""
        level = level_at(self.job.used_s + cpu_s)
        if self.turn.is_waiting:
            if self.turn.take(level):
                self._signal(signal.SIGCONT)
            else:
                self._still_held()
            return
        asleep = self._sleeps(cpu_s)
        if self.turn.has_slot and (asleep or self.turn.is_wanted(level)):
            self._park()
        if not asleep and not self.turn.has_slot and not self.turn.take(level):
            self._signal(signal.SIGSTOP)

    def _park(self) -> None:
        self.turn.give_back(usage.resident(self._pid, self.job))
        if not self._parked:
            self._parked = True
            self._tell(PARKED)

    def _sleeps(self, cpu_s: float) -> bool:
        """Return True if the run was idle at the last few checks."""
        used_s = cpu_s - self._cpu_s if self._polls else 0.0  # a program that now sleeps needed some to start
        self._cpu_s = cpu_s
        self._polls += 1
        if self.is_asleep and not used_s and not self.job.processes:
            return True  # reading /proc would be slow if many programs sleep
        busy = used_s > _BUSY_S or usage.wants_cpu(self._pid, self.job)
        self._quiet = 0 if busy else self._quiet + 1
        return self._quiet >= _QUIET_POLLS

    def _still_held(self) -> bool:
        usage.write_held(self.job, self.turn.held_s)
        if time.monotonic() - self._told > _HELD_S:
            self._told = time.monotonic()
            self._tell(HELD)
        return False

    def _tell(self, packet: bytes) -> None:
        with contextlib.suppress(BlockingIOError):  # the driver may be waiting for another run
            self._control.send(packet, socket.MSG_DONTWAIT)

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            if self._whole:
                os.kill(-1, number)
            else:
                signal.pidfd_send_signal(self._pidfd, number)
