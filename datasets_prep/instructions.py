"""IFEval (Zhou et al. 2023, arXiv:2311.07911) and IFBench contain prompts with instructions that a program
can verify. Both datasets have only a test split and no reference responses.

Raw files for IFEval: `input_data.jsonl` from google-research, or `ifeval_input_data.jsonl` from the hub.

Raw files for IFBench: `IFBench_test.jsonl`, or the parquet files from the hub.

Raw columns: `key`, `prompt`, `instruction_id_list` and `kwargs`. `kwargs` contains one object of arguments
per instruction. Unused arguments can be missing or null.
"""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from rewardkit.datasets_prep.common.layout import TEST_ONLY, SplitLayout
from rewardkit.datasets_prep.common.recipe import Recipe, RowContext
from rewardkit.datasets_prep.common.schema import Row, chat
from rewardkit.datasets_prep.common.sources import Hub, Record
from rewardkit.errors import InputError


def _to_row(data_source: str, record: Record, context: RowContext) -> Row:
    prompt = record.text("prompt")
    names = record.texts("instruction_id_list")
    given = [_used(kwargs, record.where) for kwargs in _list(record)]
    if len(given) != len(names):
        raise InputError(
            f"{record.where}: 'instruction_id_list' has {len(names)} entries, but 'kwargs' has {len(given)}"
        )
    return Row(
        data_source=data_source,
        prompt=chat(f"{prompt} {context.instruction}" if context.instruction else prompt),
        ability="instructions",
        ground_truth=json.dumps({"instruction_id_list": names, "kwargs": given}, ensure_ascii=False),
        split=context.split,
        index=record.index,
        question=prompt,
        answer="",
        metadata={"key": record.values.get("key")},
    )


def _list(record: Record) -> list[Any]:
    value = record.value("kwargs")
    if not isinstance(value, list):
        raise InputError(f"{record.where}: 'kwargs' must be a list, found {type(value).__name__}")
    return value


def _used(kwargs: Any, where: str) -> dict[str, Any]:
    """Return the arguments that are not null. In parquet files, every object has all argument names."""
    try:
        kwargs = {} if kwargs is None else json.loads(kwargs) if isinstance(kwargs, str) else kwargs
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: an entry of 'kwargs' is not valid JSON: {str(error)[:80]}") from None
    if not isinstance(kwargs, dict):
        raise InputError(f"{where}: each entry of 'kwargs' must be an object, found {type(kwargs).__name__}")
    return {name: value for name, value in kwargs.items() if value is not None}


_TEST = SplitLayout(TEST_ONLY, "test")
RECIPES = {
    "ifeval": Recipe(
        "ifeval",
        Hub("google/IFEval", None, ("train",), "ifeval_input_data.jsonl"),
        partial(_to_row, "google/IFEval"),
        layout=_TEST,
    ),
    "ifbench": Recipe(
        "ifbench",
        Hub("allenai/IFBench_test", None, ("train",), "IFBench_test.jsonl"),
        partial(_to_row, "allenai/IFBench"),
        layout=_TEST,
    ),
}
