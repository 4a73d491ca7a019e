"""The application: the scorer, the guard around everything, and the routes. No scoring happens here."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response
from starlette.routing import Route

from rewardkit import __version__
from rewardkit.errors import InputError, OverloadedError, did_you_mean
from rewardkit.sandbox import Pool
from rewardkit.sandbox.fusion import run_code
from rewardkit.scoring.scorer import Scorer
from rewardkit.server import page, score_route
from rewardkit.server.access import Access
from rewardkit.server.limits import Admission
from rewardkit.server.middleware import Guard
from rewardkit.server.observability import health
from rewardkit.server.observability.metrics import CONTENT_TYPE, Metrics
from rewardkit.server.observability.traffic import Traffic
from rewardkit.server.protocols import ROUTERS, ProtocolContext
from rewardkit.server.protocols.base import described
from rewardkit.server.request import CURRENT, BeginTrace
from rewardkit.server.request_scoring import RequestScorer, count_outcomes
from rewardkit.server.tasks import TaskSet
from rewardkit.server.wire import answer_to, decode_object, refusal, reply
from rewardkit.types import COSTS, Sample, Score

if TYPE_CHECKING:
    from rewardkit.server.ground_truths import GroundTruthIndex

_CORS_HEADERS = (
    "authorization",
    "content-type",
    "traceparent",
    "x-api-key",
    "x-request-id",
    "x-timeout-s",
)
"""Headers that pages of allowed origins may send."""

_SHOWN_PATH = 200
"""Characters of a path that are said again."""
_ELSEWHERE = {
    "/run_code": "start the server with --run-code",
    "/get_reward": "OpenRLHF's rewards are at /openrlhf/SOURCE",
}
"""Paths that people ask for and that are not there, each with what to do."""

REFRESH_S = 1.0
"""Seconds between updates of the gauges, for when another server process is asked for them."""


def create_app(
    scorer: Scorer,
    *,
    tokens: Sequence[str] = (),
    max_body_bytes: int = 64 << 20,
    max_samples: int = 50_000,
    max_bytes: int = 1 << 30,
    timeout_s: float = 60.0,
    cors_origins: Sequence[str] = (),
    hosts: Sequence[str] = (),
    access_log: bool = False,
    sandbox: Pool | None = None,
    needs: Mapping[str, Callable[[], object]] | None = None,
    ground_truths: GroundTruthIndex | None = None,
    on_failure: float = 0.0,
    processes: int = 1,
    tasks: Mapping[str, TaskSet] | None = None,
    begin_trace: BeginTrace | None = None,
) -> FastAPI:
    """Build the application. The caller closes the scorer, and the sandbox, when the server has stopped.

    Args:
        scorer: scores the samples.
        tokens: that are accepted, in any header of `Access`; none: every request is.
        max_body_bytes: larger requests get 413.
        max_samples: scored or waiting at once; beyond it requests get 503.
        max_bytes: of request bodies held at once; beyond it requests get 503.
        timeout_s: the deadline of a request that does not say `X-Timeout-S`.
        cors_origins: origins whose pages may call this server.
        hosts: further names of this server, looked at where there are no tokens.
        access_log: write one log line for every request.
        sandbox: with it there is a route `/run_code` in SandboxFusion's terms; None: no route runs code.
        needs: what must be done before the server is ready, by name: each is called once, in a thread.
        ground_truths: what prompts are scored against where a trainer's protocol does not say.
        on_failure: the reward of what could not be scored, for protocols that want a number for everything.
        processes: how many serve; the limits are those of this one.
        tasks: the task sets that environment protocols serve, by name; without any those routes are left out.
        begin_trace: begins a span for each request, as `traces.Traces.begin` does; None: there are none.
    """
    admission = Admission(max_samples=max_samples, max_bytes=max_bytes, workers=scorer.workers)
    request_scorer = RequestScorer(scorer, timeout_s=timeout_s, admission=admission)
    metrics = Metrics(request_scorer)
    traffic = Traffic()
    _observe(request_scorer, metrics, traffic)
    state = health.Health(needs or {})
    context = ProtocolContext(
        request_scorer,
        ground_truths,
        on_failure,
        request_scorer.observers,
        admission=admission,
        processes=processes,
        tasks=tasks or {},
    )
    lifespan = _lifespan(state, metrics)
    app = _App(title="rewardkit", version=__version__, lifespan=lifespan, docs_url=None, redoc_url=None)
    app.state.health = state
    app.state.request_scorer = request_scorer
    app.state.metrics = metrics
    score = score_route.ScoreRoute(request_scorer, max_body_bytes)
    for path in score_route.SCORE_PATHS:
        app.add_route(path, score, methods=["POST"])  # type: ignore[arg-type]
    app.include_router(page.router(scorer, traffic if processes == 1 else None, guarded=bool(tokens)))
    _add_metrics(app, metrics)
    if sandbox is not None:
        _add_run_code(app, sandbox, metrics)
    _add_routes(app, request_scorer, context, state)
    app.add_middleware(
        Guard,
        admission=admission,
        metrics=metrics,
        health=state,
        access=Access(tokens, origins=cors_origins, hosts=hosts),
        max_body_bytes=max_body_bytes,
        access_log=access_log,
        begin_trace=begin_trace,
    )
    if cors_origins:  # around the guard: it looks at requests with an Origin alone
        app.add_middleware(
            CORSMiddleware,
            allow_origins=cors_origins,
            allow_methods=["GET", "POST"],
            allow_headers=_CORS_HEADERS,
            expose_headers=["x-request-id", "retry-after"],
        )
    return app


def _add_routes(
    app: FastAPI, request_scorer: RequestScorer, context: ProtocolContext, state: health.Health
) -> None:
    """Add what every server has beside `/score`."""
    app.include_router(score_route.router(request_scorer))
    app.include_router(health.router(state))
    for router in ROUTERS.values():
        app.include_router(router(context))
    _answer_errors(app)


class _App(FastAPI):
    """FastAPI with the route that is not FastAPI's in its document."""

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            document = super().openapi()
            own = dict.fromkeys(score_route.SCORE_PATHS, score_route.score_path())
            document["paths"] = {**own, **document.get("paths", {})}
        return super().openapi()


