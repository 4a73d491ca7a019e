"""`rewardkit prep --dedup` and `--decontaminate`: what is left out, why, and what stays."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from rewardkit.cli import run
from tests.datasets_prep.provenance import read_provenance

STORY = (
    "Natalia sold clips to 48 of her friends in April, and then she sold half as many clips in May. "
    "How many clips did Natalia sell altogether in April and May?"
)
OTHER = (
    "Weng earns $12 an hour for babysitting. Yesterday, she just did 50 minutes of babysitting for her aunt. "
    "How much did she earn?"
)
Prep = Callable[..., dict[str, list[dict[str, Any]]]]


def record(question: str, answer: str = "72") -> dict[str, str]:
    return {"problem": question, "solution": rf"It is $\boxed{{{answer}}}$."}


@pytest.fixture
def prep(tmp_path: Path) -> Prep:
    """Prepare the form of MATH and return the rows that were left out, by split."""

    def prepared(*words: str, **splits: list[dict[str, str]]) -> dict[str, list[dict[str, Any]]]:
        raw = tmp_path / "raw"
        raw.mkdir(exist_ok=True)
        for split, records in splits.items():
            (raw / f"{split}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
        out = tmp_path / "out"
        assert run(["prep", "math", "--raw", str(raw), "--out", str(out), "--no-verify", *words]) == 0
        listed = out / "dropped.jsonl"
        rows = [json.loads(line) for line in listed.read_text().splitlines()] if listed.exists() else []
        left = {split: pq.read_metadata(out / f"{split}.parquet").num_rows for split in splits}
        for split, records in splits.items():
            assert left[split] == len(records) - sum(row["split"] == split for row in rows)
        return {split: [row for row in rows if row["split"] == split] for split in splits}

    return prepared


def test_the_same_question_is_left_out_whatever_its_case_and_spacing(prep: Prep) -> None:
    again = record(STORY.upper().replace(" ", "  ").replace(",", ""))
    (row,) = prep("--dedup", "exact", train=[record(OTHER, "10"), record(STORY), again])["train"]
    assert (row["index"], row["reason"]) == (2, "duplicate")
    assert row["detail"] == "the same question as train[1]"


def test_a_repeat_with_another_ground_truth_says_so(prep: Prep) -> None:
    (row,) = prep("--dedup", "exact", train=[record(STORY), record(f"{STORY} ", "73")])["train"]
    assert row["detail"].endswith(" another ground truth")


def test_what_train_shares_with_test_leaves_train(prep: Prep) -> None:
    dropped = prep("--dedup", "exact", train=[record(OTHER, "10"), record(STORY)], test=[record(STORY + "!")])
    assert dropped["test"] == []
    assert [(row["index"], row["detail"]) for row in dropped["train"]] == [
        (1, "the same question as test[0]")
    ]


@pytest.mark.parametrize(
    ("asked", "answer", "dropped"),
    [
        (STORY.replace("of her friends", "of her best friends"), "72", True),
        (STORY.replace("Natalia", "Maria"), "72", True),
        (STORY.replace("48", "52"), "72", False),
        (STORY.replace("altogether in April and May", "in May"), "24", False),
        (OTHER, "72", False),
    ],
)
def test_nearly_the_same_question_has_the_same_numbers_and_answer(
    asked: str, answer: str, dropped: bool, prep: Prep
) -> None:
    pytest.importorskip("rensa", reason="near-duplicates need rensa: pip install 'rewardkit[dedup]'")
    rows = prep("--dedup", train=[record(STORY), record(asked, answer)])["train"]
    assert [row["reason"] for row in rows] == ["near duplicate"] * dropped


def test_among_many_questions_with_the_same_numbers_near_ones_are_still_found(prep: Prep) -> None:
    pytest.importorskip("rensa", reason="near-duplicates need rensa: pip install 'rewardkit[dedup]'")
    rows = [record(" ".join(f"w{(i * 7 + j * 31) % 997}x" for j in range(20)), "1") for i in range(100)]
    near = record(rows[80]["problem"].replace("x", "x", 1) + " too", "1")
    (row,) = prep("--dedup", train=[*rows, near])["train"]
    assert row["index"] == 100 and "train[80]" in row["detail"]


def test_an_instruction_around_all_questions_makes_them_no_duplicates(prep: Prep) -> None:
    pytest.importorskip("rensa", reason="near-duplicates need rensa: pip install 'rewardkit[dedup]'")
    asked = ["Does Ann like the red hat?", "Is Bob at home or away now?", "Who won and who lost it?"]
    instruction = "Think about it step by step for as long as you need, and put your answer in a box."
    rows = prep("--dedup", "--instruction", instruction, train=[record(q, "1") for q in asked])
    assert rows["train"] == []


def test_without_rensa_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "rensa", None)
    assert run(["prep", "arithmetic", "--out", str(tmp_path / "out"), "--dedup"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "pip install 'rewardkit[dedup]'" in line and "--dedup exact" in line


@pytest.mark.parametrize("given", ["0.2", "much"])
def test_a_similarity_that_is_none_is_refused(given: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["prep", "arithmetic", "--dedup", given]) == 2
    assert f"1, not {given}" in capsys.readouterr().err


@pytest.fixture
def evaluation(tmp_path: Path) -> str:
    path = tmp_path / "eval.jsonl"
    rows = [{"problem": "How many legs have 9 dogs?", "answer": "36"}, {"problem": STORY, "answer": "72"}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


@pytest.mark.parametrize(
    ("asked", "dropped"),
    [
        (f"A warm-up for today. {STORY} Explain.", True),
        (STORY.replace("she sold half as many", "she sold only half as many"), True),
        ("How many LEGS have 9 dogs", True),
        ("How many legs have 7 dogs?", False),
        (STORY.replace("48", "50").replace("half", "twice").replace("clips", "pens"), False),
    ],
)
def test_a_row_that_holds_a_question_of_the_evaluation_set_is_left_out(
    asked: str, dropped: bool, prep: Prep, evaluation: str
) -> None:
    kept = record("Which number comes after 41?", "42")
    rows = prep("--decontaminate", evaluation, train=[kept, record(asked)], test=[record(asked)])
    assert [(row["index"], row["reason"]) for row in rows["train"]] == [(1, "contaminated")] * dropped
    assert rows["test"] == []
    if dropped:
        assert "eval.jsonl[" in rows["train"][0]["detail"]


def test_repeats_of_a_set_are_left_out_where_that_is_asked_for(tmp_path: Path) -> None:
    raw = tmp_path / "train.jsonl"
    rows = [{"question": q, "answer": "#### 72"} for q in (STORY, OTHER, STORY)]
    raw.write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ["prep", "gsm8k", "--raw", str(raw), "--no-verify", "--out"]
    assert run([*words, str(tmp_path / "out"), "--dedup", "exact"]) == 0
    assert pq.read_metadata(tmp_path / "out" / "train.parquet").num_rows == 2


@pytest.mark.parametrize("column", ["Problem", "text"])
def test_evaluation_sets_are_read_whatever_their_column_is_called(
    column: str, prep: Prep, tmp_path: Path
) -> None:
    path = tmp_path / "eval.jsonl"
    path.write_text(json.dumps({"id": 1, column: STORY}))
    rows = prep("--decontaminate", str(path), train=[record(OTHER, "10"), record(STORY)])
    assert [row["index"] for row in rows["train"]] == [1]


def test_the_files_say_what_they_were_screened_by(prep: Prep, evaluation: str, tmp_path: Path) -> None:
    prep("--dedup", "exact", "--decontaminate", evaluation, train=[record(OTHER, "10"), record(STORY)])
    said = read_provenance(tmp_path / "out" / "train.parquet")["quality"]
    assert said == {"dedup": 1.0, "decontaminate": [evaluation]}


def test_an_evaluation_set_that_cannot_be_read_is_one_line_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        "prep",
        "arithmetic",
        "--out",
        str(tmp_path / "out"),
        "--decontaminate",
        str(tmp_path / "no.jsonl"),
    ]
    assert run(words) == 2
    assert "no such file" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
