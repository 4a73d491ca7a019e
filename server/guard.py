"""What every request passes before and after its route: the token, the limits, its id, its record.

Pure ASGI, since this is on the path of every request. Routes and dialects live elsewhere.
"""

from __future__ import annotations

import asyncio
import hmac
import itertools
import logging
import math
import re
import secrets
import time
from collections.abc import Mapping, Sequence

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rewardkit.errors import OverloadedError
from rewardkit.server import page
from rewardkit.server.admission import Admission
from rewardkit.server.health import Health
from rewardkit.server.metrics import Metrics
from rewardkit.server.request import CURRENT, CurrentRequest
from rewardkit.server.wire import NDJSON, answer_to, refusal

OPEN_PATHS = frozenset({"/healthz", "/readyz"}) | page.PATHS
"""Paths that probes and browsers may ask for without a token."""

CLIENT_GONE = 499
"""The status under which a request is recorded whose client did not wait for the answer."""

_NDJSON = NDJSON.encode()
_GOOD_ID = re.compile(rb"[\w.:/+=-]{1,128}", re.ASCII)
_log = logging.getLogger("rewardkit.server")


class Guard:
    """ASGI middleware around the whole application.

    Args:
        tokens: bearer tokens that are accepted; none: every request is.
        max_body_bytes: larger bodies get 413, whether they announce their length or not.
        body_timeout_s: how long a body may take to arrive.
        access_log: write one line for every request.
        hot: by path, what answers a POST without going through the rest of the stack.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        admission: Admission,
        metrics: Metrics,
        health: Health,
        tokens: Sequence[str] = (),
        max_body_bytes: int = 64 << 20,
        body_timeout_s: float = 60.0,
        access_log: bool = False,
        hot: Mapping[str, ASGIApp] | None = None,
    ) -> None:
        self.app = app
        self.hot = hot or {}
        self.admission = admission
        self.metrics = metrics
        self.health = health
        self.tokens = [token.encode() for token in tokens]
        self.max_body_bytes = max_body_bytes
        self.body_timeout_s = body_timeout_s
        self.access_log = access_log
        self._ids = (
            f"{prefix}{n:x}".encode() for prefix in [secrets.token_hex(4)] for n in itertools.count()
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection of the ASGI server."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers: dict[bytes, bytes] = dict(scope["headers"])
        given = headers.get(b"x-request-id")
        id_ = given if given and _GOOD_ID.fullmatch(given) else next(self._ids)
        request = CurrentRequest(id_.decode(), receive)
        was = CURRENT.set(request)

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                request.status = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", id_)]
                if self.health.draining:
                    message["headers"].append((b"connection", b"close"))
            await send(message)

        body = _Body(self, request, headers, streamed=_is_stream(scope, headers))
        try:
            refused = self._refused(scope["path"], headers, request, body)
            if refused is not None:
                await refused(scope, receive, answer)
            else:
                await self._handle(request, scope, body.receive, answer)
        finally:
            body.release()
            CURRENT.reset(was)
            self._record(request, scope)

    def _refused(
        self, path: str, headers: dict[bytes, bytes], request: CurrentRequest, body: _Body
    ) -> Response | None:
        """The refusal that needs no look at the body, if there is reason for one."""
        if self.tokens and path not in OPEN_PATHS and not self._allowed(headers.get(b"authorization", b"")):
            return refusal(
                401,
                "unauthorized",
                "send 'Authorization: Bearer TOKEN' with a valid token",
                {"www-authenticate": "Bearer"},
            )
        asked = headers.get(b"x-timeout-s")
        if asked is not None:
            request.timeout_s = _seconds(asked)
            if request.timeout_s is None:
                return refusal(422, "bad_request", "X-Timeout-S must be a positive number of seconds")
        if body.declared > self.max_body_bytes and not body.streamed:
            return refusal(413, "too_large", self.too_large())
        try:
            body.take(body.declared)
        except OverloadedError as error:
            return answer_to(error)
        return None

    async def _handle(self, request: CurrentRequest, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the application; whatever happens to it, the client gets an answer, if it is still there."""
        hot = self.hot.get(scope["path"]) if scope["method"] == "POST" else None
        try:
            await (hot or self.app)(scope, receive, send)
        except ClientDisconnect:
            request.gone = True
        except asyncio.CancelledError:
            if request.gone:
                return
            if request.status == 0:  # stopped at the end of the drain
                await refusal(503, "stopping", "the server is stopping")(scope, receive, send)
            raise
        except Exception:
            _log.exception("the route failed", extra={"path": scope["path"]})
            if request.status == 0:
                await route_failed()(scope, receive, send)

    def _allowed(self, authorization: bytes) -> bool:
        scheme, _, sent = authorization.partition(b" ")
        same = [hmac.compare_digest(sent.strip(), token) for token in self.tokens]
        return any(same) and scheme.lower() == b"bearer"  # after all are compared: the time tells nothing

    def _record(self, request: CurrentRequest, scope: Scope) -> None:
        seconds = time.perf_counter() - request.started
        status = CLIENT_GONE if request.gone and request.status == 0 else request.status
        route = getattr(scope.get("route"), "path", "unmatched")
        self.metrics.request(route, status, seconds)
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

    def too_large(self) -> str:
        """What to say about a body that is over the limit."""
        return f"the body is over {self.max_body_bytes >> 20} MiB; send smaller batches"


