"""Limits on connections before a request is complete: size and time of headers, and number of connections.

The module extends uvicorn's HTTP protocol with limits that uvicorn has only for h11, or not at all. The
maximum number of connections is uvicorn's `limit_concurrency`. Bodies are limited by the middleware, because
the limits depend on the route.
"""

from __future__ import annotations

import asyncio
import heapq
import logging

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEADER_BYTES = 64 << 10
"""Maximum number of bytes that may arrive before the headers are complete, not counting bodies."""

REQUEST_TIMEOUT_S = 10.0
"""Time limit in seconds for the headers, from the first byte of a request.

Idle connections have no time limit, because a busy client may open thousands of connections before it sends
the first request.
"""

_GRACE_S = 1.0
"""Additional seconds for reading bytes that arrived in time while this process was busy."""

_CLOSED_TOGETHER = 100
"""When the maximum number of connections is reached, one idle connection is closed for every this many
allowed connections."""

MAX_PIPELINED = 500
"""Maximum number of requests that wait on a connection while an earlier request is being handled.

All waiting requests are parsed immediately.
"""

_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_log = logging.getLogger("rewardkit.server")


class LimitedHeaders(HttpToolsProtocol):
    """An HTTP connection with limits.

    The connection is closed if headers are too large or arrive too slowly, or if too many requests wait on
    it. If the maximum number of connections is reached, the connections that have been idle longest are
    closed.
    """

    _unread = 0
    """Number of bytes received since the last body or complete headers."""
    _heard = 0.0
    """Time at which the last data arrived, by the event loop's clock."""
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Register the connection, and close idle connections if there are too many."""
        super().connection_made(transport)
        self._heard = self.loop.time()
        if self.limit_concurrency is not None and len(self.connections) >= self.limit_concurrency:
            self._make_room(max(1, self.limit_concurrency // _CLOSED_TOGETHER))

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer for the headers."""
        self._stop_clock()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse data, and check the size and time of incomplete headers."""
        self._heard = self.loop.time()
        self._unread += len(data)
        super().data_received(data)
        if self._unread > MAX_HEADER_BYTES and not self.transport.is_closing():
            self.transport.write(_TOO_LARGE)
            self._close(f"its headers are larger than {MAX_HEADER_BYTES >> 10} KiB")
        elif self._unread and self._deadline is None and self._is_idle():
            self._start_clock()

    def on_headers_complete(self) -> None:
        """Start the request, or queue it behind earlier requests on the connection."""
        self._unread = 0
        self._stop_clock()
        if len(self.pipeline) < MAX_PIPELINED:
            super().on_headers_complete()
        elif not self.transport.is_closing():
            self._close(f"{MAX_PIPELINED} requests on it wait for an answer")
            raise ConnectionAbortedError  # The error stops the parser, which may hold many more requests.

    def on_body(self, body: bytes) -> None:
        """Handle a piece of a body. Bytes of a body do not count towards the size of the headers."""
        self._unread = 0
        super().on_body(body)

    def shutdown(self) -> None:
        """Close the connection, unless its first request may still be arriving.

        In that case, the connection closes after the response to the request.
        """
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
        """Close this number of other idle connections, starting with those that have been idle longest."""
        others = [other for other in self.connections if isinstance(other, LimitedHeaders)]
        idle = [other for other in others if other._is_idle() and not other._unread and other is not self]
        silent = heapq.nsmallest(places, idle, key=lambda other: other._heard)
        for other in silent:
            # The connection is removed immediately, so that the next connection counts correctly.
            self.connections.discard(other)
            other.transport.abort()
        _log.warning("closed idle connections: %d (the limit of open connections is reached)", len(silent))
