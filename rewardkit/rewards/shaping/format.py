"""Reward `think_format`, for one `<think>` block at the start that is followed by text or by one `<answer>`.

This is stricter than the patterns of TRL and open-r1, which accept an empty thought, a second `</think>` and
text after the answer. Each tag must occur exactly once, in order, and no part may be empty. Special tokens at
the end do not count as text. If the chat template opens the thought itself, set `opened=True`, so that the
response need not contain `<think>`.
"""

from __future__ import annotations

from dataclasses import dataclass

from rewardkit.rewards.answers.place import seen
from rewardkit.special_tokens import strip_end
from rewardkit.types import Sample, Score


@dataclass(frozen=True)
class FormatOptions:
    """Options for the think_format reward."""

    answer: bool = False
    """True to require exactly one `<answer>...</answer>` block, and no other text, after the thoughts."""
    opened: bool = False
    """True if the chat template already adds `<think>` to the prompt. The response must then not contain
    `<think>`."""


def think_format(sample: Sample, options: FormatOptions) -> Score:
    """Score 1.0 for the right format and 0.0 for any other format."""
    text = strip_end(sample.response).removeprefix("\ufeff").strip()
    why = _fault(text, options)
    return Score(float(why is None), detail=why or "in format")


def _fault(text: str, options: FormatOptions) -> str | None:
    """Return the error in the format of a response, or None if there is no error."""
    expected = 0 if options.opened else 1
    if text.count("<think>") != expected or text.count("</think>") != 1:
        return "expected exactly one thought (<think>...</think>)"
    if expected and not text.startswith("<think>"):
        return "there is text before the thought"
    thought, _, said = text.removeprefix("<think>").partition("</think>")
    said = said.strip()
    if not seen(thought) or not seen(said):
        return "the thought or the text after it is empty"
    if not options.answer:
        return None
    if said.count("<answer>") != 1 or said.count("</answer>") != 1:
        return "expected exactly one <answer>...</answer>"
    inside = said.startswith("<answer>") and said.endswith("</answer>")
    return None if inside and seen(said[8:-9]) else "there is text outside the answer, or the answer is empty"
