"""`rewardkit replay`: every row of a scored file again, elsewhere, and which differ."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from rewardkit.cli import run
from rewardkit.offline.receipt import read_receipt
from rewardkit.registry import Registry
from tests.conftest import unchanged_registry
from tests.lock.projects import WORDS, make_project
from tests.logs import written as logs

ROWS = [
    {"data_source": "gsm8k", "prompt": "1 + 1?", "response": f"It is {n}", "ground_truth": "2"}
    for n in range(4)
]
LISTS = [{"data_source": "gsm8k", "prompt": "1 + 1?", "responses": ["#### 2", "3"], "ground_truth": "2"}]
UNNAMED = [{"completion": row["response"], "target": "2", "detail": "long words of it"} for row in ROWS]
BAD = [
    *ROWS,
    {"data_source": "gsm8k", "response": None, "ground_truth": "2"},
    {"data_source": "no such", "response": "2", "ground_truth": "2"},
]
FLEXIBLE = ("--option", "gsm8k:method=flexible")

FILES: list[tuple[str, list[dict[str, Any]], tuple[str, ...]]] = [
    ("parquet", ROWS, FLEXIBLE),
    ("jsonl", ROWS, FLEXIBLE),
    ("jsonl.gz", ROWS, FLEXIBLE),
    ("csv", ROWS, FLEXIBLE),
    ("parquet", LISTS, FLEXIBLE),
    ("jsonl", LISTS, ("--prefix", "old_")),
    ("jsonl", BAD, FLEXIBLE),
    ("parquet", BAD, ("--bad-rows", "drop")),
    ("jsonl", UNNAMED, ("--data-source", "gsm8k", "--response-key", "completion", "--ground-truth-key", "target")),
    ("jsonl", logs.verl_dump(), ("--data-source", "gsm8k")),
    ("parquet", logs.verl_dump(), ("--data-source", "gsm8k")),
]  # fmt: skip
"""The output's format, the rows, and the words of `score`."""


