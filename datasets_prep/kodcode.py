"""KodCode (Xu et al. 2025, arXiv:2503.02951) contains synthetic programming tasks with solutions and pytest
functions.

Raw files: the parquet files for the split `train` in `data/` from KodCode/KodCode-V1. The split
`use_with_caution` is skipped.

Raw columns: `question`, `solution`, `test_code` or `test` (pytest functions that import from `solution`),
`test_info` (a list of objects with `function_name`), `subset`, `style` and `question_id`.
"""

from __future__ import annotations

from rewardkit.datasets_prep.common.layout import SplitLayout
from rewardkit.datasets_prep.common.programs import ProblemSet, ProgramProblem
from rewardkit.datasets_prep.common.sources import Hub, Record
from rewardkit.errors import InputError


def _problem(record: Record, max_tests: int | None) -> ProgramProblem:
    if max_tests is not None:
        raise InputError("kodcode has no option --max-tests")
    told = record.values.get("test_info") or [{}]
    first = told[0] if isinstance(told, list) and isinstance(told[0], dict) else {}
    return ProgramProblem(
        question=record.text("question"),
        ground_truth={"test_code": record.text("test" if "test" in record.values else "test_code")},
        solution=record.text("solution"),
        function=str(first.get("function_name") or ""),
    )


prepare = ProblemSet(
    "kodcode",
    Hub("KodCode/KodCode-V1", "default", ("train",), "the files train-*.parquet of data/"),
    metadata=("question_id", "subset", "style", "gpt_difficulty"),
    problem=_problem,
    layout=SplitLayout({"train": "train"}, ignore=("use_with_caution",)),
).prepare
