"""Reads ground truths with one or several texts, and the `<answer>` in a response."""

from __future__ import annotations

from functools import lru_cache

import msgspec

from rewardkit.rewards.answers.place import seen, tags


@lru_cache(maxsize=65_536)
def texts(ground_truth: str) -> tuple[str, ...]:
    """Return the non-blank texts in a ground truth, which is a JSON list of strings or a single text."""
    if ground_truth.startswith("["):
        try:
            found = msgspec.json.decode(ground_truth.encode(), type=list[str])
            return tuple(text for text in found if seen(text))
        except (msgspec.MsgspecError, UnicodeEncodeError):
            pass
    return (ground_truth,) if seen(ground_truth) else ()


def in_answer(text: str) -> str:
    """Return the content of the `<answer>` at the end of a text, or the whole text if there is none."""
    text = text.strip()
    tag = next(tags(text), None) if text.endswith(">") else None
    return tag.text if tag and tag.end == len(text) else text
