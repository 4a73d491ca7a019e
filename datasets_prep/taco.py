"""TACO (Li et al. 2023, arXiv:2312.14852): 25,443 + 1,000 algorithmic problems. Apache-2.0.

Raw columns: those of APPS (`question`, `solutions`, `input_output`, `starter_code`, `difficulty`, `url`), and
`name`, `source`, `tags`, `skill_types`, `time_limit`, `memory_limit`, `date`. Problems published without
tests are bad rows.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from rewardkit.datasets_prep.code import INSTRUCTION, Style, inputs_outputs_row
from rewardkit.datasets_prep.prepare import Prepared, prepare_source
from rewardkit.datasets_prep.schema import Row
from rewardkit.datasets_prep.sources import Hub, Record, open_source
from rewardkit.datasets_prep.writer import Progress

DATA_SOURCE = "BAAI/TACO"
HUB = Hub(DATA_SOURCE, None, ("train", "test"), "its train and test files")
METADATA = (
    "name",
    "source",
    "difficulty",
    "tags",
    "skill_types",
    "time_limit",
    "memory_limit",
    "date",
    "url",
)


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
    """Write TACO to `out_dir` as train.parquet and test.parquet.

    Raises:
        InputError: the raw data cannot be found or used, or the folder cannot be written.
        MissingDependencyError: no `raw`, and the package `datasets` is not installed.
    """
    style = Style(DATA_SOURCE, instruction, system, max_tests)
    source = open_source(raw, HUB)

    def to_row(record: Record, split: str) -> Row:
        return inputs_outputs_row(record, split, style, METADATA)

    return prepare_source(
        out_dir,
        "taco",
        source,
        to_row,
        limit=limit,
        skip_bad=skip_bad,
        arguments=style.arguments(),
        progress=progress,
    )
