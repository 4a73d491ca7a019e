"""Automatic closing of HTTP connections when the event loop that uses them ends.

The connections are closed when their loop is shut down, as at the end of `asyncio.run`, or else when the
process exits. Without this module, aiohttp would print "Unclosed client session" when a program ends. The
module itself sends no requests.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
from collections.abc import AsyncGenerator
from typing import Protocol

_EXIT_S = 2.0
"""Seconds to wait at exit for a loop that runs in another thread."""


class Connections(Protocol):
    """Object that is closed with its event loop: an aiohttp session, or an object that contains a session."""

    @property
    def closed(self) -> bool: ...

    async def close(self) -> None: ...


class _KeptConnections:
    """Connections with their event loop and the generator that closes them when that loop is shut down."""

    def __init__(self, connections: Connections, loop: asyncio.AbstractEventLoop) -> None:
        self.connections = connections
        self.loop = loop
        self.closing = _closing(connections)
        with contextlib.suppress(StopIteration):  # the loop only registers a generator that has started
            self.closing.__anext__().send(None)


_kept: list[_KeptConnections] = []
_of_parents: list[_KeptConnections] = []
"""Connections that this process inherited by a fork and that its parent process still uses."""


def end_with_loop(connections: Connections) -> None:
    """Register connections to be closed with the running loop, or at the latest when the process exits."""
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
    """Close connections from outside their loop, and finish their generator."""
    if kept.connections.closed or kept.loop.is_closed():  # no loop can run the generator, so step it by hand
        with contextlib.suppress(StopIteration, RuntimeError):  # RuntimeError if it is being closed
            kept.closing.aclose().send(None)
    elif kept.loop.is_running():
        asyncio.run_coroutine_threadsafe(_end(kept), kept.loop).result(_EXIT_S)
    else:
        kept.loop.run_until_complete(_end(kept))


def _close_all() -> None:
    while _kept:
        with contextlib.suppress(Exception):  # the operating system closes any remaining connections
            _close(_kept.pop())


def _forget() -> None:
    _of_parents.extend(_kept)
    _kept.clear()


os.register_at_fork(after_in_child=_forget)
atexit.register(_close_all)
