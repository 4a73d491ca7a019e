"""The Open Reward Standard: tasks without their answers, one answer a session, its reward by events."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from rewardkit import Sample, Scorer
from rewardkit.datasets_prep.common.schema import SCHEMA, Row, chat
from rewardkit.errors import InputError
from rewardkit.server.app import create_app
from rewardkit.server.exchanges import ServedRows
from rewardkit.server.protocols import ProtocolContext, ors
from rewardkit.server.request_scoring import RequestScorer
from rewardkit.server.task_files import open_task_sets
from rewardkit.types import Score
from tests.server.serving import serve

QUESTION = "What is 6 times 12?"
RIGHT = "6 * 12 = 72\n#### 72"


def write_tasks(folder: Path) -> Path:
    folder.mkdir()
    for split, n in (("train", 3), ("test", 1)):
        rows = [
            Row("gsm8k", chat(f"{QUESTION} ({i})"), "math", "72", split, i, QUESTION, "") for i in range(n)
        ]
        table = pa.Table.from_pylist([row.as_record() for row in rows], schema=SCHEMA)
        pq.write_table(table, folder / f"{split}.parquet")
    return folder


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tasks(tmp_path_factory.mktemp("ors") / "sums")


@pytest.fixture(scope="module")
def http(tasks: Path) -> Iterator[TestClient]:
    with Scorer() as scorer:
        rows = ServedRows(tasks=open_task_sets([str(tasks)]))
        app = FastAPI()
        app.include_router(ors.router(ProtocolContext(RequestScorer(scorer, rows=rows))))
        with TestClient(app) as client:
            yield client


def events(text: str) -> list[tuple[str, str]]:
    blocks = [block for block in text.split("\n\n") if block.startswith("event: ")]
    return [(block.split("\n")[0][7:], block.split("\n")[1][6:]) for block in blocks]


def outcome(text: str) -> Any:
    (first, _), *rest = events(text)
    assert first == "task_id"
    assert [kind for kind, _ in rest] == ["chunk"] * (len(rest) - 1) + ["end"]
    return json.loads("".join(data for _, data in rest))


def opened(http: TestClient, index: int = 0) -> dict[str, str]:
    (_, session_id), end = events(http.post("/create_session").text)
    assert end == ("end", "")
    header = {"X-Session-ID": session_id}
    body = {"env_name": "sums", "split": "train", "index": index}
    assert http.post("/create", json=body, headers=header).json() == {"sid": session_id}
    return header


def call(http: TestClient, header: dict[str, str], **body: Any) -> str:
    return http.post("/sums/call", json=body, headers=header).text


def test_environments_splits_and_tasks_are_listed_without_their_answers(http: TestClient) -> None:
    assert http.get("/list_environments").json() == ["sums"]
    assert {split["name"]: split["type"] for split in http.get("/sums/splits").json()} == {
        "train": "train",
        "test": "test",
    }
    assert http.post("/sums/num_tasks", json={"split": "train"}).json() == {"num_tasks": 3}
    listed = http.post("/sums/tasks", json={"split": "train"}).text
    assert "72" not in listed and len(json.loads(listed)["tasks"]) == 3
    part = http.post("/sums/task_range", json={"split": "train", "start": 1, "stop": -1}).json()["tasks"]
    assert [task["index"] for task in part] == [1]
    assert http.post("/sums/task", json={"split": "train", "index": 2}).json()["task"]["id"] == "train/2"
    assert [tool["name"] for tool in http.get("/sums/tools").json()["tools"]] == ["submit"]


@pytest.mark.parametrize(
    ("tool", "response", "reward"), [("submit", RIGHT, 1.0), ("answer", "#### 71", 0.1), ("submit", "", 0.0)]
)
def test_an_answer_gets_its_reward_and_ends_the_session(
    http: TestClient, tool: str, response: str, reward: float
) -> None:
    header = opened(http, index=1)
    (block,) = http.get("/sums/prompt", headers=header).json()
    assert block["text"].endswith(f"{QUESTION} (1)") or f"{QUESTION} (1)" in block["text"]
    assert http.get("/sums/messages", headers=header).json()[-1]["role"] == "user"
    found = outcome(call(http, header, name=tool, input={"response": response}))
    assert found["ok"] is True
    assert (found["output"]["reward"], found["output"]["finished"]) == (reward, True)
    again = outcome(call(http, header, name=tool, input={"response": RIGHT}))
    assert (again["ok"], again["reason"]) == (False, "episode_finished")


def test_an_answer_is_had_again_when_the_connection_broke(http: TestClient) -> None:
    header = opened(http)
    first = call(http, header, name="submit", input={"response": RIGHT})
    (_, call_id), *_ = events(first)
    again = call(http, header, name="submit", input={"response": "another"}, task_id=call_id)
    assert outcome(again) == outcome(first)
    unknown = call(http, header, name="submit", input={}, task_id="0-none")
    assert events(unknown)[-1] == ("error", "unknown task_id")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"name": "calculate", "input": {}}, "not_found"),
        ({"name": "submit", "input": {"answer": "72"}}, "input_validation"),
        ({"name": "submit", "input": {"response": 72}}, "input_validation"),
    ],
)
def test_a_malformed_call_is_said_to_be_one_and_leaves_the_session_open(
    http: TestClient, body: dict[str, Any], reason: str
) -> None:
    header = opened(http)
    found = outcome(call(http, header, **body))
    assert (found["ok"], found["reason"]) == (False, reason)
    assert outcome(call(http, header, name="submit", input={"response": RIGHT}))["output"]["reward"] == 1.0


def test_what_could_not_be_scored_has_no_reward_and_may_be_handed_in_again(tasks: Path) -> None:
    answers = [Score(0.0, "error", detail="out of memory"), Score(1.0)]

    class Scripted(Scorer):
        def score_here(self, samples: Sequence[Sample]) -> list[Score]:
            return [answers.pop(0)]

    rows = ServedRows(tasks=open_task_sets([f"sums={tasks}"]))
    app = FastAPI()
    app.include_router(ors.router(ProtocolContext(RequestScorer(Scripted(), rows=rows))))
    with TestClient(app) as http:
        header = opened(http)
        output = outcome(call(http, header, name="submit", input={"response": RIGHT}))["output"]
        assert (output["reward"], output["finished"], output["metadata"]["status"]) == (None, False, "error")
        assert "out of memory" in output["blocks"][0]["text"]
        assert (
            outcome(call(http, header, name="submit", input={"response": RIGHT}))["output"]["reward"] == 1.0
        )


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/subs/splits", None, 404),
        ("POST", "/sums/tasks", {"split": "dev"}, 400),
        ("POST", "/sums/task", {"split": "train", "index": 3}, 400),
        ("POST", "/create", {"env_name": "sums", "split": "train", "index": 0}, 400),
        ("GET", "/sums/prompt", None, 400),
    ],
)
def test_what_is_not_there_is_refused(
    http: TestClient, method: str, path: str, body: dict[str, Any] | None, status: int
) -> None:
    assert http.request(method, path, json=body).status_code == status
    assert http.get("/sums/prompt", headers={"X-Session-ID": "0-nobody"}).status_code == 404


def test_a_server_without_tasks_has_none_of_these_routes() -> None:
    with Scorer() as scorer, TestClient(create_app(scorer)) as http:
        assert http.get("/list_environments").status_code == 404


def test_a_set_that_cannot_be_read_is_one_line(tmp_path: Path, tasks: Path) -> None:
    with pytest.raises(InputError, match="no parquet file"):
        open_task_sets([f"a={tmp_path}"])
    with pytest.raises(InputError, match=r"two task sets.*'sums'"):
        open_task_sets([str(tasks), f"SUMS={tasks}"])
    pq.write_table(pa.table({"prompt": ["a"]}), tmp_path / "train.parquet")
    with pytest.raises(InputError, match="no data source column"):
        open_task_sets([str(tmp_path / "train.parquet")])


@pytest.mark.skipif(importlib.util.find_spec("openreward") is None, reason="needs openreward's client")
def test_openreward_s_own_client_gets_its_reward(tmp_path: Path) -> None:
    from openreward import OpenReward

    folder = write_tasks(tmp_path / "sums")
    with serve("--no-sandbox", "--tasks", str(folder), "--scorers", "2") as server:
        client = OpenReward(base_url=server.url, api_key="none")
        environment = client.environments.get("sums", base_url=server.url)
        for task in environment.list_tasks(split="train"):
            for response, reward in ((RIGHT, 1.0), ("#### 71", 0.1)):
                with environment.session(task=task) as session:
                    assert QUESTION in session.get_prompt()[0].text
                    found = session.call_tool("submit", {"response": response})
                    assert (found.reward, found.finished) == (reward, True)
