"""The examples of `/docs`: those of the OpenAPI document, each sent as it stands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fastapi.testclient import TestClient

from rewardkit import Scorer
from rewardkit.datasets_prep.common.schema import SCHEMA, Row, chat
from rewardkit.sandbox import Pool
from rewardkit.server.app import create_app
from rewardkit.server.ground_truths import GroundTruthIndex
from rewardkit.server.protocols.base import CARRIES_NO_TRUTH
from rewardkit.server.task_files import open_task_set


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A server with all that it can have; its rows have the prompt of the examples."""
    path = tmp_path_factory.mktemp("gold") / "train.parquet"
    row = Row("gsm8k", chat("6 * 12 = ?"), "math", "72", "train", 0, "6 * 12 = ?", "")
    pq.write_table(pa.Table.from_pylist([row.as_record()], schema=SCHEMA), path)
    everything: dict[str, Any] = {
        "ground_truths": GroundTruthIndex([path]),
        "tasks": {"gsm8k": open_task_set("gsm8k", path)},
    }
    with (
        Scorer(workers=1) as scorer,
        Pool(1) as pool,
        TestClient(create_app(scorer, sandbox=pool, **everything)) as client,
    ):
        yield client


def operations(http: TestClient) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, found in http.get("/openapi.json").json()["paths"].items():
        for method, operation in found.items():
            yield method, path, operation


def send(http: TestClient, method: str, path: str, operation: dict[str, Any]) -> Any:
    headers = {}
    for given in operation.get("parameters", []):
        if given["in"] == "path":
            path = path.replace(f"{{{given['name']}}}", given["example"])
        elif given["in"] == "header" and given.get("required"):
            headers[given["name"]] = given["example"]
    assert "{" not in path, f"{path} has a parameter without an example"
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    body = None if content is None else content["example"]
    return http.request(method, path, json=body, headers=headers)


IN_SESSION = ("/ping", "/delete", "/delete_session", "/prompt", "/messages", "/call")
"""Need the session that `/create` makes."""


def test_every_example_is_answered_as_it_stands(http: TestClient) -> None:
    sent = 0
    for method, path, operation in operations(http):
        if path.endswith((*IN_SESSION, "/create")):
            continue
        answer = send(http, method, path, operation)
        if path == "/roll/result":
            assert answer.json()["errcode"] == 2  # the example's id is nobody's
        assert answer.status_code == 200, (method, path, answer.text)
        sent += 1
    assert sent > 60


def test_the_examples_of_a_session_work_in_their_order(http: TestClient) -> None:
    found = {path: (method, operation) for method, path, operation in operations(http)}
    for path in ("/create", "/ping", "/{environment}/prompt", "/messages", "/call", "/delete"):
        method, operation = found[path]
        answer = send(http, method, path, operation)
        assert answer.status_code == 200, (path, answer.text)
        if path == "/call":
            assert '"reward":1.0' in answer.text


def test_routes_whose_requests_carry_no_ground_truth_say_so() -> None:
    with Scorer(workers=1) as scorer, TestClient(create_app(scorer)) as http:
        for method, path, operation in operations(http):
            if "data_source" not in path and "requestBody" in operation and "vllm" not in path:
                continue
            status = send(http, method, path, operation).status_code
            assert (status == 422) == (operation.get("description") == CARRIES_NO_TRUTH), path
