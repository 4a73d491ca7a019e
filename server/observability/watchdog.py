"""Detects when a route blocks the event loop, so that no other request is handled, and logs the route."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time

HELD_S = 0.1
"""Seconds without a tick after which the event loop counts as blocked."""

_TICK_S = 0.05
"""Seconds between two ticks."""

_MAX_ROUTES = 1_000
"""Maximum number of routes that are logged."""

_log = logging.getLogger("rewardkit.server")


class Watchdog:
    """Watchdog of an event loop.

    The loop ticks regularly. If a tick is late, a thread records which route is running.
    """

    def __init__(self) -> None:
        self.held_s = 0.0
        """Total number of seconds for which the event loop was blocked.

        Only blocks of at least `HELD_S` count.
        """
        self._ticked = 0.0
        self._holder: str | None = None
        """Route that ran while the loop did not tick."""
        self._logged: set[str] = set()
        self._stopped = threading.Event()

    async def run(self) -> None:
        """Watch the running event loop until this coroutine is cancelled."""
        self._ticked = time.monotonic()
        spent_s = time.thread_time()
        thread = threading.Thread(
            target=self._watch, args=(threading.get_ident(),), name="rewardkit-watchdog", daemon=True
        )
        thread.start()
        try:
            while True:
                await asyncio.sleep(_TICK_S)
                now = time.monotonic()
                late_s = now - self._ticked - _TICK_S
                before_s, spent_s = spent_s, time.thread_time()
                if late_s >= HELD_S:
                    self.held_s += late_s
                    # If this process used little CPU time, the machine was busy with other processes.
                    if spent_s - before_s >= HELD_S:
                        self._log(late_s)
                self._ticked, self._holder = now, None
        finally:
            self._stopped.set()

    def _log(self, seconds: float) -> None:
        route = self._holder
        if route is not None and route not in self._logged and len(self._logged) < _MAX_ROUTES:
            self._logged.add(route)
            _log.warning(
                "%s held the event loop for %.2f s (it is not logged again)",
                route,
                seconds,
                extra={"route": route},
            )

    def _watch(self, thread_id: int) -> None:
        while not self._stopped.wait(_TICK_S):
            if self._holder is None and time.monotonic() - self._ticked > _TICK_S + HELD_S / 2:
                self._holder = _route_in(thread_id)


def _route_in(thread_id: int) -> str | None:
    """Return the route of the request that a thread handles at this moment, or None."""
    frame = sys._current_frames().get(thread_id)
    while frame is not None:
        scope = frame.f_locals.get("scope")  # ASGI applications use this argument name.
        if isinstance(scope, dict) and scope.get("type") in ("http", "websocket"):
            path: str = getattr(scope.get("route"), "path", "unmatched")
            return path
        frame = frame.f_back
    return None
