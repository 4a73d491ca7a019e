"""Reward `diversity`, the difference of a response from the other responses to its prompt, from 0 to 1.

The score is 1 minus the mean Jaccard similarity between the word n-grams of the response and those of each
other response. The score does not depend on correctness, and gibberish is diverse, so use this reward only
behind a gate. An empty response scores 0. A response that is the only one to its prompt also scores 0.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from statistics import fmean

from rewardkit.special_tokens import strip_end
from rewardkit.types import Sample, Score

_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|\w+")
_MAX_CHARS = 50_000


@dataclass(frozen=True)
class DiversityOptions:
    """Options for the diversity reward."""

    n: int = 3
    """Number of words in an n-gram."""

    def __post_init__(self) -> None:
        """Check that n-grams have at least one word."""
        if self.n < 1:
            raise ValueError(f"n is {self.n}; expected 1 or more")


def diversity(samples: list[Sample], options: DiversityOptions) -> list[Score]:
    """Score the responses of one group."""
    grams = [_grams(strip_end(sample.response), options.n) for sample in samples]
    others = f"compared with {len(samples) - 1} other responses"
    return [Score(_apart(grams, i), detail=f"{others}, {options.n}-grams") for i in range(len(samples))]


def _grams(text: str, n: int) -> frozenset[tuple[str, ...]]:
    words = _WORD.findall(text[:_MAX_CHARS].lower())
    if not words:
        return frozenset()
    return frozenset(zip(*(words[i:] for i in range(min(n, len(words)))), strict=False))


def _apart(grams: list[frozenset[tuple[str, ...]]], i: int) -> float:
    mine = grams[i]
    others = [other for j, other in enumerate(grams) if j != i]
    if not mine or not others:
        return 0.0
    return 1.0 - fmean(len(mine & other) / len(mine | other) for other in others)
