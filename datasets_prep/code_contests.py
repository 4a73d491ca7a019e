"""CodeContests (Li et al. 2022, arXiv:2203.07814) contains contest problems, some with hundreds of tests.

Raw columns: `name`, `description`, `public_tests`, `private_tests`, `generated_tests`, `solutions`,
`time_limit` and `memory_limit_bytes`. Each column with tests contains two lists, `input` and `output`. The
column `solutions` contains the lists `language` and `solution`.

The time limit is stored with the tests. The reward multiplies it by a factor, because it was set for compiled
languages. The memory limit is stored as metadata but is not enforced.
"""

from __future__ import annotations

import itertools
from typing import Any

from rewardkit.datasets_prep.common.layout import ALL_THREE, SplitLayout
from rewardkit.datasets_prep.common.programs import ProblemSet, ProgramProblem, optional_text
from rewardkit.datasets_prep.common.sources import Hub, Record
from rewardkit.datasets_prep.common.verification import MOST
from rewardkit.errors import InputError

PYTHON3 = 3
"""Language code for Python 3 in the dataset. The code for Python 2 is 1."""
TESTS = ("public_tests", "private_tests", "generated_tests")


def _problem(record: Record, max_tests: int | None) -> ProgramProblem:
    for column in ("input_file", "output_file"):
        if name := optional_text(record, column):
            raise InputError(
                f"{record.where}: '{column}' is {name[:40]!r}, but only standard input and output are "
                "supported"
            )
    tests = [test for column in TESTS for test in _pairs(record, column, "input", "output")][:max_tests]
    ground_truth: dict[str, Any] = {
        "inputs": [given for given, _ in tests],
        "outputs": [wanted for _, wanted in tests],
    }
    if seconds := _seconds(record.values.get("time_limit")):
        ground_truth["time_limit"] = seconds
    solutions = _pairs(record, "solutions", "language", "solution")
    programs = (program for language, program in solutions if language == PYTHON3)
    solution, *others = [*itertools.islice(dict.fromkeys(programs), MOST)] or [""]
    return ProgramProblem(
        question=record.text("description"),
        ground_truth=ground_truth,
        solution=solution,
        others=tuple(others),
    )


def _seconds(limit: Any) -> float:
    """Convert a time limit, given as `{seconds, nanos}` or a number, to seconds.

    A missing limit becomes 0.
    """
    if isinstance(limit, dict):
        return float(limit.get("seconds") or 0) + float(limit.get("nanos") or 0) / 1e9
    return float(limit) if isinstance(limit, int | float) else 0.0


def _pairs(record: Record, column: str, first: str, second: str) -> list[tuple[Any, Any]]:
    """Pair the items in two lists of equal length in a column. A missing column gives an empty list."""
    lists = record.values.get(column) or {first: [], second: []}
    left, right = (lists.get(name) if isinstance(lists, dict) else None for name in (first, second))
    if not isinstance(left, list) or not isinstance(right, list) or len(left) != len(right):
        raise InputError(
            f"{record.where}: '{column}' must contain two lists '{first}' and '{second}' of equal length"
        )
    return list(zip(left, right, strict=True))


prepare = ProblemSet(
    "code_contests",
    Hub("deepmind/code_contests", None, ("train", "valid", "test"), "the train and test files of data/"),
    metadata=("name", "source", "difficulty", "cf_rating", "cf_tags", "time_limit", "memory_limit_bytes"),
    problem=_problem,
    layout=SplitLayout(ALL_THREE),
).prepare