def _observe(request_scorer: RequestScorer, metrics: Metrics, traffic: Traffic) -> None:
    """Have metrics and traffic see what is scored."""

    def observe(samples: Sequence[Sample], scores: Sequence[Score], seconds: float) -> None:
        outcomes = count_outcomes(samples, scores)  # once for both: every request passes here
        metrics.observe(outcomes, scores, seconds)
        if any(score.parts.keys() >= COSTS for score in scores):
            metrics.judge_costs(samples, scores)
        traffic.record(outcomes, samples, scores)

    request_scorer.observers.append(observe)


def _lifespan(
    state: health.Health, metrics: Metrics
) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    """Run the work beside the requests: preparing, and fresh gauges."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(state.prepare()), asyncio.create_task(_keep_fresh(metrics))]
        yield
        for task in tasks:
            task.cancel()

    return lifespan


async def _keep_fresh(metrics: Metrics) -> None:
    while True:
        metrics.refresh()
        await asyncio.sleep(REFRESH_S)


def _add_metrics(app: FastAPI, metrics: Metrics) -> None:
    @app.get("/metrics", summary="Prometheus metrics", response_class=Response)
    async def figures() -> Response:
        return Response(metrics.text(), headers={"content-type": CONTENT_TYPE})


def _add_run_code(app: FastAPI, sandbox: Pool, metrics: Metrics) -> None:
    @app.post(
        "/run_code",
        summary="Run a program in the sandbox (SandboxFusion's API)",
        openapi_extra=described({"code": "print(6 * 7)", "language": "python", "run_timeout": 5}),
    )
    async def run_code_route(request: Request) -> Response:
        body = decode_object(await request.body())
        current = CURRENT.get()
        began = time.monotonic()
        with current.cancelled_with_client() if current else nullcontext():
            answer = await run_code(sandbox, body)
        if current is not None and current.trace is not None:
            current.trace.watch("sandbox", began, time.monotonic(), {"run_status": str(answer["status"])})
        result = answer["run_result"]
        if result is not None and result["return_code"] is None:
            metrics.sandbox_kills("timed_out")
        return reply(answer)


def _answer_errors(app: FastAPI) -> None:
    """Whatever a route raises on purpose becomes an answer with `error.type` and `error.message`."""

    @app.exception_handler(InputError)
    @app.exception_handler(OverloadedError)
    @app.exception_handler(HTTPException)
    async def given_up(request: Request, error: InputError | OverloadedError | HTTPException) -> Response:
        if isinstance(error, HTTPException) and error.detail == HTTPStatus(error.status_code).phrase:
            return answer_to(HTTPException(error.status_code, _more_of(error, request), error.headers))
        return answer_to(error)

    @app.exception_handler(RequestValidationError)
    async def not_valid(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        return refusal(422, "bad_request", f"{where}: {first['msg']}")


def _more_of(error: HTTPException, request: Request) -> str:
    """Return the request and the right alternative, for an error that says no more than its status does."""
    path = request.url.path[:_SHOWN_PATH]
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        allowed = (error.headers or {}).get("Allow", "another method")
        return f"{path} accepts {allowed}, not {request.method}"
    if error.status_code == HTTPStatus.NOT_FOUND:
        paths = [route.path for route in request.app.routes if isinstance(route, Route)]
        hint = f"; {_ELSEWHERE[path]}" if path in _ELSEWHERE else did_you_mean(path, paths)
        return f"there is no {path}{hint}; /docs lists all paths"
    return error.detail
