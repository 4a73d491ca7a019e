"""Ground truths that may be one text or several, and the `<answer>` of a response. No comparing here."""

from __future__ import annotations

from functools import lru_cache

import msgspec

from rewardkit.rewards.answers.place import seen, tags


@lru_cache(maxsize=65_536)
def texts(ground_truth: str) -> tuple[str, ...]:
    """Return the texts of a ground truth, a JSON list of strings or itself; none with nothing seen."""
    if ground_truth.startswith("["):
        try:
            found = msgspec.json.decode(ground_truth.encode(), type=list[str])
            return tuple(text for text in found if seen(text))
        except (msgspec.MsgspecError, UnicodeEncodeError):
            pass
    return (ground_truth,) if seen(ground_truth) else ()


def in_answer(text: str) -> str:
    """Return what stands in the `<answer>` that a text ends with, else the text."""
    text = text.strip()
    tag = next(tags(text), None) if text.endswith(">") else None
    return tag.text if tag and tag.end == len(text) else text
