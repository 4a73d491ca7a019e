"""The latest scored responses: which are kept, how they are found, and who is shown them."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from rewardkit import Scorer
from rewardkit.server.app import create_app
from rewardkit.server.observability.recent import KEPT, LONGEST, MAX_BYTES, SHOWN, Recent
from rewardkit.types import Sample, Score, failure

RIGHT, WRONG, SCORED = Score(1.0, correct=True), Score(0.0, correct=False), Score(0.3)


def sample(response: str = "#### 1", source: str = "gsm8k") -> Sample:
    return Sample(source, response, "1")


def keep(kept: Recent, samples: list[Sample], scores: list[Score], now: float = 1000.0) -> None:
    kept.record(samples, scores, str, now)


def test_any_response_can_be_found_by_source_verdict_and_text() -> None:
    kept = Recent()
    samples = [sample("It is One"), sample("two"), sample("three", "math"), sample("four")]
    keep(kept, samples, [RIGHT, WRONG, SCORED, failure("timeout", "Too slow")])
    assert [row["response"] for row in kept.find()] == ["four", "three", "two", "It is One"]
    assert [row["verdict"] for row in kept.find()] == ["failed", "scored", "wrong", "right"]
    assert [row["response"] for row in kept.find(source="math")] == ["three"]
    assert [row["response"] for row in kept.find(verdict="right")] == ["It is One"]
    assert [row["response"] for row in kept.find(text="ONE")] == ["It is One"]
    assert [row["status"] for row in kept.find(text="too slow")] == ["timeout"]
    assert kept.find(source="none of these") == []


def test_one_is_given_back_as_the_sample_that_it_was() -> None:
    kept = Recent()
    given = Sample(
        "choice", "The answer is B.", "B", [{"role": "user", "content": "?"}], {"choices": ["a", "b"]}
    )
    keep(kept, [given], [RIGHT])
    (row,) = kept.find()
    assert row["id"] == "1" and row["whole"]
    found = json.loads(kept.sample(1) or "")
    assert found == {
        "data_source": "choice",
        "response": "The answer is B.",
        "ground_truth": "B",
        "prompt": [{"role": "user", "content": "?"}],
        "extra_info": {"choices": ["a", "b"]},
    }
    assert kept.sample(2) is None


def test_what_is_rare_is_not_pushed_out_by_what_is_frequent() -> None:
    kept = Recent()
    keep(kept, [sample("rare")], [WRONG], 1000.0)
    for second in range(5):
        keep(kept, [sample(f"{second} {i}") for i in range(50)], [RIGHT] * 50, 1001.0 + second)
    assert [row["response"] for row in kept.find(verdict="wrong")] == ["rare"]
    assert [row["response"] for row in kept.find(verdict="right")] == [
        f"4 {i}" for i in range(49, 49 - KEPT, -1)
    ]


def test_memory_is_bounded_however_long_responses_are() -> None:
    kept = Recent()
    long = "x" * (LONGEST - 10)
    for i in range(2 * MAX_BYTES // LONGEST):
        keep(kept, [sample(long, f"source {i}")], [RIGHT], 1000.0 + i)
    assert len(kept.find()) == MAX_BYTES // LONGEST
    assert kept.find()[0]["data_source"] == f"source {2 * MAX_BYTES // LONGEST - 1}"
    keep(kept, [Sample("s", "y" * 2 * LONGEST, "1", "p" * 10, {"a": 1})], [RIGHT], 2000.0)
    (row,) = kept.find(source="s")
    assert not row["whole"] and len(row["response"]) == SHOWN
    assert kept.sample(int(row["id"])) is None


def test_lone_surrogates_and_strange_values_can_be_shown_and_opened() -> None:
    kept = Recent()
    keep(kept, [Sample("s", "a\ud800", "1", None, {"when": float("nan")})], [Score(0.0, detail="\udfff")])
    (row,) = kept.find()
    json.dumps(row).encode()
    assert row["response"] == "a?"
    assert json.loads(kept.sample(1) or "")["response"] == "a\ud800"


@pytest.fixture(scope="module")
def scorer() -> Iterator[Scorer]:
    with Scorer(workers=1) as scorer:
        yield scorer


def ask(scorer: Scorer, client: tuple[str, int], tokens: list[str], sent: str | None) -> tuple[int, int]:
    headers = {"authorization": f"Bearer {sent}"} if sent else {}
    with TestClient(create_app(scorer, tokens=tokens), client=client, headers=headers) as http:
        http.post("/score", json={"data_source": "gsm8k", "response": "#### 72", "ground_truth": "72"})
        return http.get("/traffic/responses").status_code, http.get("/traffic/responses/1").status_code


@pytest.mark.parametrize(
    ("address", "tokens", "sent", "status"),
    [
        ("127.0.0.1", [], None, 200),
        ("10.0.0.7", [], None, 403),
        ("10.0.0.7", ["secret"], None, 401),
        ("10.0.0.7", ["secret"], "secret", 200),
        ("127.0.0.1", ["secret"], None, 401),
    ],
)
def test_responses_and_their_ground_truths_are_shown_with_the_token_or_on_this_machine(
    scorer: Scorer, address: str, tokens: list[str], sent: str | None, status: int
) -> None:
    assert ask(scorer, (address, 50_000), tokens, sent) == (status, status)


@pytest.mark.parametrize(("id_", "status"), [("999", 404), ("x", 422)])
def test_an_id_that_is_none_is_refused(scorer: Scorer, id_: str, status: int) -> None:
    with TestClient(create_app(scorer), client=("127.0.0.1", 1)) as http:
        answer = http.get(f"/traffic/responses/{id_}")
    assert answer.status_code == status and answer.json()["error"]["message"]
