"""Responses as APIs return them, sent to be scored: read as `rewardkit score` reads them in files."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from fastapi.testclient import TestClient

from rewardkit import AsyncClient, Client, Sample, Scorer
from rewardkit.adapters import backend
from rewardkit.adapters.callable import make_reward
from rewardkit.offline import score_file
from rewardkit.server.app import create_app
from rewardkit.types import failure
from tests.server.serving import serve

TEXT = "6 * 12 = 72\n#### 72"
MESSAGE = {"role": "assistant", "content": TEXT}
PART = {"type": "text", "text": TEXT}
RESPONSES: dict[str, Any] = {
    "text": TEXT,
    "message": MESSAGE,
    "message in parts": {"role": "assistant", "content": [{"type": "text", "text": "6 * 12 = 72\n"}, {"type": "text", "text": "#### 72"}]},
    "messages": [{"role": "user", "content": "#### 7"}, MESSAGE],
    "parts": [{"type": "thinking", "thinking": "#### 7"}, PART],
    "part": PART,
    "parts of responses": [{"type": "output_text", "text": TEXT, "annotations": []}],
    "chat completion": {"id": "x", "object": "chat.completion", "choices": [{"index": 0, "message": MESSAGE, "finish_reason": "stop"}]},
    "responses": {"object": "response", "output": [{"type": "reasoning", "summary": []}, {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": TEXT}]}]},
    "anthropic": {"type": "message", "role": "assistant", "content": [PART]},
    "gemini": {"candidates": [{"content": {"role": "model", "parts": [{"text": TEXT}]}}]},
}  # fmt: skip


@pytest.fixture(scope="module")
def http() -> Iterator[TestClient]:
    with Scorer(workers=1) as scorer, TestClient(create_app(scorer)) as client:
        yield client


def body(response: Any) -> dict[str, Any]:
    return {"data_source": "gsm8k", "response": response, "ground_truth": "72"}


def in_every_way(http: TestClient, sent: list[dict[str, Any]], folder: Path) -> list[list[dict[str, Any]]]:
    """The scores of samples that are sent one by one, in a list, as lines, and read from a file."""
    lines = "".join(json.dumps(one) + "\n" for one in sent)
    stream = http.post("/score", content=lines, headers={"content-type": "application/x-ndjson"}).text
    (folder / "rows.jsonl").write_text(lines)
    with Scorer(workers=1) as scorer:
        score_file(folder / "rows.jsonl", folder / "scored.parquet", scorer=scorer)
    return [
        [http.post("/score", json=one).json() for one in sent],
        http.post("/score", json=sent).json(),
        [json.loads(line) for line in stream.splitlines()],
        pq.read_table(folder / "scored.parquet").to_pylist(),
    ]


def test_a_response_is_read_over_http_as_in_a_file(http: TestClient, tmp_path: Path) -> None:
    sent = [body(response) for response in RESPONSES.values()]
    for scores in in_every_way(http, sent, tmp_path):
        assert {name: one["score"] for name, one in zip(RESPONSES, scores, strict=True)} == dict.fromkeys(
            RESPONSES, 1.0
        )


@pytest.mark.parametrize(
    ("response", "said"),
    [
        ([TEXT, "#### 7"], "2 responses"),
        (72, "Expected `str`, got `int`"),
    ],
)
def test_what_is_no_single_response_is_refused(http: TestClient, response: Any, said: str) -> None:
    answer = http.post("/score", json=body(response))
    assert answer.status_code == 422
    assert said in answer.json()["error"]["message"]


NOT_RESPONSES: dict[str, Any] = {
    "no choices": {"choices": [], "prompt": TEXT},
    "an error": {"error": {"message": TEXT, "type": "server_error"}},
    "Anthropic's error": {"type": "error", "error": {"type": "overloaded_error", "message": TEXT}},
    "a blocked prompt": {"promptFeedback": {"blockReason": "SAFETY"}, "text": TEXT},
    "a failed response": {"object": "response", "status": "failed", "output": [], "instructions": TEXT},
    "a choice without a message": {"choices": [{"message": None, "index": 0}], "prompt": TEXT},
    "null": None,
    "an empty list": [],
    "a user's message": {"role": "user", "content": TEXT},
    "a conversation without an assistant": [{"role": "user", "content": TEXT}],
}


def test_what_is_no_response_fails_alone_at_every_entrance(http: TestClient, tmp_path: Path) -> None:
    sent = [body(response) for response in NOT_RESPONSES.values()] + [body(TEXT)]
    failed = len(NOT_RESPONSES)
    for scores in in_every_way(http, sent, tmp_path):
        said = {name: one["status"] for name, one in zip([*NOT_RESPONSES, "right"], scores, strict=True)}
        assert said == {**dict.fromkeys(NOT_RESPONSES, "invalid"), "right": "ok"}
        assert scores[-1]["score"] == 1.0
        assert all(one["detail"] and "\n" not in one["detail"] for one in scores[:-1])
    rewards = make_reward("gsm8k")([one["response"] for one in sent], ["72"] * len(sent))
    assert rewards == [None] * failed + [1.0]
    backend.close()


def test_the_clients_send_them_too() -> None:
    samples = [Sample("gsm8k", response, "72") for response in RESPONSES.values()]

    async def scored() -> list[Any]:
        async with AsyncClient(server.url) as client:
            return [await client.ascore(samples[1]), *await client.ascore_batch(samples)]

    with serve("--no-sandbox", "--scorers", "1") as server, Client(server.url) as client:
        found = [client.score(samples[1]), *client.score_batch(samples), *asyncio.run(scored())]
    assert {score.score for score in found} == {1.0}


def test_an_extra_info_that_is_null_is_none(http: TestClient) -> None:
    """As Python's clients write what they have not."""
    sent = body(TEXT) | {"extra_info": None, "prompt": None}
    assert http.post("/score", json=sent).json()["score"] == 1.0
    assert http.post("/score", json=[sent, body("#### 7")]).json()[0]["score"] == 1.0


REPORTS: dict[str, dict[str, Any]] = {
    "a broken tool": {"response": "", "ended": "tool_failed", "episode_status": "error"},
    "an episode out of time": {"response": "", "ended": "seconds", "episode_status": "timeout"},
    "an aborted rollout": {"status": "aborted"},
    "an error": {"error": {"message": "rate limit"}},
    "a filter": {"finish_reason": "content_filter"},
    "a mask": {"response_mask": [0, 0, 0]},
    "a filtered sample": {"is_filtered": True},
    "nothing but the failure": {"response": None, "rollout_status": "failed"},
}


def test_a_row_that_reports_a_failure_has_the_same_status_at_every_entrance(
    http: TestClient, tmp_path: Path
) -> None:
    sent = [body(TEXT) | report for report in REPORTS.values()]
    statuses = [[one["status"] for one in scores] for scores in in_every_way(http, sent, tmp_path)]
    assert statuses[0] == ["timeout" if "time" in name else "error" for name in REPORTS]
    assert all(one == statuses[0] for one in statuses)


def test_a_known_score_travels_to_the_server_and_back() -> None:
    known = failure("timeout", "the tool did not answer")
    samples = [Sample("gsm8k", TEXT, "72"), Sample("gsm8k", TEXT, "72", known=known)]
    with serve() as serving, Client(serving.url) as client:
        assert [one.status for one in client.score_batch(samples)] == ["ok", "timeout"]
        assert client.score(samples[1]) == known
