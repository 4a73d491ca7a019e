"""Builds the FastAPI application from the scorer, the middleware and the routes."""

from __future__ import annotations

import asyncio
import math
import pickle
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
from rewardkit.sandbox.fusion import RunRequest, read_request, run_request, sandbox_error
from rewardkit.scoring.jobs import Client
from rewardkit.scoring.scorer import Scorer
from rewardkit.server import page, score_route
from rewardkit.server.access import Access
from rewardkit.server.admission import Admission
from rewardkit.server.exchanges import Exchange, Question, ServedRows
from rewardkit.server.middleware import Guard
from rewardkit.server.observability import health
from rewardkit.server.observability.failures import FailureLog
from rewardkit.server.observability.metrics import CONTENT_TYPE, Metrics
from rewardkit.server.observability.traffic import Traffic
from rewardkit.server.observability.watchdog import Watchdog
from rewardkit.server.protocols import ROUTERS, ProtocolContext
from rewardkit.server.protocols.base import described
from rewardkit.server.request import CURRENT, BeginTrace
from rewardkit.server.request_scoring import RequestScorer
from rewardkit.server.tasks import TaskSet
from rewardkit.server.wire import Reply, answer_to, decode_object, refusal, reply
from rewardkit.types import Score

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
"""Headers that web pages from allowed origins may send."""

_SHOWN_PATH = 200
"""Maximum number of characters of a path that are shown in an error message."""
_ELSEWHERE = {
    "/run_code": "start the server with --run-code",
    "/get_reward": "OpenRLHF's rewards are at /openrlhf/SOURCE",
}
"""Advice by path, for paths that do not exist but that users may expect."""

REFRESH_S = 1.0
"""Seconds between updates of the gauges. Other server processes include these gauges in their metrics."""


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
    scorer_bytes: int | None = None,
    processes: int = 1,
    tasks: Mapping[str, TaskSet] | None = None,
    begin_trace: BeginTrace | None = None,
) -> FastAPI:
    """Create the application.

    After the server has stopped, the caller must close the scorer and the sandbox.

    Args:
        scorer: Scorer that scores the samples.
        tokens: Accepted tokens. `Access` lists the headers for them. If empty, no token is needed.
        max_body_bytes: Maximum size of a request body. Larger requests get status 413.
        max_samples: Maximum number of samples being scored or waiting. Further requests get status 503.
        max_bytes: Maximum size of all request bodies in memory. Further requests get status 503.
        timeout_s: Time limit in seconds for requests without `X-Timeout-S`.
        cors_origins: Origins whose web pages may call this server.
        hosts: Additional host names of this server. Host names are checked only if there are no tokens.
        access_log: True to log a line for every request.
        sandbox: Sandbox for the route `/run_code` (SandboxFusion's API), or None to omit the route.
        needs: Functions that must succeed before the server is ready, by name. Each is called once, in a
            thread.
        ground_truths: Index of ground truths by prompt, for protocols that do not send ground truths.
        on_failure: Reward for samples that could not be scored, for protocols that need a number.
        scorer_bytes: Maximum memory of a scoring process, or None for no limit. A process that uses more is
            replaced.
        processes: Number of server processes. The limits apply to each process.
        tasks: Task sets for environment protocols, by name. Without task sets, the protocols have no routes.
        begin_trace: Function that begins a span for each request, such as `traces.Traces.begin`, or None to
            disable tracing.
    """
    admission = Admission(max_samples=max_samples, max_bytes=max_bytes, workers=scorer.workers)
    rows = ServedRows(ground_truths, tasks or {}, on_failure)
    request_scorer = RequestScorer(scorer, timeout_s=timeout_s, admission=admission, rows=rows)
    if ground_truths is not None:
        request_scorer.prepare()
    watchdog = Watchdog()
    metrics = Metrics(request_scorer, watchdog, sandbox)
    traffic = Traffic()
    request_scorer.observers += [metrics.observe, traffic.observe]
    request_scorer.failure_observers.append(FailureLog().observe)
    state = health.Health(needs or {})
    context = ProtocolContext(request_scorer, processes)
    lifespan = _lifespan(state, metrics, watchdog, scorer_bytes)
    score = score_route.ScoreRoute(request_scorer, max_body_bytes)
    app = _App(
        title="rewardkit",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        # Routes are tried in order, and FastAPI puts a route of its own before those that are added later.
        routes=[Route(path, score, methods=["POST"]) for path in score_route.SCORE_PATHS],
    )
    app.state.health = state
    app.state.request_scorer = request_scorer
    app.state.metrics = metrics
    app.include_router(page.router(scorer, traffic if processes == 1 else None, guarded=bool(tokens)))
    _add_metrics(app, metrics)
    if sandbox is not None:
        _add_run_code(app, sandbox, metrics, request_scorer)
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
    if cors_origins:  # This middleware wraps the guard, and handles only requests with an Origin header.
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
    """Add the routes and error handlers that every server has, except `/score`."""
    app.include_router(score_route.router(request_scorer))
    app.include_router(health.router(state))
    for router in ROUTERS.values():
        app.include_router(router(context))
    _answer_errors(app)


