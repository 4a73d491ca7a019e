"""HumanEval and MBPP: rows that keep the contract, and reference solutions that score 1.0."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from rewardkit.datasets_prep import apps, humaneval, mbpp
from rewardkit.datasets_prep.common.settings import PrepSettings
from rewardkit.errors import InputError
from rewardkit.rewards.code.code_reward import CodeOptions, score
from rewardkit.sandbox.levels import why_not
from rewardkit.types import Sample

TASK = {
    "task_id": "X/0",
    "prompt": "def inc(x):\n    '''Add one.'''\n",
    "entry_point": "inc",
    "canonical_solution": "    return x + 1\n",
    "test": "def check(candidate):\n    assert candidate(1) == 2\n",
}
BASIC = {
    "text": "Write a function that adds one.",
    "code": "def inc(x):\n  return x + 1",
    "test_setup_code": "",
    "test_list": ["assert inc(1) == 2"],
}


def rows_of(file: Path) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = pq.read_table(file).to_pylist()
    if not (why_not("warm") and why_not("guard")):
        for row in rows:
            sample = Sample("code", row["extra_info"]["answer"], row["ground_truth"])  # type: ignore[index]
            assert score(sample, CodeOptions()).score == 1.0
    return rows


def test_humaneval_is_a_test_set_with_its_prompt_in_the_question(tmp_path: Path) -> None:
    raw = tmp_path / "HumanEval.jsonl"
    raw.write_text(json.dumps(TASK) + "\n")
    made = humaneval.prepare(tmp_path / "out", PrepSettings(raw=raw))
    assert {split: file.rows for split, file in made.files.items()} == {"test": 1}
    (row,) = rows_of(tmp_path / "out" / "test.parquet")
    assert TASK["prompt"] in row["prompt"][0]["content"]  # type: ignore[index]
    assert json.loads(str(row["ground_truth"]))["entry_point"] == "inc"


def test_mbpp_is_split_by_task_number(tmp_path: Path) -> None:
    raw = tmp_path / "mbpp.jsonl"
    raw.write_text(
        "".join(
            json.dumps({**BASIC, "text": f"Task {n}", "task_id": n}) + "\n"
            for n in (1, 11, 510, 511, 601, 974)
        )
    )
    made = mbpp.prepare(tmp_path / "out", PrepSettings(raw=raw))
    assert {split: file.rows for split, file in made.files.items()} == {"train": 2, "test": 2}
    rows = rows_of(tmp_path / "out" / "test.parquet")
    assert "assert inc(1) == 2" in rows[0]["prompt"][0]["content"]  # type: ignore[index]
    assert rows_of(tmp_path / "out" / "train.parquet")


def test_a_task_without_tests_is_named(tmp_path: Path) -> None:
    raw = tmp_path / "mbpp.jsonl"
    raw.write_text(json.dumps({**BASIC, "task_id": 601, "test_list": []}) + "\n")
    with pytest.raises(InputError, match="test_list"):
        mbpp.prepare(tmp_path / "out", PrepSettings(raw=raw))


def test_a_bad_task_that_both_splits_read_is_counted_once(tmp_path: Path) -> None:
    raw = tmp_path / "mbpp.jsonl"
    good = (json.dumps({**BASIC, "text": f"Task {n}", "task_id": n}) for n in (11, 601))
    raw.write_text("\n".join((*good, "no JSON")) + "\n")
    made = mbpp.prepare(tmp_path / "out", PrepSettings(raw=raw, skip_bad=True))
    assert (made.dropped, len(made.first_dropped)) == (1, 1)


def test_the_further_tests_of_mbpp_plus_count(tmp_path: Path) -> None:
    raw = tmp_path / "mbpp.jsonl"
    plus = "for x, y in zip([1, 5], [2, 6]):\n    assertion = inc(x) == y\n    assert assertion\n"
    rows = [{**BASIC, "text": f"Task {n}", "task_id": n, "test": plus} for n in (11, 601)]
    raw.write_text("".join(json.dumps(row) + "\n" for row in rows))
    mbpp.prepare(tmp_path / "out", PrepSettings(raw=raw))
    (row,) = rows_of(tmp_path / "out" / "train.parquet")
    if why_not("warm") and why_not("guard"):
        pytest.skip("no isolation holds on this host")
    passes_one = Sample("code", "```python\ndef inc(x):\n    return 2\n```", str(row["ground_truth"]))
    assert score(passes_one, CodeOptions()).score == 0.0


@pytest.mark.parametrize("metadata", ["[1]", '"text"', "7", "null", "{"])
def test_a_problem_of_apps_without_readable_metadata_is_a_bad_row(tmp_path: Path, metadata: str) -> None:
    for split, name in (("train", "0000"), ("train", "0001"), ("test", "0000")):
        folder = tmp_path / "APPS" / split / name
        folder.mkdir(parents=True)
        (folder / "question.txt").write_text(f"Double the number. {split} {name}")
        (folder / "input_output.json").write_text(json.dumps({"inputs": ["1\n"], "outputs": ["2\n"]}))
    (tmp_path / "APPS" / "train" / "0001" / "metadata.json").write_text(metadata)
    with pytest.raises(InputError, match="0001"):
        apps.prepare(tmp_path / "out", PrepSettings(raw=tmp_path / "APPS"))
    made = apps.prepare(tmp_path / "out", PrepSettings(raw=tmp_path / "APPS", skip_bad=True))
    assert {split: file.rows for split, file in made.files.items()} == {"train": 1, "test": 1}
