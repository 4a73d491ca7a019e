"""CodeContests (Li et al. 2022, arXiv:2203.07814): problems with up to hundreds of tests each. CC-BY-4.0.

Raw columns: `name`, `description`, `public_tests`, `private_tests`, `generated_tests` (each of two lists,
`input` and `output`), `solutions` (lists `language`, `solution`), `time_limit`, `memory_limit_bytes`. The
limits are kept as metadata only: they were set for other machines and, often, other languages.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from rewardkit.datasets_prep.code import INSTRUCTION, Problem, Style, optional_text
from rewardkit.datasets_prep.code import to_row as code_row
from rewardkit.datasets_prep.prepare import Prepared, prepare_source
from rewardkit.datasets_prep.schema import Row
from rewardkit.datasets_prep.sources import Hub, Record, open_source
from rewardkit.datasets_prep.writer import Progress
from rewardkit.errors import InputError

DATA_SOURCE = "deepmind/code_contests"
HUB = Hub(DATA_SOURCE, None, ("train", "test"), "the train and test files of data/")
METADATA = ("name", "source", "difficulty", "cf_rating", "cf_tags", "time_limit", "memory_limit_bytes")
PYTHON3 = 3
"""The set's code for the language; 1 is Python 2."""
TESTS = ("public_tests", "private_tests", "generated_tests")


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
    """Write CodeContests to `out_dir` as train.parquet and test.parquet.

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
        "code_contests",
        source,
        to_row,
        limit=limit,
        skip_bad=skip_bad,
        arguments=style.arguments(),
        progress=progress,
    )


def _problem(record: Record, max_tests: int | None) -> Problem:
    for column in ("input_file", "output_file"):
        if name := optional_text(record, column):
            raise InputError(
                f"{record.where}: '{column}' is {name[:40]!r}; expected standard input and output"
            )
    tests = [test for column in TESTS for test in _pairs(record, column, "input", "output")][:max_tests]
    solutions = _pairs(record, "solutions", "language", "solution")
    return Problem(
        question=record.text("description"),
        truth={"inputs": [given for given, _ in tests], "outputs": [wanted for _, wanted in tests]},
        solution=next((program for language, program in solutions if language == PYTHON3), ""),
    )


def _pairs(record: Record, column: str, first: str, second: str) -> list[tuple[Any, Any]]:
    """The items of two lists of one length in a column, which may be missing."""
    lists = record.values.get(column) or {first: [], second: []}
    left, right = (lists.get(name) if isinstance(lists, dict) else None for name in (first, second))
    if not isinstance(left, list) or not isinstance(right, list) or len(left) != len(right):
        raise InputError(f"{record.where}: '{column}' must hold lists '{first}' and '{second}' of one length")
    return list(zip(left, right, strict=True))
