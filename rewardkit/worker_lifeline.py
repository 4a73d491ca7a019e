"""Bond between a process and the workers it starts: a name, and a pipe that tells when it has gone.

Whatever is to run once for all of them (the SymPy server of the maths reward) listens under that name, and
ends when the pipe says so. Linux only: the names are abstract socket addresses, which leave no files behind.
"""

from __future__ import annotations

import atexit
import os
import secrets
import threading
from typing import NamedTuple
from weakref import WeakSet

VARIABLE = "REWARDKIT_SHARED"
_OWNERS: WeakSet[SharedOwner] = WeakSet()


class Shared(NamedTuple):
    """Address at which a process finds the servers that run for all of its kind."""

    name: str
    alive: int
    """A file descriptor that becomes readable when the owner has closed or died."""


class SharedOwner:
    """Made by the process that starts workers, which get its `environment` and `descriptors`."""

    def __init__(self) -> None:
        alive, self._held = os.pipe()
        self.shared = Shared(secrets.token_hex(16), alive)
        _OWNERS.add(self)

    @property
    def environment(self) -> dict[str, str]:
        """Variables that a worker's environment needs beside ours."""
        name, alive = self.shared
        return {VARIABLE: f"{name}:{alive}:{os.fstat(alive).st_ino}"}

    @property
    def descriptors(self) -> tuple[int, ...]:
        """Descriptors that a worker has to inherit."""
        return (self.shared.alive,)

    def close(self) -> None:
        """Tell everyone to end."""
        if self._held >= 0:
            os.write(self._held, b".")  # a fork of us may hold the pipe open: closing it is not enough
            self.let_go()

    def let_go(self) -> None:
        """Close our ends, as a fork has to: it must not keep its parent's servers alive."""
        for descriptor in (self._held, self.shared.alive) if self._held >= 0 else ():
            os.close(descriptor)
        self._held = -1

    @property
    def closed(self) -> bool:
        return self._held < 0


class _Own:
    """This process's own, for what runs without anyone above it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.owner: SharedOwner | None = None

    def shared(self) -> Shared:
        with self.lock:
            if self.owner is None or self.owner.closed:
                self.owner = SharedOwner()
                atexit.register(self.owner.close)
            return self.owner.shared

    def close(self) -> None:
        with self.lock:
            if self.owner is not None:
                self.owner.close()


_own = _Own()


def shared() -> Shared:
    """Return what our owner gave us, or, in a process without one, its own."""
    name, _, descriptor = os.environ.get(VARIABLE, "").partition(":")
    alive, _, inode = descriptor.partition(":")
    if name and _is_pipe(int(alive), int(inode)):
        return Shared(name, int(alive))
    return _own.shared()


def close() -> None:
    """End what runs for this process alone; it starts again when it is asked."""
    _own.close()


def _is_pipe(descriptor: int, inode: int) -> bool:
    """Return True if a worker has inherited the pipe that its environment speaks of: a child of its has
    not."""
    try:
        return os.fstat(descriptor).st_ino == inode
    except OSError:
        return False


def _after_fork() -> None:
    for owner in list(_OWNERS):
        owner.let_go()
    _own.__init__()  # type: ignore[misc]  # its lock may have been held by another thread


os.register_at_fork(after_in_child=_after_fork)
