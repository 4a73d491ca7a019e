"""Middleware for all requests: authentication, limits, request ids, logs, traces and metrics."""

from __future__ import annotations

import asyncio
import itertools
import logging
import math
import re
import secrets
import time
from collections.abc import Mapping

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketDisconnect

from rewardkit.errors import OverloadedError
from rewardkit.scoring.jobs import Client
from rewardkit.server import page
from rewardkit.server.access import Access
from rewardkit.server.admission import Admission, Body, LoopTurns
from rewardkit.server.observability.health import Health
from rewardkit.server.observability.metrics import Metrics
from rewardkit.server.request import CURRENT, BeginTrace, CurrentRequest
from rewardkit.server.score_route import SCORE_PATHS
from rewardkit.server.wire import NDJSON, answer_to, refusal

OPEN_PATHS = frozenset({"/health", "/healthz", "/readyz"}) | page.PATHS
"""Paths that need no token, for probes and browsers."""

_POLICY_VIOLATION = 1008
"""Close code for refused WebSockets (RFC 6455, section 7.4.1)."""

_SWITCHED = 101
"""HTTP status of a connection that became a WebSocket."""

_MAX_CLIENT_ID = 100
"""Maximum number of characters in a client's name."""

CLIENT_GONE = 499
"""Status recorded for requests whose client disconnected before the response."""

_NDJSON = NDJSON.encode()
_GOOD_ID = re.compile(rb"[\w.:/+=-]{1,128}", re.ASCII)
_log = logging.getLogger("rewardkit.server")


