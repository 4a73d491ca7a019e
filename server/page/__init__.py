"""The page at `/`: score a response by hand, see why, watch the traffic. Static files and three small routes.

The files hold no data and need no token; the routes they call do, where the server has tokens.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
from importlib import resources
from typing import Any

from fastapi import APIRouter, Request, Response

from rewardkit.errors import OverloadedError, RewardkitError
from rewardkit.scoring.scorer import Scorer
from rewardkit.server.siblings import Siblings
from rewardkit.server.traffic import Traffic
from rewardkit.server.wire import decode_sample, refusal, reply

_TYPES = {"index.html": "text/html", "page.js": "text/javascript", "page.css": "text/css"}
PATHS = frozenset({"/", *(f"/page/{name}" for name in _TYPES)})
"""What a browser asks for before it can have a token."""

_HEADERS = {
    # A response is hostile; were its HTML ever taken for HTML, no script of it would run.
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
_MAX_EXPLAINING = 8


def router(scorer: Scorer, traffic: Traffic, siblings: Siblings | None = None) -> APIRouter:
    """Return the page's routes."""
    routes = APIRouter(include_in_schema=False)
    files = {name: resources.files(__package__).joinpath(name).read_bytes() for name in _TYPES}
    examples = json.loads(resources.files(__package__).joinpath("examples.json").read_bytes())
    one_at_a_time = asyncio.Lock()
    waiting = 0

    @routes.get("/")
    async def index() -> Response:
        return Response(files["index.html"], media_type="text/html", headers=_HEADERS)

    @routes.get("/page/{name}")
    async def file(name: str) -> Response:
        if name not in files:
            return Response(status_code=404)
        return Response(files[name], media_type=_TYPES[name], headers=_HEADERS)

    @routes.get("/examples")
    async def give_examples() -> Response:
        return reply(examples)

    @routes.get("/traffic")
    async def give_traffic() -> Response:
        return reply(traffic.snapshot(await siblings.ask_others("traffic") if siblings else ()))

    @routes.post("/explain")
    async def explain(request: Request) -> Response:
        """Explain a score: {"text": ..., "fields": ...}, null for a reward with nothing to add."""
        nonlocal waiting
        if waiting >= _MAX_EXPLAINING:
            raise OverloadedError("others are asking for explanations; try again", retry_after_s=5.0)
        waiting += 1
        try:
            sample = decode_sample(await request.body())
            async with one_at_a_time:
                explained = await asyncio.to_thread(scorer.explain, sample)
        except RewardkitError as error:
            return refusal(422, "bad_request", str(error))
        finally:
            waiting -= 1
        return reply({"text": explained and str(explained), "fields": _fields(explained)})

    return routes


def _fields(explained: object | None) -> dict[str, Any] | None:
    if dataclasses.is_dataclass(explained) and not isinstance(explained, type):
        return dataclasses.asdict(explained)
    return None
