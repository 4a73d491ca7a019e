"""`rewardkit import` shows what a reward of somebody else's is, and writes an entry that scores the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rewardkit import Sample, Scorer
from rewardkit.cli import run
from rewardkit.composition import load_compositions
from rewardkit.registry import Registry


def test_the_entry_that_it_writes_scores_as_it_showed(
    tmp_path: Path, registry: Registry, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "theirs.py").write_text(
        "print('at import')\ndef f1(prediction, gold, scale=1.0): return scale * (prediction == gold)\n"
    )
    out = tmp_path / "theirs.yaml"
    row = json.dumps({"response": "7", "ground_truth": "7"})
    words = [f"my/set={tmp_path}/theirs.py:f1?scale=0.5", "--column", "prediction=response", "--row", row]
    assert run(["import", *words, "--out", str(out), "--json"]) == 0
    said = json.loads(capsys.readouterr().out.partition("\n}\n")[0] + "}")
    assert (said["kind"], said["gets"]["gold"], said["tried"]["score"]) == ("plain", "ground_truth", 0.5)
    load_compositions(out)
    with Scorer(workers=1) as scorer:
        score = scorer.score(Sample("my/set", "7", "7"))
    assert (score.score, score.scorer) == (0.5, said["scorer"])
    assert run(["import", *words, "--out", str(out)]) == 2  # it is there


def test_a_row_that_could_not_be_scored_has_no_score_and_exits_with_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "theirs.py").write_text("def f(solution_str, ground_truth): raise ValueError('boom')\n")
    assert run(["import", f"{tmp_path}/theirs.py"]) == 1
    shown = capsys.readouterr().out
    assert "status: error" in shown and "boom" in shown and "score: " not in shown
    assert run(["import", f"{tmp_path}/theirs.py", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["tried"]["score"] is None


@pytest.mark.parametrize("words", [["?scael=2"], ["", "--column", "scael=response"]])
def test_a_misspelt_option_or_column_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    (tmp_path / "theirs.py").write_text("def f(solution_str, ground_truth, scale=1.0): return scale\n")
    spec, *rest = words
    assert run(["import", f"{tmp_path}/theirs.py{spec}", *rest]) == 2
    shown = capsys.readouterr()
    assert "'scael'" in shown.err and "scale" in shown.err and "score: " not in shown.out


@pytest.mark.parametrize(
    "row",
    [
        '{"respones": "7", "ground_truth": "7"}',
        '{"ground_truth": "7"}',
        '{"response": null}',
        '{"response": 5}',
    ],
)
def test_a_row_without_a_response_or_with_a_misspelt_field_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], row: str
) -> None:
    (tmp_path / "theirs.py").write_text("def f(solution_str, ground_truth): return 1.0\n")
    assert run(["import", f"{tmp_path}/theirs.py", "--row", row]) == 2
    assert "--row" in capsys.readouterr().err


def test_the_worst_hole_is_shown_and_a_sound_reward_has_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "theirs.py").write_text(
        "def inside(solution_str, ground_truth): return float(ground_truth in solution_str)\n"
        "def last(solution_str, ground_truth): return float(solution_str.split()[-1:] == [ground_truth])\n"
    )
    audits = []
    for name in ("inside", "last"):
        assert run(["import", f"{tmp_path}/theirs.py:{name}", "--json"]) == 0
        audits.append(json.loads(capsys.readouterr().out)["audit"])
    assert audits[0].startswith("the reward of 'inside' has a hole") and audits[1] is None


def test_the_source_files_of_a_package_are_bounded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [f"m{i:02}" for i in range(20)]
    for name in names:
        (tmp_path / f"{name}.py").write_text("x = 1\n")
    body = "def compute_score(data_source, solution_str, ground_truth, extra_info=None):\n    return 1.0\n"
    (tmp_path / "theirs.py").write_text("".join(f"import {name}\n" for name in names) + body)
    assert run(["import", str(tmp_path / "theirs.py")]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.strip().startswith("from:")]
    assert "m04.py and 16 more files" in line and "m05" not in line and "--json" in line
    assert run(["import", str(tmp_path / "theirs.py"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["from"].split(", ") == [
        f"{name}.py" for name in [*names, "theirs"]
    ]
