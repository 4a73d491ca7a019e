"""Multiple-choice datasets, which are all prepared in the same way.

Raw files: the parquet files from the hub or the original files. The original files are in jsonl format for
HellaSwag, CommonsenseQA and ARC, and in csv format for GPQA and MMLU. MMLU's files have no header and are in
the folders `test/`, `val/` and `auxiliary_train/`.

Raw columns:

    dataset    question               options                       correct option
    hellaswag  activity_label, ctx    endings                       label "0" to "3"; "" in its test set
    mmlu       question               choices, or A to D            answer 0 to 3, or a letter
    mmlu-pro   question               options (up to ten)           answer, a letter
    gpqa       Question               Correct / Incorrect Answer    shuffled by --seed; order in metadata
    arc        question (.stem)       choices {text, label}         answerKey, a label, also "1" to "4"
    csqa       question (.stem)       choices {text, label}         answerKey; "" in its test set

The prompt lists the options as (A), (B), and so on. The ground truth is the letter of the correct option. The
metadata contains the options as `choices`. If a dataset's test split has no answers, test.parquet is created
from the validation split.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from rewardkit.datasets_prep.common.layout import ALL_THREE, TEST_ONLY, SplitLayout
from rewardkit.datasets_prep.common.readers import LeftOutError
from rewardkit.datasets_prep.common.recipe import Recipe, RowContext
from rewardkit.datasets_prep.common.schema import Row, chat
from rewardkit.datasets_prep.common.sources import Hub, Record
from rewardkit.errors import InputError
from rewardkit.rewards.choice import LETTERS

INSTRUCTION = "Give the letter of the right option, as in: The answer is (A)."

_BRACKETED = re.compile(r"\s*\[[^\]]*\]")
_NO_ANSWER = "the answer is not published"


@dataclass(frozen=True, slots=True)
class Question:
    """Question with its options, in the order shown, and the index of the correct option."""

    text: str
    options: tuple[str, ...]
    right: int
    metadata: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Choice:
    """Definition of a multiple-choice dataset."""

    name: str
    hub: Hub
    read: Callable[[Record, RowContext], Question]
    layout: SplitLayout
    seeded: bool = False
    """True if the order of the options is random."""

    @property
    def recipe(self) -> Recipe:
        """Return the dataset's recipe."""
        read = partial(_to_row, self)
        return Recipe(self.name, self.hub, read, INSTRUCTION, self.layout, seeded=self.seeded)


def _to_row(published: Choice, record: Record, context: RowContext) -> Row:
    question = published.read(record, context)
    _check(question, record.where)
    shown = "\n".join(f"({letter}) {text}" for letter, text in zip(LETTERS, question.options, strict=False))
    return Row(
        data_source=published.hub.name,
        prompt=chat(f"{question.text}\n\n{shown}\n\n{context.instruction}".rstrip()),
        ability="choice",
        ground_truth=LETTERS[question.right],
        split=context.split,
        index=record.index,
        question=question.text,
        answer=f"The answer is ({LETTERS[question.right]}).",
        metadata={"choices": list(question.options), **question.metadata},
    )


def _check(question: Question, where: str) -> None:
    if not 2 <= len(question.options) <= len(LETTERS):
        raise InputError(f"{where}: expected 2 to {len(LETTERS)} options, found {len(question.options)}")
    if not all(isinstance(text, str) and text.strip() for text in question.options):
        raise InputError(f"{where}: an option is empty or not a string")
    if not 0 <= question.right < len(question.options):
        raise InputError(
            f"{where}: the index of the correct option is {question.right}, but there are only "
            f"{len(question.options)} options, numbered from 0"
        )


def _hellaswag(record: Record, context: RowContext) -> Question:
    label = str(record.value("label") if record.value("label") is not None else "").strip()
    if not label:
        raise LeftOutError(_NO_ANSWER)
    if not label.isdecimal():
        raise InputError(f"{record.where}: 'label' must be a number, found {label[:40]!r}")
    begun = f"{record.text('ctx_a')} {str(record.values.get('ctx_b') or '').capitalize()}"
    text = f"{record.values.get('activity_label') or 'Story'}: {begun.strip()}"
    endings = tuple(_BRACKETED.sub("", ending).strip() for ending in record.texts("endings"))
    return Question(
        _BRACKETED.sub("", text), endings, int(label), {"source_id": record.values.get("source_id")}
    )


def _mmlu(record: Record, context: RowContext) -> Question:
    values = record.values.get("train")  # In auxiliary_train on the hub, each row is nested in `train`.
    row = Record(record.where, record.index, values) if isinstance(values, dict) else record
    options = row.texts("choices") if "choices" in row.values else [row.text(name) for name in "ABCD"]
    subject = row.values.get("subject") or _subject(record.where)
    return Question(row.text("question"), tuple(options), _place(row, "answer"), {"subject": subject})


