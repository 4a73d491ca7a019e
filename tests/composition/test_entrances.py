"""One composition through every entrance: the same score, status, verdict, parts and version everywhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the server needs fastapi: pip install 'rewardkit[server]'")

from fastapi.testclient import TestClient

from rewardkit.adapters import backend, verl
from rewardkit.adapters.callable import make_reward
from rewardkit.cli import run
from rewardkit.composition import load_compositions
from rewardkit.registry import REGISTRY
from rewardkit.rows import to_sample
from rewardkit.scoring.scorer import Scorer
from rewardkit.server.app import create_app

YAML = """\
nested:
  data_sources: ["entered/nested*"]
  sum:
    - gate:
        first: [{reward: gsm8k, options: {method: strict}, timeout_s: 20}, {reward: number}]
        until: right
        then: [{reward: length_cosine, weight: 0.1, options: {max_length: 60}}, {reward: think_format, weight: 0.05}]
        else: [{reward: repetition, weight: 0.1}]
    - {vote: [gsm8k, exact, number], weight: 0.25, name: jury}
    - {reward: length_overlong, on_failure: -0.25, weight: 0.1}
    - {reward: length_budget, on_failure: drop}
    - {product: [{reward: exact, weight: 0.5}, contains], weight: 0.2}
grouped:
  data_sources: [entered/grouped]
  gate: {reward: gsm8k, then: [{reward: diversity, weight: 0.1}]}
"""
RESPONSES = (
    "#### 72", "<think>6 * 12</think>\n#### 72", "72", "#### 7", "", "again " * 200, "７２", "#### 72 or 73", "日本語 #### 72",
    "<think>a</think>72", "#### " + "7" * 5000,
)  # fmt: skip
FIELDS = ("score", "status", "correct", "extracted", "parts", "detail", "scorer")


def _row(source: str, response: str, truth: Any, prompt: str) -> dict[str, Any]:
    message = {"role": "user", "content": prompt}
    return {"data_source": source, "prompt": [message], "response": response, "ground_truth": truth}


ALONE = [
    _row(f"entered/nested{i % 2}", r, 72 if i % 3 else "72", f"alone {i}?") for i, r in enumerate(RESPONSES)
]
ALONE.append(_row("entered/nested0", "#### 72", "no number", "bad truth?"))
TOGETHER = [_row("entered/grouped", r, "72", f"group {p}?") for p in range(2) for r in RESPONSES[: 4 + p]]
ROWS = [*ALONE, *TOGETHER]


@pytest.fixture(scope="module")
def rewards(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("entered") / "rewards.yaml"
    path.write_text(YAML)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("_exact", "_rewards"):
            patch.setattr(REGISTRY, name, dict(getattr(REGISTRY, name)))
        load_compositions(path)
        yield path
        backend.close()


@pytest.fixture(scope="module")
def expected(rewards: Path) -> list[dict[str, Any]]:
    samples = [to_sample(r["data_source"], r["response"], r["ground_truth"], r["prompt"], None) for r in ROWS]
    with Scorer(workers=1) as scorer:
        found = [_plain({name: getattr(s, name) for name in FIELDS}) for s in scorer.score_batch(samples)]
    assert {one["status"] for one in found} == {"ok", "invalid"}
    assert len({one["score"] for one in found}) > 8 and len({one["scorer"] for one in found}) == 2
    return found


def _plain(found: dict[str, Any]) -> dict[str, Any]:
    """The fields of a score however an entrance writes them: parts that were not asked are left out."""
    parts = found["parts"] or {}
    parts = json.loads(parts) if isinstance(parts, str) else parts
    score = round(found["score"] or 0.0, 9)
    return {name: found[name] for name in FIELDS} | {
        "score": score,
        "parts": {name: round(value, 9) for name, value in parts.items() if value is not None},
    }


@pytest.mark.slow
@pytest.mark.parametrize(("command", "kind"), [("score", "jsonl"), ("eval", "parquet")])
def test_a_file_is_scored_as_in_python(
    command: str, kind: str, rewards: Path, expected: list[dict[str, Any]], tmp_path: Path
) -> None:
    rows, out = tmp_path / "rows.jsonl", tmp_path / f"out.{kind}"
    rows.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    assert run([command, str(rows), "--rewards", str(rewards), "--out", str(out), "--json"]) == 0
    if kind == "parquet":
        import pyarrow.parquet as pq

        found = pq.read_table(out).to_pylist()
    else:
        found = [json.loads(line) for line in out.read_text().splitlines()]
    assert [_plain(row) for row in found] == expected


@pytest.fixture(scope="module")
def http(rewards: Path) -> Iterator[TestClient]:
    with Scorer(workers=1) as scorer, TestClient(create_app(scorer)) as client:
        yield client


def test_the_server_answers_as_in_python(http: TestClient, expected: list[dict[str, Any]]) -> None:
    assert [_plain(one) for one in http.post("/score", json=ROWS).json()] == expected
    lines = "".join(json.dumps(row) + "\n" for row in ROWS)
    streamed = http.post("/score", content=lines, headers={"content-type": "application/x-ndjson"}).text
    assert [_plain(json.loads(line)) for line in streamed.splitlines()] == expected
    for row, wanted in zip(ALONE, expected, strict=False):
        assert _plain(http.post("/score", json=row).json()) == wanted


def test_trainers_protocols_pay_what_python_pays(http: TestClient, expected: list[dict[str, Any]]) -> None:
    for row, wanted in zip(ALONE, expected, strict=False):
        source, question, said = row["data_source"], row["prompt"][0]["content"], row["response"]
        label = {"data_source": source, "ground_truth": row["ground_truth"]}
        written = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": said}]}
        slime = http.post("/slime_dict", json={"prompt": question, "response": said, "label": label}).json()
        openrlhf = {"query": [question + said], "prompts": [question], "labels": [row["ground_truth"]]}
        nemo = {
            "responses_create_params": {"input": row["prompt"]},
            "response": {"output": [written]},
            **label,
        }
        paid = [
            slime["score"],
            http.post(f"/openrlhf/{source}", json=openrlhf).json()["rewards"][0],
            http.post("/verify", json=nemo).json()["reward"],
        ]
        assert paid == pytest.approx([wanted["score"]] * len(paid)), row
        assert (slime["status"], slime["correct"]) == (wanted["status"], wanted["correct"])


def test_functions_and_the_page_say_what_python_says(
    rewards: Path, http: TestClient, expected: list[dict[str, Any]]
) -> None:
    columns = {name: [row[name] for row in ROWS] for name in ("data_source", "ground_truth")}
    responses, prompts = [row["response"] for row in ROWS], [row["prompt"] for row in ROWS]
    function = make_reward(rewards=str(rewards))
    paid = function(responses, prompts=prompts, **columns)
    assert paid == pytest.approx([one["score"] if one["status"] == "ok" else None for one in expected])
    for row, wanted in zip(ALONE, expected, strict=False):
        found = verl.compute_score(
            row["data_source"], row["response"], row["ground_truth"], rewards=str(rewards)
        )
        assert (round(found["score"], 9), found["status"], found["scorer"]) == (
            wanted["score"] if wanted["status"] == "ok" else 0.0, wanted["status"], wanted["scorer"],
        )  # fmt: skip
        fields = http.post("/explain", json=row).json()["fields"]
        assert _plain({**fields["score"], "scorer": wanted["scorer"]}) == wanted
