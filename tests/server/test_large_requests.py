"""The event loop does no work in proportion to a request, on any route: a scoring process does it."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from rewardkit import Scorer
from rewardkit.server import request_scoring, wire
from rewardkit.server.app import create_app
from rewardkit.server.ground_truths import GroundTruthIndex
from rewardkit.server.request_scoring import RequestScorer
from rewardkit.server.task_files import open_task_sets
from tests.server.serving import serving
from tests.server.test_ors import RIGHT, write_tasks

TEXT = "<|im_start|>user\n6 * 12?<|im_end|>\n<|im_start|>assistant\n#### 72<|im_end|>"
ENVELOPE = {"data_source": "gsm8k", "ground_truth": "72"}
PADDING = "x" * (1 << 17)
N = 2_000


def rows(n: int, **fields: Any) -> list[dict[str, Any]]:
    return [{"data_source": f"unknown-{i}", "response": "#### 72", "ground_truth": "72"} | fields for i in range(n)]  # fmt: skip


def lines(n: int, **fields: Any) -> bytes:
    return b"\n".join(json.dumps(row).encode() for row in rows(n, **fields))


def output(text: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text}]
    return {"output": [{"type": "message", "role": "assistant", "content": content}]}


DEEP = b'{"data_source": ' + b"[" * 40_000 + b"]" * 40_000 + b"}"

BODIES: dict[str, tuple[str, Any, int]] = {
    "unknown names": ("/score", rows(N), 200),
    "each by itself": ("/score?each=1", rows(N), 200),
    "one data source": ("/score", rows(N, data_source="gsm8k"), 200),
    "many samples in few bytes": ("/score", rows(65, data_source="gsm8k"), 200),
    "nulls": ("/score", rows(N, response=None), 200),
    "a long ground truth": ("/score", rows(1, data_source="gsm8k", ground_truth=["text"] * 20_000), 200),
    "messages": ("/score", rows(N, response=[{"role": "assistant", "content": "#### 72"}]), 200),
    "deep JSON": ("/score", DEEP, 422),
    "no JSON": ("/score", b"[" + b"1," * 50_000, 422),
    "lone surrogates": ("/score", rows(100, data_source="gsm8k", response="\ud800 #### 72"), 200),
    "lines": ("/score lines", lines(N), 200),
    "a long line": ("/score lines", lines(1, response=PADDING), 200),
    "openrlhf": ("/openrlhf", {"query": ["q"] * N, "prompts": ["q"] * N, "labels": [ENVELOPE] * N}, 200),
    "openrlhf, unknown": ("/openrlhf", {"query": [TEXT] * N, "labels": [{**ENVELOPE, "data_source": "?"}] * N}, 404),
    "llama_factory": ("/llama_factory/gsm8k", {"messages": [TEXT] * N}, 422),
    "slime": ("/slime/gsm8k", {"response": PADDING, "label": "72"}, 200),
    "classify": ("/classify", {"model": "gsm8k", "input": [TEXT] * N}, 422),
    "embeddings": ("/v1/embeddings", {"model": "gsm8k", "input": [TEXT] * N}, 422),
    "sglang": ("/sglang/gsm8k/classify", {"text": [TEXT] * N}, 422),
    "verify": ("/verify", {**ENVELOPE, "response": output(PADDING)}, 200),
    "aggregate": ("/aggregate_metrics", {"verify_responses": [{"reward": 1.0}] * 10_000}, 200),
    "roll": ("/roll/submit/gsm8k", {"response": PADDING, "reward_info": {"ground_truth": "72"}}, 200),
    "openenv": ("/step", {"action": {"response": PADDING, "split": "train", "index": 0}}, 200),
    "explain": ("/explain", {**ENVELOPE, "response": PADDING}, 413),
    "roll's poll": ("/roll/result", {"reward_request_id": PADDING}, 413),
    "openenv's reset": ("/reset", {"episode_id": PADDING}, 413),
}  # fmt: skip


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FastAPI]:
    tasks = write_tasks(tmp_path_factory.mktemp("large") / "sums")
    with Scorer(workers=1) as scorer:
        yield create_app(scorer, tasks=open_task_sets([str(tasks)]))


@pytest.fixture
def http(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    """A client of a server process that fails if it decodes or answers anything large itself."""
    decode, begin = wire.BodyDecoder.__call__, request_scoring.tally_of

    def decode_small(self: Any, body: bytes) -> Any:
        assert len(body) <= wire.SMALL_BYTES, "decoded in the event loop"
        return decode(self, body)

    def count_few(samples: Any, *args: Any) -> Any:
        assert len(samples) <= request_scoring.SMALL_SAMPLES, "scored in the event loop"
        return begin(samples, *args)

    monkeypatch.setattr(wire.BodyDecoder, "__call__", decode_small)
    monkeypatch.setattr(request_scoring, "tally_of", count_few)
    with TestClient(app, raise_server_exceptions=False) as client:
        yield client


@pytest.mark.parametrize("name", BODIES)
def test_a_large_request_is_handled_in_a_scoring_process(http: TestClient, app: FastAPI, name: str) -> None:
    path, body, status = BODIES[name]
    requests: RequestScorer = app.state.request_scorer
    before = requests.passed_on
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    kind = "application/x-ndjson" if path.endswith(" lines") else "application/json"
    method = "GET" if path == "/roll/result" else "POST"
    answer = http.request(method, path.split()[0], content=content, headers={"content-type": kind})
    assert answer.status_code == status, answer.text[:300]
    assert requests.passed_on > before or status == 413


def test_a_large_message_of_openenv_is_decoded_in_a_scoring_process(http: TestClient, app: FastAPI) -> None:
    with http.websocket_connect("/ws") as socket:
        socket.send_text(json.dumps({"type": "reset", "data": {"index": 0}}))
        socket.receive_text()
        for kind, found in (("state", "VALIDATION_ERROR"), ("step", '"reward":1.0')):
            response = f"{PADDING}\n{RIGHT}"
            socket.send_text(json.dumps({"type": kind, "data": {"response": response}}))
            assert found in socket.receive_text()


def test_a_large_request_has_the_same_scores_as_small_ones(http: TestClient) -> None:
    mixed = [row for i in range(50) for row in (
        {**ENVELOPE, "response": "#### 72"},
        {**ENVELOPE, "response": f"#### {i}"},
        {"data_source": "math", "response": f"\\boxed{{{i}}}", "ground_truth": "7"},
        {"data_source": "nowhere", "response": "", "ground_truth": ""},
        {"data_source": "rank", "response": f"\\boxed{{{i}}}", "ground_truth": "7", "prompt": "q"},
    )]  # fmt: skip
    large = http.post("/score", json=mixed).json()
    ranked = [score for score in large if score["scorer"].startswith("rank")]
    assert len(ranked) == 50 and len({score["score"] for score in ranked}) == 2
    small = [score for i in range(0, 250, 50) for score in http.post("/score", json=mixed[i : i + 50]).json()]
    for one, other in zip(large, small, strict=True):
        if not one["scorer"].startswith("rank"):
            assert {**one, "seconds": 0} == {**other, "seconds": 0}


def test_outcomes_of_large_requests_are_counted_under_few_names(http: TestClient) -> None:
    for source in ("gsm8k", "nowhere"):
        http.post("/score", json=rows(200, data_source=source))
    text = http.get("/metrics").text
    assert 'rewardkit_samples_total{data_source="gsm8k",status="ok"}' in text
    assert 'rewardkit_samples_total{data_source="unknown",status="invalid"}' in text
    assert "unknown-1" not in text and "rewardkit_large_requests_total" in text
    seen = http.get("/traffic").json()["sources"]
    assert len(seen) <= 51 and sum(source["total"] for source in seen.values()) >= 400


def test_ground_truths_of_the_index_are_found_in_a_scoring_process(tmp_path: Path) -> None:
    table = pa.table({"prompt": ["6 * 12?"], "data_source": ["gsm8k"], "ground_truth": ["72"]})
    pq.write_table(table, tmp_path / "gold.parquet")
    index = GroundTruthIndex([tmp_path / "gold.parquet"])
    with Scorer(workers=1) as scorer, TestClient(create_app(scorer, ground_truths=index)) as http:
        assert http.post("/llama_factory", json={"messages": [TEXT] * 100}).json()["scores"] == [1.0] * 100


def cpu_s(pid: int) -> float:
    """CPU time of a process, without its children."""
    found = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(path.read_text().split()[0]) for path in found) / 1e9


@pytest.mark.slow
def test_the_server_process_spends_little_on_a_large_request(tmp_path: Path) -> None:
    """CPU time, which does not depend on what else the machine does."""
    with serving(tmp_path, "--scorers", "1") as server:

        def post(body: bytes) -> None:
            headers = {"content-type": "application/json"}
            urllib.request.urlopen(urllib.request.Request(f"{server.url}/score", body, headers)).read()

        post(json.dumps(rows(65)).encode())  # the scoring process is up
        for fields in ({}, {"response": None}, {"response": [{"role": "assistant", "content": "72"}]}):
            body = json.dumps(rows(8_000, **fields)).encode()
            before = cpu_s(server.process.pid)
            post(body)
            assert cpu_s(server.process.pid) - before < 0.25
