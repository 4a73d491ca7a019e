"""What a connection may cost before it has sent a whole request: bytes and seconds of headers, and places.

uvicorn's HTTP protocol with these limits. Bodies are the guard's business: it knows the routes.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Collection
from typing import Any

from starlette.types import ASGIApp
from uvicorn.config import Config
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

MAX_HEADER_BYTES = 64 << 10
"""Of the request line, the headers, and whatever else of a request is not its body."""

REQUEST_TIMEOUT_S = 10.0
"""How long a connection may take until its first request has begun, and any request for its headers."""

MAX_PIPELINED = 500
"""Requests that may have been sent on one connection beyond the one that is being handled."""

ADDRESS_SHARE = 0.8
"""Of all places one address may have so many."""

_log = logging.getLogger("rewardkit.server")


class _RefusedCycle:
    """Stands for a request that is not handled: what else comes of it is not looked at."""

    response_complete = True
    disconnected = True
    message_event = asyncio.Event()


_REFUSED: Any = _RefusedCycle()


class _Corked:
    """A transport as the handling of one request sees it: the head of an answer waits for its body.

    uvicorn writes them one after the other, and each would be a system call and a packet of its own. Only
    what announces its length waits; the head of a stream goes out at once.
    """

    __slots__ = ("_cycle", "_head", "_transport")

    def __init__(self, transport: asyncio.Transport, cycle: RequestResponseCycle) -> None:
        self._transport = transport
        self._cycle = cycle
        self._head = b""

    def write(self, data: bytes) -> None:
        """Write, or keep for the next time."""
        if self._head:
            data = self._head + data
            self._head = b""
        elif (
            self._cycle.chunked_encoding is False
            and not self._cycle.response_complete
            and data[:5] == b"HTTP/"
        ):
            self._head = data
            return
        self._transport.write(data)

    def close(self) -> None:
        """Close, once what was kept is written."""
        if self._head:
            self._transport.write(self._head)
        self._transport.close()

    def is_closing(self) -> bool:
        """Whether the transport is."""
        return self._transport.is_closing()


class _Flow(FlowControl):
    """Reads no further while requests wait for those before them.

    uvicorn reads on with each answer, so that what waits grows for as long as a client sends faster than it
    is answered.
    """

    def __init__(self, transport: asyncio.Transport, waiting: Collection[object]) -> None:
        super().__init__(transport)
        self._waiting = waiting

    def resume_reading(self) -> None:
        """Read on if nothing waits: the body of what is being handled is whole where something does."""
        if not self._waiting:
            super().resume_reading()


class Places:
    """Limits the number of open connections, in all and from one address.

    Where there is no room, the connection that has been idle for longest makes it; connections whose request
    is being handled are never closed for others.

    Args:
        limit: connections at once.
        per_address: of them, from one address; None: most of them.
    """

    def __init__(self, limit: int, per_address: int | None = None) -> None:
        self.limit = limit
        self.per_address = per_address or max(1, int(limit * ADDRESS_SHARE))
        self.idle: OrderedDict[LimitedConnection, None] = OrderedDict()
        """Those that wait for a request, the oldest first."""
        self._open: dict[LimitedConnection, str] = {}
        self._by_address: dict[str, int] = {}
        self.turned_away = 0

    def enter(self, connection: LimitedConnection, address: str) -> bool:
        """Admit a new connection; False where the limit is reached and no connection is idle."""
        if self._by_address.get(address, 0) >= self.per_address:
            if not self._close_idle(address):
                self.turned_away += 1
                return False
        elif len(self._open) >= self.limit and not self._close_idle(None):
            self.turned_away += 1
            return False
        self._open[connection] = address
        self._by_address[address] = self._by_address.get(address, 0) + 1
        self.idle[connection] = None
        return True

    def leave(self, connection: LimitedConnection) -> None:
        """Remove a connection; one that was not admitted may be passed too."""
        self.idle.pop(connection, None)
        address = self._open.pop(connection, None)
        if address is not None:
            self._by_address[address] -= 1
            if not self._by_address[address]:
                del self._by_address[address]

    def _close_idle(self, address: str | None) -> bool:
        for connection in self.idle:
            if address is None or self._open[connection] == address:
                self.leave(connection)
                connection.transport.abort()
                return True
        return False


class LimitedConnection(HttpToolsProtocol):
    """One connection within the limits. `with_places` makes the class that uvicorn is given."""

    places: Places

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._unread = 0
        """Bytes since the last that were of a body or ended a request's headers."""
        self._timer: asyncio.TimerHandle | None = None
        self._handled: RequestResponseCycle | None = None
        """The request whose answer is due; others may have been sent after it."""
        self._idle_since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a place and start the clock."""
        super().connection_made(transport)
        self.flow = _Flow(transport, self.pipeline)
        if not self.places.enter(self, self.client[0] if self.client else ""):
            transport.abort()
            return
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Give the place back."""
        self.places.leave(self)
        self._stop_timer()
        super()._unset_keepalive_if_required()
        if self._handled is not None and not self._handled.response_complete:
            self._handled.disconnected = True  # uvicorn tells the last that was sent alone
            self._handled.message_event.set()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse received bytes, within the limit on bytes of headers."""
        self._unread += len(data)
        super().data_received(data)
        if self._unread > MAX_HEADER_BYTES:
            self._too_large()
        elif self._unread and self._timer is None and self._is_idle():
            self._start_timer()  # a part of the next request's headers

    def on_headers_complete(self) -> None:
        """Start the request, unless its headers were too large."""
        unread = self._unread
        self._unread = 0
        self._stop_timer()
        if unread > MAX_HEADER_BYTES and self._headers_bytes() > MAX_HEADER_BYTES:
            if self._is_idle():
                self.cycle = _REFUSED
            self._too_large()
            return
        if len(self.pipeline) >= MAX_PIPELINED:
            self._too_many()
            return
        self.places.idle.pop(self, None)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Take a piece of the body."""
        self._unread = 0
        super().on_body(body)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGIApp) -> None:  # type: ignore[override]
        """Handle a request, whose answer goes out in one piece."""
        self._handled = cycle
        if cycle.scope["method"] != "HEAD":  # which has a length and no body
            cycle.transport = _Corked(self.transport, cycle)  # type: ignore[assignment]
        super()._start_asgi_task(cycle, app)  # type: ignore[arg-type]

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        if self.pipeline or self.transport.is_closing():
            super().on_response_complete()
            return
        self.server_state.total_requests += 1
        self.flow.resume_reading()
        self.places.idle[self] = None
        self._idle_since = self.loop.time()
        if self.timeout_keep_alive_task is None:
            self._look_later(self.timeout_keep_alive)

    def timeout_keep_alive_handler(self) -> None:
        """Close the connection if it has been idle for so long; one timer looks again and again."""
        idle_s = self.loop.time() - self._idle_since if self in self.places.idle else 0.0
        if idle_s >= self.timeout_keep_alive:
            super().timeout_keep_alive_handler()
        else:
            self._look_later(self.timeout_keep_alive - idle_s)

    def _look_later(self, seconds: float) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(seconds, self.timeout_keep_alive_handler)

    def _unset_keepalive_if_required(self) -> None:
        """Leave the timer: uvicorn takes it away with each request, to set another with each answer."""

    def handle_websocket_upgrade(self) -> None:
        """Keep the place for what the connection becomes, and give it back with that."""
        super().handle_websocket_upgrade()
        upgraded = self.transport.get_protocol()
        lost = upgraded.connection_lost

        def connection_lost(exc: Exception | None) -> None:
            self.places.leave(self)
            lost(exc)

        upgraded.connection_lost = connection_lost  # type: ignore[method-assign]

    def _headers_bytes(self) -> int:
        return len(self.url) + sum(len(name) + len(value) for name, value in self.headers)

    def _is_idle(self) -> bool:
        return not self.pipeline and (self.cycle is None or self.cycle.response_complete)

    def _start_timer(self) -> None:
        self._timer = self.loop.call_later(REQUEST_TIMEOUT_S, self._too_slow)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _too_slow(self) -> None:
        self._timer = None
        if not self.transport.is_closing():
            self.transport.close()

    def _too_many(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()
            _log.warning("closed a connection on which %d requests wait for an answer", MAX_PIPELINED)

    def _too_large(self) -> None:
        if self.transport.is_closing():
            return
        limit = MAX_HEADER_BYTES >> 10
        self.transport.write(
            b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
        )
        self.transport.close()
        _log.warning("closed a connection whose headers are over %d KiB", limit)


def with_places(places: Places) -> type[LimitedConnection]:
    """The protocol class for one server."""
    return type("LimitedConnection", (LimitedConnection,), {"places": places})
