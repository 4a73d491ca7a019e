"""MATH (Hendrycks et al. 2021, arXiv:2103.03874) in the forms it is published in, and MATH-500.

Raw columns: `problem` and `solution`, whose last box holds the answer; MATH-500 states it in `answer` too.
`level` and `type` (in MATH-500 `subject`) go to the metadata. The original release is one JSON file for
each problem, in folders `train/algebra/...`; lighteval's and DigitalLearning's are tables of the same names.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rewardkit.datasets_prep.prepare import Limit, Prepared, Raw, SkipBad, prepare_source
from rewardkit.datasets_prep.schema import Row, chat
from rewardkit.datasets_prep.sources import Hub, Record, open_source
from rewardkit.datasets_prep.writer import Progress
from rewardkit.errors import InputError
from rewardkit.rewards.math import Options, extract

DATA_SOURCE = "DigitalLearningGmbH/MATH-lighteval"
HUB = Hub(DATA_SOURCE, "default", ("train", "test"), "the parquet files")
MATH_500 = "HuggingFaceH4/MATH-500"
INSTRUCTION = "Reason step by step, and put the final answer in \\boxed{}."

_METADATA = ("level", "type", "subject", "unique_id")
_IN_A_BOX = Options(methods=("boxed",))


def prepare(
    out_dir: Path,
    *,
    raw: Raw = None,
    instruction: Annotated[str, "Text after each problem; '' for none."] = INSTRUCTION,
    system: Annotated[str, "System message before each problem; '' for none."] = "",
    limit: Limit = None,
    skip_bad: SkipBad = False,
    progress: Progress | None = None,
) -> Prepared:
    """Write MATH to `out_dir`, as train.parquet and test.parquet as far as the raw data has them.

    The rows of MATH-500, told by its columns, get its own data source.

    Raises:
        InputError: the raw data cannot be found or used, or the folder cannot be written.
        MissingDependencyError: no `raw`, and the package `datasets` is not installed.
    """
    source = open_source(raw, HUB)

    def to_row(record: Record, split: str) -> Row:
        problem, solution = record.text("problem"), record.text("solution")
        return Row(
            data_source=MATH_500 if "unique_id" in record.values else DATA_SOURCE,
            prompt=chat(f"{problem} {instruction}".rstrip(), system),
            ability="math",
            ground_truth=record.text("answer")
            if "answer" in record.values
            else boxed_answer(solution, record.where),
            split=split,
            index=record.index,
            question=problem,
            answer=solution,
            metadata={name: record.values[name] for name in _METADATA if name in record.values},
        )

    return prepare_source(
        out_dir,
        "math",
        source,
        # Not refuse_repeats: the published sets hold a few problems twice.
        to_row,
        limit=limit,
        skip_bad=skip_bad,
        arguments={"instruction": instruction, "system": system},
        progress=progress,
    )


def boxed_answer(solution: str, where: str) -> str:
    """Return what the last box of a solution holds.

    Raises:
        InputError: there is no box.
    """
    found = extract(solution, _IN_A_BOX).answer
    if found is None:
        raise InputError(f"{where}: 'solution' has no \\boxed{{}} with its answer")
    return found
