"""How a template becomes responses: what it is filled with, and what may stand around it. No rewards here.

A template is text with fields in braces (`{L}`); a right one must be paid for every question, a wrong one
for none. What may stand before it (reasoning) and after it (a sign-off) changes neither.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

REASONING = (
    "",
    "Let me think about this step by step.\n\n",
    "To solve this, I need to recall the relevant facts. I considered each possibility in turn.\n\n",
    "<think>\nHmm, what do I know about this? Let me go through it carefully.\n</think>\n\n",
    "## Solution\n\nFirst, read the question. Second, compare what it asks with what is known.\n\n",
    "Okay, so this is about general knowledge. In conclusion, I am sure of the following.\n\n",
)

SIGN_OFFS = (
    "",
    "\n",
    "<|im_end|>",
    "\n\nI hope this helps!",
    "</s>",
    "\n\nLet me know if anything is unclear.",
)


@dataclass(frozen=True)
class Case:
    """One response and what it must be paid."""

    response: str
    ground_truth: str
    right: bool
    template: str
    extra_info: dict[str, Any] = field(default_factory=dict)
    prompt: str | None = None
    listed: bool = True
    """Whether the ground truth lists the wording of a right answer."""


def cases(
    right: Sequence[str],
    wrong: Sequence[str],
    question: Callable[[random.Random], tuple[str, dict[str, Any], Mapping[str, str]]],
    n: int,
    seed: int,
) -> Iterator[Case]:
    """Yield `n` cases, half of them right. `question` draws a ground truth, extra_info and the fields."""
    draw = random.Random(seed)
    for i in range(n):
        is_right = i % 2 == 0
        templates = right if is_right else wrong
        template = templates[i // 2 % len(templates)]
        ground_truth, extra_info, fields = question(draw)
        # A template that fixes the whole response stands alone.
        alone = template.startswith("^")
        text = template.removeprefix("^").format_map(_Fields(fields))
        if not alone:
            text = draw.choice(REASONING) + text + draw.choice(SIGN_OFFS)
        yield Case(text, ground_truth, is_right, template, extra_info)


class _Fields(dict[str, str]):
    """Names a field that a template asks for in vain."""

    def __missing__(self, key: str) -> str:
        raise KeyError(f"template field {key}")
