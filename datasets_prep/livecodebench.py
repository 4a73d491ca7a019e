"""LiveCodeBench (Jain et al. 2024, arXiv:2403.07974): contest problems by date of release. CC.

Raw columns: `question_title`, `question_content`, `platform`, `question_id`, `contest_date`, `starter_code`,
`difficulty`, `public_test_cases` (JSON), `private_test_cases` (JSON, or base64 of zlib of a pickled JSON
text, which is read without unpickling), `metadata` (JSON with `func_name`). A test set without solutions.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

from rewardkit.datasets_prep.code import INSTRUCTION, Problem, Style, decode, optional_text
from rewardkit.datasets_prep.code import to_row as code_row
from rewardkit.datasets_prep.prepare import Prepared, prepare_source
from rewardkit.datasets_prep.schema import Row
from rewardkit.datasets_prep.sources import Hub, Record, open_source
from rewardkit.datasets_prep.writer import Progress
from rewardkit.errors import InputError
from rewardkit.rewards.code.truth import TruthError, unpack

DATA_SOURCE = "livecodebench/code_generation_lite"
HUB = Hub(DATA_SOURCE, "release_latest", ("test",), "test*.jsonl")
METADATA = ("question_id", "question_title", "platform", "difficulty", "contest_id", "contest_date")


def prepare(
    out_dir: Path,
    *,
    raw: Annotated[Path | None, "File or folder with the raw dataset; without it, the hub."] = None,
    instruction: Annotated[str, "Text at the end of each prompt; '' for none."] = INSTRUCTION,
    system: Annotated[str, "System message before each question; '' for none."] = "",
    max_tests: Annotated[int | None, "Keep only the first tests of each problem."] = None,
    limit: Annotated[int | None, "Keep only the first rows of each split."] = None,
    skip_bad: Annotated[bool, "Drop and count rows that cannot be used."] = False,
    progress: Progress | None = None,
) -> Prepared:
    """Write LiveCodeBench to `out_dir` as test.parquet.

    Raises:
        InputError: the raw data cannot be found or used, or the folder cannot be written.
        MissingDependencyError: no `raw`, and the package `datasets` is not installed.
    """
    style = Style(DATA_SOURCE, instruction, system, max_tests)
    source = open_source(raw, HUB)

    def to_row(record: Record, split: str) -> Row:
        return code_row(record, split, _problem(record, max_tests), style, METADATA)

    return prepare_source(
        out_dir,
        "livecodebench",
        source,
        to_row,
        limit=limit,
        skip_bad=skip_bad,
        arguments=style.arguments(),
        progress=progress,
    )


def _problem(record: Record, max_tests: int | None) -> Problem:
    cases = [*decode(record, "public_test_cases", list), *_private(record)][:max_tests]
    metadata = decode(record, "metadata", dict) if optional_text(record, "metadata") else {}
    function = metadata.get("func_name") or ""
    return Problem(
        question=record.text("question_content"),
        # One list: the reward judges by all of them alike.
        truth={"public_test_cases": cases, "metadata": {"func_name": function} if function else {}},
        starter=optional_text(record, "starter_code"),
        function=function,
    )


def _private(record: Record) -> list[Any]:
    column = "private_test_cases"
    text = optional_text(record, column)
    if not text:
        return []
    if text.lstrip().startswith("["):
        return list(decode(record, column, list))
    try:
        cases = json.loads(unpack(text))
    except (TruthError, ValueError, RecursionError) as error:
        raise InputError(f"{record.where}: '{column}': {str(error)[:160]}") from None
    if not isinstance(cases, list):
        raise InputError(f"{record.where}: '{column}' must pack a JSON list, found {type(cases).__name__}")
    return cases
