"""Worked answers for SFT, from which a model learns some arithmetic and sometimes the answer format.

Two in seven answers end in `#### N`, and the others state the number in a sentence. After SFT, about one in
five sampled responses is both right and in the rewarded format, as is usual for a small model before
reinforcement learning.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from rewardkit.trainer.batch import PromptRow

STEPS = 180
FORMATS = ("#### {}", "The answer is {}.", "So {}.", "The answer is {}.", "#### {}", "So {}.", "So {}.")
"""Formats of answers.

Two in seven formats are rewarded. No format is so frequent that a model learns only that format.
"""


def write_demonstrations(rows: Sequence[PromptRow], path: Path) -> None:
    """Write prompts with worked answers to a file that `rewardkit sft` can read."""
    lines = ({"prompt": row.prompt, "response": demonstration(row, i)} for i, row in enumerate(rows))
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")


def demonstration(row: PromptRow, number: int) -> str:
    """Return the worked answer to a prompt in one of three formats, chosen by the row's number."""
    work, _, answer = row.extra_info["answer"].rpartition("\n#### ")
    return f"{work}\n" + FORMATS[number % len(FORMATS)].format(answer)
