"""AIME (American Invitational Mathematics Examination) contains 30 problems per year, with integer answers
from 0 to 999. There is only a test split.

Raw files (under any name): the files from Maxwell-Jia/AIME_2024, HuggingFaceH4/aime_2024,
AI-MO/aimo-validation-aime, math-ai/aime24, math-ai/aime25 or opencompass/AIME2025.
BytedTsinghua-SIA/AIME-2024 is also supported. It has the columns of DAPO and contains each row 32 times.
Duplicates are dropped.

Raw columns: `problem` or `question`, and `answer`. The columns `solution`, `id` and `url` are optional.
Column names are not case-sensitive. If there is no column `answer`, the boxed answer in `solution` is used.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

from rewardkit.datasets_prep.common.layout import TEST_ONLY, SplitLayout
from rewardkit.datasets_prep.common.prompts import after, published_chat
from rewardkit.datasets_prep.common.recipe import PrepResult, Recipe, RowContext, prepare_recipe
from rewardkit.datasets_prep.common.schema import Row, chat
from rewardkit.datasets_prep.common.settings import PrepSettings
from rewardkit.datasets_prep.common.sources import Hub, Record
from rewardkit.datasets_prep.common.writer import OnWritten
from rewardkit.datasets_prep.math import INSTRUCTION, boxed_answer
from rewardkit.errors import InputError
from rewardkit.rows import value_at

HUB = {
    2024: Hub("Maxwell-Jia/AIME_2024", "default", ("train",), "its file"),
    2025: Hub("math-ai/aime25", "default", ("test",), "its file"),
}
"""Hub dataset for each year."""


def prepare(
    out_dir: Path,
    settings: PrepSettings | None = None,
    *,
    year: Annotated[
        int, "Year of the contest: 2024 or 2025. The data source is aime2024 or aime2025."
    ] = 2024,
    progress: OnWritten | None = None,
) -> PrepResult:
    """Write the problems from one year to test.parquet in `out_dir`.

    Raises:
        InputError: The year is not supported, the raw data cannot be found or used, or the output folder
            cannot be written.
        MissingDependencyError: `raw` is not set and the package `datasets` is not installed.
    """
    if year not in HUB:
        raise InputError(f"there is no AIME for {year}; choose one of {', '.join(map(str, HUB))}")
    recipe = replace(RECIPE, hub=HUB[year], to_row=partial(_to_row, year))
    return prepare_recipe(out_dir, recipe, settings or PrepSettings(), {"year": year}, progress)


def _to_row(year: int, raw_record: Record, context: RowContext) -> Row:
    record = replace(raw_record, values={name.lower(): v for name, v in raw_record.values.items()})
    problem = _problem(record)
    answer = _answer(record)
    return Row(
        data_source=f"aime{year}",
        prompt=chat(after(problem, context.instruction)),
        ability="math",
        ground_truth=answer,
        split=context.split,
        index=record.index,
        question=problem,
        answer=as_response(record.values.get("solution"), answer),
        metadata={name: record.values[name] for name in ("id", "url", "year") if name in record.values},
    )


def _problem(record: Record) -> str:
    if "prompt" in record.values:
        return published_chat(record, "prompt")[0]
    return record.text("question" if "question" in record.values else "problem")


def _answer(record: Record) -> str:
    """Return the published answer without leading zeros, for example `25` for `025`."""
    value = record.values.get("answer", value_at(record.values, "reward_model.ground_truth"))
    if value is None and isinstance(record.values.get("solution"), str):
        value = boxed_answer(record.text("solution"), record.where)
    text = str(value) if isinstance(value, int) else str(value or record.text("answer")).strip()
    text = text.removesuffix(".0").removesuffix("^\\circ")
    if not (text.isascii() and text.isdigit() and int(text) <= 999):
        raise InputError(f"{record.where}: 'answer' must be an integer from 0 to 999, found {text[:40]!r}")
    return str(int(text))


def as_response(solution: object, answer: str) -> str:
    """Return the published solution, if any, followed by a sentence with the final answer.

    The sentence is needed because many solutions end with a signature or an alternative solution.
    """
    final = f"The answer is \\boxed{{{answer}}}."
    return f"{solution.rstrip()}\n\n{final}" if isinstance(solution, str) and solution.strip() else final


RECIPE = Recipe(
    "aime", HUB[2024], partial(_to_row, 2024), INSTRUCTION, SplitLayout(TEST_ONLY, "test"), repeated=True
)
