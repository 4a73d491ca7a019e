"""`rewardkit prep --verify`: what becomes of rows whose own solution is not right."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from rewardkit.cli import run
from rewardkit.datasets_prep.common.verification import is_quick
from tests.datasets_prep.provenance import read_provenance

BAD = {"problem": "Sum of 1 and 2?", "solution": r"Either \boxed{3} or", "answer": "4"}
RIGHT = {"problem": "Sum of 2 and 2?", "solution": r"It is \boxed{4}.", "answer": "4"}


def prep(folder: Path, records: list[dict[str, str]], *words: str) -> int:
    """Prepare records in the form of MATH as a single split."""
    raw = folder / "train.jsonl"
    raw.write_text("".join(json.dumps(record) + "\n" for record in records))
    return run(["prep", "math", "--raw", str(raw), "--out", str(folder / "out"), "--force", *words])


def test_keep_writes_and_lists_the_rows_that_fail(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert prep(tmp_path, [RIGHT, BAD], "--verify") == 1
    assert pq.read_metadata(tmp_path / "out" / "train.parquet").num_rows == 2
    assert "train row 1: score 0, " in capsys.readouterr().out
    assert not (tmp_path / "out" / "dropped.jsonl").exists()
    assert prep(tmp_path, [RIGHT, BAD], "--verify", "--json") == 1
    (failure,) = json.loads(capsys.readouterr().out)["splits"]["train"]["failures"]
    assert (failure["row"], failure["question"]) == (1, BAD["problem"])


def test_drop_leaves_them_out_and_says_which_and_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert prep(tmp_path, [BAD, RIGHT, BAD], "--verify", "drop") == 0
    rows = pq.read_table(tmp_path / "out" / "train.parquet")["extra_info"].to_pylist()
    assert [row["index"] for row in rows] == [1]
    assert "train: 2 rows dropped" in capsys.readouterr().out
    dropped = [json.loads(line) for line in (tmp_path / "out" / "dropped.jsonl").read_text().splitlines()]
    assert [row["index"] for row in dropped] == [0, 2]
    assert "read as '3'" in dropped[0]["detail"]
    assert read_provenance(tmp_path / "out" / "train.parquet")["quality"] == {"verify": "drop"}


def test_a_later_run_that_drops_nothing_leaves_no_stale_list(tmp_path: Path) -> None:
    assert prep(tmp_path, [BAD, RIGHT], "--verify", "drop") == 0
    assert prep(tmp_path, [RIGHT], "--verify", "drop") == 0
    assert not (tmp_path / "out" / "dropped.jsonl").exists()


def test_fail_lists_them_all_and_publishes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert prep(tmp_path, [BAD, RIGHT, BAD], "--verify", "fail") == 2
    captured = capsys.readouterr()
    assert [line.split(":")[0] for line in captured.out.splitlines()] == ["train[0]", "train[2]"]
    assert "not scored as right: 2" in captured.err
    assert not (tmp_path / "out").exists()


def test_json_lists_what_was_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prep(tmp_path, [BAD, RIGHT], "--verify", "drop", "--json")
    (row,) = json.loads(capsys.readouterr().out)["left_out"]
    assert (row["split"], row["index"], row["reason"]) == ("train", 0, "solution scored as wrong")


def test_when_every_row_is_dropped_nothing_is_published(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert prep(tmp_path, [BAD], "--verify", "drop") == 2
    assert "split 'train' has no rows" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_verify_and_no_verify_exclude_each_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert prep(tmp_path, [RIGHT], "--verify", "drop", "--no-verify") == 2
    assert "--no-verify cannot be combined" in capsys.readouterr().err


def test_what_takes_long_is_not_verified_unless_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prep(tmp_path, [RIGHT])
    path = tmp_path / "out" / "train.parquet"
    assert is_quick([path])
    monkeypatch.setattr("rewardkit.datasets_prep.common.verification._QUICK_S", 2.5e-3)
    assert is_quick([path])
    assert not is_quick([path] * 3)  # shards of one split