class _Body:
    """Counts the body of one request while it comes in."""

    def __init__(
        self, guard: Guard, request: CurrentRequest, headers: dict[bytes, bytes], *, streamed: bool
    ) -> None:
        self.guard = guard
        self.request = request
        self.streamed = streamed
        """Judged line by line as it comes in: never held as a whole, so its length does not matter."""
        length = headers.get(b"content-length", b"")
        self.declared = int(length) if length.isdigit() and len(length) < 19 and not streamed else 0
        self.came = 0
        self.held = 0
        self.too_slow = False

    def take(self, n: int) -> None:
        self.guard.admission.take_bytes(n)
        self.held += n

    def release(self) -> None:
        self.guard.admission.give_back_bytes(self.held)

    async def receive(self) -> Message:
        """Pass on what comes in, within the limits.

        Raises:
            HTTPException: the body is too large, or takes too long.
            OverloadedError: too much is held already.
        """
        request = self.request
        message = await (request.receive() if request.body_read else self._in_time())
        if message["type"] == "http.disconnect":
            request.gone = True
        elif not request.body_read:
            self.came += len(message.get("body", b""))
            request.body_read = not message.get("more_body", False)
            if not self.streamed:
                if self.came > self.guard.max_body_bytes:
                    raise HTTPException(413, self.guard.too_large(), {"connection": "close"})
                if self.came > self.held:
                    self.take(self.came - self.held)
        return message

    async def _in_time(self) -> Message:
        """What comes in next. Like `asyncio.timeout`, at half its price: every request passes here."""
        task = asyncio.current_task()
        assert task is not None
        timer = asyncio.get_running_loop().call_later(self.guard.body_timeout_s, self._give_up, task)
        try:
            return await self.request.receive()
        except asyncio.CancelledError:
            if not self.too_slow:
                raise
            task.uncancel()
            raise HTTPException(408, "the body took too long to arrive") from None
        finally:
            timer.cancel()

    def _give_up(self, task: asyncio.Task[object]) -> None:
        self.too_slow = True
        task.cancel()


def route_failed() -> Response:
    """The answer to a request whose route raised what it should not."""
    request = CURRENT.get()
    under = f", under request id {request.id}" if request else ""
    return refusal(500, "internal", f"the server failed; its log says why{under}")


def _is_stream(scope: Scope, headers: dict[bytes, bytes]) -> bool:
    return scope["path"] == "/score" and headers.get(b"content-type", b"").startswith(_NDJSON)


def _seconds(text: bytes) -> float | None:
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if 0 < seconds < math.inf else None
