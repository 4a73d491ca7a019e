"""Limits of a connection before it has sent a whole request: bytes and seconds of headers, and its place.

uvicorn's HTTP protocol with limits that uvicorn has for h11 alone, or not at all. How many connections
there may be is uvicorn's own `limit_concurrency`; bodies are the guard's business, which knows the routes.
"""

from __future__ import annotations

import asyncio
import heapq
import logging

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEADER_BYTES = 64 << 10
"""Size of the request line, the headers, and whatever else is no body, that may wait for what ends it."""

REQUEST_TIMEOUT_S = 10.0
"""Seconds that a request that has begun may take until its headers are complete. A connection that says
nothing may stay: a busy client opens thousands before it gets round to the first request."""

_GRACE_S = 1.0
"""Seconds after that time in which bytes may be unread yet that came within it, where this process was
busy."""

_CLOSED_TOGETHER = 100
"""The share of the places, one in so many, that is made free when none is left."""

MAX_PIPELINED = 500
"""Requests that may have been sent on one connection beyond the one that is being handled."""

_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_log = logging.getLogger("rewardkit.server")


class LimitedHeaders(HttpToolsProtocol):
    """One connection. It is closed where headers are too long or too slow, or too many requests wait; and
    where it has said nothing for longest, and another needs its place."""

    _unread = 0
    """Bytes since the last that were of a body or ended a request's headers."""
    _heard = 0.0
    """Time at which it last sent something, by the loop's clock."""
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a place, and have others make room where there is none."""
        super().connection_made(transport)
        self._heard = self.loop.time()
        if self.limit_concurrency is not None and len(self.connections) >= self.limit_concurrency:
            self._make_room(max(1, self.limit_concurrency // _CLOSED_TOGETHER))

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        self._stop_clock()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what came, and look at how much waits for the end of its headers."""
        self._heard = self.loop.time()
        self._unread += len(data)
        super().data_received(data)
        if self._unread > MAX_HEADER_BYTES and not self.transport.is_closing():
            self.transport.write(_TOO_LARGE)
            self._close(f"its headers are larger than {MAX_HEADER_BYTES >> 10} KiB")
        elif self._unread and self._deadline is None and self._is_idle():
            self._start_clock()

    def on_headers_complete(self) -> None:
        """Start the request, or let it wait for those before it."""
        self._unread = 0
        self._stop_clock()
        if len(self.pipeline) < MAX_PIPELINED:
            super().on_headers_complete()
        elif not self.transport.is_closing():
            self._close(f"{MAX_PIPELINED} requests on it wait for an answer")

    def on_body(self, body: bytes) -> None:
        """Take a piece of the body."""
        self._unread = 0
        super().on_body(body)

    def shutdown(self) -> None:
        """Close, unless the first request may be on its way: its answer will close the connection."""
        asked = self.cycle is not None
        if asked:
            super().shutdown()
        elif self._deadline is None:
            self._start_clock()

    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _start_clock(self) -> None:
        self._deadline = self.loop.call_at(self._heard + REQUEST_TIMEOUT_S, self._look_again)

    def _look_again(self) -> None:
        why = f"no complete headers after {REQUEST_TIMEOUT_S:g} s"
        self._deadline = self.loop.call_later(_GRACE_S, self._close, why)

    def _stop_clock(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _close(self, why: str) -> None:
        address = self.transport.get_extra_info("peername") or ("",)
        _log.warning("closed a connection: %s", why, extra={"client": address[0]})
        self.transport.close()

    def _make_room(self, places: int) -> None:
        """Close as many others of those that have nothing under way, the longest silent first."""
        others = [other for other in self.connections if isinstance(other, LimitedHeaders)]
        idle = [other for other in others if other._is_idle() and not other._unread and other is not self]
        silent = heapq.nsmallest(places, idle, key=lambda other: other._heard)
        for other in silent:
            self.connections.discard(other)  # at once, so that the next newcomer counts right
            other.transport.abort()
        _log.warning("closed idle connections: %d (the limit of open connections is reached)", len(silent))
