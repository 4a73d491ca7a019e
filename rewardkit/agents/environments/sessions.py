"""Counts this process's sessions on servers that allow only a few, so that the other episodes wait."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from rewardkit.agents.environments.environment import EnvironmentFailed
from rewardkit.agents.types import Busy

_PAUSE_S = 0.5
"""Time in seconds between two attempts, since other programs may use the server too."""
_PATIENCE_S = 900.0
"""Time in seconds after which episodes fail if this process has had no session."""
_TOLD_S = 60.0
"""Time in seconds after which the user is told that this process has had no session."""


@dataclass
class _Known:
    """What this process has learned about a server, in this event loop or an earlier one."""

    most: int | None = None
    """Maximum number of sessions, or None if the server has refused none."""
    waits_since: float | None = None
    """Time since which this process has been waiting without any session, or None."""
    told: bool = False


@dataclass
class ServerSessions:
    """Sessions of an event loop's episodes on one server."""

    who: str
    """Name of the server for messages."""
    known: _Known
    open: int = 0
    _freed: asyncio.Event = field(default_factory=asyncio.Event)

    def take(self) -> None:
        """Count a session that is about to be opened.

        Raises:
            Busy: The server has no free session.
        """
        if self.known.most is not None and self.open >= self.known.most:
            raise Busy(self._free)
        self.open += 1

    def give_back(self) -> None:
        """Count a session that has been closed."""
        self.open -= 1
        self.known.waits_since, self.known.told = None, False
        self._freed.set()
        self._freed = asyncio.Event()

    def refuse(self, most: int) -> None:
        """Record that the server refused the session that `take` counted, since it allows only `most`.

        Raises:
            Busy: The episode has to wait.
            EnvironmentFailed: This process has waited too long.
        """
        if self.known.most is None:
            _say(f"{self.who} allows {most} session{'s' * (most > 1)} at a time; the other episodes wait")
        self.known.most = max(most, 1)
        self.open -= 1
        if self.known.waits_since is None and not self.open:
            self.known.waits_since = time.monotonic()
        waited_s = 0.0 if self.open else time.monotonic() - (self.known.waits_since or 0.0)
        if waited_s > _PATIENCE_S:
            raise EnvironmentFailed(
                f"{self.who} has had no free session for {_PATIENCE_S:g} s; restart it, because a "
                "hanging step may hold the session"
            )
        if waited_s > _TOLD_S and not self.known.told:
            self.known.told = True
            _say(
                f"{self.who} has had no free session for {_TOLD_S:g} s: another program may use it, or a "
                f"hanging step may hold the session; the waiting episodes fail after {_PATIENCE_S:g} s"
            )
        raise Busy(self._free)

    async def _free(self) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._freed.wait(), _PAUSE_S)


_KNOWN: dict[str, _Known] = {}
_SERVERS: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, ServerSessions]] = WeakKeyDictionary()


def sessions_on(who: str) -> ServerSessions:
    """Return the sessions that the running event loop's episodes have on a server."""
    servers = _SERVERS.setdefault(asyncio.get_running_loop(), {})
    if who not in servers:
        servers[who] = ServerSessions(who, _KNOWN.setdefault(who, _Known()))
    return servers[who]


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
