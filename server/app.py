"""The HTTP routes over one Scorer: decode, score, encode. No judging happens here."""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Annotated, Any

import msgspec
from fastapi import FastAPI, Query, Request, Response

from rewardkit import __version__
from rewardkit.errors import InputError, RewardkitError, UnknownDataSourceError
from rewardkit.registry import REGISTRY
from rewardkit.sandbox import Pool
from rewardkit.sandbox.fusion import run_code
from rewardkit.scorer import Scorer
from rewardkit.server.dialects import ROUTERS, Context, Judge
from rewardkit.server.gold import GoldIndex
from rewardkit.types import Sample, Score

INLINE_LIMIT = 256
"""Samples of inline rewards that are scored on the event loop, a millisecond's work; more go to a thread."""

OPEN_PATHS = frozenset({"/healthz", "/readyz"})
"""Paths that probes may ask for without a token."""

_samples = msgspec.json.Decoder(Sample | list[Sample])
_encoder = msgspec.json.Encoder()


class ErrorBody(msgspec.Struct):
    """What is wrong with a request. `type` is for programs, `message` for people."""

    type: str
    message: str


def create_app(
    scorer: Scorer,
    *,
    tokens: Sequence[str] = (),
    max_body_bytes: int = 64 << 20,
    sandbox: Pool | None = None,
    gold: GoldIndex | None = None,
    on_failure: float = 0.0,
) -> FastAPI:
    """Build the application. The caller closes the scorer, and the sandbox, when the server has stopped.

    Args:
        sandbox: with it there is a route `/run_code` in SandboxFusion's terms; None: no route runs code.
        tokens: bearer tokens that are accepted; none: every request is.
        max_body_bytes: larger requests get 413.
        gold: what prompts are judged against where a trainer's protocol does not say.
        on_failure: the reward of what could not be judged, for protocols that want a number for everything.
    """
    state = {"ready": False}

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        state["ready"] = True
        yield
        state["ready"] = False

    app = FastAPI(title="rewardkit", version=__version__, lifespan=lifespan)
    app.middleware("http")(_guard(tokens, max_body_bytes))

    @app.post("/score", openapi_extra=_SCORE_SCHEMA, summary="Score one sample, or a list of them")
    async def score(request: Request) -> Response:
        try:
            asked = decode_samples(await request.body())
        except InputError as error:
            return _error(422, "bad_request", str(error))
        samples = asked if isinstance(asked, list) else [asked]
        scores = await _score(scorer, samples)
        return _json(scores if isinstance(asked, list) else scores[0])

    @app.get("/rewards", summary="What can be judged")
    async def rewards(
        data_sources: Annotated[list[str] | None, Query(alias="for", description="must all be known")] = None,
    ) -> Response:
        try:
            scorer.check(data_sources or [])
        except UnknownDataSourceError as error:
            return _error(404, "unknown_data_source", str(error))
        except RewardkitError as error:
            return _error(422, "bad_options", str(error))
        return _json([reward.describe() for reward in REGISTRY])

    @app.get("/healthz", summary="Is the process alive?")
    async def healthz() -> Response:
        return _json({"status": "ok", "version": __version__})

    @app.get("/readyz", summary="Can it take requests?")
    async def readyz() -> Response:
        if not state["ready"]:
            return _error(503, "not_ready", "starting or stopping")
        return _json({"status": "ready"})

    if sandbox is not None:
        _add_run_code(app, sandbox)
    context = Context(_judge(scorer), gold, on_failure)
    for router in ROUTERS:
        app.include_router(router(context))
    return app


def _judge(scorer: Scorer) -> Judge:
    async def judge(samples: Sequence[Sample], *, timeout_s: float | None = None) -> list[Score]:
        return await _score(scorer, list(samples))

    return judge


def _add_run_code(app: FastAPI, sandbox: Pool) -> None:
    @app.post("/run_code", summary="Run a Python program in the sandbox, as SandboxFusion does")
    async def run_code_route(request: Request) -> Response:
        try:
            body = msgspec.json.decode(await request.body(), type=dict[str, Any])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            return _error(422, "bad_request", f"the body is not a JSON object: {error}")
        return _json(await run_code(sandbox, body))


