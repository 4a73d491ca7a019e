"""Combines several verdicts on one question into the median number or the most frequent word."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from rewardkit.rewards.judge.options import JudgeOptions
from rewardkit.rewards.judge.verdict import JudgeVerdict, NoVerdictError


@dataclass(frozen=True, slots=True)
class VotedVerdict:
    """Combined verdict of all votes."""

    text: str
    value: float
    score: float
    agreement: float
    """For words, the fraction of votes with the most frequent score. For numbers, 1 minus the mean distance
    from the median as a fraction of the range."""
    reason: str
    mass: float | None = None
    """Smallest `mass` of the votes, or None if no vote has one."""


def vote(verdicts: Sequence[JudgeVerdict], asked: int, options: JudgeOptions) -> VotedVerdict:
    """Combine the verdicts of several votes. Tied words are combined into the mean of their scores.

    Args:
        verdicts: Verdicts of the votes that have one.
        asked: Number of votes requested.
        options: Options of the judge.

    Raises:
        NoVerdictError: Fewer than half of the votes have a verdict, or their agreement is too low.
    """
    if not verdicts or 2 * len(verdicts) < asked:
        raise NoVerdictError(
            f"{len(verdicts)} of {asked} votes have a verdict, but at least half must have one"
        )
    of_words = bool(options.verdicts) and not options.logprobs
    together = _most_frequent if of_words else median
    scores = [one.score for one in verdicts]
    score = together(scores)
    if of_words:
        agreement = max(Counter(scores).values()) / len(scores)
    else:
        low, high = options.scale_to or options.score_range
        agreement = 1.0 - fmean(abs(one - score) for one in scores) / abs(high - low)
    if agreement < options.min_agreement:
        raise NoVerdictError(
            f"the agreement of the votes is {agreement:.2f}, below min_agreement ({options.min_agreement:g})"
        )
    near = min(verdicts, key=lambda one: abs(one.score - score))
    mass = min((one.mass for one in verdicts if one.mass is not None), default=None)
    value = together([one.value for one in verdicts])
    return VotedVerdict(near.text, value, score, agreement, near.reason, mass)


def _most_frequent(scores: Sequence[float]) -> float:
    counts = Counter(scores)
    return fmean(score for score, count in counts.items() if count == max(counts.values()))
