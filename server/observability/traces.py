"""OpenTelemetry spans for requests. Child spans show the time in the queue, the scoring and the sandbox runs.

This module needs the extra `otel`, and is imported only by `serve --otel`. The rest of the server uses the
interface `request.Trace`. OpenTelemetry's own environment variables, `OTEL_*`, configure export and sampling.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import time
from collections.abc import Callable, Iterator, Mapping

from opentelemetry import propagate, trace
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SpanExporter
from opentelemetry.trace import Span, SpanKind, Status, StatusCode
from starlette.types import Scope

from rewardkit import __version__
from rewardkit.errors import ConfigError, MissingDependencyError
from rewardkit.scoring.jobs import Attribute, Client

_NAME = "rewardkit.server"


class Traces:
    """Factory for the spans of requests.

    Args:
        provider: Tracer provider of OpenTelemetry's SDK, with an exporter.
    """

    def __init__(self, provider: trace.TracerProvider) -> None:
        self._tracer = provider.get_tracer(_NAME, __version__)

    def begin(self, scope: Scope, headers: Mapping[bytes, bytes], client: Client) -> RequestTrace:
        """Begin the span of a request, as a child of the span in the `traceparent` header."""
        sent = {name.decode("latin-1"): value.decode("latin-1") for name, value in headers.items()}
        method = scope.get("method", "WEBSOCKET")
        span = self._tracer.start_span(
            method,
            context=propagate.extract(sent),
            kind=SpanKind.SERVER,
            attributes={
                "http.request.method": method,
                "url.path": scope["path"],
                "rewardkit.client": str(client),
            },
        )
        return RequestTrace(self._tracer, span, method)


class RequestTrace:
    """The span of a request, with its child spans. It can be used from any thread."""

    __slots__ = ("_context", "_method", "_span", "_tracer", "id")

    def __init__(self, tracer: trace.Tracer, span: Span, method: str) -> None:
        self._tracer = tracer
        self._span = span
        self._method = method
        self._context = trace.set_span_in_context(span)
        self.id = trace.format_trace_id(span.get_span_context().trace_id)

    def watch(self, what: str, start: float, end: float, attributes: Mapping[str, Attribute]) -> None:
        """Add a child span from `start` to `end`, on the clock of `time.monotonic`. Errors are ignored."""
        with contextlib.suppress(Exception):
            offset_ns = time.time_ns() - time.monotonic_ns()
            span = self._tracer.start_span(
                what,
                context=self._context,
                start_time=int(start * 1e9) + offset_ns,
                attributes={f"rewardkit.{name}": value for name, value in attributes.items()},
            )
            if attributes.get("status", "ok") != "ok":
                span.set_status(Status(StatusCode.ERROR, str(attributes["status"])))
            span.end(int(end * 1e9) + offset_ns)

    def end(self, route: str, status: int, samples: int, request_id: str) -> None:
        """End the span of the request."""
        self._span.update_name(f"{self._method} {route}")
        self._span.set_attributes(
            {
                "http.route": route,
                "http.response.status_code": status,
                "rewardkit.samples": samples,
                "rewardkit.request_id": request_id,
            }
        )
        if status >= 500:
            self._span.set_status(Status(StatusCode.ERROR))
        self._span.end()


@contextlib.contextmanager
def exported() -> Iterator[Traces]:
    """Export spans during the block, as configured by `OTEL_*`. Remaining spans are flushed at the end."""
    resource = Resource.create({SERVICE_VERSION: __version__})
    if str(resource.attributes.get(SERVICE_NAME, "")).startswith("unknown_service"):
        resource = resource.merge(Resource({SERVICE_NAME: "rewardkit"}))
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporter()()))
    try:
        yield Traces(provider)
    finally:
        provider.shutdown()


def exporter() -> Callable[[], SpanExporter]:
    """Return a function that creates the exporter selected by environment variables.

    Raises:
        ConfigError: The exporter or its protocol is not supported.
        MissingDependencyError: The exporter's package is not installed.
    """
    name = os.environ.get("OTEL_TRACES_EXPORTER", "otlp")
    if name == "console":
        return ConsoleSpanExporter
    if name != "otlp":
        raise ConfigError(f"OTEL_TRACES_EXPORTER is '{name}'; --otel supports otlp and console")
    setting = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
    if not os.environ.get(setting):
        setting = "OTEL_EXPORTER_OTLP_PROTOCOL"
    protocol = os.environ.get(setting, "http/protobuf")
    way = {"http/protobuf": "http", "grpc": "grpc"}.get(protocol)
    if way is None:
        raise ConfigError(f"{setting} is '{protocol}'; --otel supports http/protobuf and grpc")
    try:
        module = importlib.import_module(f"opentelemetry.exporter.otlp.proto.{way}.trace_exporter")
    except ImportError as error:
        package = f"opentelemetry-exporter-otlp-proto-{way}"
        raise MissingDependencyError(f"--otel needs {package} ({error}): pip install {package}") from None
    made: Callable[[], SpanExporter] = module.OTLPSpanExporter
    return made