def decode_samples(body: bytes) -> Sample | list[Sample]:
    """Decode a request body: strictly, or, for what Python's json sends beyond the standard, tolerantly.

    Raises:
        InputError: it is not JSON, or not a sample or a list of samples.
    """
    try:
        samples: Sample | list[Sample] = _samples.decode(body)
    except msgspec.ValidationError as error:
        raise InputError(f"not a sample: {error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _decode_tolerantly(body)
    return samples


def _decode_tolerantly(body: bytes) -> Sample | list[Sample]:
    """Take lone surrogates, NaN and Infinity, which Python's json module writes without a murmur."""
    try:
        data = json.loads(body)
        samples: Sample | list[Sample] = msgspec.convert(data, Sample | list[Sample])
    except msgspec.ValidationError as error:
        raise InputError(f"not a sample: {error}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"the body is not JSON: {error}") from None
    return samples


async def _score(scorer: Scorer, samples: list[Sample]) -> list[Score]:
    if len(samples) <= INLINE_LIMIT:
        return await scorer.ascore_batch(samples)
    return await asyncio.to_thread(scorer.score_batch, samples)


_Handler = Callable[[Request], Awaitable[Response]]


def _guard(tokens: Sequence[str], max_body_bytes: int) -> Callable[[Request, _Handler], Awaitable[Response]]:
    """Refuse requests without a valid token, or too large, before they are read."""

    async def guard(request: Request, handle: _Handler) -> Response:
        if tokens and request.url.path not in OPEN_PATHS and not _allowed(request, tokens):
            return _error(401, "unauthorized", "send 'Authorization: Bearer TOKEN' with a valid token")
        length = request.headers.get("content-length", "")
        if request.method == "POST" and not length.isdigit():
            return _error(411, "length_required", "send a Content-Length")
        if length.isdigit() and int(length) > max_body_bytes:
            return _error(
                413, "too_large", f"the body is over {max_body_bytes >> 20} MiB; send smaller batches"
            )
        return await handle(request)

    return guard


def _allowed(request: Request, tokens: Sequence[str]) -> bool:
    sent = request.headers.get("authorization", "").removeprefix("Bearer ").encode()
    same = [hmac.compare_digest(sent, token.encode()) for token in tokens]
    return any(same)  # after all are compared, so that the time tells nothing


def _json(data: Any, status: int = 200) -> Response:
    try:
        content = _encoder.encode(data)
    except UnicodeEncodeError:  # a lone surrogate came in and goes out as the escape it was
        content = json.dumps(msgspec.to_builtins(data)).encode()
    return Response(content, status, media_type="application/json")


def _error(status: int, kind: str, message: str) -> Response:
    return _json({"error": ErrorBody(kind, message)}, status)


def _score_schema() -> dict[str, Any]:
    """The OpenAPI description of `/score`, whose body is decoded by msgspec rather than pydantic."""
    (sample, score, error), components = msgspec.json.schema_components(
        [Sample, Score, ErrorBody], ref_template="#/components/schemas/{name}"
    )

    def one_or_many(schema: dict[str, Any]) -> dict[str, Any]:
        inlined = _inline(schema, components)
        return {"schema": {"anyOf": [inlined, {"type": "array", "items": inlined}]}}

    example = {"data_source": "gsm8k", "response": "6 * 12 = 72\n#### 72", "ground_truth": "72"}
    failed = {
        "application/json": {
            "schema": {"type": "object", "properties": {"error": _inline(error, components)}}
        }
    }
    return {
        "requestBody": {
            "required": True,
            "content": {"application/json": {**one_or_many(sample), "example": example}},
        },
        "responses": {
            "200": {
                "description": "A Score, or a list of them",
                "content": {"application/json": one_or_many(score)},
            },
            "422": {"description": "Not samples", "content": failed},
        },
    }


def _inline(schema: Any, components: dict[str, Any]) -> Any:
    """Put the referenced definitions in place: the document needs no components of its own then."""
    if isinstance(schema, dict):
        if "$ref" in schema:
            return _inline(components[schema["$ref"].rpartition("/")[2]], components)
        return {key: _inline(value, components) for key, value in schema.items()}
    return [_inline(item, components) for item in schema] if isinstance(schema, list) else schema


_SCORE_SCHEMA = _score_schema()
