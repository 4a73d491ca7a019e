"""Rewards behind servers: what a server says becomes a score, and whatever else it does a status, never 0."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rewardkit import Sample, Score
from rewardkit.datasets_prep.common.schema import SCHEMA, Row, chat
from rewardkit.errors import OptionsError
from rewardkit.foreign import foreign_reward, parse_spec
from tests.foreign.servers import Answer, serving
from tests.server.serving import Serving, serve

SAMPLE = Sample("test/sums", "2 + 3 = 5", "5", "2 + 3 = ?", {"split": "train", "index": 0, "level": 3})


def scored(spec: str, sample: Sample = SAMPLE, **options: Any) -> Score:
    made = foreign_reward(parse_spec(spec))
    found = made.function(sample, made.make_options({"retries": 0, "request_timeout_s": 5.0, **options}))
    return asyncio.run(found)


def nemo(verdict: Callable[[Mapping[str, Any]], Answer], mode: str = "stateless") -> Callable[..., Answer]:
    def answer(path: str, body: Any, headers: Mapping[str, str]) -> Answer:
        if path == "/reverify_mode":
            return (200, mode) if mode else (404, {"detail": "Not Found"})
        if path == "/seed_session":
            return 200, {}, {"Set-Cookie": "session=abc; Path=/"}
        if path == "/verify":
            assert headers.get("cookie") == (None if mode == "stateless" else "session=abc")
            return verdict(body)
        return 404, {}

    return answer


def right(body: Mapping[str, Any]) -> Answer:
    text = body["response"]["output"][0]["content"][0]["text"]
    assert body["responses_create_params"]["input"] == [{"role": "user", "content": "2 + 3 = ?"}]
    value = float(text.endswith(body["expected_answer"]))
    return 200, {**body, "reward": value, "reward_components": {"level": body["level"], "why": "?"}}


@pytest.mark.parametrize(
    ("mode", "seeded"),
    [("stateless", False), ("unknown", True), ("", True)],
)
def test_nemo_gym_scores_with_the_rows_fields(mode: str, seeded: bool) -> None:
    with serving(nemo(right, mode)) as server:
        score = scored(f"nemo-gym:{server.url}")
    assert (score.status, score.score, score.parts) == ("ok", 1.0, {"level": 3.0})
    assert ("/seed_session" in server.asked) is seeded


@pytest.mark.parametrize(
    ("answer", "status", "why"),
    [
        (
            (200, {"reward": 0.0, "mask_sample": True, "failure_kind": "judge_failed"}),
            "error",
            "judge_failed",
        ),
        ((200, {"reward": 0.0, "_ng_failure_class": "judge_failed"}), "error", "judge_failed"),
        ((200, {"verdict": 1}), "error", "reward"),
        ((200, {"reward": "high"}), "error", "high"),
        ((200, b'{"reward": 1e999}'), "error", "1e999"),
        ((200, b"<html>"), "error", "JSON"),
        ((200, [1.0]), "error", "object"),
        ((422, {"detail": "field required"}), "invalid", "field required"),
        ((500, {"detail": "boom"}), "error", "boom"),
    ],
)
def test_what_nemo_gym_cannot_score_is_a_status(answer: Answer, status: str, why: str) -> None:
    with serving(nemo(lambda body: answer)) as server:
        score = scored(f"nemo-gym:{server.url}")
    assert (score.status, score.score) == (status, 0.0)
    assert why in str(score.detail)


@pytest.mark.parametrize("kind", ["nemo-gym", "ors"])
def test_a_server_that_is_down_is_an_error(kind: str) -> None:
    with serving(nemo(right)) as server:
        url = server.url
    score = scored(f"{kind}:{url}")
    assert score.status == "error" and "cannot be reached" in str(score.detail)


@pytest.mark.parametrize("kind", ["nemo-gym", "ors"])
def test_an_address_that_is_none_is_refused_at_once(kind: str) -> None:
    with pytest.raises(OptionsError, match="address"):
        foreign_reward(parse_spec(f"{kind}:localhost"))


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """Our own server: it speaks NeMo-Gym and the Open Reward Standard."""
    folder = tmp_path_factory.mktemp("tasks") / "sums"
    folder.mkdir()
    rows = [Row("gsm8k", chat(f"{i} + 3 = ?"), "math", str(i + 3), "train", i, "", "") for i in range(2)]
    table = pa.Table.from_pylist([row.as_record() for row in rows], schema=SCHEMA)
    pq.write_table(table, folder / "train.parquet")
    with serve("--tasks", str(folder)) as server:
        yield server


@pytest.mark.parametrize(("response", "value"), [("#### 3", 1.0), ("#### 4", 0.1)])
def test_our_own_server_scores_as_both(ours: Serving, response: str, value: float) -> None:
    sample = Sample("gsm8k", response, "3", "0 + 3 = ?", {"split": "train", "index": 0})
    for spec in (f"ors:{ours.url}", f"nemo-gym:{ours.url}"):
        score = scored(spec, sample)
        assert (score.status, score.score) == ("ok", value), spec


TASK_TOOLS = {"tools": [{"name": "submit", "input_schema": {"properties": {"answer": {"type": "string"}}}}]}


def standard(outcome: Any, tools: Any = TASK_TOOLS) -> Callable[..., Answer]:
    """A server of the Open Reward Standard whose calls come to `outcome`: JSON, or the events themselves."""

    def answer(path: str, body: Any, headers: Mapping[str, str]) -> Answer:
        if path == "/list_environments":
            return 200, ["sums"]
        if path == "/create_session":
            return 200, b"event: task_id\r\ndata: s1\r\n\r\nevent: end\r\ndata: \r\n\r\n"
        assert headers["X-Session-ID"] == "s1"
        if path == "/create":
            ok = body == {"env_name": "sums", "split": "train", "index": 0}
            return (200, {"sid": "s1"}) if ok else (400, {"detail": "no such task"})
        if path == "/sums/task_tools":
            return 404, {}
        if path == "/sums/tools":
            return 200, tools
        if path == "/sums/call":
            assert body["input"] == {"answer": SAMPLE.response}
            if isinstance(outcome, bytes):
                return 200, outcome
            text = json.dumps(outcome)
            half = len(text) // 2
            return 200, (
                f": a comment\r\n\r\nevent: chunk\r\ndata: {text[:half]}\r\n\r\n"
                f"event: end\r\ndata: {text[half:]}\r\n\r\n"
            ).encode()
        return 200, {}

    return answer


def output(reward: Any, finished: bool = True) -> dict[str, Any]:
    blocks = [{"type": "text", "text": "taken in é"}]
    return {"ok": True, "output": {"blocks": blocks, "reward": reward, "finished": finished}}


@pytest.mark.parametrize(
    ("outcome", "status", "value"),
    [
        (output(0.25), "ok", 0.25),
        (output(0.0), "ok", 0.0),
        (output(None), "invalid", 0.0),
        (output("much"), "error", 0.0),
        ({"ok": False, "reason": "input_validation", "error": "no"}, "invalid", 0.0),
        ({"verdict": 1}, "error", 0.0),
        (b"event: error\r\ndata: boom\r\n\r\n", "error", 0.0),
        (b"event: end\r\ndata: not json\r\n\r\n", "error", 0.0),
        (b"", "error", 0.0),
    ],
)
def test_outcomes_of_the_open_reward_standard(outcome: Any, status: str, value: float) -> None:
    with serving(standard(outcome)) as server:
        score = scored(f"ors:{server.url}")
    assert (score.status, score.score) == (status, value)
    assert {"/delete", "/delete_session"} <= set(server.asked)


def test_a_tool_that_takes_the_plain_message_is_preferred() -> None:
    tools = {**TASK_TOOLS, "terminal_tool": {"name": "submit", "arg": "answer"}}
    tools["tools"] = [*tools["tools"], {"name": "other", "input_schema": {}}]
    with serving(standard(output(1.0), tools)) as server:
        assert scored(f"ors:{server.url}").score == 1.0
    tools.pop("terminal_tool")
    with serving(standard(output(1.0), tools)) as server:
        assert "option `tool`" in str(scored(f"ors:{server.url}").detail)
        assert scored(f"ors:{server.url}", tool="submit").score == 1.0


def test_a_row_without_a_task_is_invalid(tmp_path: Path) -> None:
    assert scored("ors:http://localhost:9", Sample("test/sums", "5", "5")).status == "invalid"
