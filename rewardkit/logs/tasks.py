"""Data sources for the names of tasks in NeMo-Gym, verifiers, lm-eval, lighteval and inspect.

The module `naming` contains the names of columns.
"""

from __future__ import annotations

import re
from typing import Any

import rewardkit.rewards.declarations  # noqa: F401  (registers rewardkit's rewards)
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
"""Words in the name of a task, by the data source that they identify."""


def source_of_task(task: Any) -> str | None:
    """Return the data source for the name of a task, or None if there is no name.

    The name itself is returned if it is a data source with a reward. Otherwise, the words in the name
    determine the data source. If the words are ambiguous or unknown, the name is returned even though no
    reward is registered for it.
    """
    if not isinstance(task, str) or task in ("", "default"):
        return None
    if is_data_source(task):
        return task
    name = f"_{re.sub(r'[^a-z0-9]+', '_', task.casefold())}_"
    found = [source for source, words in _WORDS.items() if any(f"_{word}_" in name for word in words)]
    return found[0] if len(found) == 1 else task


def is_data_source(name: str) -> bool:
    """Return True if a reward is registered for this data source."""
    return REGISTRY.find(name) is not None