def _written(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def _scored(folder: Path, suffix: str, rows: list[dict[str, Any]], *words: str) -> Path:
    folder.mkdir(parents=True)
    out = folder / f"out.{suffix}"
    assert run(["score", str(_written(folder / "in.jsonl", rows)), "--out", str(out), *words]) == 0
    return out


def test_every_row_is_reproduced_in_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for i, (suffix, rows, words) in enumerate(FILES):
        out = _scored(tmp_path / f"made{i}", suffix, rows, *words)
        receipt = read_receipt(out)
        assert receipt is not None and str(tmp_path) not in repr(receipt)
        other = tmp_path / f"other{i}"
        other.mkdir()
        for file in out.parent.glob("out.*"):
            shutil.move(file, other)
        shutil.rmtree(out.parent)
        monkeypatch.chdir(other)
        capsys.readouterr()
        assert run(["replay", out.name]) == 0, (suffix, words, capsys.readouterr().out)
        assert re.search("gets? the same scores?\n$", capsys.readouterr().out), (suffix, words)


def test_a_row_that_was_changed_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = _scored(tmp_path / "a", "jsonl", ROWS, *FLEXIBLE)
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    rows[3]["ground_truth"] = "3"
    _written(out, rows)
    capsys.readouterr()
    assert run(["replay", str(out), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)[str(out)]
    assert (found["rows"], found["differ"], found["moved"]) == (4, 1, [])
    assert found["first"][0]["row"] == 3 and found["first"][0]["now"]["score"] == 1.0


EDITS: list[Callable[[list[dict[str, Any]]], Any]] = [
    lambda rows: rows[3].update(response="It is 7"),
    lambda rows: rows[0].update(ground_truth="9"),
    lambda rows: rows.append(rows[0]),
    lambda rows: rows.pop(),
    lambda rows: rows.insert(0, rows.pop(1)),
]
"""Of rows none of which is right, so that all scores stay the same."""


@pytest.mark.parametrize("edit", range(len(EDITS)))
@pytest.mark.parametrize("suffix", ["jsonl", "jsonl.gz", "parquet"])
def test_an_edited_file_is_reported_even_if_no_score_changes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], suffix: str, edit: int
) -> None:
    wrong = [{**row, "response": f"It is {n + 3}"} for n, row in enumerate(ROWS)]
    out = _scored(tmp_path / "a", suffix, wrong)
    assert run(["replay", str(out)]) == 0
    if suffix == "parquet":
        table = pq.read_table(out).replace_schema_metadata(pq.read_metadata(out).metadata)
        rows = table.to_pylist()
        EDITS[edit](rows)
        pq.write_table(pa.Table.from_pylist(rows, table.schema), out)
        assert read_receipt(out) is not None
    else:
        opened = gzip.open if suffix.endswith("gz") else open
        with opened(out, "rt") as file:
            rows = [json.loads(line) for line in file]
        EDITS[edit](rows)
        with opened(out, "wt") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
    capsys.readouterr()
    assert run(["replay", str(out), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)[str(out)]
    assert found["edited"] is True and found["differ"] == 0
    assert run(["replay", str(out)]) == 1
    assert "edited" in capsys.readouterr().out


NESTED: list[dict[str, Any]] = [
    {"ground_truth": 2, "prompt": [{"role": "user", "content": "1 + 1?"}], "extra_info": {"a": 1, "b": None}},
    {"ground_truth": 2.5, "prompt": "1 + 1?", "extra_info": {"a": 0.5, "c": {"d": [1, 2.5], "e": {}}}},
    {"ground_truth": "007", "prompt": None, "extra_info": None},
    {"ground_truth": ["x", 1], "prompt": "", "extra_info": {"a": "text"}},
    {"ground_truth": None, "prompt": "unusable", "extra_info": {}},
]
"""What parquet and csv cannot hold as it is."""


@pytest.mark.parametrize("suffix", ["parquet", "jsonl", "csv"])
@pytest.mark.parametrize("several", [1, len(NESTED)])
def test_an_untouched_file_is_not_taken_for_an_edited_one(
    tmp_path: Path, registry: Registry, suffix: str, several: int
) -> None:
    """Rows one by one, and all in one file, where a column may have to become text."""
    file = tmp_path / "mine.py"
    file.write_text("def mine(completions, prompts, **columns): return [0.5 for _ in completions]\n")
    words = ("--reward", f"mine={file}")
    rows = NESTED[:-1] if suffix == "csv" else NESTED  # csv has no null: an empty ground truth is a text
    full = [{"data_source": "mine", "response": f"a\r\nb{n}", **row} for n, row in enumerate(rows)]
    for i in range(len(full) - several + 1):
        out = _scored(tmp_path / f"a{i}", suffix, [*full[i : i + several], full[0]], *words)
        receipt = read_receipt(out)
        assert receipt is not None and receipt.content
        assert run(["replay", str(out), *words]) == 0


def test_what_moved_since_is_named_and_rows_are_scored_as_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project = make_project(tmp_path / "one")
    monkeypatch.chdir(project)
    assert run(["score", "rows.jsonl", "--out", "out.parquet", *WORDS]) == 0
    other = make_project(tmp_path / "two")
    monkeypatch.chdir(other)
    (other / "rewards.py").write_text("def compute_score(solution_str, ground_truth):\n    return 0.5\n")
    (other / "mix.yaml").write_text((other / "mix.yaml").read_text().replace("0.1", "0.2"))
    out = str(project / "out.parquet")
    capsys.readouterr()
    assert run(["replay", out, *WORDS]) == 1
    said = capsys.readouterr().out
    assert (
        "mine: source rewards.py: changed from sha256:" in said
        and "mine: source closeness.py: changed from" in said
    )
    assert "mixed: member sum.think_format weight: " in said
    assert "row 0: score changed " in said and "12 of 36 rows differ" in said
    assert "gsm8k: " not in said


def test_a_file_without_a_receipt_is_scored_as_the_options_say(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = _scored(tmp_path / "a", "parquet", ROWS, *FLEXIBLE)
    pq.write_table(pa.Table.from_pandas(pd.read_parquet(out)), out)
    capsys.readouterr()
    assert run(["replay", str(out)]) == 1
    assert "has no receipt" in capsys.readouterr().err
    assert run(["replay", str(out), *FLEXIBLE]) == 0
    assert run(["replay", str(_written(tmp_path / "unscored.jsonl", ROWS))]) == 2
    said = capsys.readouterr().err
    assert "unscored.jsonl" in said and "rewardkit score" in said


@pytest.mark.parametrize("source", ["mine", "gsm8k"])
def test_a_reward_that_is_not_passed_again_is_named_with_its_option(
    tmp_path: Path, registry: Registry, capsys: pytest.CaptureFixture[str], source: str
) -> None:
    """Also where another reward would score its rows."""
    file = tmp_path / "half.py"
    file.write_text("def half(solution_str, ground_truth): return 0.5\n")
    rows = [{**row, "data_source": source} for row in ROWS]
    words = ("--reward", f"{source}={file}")
    with unchanged_registry():
        out = _scored(tmp_path / "a", "jsonl", rows, *words)
    assert run(["replay", str(out)]) == 2
    said = capsys.readouterr().err
    assert all(word in said for word in (source, "half.py", "--reward"))
    assert run(["replay", str(out), *words]) == 0


def test_files_of_the_same_run_have_the_same_receipt(tmp_path: Path) -> None:
    """A data source that begins late is in it too."""
    rows = [*ROWS, {**ROWS[0], "data_source": "math"}]
    receipts = [read_receipt(_scored(tmp_path / suffix, suffix, rows)) for suffix in ("jsonl", "parquet")]
    assert receipts[0] is not None and receipts[1] is not None
    assert receipts[0].content != receipts[1].content
    assert replace(receipts[0], content="") == replace(receipts[1], content="")
    assert list(receipts[0].rewards) == ["gsm8k", "math"]
