"""Connections that are kept for a whole event loop, and that nobody is there to close at its end.

They are closed when their loop is shut down (`asyncio.run` does that), else when the process ends: aiohttp's
that are only dropped write "Unclosed client session" over what a user sees last. Nothing is sent here.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
from collections.abc import AsyncGenerator
from typing import Protocol

_EXIT_S = 2.0
"""Seconds that the end of the process waits for a loop that runs in another thread."""


class Connections(Protocol):
    """Kept objects: a session of aiohttp, or one that holds a session."""

    @property
    def closed(self) -> bool: ...

    async def close(self) -> None: ...


class _KeptConnections:
    """Connections, their loop, and the generator that the loop ends before it closes."""

    def __init__(self, connections: Connections, loop: asyncio.AbstractEventLoop) -> None:
        self.connections = connections
        self.loop = loop
        self.closing = _closing(connections)
        with contextlib.suppress(StopIteration):  # up to its yield: from now on the loop knows it
            self.closing.__anext__().send(None)


_kept: list[_KeptConnections] = []
_of_parents: list[_KeptConnections] = []
"""Connections that a forked child inherited, which are its parent's."""


def end_with_loop(connections: Connections) -> None:
    """Have connections closed with the running loop, or with the process at the latest."""
    for kept in [kept for kept in _kept if kept.connections.closed or kept.loop.is_closed()]:
        _kept.remove(kept)
        _close(kept)
    _kept.append(_KeptConnections(connections, asyncio.get_running_loop()))


async def _closing(connections: Connections) -> AsyncGenerator[None, None]:
    try:
        yield
    finally:
        await connections.close()


async def _end(kept: _KeptConnections) -> None:
    await kept.closing.aclose()


def _close(kept: _KeptConnections) -> None:
    """Close connections from outside of their loop; end their generator, of which a loop would hear else."""
    if kept.connections.closed or kept.loop.is_closed():  # by hand: there is no loop to wait in
        with contextlib.suppress(StopIteration, RuntimeError):  # RuntimeError: its loop is about to end it
            kept.closing.aclose().send(None)
    elif kept.loop.is_running():
        asyncio.run_coroutine_threadsafe(_end(kept), kept.loop).result(_EXIT_S)
    else:
        kept.loop.run_until_complete(_end(kept))


def _close_all() -> None:
    while _kept:
        with contextlib.suppress(Exception):  # the process ends, and the system closes what is left
            _close(_kept.pop())


def _forget() -> None:
    _of_parents.extend(_kept)
    _kept.clear()


os.register_at_fork(after_in_child=_forget)
atexit.register(_close_all)
