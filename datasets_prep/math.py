"""MATH (Hendrycks et al. 2021, arXiv:2103.03874) and its subset MATH-500 contain competition problems.

Raw files: the original files `MATH/{train,test}/SUBJECT/N.json` with one problem per file, the parquet or
jsonl versions from lighteval, DigitalLearningGmbH and EleutherAI, or `test.jsonl` from
HuggingFaceH4/MATH-500.

Raw columns: `problem` and `solution`. The answer is in the last box in the solution. MATH-500 also has the
column `answer`. The columns `level` and `type` (`subject` in MATH-500) are kept as metadata.
"""

from __future__ import annotations

from rewardkit.datasets_prep.common.layout import TEST_ONLY, SplitLayout
from rewardkit.datasets_prep.common.prompts import after
from rewardkit.datasets_prep.common.recipe import Recipe, RowContext
from rewardkit.datasets_prep.common.schema import Row, chat
from rewardkit.datasets_prep.common.sources import Hub, Record
from rewardkit.errors import InputError
from rewardkit.rewards.math import MathOptions, compare, extract

DATA_SOURCE = "DigitalLearningGmbH/MATH-lighteval"
MATH_500 = "HuggingFaceH4/MATH-500"
INSTRUCTION = "Reason step by step, and put the final answer in \\boxed{}."

_METADATA = ("level", "type", "subject", "unique_id")
_IN_A_BOX = MathOptions(methods=("boxed",))


def _to_row(record: Record, context: RowContext) -> Row:
    problem = record.text("problem")
    solution = record.text("solution")
    stated = record.text("answer") if "answer" in record.values else None
    return Row(
        # Only rows of MATH-500 have the column `unique_id`.
        data_source=MATH_500 if "unique_id" in record.values else DATA_SOURCE,
        prompt=chat(after(problem, context.instruction)),
        ability="math",
        ground_truth=stated or boxed_answer(solution, record.where),
        split=context.split,
        index=record.index,
        question=problem,
        answer=solution,
        metadata={name: record.values[name] for name in _METADATA if name in record.values},
    )


def boxed_answer(solution: str, where: str) -> str:
    """Return the content of the last box in a solution, or a list of the contents if adjacent boxes differ.

    Raises:
        InputError: The solution has no box.
    """
    found = extract(solution, _IN_A_BOX)
    if found.answer is None:
        raise InputError(f"{where}: 'solution' has no \\boxed{{}} with its answer")
    *others, last = found.parts or (found.answer,)
    return last if all(compare(last, other).equal for other in others) else found.answer


# Repeated rows are kept, because a few problems occur twice in the published datasets.
RECIPE = Recipe(
    "math",
    Hub(DATA_SOURCE, "default", ("train", "test"), "the parquet files"),
    _to_row,
    INSTRUCTION,
)
math500 = Recipe(
    "math500",
    Hub(MATH_500, "default", ("test",), "test.jsonl"),
    _to_row,
    INSTRUCTION,
    SplitLayout(TEST_ONLY, "test"),
)
prepare = RECIPE.prepare
