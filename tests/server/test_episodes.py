"""Tools and interactions over HTTP: sessions with state, limits, expiry; and what is created is released."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import dataclasses
import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from rewardkit import Scorer
from rewardkit.agents.loading import Toolbox, load_interactions
from rewardkit.agents.tools import tool
from rewardkit.agents.tools.declare import kind_of
from rewardkit.cli import run
from rewardkit.server.app import create_app
from rewardkit.server.episodes import Episodes, EpisodeServiceSettings, EpisodeStart
from rewardkit.tool_calls.call import Call
from tests.living import until
from tests.server.serving import serve


class Log:
    """What the tool below has seen."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.go = asyncio.Event()


LOG = Log()


@tool
class Probe:
    """Notes what is done with it."""

    def __init__(self) -> None:
        self.said: list[str] = []

    async def create(self, ground_truth: str = "") -> None:
        LOG.events.append(f"create {ground_truth}")
        if ground_truth == "broken":
            raise OSError("no")

    async def execute(self, what: str) -> str:
        """Note it.

        Args:
            what: Text; `hang` hangs, `fail` fails.
        """
        if what == "hang":
            LOG.events.append("hangs")
            await asyncio.sleep(600)
        if what == "fail":
            raise OSError("no")
        self.said.append(what)
        return ",".join(self.said)

    async def reward(self) -> float:
        return float(len(self.said))

    async def release(self) -> None:
        LOG.events.append("release")


def _episodes(**settings: Any) -> Episodes:
    toolbox = Toolbox({"probe": kind_of(Probe), "calculator": load_calculator()})
    return Episodes(toolbox, load_interactions("gsm8k"), EpisodeServiceSettings(**settings))


def load_calculator() -> Any:
    from rewardkit.agents.tools.calculator import calculator

    return kind_of(calculator)


@pytest.fixture(autouse=True)
def fresh() -> None:
    LOG.events.clear()


@contextlib.contextmanager
def _served(**settings: Any) -> Iterator[TestClient]:
    with Scorer() as scorer, TestClient(create_app(scorer, episodes=_episodes(**settings))) as client:
        yield client


def _open(http: TestClient, **asked: Any) -> str:
    answer = http.post("/episodes", json=asked)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["session"])


