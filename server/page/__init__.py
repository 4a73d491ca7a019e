"""The web pages: `/`, to score a response by hand and watch the traffic, and `/docs`, to try every route.

The pages consist of static files and a few small routes. The files contain no data and need no token. The
routes need a token if the server has tokens.
"""

from __future__ import annotations

import asyncio
import dataclasses
import ipaddress
import json
from importlib import resources
from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.exceptions import HTTPException

from rewardkit.assets import asset
from rewardkit.errors import OverloadedError, RewardkitError
from rewardkit.scoring.scorer import Scorer
from rewardkit.server.observability.traffic import Traffic
from rewardkit.server.wire import JSON, decode_sample, refusal, reply, small

_PAGES = {"/": "index.html", "/docs": "docs.html"}
_SHARED = ("temml.min.js", "maths.js")
"""Files from `rewardkit.assets`, which the offline report also uses."""
_OWN = ("page.css", "common.js", "page.js", "form.js", "traffic.js", "docs.js")
_TYPES = {"html": "text/html", "js": "text/javascript", "css": "text/css"}
PATHS = frozenset({*_PAGES, *(f"/page/{name}" for name in (*_OWN, *_SHARED))})
"""Paths that a browser requests before it can send a token."""

_HEADERS = {
    # Responses are untrusted. Even if HTML in a response were rendered, its scripts would not run.
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
_MAX_EXPLAINING = 8
_SHARED_TRAFFIC = (
    "this page shows one server process only: start the server with --workers 1, or read the "
    "figures of all processes at /metrics"
)


def router(scorer: Scorer, traffic: Traffic | None, *, guarded: bool = False) -> APIRouter:
    """Create the routes of the pages.

    Args:
        scorer: Scorer that explains scores.
        traffic: Recent scoring activity, or None if it is divided among several server processes.
        guarded: True if requests need a token. If False, only clients on this machine may list responses. The
            list contains ground truths, which the process that generates responses must not read.
    """
    routes = APIRouter(include_in_schema=False)
    _add_files(routes)
    examples = json.loads(_file("examples.json"))
    one_at_a_time = asyncio.Lock()
    waiting = 0

    @routes.get("/examples")
    async def give_examples() -> Response:
        return reply(examples)

    @routes.post("/explain")
    async def explain(request: Request) -> Response:
        """Return an explanation of a score as {"text", "fields"}.

        Both are null if the reward cannot explain scores.
        """
        nonlocal waiting
        if waiting >= _MAX_EXPLAINING:
            raise OverloadedError(
                "too many explanations are being computed; try again later", retry_after_s=5.0
            )
        waiting += 1
        try:
            sample = decode_sample(small(await request.body()))
            async with one_at_a_time:
                explained = await asyncio.to_thread(scorer.explain, sample)
        except RewardkitError as error:
            return refusal(422, "bad_request", str(error))
        finally:
            waiting -= 1
        return reply({"text": explained and str(explained), "fields": _fields(explained)})

    _add_traffic(routes, scorer, traffic, guarded)
    return routes


def _add_traffic(routes: APIRouter, scorer: Scorer, traffic: Traffic | None, guarded: bool) -> None:
    if traffic is None:

        @routes.get("/traffic")
        async def give_none() -> Response:
            return refusal(404, "not_found", _SHARED_TRAFFIC)

        return

    @routes.get("/traffic")
    async def give_traffic() -> Response:
        return reply(traffic.snapshot(lambda source: _reward_of(scorer, source)))

    @routes.get("/traffic/responses")
    async def give_responses(
        request: Request, source: str = "", verdict: str = "", text: str = ""
    ) -> Response:
        """Return the latest matching responses, shortened."""
        _refuse_strangers(request, guarded)
        return reply({"responses": traffic.recent.find(source, verdict, text)})

    @routes.get("/traffic/responses/{number}")
    async def give_response(request: Request, number: int) -> Response:
        """Return the whole sample of one of the latest responses."""
        _refuse_strangers(request, guarded)
        found = traffic.recent.sample(number)
        if found is None:
            raise HTTPException(
                404, "this response is no longer available; the page keeps only the latest responses"
            )
        return Response(found, media_type=JSON)


def _add_files(routes: APIRouter) -> None:
    files = {f"/page/{name}": _file(name) for name in _OWN}
    files |= {f"/page/{name}": asset(name).encode() for name in _SHARED}
    files |= {path: _file(name) for path, name in _PAGES.items()}
    for path, content in files.items():
        name = _PAGES.get(path, path)
        routes.add_api_route(path, _giver(content, _TYPES[name.rpartition(".")[2]]), methods=["GET"])


def _giver(content: bytes, type_: str) -> Any:
    async def give() -> Response:
        return Response(content, media_type=type_, headers=_HEADERS)

    return give


def _file(name: str) -> bytes:
    return resources.files(__package__).joinpath(name).read_bytes()


def _refuse_strangers(request: Request, guarded: bool) -> None:
    if guarded or request.client is None:
        return
    try:
        local = ipaddress.ip_address(request.client.host).is_loopback
    except ValueError:
        local = False
    if not local:
        raise HTTPException(
            403,
            "the page shows ground truths, so without a token only this machine can open the page: "
            "start the server with a token, or use a tunnel (ssh -L, kubectl port-forward)",
        )


def _reward_of(scorer: Scorer, source: str) -> str:
    reward = scorer.find(source)
    return "no reward" if reward is None else reward.name


def _fields(explained: object | None) -> dict[str, Any] | None:
    if dataclasses.is_dataclass(explained) and not isinstance(explained, type):
        return dataclasses.asdict(explained)
    return None