class Guard:
    """ASGI middleware that wraps the whole application.

    Args:
        app: Application that handles the requests.
        admission: Limits on the work in the server.
        metrics: Metrics that count the requests.
        health: Readiness of the server.
        access: Access control by headers.
        max_body_bytes: Maximum size of request bodies. Larger bodies get status 413.
        access_log: True to log a line for every request.
        begin_trace: Function that begins a span for each request, or None to disable tracing.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        admission: Admission,
        metrics: Metrics,
        health: Health,
        access: Access | None = None,
        max_body_bytes: int = 64 << 20,
        access_log: bool = False,
        begin_trace: BeginTrace | None = None,
    ) -> None:
        self.app = app
        self.begin_trace = begin_trace
        self.admission = admission
        self.turns = LoopTurns()
        self.metrics = metrics
        self.health = health
        self.access = access or Access()
        self.max_body_bytes = max_body_bytes
        self.access_log = access_log
        self._ids = (
            f"{prefix}{n:x}".encode() for prefix in [secrets.token_hex(4)] for n in itertools.count()
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request or a WebSocket connection from the ASGI server."""
        if scope["type"] == "websocket":
            await self._converse(scope, receive, send)
            return
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        if scope["method"] == "HEAD":  # A HEAD request is handled as GET. uvicorn drops the response body.
            scope = {**scope, "method": "GET"}
        headers: dict[bytes, bytes] = dict(scope["headers"])
        id_ = self._id(headers)
        request = CurrentRequest(
            id_.decode(), receive, _client(scope, headers), wait_for_turn=self.turns.take
        )
        if self.begin_trace is not None:
            request.trace = self.begin_trace(scope, headers, request.client)
        was = CURRENT.set(request)

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                request.status = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", id_)]
                if self.health.draining:
                    message["headers"].append((b"connection", b"close"))
            await send(message)

        body = Body(
            request,
            scope,
            self.admission,
            headers,
            max_bytes=self.max_body_bytes,
            streamed=_is_stream(scope, headers),
        )
        try:
            refused = self._refused(scope, headers, request, body)
            if refused is not None:
                await refused(scope, receive, answer)
            else:
                await self.turns.take(request.client, request.started, body.declared)
                await self._handle(request, scope, body.receive, answer)
        finally:
            body.release()
            CURRENT.reset(was)
            request.let_go()
            self._record(request, scope)

    def _id(self, headers: Mapping[bytes, bytes]) -> bytes:
        given = headers.get(b"x-request-id")
        return given if given and _GOOD_ID.fullmatch(given) else next(self._ids)

    async def _converse(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a WebSocket if it has a valid token. uvicorn limits the size of its messages."""
        headers: dict[bytes, bytes] = dict(scope["headers"])
        if self.health.draining or self.access.refused(headers, open_path=False) is not None:
            await receive()
            await send({"type": "websocket.close", "code": _POLICY_VIOLATION})
            return
        request = CurrentRequest(next(self._ids).decode(), receive, _client(scope, headers))
        if self.begin_trace is not None:
            request.trace = self.begin_trace(scope, headers, request.client)
        was = CURRENT.set(request)
        try:
            await self.app(scope, receive, send)
        except asyncio.CancelledError:
            self._end_of_drain(request, scope)
        except WebSocketDisconnect:  # The client disconnected while a message was being sent.
            pass
        except Exception:
            _log.exception("the route failed", extra={"path": scope["path"]})
        finally:
            CURRENT.reset(was)
            request.let_go()
            if request.samples:
                self.metrics.client(request.client.name or request.client.address, request.samples)
            if request.trace is not None:
                request.trace.end(_route(scope), _SWITCHED, request.samples, request.id)

    def _refused(
        self, scope: Scope, headers: dict[bytes, bytes], request: CurrentRequest, body: Body
    ) -> Response | None:
        """Return a response that refuses the request because of its headers, or None if it is allowed."""
        refused = self.access.refused(headers, open_path=scope["path"] in OPEN_PATHS)
        if refused is not None:
            return refused
        asked = headers.get(b"x-timeout-s")
        if asked is not None:
            request.timeout_s = _seconds(asked)
            if request.timeout_s is None:
                return refusal(422, "bad_request", "X-Timeout-S must be a positive number of seconds")
        try:
            body.open()
        except (HTTPException, OverloadedError) as error:
            return answer_to(error)
        return None

    async def _handle(self, request: CurrentRequest, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the application, and ensure that the client gets a response if it is still connected."""
        try:
            await self.app(scope, receive, send)
        except ClientDisconnect:
            request.gone = True
        except asyncio.CancelledError:
            if request.gone:
                return
            if request.status == 0:  # The request was cancelled because the server has finished draining.
                await refusal(503, "stopping", "the server is stopping")(scope, receive, send)
            self._end_of_drain(request, scope)
        except Exception:
            _log.exception("the route failed", extra={"path": scope["path"]})
            if request.status == 0:
                said = f"the server failed; see its log for request id {request.id}"
                await refusal(500, "internal", said)(scope, receive, send)

    def _end_of_drain(self, request: CurrentRequest, scope: Scope) -> None:
        """Log that a request was cancelled at the end of draining, or raise the current cancellation again.

        If the cancellation were raised, uvicorn would log it with a traceback.
        """
        if not self.health.draining:
            raise
        took_s = time.perf_counter() - request.started
        _log.warning("--drain-s has passed: the request to %s was ended after %.1f s", scope["path"], took_s)

    def _record(self, request: CurrentRequest, scope: Scope) -> None:
        seconds = time.perf_counter() - request.started
        status = CLIENT_GONE if request.gone and request.status == 0 else request.status
        route = _route(scope)
        if request.trace is not None:
            request.trace.end(route, status, request.samples, request.id)
        self.metrics.request(route, status, seconds)
        if request.samples:
            self.metrics.client(request.client.name or request.client.address, request.samples)
        if self.access_log:
            fields = {
                "request_id": request.id,
                "method": scope["method"],
                "path": scope["path"],
                "status": status,
                "samples": request.samples,
                "seconds": round(seconds, 6),
            }
            _log.info("request", extra=fields)


def _route(scope: Scope) -> str:
    """Return the template of the request's path. Templates are few, so they are suitable as metric labels."""
    path: str = getattr(scope.get("route"), "path", "unmatched")
    return path


def _is_stream(scope: Scope, headers: dict[bytes, bytes]) -> bool:
    return scope["path"] in SCORE_PATHS and headers.get(b"content-type", b"").startswith(_NDJSON)


def _client(scope: Scope, headers: dict[bytes, bytes]) -> Client:
    """Return the client's address, and its name from `X-Client-Id`."""
    address = scope.get("client")
    named = headers.get(b"x-client-id", b"")[:_MAX_CLIENT_ID]
    return Client(address[0] if address else "", named.decode("latin-1"))


def _seconds(text: bytes) -> float | None:
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if 0 < seconds < math.inf else None
