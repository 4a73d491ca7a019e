"""GSM8K (Cobbe et al. 2021, arXiv:2110.14168): grade-school word problems, 7,473 to train on, 1,319 to test.

Raw columns: `question`, and `answer`, a worked solution that ends in `#### number`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

from rewardkit.datasets_prep.prepare import (
    Limit,
    Prepared,
    Raw,
    SkipBad,
    System,
    prepare_source,
    refuse_repeats,
)
from rewardkit.datasets_prep.schema import Row, chat
from rewardkit.datasets_prep.sources import Hub, Record, open_source
from rewardkit.datasets_prep.writer import Progress
from rewardkit.errors import InputError

DATA_SOURCE = "openai/gsm8k"
HUB = Hub(DATA_SOURCE, "main", ("train", "test"), "the parquet files of main/")
INSTRUCTION = (
    'Work through the problem step by step, then write "#### " and the final number on the last line.'
)

_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")


def prepare(
    out_dir: Path,
    *,
    raw: Raw = None,
    instruction: Annotated[str, "Text after each question; '' for none."] = INSTRUCTION,
    system: System = "",
    limit: Limit = None,
    skip_bad: SkipBad = False,
    progress: Progress | None = None,
) -> Prepared:
    """Write GSM8K to `out_dir` as train.parquet and test.parquet.

    Raises:
        InputError: the raw data cannot be found or used, or the folder cannot be written.
        MissingDependencyError: no `raw`, and the package `datasets` is not installed.
    """
    # GSM8K's repositories carry a second form of every problem, "socratic", under the same split names.
    source = open_source(raw, HUB, ignore=("socratic",))

    def to_row(record: Record, split: str) -> Row:
        question, answer = record.text("question"), record.text("answer")
        return Row(
            data_source=DATA_SOURCE,
            prompt=chat(f"{question} {instruction}".rstrip(), system),
            ability="math",
            ground_truth=final_number(answer, record.where),
            split=split,
            index=record.index,
            question=question,
            answer=answer,
        )

    return prepare_source(
        out_dir,
        "gsm8k",
        source,
        refuse_repeats(to_row),
        limit=limit,
        skip_bad=skip_bad,
        arguments={"instruction": instruction, "system": system},
        progress=progress,
    )


def final_number(answer: str, where: str) -> str:
    """Return the number after the last `####`, without thousands commas.

    Raises:
        InputError: there is no `####`, or no number after it.
    """
    _, marker, last = answer.rpartition("####")
    if not marker:
        raise InputError(f"{where}: 'answer' has no '####' before its final number")
    number = last.strip().replace(",", "")
    if not _NUMBER.fullmatch(number):
        raise InputError(f"{where}: expected a number after '####', found {last.strip()[:40]!r}")
    return number
