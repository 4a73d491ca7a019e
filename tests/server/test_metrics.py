"""What can be seen from outside: figures, logs, readiness."""

from __future__ import annotations

import json
import logging
import os
import re
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import msgspec
import pytest
from fastapi.testclient import TestClient

from rewardkit import Client, Sample, Score, Scorer
from rewardkit.errors import ConfigError
from rewardkit.server.app import create_app
from rewardkit.server.observability.logs import json_logs
from rewardkit.server.observability.metrics import Metrics
from rewardkit.server.request_scoring import RequestScorer
from rewardkit.server.tally import tally_of
from rewardkit.types import COST_PARTS
from tests.living import until
from tests.server.serving import serving

RIGHT = {"data_source": "gsm8k", "response": "#### 72", "ground_truth": "72"}

SUFFIX = re.compile(r"_(total|bucket|count|sum)$")
"""What a series has after the name of its metric."""


@pytest.fixture(scope="module")
def scorer() -> Iterator[Scorer]:
    with Scorer() as made:
        yield made


def value(text: str, name: str) -> float:
    """The value of one series in the Prometheus text format; 0 when it is not there."""
    found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
    return float(found[1]) if found else 0.0


def test_requests_and_samples_are_counted_by_route_source_and_status(scorer: Scorer) -> None:
    with TestClient(create_app(scorer)) as http:
        http.post("/score", json=[RIGHT] * 5 + [{**RIGHT, "data_source": "made/up"}])
        http.post("/score", content=b"[")
        http.get("/made/up/path")
        text = http.get("/metrics").text
    assert value(text, 'rewardkit_samples_total{data_source="gsm8k",status="ok"}') == 5
    assert value(text, 'rewardkit_samples_total{data_source="unknown",status="invalid"}') == 1
    assert value(text, 'rewardkit_scoring_seconds_count{data_source="gsm8k",status="ok"}') == 1
    assert value(text, 'rewardkit_request_seconds_count{route="/score",status="200"}') == 1
    assert value(text, 'rewardkit_request_seconds_count{route="/score",status="422"}') == 1
    assert value(text, 'rewardkit_request_seconds_count{route="unmatched",status="404"}') == 1
    assert "made/up" not in text


def test_what_judges_cost_is_counted(scorer: Scorer) -> None:
    costs = dict.fromkeys(COST_PARTS, 0.0) | {"calls": 2.0, "input_tokens": 300.0, "overruled": 1.0}
    requests = RequestScorer(scorer)
    metrics = Metrics(requests)
    scores = [Score(1.0, parts=costs)] * 2 + [Score(1.0, parts={"calls": 1.0})]
    metrics.observe(tally_of([Sample("gsm8k", "", "")] * 3, scores, requests.label), 0.1)
    text = metrics.text().decode()
    for name, amount in (("calls", 4), ("input_tokens", 600), ("overruled", 2), ("over_budget", 0)):
        assert value(text, f'rewardkit_judge_total{{data_source="gsm8k",of="{name}"}}') == amount


def test_killed_workers_are_counted(tmp_path: Path) -> None:
    with serving(tmp_path) as server, Client(server.url) as client:
        assert client.score(Sample("test/hang", "", "")).status == "timeout"

        def figures() -> str:
            with urllib.request.urlopen(f"{server.url}/metrics") as answer:
                text: str = answer.read().decode()
                return text

        until(lambda: value(figures(), 'rewardkit_worker_restarts_total{reason="killed"}') == 1)
        assert value(figures(), "rewardkit_samples_in_flight") == 0


def test_programs_that_the_sandbox_stopped_are_counted(scorer: Scorer) -> None:
    tests = json.dumps({"inputs": ["1", "2"], "outputs": ["1", "2"]})
    endless = Sample("apps", "```python\nwhile True: pass\n```", tests)
    with Scorer(options={"code": {"cpu_s": 0.2}}, workers=1) as quick, TestClient(create_app(quick)) as http:
        answer = http.post("/score", content=msgspec.json.encode(endless)).json()
        assert answer["parts"]["timed_out"] == 1.0
        text = http.get("/metrics").text
    assert value(text, 'rewardkit_sandbox_kills_total{reason="timed_out"}') == 1


