"""GSM8K (Cobbe et al. 2021, arXiv:2110.14168) contains grade-school word problems, 7,473 for training and
1,319 for testing.

Raw files: `train.jsonl` and `test.jsonl` from github.com/openai/grade-school-math, or the parquet files in
`main/` from the hub. The configuration `socratic` is skipped.

Raw columns: `question` and `answer`. The answer is a worked solution that ends with `#### NUMBER`.
"""

from __future__ import annotations

import re

from rewardkit.datasets_prep.common.layout import SplitLayout
from rewardkit.datasets_prep.common.prompts import after
from rewardkit.datasets_prep.common.recipe import Recipe, RowContext
from rewardkit.datasets_prep.common.schema import Row, chat
from rewardkit.datasets_prep.common.sources import Hub, Record
from rewardkit.errors import InputError

DATA_SOURCE = "openai/gsm8k"
INSTRUCTION = (
    'Work through the problem step by step, then write "#### " and the final number on the last line.'
)

_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")


def _to_row(record: Record, context: RowContext) -> Row:
    question = record.text("question")
    answer = record.text("answer")
    return Row(
        data_source=DATA_SOURCE,
        prompt=chat(after(question, context.instruction)),
        ability="math",
        ground_truth=final_number(answer, record.where),
        split=context.split,
        index=record.index,
        question=question,
        answer=answer,
    )


def final_number(answer: str, where: str) -> str:
    """Return the number after the last `####`, without thousands separators.

    Raises:
        InputError: The answer contains no `####`, or the last `####` is not followed by a number.
    """
    _, marker, last = answer.rpartition("####")
    if not marker:
        raise InputError(f"{where}: 'answer' has no '####' before its final number")
    number = last.strip().replace(",", "")
    if not _NUMBER.fullmatch(number):
        raise InputError(f"{where}: expected a number after '####', found {last.strip()[:40]!r}")
    return number


RECIPE = Recipe(
    "gsm8k",
    Hub(DATA_SOURCE, "main", ("train", "test"), "the parquet files of main/"),
    _to_row,
    INSTRUCTION,
    SplitLayout(ignore=("socratic",)),
    tool="calc_gsm8k_reward",
)
prepare = RECIPE.prepare
