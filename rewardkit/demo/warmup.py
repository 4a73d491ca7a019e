"""Worked answers for SFT, after which a model knows some arithmetic and sometimes answers in format.

Two in seven end in `#### N`; the rest say the number in words. Sampled, the model is then right and in format
about one time in five: the usual state of a small model before reinforcement.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from rewardkit.trainer.batch import PromptRow

STEPS = 180
FORMATS = ("#### {}", "The answer is {}.", "So {}.", "The answer is {}.", "#### {}", "So {}.", "So {}.")
"""Two in seven are the format that is rewarded; no format is common enough to be the only one."""


def write_demonstrations(rows: Sequence[PromptRow], path: Path) -> None:
    """Write prompts with a worked answer each, as `rewardkit sft` reads them."""
    lines = ({"prompt": row.prompt, "response": demonstration(row, i)} for i, row in enumerate(rows))
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")


def demonstration(row: PromptRow, number: int) -> str:
    """Return the worked answer in one of three formats, chosen by its number."""
    work, _, answer = row.extra_info["answer"].rpartition("\n#### ")
    return f"{work}\n" + FORMATS[number % len(FORMATS)].format(answer)