class _App(FastAPI):
    """FastAPI application whose OpenAPI document includes `/score`, which is not a FastAPI route."""

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            document = super().openapi()
            own = dict.fromkeys(score_route.SCORE_PATHS, score_route.score_path())
            document["paths"] = {**own, **document.get("paths", {})}
        return super().openapi()


def _lifespan(
    state: health.Health, metrics: Metrics, watchdog: Watchdog, scorer_bytes: int | None
) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    """Return the application's lifespan, which runs the preparations and updates the gauges."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        running = (state.prepare(), _keep_fresh(metrics, scorer_bytes), watchdog.run())
        tasks = [asyncio.create_task(one) for one in running]
        yield
        for task in tasks:
            task.cancel()

    return lifespan


async def _keep_fresh(metrics: Metrics, scorer_bytes: int | None) -> None:
    """Update the gauges regularly, and stop scoring processes that need too much memory."""
    try:
        while True:
            metrics.refresh()
            if scorer_bytes is not None:
                metrics.request_scorer.scorer.kill_larger_workers(scorer_bytes)
            await asyncio.sleep(REFRESH_S)
    finally:
        metrics.refresh()


def _add_metrics(app: FastAPI, metrics: Metrics) -> None:
    @app.get("/metrics", summary="Prometheus metrics", response_class=Response)
    async def figures() -> Response:
        return Response(metrics.text(), headers={"content-type": CONTENT_TYPE})


def _add_run_code(app: FastAPI, sandbox: Pool, metrics: Metrics, requests: RequestScorer) -> None:
    @app.post(
        "/run_code",
        summary="Run a program in the sandbox (SandboxFusion's API)",
        openapi_extra=described({"code": "print(6 * 7)", "language": "python", "run_timeout": 5}),
    )
    async def run_code_route(request: Request) -> Response:
        asked: RunRequest | str = pickle.loads((await requests.respond(RUN_CODE, await request.body())).body)
        if isinstance(asked, str):
            return reply(sandbox_error(asked))
        current = CURRENT.get()
        client = current.client if current is not None else Client()
        timeout_s = (current and current.timeout_s) or math.inf  # Clients have no time limit by default.
        began = time.monotonic()
        with (
            requests.admission.room_for({"/run_code": 1}, timeout_s, client),
            current.cancelled_with_client() if current else nullcontext(),
        ):
            answer = await run_request(sandbox, asked, caller=client.address or None)
        if (result := answer["run_result"]) is not None and result["execution_time"] is not None:
            requests.admission.learn("/run_code", result["execution_time"])
        if current is not None and current.trace is not None:
            current.trace.watch("sandbox", began, time.monotonic(), {"run_status": str(answer["status"])})
        if result is not None and result["return_code"] is None:
            metrics.sandbox_kills("timed_out")
        return reply(answer)


def _read_program(rows: ServedRows, body: bytes, named: str | None) -> Question:
    try:
        return Question([], about=read_request(decode_object(body)))
    except InputError:
        raise
    except ValueError as error:
        return Question([], about=str(error))


def _pickled_program(rows: ServedRows, question: Question, scores: Sequence[Score]) -> Reply:
    return Reply(pickle.dumps(question.about))


RUN_CODE = Exchange(_read_program, _pickled_program, has_status=True)
"""Exchange that decodes a program for the sandbox.

The reply of the exchange is pickled, because the server itself reads it.
"""


def _answer_errors(app: FastAPI) -> None:
    """Add handlers that convert errors raised by routes to responses with a type and a message."""

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
    """Return a message with the path and a suggestion, for an error without its own message."""
    path = request.url.path[:_SHOWN_PATH]
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        allowed = (error.headers or {}).get("Allow", "another method")
        return f"{path} accepts {allowed}, not {request.method}"
    if error.status_code == HTTPStatus.NOT_FOUND:
        paths = [route.path for route in request.app.routes if isinstance(route, Route)]
        hint = f"; {_ELSEWHERE[path]}" if path in _ELSEWHERE else did_you_mean(path, paths)
        return f"there is no {path}{hint}; /docs lists all paths"
    return error.detail
