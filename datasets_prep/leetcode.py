"""LeetCodeDataset (Xia et al. 2025, arXiv:2504.14655) contains LeetCode problems with many tests each. Train
and test are separated by date.

Raw files: `LeetCodeDataset-vVERSION-{train, test}.jsonl(.gz)` from github.com/newfacade/LeetCodeDataset or
from the hub.

Raw columns: `task_id`, `problem_description`, `starter_code`, `prompt` (imports and helper functions),
`completion`, `entry_point` (`Solution().name`), `test` (defines `check`), `difficulty` and `tags`. Versions
before v0.3.1 contain the description only in the column `query`. The column `input_output` is not used,
because many of its outputs are error messages.
"""

from __future__ import annotations

from rewardkit.datasets_prep.common.programs import ProblemSet, ProgramProblem, optional_text
from rewardkit.datasets_prep.common.sources import Hub, Record
from rewardkit.errors import InputError


def _problem(record: Record, max_tests: int | None) -> ProgramProblem:
    if max_tests is not None:
        raise InputError("leetcode has no option --max-tests")
    prompt, test, entry = (record.text(name) for name in ("prompt", "test", "entry_point"))
    return ProgramProblem(
        question=optional_text(record, "problem_description") or record.text("query"),
        ground_truth={"prompt": prompt, "test": test, "entry_point": entry},
        solution=optional_text(record, "completion"),
        starter=optional_text(record, "starter_code"),
    )


prepare = ProblemSet(
    "leetcode",
    Hub(
        "newfacade/LeetCodeDataset", None, ("train", "test"), "LeetCodeDataset-*-train.jsonl and -test.jsonl"
    ),
    metadata=("task_id", "question_id", "difficulty", "tags", "estimated_date", "entry_point"),
    problem=_problem,
).prepare
