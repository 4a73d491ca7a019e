"""Requests that cannot be meant so: mistyped names and missing ground truths are refused, never paid 0."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

from rewardkit import Scorer
from rewardkit.server.app import create_app

UNKNOWN = "What is 6 times 12?"
TEXT = f"<|im_start|>user\n{UNKNOWN}<|im_end|>\n<|im_start|>assistant\n#### 72"


@pytest.fixture(scope="module")
def http() -> Iterator[TestClient]:
    with Scorer(workers=1) as scorer, TestClient(create_app(scorer)) as client:
        yield client


@pytest.mark.parametrize(
    ("method", "path", "said"),
    [
        ("POST", "/scor", "did you mean /score"),
        ("GET", "/nowhere/at/all", "/docs"),
        ("POST", "/run_code", "--run-code"),
        ("POST", "/get_reward", "/openrlhf/SOURCE"),
        ("GET", "/score", "POST"),
    ],
)
def test_a_mistyped_path_or_method_is_told_what_would_be_right(
    http: TestClient, method: str, path: str, said: str
) -> None:
    answer = http.request(method, path)
    assert answer.status_code in (404, 405)
    assert said in answer.json()["error"]["message"]


def test_a_mistyped_name_in_a_path_is_not_found_and_the_nearest_is_named(http: TestClient) -> None:
    paths = http.get("/openapi.json").json()["paths"]
    named = [path for path in paths if "{data_source" in path]
    assert len(named) > 10
    for path in named:
        example = paths[path]["post"]["requestBody"]["content"]["application/json"]["example"]
        wrong = http.post(path.replace("{data_source}", "gms8k"), json=example)
        assert (wrong.status_code, wrong.json()["error"]["type"]) == (404, "unknown_data_source"), path
        assert "did you mean gsm8k" in wrong.json()["error"]["message"]
        known = http.post(path.replace("{data_source}", "openai/gsm8k"), json=example)
        assert known.status_code == 200 or "no ground truth" in known.json()["error"]["message"], path


NAMED: dict[str, Any] = {
    "/openrlhf": {"query": ["q #### 1"], "prompts": ["q"], "labels": [{"data_source": "gms8k", "ground_truth": "1"}]},
    "/slime": {"response": "#### 1", "label": json.dumps({"data_source": "gms8k", "ground_truth": "1"})},
    "/roll/submit": {"response": "#### 1", "reward_info": {"data_source": "gms8k", "ground_truth": "1"}},
    "/classify": {"model": "gms8k", "input": TEXT},
    "/sglang/classify": {"model": "gms8k", "text": TEXT},
}  # fmt: skip


@pytest.mark.parametrize("path", NAMED)
def test_a_mistyped_name_in_a_body_is_not_found_either(http: TestClient, path: str) -> None:
    answer = http.post(path, json=NAMED[path])
    assert answer.status_code == 404
    assert "did you mean gsm8k" in answer.json()["error"]["message"]


TRUTHLESS: dict[str, Any] = {
    "/openrlhf/gsm8k": {"query": [TEXT]},
    "/slime/gsm8k": {"prompt": UNKNOWN, "response": "#### 72"},
    "/llama_factory/gsm8k": {"messages": [TEXT, TEXT]},
    "/classify": {"model": "gsm8k", "input": TEXT},
    "/sglang/classify": {"model": "math", "text": [TEXT, TEXT]},
}


@pytest.mark.parametrize("path", TRUTHLESS)
def test_a_request_without_the_ground_truth_that_its_reward_needs_is_refused(
    http: TestClient, path: str
) -> None:
    answer = http.post(path, json=TRUTHLESS[path])
    assert (answer.status_code, answer.json()["error"]["type"]) == (422, "bad_request")
    assert "no ground truth" in answer.json()["error"]["message"]


NAMELESS: dict[str, Any] = {
    "/openrlhf": {"query": [TEXT], "labels": ["72"]},
    "/slime": {"response": "#### 72", "label": "72"},
    "/llama_factory": {"messages": [TEXT]},
    "/roll/submit": {"response": "#### 72", "reward_info": {"ground_truth": "72"}},
}


@pytest.mark.parametrize("path", NAMELESS)
def test_a_request_that_does_not_say_what_it_is_about_is_refused(http: TestClient, path: str) -> None:
    answer = http.post(path, json=NAMELESS[path])
    assert answer.status_code == 422
    assert "no data source" in answer.json()["error"]["message"]


def test_a_protocol_with_a_field_for_it_says_it_there(http: TestClient) -> None:
    body = {"data_source": "gms8k", "ground_truth": "1", "response": {"output": []}}
    verdict = http.post("/verify", json=body).json()
    assert (verdict["mask_sample"], verdict["failure_kind"]) == (True, "invalid")


def test_what_is_wrong_is_logged_once(http: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "rewardkit.server"):
        for _ in range(3):
            http.post("/slime/mth", json={"response": "", "label": "1"})
    assert [record.message for record in caplog.records if "'mth'" in record.message][1:] == []
    assert "did you mean" in caplog.text
