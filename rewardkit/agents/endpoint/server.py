"""HTTP server of the endpoint. Each event loop has one server, and each episode has its own base URL."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import secrets
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from aiohttp import web

from rewardkit.agents.endpoint import chat, completion, messages_api, responses
from rewardkit.agents.endpoint.program_requests import ApiError, AskedTurn, SaidTurn
from rewardkit.agents.endpoint.session import ProgramSession

MOST_BYTES = 256 * 1024**2
"""Maximum size of a request body in bytes. A request may contain the history of many turns."""


@dataclass(frozen=True, slots=True)
class ApiForm:
    """Functions that parse requests and write responses for one API."""

    read: Callable[[dict[str, Any], ProgramSession], AskedTurn]
    answer: Callable[[AskedTurn, SaidTurn], dict[str, Any]]
    events: Callable[[AskedTurn, SaidTurn], Iterable[tuple[str | None, Any]]]
    end: str
    """Text after the last event in a stream."""
    keep: Callable[[AskedTurn, SaidTurn, ProgramSession], None]
    """Function that stores a turn, so that later requests can refer to that turn."""


def _keep_response(asked: AskedTurn, said: SaidTurn, session: ProgramSession) -> None:
    session.earlier[responses.response_id(said)] = responses.conversation(asked, said)


CHAT = ApiForm(
    lambda body, session: chat.read(body),
    chat.answer,
    chat.events,
    "data: [DONE]\n\n",
    lambda asked, said, session: None,
)
RESPONSES = ApiForm(
    lambda body, session: responses.read(body, session.earlier),
    responses.answer,
    responses.events,
    "",
    _keep_response,
)

MESSAGES = ApiForm(
    lambda body, session: messages_api.read(body),
    messages_api.answer,
    messages_api.events,
    "",
    lambda asked, said, session: None,
)


class EpisodeEndpoint:
    """HTTP server for one event loop. It runs only while an episode uses it."""

    def __init__(self) -> None:
        """Create the endpoint without starting its server."""
        self._sessions: dict[str, ProgramSession] = {}
        self._starting = asyncio.Lock()
        self._runner: web.AppRunner | None = None
        self._address = ""

    @asynccontextmanager
    async def serve(self, session: ProgramSession) -> AsyncIterator[str]:
        """Serve the program of an episode within the block, and yield a base URL that ends with `/v1`."""
        key = secrets.token_hex(16)
        self._sessions[key] = session
        try:
            await self._start()
            yield f"{self._address}/{key}/v1"
        finally:
            del self._sessions[key]
            await session.close()
            await self._stop()

    async def _start(self) -> None:
        async with self._starting:
            if self._runner is not None:
                return
            app = web.Application(client_max_size=MOST_BYTES)
            app.router.add_post("/{key}/v1/chat/completions", self._chat)
            app.router.add_post("/{key}/v1/responses", self._responses)
            app.router.add_post("/{key}/v1/messages", self._messages)
            app.router.add_get("/{key}/v1/models", self._models)
            for path in ("/{key}/v1/complete", "/{key}/complete"):
                app.router.add_post(path, self._complete)
            app.router.add_route("*", "/{path:.*}", self._nothing)
            self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.0)
            await self._runner.setup()
            site = web.TCPSite(self._runner, "127.0.0.1", 0, backlog=1024)
            await site.start()
            self._address = f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def _stop(self) -> None:
        async with self._starting:
            if self._runner is not None and not self._sessions:
                runner, self._runner = self._runner, None
                await runner.cleanup()

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        return await self._answer(request, CHAT)

    async def _responses(self, request: web.Request) -> web.StreamResponse:
        return await self._answer(request, RESPONSES)

    async def _messages(self, request: web.Request) -> web.StreamResponse:
        return await self._answer(request, MESSAGES)

    async def _answer(self, request: web.Request, api: ApiForm) -> web.StreamResponse:
        def connected() -> bool:
            return request.transport is not None and not request.transport.is_closing()

        try:
            session = self._session(request)
            text = await request.read()
            asked = api.read(_body(text), session)

            async def work() -> SaidTurn:
                said = await session.turn(asked)
                api.keep(asked, said, session)
                return said

            pending = session.once(*_again(request, text), connected, work)
            said = await asyncio.shield(pending.task)
        except ApiError as error:
            return _refusal(error)
        except asyncio.CancelledError:
            if (task := asyncio.current_task()) is not None and task.cancelling():
                raise
            return _refusal(ApiError("the episode has ended", code="episode_ended"))
        response = _stream(api, asked, said) if asked.stream else web.json_response(api.answer(asked, said))
        if connected():
            with contextlib.suppress(ConnectionError):  # the program may already have closed the connection
                await response.prepare(request)
                await response.write_eof()
                pending.sent = True
                session.sent(said)
        return response

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        try:
            session = self._session(request)
            session.complete(completion.read(_body(await request.read()), len(session.use.turns)))
        except ApiError as error:
            return _refusal(error)
        return web.json_response({"status": "ok"})

    def _session(self, request: web.Request) -> ProgramSession:
        found = self._sessions.get(request.match_info["key"])
        if found is None:
            raise ApiError("the episode of this URL has ended, or never existed", code="episode_ended")
        return found

    async def _models(self, request: web.Request) -> web.Response:
        models = [{"id": "policy", "object": "model", "created": 0, "owned_by": "rewardkit"}]
        return web.json_response({"object": "list", "data": models})

    async def _nothing(self, request: web.Request) -> web.Response:
        known = "POST .../v1/chat/completions, .../v1/responses, .../v1/messages and .../v1/complete"
        return _refusal(ApiError(f"unknown route {request.method} {request.path}; use {known}", status=404))


_ENDPOINTS: WeakKeyDictionary[asyncio.AbstractEventLoop, EpisodeEndpoint] = WeakKeyDictionary()


def endpoint() -> EpisodeEndpoint:
    """Return the endpoint for the running event loop."""
    return _ENDPOINTS.setdefault(asyncio.get_running_loop(), EpisodeEndpoint())


def _body(text: bytes) -> dict[str, Any]:
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise ApiError("the request body must be a JSON object")
    return body


def _again(request: web.Request, text: bytes) -> tuple[str, bool]:
    """Return the key of a request, and True if the client has marked the request as a possible retry.

    Two identical requests without a retry mark ask for two separate turns.
    """
    key = request.headers.get("Idempotency-Key")
    if key is not None:
        return key, True
    retries = request.headers.get("x-stainless-retry-count", "0")
    return hashlib.sha256(request.path.encode() + b"\n" + text).hexdigest(), retries != "0"


def _refusal(error: ApiError) -> web.Response:
    return web.json_response(error.body, status=error.status, headers={"x-should-retry": "false"})


def _stream(api: ApiForm, asked: AskedTurn, said: SaidTurn) -> web.Response:
    """Return a recorded turn as a stream of events."""
    text = "".join(
        f"event: {name}\ndata: {json.dumps(data)}\n\n" if name else f"data: {json.dumps(data)}\n\n"
        for name, data in api.events(asked, said)
    )
    return web.Response(
        text=f"{text}{api.end}", content_type="text/event-stream", headers={"Cache-Control": "no-cache"}
    )
