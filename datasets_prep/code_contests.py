"""CodeContests (Li et al. 2022, arXiv:2203.07814): problems with up to hundreds of tests each. CC-BY-4.0.

Raw columns: `name`, `description`, `public_tests`, `private_tests`, `generated_tests` (each of two lists,
`input` and `output`), `solutions` (lists `language`, `solution`), `time_limit`, `memory_limit_bytes`. The
limits are kept as metadata only: they were set for other machines and, often, other languages.
"""

from __future__ import annotations

from typing import Any

from rewardkit.datasets_prep.code import Problem, ProblemSet, optional_text
from rewardkit.datasets_prep.sources import Hub, Record
from rewardkit.errors import InputError

PYTHON3 = 3
"""The set's code for the language; 1 is Python 2."""
TESTS = ("public_tests", "private_tests", "generated_tests")


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


prepare = ProblemSet(
    "code_contests",
    Hub("deepmind/code_contests", None, ("train", "test"), "the train and test files of data/"),
    metadata=("name", "source", "difficulty", "cf_rating", "cf_tags", "time_limit", "memory_limit_bytes"),
    problem=_problem,
).prepare
