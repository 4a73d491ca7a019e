"""LiveCodeBench (Jain et al. 2024, arXiv:2403.07974) contains recent contest problems with their release
dates. There is only a test split, and it has no solutions.

Raw columns: `question_title`, `question_content`, `platform`, `question_id`, `contest_date`, `starter_code`,
`difficulty`, `public_test_cases` (JSON), `private_test_cases` and `metadata` (JSON with `func_name`).
`private_test_cases` is JSON, or JSON that is pickled, compressed with zlib and encoded in base64. The pickled
data is decoded without running pickle.
"""

from __future__ import annotations

import json
from typing import Any

from rewardkit.datasets_prep.common.layout import TEST_ONLY, SplitLayout
from rewardkit.datasets_prep.common.programs import ProblemSet, ProgramProblem, decode, optional_text
from rewardkit.datasets_prep.common.sources import Hub, Record
from rewardkit.errors import InputError
from rewardkit.rewards.code.forms import unpack
from rewardkit.rewards.code.problem import GroundTruthError


def _problem(record: Record, max_tests: int | None) -> ProgramProblem:
    cases = [*decode(record, "public_test_cases", list), *_private(record)][:max_tests]
    metadata = decode(record, "metadata", dict) if optional_text(record, "metadata") else {}
    function = metadata.get("func_name") or ""
    return ProgramProblem(
        question=record.text("question_content"),
        # Public and private cases are merged, because the reward treats them alike.
        ground_truth={"public_test_cases": cases, "metadata": {"func_name": function} if function else {}},
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
    except (GroundTruthError, ValueError, RecursionError) as error:
        raise InputError(f"{record.where}: cannot unpack '{column}': {str(error)[:160]}") from None
    if not isinstance(cases, list):
        raise InputError(
            f"{record.where}: '{column}' must contain a packed JSON list, found {type(cases).__name__}"
        )
    return cases


prepare = ProblemSet(
    "livecodebench",
    Hub("livecodebench/code_generation_lite", "release_latest", ("test",), "test*.jsonl", script=True),
    metadata=("question_id", "question_title", "platform", "difficulty", "contest_id", "contest_date"),
    problem=_problem,
    layout=SplitLayout(TEST_ONLY, "test"),
).prepare
