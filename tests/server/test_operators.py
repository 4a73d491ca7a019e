"""What operators look at: tracebacks, distributions of scores, queues, clients, probes and versions."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from fastapi.testclient import TestClient

from rewardkit import Client, Sample, Scorer
from rewardkit.registry import Registry, Reward, Running
from rewardkit.server.app import create_app
from rewardkit.server.observability.failures import FailureLog
from rewardkit.server.observability.metrics import OTHER_CLIENTS
from rewardkit.server.tally import Outcome, Tally
from rewardkit.types import Status, failure
from rewardkit.users_code import DEBUG
from tests.server.serving import serve, serving
from tests.server.test_metrics import SUFFIX, value

RIGHT = {"data_source": "gsm8k", "response": "#### 72", "ground_truth": "72"}
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def http() -> Iterator[TestClient]:
    with Scorer(workers=1) as scorer, TestClient(create_app(scorer)) as client:
        yield client


def fail(sample: Sample) -> float:
    raise KeyError(sample.response)


def fail_too(sample: Sample) -> float:
    raise KeyError(sample.response)


FAILING = {"inline": fail, "process": fail_too}


@pytest.mark.parametrize("runs", ["inline", "process"])
def test_a_reward_that_raises_leaves_its_traceback_once(
    runs: Any,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(DEBUG, "1")
    registry = Registry()
    name = f"fails_{runs}"
    registry.register(
        Reward(
            name=name, version=1, target=FAILING[runs], data_sources=("fails",), running=Running(runs=runs)
        )
    )
    with Scorer(registry=registry, workers=1) as scorer:
        scores = scorer.score_batch([Sample("fails", str(i), "") for i in range(20)])
    assert {score.status for score in scores} == {"error"}
    said = caplog.text + capfd.readouterr().err
    assert said.count(f"{name} raised KeyError") == 1
    assert said.count("Traceback") == 1 and "test_operators.py" in said


def test_scores_are_counted_by_range_so_that_a_collapse_is_seen(http: TestClient) -> None:
    before = http.get("/metrics").text
    batch = [RIGHT] * 3 + [{**RIGHT, "response": "#### 1"}] * 5 + [{**RIGHT, "ground_truth": "x"}]
    http.post("/score", json=batch)
    after = http.get("/metrics").text

    def more(name: str) -> float:
        return value(after, name) - value(before, name)

    assert more('rewardkit_score_count{data_source="gsm8k"}') == 8
    assert more('rewardkit_score_sum{data_source="gsm8k"}') == pytest.approx(3.5)
    assert more('rewardkit_score_bucket{data_source="gsm8k",le="0.1"}') == 5
    assert more('rewardkit_score_bucket{data_source="gsm8k",le="0.9"}') == 5
    assert more('rewardkit_score_bucket{data_source="gsm8k",le="1.0"}') == 8


def text_score(sample: Sample) -> float:
    return float(sample.response)


def test_scores_below_zero_lower_no_figure_and_the_mean_can_be_had() -> None:
    registry = Registry()
    registry.register(
        Reward(
            name="given",
            version=1,
            target=text_score,
            data_sources=("given",),
            running=Running(runs="inline"),
        )
    )
    figures = []
    with Scorer(registry=registry, workers=1) as scorer, TestClient(create_app(scorer)) as client:
        for response in ("1.0", "-2.0", "0.4", "-1.8"):
            sample = {"data_source": "given", "response": response, "ground_truth": ""}
            assert client.post("/score", json=sample).status_code == 200
            text = client.get("/metrics").text
            names = ("rewardkit_score_sum", "rewardkit_score_negative_total", "rewardkit_score_count")
            figures.append([value(text, f'{name}{{data_source="given"}}') for name in names])
    assert figures == sorted(figures) and all(a <= b for a, b in zip(*figures[-2:], strict=True))
    above, below, count = figures[-1]
    assert (above - below) / count == pytest.approx(-0.6)


def test_waiting_for_a_worker_is_counted(http: TestClient) -> None:
    http.post(
        "/score", json={"data_source": "math", "response": "\\boxed{1}", "ground_truth": "\\frac{2}{2}"}
    )
    text = http.get("/metrics").text
    assert value(text, "rewardkit_queue_chunks_total") >= 1
    assert value(text, "rewardkit_queue_seconds_total") > 0


def test_clients_are_counted_and_their_names_are_bounded(http: TestClient) -> None:
    http.post("/score", json=[RIGHT] * 4, headers={"x-client-id": "trainer"})
    for i in range(250):
        http.post("/score", json=RIGHT, headers={"x-client-id": f"made up {i}"})
    text = http.get("/metrics").text
    assert value(text, 'rewardkit_client_samples_total{client="trainer"}') == 4
    assert len(re.findall(r"^rewardkit_client_samples_total", text, re.MULTILINE)) <= 201
    assert value(text, f'rewardkit_client_samples_total{{client="{OTHER_CLIENTS}"}}') > 0


def test_what_load_balancers_and_clients_of_openai_ask_is_answered(http: TestClient) -> None:
    assert http.get("/health").json()["status"] == "ok"
    models = http.get("/v1/models").json()
    assert models["object"] == "list" and "gsm8k" in {model["id"] for model in models["data"]}
    assert http.post("/v1/score", json=RIGHT).json() == http.post("/score", json=RIGHT).json() | {
        "seconds": pytest.approx(0, abs=10)
    }
    assert "/v1/score" in http.get("/openapi.json").json()["paths"]


def test_head_is_answered_without_a_body(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        for path in ("/health", "/healthz", "/readyz", "/", "/v1/models", "/metrics"):
            command = ["curl", "-sS", "-I", "-m", "120", f"{server.url}{path}"]
            told = subprocess.run(command, capture_output=True, text=True, timeout=150, check=True).stdout
            assert told.startswith("HTTP/1.1 200") and "content-length" in told.lower(), told


def test_an_unknown_data_source_is_answered_with_a_path_and_not_with_a_command() -> None:
    with serve("--no-sandbox", "--scorers", "1") as server, Client(server.url) as client:
        few, many = ([Sample("zzzzzzzzzz", "", "")] * n for n in (1, 100))
        for detail in (client.score_batch(few)[0].detail, client.score_batch(many)[0].detail):
            assert detail is not None and "/rewards" in detail and "`" not in detail


def test_every_alert_is_about_figures_that_the_server_has() -> None:
    rules = yaml.safe_load((ROOT / "deploy" / "alerts.yaml").read_text())["groups"][0]["rules"]
    with Scorer(workers=1) as scorer:
        collected = create_app(scorer).state.metrics.registry.collect()
    families = {SUFFIX.sub("", family.name) for family in collected}
    wanted = {name for rule in rules for name in re.findall(r"rewardkit_\w+", rule["expr"])}
    assert {SUFFIX.sub("", name) for name in wanted} <= families
    assert all("record" in rule or (rule["for"] and rule["annotations"]["summary"]) for rule in rules)


def test_the_image_is_pinned_and_gets_no_more_than_the_package() -> None:
    text = (ROOT / "deploy" / "Dockerfile").read_text()
    assert all(
        re.fullmatch(r"python:3\.11\.\d+-slim-\w+", image)
        for image in re.findall(r"^FROM (\S+)", text, re.MULTILINE)
    )
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert "*" in ignored
    kept = {line[1:] for line in ignored if line.startswith("!")}
    assert all((ROOT / name).exists() for name in kept)


LOUD = """
import sys
from rewardkit import reward

