"""Sessions of this process on servers that allow only a few sessions. Other episodes wait for one."""

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
"""Seconds between two attempts to open a session. Other programs may also use the server's sessions."""
_PATIENCE_S = 900.0
"""Seconds without any open session after which the waiting episodes of this process fail."""
_TOLD_S = 60.0
"""Seconds without any open session after which the user is informed."""


@dataclass
class _Known:
    """Facts that this process has learned about a server in any of its event loops."""

    most: int | None = None
    """Maximum number of sessions on the server, or None if the server has never refused a session."""
    waits_since: float | None = None
    """Time at which this process began to wait without any session, or None if it does not wait."""
    told: bool = False


@dataclass
class ServerSessions:
    """Sessions on one server for the episodes of one event loop."""

    who: str
    """Name of the server for messages."""
    known: _Known
    open: int = 0
    _freed: asyncio.Event = field(default_factory=asyncio.Event)

    def take(self) -> None:
        """Count a session that the caller is about to open.

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
        """Record that the server allows only `most` sessions and refused the session that `take` counted.

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
