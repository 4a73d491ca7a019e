"""Rewards that look at groups: a response that came by itself is refused at every entrance, never a group of one."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fastapi.testclient import TestClient

from rewardkit import AsyncClient, Client, Sample, Scorer
from rewardkit.adapters import verl
from rewardkit.adapters.backend import close
from rewardkit.client import asynchronous
from rewardkit.errors import OptionsError
from rewardkit.server.app import create_app
from rewardkit.server.request_scoring import RequestScorer
from rewardkit.server.score_route import ScoreRoute
from tests.server.serving import Serving, serve

NEEDS = "looks at all responses to a prompt at once"
RIGHT = {"data_source": "rank", "response": "\\boxed{72}", "ground_truth": "72", "prompt": "6 * 12?"}
WRONG = {**RIGHT, "response": "\\boxed{7}"}
ENVELOPE = {"data_source": "rank", "ground_truth": "72"}
TEXT = "<|im_start|>user\n6 * 12?<|im_end|>\n<|im_start|>assistant\n\\boxed{72}"


@pytest.fixture(scope="module")
def http() -> Iterator[TestClient]:
    with Scorer(workers=1) as scorer, TestClient(create_app(scorer)) as client:
        yield client


def test_a_list_is_scored_as_groups_and_a_sample_by_itself_is_invalid(http: TestClient) -> None:
    both = http.post("/score", json=[RIGHT, WRONG]).json()
    assert [score["score"] for score in both] == [1.0, 0.0]
    alone = http.post("/score", json=RIGHT).json()
    assert alone["status"] == "invalid"
    assert NEEDS in alone["detail"] and "POST /score" in alone["detail"]
    (meant,) = http.post("/score", json=[RIGHT]).json()
    assert (meant["status"], meant["score"]) == ("ok", 0.5), "a list is all there is"


def test_samples_that_a_client_sends_together_by_chance_are_no_group(http: TestClient) -> None:
    other = {"data_source": "gsm8k", "response": "#### 72", "ground_truth": "72"}
    for samples in ([RIGHT, other, WRONG], [RIGHT, WRONG, other]):
        found = http.post("/score?each=1", json=samples).json()
        assert [score["status"] for score in found] == [
            "ok" if sample is other else "invalid" for sample in samples
        ]


def test_neighbours_in_a_stream_are_a_group_in_whatever_pieces_they_come() -> None:
    other = {**RIGHT, "prompt": "72?"}
    lines = [json.dumps(one).encode() + b"\n" for one in (RIGHT, WRONG, other, {**WRONG, "prompt": "72?"})]
    lines.insert(2, b"{oops\n")
    found = {size: asyncio.run(streamed(b"".join(lines), size)) for size in (1 << 20, 7)}
    for scores in found.values():
        assert [score["score"] for score in scores] == [1.0, 0.0, 0.0, 1.0, 0.0]
        assert [score["status"] for score in scores] == ["ok", "ok", "invalid", "ok", "ok"]


async def streamed(body: bytes, size: int) -> list[dict[str, Any]]:
    """What the route answers to lines that come in pieces of a size."""
    pieces = [body[i : i + size] for i in range(0, len(body), size)]
    messages = iter([{"type": "http.request", "body": piece, "more_body": True} for piece in pieces])
    answered: list[bytes] = []

    async def receive() -> Any:
        return next(messages, {"type": "http.request", "body": b"", "more_body": False})

    async def send(message: Any) -> None:
        answered.append(message.get("body", b""))

    scope = {"type": "http", "headers": [(b"content-type", b"application/x-ndjson")]}
    with Scorer(workers=1) as scorer:
        await ScoreRoute(RequestScorer(scorer), 1 << 20)(scope, receive, send)
    return [json.loads(line) for line in b"".join(answered).splitlines()]


SINGLE: dict[str, Any] = {
    "/slime": {"response": "\\boxed{72}", "label": ENVELOPE},
    "/roll/submit/rank": {"response": "\\boxed{72}", "reward_info": {"ground_truth": "72"}},
    "/openrlhf": {"query": ["q \\boxed{72}"], "prompts": ["q"], "labels": [ENVELOPE]},
    "/classify": {"model": "rank", "input": TEXT},
}


@pytest.mark.parametrize("path", SINGLE)
def test_a_trainers_request_of_one_response_is_refused(http: TestClient, path: str) -> None:
    answer = http.post(path, json=SINGLE[path])
    assert answer.status_code == 422
    assert NEEDS in answer.json()["error"]["message"]


def test_where_a_protocol_has_failures_it_is_one(http: TestClient) -> None:
    output = [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "72"}]}]
    row = {**ENVELOPE, "responses_create_params": {"input": "6 * 12?"}, "response": {"output": output}}
    verified = http.post("/verify", json=row).json()
    assert verified["failure_kind"] == "invalid" and NEEDS in verified["failure_reason"]


def test_responses_to_one_prompt_in_one_request_are_a_group(http: TestClient) -> None:
    answers = ["\\boxed{72}", "\\boxed{7}"]
    request = {"query": [f"q {one}" for one in answers], "prompts": ["q", "q"], "labels": [ENVELOPE] * 2}
    assert http.post("/openrlhf", json=request).json()["rewards"] == [1.0, 0.0]
    mixed = {"query": [f"{q} \\boxed{{72}}" for q in "qqr"], "prompts": list("qqr"), "labels": [ENVELOPE] * 3}
    answer = http.post("/openrlhf", json=mixed)
    assert answer.json()["rewards"] == [0.5, 0.5, 0.0] and answer.headers["x-rewardkit-failed"] == "1"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    file = tmp_path_factory.mktemp("groups") / "rewards.yaml"
    file.write_text("data_sources: [ranked]\nsum: [math, rank]\n")
    with serve("--rewards", str(file), "--no-sandbox", "--scorers", "1") as serving:
        yield serving


def test_the_server_says_at_its_start_which_of_its_rewards_look_at_groups(server: Serving) -> None:
    assert "ranked: the reward" in server.said and NEEDS in server.said


def test_the_clients_score_lists_and_refuse_single_samples(
    server: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asynchronous, "COALESCED", 64)
    samples = [Sample("ranked", f"\\boxed{{{value}}}", "72", "6 * 12?") for value in (72, 7, 8, 9)]

    async def one_by_one() -> list[Any]:
        async with AsyncClient(server.url, connections=1) as client:
            return await asyncio.gather(*(client.ascore(sample) for sample in samples))

    with Client(server.url) as client:
        assert [score.ok for score in client.score_batch(samples)] == [True] * 4
        singles = [client.score(samples[0]), *asyncio.run(one_by_one())]
    assert {score.status for score in singles} == {"invalid"}
    assert NEEDS in singles[0].detail


def test_the_function_for_verl_refuses_them_behind_a_server_too(server: Serving) -> None:
    given = ("ranked", "\\boxed{72}", "72")
    try:
        with pytest.raises(OptionsError, match="passes groups"):
            verl.compute_score(*given, url=server.url)
        with pytest.raises(OptionsError, match="passes groups"):
            asyncio.run(verl.acompute_score(*given, url=server.url))
    finally:
        close()


@pytest.mark.slow
def test_tasks_whose_reward_looks_at_groups_are_refused_at_the_start(tmp_path: Path) -> None:
    file = tmp_path / "test.parquet"
    row = {"data_source": "rank", "prompt": [{"role": "user", "content": "6 * 12?"}], "ground_truth": "72"}
    pq.write_table(pa.Table.from_pylist([row]), file)
    command = [sys.executable, "-m", "rewardkit", "serve", "--port", "0", "--tasks", f"sums={file}"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ended.returncode != 0
    assert "--tasks sums: " in ended.stderr and NEEDS in " ".join(ended.stderr.split())
