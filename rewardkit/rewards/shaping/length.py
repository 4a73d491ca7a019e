"""Rewards for the length of a response.

The rewards are `length_overlong` (DAPO), `length_cosine` (arXiv 2502.03373) and `length_budget` (L1, arXiv
2503.04697).

The `unit` of length is `words` (separated by white space), `characters` or `tokens`. Only the trainer can
count tokens, and passes their number as `extra_info["response_tokens"]`. A sample without this number is
`invalid`. Special tokens at the end are neither words nor characters. All three rewards are bounded, so
beyond a certain length the score does not change.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from rewardkit.special_tokens import strip_end
from rewardkit.types import Sample, Score, failure

LengthUnit = Literal["words", "characters", "tokens"]


@dataclass(frozen=True)
class OverlongOptions:
    """Options for length_overlong, which is 0 up to `max_length - buffer` and falls to -1 at `max_length`."""

    max_length: int = 16_384
    """Length at which the score reaches -1."""
    buffer: int = 4_096
    """Number of units before `max_length` over which the score falls linearly from 0 to -1."""
    unit: LengthUnit = "tokens"
    """Unit of length, which is `words`, `characters` or `tokens`. For `tokens`, each sample needs
    `extra_info["response_tokens"]`, which the trainer sets."""

    def __post_init__(self) -> None:
        """Check that the buffer is not negative and not longer than `max_length`."""
        if not 0 <= self.buffer <= self.max_length:
            raise ValueError(f"buffer is {self.buffer}; expected 0 to max_length ({self.max_length})")


@dataclass(frozen=True)
class CosineOptions:
    """Options for length_cosine, a half cosine from `shortest` at length 0 to `longest` at `max_length`."""

    max_length: int = 1_000
    """Length at and beyond which the score is `longest`."""
    shortest: float = 1.0
    """Score of an empty response."""
    longest: float = 0.0
    """Score of a response whose length is `max_length` or more. If `longest` is greater than `shortest`,
    longer responses score higher."""
    unit: LengthUnit = "words"
    """Unit of length, which is `words`, `characters` or `tokens`. For `tokens`, each sample needs
    `extra_info["response_tokens"]`, which the trainer sets."""

    def __post_init__(self) -> None:
        """Check that the maximum length is positive."""
        if self.max_length < 1:
            raise ValueError(f"max_length is {self.max_length}; expected 1 or more")


@dataclass(frozen=True)
class BudgetOptions:
    """Options for length_budget."""

    budget: int = 0
    """Target length, or maximum length with `rule=max`. 0 means the `budget` in the sample's `extra_info`."""
    rule: Literal["exact", "max"] = "exact"
    """With `exact`, the score is 1, minus `alpha` for each unit above or below the budget. With `max`, the
    score is 0.5 at the budget, plus `alpha` for each unit below the budget and minus `alpha` for each unit
    above. Scores are limited to the range from 0 to 1."""
    alpha: float = 0.0003
    """Change in the score for each unit of difference from the budget."""
    unit: LengthUnit = "tokens"
    """Unit of length, which is `words`, `characters` or `tokens`. For `tokens`, each sample needs
    `extra_info["response_tokens"]`, which the trainer sets."""

    def __post_init__(self) -> None:
        """Check that the budget and `alpha` are not negative."""
        if self.budget < 0 or self.alpha < 0:
            raise ValueError(f"budget is {self.budget} and alpha {self.alpha:g}; expected 0 or more")


def length(sample: Sample, unit: LengthUnit) -> int | None:
    """Return the length of a response, or None if its tokens were not counted."""
    if unit == "words":
        return len(strip_end(sample.response).split())
    if unit == "characters":
        return len(strip_end(sample.response))
    return _count(sample.extra_info.get("response_tokens"))


def _count(value: Any) -> int | None:
    """Return a non-negative whole number that is given as an int, float or text. Otherwise return None."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        return int(value)
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return int(value) if whole and not isinstance(value, bool) and value >= 0 else None


def length_overlong(sample: Sample, options: OverlongOptions) -> Score:
    """Score 0 for a response that is short enough, falling to -1 for a response that is too long."""
    n = length(sample, options.unit)
    if n is None:
        return _uncounted()
    over = n - (options.max_length - options.buffer)
    value = -min(1.0, max(0.0, over / options.buffer)) if options.buffer > 0 else -float(over > 0)
    return Score(value + 0.0, detail=f"{n} {options.unit}")


def length_cosine(sample: Sample, options: CosineOptions) -> Score:
    """Score a response between `shortest` and `longest`, by its length."""
    n = length(sample, options.unit)
    if n is None:
        return _uncounted()
    share = min(1.0, n / max(1, options.max_length))
    half = (options.shortest - options.longest) / 2.0
    return Score(options.longest + half * (1.0 + math.cos(math.pi * share)), detail=f"{n} {options.unit}")


def length_budget(sample: Sample, options: BudgetOptions) -> Score:
    """Score from 0 to 1 how closely a response keeps to its budget."""
    n = length(sample, options.unit)
    budget = options.budget or _count(sample.extra_info.get("budget"))
    if n is None:
        return _uncounted()
    if not budget:
        return failure("invalid", "no budget is given; set the option budget, or extra_info['budget']")
    left = budget - n
    value = 1.0 - options.alpha * abs(left) if options.rule == "exact" else options.alpha * left + 0.5
    return Score(min(1.0, max(0.0, value)), detail=f"{n} of {budget} {options.unit}")


def _uncounted() -> Score:
    return failure(
        "invalid", "extra_info['response_tokens'] is missing; set the option unit to words or characters"
    )
