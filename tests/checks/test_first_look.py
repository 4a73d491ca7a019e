"""The cheap part of the checks runs before training, generating and scoring."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rewardkit.checks.first_look import ROWS, look_at_prompts
from rewardkit.cli import run
from rewardkit.rows import RowNames
from rewardkit.scoring.scorer import Scorer


def write(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def row(truth: str = "72", **more: object) -> dict[str, object]:
    return {"data_source": "openai/gsm8k", "prompt": "How many?", "ground_truth": truth, **more}


def test_only_the_first_rows_are_looked_at(tmp_path: Path) -> None:
    rows = [*([row()] * ROWS), row(agent_name="nobody", data_source="nothing")]
    path = write(tmp_path / "rows.jsonl", rows)
    with Scorer() as scorer:
        assert look_at_prompts([path], RowNames(), scorer) == []
        (finding,) = look_at_prompts([write(tmp_path / "few.jsonl", [row("many")])], RowNames(), scorer)
    assert finding.rows == [0]


def test_data_sources_are_left_alone_where_somebody_else_scores(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", [row("many", data_source="my/own")])
    assert look_at_prompts([path]) == []


def test_score_says_it_before_it_scores(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "rows.jsonl", [row(response="#### 72"), row("many", response="#### 7")])
    run(["score", str(path), "--out", str(tmp_path / "out.jsonl")])
    first = capsys.readouterr().err.splitlines()[0]
    assert f"{path}, row 1: " in first and "'many'" in first


def test_generate_says_it_before_a_model_is_loaded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "rows.jsonl", [row(agent_name="tool_agnet")])
    words = ["--model", str(tmp_path / "no-model"), "--engine", "hf", "--out", str(tmp_path / "out.jsonl")]
    assert run(["generate", str(path), *words]) != 0
    said = capsys.readouterr().err
    assert f"{path}, row 0: " in said and "'tool_agnet'; did you mean" in said
