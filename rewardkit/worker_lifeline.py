"""Link between a process and its workers: a shared name, and a pipe that shows when the process has exited.

A server that all workers share (such as the SymPy server for the maths reward) listens on that name. The
server exits when the pipe becomes readable. This works only on Linux: the names are abstract socket
addresses, which leave no files behind.
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
    """Address of the servers that all workers of one owner share."""

    name: str
    alive: int
    """File descriptor that becomes readable when the owner is closed or the owner's process exits."""


class SharedOwner:
    """Owner of the servers that its workers share. Start workers with its `environment` and `descriptors`."""

    def __init__(self) -> None:
        alive, self._held = os.pipe()
        self.shared = Shared(secrets.token_hex(16), alive)
        _OWNERS.add(self)

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables to add when starting a worker."""
        name, alive = self.shared
        return {VARIABLE: f"{name}:{alive}:{os.fstat(alive).st_ino}"}

    @property
    def descriptors(self) -> tuple[int, ...]:
        """File descriptors that a worker has to inherit."""
        return (self.shared.alive,)

    def close(self) -> None:
        """Tell all shared servers to exit."""
        if self._held >= 0:
            os.write(self._held, b".")  # a forked process may keep the pipe open
            self.let_go()

    def let_go(self) -> None:
        """Close both ends of the pipe. A forked process must do this, or its parent's servers never exit."""
        for descriptor in (self._held, self.shared.alive) if self._held >= 0 else ():
            os.close(descriptor)
        self._held = -1

    @property
    def closed(self) -> bool:
        return self._held < 0


class _Own:
    """Owner of the servers of this process, used if the process was not started as a worker."""

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
    """Return the address that this process received from its owner, or its own address without an owner."""
    name, _, descriptor = os.environ.get(VARIABLE, "").partition(":")
    alive, _, inode = descriptor.partition(":")
    if name and _is_pipe(int(alive), int(inode)):
        return Shared(name, int(alive))
    return _own.shared()


def close() -> None:
    """Stop the servers that only this process uses. They start again when needed."""
    _own.close()


def _is_pipe(descriptor: int, inode: int) -> bool:
    """Return True if this process has inherited the pipe that its environment variable describes.

    A worker inherits the pipe, but a child process of a worker may not.
    """
    try:
        return os.fstat(descriptor).st_ino == inode
    except OSError:
        return False


def _after_fork() -> None:
    for owner in list(_OWNERS):
        owner.let_go()
    _own.__init__()  # type: ignore[misc]  # another thread may have held the lock


os.register_at_fork(after_in_child=_after_fork)
