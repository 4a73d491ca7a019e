"""`rewardkit eval --pairs`: a reward's accuracy on pairs, with failures, ties and unusable rows apart."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from rewardkit.cli import run
from rewardkit.evaluating.pairs import evaluate_pairs
from rewardkit.scoring.scorer import Scorer

MODEL = """
from rewardkit import Score, reward

@reward("pairs", runs="inline", batch=True)
def worth(samples):
    return [Score(0.0, "timeout", detail="too slow") if one.response == "slow" else Score(float(one.response)) for one in samples]
"""


def pair(chosen: object, rejected: object, **more: Any) -> dict[str, Any]:
    return {"prompt": "How much?", "chosen": str(chosen), "rejected": str(rejected), **more}


@pytest.fixture
def reward_file(tmp_path: Path) -> Path:
    path = tmp_path / "worth.py"
    path.write_text(MODEL)
    return path


def written(folder: Path, *rows: dict[str, Any]) -> Path:
    path = folder / "pairs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def evaluated(capsys: pytest.CaptureFixture[str], *words: Any, code: int = 0) -> dict[str, Any]:
    assert run(["eval", *map(str, words), "--pairs", "--json"]) == code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_ties_and_failed_scores_are_not_wrong(
    reward_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    rows = [pair(3, 1), pair(1, 2), pair(2, "2.0"), pair("slow", 1), pair(1, "slow")]
    found = evaluated(capsys, written(tmp_path, *rows), "--reward", reward_file)
    (figures,) = found["subsets"].values()
    assert (figures["pairs"], figures["right"], figures["ties"], figures["failed"]) == (5, 1, 1, 2)
    assert (figures["accuracy"]["mean"], figures["accuracy"]["n"]) == (0.5, 2)
    assert figures["failures"] == {"timeout": 2} and found["scorers"] == ["worth@1"]
    assert figures["margin"]["mean"] == pytest.approx(1 / 3)
    assert figures["loss"] is figures["ece"] is None  # the scores of a rule are no log-odds


def test_subsets_and_lengths_have_their_figures(
    reward_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    rows = [pair(2, 1, subset="easy"), pair("1.00000", 2, subset="hard"), pair(3, "2.0000", subset="hard")]
    found = evaluated(capsys, written(tmp_path, *rows), "--reward", reward_file)
    right = {name: (one["right"], one["pairs"]) for name, one in found["subsets"].items()}
    assert right == {"easy": (1, 1), "hard": (1, 2), "overall": (2, 3)}
    lengths = {name: (one["right"], one["pairs"]) for name, one in found["by_length"].items()}
    assert lengths == {
        "less than half as long": (1, 1),
        "within 10 %": (1, 1),
        "more than twice as long": (0, 1),
    }
    assert found["longer_is_better"] == 0.5


def test_a_rule_reads_the_ground_truth_of_the_pair(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    row = {"data_source": "gsm8k", "chosen": [{"role": "user", "content": "1+2?"}], "ground_truth": "3"}
    row["rejected"] = [*row["chosen"], {"role": "assistant", "content": "#### 4"}]
    row["chosen"] = [*row["chosen"], {"role": "assistant", "content": "#### 3"}]
    found = evaluated(capsys, written(tmp_path, row))
    assert found["subsets"]["gsm8k"]["right"] == 1 and "gsm8k@" in found["scorers"][0]


@pytest.mark.parametrize(("policy", "pairs", "failed"), [("mark", 3, 1), ("drop", 2, 0)])
def test_unusable_rows_are_counted_apart(
    policy: str,
    pairs: int,
    failed: int,
    reward_file: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
):
    rows = [pair(2, 1, subset="a"), pair(3, 3, subset="a"), pair(2, 1, subset="b")]
    file = written(tmp_path, *rows)
    assert (
        run(["eval", str(file), "--pairs", "--reward", str(reward_file), "--bad-rows", policy, "--json"]) == 0
    )
    said = capsys.readouterr()
    figures = json.loads(said.out)["subsets"]
    assert (figures["overall"]["pairs"], figures["overall"]["failed"]) == (pairs, failed)
    assert figures["a"]["accuracy"]["mean"] == 1.0
    assert "pairs.jsonl, row 1: " in said.err or policy == "drop"


def refused(capsys: pytest.CaptureFixture[str], *words: Any) -> str:
    assert run(["eval", *map(str, words)]) == 2
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    return line


def test_unusable_pairs_are_refused_in_one_line_with_the_row(
    reward_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    file = written(tmp_path, pair(2, 1), pair("", 1), pair(3, 3))
    words = (file, "--pairs", "--reward", reward_file)
    assert "pairs.jsonl, row 1: chosen is empty" in refused(capsys, *words, "--bad-rows", "fail")
    only_bad = written(tmp_path, pair(1, 1), pair(2, 2))
    assert "pairs.jsonl, row 0: " in refused(capsys, only_bad, "--pairs", "--reward", reward_file)
    other = written(tmp_path, {"prompt": "p", "response": "r"})
    assert "'chosen'" in refused(capsys, other, "--pairs", "--reward", reward_file)


def test_options_without_effect_are_refused(
    reward_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    file = written(tmp_path, pair(2, 1))
    for words in (
        ["--resume"],
        ["--model", "m"],
        ["--temperature", "1"],
        ["--out", "x.parquet"],
        ["--limit", "3"],
    ):
        assert words[0] in refused(capsys, file, "--pairs", "--reward", reward_file, *words)
    assert "--chosen-key" in refused(capsys, file, "--chosen-key", "good", "--reward", reward_file)
    assert "data source" in refused(capsys, file, "--pairs")


def test_gates_judge_the_accuracy_of_subsets(
    reward_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    file = written(tmp_path, *[pair(i + 1, i, subset="a") for i in range(9)], pair("slow", 1, subset="b"))
    words = (file, "--reward", reward_file, "--fail-under")
    found = evaluated(capsys, *words, "a=0.9", code=1)  # no pair of b is scored
    assert [gate["status"] for gate in found["gates"]] == ["passed"]
    assert len(found["problems"]) == 1 and "too slow" in found["problems"][0]
    file = written(tmp_path, pair(1, 2), pair(2, 1))
    assert evaluated(capsys, *words, "0.9", code=3)["gates"][0]["status"] == "failed"


def test_scores_of_a_model_are_calibrated_and_drawn(tmp_path: Path):
    from rewardkit.registry import reward

    @reward("pairs", runs="model", batch=True)
    def model(samples: list[Any]) -> list[float]:
        return [float(one.response) if one.response.isdigit() else 1.5 for one in samples]

    rows = [pair(i % 4, "half of three", subset=f"<em>{i % 2}") for i in range(40)]
    page = tmp_path / "page.html"
    with Scorer(workers=1) as scorer:
        found = evaluate_pairs([written(tmp_path, *rows)], scorer=scorer, report=page)
    assert found.whole.right == 20 and [one.pairs for one in found.whole.bins] == [20, 20]
    assert found.whole.ece == pytest.approx((0.622459 + 0.817574) / 2 - 0.5, abs=1e-5)
    html = page.read_text()
    assert "<em>0" not in html and "&lt;em&gt;0" in html
    charts = re.findall(r"<figcaption>(.*?) <small>", html)
    assert charts == ["Reliability", "Confidence", "By subset"]
