"""The server's own routes: `/score` (one sample, a list, or a stream of lines) and `/rewards`.

`/score` is a plain ASGI application rather than a FastAPI endpoint, since it can respond while the body is
still arriving. FastAPI cannot describe such a route, so this module also contains the OpenAPI description of
`/score`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Query
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from rewardkit.errors import InputError, OverloadedError, RewardkitError, UnknownDataSourceError
from rewardkit.groups import group_of
from rewardkit.registry import REGISTRY
from rewardkit.server.exchanges import Exchange, Question, ServedRows, refuse_each_of_a_group
from rewardkit.server.request import CURRENT
from rewardkit.server.request_scoring import RequestScorer
from rewardkit.server.wire import (
    JSON,
    NDJSON,
    ErrorBody,
    Reply,
    decode_line,
    decode_samples,
    encode,
    refusal,
    replied,
    reply,
)
from rewardkit.types import Sample, Score, failure

SCORE_PATHS = ("/score", "/v1/score")
"""Paths of the score route: the newest version, and version 1."""

EACH_QUERY = b"each=1"
"""Query string for requests whose samples do not form groups, such as batches of single samples."""

STREAM_BATCH = 256
"""Maximum number of lines in a stream that are scored together, except for groups that must stay whole."""

HELD = "held"
"""Header of an answer to lines: the number of lines at the end that must wait for the rest of their group."""

MAX_GROUP = 4_096
"""Maximum number of lines in a group that must stay whole."""


class ScoreRoute:
    """`POST /score` as an ASGI application.

    Args:
        requests: Scorer that scores the samples of requests.
        max_line_bytes: Maximum size of a line in a stream.
    """

    def __init__(self, requests: RequestScorer, max_line_bytes: int) -> None:
        self.requests = requests
        self.max_line_bytes = max_line_bytes
        self.path = "/score"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        scope["route"] = self
        content_type: bytes = dict(scope["headers"]).get(b"content-type", b"")
        if content_type.startswith(NDJSON.encode()):
            await self._stream(receive, send)
        else:
            await self._whole(scope, receive, send)

    async def _whole(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange = EACH if scope.get("query_string") == EACH_QUERY else SCORE
        body = (await self.requests.respond(exchange, await _body(receive))).body
        length = (b"content-length", str(len(body)).encode())
        await send(_start(JSON, length))
        await send({"type": "http.response.body", "body": body})

    async def _stream(self, receive: Receive, send: Send) -> None:
        """Score lines as they arrive, and respond to each with a line.

        Invalid lines get a score with the status `invalid`.

        No lines are read while earlier lines are being scored. The client therefore has to wait, and the
        queue does not grow.
        """
        begun = False

        async def answer(body: bytes | memoryview, *, more: bool) -> None:
            nonlocal begun
            if not begun:
                begun = True
                await send(_start(NDJSON))
            await send({"type": "http.response.body", "body": body, "more_body": more})

        try:
            held: list[bytes] = []
            async for lines, more in self._lines(receive):
                held += lines
                reply = await self._score_lines(held, more=more, wait=begun)
                held = held[len(held) - int(reply.headers[HELD]) :]
                if reply.body:
                    await answer(reply.body, more=True)
        except (InputError, OverloadedError) as error:
            if not begun:
                raise
            await answer(encode(failure("invalid", str(error))) + b"\n", more=False)
        else:
            await answer(b"", more=False)

    async def _score_lines(self, lines: Sequence[bytes], *, more: bool, wait: bool) -> Reply:
        """Score lines. If the server is overloaded, either wait for room or raise OverloadedError."""
        request = CURRENT.get()
        exchange = LINES if more else LAST_LINES
        while True:
            if request is not None:
                # The time limit applies to these lines, not to the whole stream.
                request.clock = time.perf_counter()
            try:
                return await self.requests.respond(exchange, b"\n".join(lines))
            except OverloadedError as error:
                if not wait:
                    raise
                await asyncio.sleep(error.retry_after_s)

    async def _lines(self, receive: Receive) -> AsyncIterator[tuple[list[bytes], bool]]:
        """Yield batches of non-empty lines as they arrive, each with True if more lines may follow."""
        admission = self.requests.admission
        request = CURRENT.get()
        client = request.client if request is not None else None
        rest = bytearray()
        more = True
        try:
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientDisconnect
                piece = message.get("body", b"")
                more = message.get("more_body", False)
                admission.take_bytes(len(piece), client)
                rest += piece
                # Searching the whole line again for each piece would take quadratic time.
                if more and b"\n" not in piece:
                    lines = []
                else:
                    *lines, last = bytes(rest).split(b"\n")
                    if not more:
                        lines.append(last)
                    admission.give_back_bytes(len(rest) - len(last), client)
                    rest = bytearray(last)
                if max(map(len, [*lines, rest])) > self.max_line_bytes:
                    raise InputError(
                        f"a line has more than {self.max_line_bytes:,} bytes; the server stopped reading"
                    )
                lines = [line for line in lines if line.strip()]
                for first in range(0, len(lines), STREAM_BATCH):
                    end = first + STREAM_BATCH
                    yield lines[first:end], more or end < len(lines)
                if not more and not lines:
                    yield [], False
        finally:
            admission.give_back_bytes(len(rest), client)


def _start(content_type: str, *headers: tuple[bytes, bytes]) -> Message:
    fields = [(b"content-type", content_type.encode()), *headers]
    return {"type": "http.response.start", "status": 200, "headers": fields}


async def _body(receive: Receive) -> bytes:
    pieces: list[bytes] = []
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        pieces.append(message.get("body", b""))
        more = message.get("more_body", False)
    return b"".join(pieces)


def _read(each: bool, rows: ServedRows, body: bytes, named: str | None) -> Question:
    asked = decode_samples(body)
    alone = not isinstance(asked, list)
    question = Question([asked] if isinstance(asked, Sample) else asked, about=alone)
    if each or alone:
        refuse_each_of_a_group(question)
    return question


def _answer(rows: ServedRows, question: Question, scores: Sequence[Score]) -> Reply:
    return replied(scores[0] if question.about else scores)


SCORE = Exchange(partial(_read, False), _answer, has_status=True, whole_groups=True)
EACH = Exchange(partial(_read, True), _answer, has_status=True, whole_groups=True)


def _read_lines(more: bool, rows: ServedRows, body: bytes, named: str | None) -> Question:
    """Read lines, except the lines at the end that must wait for the rest of their group."""
    lines = [decode_line(line) for line in body.split(b"\n")] if body else []
    start = len(lines)
    if more and lines and lines[-1].known is None and REGISTRY.looks_at_groups(lines[-1].data_source):
        group = group_of(lines[-1])
        while start and group_of(lines[start - 1]) == group:
            start -= 1
        if len(lines) - start > MAX_GROUP:
            raise InputError(f"a group has more than {MAX_GROUP:,} lines; the server stopped reading")
    return Question(lines[:start], about=len(lines) - start)


def _answer_lines(rows: ServedRows, question: Question, scores: Sequence[Score]) -> Reply:
    return Reply(b"".join(encode(score) + b"\n" for score in scores), {HELD: str(question.about)})


LINES = Exchange(partial(_read_lines, True), _answer_lines, has_status=True, whole_groups=True)
LAST_LINES = Exchange(partial(_read_lines, False), _answer_lines, has_status=True, whole_groups=True)


def router(request_scorer: RequestScorer) -> APIRouter:
    """Create a router with the routes other than `/score`."""
    routes = APIRouter()

    @routes.get(
        "/rewards",
        summary="List the rewards and their data sources",
        responses={404: {"description": "A data source of `for` is unknown"}},
    )
    async def rewards(
        data_sources: Annotated[
            list[str] | None, Query(alias="for", description="Data sources that must all have a reward")
        ] = None,
    ) -> Response:
        try:
            request_scorer.scorer.check(data_sources or [])
        except UnknownDataSourceError as error:
            return refusal(404, "unknown_data_source", str(error))
        except RewardkitError as error:
            return refusal(422, "bad_options", str(error))
        asked: dict[str, list[str]] = {}
        for source in sorted(set(data_sources or [])):
            asked.setdefault(REGISTRY.resolve(source).name, []).append(source)
        return reply([reward.describe() | {"for": asked.get(reward.name, [])} for reward in REGISTRY])

    @routes.get("/v1/models", summary="List the data sources in the format of OpenAI's model list")
    async def models() -> Response:
        names = sorted({name for reward in REGISTRY for name in (*reward.data_sources, *reward.aliases)})
        data = [{"id": name, "object": "model", "created": 0, "owned_by": "rewardkit"} for name in names]
        return reply({"object": "list", "data": data})

    return routes


def score_path() -> dict[str, Any]:
    """Return the OpenAPI description of `/score`."""
    (sample, score, error), components = msgspec.json.schema_components(
        [Sample, Score, ErrorBody], ref_template="#/components/schemas/{name}"
    )

    def one_or_many(schema: dict[str, Any]) -> dict[str, Any]:
        inlined = _inline(schema, components)
        one_or_many = {"schema": {"anyOf": [inlined, {"type": "array", "items": inlined}]}}
        return {JSON: one_or_many, NDJSON: {"schema": {"type": "string"}}}

    failed = {JSON: {"schema": {"type": "object", "properties": {"error": _inline(error, components)}}}}
    asked = one_or_many(sample)
    asked[JSON]["example"] = {
        "data_source": "gsm8k",
        "response": "6 * 12 = 72\n#### 72",
        "ground_truth": "72",
    }
    each = {
        "name": "each",
        "in": "query",
        "description": "1: the samples do not form groups; rewards that score groups refuse them",
        "schema": {"type": "string", "enum": ["1"]},
    }
    timeout = {
        "name": "X-Timeout-S",
        "in": "header",
        "description": "Time limit in seconds; samples that are not scored by then have the status timeout",
        "schema": {"type": "number", "exclusiveMinimum": 0},
    }
    return {
        "post": {
            "operationId": "score",
            "summary": "Score one sample, a list of samples, or a stream of lines",
            "parameters": [timeout, each],
            "requestBody": {"required": True, "content": asked},
            "responses": {
                "200": {
                    "description": "A Score for each sample, in the form that was sent",
                    "content": one_or_many(score),
                },
                "413": {"description": "The body is too large", "content": failed},
                "422": {"description": "The body contains no samples", "content": failed},
                "503": {"description": "The server is overloaded; see Retry-After", "content": failed},
            },
        }
    }


def _inline(schema: Any, components: dict[str, Any]) -> Any:
    """Replace references with their definitions, so that the document needs no separate components."""
    if isinstance(schema, dict):
        if "$ref" in schema:
            return _inline(components[schema["$ref"].rpartition("/")[2]], components)
        return {key: _inline(value, components) for key, value in schema.items()}
    return [_inline(item, components) for item in schema] if isinstance(schema, list) else schema
