"""HumanEval (Chen et al. 2021, arXiv:2107.03374) contains 164 Python functions to complete, with tests. There
is only a test split.

Raw files: `HumanEval.jsonl.gz` from github.com/openai/human-eval, or the parquet files from the hub.
evalplus/humanevalplus has the same columns and is also supported.

Raw columns: `task_id`, `prompt`, `entry_point`, `canonical_solution` and `test`.
"""

from __future__ import annotations

import json

from rewardkit.datasets_prep.common.layout import TEST_ONLY, SplitLayout
from rewardkit.datasets_prep.common.recipe import Recipe, RowContext
from rewardkit.datasets_prep.common.schema import Row, chat
from rewardkit.datasets_prep.common.sources import Hub, Record

DATA_SOURCE = "openai_humaneval"
INSTRUCTION = "Complete this Python function. Give the whole of it in one ```python block."


def _to_row(record: Record, context: RowContext) -> Row:
    prompt, entry, test = (record.text(name) for name in ("prompt", "entry_point", "test"))
    solution = f"{prompt}{record.text('canonical_solution')}"
    return Row(
        data_source=DATA_SOURCE,
        prompt=chat(f"{context.instruction}\n\n```python\n{prompt}```".lstrip()),
        ability="code",
        ground_truth=json.dumps({"entry_point": entry, "prompt": prompt, "test": test}),
        split=context.split,
        index=record.index,
        question=prompt,
        answer=f"```python\n{solution}\n```",
        metadata={"task_id": record.text("task_id"), "starter_code": prompt},
    )


RECIPE = Recipe(
    "humaneval",
    Hub("openai/openai_humaneval", None, ("test",), "its parquet file"),
    _to_row,
    INSTRUCTION,
    SplitLayout(TEST_ONLY, "test"),
)
prepare = RECIPE.prepare
