"""Two servers behind a balancer: what a request carries either scores; what one keeps, its clients come back to."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from fastapi.testclient import TestClient

from rewardkit import Scorer
from rewardkit.server.app import create_app
from rewardkit.server.task_files import open_task_sets
from tests.living import until
from tests.server.test_ors import RIGHT, events, write_tasks

Servers = list[TestClient]


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    tasks = open_task_sets([str(write_tasks(tmp_path_factory.mktemp("balanced") / "sums"))])
    with ExitStack() as stack:
        scorer = stack.enter_context(Scorer(workers=1))
        apps = [create_app(scorer, tasks=tasks) for _ in range(2)]
        yield [stack.enter_context(TestClient(app)) for app in apps]


ROW = {"data_source": "gsm8k", "ground_truth": "72"}
SAID = [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": RIGHT}]}]
CARRIED: list[tuple[str, Any, list[str | int]]] = [
    ("/score", {**ROW, "response": RIGHT}, ["score"]),
    ("/openrlhf/gsm8k", {"query": [f"q\n{RIGHT}"], "prompts": ["q\n"], "labels": ["72"]}, ["rewards", 0]),
    ("/slime_dict/gsm8k", {"prompt": "q", "response": RIGHT, "label": "72"}, ["score"]),
    ("/verify", {**ROW, "responses_create_params": {"input": "q"}, "response": {"output": SAID}}, ["reward"]),
    ("/step", {"action": {"response": RIGHT, "split": "train", "index": 0}}, ["reward"]),
]
"""A path, its body, and where in the answer the reward is."""


def test_a_request_that_carries_all_is_scored_by_whichever_server_gets_it(servers: Servers) -> None:
    turns = itertools.cycle(servers)
    for path, body, place in CARRIED * 2:
        assert next(turns).post("/seed_session", json={}).status_code == 200  # NeMo-Gym's; the other one's
        found = next(turns).post(path, json=body).json()
        for key in place:
            found = found[key]
        assert found == 1.0, path


def polled(server: TestClient, request_id: str) -> dict[str, Any]:
    answer: dict[str, Any] = server.request(
        "GET", "/roll/result", json={"reward_request_id": request_id}
    ).json()
    return answer


def test_a_client_that_stays_with_one_server_loses_no_poll(servers: Servers) -> None:
    body = {"prompt": "q", "response": RIGHT, "reward_info": {"ground_truth": "72"}}
    mine = [server for server, _ in zip(itertools.cycle(servers), range(20), strict=False)]
    ids = [server.post("/roll/submit/gsm8k", json=body).json()["reward_request_id"] for server in mine]
    for server, id_ in zip(mine, ids, strict=True):
        until(lambda server=server, id_=id_: polled(server, id_)["errcode"] == 0)
        assert polled(server, id_)["reward_score"] == 1.0
    strayed = polled(mine[1], ids[0])
    assert strayed["errcode"] == 2 and "same server" in strayed["errmsg"]


def test_a_client_that_stays_with_one_server_loses_no_session(servers: Servers) -> None:
    mine = [server for server, _ in zip(itertools.cycle(servers), range(20), strict=False)]
    for i, server in enumerate(mine):
        headers = {"X-Session-ID": f"mine-{i}"}
        task = {"env_name": "sums", "split": "train", "index": i % 3}
        assert server.post("/create", json=task, headers=headers).status_code == 200
    for i, server in enumerate(mine):
        call = {"name": "submit", "input": {"response": RIGHT}}
        answer = server.post("/call", json=call, headers={"X-Session-ID": f"mine-{i}"})
        assert '"reward":1.0' in dict(events(answer.text))["end"]
    strayed = mine[1].post("/ping", headers={"X-Session-ID": "mine-0"})
    assert strayed.status_code == 404 and "same server" in strayed.text
