"""HumanEval (Chen et al. 2021, arXiv:2107.03374): 164 functions to complete, each with its tests. MIT.

Raw columns: `task_id`, `prompt`, `entry_point`, `canonical_solution`, `test`. It is a test set: there is no
train split.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from rewardkit.datasets_prep.prepare import Prepared, Raw, SkipBad, System, prepare_source, refuse_repeats
from rewardkit.datasets_prep.schema import Row, chat
from rewardkit.datasets_prep.sources import Hub, Record, Source, open_source
from rewardkit.datasets_prep.writer import Progress

DATA_SOURCE = "openai_humaneval"
HUB = Hub("openai/openai_humaneval", None, ("test",), "its parquet file")
INSTRUCTION = "Complete this Python function. Give the whole of it in one ```python block."


def prepare(
    out_dir: Path,
    *,
    raw: Raw = None,
    instruction: Annotated[str, "Text before each function; '' for none."] = INSTRUCTION,
    system: System = "",
    limit: Annotated[int | None, "Keep only the first rows."] = None,
    skip_bad: SkipBad = False,
    progress: Progress | None = None,
) -> Prepared:
    """Write HumanEval to `out_dir` as test.parquet.

    Raises:
        InputError: the raw data cannot be found or used, or the folder cannot be written.
        MissingDependencyError: no `raw`, and the package `datasets` is not installed.
    """
    source = _as_test(open_source(raw, HUB))

    def to_row(record: Record, split: str) -> Row:
        prompt, entry, test = (record.text(name) for name in ("prompt", "entry_point", "test"))
        solution = f"{prompt}{record.text('canonical_solution')}"
        return Row(
            data_source=DATA_SOURCE,
            prompt=chat(f"{instruction}\n\n```python\n{prompt}```".lstrip(), system),
            ability="code",
            ground_truth=json.dumps({"entry_point": entry, "prompt": prompt, "test": test}),
            split=split,
            index=record.index,
            question=prompt,
            answer=f"```python\n{solution}\n```",
            metadata={"task_id": record.text("task_id"), "starter_code": prompt},
        )

    return prepare_source(
        out_dir,
        "humaneval",
        source,
        refuse_repeats(to_row),
        limit=limit,
        skip_bad=skip_bad,
        arguments={"instruction": instruction, "system": system},
        progress=progress,
    )


def _as_test(source: Source) -> Source:
    """The published file names no split, and is all there is."""
    return replace(source, splits={"test": next(iter(source.splits.values()))})
