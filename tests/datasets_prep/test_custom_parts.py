"""`prep custom` loses no part of a question quietly, and names the columns that went nowhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rewardkit.cli import run
from rewardkit.datasets_prep import custom
from rewardkit.datasets_prep.common.recipe import PrepResult
from rewardkit.datasets_prep.common.settings import PrepSettings
from rewardkit.errors import InputError
from tests.datasets_prep.raw_forms import PNG
from tests.datasets_prep.test_custom import write_jsonl

Row = dict[str, Any]
ALPACA = [
    {"instruction": "Add the numbers.", "input": "2, 3", "output": "5"},
    {"instruction": "How many legs has a cat?", "input": "", "output": "4"},
]
SQUAD = [{"id": "5a", "title": "Cats", "context": "Cats have 4 legs.", "question": "Legs?", "answer": "4"}]
MMLU = [{"question": "2 + 3?", "subject": "algebra", "choices": ["4", "5", "6", "7"], "answer": 1}]
GEO3K = [{"images": [{"bytes": PNG, "path": None}], "problem": "<image>Find x.", "answer": "5"}]


def prepared(
    folder: Path, rows: list[Row], suffix: str = "jsonl", **options: Any
) -> tuple[PrepResult, list[Row]]:
    raw = folder / f"my.{suffix}"
    if suffix == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), raw)
    elif suffix == "json":
        raw.write_text(json.dumps(rows))
    else:
        write_jsonl(raw, rows)
    settings = {k: options.pop(k) for k in list(options) if k in PrepSettings.__dataclass_fields__}
    made = custom.prepare(folder / "out", PrepSettings(raw=raw, **settings), **{"reward": "exact", **options})
    return made, pq.read_table(folder / "out" / "train.parquet").to_pylist()


def asked(rows: list[Row]) -> list[str]:
    return [row["prompt"][-1]["content"] for row in rows]


SUFFIXES = pytest.mark.parametrize("suffix", ["jsonl", "parquet", "json"])


@SUFFIXES
def test_the_input_of_an_instruction_is_asked_with_it_and_that_is_said(suffix: str, tmp_path: Path) -> None:
    made, rows = prepared(tmp_path, ALPACA, suffix)
    assert asked(rows) == ["Add the numbers.\n\n2, 3", "How many legs has a cat?"]
    assert "column 'input' added behind the instruction" in made.notes
    assert made.unused == ()


def test_an_input_that_only_later_rows_have_is_asked_too(tmp_path: Path) -> None:
    few = [{"instruction": f"Say {i}.", "output": str(i)} for i in range(300)]
    _, rows = prepared(tmp_path, [*few, ALPACA[0]])
    assert asked(rows)[-1] == "Add the numbers.\n\n2, 3"


@SUFFIXES
@pytest.mark.parametrize(
    ("found", "column", "option"),
    [
        (SQUAD, "context", "--context-key context"),
        (MMLU, "choices", "--choices-key choices"),
        (
            [{"instruction": "Add.", "input": "2, 3", "output": "5"}],
            "instruction",
            "--context-key instruction",
        ),
        ([{**SQUAD[0], "image": "a.png"}], "image", "--images-key image"),
        ([{**SQUAD[0], "A": "one", "B": "two"}], "A", "--choices-key A --choices-key B"),
    ],
)
def test_a_part_of_a_question_is_refused_with_the_option_that_adds_it(
    found: list[Row], column: str, option: str, suffix: str, tmp_path: Path
) -> None:
    given = {"context_key": ("context",)} if column in ("image", "A") else {}
    given |= {"prompt_key": "input"} if column == "instruction" else {}
    with pytest.raises(InputError, match=f"column '{column}' ") as caught:
        prepared(tmp_path, found, suffix, **given)
    assert option in str(caught.value) and f"--keep {column}" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_a_part_that_only_later_rows_have_is_refused_too(tmp_path: Path) -> None:
    plain = [{"question": f"{i}?", "answer": str(i)} for i in range(300)]
    with pytest.raises(InputError, match="column 'context' "):
        prepared(tmp_path, [*plain, *SQUAD])
    made, rows = prepared(tmp_path, [{**row, "context": ""} for row in plain])
    assert (made.unused, len(rows)) == ((), 300)


@SUFFIXES
def test_a_passage_stands_before_the_question(suffix: str, tmp_path: Path) -> None:
    made, rows = prepared(tmp_path, SQUAD, suffix, context_key=("title", "context"), instruction="Be brief.")
    assert asked(rows) == ["Cats\n\nCats have 4 legs.\n\nLegs? Be brief."]
    assert made.unused == ("id",)


@SUFFIXES
def test_options_are_asked_by_letter_for_the_reward_of_multiple_choice(suffix: str, tmp_path: Path) -> None:
    made, (row,) = prepared(tmp_path, MMLU, suffix, reward="choice", instruction="Give the letter.")
    assert asked([row]) == ["2 + 3?\n\n(A) 4\n(B) 5\n(C) 6\n(D) 7\n\nGive the letter."]
    assert (row["ground_truth"], row["extra_info"]["answer"]) == ("B", "The answer is B.")
    assert json.loads(row["extra_info"]["metadata"]) == {"choices": ["4", "5", "6", "7"]}
    assert made.notes[0] == "column 'choices' added as options"
    assert made.unused == ("subject",)


@pytest.mark.parametrize(
    ("row", "given"),
    [
        ({"question": "Legs?", "A": "two", "B": "four", "answer": "B"}, {}),
        ({"question": "Legs?", "choices": {"label": ["1", "2"], "text": ["two", "four"]}, "answer": "2"}, {}),
        ({"question": "Legs?", "options": {"a": "two", "b": "four"}, "answer": "b"}, {}),
        ({"question": "Legs?", "opa": "two", "opb": "four", "answer": "B"}, {}),
        ({"question": "Legs?", "choice_1": "two", "choice_2": "four", "answer": "B"}, {}),
        ({"question": "Legs?", "choice_1": "two", "choice_2": "four", "answer": 2}, {}),
        ({"question": "Legs?", "choice0": "two", "choice1": "four", "answer": 1}, {}),
        (
            {"question": "Legs?", "opa": "two", "opb": "four", "answer": 1},
            {"choices_key": ("opa", "opb")},
        ),
        (
            {
                "question": "Legs?",
                "choices": [{"label": "A", "text": "two"}, {"label": "B", "text": "four"}],
                "answer": "B",
            },
            {},
        ),
    ],
)
def test_options_are_taken_in_each_form(row: Row, given: Row, tmp_path: Path) -> None:
    _, (made,) = prepared(tmp_path, [row], reward="choice", **given)
    assert asked([made]) == ["Legs?\n\n(A) two\n(B) four"]
    assert made["ground_truth"] == "B"
    assert run(["check", str(tmp_path / "out" / "train.parquet")]) == 0


def test_a_row_without_options_is_a_bad_row(tmp_path: Path) -> None:
    rows = [*MMLU, {**MMLU[0], "choices": None}]
    with pytest.raises(InputError, match=r"row 1: 'choices' "):
        prepared(tmp_path, rows, reward="choice")
    made, kept = prepared(tmp_path, rows, reward="choice", skip_bad=True)
    assert (made.dropped, len(kept)) == (1, 1)


def test_images_are_kept_in_the_column_that_trainers_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"column 'images' .*--images-key images"):
        prepared(tmp_path, GEO3K, "parquet")
    _, (row,) = prepared(tmp_path, GEO3K, "parquet", images_key="images")
    assert (row["images"], asked([row])) == (GEO3K[0]["images"], ["<image>Find x."])
    unmarked = [{"image": "a.png", "question": "Find x.", "answer": "5"}]
    _, (row,) = prepared(tmp_path, unmarked, images_key="image")
    assert (row["images"], asked([row])) == ([{"bytes": None, "path": "a.png"}], ["<image>Find x."])
    (tmp_path / "a.png").write_bytes(PNG)
    _, (row,) = prepared(tmp_path, unmarked, images_key="image")
    assert row["images"] == [{"bytes": PNG, "path": None}]
    with pytest.raises(InputError, match=r"row 0: .* <image> 1 times, .* 2 images"):
        prepared(tmp_path, [{**GEO3K[0], "images": ["a.png", "b.png"]}], images_key="images")


def test_what_a_question_says_itself_is_not_said_twice(tmp_path: Path) -> None:
    told = {**SQUAD[0], "question": "Cats have 4 legs. Legs?"}
    made, rows = prepared(tmp_path, [told])
    assert (asked(rows), made.unused) == ([told["question"]], ("context", "id", "title"))
    listed = {**MMLU[0], "question": "2 + 3? A: 4, B: 5, C: 6, D: 7"}
    made, (row,) = prepared(tmp_path, [listed], reward="choice")
    assert (asked([row]), row["ground_truth"]) == ([listed["question"]], "B")
    assert json.loads(row["extra_info"]["metadata"]) == {"choices": ["4", "5", "6", "7"]}
    assert made.notes[0] == "column 'choices' kept as the options that the questions list"


def test_a_template_uses_the_columns_that_it_names(tmp_path: Path) -> None:
    template = tmp_path / "template.txt"
    template.write_text("{context} Q: {question}")
    made, rows = prepared(tmp_path, SQUAD, template=template)
    assert asked(rows) == ["Cats have 4 legs. Q: Legs?"]
    assert made.unused == ("id", "title")


def test_a_chat_is_a_whole_question(tmp_path: Path) -> None:
    row = {"prompt": [{"role": "user", "content": "Legs?"}], "context": "Cats.", "answer": "4"}
    made, rows = prepared(tmp_path, [row])
    assert (asked(rows), made.unused) == (["Legs?"], ("context",))
    with pytest.raises(InputError, match="contains chats"):
        prepared(tmp_path, [row], context_key=("context",))


def test_columns_that_went_nowhere_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"question": f"{i}?", "answer": str(i), "id": i, "tags": ["x"]} for i in range(300)]
    rows.append({**rows[0], "late": {"level": 5}, "nothing": None})
    raw = write_jsonl(tmp_path / "my.jsonl", rows)
    words = [
        "prep",
        "custom",
        "--raw",
        str(raw),
        "--reward",
        "math",
        "--keep",
        "id",
        "--out",
        str(tmp_path / "o"),
    ]
    assert run(words) == 0
    assert ": late, tags; --keep COLUMN" in capsys.readouterr().out
    assert run([*words, "--force", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["unused_columns"] == ["late", "tags"]


def test_yaml_says_what_the_options_say(tmp_path: Path) -> None:
    mapping = tmp_path / "my.yaml"
    mapping.write_text("reward: exact\ncontext_key: [context]\n")
    _, rows = prepared(tmp_path, SQUAD, mapping=mapping)
    assert asked(rows) == ["Cats have 4 legs.\n\nLegs?"]
