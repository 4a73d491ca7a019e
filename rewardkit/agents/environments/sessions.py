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
"""Time in seconds after which an episode fails if this process has had no session."""


@dataclass
class ServerSessions:
    """Sessions of this process on one server."""

    who: str
    """Name of the server for messages."""
    most: int | None = None
    """Maximum number of sessions, or None if the server has refused none."""
    open: int = 0
    _last: float = field(default_factory=time.monotonic)
    """Time at which this process last had a session."""
    _freed: asyncio.Event = field(default_factory=asyncio.Event)

    def take(self) -> None:
        """Count a session that is about to be opened.

        Raises:
            Busy: The server has no free session.
        """
        if self.most is not None and self.open >= self.most:
            raise Busy(self._free)
        self.open += 1

    def give_back(self) -> None:
        """Count a session that has been closed."""
        self.open -= 1
        self._last = time.monotonic()
        self._freed.set()
        self._freed = asyncio.Event()

    def refuse(self, most: int) -> None:
        """Record that the server refused the session that `take` counted, since it allows only `most`.

        Raises:
            Busy: Always, unless this process has waited too long.
        """
        if self.most is None:
            print(
                f"{self.who} allows {most} session{'s' * (most > 1)} at a time; the other episodes wait",
                file=sys.stderr,
                flush=True,
            )
        self.most = max(most, 1)
        self.open -= 1
        if not self.open and time.monotonic() - self._last > _PATIENCE_S:
            raise EnvironmentFailed(f"{self.who} has had no free session for {_PATIENCE_S:g} s")
        raise Busy(self._free)

    async def _free(self) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._freed.wait(), _PAUSE_S)


_SERVERS: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, ServerSessions]] = WeakKeyDictionary()


def sessions_on(who: str) -> ServerSessions:
    """Return the sessions that the running event loop's episodes have on a server."""
    servers = _SERVERS.setdefault(asyncio.get_running_loop(), {})
    return servers.setdefault(who, ServerSessions(who))
