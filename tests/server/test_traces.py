"""OpenTelemetry spans of a request, below the one that its client names; nothing of it where nobody asks."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from rewardkit import Client, Sample, Score, Scorer
from rewardkit.cli import run
from rewardkit.registry import REGISTRY, Reward, Running
from rewardkit.server.app import create_app
from tests.living import until
from tests.server.serving import serving

pytest.importorskip("opentelemetry.sdk")

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from rewardkit.server.observability.traces import Traces

TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"
SAMPLED = {"traceparent": f"00-{TRACE_ID}-{PARENT}-01"}
RIGHT = {"data_source": "gsm8k", "response": "#### 72", "ground_truth": "72"}


def slowly(sample: Sample) -> float:
    return 1.0


def in_jail(sample: Sample) -> Score:
    return Score(1.0, parts={"tests": 3.0, "passed": 3.0})


def dies(sample: Sample) -> float:
    os._exit(3)


@pytest.fixture
def spans() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def http(spans: InMemorySpanExporter) -> Iterator[TestClient]:
    for name, target, runs in (
        ("slow", slowly, "process"),
        ("jail", in_jail, "sandbox"),
        ("dies", dies, "process"),
    ):
        reward = Reward(
            name=name, version=1, target=target, data_sources=(f"test/{name}",), running=Running(runs=runs)
        )  # type: ignore[arg-type]
        REGISTRY.register(reward)
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    with (
        Scorer(workers=1) as scorer,
        TestClient(create_app(scorer, begin_trace=Traces(provider).begin)) as client,
    ):
        yield client


def made(spans: InMemorySpanExporter) -> dict[str, ReadableSpan]:
    return {span.name: span for span in spans.get_finished_spans()}


def ask(http: TestClient, name: str, headers: dict[str, str] | None = None) -> Any:
    body = {"data_source": name, "response": "", "ground_truth": ""}
    return http.post("/score", json=body, headers=headers).json()


def hexed(span: ReadableSpan) -> tuple[str, str]:
    assert span.context is not None and span.parent is not None
    return f"{span.context.trace_id:032x}", f"{span.parent.span_id:016x}"


def test_a_request_is_a_span_below_its_clients(http: TestClient, spans: InMemorySpanExporter) -> None:
    http.post("/v1/score", json=[RIGHT, RIGHT], headers=SAMPLED | {"x-client-id": "run-7"})
    found = made(spans)
    request = found["POST /score"]
    assert hexed(request) == (TRACE_ID, PARENT)
    wanted = {"http.response.status_code": 200, "rewardkit.samples": 2, "rewardkit.client": "run-7"}
    assert wanted.items() <= dict(request.attributes or {}).items()
    assert request.context is not None
    assert hexed(found["score"]) == (TRACE_ID, f"{request.context.span_id:016x}")


@pytest.mark.slow
def test_waiting_scoring_and_the_sandbox_are_spans_of_their_own(
    http: TestClient, spans: InMemorySpanExporter
) -> None:
    ask(http, "test/slow", SAMPLED)
    assert set(made(spans)) == {"queue", "score", "POST /score"}
    spans.clear()
    ask(http, "test/jail")
    found = made(spans)
    assert set(found) == {"queue", "score", "sandbox", "POST /score"}
    assert (found["sandbox"].attributes or {})["rewardkit.passed"] == 3.0
    request = found["POST /score"].context
    assert request is not None
    for name in ("queue", "score", "sandbox"):
        span = found[name]
        assert hexed(span)[1] == f"{request.span_id:016x}"
        assert span.start_time is not None and span.end_time is not None and span.start_time <= span.end_time
    assert (found["queue"].end_time or 0) <= (found["score"].end_time or 0)


@pytest.mark.slow
def test_a_worker_that_dies_is_an_error_in_its_span(http: TestClient, spans: InMemorySpanExporter) -> None:
    assert ask(http, "test/dies")["status"] == "error"
    scored = [span for span in spans.get_finished_spans() if span.name == "score"]
    assert [(span.status.is_ok, (span.attributes or {})["rewardkit.status"]) for span in scored] == [
        (False, "died"),
        (False, "died"),
    ]


def test_what_the_client_does_not_record_is_not_recorded(
    http: TestClient, spans: InMemorySpanExporter
) -> None:
    ask(http, "gsm8k", {"traceparent": f"00-{TRACE_ID}-{PARENT}-00"})
    assert spans.get_finished_spans() == ()
    for bad in ("", "x", f"00-{'0' * 32}-{PARENT}-01"):
        ask(http, "gsm8k", {"traceparent": bad})
    assert len([span for span in spans.get_finished_spans() if span.parent is None]) == 3


def test_the_page_and_refusals_are_spans_too(http: TestClient, spans: InMemorySpanExporter) -> None:
    http.get("/nowhere")
    http.post("/openrlhf/gsm8k", json={})
    found = made(spans)
    assert (found["GET unmatched"].attributes or {})["http.response.status_code"] == 404
    assert (found["POST /openrlhf/{data_source:path}"].attributes or {})["http.response.status_code"] == 422


def test_nothing_of_opentelemetry_is_imported_where_nobody_asks() -> None:
    code = "import rewardkit.server.app, rewardkit.commands.serve, sys; print('opentelemetry' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "False"


@pytest.mark.parametrize(
    "name",
    ["OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"],
)
def test_an_exporter_that_is_not_known_is_one_line(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(name, "pigeon")
    assert run(["serve", "--port", "0", "--otel"]) == 2
    assert f"{name} is 'pigeon'" in capsys.readouterr().err


@pytest.mark.slow
def test_spans_reach_the_collector_that_the_environment_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    got: list[tuple[str, bytes]] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append((self.path, self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *nothing: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Collector) as collector:
        threading.Thread(target=collector.serve_forever, daemon=True).start()
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{collector.server_port}")
        with serving(tmp_path, "--otel") as server, Client(server.url) as client:
            assert client.score(Sample("gsm8k", "#### 72", "72")).correct
            assert server.stop() == 0
        until(lambda: got)
        collector.shutdown()
    assert got[0][0] == "/v1/traces"
    sent = b"".join(body for _, body in got)
    assert b"POST /score" in sent and b"service.name" in sent and b"rewardkit" in sent