@pytest.mark.parametrize("option", ["--tools", "--interactions"])
@pytest.mark.parametrize("text", [None, "tools: [", ""])
def test_a_file_that_cannot_be_read_ends_serve_before_it_says_that_it_serves(
    option: str, text: str | None, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "given.yaml"
    if text is not None:
        file.write_text(text)
    assert run(["serve", "--port", "0", option, str(file)]) == 2
    err = capfd.readouterr().err
    assert "serves at" not in err
    assert str(file) in err.splitlines()[0]


@pytest.mark.parametrize(
    ("option", "given", "said"),
    [
        ("--tools", "calculater", "did you mean calculator"),
        ("--tools", "calculator, nope", "there is no tool 'nope'"),
        ("--tools", "nowhere.to.be.found", "cannot be imported"),
        ("--tools", "tools: [{class_name: nope}]", "given.yaml, entry 1 of 'tools': there is no tool 'nope'"),
        ("--interactions", "gms8k", "did you mean gsm8k"),
        (
            "--interactions",
            "interaction: [{name: a}]",
            "entry 1 of 'interaction': there is no interaction ''",
        ),
    ],
)
def test_what_is_not_there_ends_serve_before_it_says_that_it_serves(
    option: str, given: str, said: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    if ":" in given:
        (tmp_path / "given.yaml").write_text(given)
        given = str(tmp_path / "given.yaml")
    assert run(["serve", "--port", "0", option, given]) == 2
    err = capfd.readouterr().err
    assert "serves at" not in err
    assert said in err.splitlines()[0]


def test_an_episode_is_opened_called_rewarded_and_released() -> None:
    with _served() as http:
        there = http.get("/episodes").json()
        assert [one["function"]["name"] for one in there["tools"]] == ["probe", "calculator"]
        assert (there["interactions"], there["open"]) == (["gsm8k"], 0)
        opened = http.post("/episodes", json={"tools": ["probe"], "ground_truth": "7"}).json()
        assert [one["function"]["name"] for one in opened["tools"]] == ["probe"]
        path = f"/episodes/{opened['session']}"
        assert http.post(f"{path}/call", json={"name": "probe", "arguments": {"what": "a"}}).json() == {
            "text": "a", "reward": None, "done": False, "status": "ok", "metrics": {},
        }  # fmt: skip
        assert (
            http.post(f"{path}/call", json={"name": "probe", "arguments": '{"what": "b"}'}).json()["text"]
            == "a,b"
        )
        assert http.post(f"{path}/reward").json() == {"tools": {"probe": 2.0}, "interaction": None}
        assert http.delete(path).json() == {"released": True}
        assert http.delete(path).json() == {"released": False}
        assert http.post(f"{path}/call", json={"name": "probe"}).status_code == 404
        assert LOG.events == ["create 7", "release"]


def test_episodes_are_apart_and_rows_of_a_dataset_open_them() -> None:
    row = {
        "tool_selection": ["probe"],
        "tools_kwargs": {"probe": {"create_kwargs": {"ground_truth": "row", "question": ""}}, "other": None},
    }
    with _served() as http:
        sessions = [_open(http, ground_truth="top", extra_info=row), _open(http)]
        assert LOG.events == ["create row", "create "]
        for session, what in zip(sessions, "xy", strict=True):
            called = http.post(
                f"/episodes/{session}/call", json={"name": "probe", "arguments": {"what": what}}
            )
            assert called.json()["text"] == what


@pytest.mark.parametrize(
    ("call", "status", "text"),
    [
        ({"name": "probe", "arguments": {}}, "bad_call", "'what' is missing"),
        ({"name": "prob", "arguments": {}}, "bad_call", "no tool 'prob'; did you mean probe"),
        ({"name": "probe", "arguments": "{"}, "bad_call", "not JSON"),
        ({"name": "probe", "arguments": "[1]"}, "bad_call", "not a JSON object"),
        ({"name": "probe", "arguments": {"what": "fail"}}, "error", "OSError: no"),
        ({"name": "probe", "arguments": {"what": True}}, "bad_call", "expected string"),
        ({"name": "calculator", "arguments": {"expression": 72}}, "ok", "72"),
        ({"name": "calculator", "arguments": {"expression": 7.5}}, "ok", "7.5"),
        ({"name": "calculator", "arguments": {"expression": "9**9**9"}}, "bad_call", "too large"),
    ],
)
def test_whatever_becomes_of_a_call_is_an_observation(call: dict[str, Any], status: str, text: str) -> None:
    with _served() as http:
        answer = http.post(f"/episodes/{_open(http)}/call", json=call)
        assert (answer.status_code, answer.json()["status"]) == (200, status)
        assert text in answer.json()["text"]


@pytest.mark.parametrize(
    ("path", "body", "status", "why"),
    [
        ("/episodes", {"tools": ["prob"]}, 422, "did you mean probe"),
        ("/episodes", {"interaction": "gsm8"}, 422, "did you mean gsm8k"),
        ("/episodes", {"interaction": "gsm8k"}, 422, "needs the row's ground truth"),
        ("/episodes", {"extra_info": {"tools_kwargs": 3}}, 422, "tools_kwargs"),
        ("/episodes", {"tool": []}, 422, "unknown field"),
        ("/episodes", {"ground_truth": "broken"}, 502, "could not begin: OSError: no"),
        ("/episodes/0-none/call", {"name": "probe"}, 404, "no such episode"),
        ("/episodes/0-none/reward", None, 404, "no such episode"),
        ("/interaction", {"messages": []}, 422, "say which interaction"),
        ("/interaction", {"messages": [], "session": "0-none"}, 404, "no such episode"),
        ("/interaction", {"messages": [], "name": "none", "ground_truth": "1"}, 422, "no interaction 'none'"),
    ],
)
def test_what_is_wrong_with_a_request_is_said(path: str, body: Any, status: int, why: str) -> None:
    with _served() as http:
        answer = http.post(path, json=body)
        assert answer.status_code == status
        assert why in answer.json()["error"]["message"]
        assert http.get("/episodes").json()["open"] == 0
    created = sum(event.startswith("create") for event in LOG.events)
    assert LOG.events.count("release") == created


def test_an_interaction_answers_within_an_episode_and_by_itself() -> None:
    wrong, right = ([{"role": "assistant", "content": f"#### {n}"}] for n in (71, 72))
    with _served() as http:
        session = _open(http, tools=[], interaction="gsm8k", ground_truth="72")
        first = http.post("/interaction", json={"session": session, "messages": wrong}).json()
        second = http.post("/interaction", json={"session": session, "messages": right}).json()
        assert (first["done"], first["reward"], second["done"], second["reward"]) == (False, 0.0, True, 1.0)
        alone = http.post("/interaction", json={"name": "gsm8k", "messages": right, "ground_truth": "72"})
        assert alone.json() == second
        parts = [{"role": "assistant", "content": [{"type": "text", "text": "#### 72"}]}]
        alone = http.post("/interaction", json={"name": "gsm8k", "messages": parts, "ground_truth": 72})
        assert alone.json() == second
        no_interaction = _open(http, tools=[])
        assert (
            http.post("/interaction", json={"session": no_interaction, "messages": wrong}).status_code == 422
        )
        assert http.get("/episodes").json()["open"] == 2


def test_no_more_are_open_than_may_be_and_a_place_that_is_free_is_taken() -> None:
    with _served(most=3, most_per_client=2) as http:
        mine = [http.post("/episodes", headers={"X-Client-Id": "me"}, json={}) for _ in range(3)]
        assert [one.status_code for one in mine] == [200, 200, 503]
        assert "of this client" in mine[2].json()["error"]["message"]
        assert mine[2].headers["retry-after"]
        others = [http.post("/episodes", headers={"X-Client-Id": "you"}, json={}) for _ in range(2)]
        assert [one.status_code for one in others] == [200, 503]
        http.delete(f"/episodes/{mine[0].json()['session']}")
        assert http.post("/episodes", headers={"X-Client-Id": "you"}, json={}).status_code == 200


def test_what_nobody_asks_for_is_released() -> None:
    async def use() -> None:
        episodes = _episodes(idle_s=0.05)
        for _ in range(5):
            await episodes.open(EpisodeStart())
        for _ in range(2_000):
            if not len(episodes):
                break
            await asyncio.sleep(0.01)
        assert len(episodes) == 0
        assert (len(LOG.events), LOG.events.count("release")) == (10, 5)

    asyncio.run(use())


def test_a_call_that_runs_ends_when_its_episode_is_released() -> None:
    async def use() -> None:
        episodes = _episodes()
        session = (await episodes.open(EpisodeStart()))["session"]
        call = asyncio.create_task(episodes.call(session, Call("probe", {"what": "hang"})))
        while "hangs" not in LOG.events:
            await asyncio.sleep(0)
        assert await episodes.release(session)
        with pytest.raises(LookupError, match="released meanwhile"):
            await call
        assert LOG.events == ["create ", "hangs", "release"]

    asyncio.run(use())


def test_a_call_that_hangs_is_an_observation_after_its_time() -> None:
    async def use() -> None:
        episodes = _episodes()
        session = (await episodes.open(EpisodeStart()))["session"]
        episodes._limits = dataclasses.replace(episodes._limits, tool_seconds=0.05)
        found = await episodes.call(session, Call("probe", {"what": "hang"}))
        assert (found["status"], found["text"]) == ("timeout", "Error: probe did not answer in 0.05 s")
        await episodes.close()

    asyncio.run(use())


def test_a_call_whose_client_goes_is_cancelled_and_its_episode_stays() -> None:
    async def use() -> None:
        episodes = _episodes()
        session = (await episodes.open(EpisodeStart()))["session"]
        call = asyncio.create_task(episodes.call(session, Call("probe", {"what": "hang"})))
        while "hangs" not in LOG.events:
            await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert (await episodes.call(session, Call("probe", {"what": "on"})))["text"] == "on"
        await episodes.close()
        assert LOG.events.count("release") == 1

    asyncio.run(use())


def test_all_are_released_when_the_server_stops() -> None:
    with _served() as http:
        for _ in range(3):
            _open(http)
    assert (LOG.events.count("create "), LOG.events.count("release")) == (3, 3)


TOOLS = '''
import os
from rewardkit.agents.tools import tool

@tool
class Note:
    """Notes in the file that is the ground truth."""
    def create(self, ground_truth: str = ""):
        self.path = ground_truth
        self.note("create")
    def note(self, what):
        with open(self.path, "a") as file:
            file.write(f"{what} {os.getpid()}\\n")
    def execute(self, what: str) -> int:
        """Note it."""
        self.note(what)
        return os.getpid()
    def release(self):
        self.note("release")
'''


def _ask(url: str, method: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, method=method), timeout=60) as answer:
        return json.load(answer)


@pytest.mark.slow
def test_with_several_workers_any_of_them_answers_and_sigterm_releases_all(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text(TOOLS)
    notes = tmp_path / "notes"
    with serve("--workers", "2", "--no-sandbox", "--tools", f"{tmp_path / 'tools.py'}") as server:
        sessions = [
            _ask(f"{server.url}/episodes", "POST", {"ground_truth": str(notes)})["session"] for _ in range(3)
        ]

        def call(i: int) -> int:
            session = sessions[i % len(sessions)]
            asked = {"name": "note", "arguments": {"what": "call"}}
            return int(_ask(f"{server.url}/episodes/{session}/call", "POST", asked)["text"])

        with concurrent.futures.ThreadPoolExecutor(4) as threads:
            homes = list(threads.map(call, range(24)))
        assert all(len(set(homes[i::3])) == 1 for i in range(3))
        with pytest.raises(urllib.error.HTTPError, match="404"):
            _ask(f"{server.url}/episodes/7-none/reward", "POST", {})
        assert server.stop() == 0
    lines = notes.read_text().splitlines()
    assert sum(line.startswith("call") for line in lines) == 24
    until(lambda: sum(line.startswith("release") for line in notes.read_text().splitlines()) == 3)


def test_tools_that_cannot_be_opened_keep_the_server_from_starting() -> None:
    import subprocess
    import sys

    command = [sys.executable, "-m", "rewardkit", "serve", "--port", "0", "--tools", "calculater"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ended.returncode != 0
    assert "did you mean calculator" in ended.stderr
    assert "Traceback" not in ended.stderr
