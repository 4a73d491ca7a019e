"""Keeps warm sandboxes for this process, and lends them to concurrent pieces of work."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable
from contextvars import ContextVar
from types import TracebackType

from rewardkit.sandbox.box import Sandbox
from rewardkit.sandbox.building import Builds
from rewardkit.sandbox.levels import LevelChoice
from rewardkit.sandbox.usual import UsualTime

_KEPT = 4
"""Number of sandboxes per level that are kept while nobody uses them."""


class _Stock:
    """Idle sandboxes of one process, by level."""

    def __init__(self) -> None:
        self.loan = SandboxLoan()
        """Loan for work outside of any other loan."""
        self._builds = Builds()  # shared, so that a program is built only once
        self._usual = UsualTime()
        self._idle: dict[LevelChoice, list[Sandbox]] = {}
        self._lock = threading.Lock()

    def take(self, level: LevelChoice, *, allow_unsafe: bool) -> Sandbox:
        with self._lock:
            idle = self._idle.get(level)
            if idle:
                return idle.pop()
        return Sandbox(level, allow_unsafe=allow_unsafe, builds=self._builds, usual=self._usual)

    def give_back(self, level: LevelChoice, sandbox: Sandbox) -> None:
        with self._lock:
            idle = self._idle.setdefault(level, [])
            if len(idle) < _KEPT:
                idle.append(sandbox)
                return
        sandbox.close()

    def close(self) -> None:
        self.loan.end()
        with self._lock:
            for sandbox in [one for idle in self._idle.values() for one in idle]:
                sandbox.close()
            self._idle.clear()


class SandboxLoan:
    """Sandboxes that one piece of work uses, by level. Use it as a context manager in the thread of the work.

    Args:
        on_parked: Function to call when a program of this work sleeps or waits for its turn, and every few
            seconds while it waits.
    """

    def __init__(self, on_parked: Callable[[], None] | None = None) -> None:
        self._on_parked = on_parked
        self._lent: dict[LevelChoice, Sandbox] = {}
        self._lock = threading.Lock()
        self._cancelled = False

    def get(self, level: LevelChoice, *, allow_unsafe: bool) -> Sandbox:
        """Return the sandbox of this work for a level."""
        if level not in self._lent:
            sandbox = _stock().take(level, allow_unsafe=allow_unsafe)
            sandbox.arm()
            sandbox.on_parked = self._on_parked
            with self._lock:
                self._lent[level] = sandbox
                if self._cancelled:
                    sandbox.cancel()
        return self._lent[level]

    @property
    def cpu_s(self) -> float:
        """Return the CPU time in seconds of all programs of this work."""
        with self._lock:
            return sum(sandbox.cpu_s for sandbox in self._lent.values())

    def cancel(self) -> None:
        """Kill the runs of this work, and any runs that it starts later. Any thread may call this method."""
        with self._lock:
            self._cancelled = True
            for sandbox in self._lent.values():
                sandbox.cancel()

    def __enter__(self) -> SandboxLoan:
        self._before = _current.set(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _current.reset(self._before)
        self.end()

    def end(self) -> None:
        """Give the sandboxes back. No program may be running."""
        with self._lock:
            lent = list(self._lent.items())
            self._lent.clear()
        for level, sandbox in lent:
            sandbox.on_parked = None
            _stock().give_back(level, sandbox)


_current: ContextVar[SandboxLoan | None] = ContextVar("sandbox_loan", default=None)
_stocks: dict[int, _Stock] = {}
"""Stock of each process, by process ID. A forked process gets its own."""
_making = threading.Lock()


def sandbox_of_process(level: LevelChoice = "auto", *, allow_unsafe: bool = False) -> Sandbox:
    """Return the sandbox that the current block has borrowed, or else the one shared by the whole process.

    Only one thread at a time may use the latter. A forked process gets its own sandboxes.

    Raises:
        SandboxUnavailable: The level does not work on this host.
    """
    loan = _current.get() or _stock().loan
    return loan.get(level, allow_unsafe=allow_unsafe)


def _stock() -> _Stock:
    with _making:
        if os.getpid() not in _stocks:
            _stocks[os.getpid()] = _Stock()
            atexit.register(_stocks[os.getpid()].close)
        return _stocks[os.getpid()]
