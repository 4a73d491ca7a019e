"""MBPP (Austin et al. 2021, arXiv:2108.07732): 974 small Python tasks with three assertions each. CC-BY-4.0.

Raw columns: `task_id`, `text`, `code`, `test_list`, `test_setup_code`. The splits are the paper's, by task
number: 601-974 train, 11-510 test; 1-10 are its few-shot prompts and 511-600 its validation set.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from rewardkit.datasets_prep.prepare import Limit, Prepared, Raw, SkipBad, System, prepare_source
from rewardkit.datasets_prep.schema import Row, chat
from rewardkit.datasets_prep.sources import BadRows, Hub, Record, Source, open_source
from rewardkit.datasets_prep.writer import Progress
from rewardkit.errors import InputError

DATA_SOURCE = "mbpp"
HUB = Hub("google-research-datasets/mbpp", "full", ("train", "test"), "mbpp.jsonl")
INSTRUCTION = "Your code has to pass this test. Give all of it in one ```python block."
SPLITS = {"train": range(601, 975), "test": range(11, 511)}

_Reader = Callable[[BadRows], Iterator[Record]]


def prepare(
    out_dir: Path,
    *,
    raw: Raw = None,
    instruction: Annotated[str, "Text between each task and its first test; '' for none."] = INSTRUCTION,
    system: System = "",
    limit: Limit = None,
    skip_bad: SkipBad = False,
    progress: Progress | None = None,
) -> Prepared:
    """Write MBPP to `out_dir` as train.parquet and test.parquet.

    Raises:
        InputError: the raw data cannot be found or used, or the folder cannot be written.
        MissingDependencyError: no `raw`, and the package `datasets` is not installed.
    """
    source = _split(open_source(raw, HUB))

    def to_row(record: Record, split: str) -> Row:
        text, code, tests = record.text("text"), record.text("code"), _tests(record)
        setup = record.values.get("test_setup_code") or ""
        return Row(
            data_source=DATA_SOURCE,
            prompt=chat(f"{text}\n\n{instruction}\n\n```python\n{tests[0]}\n```", system),
            ability="code",
            ground_truth=json.dumps({"test_list": tests, "test_setup_code": setup}),
            split=split,
            index=record.index,
            question=text,
            answer=f"```python\n{code}\n```",
            metadata={"task_id": record.values.get("task_id")},
        )

    return prepare_source(
        out_dir,
        "mbpp",
        source,
        to_row,  # the set asks some questions twice, with other tests
        limit=limit,
        skip_bad=skip_bad,
        arguments={"instruction": instruction, "system": system},
        progress=progress,
    )


def _tests(record: Record) -> list[str]:
    tests = record.values.get("test_list")
    if not isinstance(tests, list) or not tests or not all(isinstance(test, str) for test in tests):
        raise InputError(
            f"{record.where}: 'test_list' must be a list of assertions, found {str(tests)[:40]!r}"
        )
    return tests


def _split(source: Source) -> Source:
    """Divide the one published file by task number; files that name a split are that split already."""
    if set(source.splits) != {"train"}:
        return source
    read = source.splits["train"]
    return replace(source, splits={name: _only(read, numbers) for name, numbers in SPLITS.items()})


def _only(read: _Reader, numbers: range) -> _Reader:
    return lambda bad: (record for record in read(bad) if record.values.get("task_id") in numbers)