def _subject(where: str) -> str:
    """Return the subject in the name of an original csv file."""
    return re.sub(r"_(test|val|dev|train)?\.csv.*", "", where.rpartition("/")[2]).partition(" ")[0]


def _mmlu_pro(record: Record, context: RowContext) -> Question:
    metadata = {name: record.values.get(name) for name in ("question_id", "category", "src")}
    options = tuple(text for text in record.texts("options") if text.strip() != "N/A")
    return Question(record.text("question"), options, _place(record, "answer"), metadata)


def _gpqa(record: Record, context: RowContext) -> Question:
    names = ["Correct Answer", *(f"Incorrect Answer {n}" for n in (1, 2, 3))]
    options = [record.text(name).strip() for name in names]
    order = list(range(4))
    identity = record.values.get("Record ID") or record.text("Question")
    random.Random(f"gpqa {context.seed} {identity}").shuffle(order)
    metadata = {"order": order, "seed": context.seed, "subdomain": record.values.get("Subdomain")}
    return Question(
        record.text("Question").strip(), tuple(options[i] for i in order), order.index(0), metadata
    )


def _labelled(record: Record, context: RowContext) -> Question:
    """Read a question from a record of ARC or CommonsenseQA, in the hub's format or the original format."""
    asked = record.value("question")
    nested = Record(record.where, record.index, asked) if isinstance(asked, dict) else record
    text = nested.text("stem") if isinstance(asked, dict) else record.text("question")
    choices = nested.value("choices")
    if isinstance(choices, dict):
        labels, options = choices.get("label"), choices.get("text")
    else:
        labels, options = ([item.get(name) for item in choices or ()] for name in ("label", "text"))
    key = record.values.get("answerKey")
    if not key:
        raise LeftOutError(_NO_ANSWER)
    if not isinstance(labels, list) or not isinstance(options, list) or key not in labels:
        raise InputError(f"{record.where}: 'answerKey' {key!r} is not one of the labels {labels}")
    return Question(text, tuple(options), labels.index(key), {"id": record.values.get("id")})


def _place(record: Record, name: str) -> int:
    """Return the index of the correct option. The column contains a letter or a zero-based number."""
    value: Any = record.value(name)
    if isinstance(value, str) and len(value.strip()) == 1 and value.strip() in LETTERS:
        return LETTERS.index(value.strip())
    if isinstance(value, int) or (isinstance(value, str) and value.strip().isdecimal()):
        return int(value)
    raise InputError(
        f"{record.where}: '{name}' must be the letter or number of an option, found {str(value)[:40]!r}"
    )


_NO_TEST = {name: split for name, split in ALL_THREE.items() if split != "test"}
_VALIDATED = SplitLayout(_NO_TEST, ignore=("test",), validation_is_test=True)
_MMLU = {"auxiliary_train": "train", "test": "test", "val": "validation", "validation": "validation"}

SETS = (
    Choice(
        "hellaswag",
        Hub(
            "Rowan/hellaswag", None, ("train", "validation"), "hellaswag_train.jsonl and hellaswag_val.jsonl"
        ),
        _hellaswag,
        _VALIDATED,
    ),
    Choice(
        "mmlu",
        Hub("cais/mmlu", "all", ("auxiliary_train", "validation", "test"), "the parquet files of all/"),
        _mmlu,
        SplitLayout(_MMLU, ignore=("dev",), prefer=("all/",), header=("question", *"ABCD", "answer")),
    ),
    Choice(
        "mmlu-pro",
        Hub("TIGER-Lab/MMLU-Pro", None, ("validation", "test"), "the parquet files of data/"),
        _mmlu_pro,
        SplitLayout(ALL_THREE, "test"),
    ),
    Choice(
        "gpqa",
        Hub("Idavidrein/gpqa", "gpqa_diamond", ("train",), "gpqa_diamond.csv (after asking for access)"),
        _gpqa,
        SplitLayout(TEST_ONLY, "test", prefer=("gpqa_diamond", "gpqa_main", "gpqa_extended")),
        seeded=True,
    ),
    Choice(
        "arc",
        Hub("allenai/ai2_arc", "ARC-Challenge", ("train", "validation", "test"), "ARC-Challenge/"),
        _labelled,
        SplitLayout(ALL_THREE, prefer=("arc-challenge", "challenge")),
    ),
    Choice(
        "csqa",
        Hub("tau/commonsense_qa", None, ("train", "validation"), "the parquet files of data/"),
        _labelled,
        _VALIDATED,
    ),
)

RECIPES = {published.name: published.recipe for published in SETS}
