"""`rewardkit prep`: what it prints and how it exits."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from rewardkit.cli import run
from rewardkit.datasets_prep import DATASETS

TRAIN = [
    {"question": "Ann has 3 dozen eggs. How many?", "answer": "3*12=<<3*12=36>>36\n#### 36"},
    {"question": "How far below zero?", "answer": "It is 5 below.\n#### -5"},
    {"question": "How many people?", "answer": "Many.\n#### 1,234,567"},
]
TEST = [{"question": "Half of 7?", "answer": "7/2\n#### 3.5"}]


def write_raw(folder: Path, train: list[dict[str, str]] = TRAIN) -> Path:
    folder.mkdir()
    for split, records in (("train", train), ("test", TEST)):
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return folder


def test_prep_writes_both_files_and_prints_a_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert run(["prep", "gsm8k", "--raw", str(write_raw(tmp_path / "raw")), "--out", str(out)]) == 0
    heading, train, test = capsys.readouterr().out.splitlines()
    assert heading.split() == ["split", "rows", "size", "verified", "failed", "file"]
    assert train.split()[:2] == ["train", "3"]
    assert train.split()[4:] == ["3", "0", str(out / "train.parquet")]
    assert test.split()[:2] == ["test", "1"]
    assert pq.read_table(out / "test.parquet").num_rows == 1


def test_json_says_everything_and_is_alone_on_stdout(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    raw = write_raw(tmp_path / "raw", [*TRAIN, {"question": "q", "answer": "no"}])
    out = tmp_path / "out"
    assert run(["prep", "gsm8k", "--raw", str(raw), "--out", str(out), "--skip-bad", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["splits"]["train"] == {
        "path": str(out / "train.parquet"),
        "rows": 3,
        "bytes": (out / "train.parquet").stat().st_size,
        "verified": 3,
        "failed": 0,
        "without_solution": 0,
        "failures": [],
        "unread_truths": None,
    }
    assert result["dropped"] == 1
    assert "has no '####'" in result["first_dropped"][0]


def test_without_raw_data_and_hub_the_exit_code_is_two_and_the_error_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    assert run(["prep", "gsm8k", "--out", str(tmp_path / "out")]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    assert "https://huggingface.co/datasets/openai/gsm8k" in line
    assert "--raw" in line
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["gsm8k", "--raw", "nowhere"],
            "no such file: nowhere",
        ),
        (["arithmetic", "--level", "hart"], "did you mean hard?"),
        (["arithmetic", "--out", "/dev/null/x"], "cannot write to /dev/null/x"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_two(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["prep", *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_dataset_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["prep", "gsm8"]) == 2
    assert "'gsm8'; did you mean gsm8k?" in capsys.readouterr().err


def test_every_dataset_has_help_with_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["prep", "--help"]) == 0
    overview = capsys.readouterr().out
    for dataset in DATASETS.values():
        assert dataset.name in overview
        assert run(["prep", dataset.name, "--help"]) == 0
        shown = capsys.readouterr().out
        assert "Example: rewardkit prep " + dataset.name in " ".join(shown.split())


def test_the_list_names_source_rows_reward_and_licence(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["prep", "--list", "--json"]) == 0
    told = {entry["name"]: entry for entry in json.loads(capsys.readouterr().out)}
    assert list(told) == list(DATASETS)
    assert (told["mmlu-pro"]["reward"], told["mmlu-pro"]["source"]) == ("choice", "TIGER-Lab/MMLU-Pro")
    assert all(entry["licence"] and entry["rows"] for entry in told.values())
    assert run(["prep", "--list"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in DATASETS)


def test_every_set_with_a_rule_has_a_reward_that_is_registered(capsys: pytest.CaptureFixture[str]) -> None:
    run(["prep", "--list", "--json"])
    rewards = {entry["name"]: entry["reward"] for entry in json.loads(capsys.readouterr().out)}
    without = {name for name, reward in rewards.items() if reward is None}
    assert without == {"custom", "full_hh_rlhf", "hh-rlhf"}


def test_the_page_names_every_set() -> None:
    page = (Path(__file__).parents[2] / "docs" / "datasets.md").read_text()
    assert [name for name in DATASETS if f"`{name}`" not in page] == []


def test_a_name_may_have_dashes_or_underscores(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["prep", "code-contests", "--help"]) == 0
    assert run(["prep", "MMLU_pro", "--help"]) == 0
    assert "MMLU-Pro" in capsys.readouterr().out


def test_files_that_are_not_read_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    raw = write_raw(tmp_path / "raw")
    (raw / "train_socratic.jsonl").write_text("{}")
    (raw / "images.zip").write_text("")
    assert run(["prep", "gsm8k", "--raw", str(raw), "--out", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr().out
    assert "not read: images.zip " in printed
    assert "not read: train_socratic.jsonl ('socratic' " in printed


def test_files_that_are_there_are_replaced_by_force_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["prep", "arithmetic", "--n-train", "2", "--n-test", "1", "--out", str(tmp_path / "out")]
    assert [run(words), run(words), run([*words, "--force"])] == [0, 2, 0]
    assert "pass --force " in capsys.readouterr().err


ODD = [
    {"problem": "Two and three?", "solution": "It is \\boxed{5}.", "answer": "5"},
    {"problem": "An interval?", "solution": "It is \\boxed{3 3)}.", "answer": "3 3)"},
    {"problem": "Why?", "solution": "It is \\boxed{unknown}.", "answer": "unknown"},
]
ALTERNATIVES = {"problem": "Half?", "solution": "It is 1/2.", "answer": '["1/2", "one 3 3) half"]'}
CUSTOM = ("custom", "--prompt-key", "problem", "--answer-key", "answer")


@pytest.mark.parametrize(
    "words",
    [
        ("math",),
        ("deepscaler",),
        ("math", "--agent", "tool_agent"),
        (*CUSTOM, "--reward", "math"),
        (*CUSTOM, "--reward", "math_dapo", "--data-source", "my/proofs"),
        (*CUSTOM, "--reward", "geometry3k", "--shard-rows", "2"),
    ],
)
def test_ground_truths_that_maths_cannot_read_are_named_as_check_names_them(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    raw = tmp_path / "train.jsonl"
    raw.write_text("".join(json.dumps(record) + "\n" for record in ODD))
    out = tmp_path / "out"
    asked = ["prep", *words, "--raw", str(raw), "--out", str(out)]
    assert run(asked) == 0
    said = [line for line in capsys.readouterr().out.splitlines() if "cannot read as answers" in line]
    assert len(said) == 1
    assert ": 2 (rows 1, 2); the first: the ground truth cannot be parsed" in said[0]
    assert "rewardkit check" in said[0]

    assert run([*asked, "--force", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["splits"]["train"]
    assert found["rows"] == 3
    assert found["unread_truths"]["rows"] == [1, 2]
    rewards = ["--rewards", str(out / "rewards.yaml")] if (out / "rewards.yaml").exists() else []
    run(["check", *map(str, sorted(out.rglob("*.parquet"))), *rewards, "--json"])
    checked = [f for f in json.loads(capsys.readouterr().out)["findings"] if f["check"] == "ground truth"]
    assert sum(len(f["rows"]) for f in checked) == 2
    assert found["unread_truths"]["what"] == checked[0]["what"]


def test_one_readable_answer_of_several_is_enough(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    raw = tmp_path / "train.jsonl"
    raw.write_text(json.dumps(ALTERNATIVES))
    words = ["prep", *CUSTOM, "--reward", "math", "--raw", str(raw), "--out", str(tmp_path / "out"), "--json"]
    run(words)
    assert json.loads(capsys.readouterr().out)["splits"]["train"]["unread_truths"] is None
