"""Pairs are read from every form that tools publish them in, or refused with the number of the row."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rewardkit.errors import InputError
from rewardkit.logs.pairs import LabelledAnswer, Pair, PairNames, answers_in, pairs_in

ASKED = {"role": "user", "content": "1+2?"}
SYSTEM = {"role": "system", "content": "Add."}
HH = "\n\nHuman: Hi\n\nAssistant: Hello.\n\nHuman: 1+2?\n\nAssistant:"
HH_TURNS = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}, ASKED]


def said(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


def written(folder: Path, *rows: Mapping[str, Any]) -> list[Path]:
    path = folder / "pairs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return [path]


def read(folder: Path, *rows: Mapping[str, Any], names: PairNames | None = None) -> list[Pair | str]:
    found = pairs_in(written(folder, *rows), names or PairNames())
    return [str(pair) if isinstance(pair, InputError) else pair for _, pair in found]


@pytest.mark.parametrize(
    ("row", "prompt"),
    [
        ({"prompt": "1+2?", "chosen": "3", "rejected": "4"}, [ASKED]),
        ({"prompt": [SYSTEM, ASKED], "chosen": "3", "rejected": "4"}, [SYSTEM, ASKED]),
        ({"prompt": [ASKED], "chosen": [said("3")], "rejected": [said("4")]}, [ASKED]),
        ({"chosen": [ASKED, said("3")], "rejected": [ASKED, said("4")]}, [ASKED]),
        ({"prompt": "1+2?", "chosen": [ASKED, said("3")], "rejected": [ASKED, said("4")]}, [ASKED]),
        (
            {"prompt": "1+2?", "chosen": [SYSTEM, ASKED, said("3")], "rejected": [SYSTEM, ASKED, said("4")]},
            [SYSTEM, ASKED],
        ),
        ({"prompt": HH, "chosen": " 3", "rejected": " 4"}, HH_TURNS),
        ({"prompt": HH, "chosen": f"{HH} 3", "rejected": f"{HH} 4"}, HH_TURNS),
        ({"chosen": f"{HH} 3", "rejected": f"{HH} 4"}, HH_TURNS),
    ],
)
def test_a_pair_is_read_from_each_form(row: dict[str, Any], prompt: list[Any], tmp_path: Path):
    assert read(tmp_path, row) == [Pair(prompt, "3", "4")]


def test_parquet_pairs_have_no_nulls_in_their_messages(tmp_path: Path):
    row = {"chosen": [{**ASKED, "name": None}, {**said("3"), "name": "me"}], "rejected": [ASKED, said("4")]}
    path = tmp_path / "pairs.parquet"
    pq.write_table(pa.Table.from_pylist([row]), path)
    ((_, pair),) = pairs_in([path])
    assert pair == Pair([ASKED], "3", "4")


def test_named_columns_subsets_and_margins_are_read(tmp_path: Path):
    row = {"q": {"text": "1+2?"}, "good": "3", "bad": "4", "by": 0.5, "kind": "sums", "answer": "3"}
    names = PairNames(chosen="good", rejected="bad", prompt="q.text", margin="by", subset="kind")
    (pair,) = read(tmp_path, row, names=names)
    assert pair == Pair([ASKED], "3", "4", margin=0.5, subset="sums")
    assert isinstance(pair, Pair) and pair.row["answer"] == "3"


GOOD = {"prompt": "1+2?", "chosen": "3", "rejected": "4"}


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({**GOOD, "rejected": "3"}, "same"),
        ({**GOOD, "chosen": " \n"}, "chosen is empty"),
        ({**GOOD, "rejected": None}, "rejected is empty"),
        ({**GOOD, "rejected": []}, "rejected is empty"),
        ({**GOOD, "rejected": ["4"]}, "rejected must be"),
        ({**GOOD, "prompt": ""}, "no prompt"),
        ({"chosen": [said("3")], "rejected": [said("4")]}, "no prompt"),
        ({"chosen": [ASKED, said("3")], "rejected": [SYSTEM, said("4")]}, "prompts"),
        ({"chosen": f"{HH} 3", "rejected": HH.replace("Hi", "Ho") + " 4"}, "prompts"),
        ({**GOOD, "chosen": [SYSTEM, said("3")]}, "not those of the prompt"),
        ({**GOOD, "chosen": [ASKED]}, "chosen ends with"),
        ({"prompt": HH, "chosen": " 3", "rejected": "3"}, "same"),
        ({"prompt": f"So {HH}", "chosen": "3", "rejected": ""}, "rejected is empty"),
        ({**GOOD, "margin": "big"}, "margin must be"),
        ({**GOOD, "margin": True}, "margin must be"),
        ({**GOOD, "margin": math.inf}, "margin must be"),
        ({**GOOD, "margin": 1.0}, "margin is missing in earlier"),
    ],
)
def test_an_unusable_pair_is_refused_with_its_row(row: dict[str, Any], why: str, tmp_path: Path):
    first, refused, last = read(tmp_path, GOOD, row, GOOD)
    assert first == last == Pair([ASKED], "3", "4")
    assert isinstance(refused, str) and "\n" not in refused
    assert "pairs.jsonl, row 1: " in refused and why in refused


def test_a_margin_that_later_rows_lack_is_refused(tmp_path: Path):
    rows = [{**GOOD, "margin": 1}, {**GOOD, "margin": None}]
    assert isinstance(read(tmp_path, *rows)[1], str)


def test_an_absent_column_is_refused(tmp_path: Path):
    with pytest.raises(InputError, match="rejected"):
        read(tmp_path, {"prompt": "1+2?", "chosen": "3"})
    with pytest.raises(InputError, match="question"):
        read(tmp_path, GOOD, names=PairNames(prompt="question"))


@pytest.mark.parametrize("label", [True, 1, 1.0])
def test_labelled_answers_are_read(label: object, tmp_path: Path):
    rows = [{"prompt": "1+2?", "completion": "3", "label": label}]
    rows.append({"prompt": [ASKED], "completion": [said("4")], "label": False})
    assert [row for _, row in answers_in(written(tmp_path, *rows))] == [
        LabelledAnswer([ASKED], "3", True),
        LabelledAnswer([ASKED], "4", False),
    ]


@pytest.mark.parametrize("label", [None, 2, 0.5, "yes", "", []])
def test_labels_that_are_no_labels_are_refused(label: object, tmp_path: Path):
    ((where, row),) = answers_in(written(tmp_path, {"prompt": "1+2?", "completion": "3", "label": label}))
    assert isinstance(row, InputError) and str(row).startswith(f"{where}: label must be")