@reward("test/prints", runs="inline")
def prints(sample):
    print("on stdout")
    print("http://:s3cret@host", file=sys.stderr)
    return 1.0

@reward("test/raises", timeout_s=30)
def raises(sample):
    print("from a worker", flush=True)
    raise KeyError("nobody thought of this")
"""


def test_failures_are_one_line_a_minute_for_each_data_source_and_status(
    caplog: pytest.LogCaptureFixture,
) -> None:
    now = 0.0
    log = FailureLog(lambda: now)

    def scored(source: str, status: Status, n: int) -> None:
        samples = [Sample(source, "x", "")] * n
        scores = [failure(status, "ValueError: no brace (mine.py, line 3)", scorer="mine@1")] * n
        log.observe(
            Tally(n, [Outcome(source, source, 0.0, None, status, n)], samples=samples, scores=scores), 0
        )

    for _ in range(5):
        scored("mine", "error", 2)
    scored("mine", "timeout", 1)
    scored("other", "error", 1)
    log.observe(Tally(1, [Outcome("mine", "mine", 1.0, True, "ok", 1)]), 0)
    assert len(caplog.messages) == 3
    assert all(
        one in caplog.messages[0] for one in ("2 samples of mine", "error, mine@1", "no brace", "line 3")
    )
    now = 61.0
    scored("mine", "error", 1)
    assert "9 samples of mine" in caplog.messages[3], "with those that were not logged"


def test_what_rewards_print_and_raise_are_log_lines_like_any_other(tmp_path: Path) -> None:
    (tmp_path / "rewards.py").write_text(LOUD)
    with serve("--no-sandbox", "--reward", str(tmp_path / "rewards.py")) as server:
        with Client(server.url) as client:
            sources = ("test/prints", "test/raises")
            assert [client.score(Sample(source, "", "")).status for source in sources] == ["ok", "error"]
        assert server.stop() == 0
        assert server.process.stderr is not None
        lines = [json.loads(line) for line in server.process.stderr.read().splitlines()]
    loggers = {"rewardkit.output", "rewardkit.users_code", "rewardkit.server"}
    assert {line["logger"] for line in lines} == loggers
    said = "\n".join(line["message"] for line in lines)
    assert all(one in said for one in ("on stdout", "http://host", "from a worker")) and "s3cret" not in said
    (raised,) = [line["message"] for line in lines if line["logger"] == "rewardkit.users_code"]
    (failed,) = [line["message"] for line in lines if line["logger"] == "rewardkit.server"]
    assert "1 sample of test/raises" in failed and "KeyError: 'nobody" in failed
    assert "KeyError: 'nobody" in raised and raised.endswith("(rewards.py, line 14)")
    assert "prints: on stdout" in said and "raises: from a worker" in said
