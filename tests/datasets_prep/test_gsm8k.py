"""GSM8K: rows that keep the contract, every reference solution worth 1.0, bad rows named."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from rewardkit import __version__
from rewardkit.datasets_prep import gsm8k
from rewardkit.datasets_prep.common.settings import PrepSettings
from rewardkit.datasets_prep.common.verification import verify_file
from rewardkit.errors import InputError
from rewardkit.scoring.scorer import Scorer
from tests.datasets_prep.provenance import read_provenance

TRAIN = [
    {"question": "Ann has 3 dozen eggs. How many?", "answer": "3*12=<<3*12=36>>36\n#### 36"},
    {"question": "How far below zero?", "answer": "It is 5 below.\n#### -5"},
    {"question": "How many people?", "answer": "Many.\n#### 1,234,567"},
]
TEST = [{"question": "Half of 7?", "answer": "7/2\n#### 3.5"}]


def write_raw(folder: Path, train: list[dict[str, object]] | list[dict[str, str]] = TRAIN) -> Path:
    folder.mkdir(exist_ok=True)
    for split, records in (("train", train), ("test", TEST)):
        (folder / f"{split}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return folder


def test_rows_hold_question_gold_and_where_they_come_from(tmp_path: Path) -> None:
    raw = write_raw(tmp_path / "raw")
    made = gsm8k.prepare(tmp_path / "out", PrepSettings(raw=raw))
    assert {split: file.rows for split, file in made.files.items()} == {"train": 3, "test": 1}
    rows = pq.read_table(tmp_path / "out" / "train.parquet").to_pylist()
    assert [row["ground_truth"] for row in rows] == ["36", "-5", "1234567"]
    assert rows[0]["data_source"] == "openai/gsm8k"
    assert rows[0]["prompt"] == [{"role": "user", "content": f"{TRAIN[0]['question']} {gsm8k.INSTRUCTION}"}]
    assert rows[2]["extra_info"] == {"split": "train", "index": 2, "metadata": "{}", **TRAIN[2]}
    assert read_provenance(tmp_path / "out" / "test.parquet") == {
        "dataset": "gsm8k",
        "source": {
            "files": [
                {
                    "name": f"{s}.jsonl",
                    "sha256": hashlib.sha256((raw / f"{s}.jsonl").read_bytes()).hexdigest(),
                }
                for s in ("train", "test")
            ]
        },
        "rewardkit_version": __version__,
        "arguments": {"instruction": gsm8k.INSTRUCTION},
        "seed": None,
        "licence": "MIT",
    }


def test_prompts_can_have_another_instruction_and_a_system_message(tmp_path: Path) -> None:
    gsm8k.prepare(
        tmp_path / "out",
        PrepSettings(raw=write_raw(tmp_path / "raw"), instruction="", system="Be brief.", limit=1),
    )
    (row,) = pq.read_table(tmp_path / "out" / "train.parquet").to_pylist()
    assert row["prompt"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": TRAIN[0]["question"]},
    ]


def test_the_same_raw_files_give_the_same_bytes_wherever_they_lie(tmp_path: Path) -> None:
    for name in "ab":
        gsm8k.prepare(tmp_path / f"out-{name}", PrepSettings(raw=write_raw(tmp_path / name)))
    for split in ("train.parquet", "test.parquet"):
        assert (tmp_path / "out-a" / split).read_bytes() == (tmp_path / "out-b" / split).read_bytes()


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"question": "q"}, "train.jsonl row 3: .*'answer'; columns: question"),
        ({"question": "q", "answer": None}, "train.jsonl row 3: 'answer' .* found null"),
        ({"question": "", "answer": "#### 1"}, "train.jsonl row 3: 'question' is empty"),
        ({"question": "q", "answer": "1"}, "train.jsonl row 3: 'answer' has no '####'"),
        ({"question": "q", "answer": "#### ٣"}, "row 3: .*'####', found '٣'"),
    ],
)
def test_a_bad_row_is_named_or_skipped_and_counted(
    tmp_path: Path, record: dict[str, object], message: str
) -> None:
    raw = write_raw(tmp_path / "raw", [*TRAIN, record])
    with pytest.raises(InputError, match=f"{message}.* --skip-bad") as caught:
        gsm8k.prepare(tmp_path / "out", PrepSettings(raw=raw))
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()
    made = gsm8k.prepare(tmp_path / "out", PrepSettings(raw=raw, skip_bad=True))
    assert (made.files["train"].rows, made.dropped) == (3, 1)
    assert re.search(message, made.first_dropped[0])


def test_questions_that_came_before_are_counted_and_stay(tmp_path: Path) -> None:
    again = {"question": " How many people?\n", "answer": "#### 1"}
    made = gsm8k.prepare(
        tmp_path / "out", PrepSettings(raw=write_raw(tmp_path / "raw", [*TRAIN, again, *TEST]))
    )
    assert made.files["train"].rows == len(TRAIN) + 2
    assert len(made.notes) == 1 and ": 2; --dedup " in made.notes[0]


def test_wrong_columns_are_an_error_even_when_bad_rows_are_skipped(tmp_path: Path) -> None:
    raw = write_raw(tmp_path / "raw", [{"Question": "q", "Answer": "#### 1"}])
    expected = (
        "no row of split 'train' can be used; the first reason: train.jsonl row 0: "
        "there is no column 'question'; columns: Question, Answer; did you mean Question?"
    )
    with pytest.raises(InputError, match=expected.replace("?", r"\?")):
        gsm8k.prepare(tmp_path / "out", PrepSettings(raw=raw, skip_bad=True))


def test_every_published_reference_solution_scores_one(tmp_path: Path, reference_data: Path) -> None:
    raw = reference_data / "gsm8k"
    made = gsm8k.prepare(tmp_path / "out", PrepSettings(raw=raw))
    published = {split: len((raw / f"{split}.jsonl").read_text().splitlines()) for split in made.files}
    assert {split: file.rows for split, file in made.files.items()} == published
    with Scorer() as scorer:
        assert [verify_file(file.path, scorer).failures for file in made.files.values()] == [(), ()]
