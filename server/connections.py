"""What a connection may cost before it has sent a whole request: bytes and seconds of headers.

uvicorn's HTTP protocol with limits that uvicorn has for h11 alone, or not at all. How many connections
there may be is uvicorn's own `limit_concurrency`; bodies are the guard's business, which knows the routes.
"""

from __future__ import annotations

import asyncio
import logging

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEADER_BYTES = 64 << 10
"""Of the request line, the headers, and whatever else is no body, that may wait for what ends it."""

REQUEST_TIMEOUT_S = 10.0
"""How long a connection may take until its first request has begun, and any request for its headers."""

MAX_PIPELINED = 500
"""Requests that may have been sent on one connection beyond the one that is being handled."""

_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_log = logging.getLogger("rewardkit.server")


class LimitedHeaders(HttpToolsProtocol):
    """One connection. It is closed where headers are too long or too slow, or too many requests wait."""

    _unread = 0
    """Bytes since the last that were of a body or ended a request's headers."""
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the clock."""
        super().connection_made(transport)
        self._start_clock()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock."""
        self._stop_clock()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what came, and look at how much waits for the end of its headers."""
        self._unread += len(data)
        super().data_received(data)
        if self._unread > MAX_HEADER_BYTES and not self.transport.is_closing():
            _log.warning("closed a connection whose headers are over %d KiB", MAX_HEADER_BYTES >> 10)
            self.transport.write(_TOO_LARGE)
            self.transport.close()
        elif self._unread and self._deadline is None and self._is_idle():
            self._start_clock()  # a part of the next request's headers

    def on_headers_complete(self) -> None:
        """Start the request, or let it wait for those before it."""
        self._unread = 0
        self._stop_clock()
        if len(self.pipeline) < MAX_PIPELINED:
            super().on_headers_complete()
        elif not self.transport.is_closing():
            _log.warning("closed a connection on which %d requests wait for an answer", MAX_PIPELINED)
            self.transport.close()

    def on_body(self, body: bytes) -> None:
        """Take a piece of the body."""
        self._unread = 0
        super().on_body(body)

    def shutdown(self) -> None:
        """Close, unless the first request is still on its way: its answer will close the connection."""
        if self.cycle is not None:
            super().shutdown()

    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _start_clock(self) -> None:
        self._deadline = self.loop.call_later(REQUEST_TIMEOUT_S, self.transport.close)

    def _stop_clock(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
