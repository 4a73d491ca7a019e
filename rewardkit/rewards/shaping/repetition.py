"""Reward `repetition`, a penalty for repeated word n-grams (as in open-r1, but with bounded work)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rewardkit.special_tokens import strip_end
from rewardkit.types import Sample, Score

_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|\b\w{1,64}\b|\w|[^\w\s]")
"""Pattern for a word, a sign (because signs can also repeat), or one character in a script without spaces.
Runs that are longer than any word are split into characters, so that repetition without spaces also
counts."""
_MAX_CHARS = 200_000


@dataclass(frozen=True)
class RepetitionOptions:
    """Options for the repetition reward."""

    n: int = 3
    """Number of words in an n-gram."""
    penalty: float = -1.0
    """Factor by which to multiply the share of repeated n-grams to get the score."""

    def __post_init__(self) -> None:
        """Check that n-grams have at least one word."""
        if self.n < 1:
            raise ValueError(f"n is {self.n}; expected 1 or more")


def repetition(sample: Sample, options: RepetitionOptions) -> Score:
    """Score 0 if nothing is repeated, falling to the penalty as repetition increases."""
    words = _WORD.findall(strip_end(sample.response)[:_MAX_CHARS].lower())
    total = len(words) - options.n + 1
    if total <= 0:
        return Score(0.0, detail="too short to contain a repetition")
    unique = len(set(zip(*(words[i:] for i in range(options.n)), strict=False)))
    share = 1.0 - unique / total
    return Score(share * options.penalty + 0.0, detail=f"{share:.0%} of the {options.n}-grams are repeated")
