"""MBPP (Austin et al. 2021, arXiv:2108.07732) contains 974 small Python tasks with three assertions each.

Raw files: `mbpp.jsonl` or `sanitized-mbpp.json` from github.com/google-research/google-research, or the
parquet files in `full/` from the hub.

Raw columns: `task_id`, `text`, `code`, `test_list` and `test_setup_code`. The sanitized version has `prompt`
instead of `text`, and `test_imports` instead of `test_setup_code`. MBPP+ also has the column `test`.

As in the paper, the task number determines the split. Tasks 601 to 974 are for training, and tasks 11 to 510
for testing. Tasks 1 to 10 (few-shot prompts) and 511 to 600 (validation) are not used.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from rewardkit.datasets_prep.common.layout import SplitLayout
from rewardkit.datasets_prep.common.readers import BadRows
from rewardkit.datasets_prep.common.recipe import Recipe, RowContext
from rewardkit.datasets_prep.common.schema import Row, chat
from rewardkit.datasets_prep.common.sources import Hub, Record, Source, open_raw

DATA_SOURCE = "mbpp"
INSTRUCTION = "Your code has to pass this test. Give all of it in one ```python block."
SPLITS = {"train": range(601, 975), "test": range(11, 511)}

_FormReader = Callable[[BadRows], Iterator[Record]]


def _to_row(record: Record, context: RowContext) -> Row:
    text = record.text("text" if "text" in record.values else "prompt")
    code = record.text("code")
    tests = record.texts("test_list")
    imports = "\n".join(record.values.get("test_imports") or ())
    setup = record.values.get("test_setup_code") or imports
    plus = record.values.get("test")  # only MBPP+ has this column
    return Row(
        data_source=DATA_SOURCE,
        prompt=chat(f"{text}\n\n{context.instruction}\n\n```python\n{tests[0]}\n```"),
        ability="code",
        ground_truth=json.dumps(
            {"test_list": tests, "test_setup_code": setup} | ({"test": plus} if plus else {})
        ),
        split=context.split,
        index=record.index,
        question=text,
        answer=f"```python\n{code}\n```",
        metadata={"task_id": record.values.get("task_id")},
    )


def _open(raw: str | Path, layout: SplitLayout) -> Source:
    """Open the raw files. Data without split names is split by task number."""
    source = open_raw(raw, layout)
    if set(source.splits) != {"train"}:
        return source
    read = source.splits["train"]
    first, *_ = SPLITS
    return replace(
        source, splits={name: _only(read, numbers, name == first) for name, numbers in SPLITS.items()}
    )


def _only(read: _FormReader, numbers: range, is_first: bool) -> _FormReader:
    """Return a reader of the tasks with these numbers. Only the first split counts bad rows."""

    def chosen(bad: BadRows) -> Iterator[Record]:
        records = read(bad if is_first else BadRows(skip=bad.skip))
        return (record for record in records if record.values.get("task_id") in numbers)

    return chosen


# Repeated questions are kept, because some questions occur twice with different tests.
RECIPE = Recipe(
    "mbpp",
    Hub("google-research-datasets/mbpp", "full", ("train", "test"), "mbpp.jsonl"),
    _to_row,
    INSTRUCTION,
    SplitLayout(prefer=("mbpp.jsonl", "full/"), ignore=("validation", "prompt")),
    open=_open,
)
prepare = RECIPE.prepare
