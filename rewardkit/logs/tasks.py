"""Data sources that the names of other projects' tasks stand for: NeMo-Gym's agents, the tasks of verifiers,
lm-eval, lighteval and inspect. Names of columns are in `naming`."""

from __future__ import annotations

import re
from typing import Any

import rewardkit.rewards.declarations  # noqa: F401  (registers our rewards)
from rewardkit.registry import REGISTRY

_WORDS = {
    "gsm8k": ("gsm8k",),
    "math": ("math", "math500", "minerva", "aime", "aime24", "aime25", "amc", "olympiadbench"),
    "choice": ("mcq", "mcqa", "mmlu", "gpqa", "arc", "hellaswag", "multiple_choice", "multichoice"),
    "qa": ("qa", "hotpotqa", "triviaqa", "nq", "squad", "popqa", "string_match"),
    "code": ("humaneval", "human_eval", "mbpp", "livecodebench", "code_gen"),
    "instructions": ("ifeval", "ifbench"),
    "tool_call": ("bfcl",),
}
"""The words in the name of a task that tell its reward."""


def source_of_task(task: Any) -> str | None:
    """Return the data source that the name of a task stands for: itself where a reward has it, else the one
    that all of its telling words name, else itself, which no reward has. None for no name."""
    if not isinstance(task, str) or task in ("", "default"):
        return None
    if is_data_source(task):
        return task
    name = f"_{re.sub(r'[^a-z0-9]+', '_', task.casefold())}_"
    found = [source for source, words in _WORDS.items() if any(f"_{word}_" in name for word in words)]
    return found[0] if len(found) == 1 else task


def is_data_source(name: str) -> bool:
    """Return True where a reward has this data source."""
    return REGISTRY.find(name) is not None
