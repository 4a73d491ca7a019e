"""Sessions of aiohttp that are kept for a whole event loop, and that nobody is there to close at its end.

Each is closed when its loop is shut down (`asyncio.run` does that), else when the process ends: a session
that is only dropped writes "Unclosed client session" over what a user sees last. Nothing is sent here.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import aiohttp

_EXIT_S = 2.0
"""How long the end of the process waits for a loop that runs in another thread."""


class _KeptSession:
    """A session, its loop, and the generator that the loop ends before it closes."""

    def __init__(self, session: aiohttp.ClientSession, loop: asyncio.AbstractEventLoop) -> None:
        self.session = session
        self.loop = loop
        self.closing = _closing(session)
        with contextlib.suppress(StopIteration):  # up to its yield: from now on the loop knows it
            self.closing.__anext__().send(None)


_kept: list[_KeptSession] = []
_of_parents: list[_KeptSession] = []
"""What a forked child inherited: the connections are its parent's."""


def end_with_loop(session: aiohttp.ClientSession) -> None:
    """Have a session closed with the running loop, or with the process at the latest."""
    for kept in [kept for kept in _kept if kept.session.closed or kept.loop.is_closed()]:
        _kept.remove(kept)
        _close(kept)
    _kept.append(_KeptSession(session, asyncio.get_running_loop()))


async def _closing(session: aiohttp.ClientSession) -> AsyncGenerator[None, None]:
    try:
        yield
    finally:
        await session.close()


async def _end(kept: _KeptSession) -> None:
    await kept.closing.aclose()


def _close(kept: _KeptSession) -> None:
    """Close a session from outside of its loop, and end its generator, of which a loop would hear else."""
    if kept.loop.is_closed() and not kept.session.closed:
        connector = kept.session.connector
        kept.session.detach()
        if connector is not None:
            next(connector.close().__await__(), None)  # by hand: there is no loop to wait in
    if kept.session.closed:
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
