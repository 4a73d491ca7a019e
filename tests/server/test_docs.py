"""The examples of docs/protocols.md, sent as they stand to a server started as the page says."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fastapi.testclient import TestClient

from rewardkit import Scorer
from rewardkit.datasets_prep.common.schema import SCHEMA, Row, chat
from rewardkit.server.app import create_app
from rewardkit.server.ground_truths import GroundTruthIndex
from rewardkit.server.task_files import open_task_sets
from tests.server.test_ors import write_tasks

PAGE = (Path(__file__).parents[2] / "docs" / "protocols.md").read_text()
ELLIPSIS = "…"
_HEAD = re.compile(
    r"^\*\*(?P<name>[^*]+)\*\* (?P<rest>.*(?:\n(?! {4}|\n).*)*)\n\n(?P<block>(?: {4}.*\n)+)", re.MULTILINE
)


def wires() -> dict[str, tuple[list[str], list[Any]]]:
    """By name: the paths that the page gives, and the JSON values below them, requests and answers in turn."""
    section = PAGE.partition("## Requests and answers")[2].partition("\n## ")[0]
    found = {}
    for match in _HEAD.finditer(section):
        paths = re.findall(r"`(?:GET )?(/[^`]+)`", match["rest"])
        found[match["name"]] = paths, values(match["block"])
    return found


def values(block: str) -> list[Any]:
    text = re.sub(r"\{…\}", '{"…": 0}', block)
    text = re.sub(r"\{…[^,{}]*,", '{"…": 0,', text)
    text = re.sub(r", …\]", ', "…"]', text)
    decoder = json.JSONDecoder()
    found = []
    while text := text.lstrip():
        value, end = decoder.raw_decode(text)
        found.append(value)
        text = text[end:]
    return found


def fits(shown: Any, got: Any) -> bool:
    """Whether an answer is what the page shows, `…` standing for anything."""
    if isinstance(shown, dict):
        rest = {name: value for name, value in shown.items() if name != ELLIPSIS}
        if not isinstance(got, dict) or (ELLIPSIS not in shown and rest.keys() != got.keys() - {"created"}):
            return False
        return all(name in got and fits(value, got[name]) for name, value in rest.items())
    if isinstance(shown, list):
        if shown[-1:] == [ELLIPSIS]:
            shown = shown[:-1]
            got = got[: len(shown)]
        return isinstance(got, list) and len(shown) == len(got) and all(map(fits, shown, got))
    if isinstance(shown, str) and ELLIPSIS in shown:
        return re.fullmatch(".*".join(map(re.escape, shown.split(ELLIPSIS))), str(got)) is not None
    return bool(shown == got)


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    path = tmp_path_factory.mktemp("gold") / "train.parquet"
    row = Row("gsm8k", chat("6 * 12?"), "math", "72", "train", 0, "6 * 12?", "")
    pq.write_table(pa.Table.from_pylist([row.as_record()], schema=SCHEMA), path)
    with (
        Scorer(workers=1) as scorer,
        TestClient(create_app(scorer, ground_truths=GroundTruthIndex([path]))) as client,
    ):
        yield client


def test_the_page_has_an_example_of_every_protocol() -> None:
    expected = ["LLaMA-Factory", "NeMo-Gym", "OpenRLHF", "ROLL", "SGLang", "slime", "vLLM"]
    assert sorted(wires()) == expected


EXACT = [name for name in wires() if name != "ROLL"]


@pytest.mark.parametrize("name", EXACT)
def test_an_example_is_answered_as_the_page_says(http: TestClient, name: str) -> None:
    paths, (request, shown) = wires()[name]
    answer = http.post(paths[0], json=request)
    assert answer.status_code == 200, answer.text
    assert fits(shown, answer.json()), answer.json()
    if shown and isinstance(shown, dict) and ELLIPSIS in shown:
        assert request.items() <= answer.json().items()


def test_rolls_example_is_answered_as_the_page_says(http: TestClient) -> None:
    _, (submission, submitted, poll, shown) = wires()["ROLL"]
    answer = http.post("/roll/submit/gsm8k", json=submission).json()
    assert fits({**submitted, "reward_request_id": "…"}, answer), answer
    assert poll == {"reward_request_id": submitted["reward_request_id"]}
    result = http.request("GET", "/roll/result", json={"reward_request_id": answer["reward_request_id"]})
    assert fits(shown, result.json()), result.json()


REFUSED: dict[int, tuple[str, str, dict[str, Any]]] = {
    400: ("POST", "/num_tasks", {"json": {"split": "none"}}),
    401: ("GET", "/rewards", {"headers": {"authorization": "Bearer wrong"}}),
    403: ("GET", "/rewards", {"headers": {"origin": "http://elsewhere.example"}}),
    404: ("POST", "/openrlhf/gms8k", {"json": {"query": ["q"], "prompts": ["q"], "labels": ["1"]}}),
    405: ("GET", "/score", {}),
    413: ("POST", "/score", {"content": b" " * 2_000}),
    415: ("POST", "/score", {"content": b"[]", "headers": {"content-encoding": "gzip"}}),
    421: ("GET", "/rewards", {"headers": {"host": "rebound.example"}}),
    422: ("POST", "/score", {"content": b"["}),
    503: ("GET", "/readyz", {}),
}
"""By status: a request that is refused with it."""


def test_every_error_is_one_that_the_page_lists_with_its_type(tmp_path: Path) -> None:
    listed = {
        (int(status), kind)
        for status, kinds in re.findall(r"^\| (\d{3}) \| (`[^|]+`) \|", PAGE, re.MULTILINE)
        for kind in re.findall(r"`(\w+)`", kinds)
    }
    tasks = open_task_sets([str(write_tasks(tmp_path / "sums"))])
    with Scorer(workers=1) as scorer:
        for status, (method, path, rest) in REFUSED.items():
            app = create_app(scorer, tokens=["t"] if status == 401 else (), max_body_bytes=1_000, tasks=tasks)
            app.state.health.draining = status == 503
            answer = TestClient(app).request(method, path, **rest)
            assert (answer.status_code, answer.json()["error"]["type"]) in listed, (status, answer.text)
            assert answer.status_code == status and answer.json()["error"]["message"]
