"""Figures of pairs of a chosen and a rejected answer: accuracy, ties, margin and calibration of their scores.

A scorer is right on a pair if the chosen answer has the higher score. A tie is neither right nor wrong, and a
pair with an answer that has no score is not judged at all. This module works on plain numbers.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, pstdev
from typing import Any

from rewardkit.evaluation.intervals import Estimate, estimate

BINS = 10
"""Number of bins of equal width in which calibration is measured."""


@dataclass(frozen=True, slots=True)
class Bin:
    """Decided pairs in which the scorer is about equally sure of the answer that it prefers."""

    low: float
    high: float
    """Upper end of the bin's range of confidence, whose lower end is `low`."""
    pairs: int
    confidence: float
    """Mean confidence, which is the accuracy that the scores claim."""
    accuracy: float


@dataclass(frozen=True, slots=True)
class PairFigures:
    """Figures for scored pairs. A figure is None if there are no pairs to compute it from."""

    pairs: int
    failed: int
    """Number of pairs that are not judged because an answer has no score. No other figure includes them."""
    ties: int
    """Number of judged pairs with equal scores. They are neither right nor wrong."""
    right: int
    """Number of judged pairs in which the chosen answer has the higher score."""
    accuracy: Estimate | None
    """Share of right pairs among the decided pairs, which are the judged pairs without ties."""
    strict_accuracy: float | None
    """Share of right pairs among all judged pairs, with ties as wrong, as RewardBench counts."""
    margin: Estimate | None
    """Score of the chosen answer minus that of the rejected answer, over the judged pairs."""
    chosen_mean: float | None
    """Mean score of the chosen answers in judged pairs."""
    rejected_mean: float | None
    """Mean score of the rejected answers in judged pairs."""
    score_mean: float | None
    """Mean of all scores in judged pairs."""
    score_std: float | None
    """Standard deviation of all scores in judged pairs."""
    loss: float | None
    """Mean Bradley-Terry loss, -log sigmoid(margin), over the judged pairs. Guessing has a loss of log 2."""
    ece: float | None
    """Expected calibration error: distance between confidence and accuracy, as a mean over decided pairs."""
    bins: tuple[Bin, ...]
    """Bins of the calibration error that contain pairs."""

    @property
    def judged(self) -> int:
        """Number of pairs in which both answers have a score."""
        return self.pairs - self.failed

    @property
    def tie_rate(self) -> float | None:
        """Share of ties among the judged pairs."""
        return self.ties / self.judged if self.judged else None

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as a dictionary."""
        return asdict(self)


def pair_figures(
    chosen: Sequence[float | None],
    rejected: Sequence[float | None],
    prompts: Iterable[Hashable] | None = None,
) -> PairFigures:
    """Return the figures for the scores of chosen and rejected answers.

    Args:
        chosen: Score of the chosen answer in each pair. None, NaN and infinities mean that it has no score.
        rejected: Score of the rejected answer in each pair.
        prompts: Identity of the prompt of each pair, by which intervals are clustered. By default, each pair
            has a prompt of its own.
    """
    keys = range(len(chosen)) if prompts is None else prompts
    judged = [
        (key, float(c), float(r))
        for key, c, r in zip(keys, chosen, rejected, strict=True)
        if c is not None and r is not None and math.isfinite(c) and math.isfinite(r)
    ]
    margins = [(key, c - r) for key, c, r in judged]
    decided = [(key, margin) for key, margin in margins if margin]
    right = sum(margin > 0 for _, margin in decided)
    scores = [score for _, *both in judged for score in both]
    bins = _bins([margin for _, margin in decided])
    gaps = math.fsum(one.pairs * abs(one.accuracy - one.confidence) for one in bins)
    return PairFigures(
        pairs=len(chosen),
        failed=len(chosen) - len(judged),
        ties=len(judged) - len(decided),
        right=right,
        accuracy=estimate(_grouped((key, float(margin > 0)) for key, margin in decided), share=True),
        strict_accuracy=right / len(judged) if judged else None,
        margin=estimate(_grouped(margins)),
        chosen_mean=_mean([c for _, c, _ in judged]),
        rejected_mean=_mean([r for _, _, r in judged]),
        score_mean=_mean(scores),
        score_std=pstdev(scores) if scores else None,
        loss=_mean([_softplus(-margin) for _, margin in margins]),
        ece=gaps / len(decided) if decided else None,
        bins=bins,
    )


def _grouped(values: Iterable[tuple[Hashable, float]]) -> list[list[float]]:
    groups: dict[Hashable, list[float]] = {}
    for key, value in values:
        groups.setdefault(key, []).append(value)
    return list(groups.values())


def _bins(margins: Sequence[float]) -> tuple[Bin, ...]:
    """Return the bins that contain pairs.

    A difference of d between two scores claims a probability of sigmoid(d) that the answer with the higher
    score is better (Bradley and Terry 1952). So confidences are between 0.5 and 1.
    """
    held: dict[int, list[tuple[float, bool]]] = {}
    for margin in margins:
        confidence = math.exp(-_softplus(-abs(margin)))
        held.setdefault(min(int((confidence - 0.5) * 2 * BINS), BINS - 1), []).append(
            (confidence, margin > 0)
        )
    return tuple(
        Bin(
            0.5 + i / (2 * BINS),
            0.5 + (i + 1) / (2 * BINS),
            len(held[i]),
            fmean(confidence for confidence, _ in held[i]),
            fmean(right for _, right in held[i]),
        )
        for i in sorted(held)
    )


def _softplus(x: float) -> float:
    """Return log(1 + exp(x)), also where exp(x) is infinite."""
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None
