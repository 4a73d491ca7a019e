"""Several processes are one server: any of them answers for all, and the limits hold for all together."""

from __future__ import annotations

import asyncio
import json
import socket
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from rewardkit import Scorer
from rewardkit.errors import OverloadedError
from rewardkit.server import siblings as siblings_module
from rewardkit.server.admission import Admission
from rewardkit.server.app import create_app
from rewardkit.server.siblings import SharedLoad, Siblings
from rewardkit.server.traffic import Traffic
from rewardkit.types import Score, failure
from tests.server.serving import Serving, serving
from tests.server.test_traffic import record, sample


def ask(server: Serving, path: str, body: Any = None, method: str | None = None) -> Any:
    """One request over a connection of its own, so that any process may get it."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{server.url}{path}", data, method=method)
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.load(answer)


@pytest.mark.slow
def test_any_process_knows_what_each_has_been_given(tmp_path: Path) -> None:
    body = {"prompt": "q", "response": "#### 72", "reward_info": {"ground_truth": "72"}}
    with serving(tmp_path, "--workers", "3", "--scorers", "3") as server:
        ids = [ask(server, "/roll/submit/gsm8k", body)["reward_request_id"] for _ in range(30)]
        assert len({request_id.partition("-")[0] for request_id in ids}) > 1
        for request_id in ids:
            answer = ask(server, "/roll/result", {"reward_request_id": request_id}, "GET")
            assert (answer["errcode"], answer["reward_score"]) == (0, 1.0)
        unknown = ask(server, "/roll/result", {"reward_request_id": "2-unknown"}, "GET")
        assert unknown["errcode"] == 2
        totals = [ask(server, "/traffic")["sources"]["gsm8k"]["total"] for _ in range(10)]
        assert totals == [30] * 10
        kept = ask(server, "/traffic/responses?verdict=right")["responses"]
        assert len({one["id"].partition("-")[0] for one in kept}) > 1
        for one in kept:  # whichever process is asked, and whichever keeps it
            assert ask(server, f"/traffic/responses/{one['id']}")["ground_truth"] == "72"


def test_the_limits_hold_for_all_processes_together(tmp_path: Path) -> None:
    first, second = (
        Admission(max_samples=10, max_bytes=100, shared=SharedLoad(Siblings(tmp_path, place, 2)))
        for place in range(2)
    )
    first.take_bytes(80)
    with pytest.raises(OverloadedError):
        second.take_bytes(30)
    second.take_bytes(20)
    with first.room_for({"": 8}, 60.0):
        with pytest.raises(OverloadedError), second.room_for({"": 3}, 60.0):
            pass
        with second.room_for({"": 2}, 60.0):
            pass
    first.give_back_bytes(80)
    second.take_bytes(80)


def test_what_a_process_held_that_is_no_more_does_not_count(tmp_path: Path) -> None:
    killed = Admission(max_bytes=100, shared=SharedLoad(Siblings(tmp_path, 0, 2)))
    other = Admission(max_bytes=100, shared=SharedLoad(Siblings(tmp_path, 1, 2)))
    killed.take_bytes(100)
    with pytest.raises(OverloadedError):
        other.take_bytes(10)
    SharedLoad(Siblings(tmp_path, 0, 2))  # the one in its place
    other.take_bytes(10)


def test_counts_of_several_processes_add_up() -> None:
    def clock() -> float:
        return 1000.5

    one, two = Traffic(clock), Traffic(clock)
    record(one, [sample(), sample("math")], [Score(1.0, correct=True), Score(0.0)])
    record(two, [sample(), sample()], [Score(0.0, correct=False), failure("error", "why")])
    for mine, other in ((one, two), (two, one)):
        seen = mine.snapshot([json.loads(json.dumps(other.counts()))])
        gsm8k = seen["sources"]["gsm8k"]
        assert (gsm8k["total"], gsm8k["failed"], gsm8k["mean"], gsm8k["correct"]) == (3, 1, 0.5, 0.5)
        assert gsm8k["scores"] == [(0.0, 1), (1.0, 1)]
        assert list(seen["sources"]) == ["gsm8k", "math"]
    assert one.snapshot()["sources"]["gsm8k"]["total"] == 1  # adding up has changed nothing


def test_a_process_that_is_too_busy_to_answer_has_lost_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its results are not gone: who polls is told to come again. One that is no more has nothing."""
    monkeypatch.setattr(siblings_module, "_ANSWER_WITHIN_S", 0.05)
    asker = Siblings(tmp_path, 0, 2, patience_s=0.05)

    async def run() -> None:
        assert await asker.ask(1, "roll", "1-a") is None
        silent = socket.socket(socket.AF_UNIX)
        silent.bind(str(asker._socket(1)))
        silent.listen()
        with silent, pytest.raises(OverloadedError, match="too busy"):
            await asker.ask(1, "roll", "1-a")
        assert await asker.ask_others("traffic") == []

    asyncio.run(run())


def test_a_poll_that_finds_the_holder_busy_is_answered_as_running(tmp_path: Path) -> None:
    class Busy(Siblings):
        async def ask(self, place: int, name: str, argument: Any = None, within_s: float = 0.0) -> Any:
            raise OverloadedError("busy", 2.0)

    with Scorer() as scorer, TestClient(create_app(scorer, siblings=Busy(tmp_path, 0, 2))) as http:
        answer = http.request("GET", "/roll/result", json={"reward_request_id": "1-a"})
        assert (answer.status_code, answer.json()) == (200, {"errcode": 1})
