"""`--rewards rewards.yaml`: compositions in the commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rewardkit.cli import run

YAML = """\
data_sources: ["composed/*"]
gate: {reward: gsm8k, then: [{reward: think_format, weight: 0.1}]}
"""


@pytest.fixture
def rewards(tmp_path: Path) -> Path:
    path = tmp_path / "composed_in_commands.yaml"
    path.write_text(YAML)
    return path


def test_explain_draws_the_tree(rewards: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["explain", "--rewards", str(rewards), "--data-source", "composed/gsm8k"]
    assert run([*words, "--gold", "72", "--response", "#### 72"]) == 0
    shown = capsys.readouterr().out
    assert "gate" in shown and "then think_format@" in shown and "gsm8k is right" in shown


def test_score_scores_a_file_with_them_and_warns(
    rewards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = tmp_path / "rows.jsonl"
    responses = ("<think>6 * 12</think>#### 72", "#### 72", "#### 7")
    row = {"data_source": "composed/gsm8k", "ground_truth": "72", "prompt": "6 * 12?"}
    rows.write_text("".join(json.dumps({**row, "response": r}) + "\n" for r in responses))
    out = tmp_path / "out.jsonl"
    assert run(["score", str(rows), "--rewards", str(rewards), "--out", str(out)]) == 0
    scores = [json.loads(line)["score"] for line in out.read_text().splitlines()]
    assert scores == pytest.approx([1.1, 1.0, 0.1])
    rewards.write_text("data_sources: [composed/x]\nsum: [gsm8k, think_format]\n")
    again = str(tmp_path / "again.jsonl")
    run(["score", str(rows), "--rewards", str(rewards), "--out", again])
    assert "more than a right answer" in " ".join(capsys.readouterr().err.split())


def test_eval_scores_a_source_that_only_a_composition_has(
    rewards: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {"data_source": "composed/gsm8k", "ground_truth": "72", "prompt": "6 * 12?"}
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(json.dumps({**row, "response": r}) + "\n" for r in ("#### 72", "#### 7")))
    assert run(["eval", str(rows), "--rewards", str(rewards), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["data_sources"]["composed/gsm8k"]
    assert found["accuracy"]["mean"] == pytest.approx(0.5)


def test_prep_verifies_by_the_composition(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    raw = tmp_path / "raw"
    raw.mkdir()
    for split in ("train", "test"):
        (raw / f"{split}.jsonl").write_text(
            json.dumps({"question": f"6 * 12 ({split})?", "answer": "It is\n#### 72"})
        )

    def failed(yaml: str) -> int:
        path = tmp_path / "prepared.yaml"
        path.write_text(f"data_sources: [openai/gsm8k]\n{yaml}\n")
        run(["prep", "gsm8k", "--raw", str(raw), "--out", str(tmp_path / "out"), "--rewards", str(path), "--json", "--verify", "--force"])  # fmt: skip
        return int(json.loads(capsys.readouterr().out)["splits"]["train"]["failed"])

    assert failed("gate: {reward: gsm8k, then: [{reward: repetition, weight: 0.1}]}") == 0
    assert failed("sum: [{reward: gsm8k, weight: 0.5}, {reward: repetition, weight: 0.1}]") == 0
    assert failed("all: [gsm8k, {reward: think_format}]\nthreshold: 0.9") == 1


def test_prep_takes_rows_of_ones_own_that_a_composition_scores(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text(json.dumps({"question": "6 * 12?", "answer": "seventy-two"}))
    path = tmp_path / "prepared_own.yaml"
    path.write_text("data_sources: [prepared/own]\ngate: {reward: qa, then: [repetition]}\n")
    words = ["--raw", str(rows), "--rewards", str(path), "--out", str(tmp_path / "out"), "--json"]
    assert run(["prep", "custom", "--data-source", "prepared/own", *words]) == 0
    assert json.loads(capsys.readouterr().out)["splits"]["train"]["rows"] == 1