def test_it_is_not_ready_before_what_it_needs_is_done(scorer: Scorer) -> None:
    may_load = Event()
    with TestClient(create_app(scorer, needs={"model": may_load.wait})) as http:
        answer = http.get("/readyz")
        assert (answer.status_code, answer.json()["error"]["message"]) == (503, "model: not done yet")
        assert http.get("/healthz").status_code == 200
        may_load.set()
        until(lambda: http.get("/readyz").status_code == 200)


def test_what_fails_to_load_keeps_it_from_being_ready_and_says_why(scorer: Scorer) -> None:
    def load() -> None:
        raise ConfigError("no such model")

    with TestClient(create_app(scorer, needs={"model": load})) as http:
        until(lambda: "no such model" in http.get("/readyz").text)
        assert http.get("/readyz").status_code == 503


def test_while_it_drains_it_answers_but_is_not_ready(scorer: Scorer) -> None:
    app = create_app(scorer)
    with TestClient(app) as http:
        app.state.health.draining = True
        assert http.get("/readyz").status_code == 503
        answer = http.post("/score", json=RIGHT)
        assert (answer.status_code, answer.headers["connection"]) == (200, "close")


def read(fd: int) -> list[dict[str, object]]:
    os.set_blocking(fd, False)
    try:
        return [json.loads(line) for line in os.read(fd, 1 << 20).splitlines()]
    except BlockingIOError:
        return []


def test_the_access_log_is_json_with_the_request_id_and_off_by_default(scorer: Scorer) -> None:
    read_end, write_end = os.pipe()
    for on in (False, True):
        with json_logs(access_log=on, fd=write_end), TestClient(create_app(scorer, access_log=on)) as http:
            http.post("/score", json=[RIGHT] * 3, headers={"x-request-id": "abc"})
        lines = read(read_end)
        assert len(lines) == int(on)
    assert {k: lines[0][k] for k in ("message", "request_id", "path", "status", "samples", "level")} == {
        "message": "request", "request_id": "abc", "path": "/score", "status": 200, "samples": 3, "level": "info",
    }  # fmt: skip
    os.close(read_end)
    os.close(write_end)


def test_a_failure_in_a_route_is_a_typed_answer_and_a_log_line(scorer: Scorer) -> None:
    app = create_app(scorer)

    @app.get("/broken")
    async def broken() -> None:
        raise KeyError("nobody thought of this")

    read_end, write_end = os.pipe()
    with json_logs(fd=write_end), TestClient(app) as http:
        answer = http.get("/broken", headers={"x-request-id": "abc"})
    assert (answer.status_code, answer.json()["error"]["type"]) == (500, "internal")
    assert "nobody" not in answer.text and "abc" in answer.text
    (line,) = read(read_end)
    assert line["request_id"] == "abc" and "nobody thought of this" in str(line["exception"])
    os.close(read_end)
    os.close(write_end)


def test_logging_to_a_pipe_that_nobody_reads_does_not_wait_nor_writes_elsewhere_later() -> None:
    read_end, write_end = os.pipe()
    with json_logs(fd=write_end):
        for _ in range(20_000):
            logging.getLogger("x").error("a line that fills the pipe before long %s", "." * 100)
    os.close(read_end)
    os.close(write_end)
    next_read_end, next_write_end = os.pipe()
    assert (next_read_end, next_write_end) == (read_end, write_end)
    until(lambda: not any(thread.name == "rewardkit-log" for thread in threading.enumerate()))
    assert read(next_read_end) == []
    os.close(next_read_end)
    os.close(next_write_end)
