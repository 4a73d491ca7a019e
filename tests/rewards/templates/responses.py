"""How a template becomes responses: what it is filled with, and what may stand around it. No rewards here.

A template is text with fields in braces (`{L}`); a right one must be paid for every question, a wrong one
for none. What may stand before it (reasoning) and after it (a sign-off) changes neither.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
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


DrawQuestion = Callable[[random.Random], tuple[str, dict[str, Any], dict[str, str]]]
"""Draws a ground truth, `extra_info` and the fields of templates."""


def cases(
    right: Sequence[str],
    wrong: Sequence[str],
    question: DrawQuestion,
    n: int,
    seed: int,
) -> Iterator[Case]:
    """Yield `n` cases, half of them right."""
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


def of_choice(questions: Sequence[Sequence[str]], mark: str = "{})") -> DrawQuestion:
    """Return what draws one of some multiple-choice questions, given as their options.

    Fields: letter, small letter and text of the right option {L} {l} {T}, of a wrong one {W} {w} {U}, of another
    {X} {x} {V}; {list}, a line for each option, whose letter stands in `mark`.
    """

    def question(draw: random.Random) -> tuple[str, dict[str, Any], dict[str, str]]:
        options = list(draw.choice(questions))
        draw.shuffle(options)
        right, wrong, other = draw.sample(range(len(options)), 3)
        letters = [chr(ord("A") + i) for i in range(len(options))]
        fields: dict[str, str] = {}
        for names, place in (("LlT", right), ("WwU", wrong), ("XxV", other)):
            values = (letters[place], letters[place].lower(), options[place].rstrip("."))
            fields |= dict(zip(names, values, strict=True))
        lines = (f"{mark.format(letter)} {text}" for letter, text in zip(letters, options, strict=True))
        return letters[right], {"choices": options}, {**fields, "list": "\n".join(lines)}

    return question


def of_qa(questions: Sequence[tuple[Sequence[str], Sequence[str]]]) -> DrawQuestion:
    """Return what draws one of some questions with short answers, given as accepted and wrong answers.

    Fields: {A} an accepted answer, {W} a wrong one, {X} another wrong one.
    """

    def question(draw: random.Random) -> tuple[str, dict[str, Any], dict[str, str]]:
        accepted, wrong = draw.choice(questions)
        first, second = draw.sample(wrong, 2)
        return json.dumps(list(accepted)), {}, {"A": draw.choice(accepted), "W": first, "X": second}

    return question


class _Fields(dict[str, str]):
    """Names a field that a template asks for in vain."""

    def __missing__(self, key: str) -> str:
        raise KeyError(f"template field {key}")
