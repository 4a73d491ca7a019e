"""Limits on connections before a request is complete: size and time of headers, and number of connections.

The module extends uvicorn's HTTP protocol with limits that uvicorn has only for h11, or not at all. The
maximum number of connections is uvicorn's `limit_concurrency`. Bodies are limited by the middleware, because
the limits depend on the route.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
from typing import Any

from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from rewardkit.scoring.jobs import Client
from rewardkit.server.admission import WHOLE_BODY, LoopTurns

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

_SLICE = 2 << 10
"""Number of bytes that are parsed at once.

Further bytes are parsed only when no request waits on the connection. A client may send hundreds of requests
without reading the responses, and parsing all of them at once would delay other clients.
"""

_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_log = logging.getLogger("rewardkit.server")


class _Flow(FlowControl):
    """Flow control that reads nothing while received bytes wait to be parsed."""

    unparsed = memoryview(b"")
    """Received bytes that wait to be parsed."""
    _paused = False
    """True if uvicorn has paused reading."""

    def pause_reading(self) -> None:
        """Pause reading until `resume_reading` is called."""
        self._paused = True
        self._update()

    def resume_reading(self) -> None:
        """Resume reading as soon as no received bytes wait to be parsed."""
        self._paused = False
        self._update()

    def keep(self, data: bytes | memoryview) -> None:
        """Keep received bytes until they are parsed."""
        self.unparsed = memoryview(data)
        self._update()

    def _update(self) -> None:
        if self._paused or self.unparsed:
            super().pause_reading()
        else:
            super().resume_reading()


class LimitedHeaders(HttpToolsProtocol):
    """An HTTP connection with limits.

    The connection is closed if headers are too large or arrive too slowly. Received data is parsed when the
    address has a turn and no request waits on the connection. If the maximum number of connections is
    reached, the connections that have been idle longest are closed.

    Args:
        turns: Turns that all connections of a server share.
    """

    flow: _Flow
    _waits = False
    """True if received data waits for a turn of the address."""
    _unread = 0
    """Number of bytes received since the last body or complete headers."""
    _of_body = 0
    """Number of bytes received of the body of the current request."""
    _heard = 0.0
    """Time at which the last data arrived, by the event loop's clock."""
    _deadline: asyncio.TimerHandle | None = None
    _running: RequestResponseCycle | None = None
    """Request that is being handled. Further requests on the connection wait behind it."""

    def __init__(self, *args: Any, turns: LoopTurns, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.turns = turns

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Register the connection, and close idle connections if there are too many."""
        super().connection_made(transport)
        self.flow = _Flow(transport)
        self._address = Client(self.client[0] if self.client else "")
        self._heard = self.loop.time()
        if self.limit_concurrency is not None and len(self.connections) >= self.limit_concurrency:
            self._make_room(max(1, self.limit_concurrency // _CLOSED_TOGETHER))

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the running request, and drop everything that waits behind it."""
        self._stop_clock()
        super().connection_lost(exc)
        if self._running is not None and not self._running.response_complete:  # `cycle` is the last request
            self._running.disconnected = True
            self._running.message_event.set()
        for cycle, _ in self.pipeline:
            cycle.on_response = lambda: None  # Otherwise, the connection stays in memory for a while.
        self.pipeline.clear()
        self.flow.unparsed = memoryview(b"")

    def data_received(self, data: bytes) -> None:
        """Parse data, or keep it until it has its turn."""
        self._heard = self.loop.time()
        earlier = self.flow.unparsed
        if earlier or self.pipeline:
            self.flow.keep(bytes(earlier) + data)
        elif not self.turns.ask(self._address, self._heard, min(len(data), _SLICE), self._begin):
            self._waits = True
            self.flow.keep(data)
        elif len(data) <= _SLICE:
            self._parse(data)
        else:
            self.flow.unparsed = memoryview(data)
            self._begin()

    def _begin(self) -> None:
        """Parse the received data until a request waits on the connection, and keep the rest."""
        self._waits = False
        rest = self.flow.unparsed
        while rest and not self.pipeline and not self.transport.is_closing():
            end = max(_SLICE, self._body_left())
            self._parse(rest[:end])
            rest = rest[end:]
            if self.transport.get_protocol() is not self:  # The connection became a WebSocket.
                rest = rest[:0]
        if self.transport.is_closing():
            self.flow.unparsed = rest[:0]  # The transport may no longer be paused or resumed.
        else:
            self.flow.keep(rest)

    def _body_left(self) -> int:
        """Return the number of missing bytes of the current request's body, or 0 if the number is unknown."""
        if self.cycle is None or not self.cycle.more_body:
            return 0
        length = dict(self.headers).get(b"content-length", b"0")
        return int(length) - self._of_body

    def _parse(self, data: bytes | memoryview) -> None:
        self._unread += len(data)
        super().data_received(data)  # type: ignore[arg-type]  # The parser accepts any buffer.
        if self._unread > MAX_HEADER_BYTES and not self.transport.is_closing():
            self.transport.write(_TOO_LARGE)
            self._close(f"its headers are larger than {MAX_HEADER_BYTES >> 10} KiB")
        elif self._unread and self._deadline is None and self._is_idle():
            self._start_clock()

    def on_headers_complete(self) -> None:
        """Start the request, or queue it behind earlier requests on the connection."""
        self._unread = self._of_body = 0
        self._stop_clock()
        super().on_headers_complete()
        if not self.pipeline:
            self._running = self.cycle

    def on_response_complete(self) -> None:
        """Start the next request on the connection. Parse further data if no request waits."""
        if self.pipeline:
            self._running = self.pipeline[-1][0]
        super().on_response_complete()
        if self.flow.unparsed and not self.pipeline and not self._waits:
            self.loop.call_soon(self._go_on)

    def _go_on(self) -> None:
        self._waits = not self.turns.ask(self._address, self.loop.time(), _SLICE, self._begin)
        if not self._waits:
            self._begin()

    def on_body(self, body: bytes) -> None:
        """Handle a piece of a body. Bytes of a body do not count towards the size of the headers."""
        self._unread = 0
        self._of_body += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Note in the scope that the body has arrived completely."""
        self.scope["extensions"] = {WHOLE_BODY: {}}
        super().on_message_complete()

    def shutdown(self) -> None:
        """Close the connection, unless its first request may still be arriving.

        In that case, the connection closes after the response to the request.
        """
        asked = self.cycle is not None
        if asked and not (self._is_idle() and self.flow.unparsed):
            super().shutdown()
        elif self._deadline is None:
            self._start_clock()

    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _is_silent(self) -> bool:
        return self._is_idle() and not self._unread and not self.flow.unparsed

    def _start_clock(self) -> None:
        begins = self.loop.time() if self._waits else self._heard
        self._deadline = self.loop.call_at(begins + REQUEST_TIMEOUT_S, self._look_again)

    def _look_again(self) -> None:
        if self._waits:
            self._start_clock()
        else:
            self._deadline = self.loop.call_later(_GRACE_S, self._end_grace)

    def _end_grace(self) -> None:
        if self._waits:  # Further bytes have arrived.
            self._start_clock()
        else:
            self._close(f"no complete headers after {REQUEST_TIMEOUT_S:g} s")

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
        idle = [other for other in others if other is not self and other._is_silent()]
        silent = heapq.nsmallest(places, idle, key=lambda other: other._heard)
        for other in silent:
            # The connection is removed immediately, so that the next connection counts correctly.
            self.connections.discard(other)
            other.transport.abort()
        _log.warning("closed idle connections: %d (the limit of open connections is reached)", len(silent))
