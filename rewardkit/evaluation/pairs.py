"""Figures of preference pairs: accuracy, ties, score margin, and calibration of the scores.

A scorer is right on a pair if the chosen answer has the higher score. A tie is neither right nor wrong. A
pair is not judged if one of its answers has no score. `pair_figures` works on plain numbers.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, pstdev
from typing import Any

from rewardkit.evaluation.evaluation import OVERALL
from rewardkit.evaluation.intervals import Estimate, estimate
from rewardkit.types import Message, Score

BINS = 10
"""Number of bins of equal width in which calibration is measured."""


@dataclass(frozen=True, slots=True)
class Bin:
    """Decided pairs for which the scores imply about the same confidence in the preferred answer."""

    low: float
    high: float
    """Upper end of the bin's range of confidence, whose lower end is `low`."""
    pairs: int
    confidence: float
    """Mean confidence, which is the accuracy that the scores imply."""
    accuracy: float


@dataclass(frozen=True, slots=True)
class PairFigures:
    """Figures for scored pairs. A figure is None if it cannot be computed from any pair."""

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
    """Share of right pairs among all judged pairs. Ties count as wrong, as in RewardBench."""
    margin: Estimate | None
    """Chosen answer's score minus the rejected answer's score, over the judged pairs."""
    chosen_mean: float | None
    """Mean score of the chosen answers in judged pairs."""
    rejected_mean: float | None
    """Mean score of the rejected answers in judged pairs."""
    score_mean: float | None
    """Mean of all scores in judged pairs."""
    score_std: float | None
    """Standard deviation of all scores in judged pairs."""
    loss: float | None
    """Mean Bradley-Terry loss, -log sigmoid(margin), over the judged pairs. It is log 2 for equal scores."""
    ece: float | None
    """Expected calibration error: mean distance between confidence and accuracy over the decided pairs."""
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
    *,
    log_odds: bool = True,
) -> PairFigures:
    """Return the figures for the scores of chosen and rejected answers.

    Args:
        chosen: Score of the chosen answer in each pair. None, NaN and infinities mean that it has no score.
        rejected: Score of the rejected answer in each pair.
        prompts: Identity of the prompt of each pair. Intervals are clustered by prompt. By default, all pairs
            have different prompts.
        log_odds: True if a difference between scores is a log-odds, as for reward models. Otherwise, loss and
            calibration are not computed.
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
    bins = _bins([margin for _, margin in decided]) if log_odds else ()
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
        loss=_mean([_softplus(-margin) for _, margin in margins]) if log_odds else None,
        ece=gaps / len(decided) if bins else None,
        bins=bins,
    )


def _grouped(values: Iterable[tuple[Hashable, float]]) -> list[list[float]]:
    groups: dict[Hashable, list[float]] = {}
    for key, value in values:
        groups.setdefault(key, []).append(value)
    return list(groups.values())


def _bins(margins: Sequence[float]) -> tuple[Bin, ...]:
    """Return the bins that contain pairs.

    A difference of d between two scores implies a probability of sigmoid(d) that the answer with the higher
    score is better (Bradley and Terry 1952). Confidences are therefore between 0.5 and 1.
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
    """Return log(1 + exp(x)). The result is also exact if exp(x) overflows."""
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None


# --- pairs of a file ---------------------------------------------------------------------------------------


UNKNOWN = ""
"""Subset of unusable rows in files with several subsets. Only the figures over all pairs count these rows."""


@dataclass(frozen=True, slots=True)
class ScoredPair:
    """Pair with the scores of both answers. The texts of an unusable row are empty."""

    subset: str
    prompt: Sequence[Message]
    chosen: str
    rejected: str
    chosen_score: Score
    rejected_score: Score

    @property
    def scores(self) -> tuple[Score, Score]:
        """Scores of the chosen and the rejected answer."""
        return self.chosen_score, self.rejected_score

    @property
    def failure(self) -> Score | None:
        """Score of the first answer that has no score, or None if both answers have scores."""
        return next((one for one in self.scores if not one.ok), None)

    @property
    def margin(self) -> float | None:
        """Chosen answer's score minus the rejected answer's score, or None if either has no score."""
        return None if self.failure else self.chosen_score.score - self.rejected_score.score


LENGTHS: Mapping[str, Callable[[float], bool]] = {
    "less than half as long": lambda ratio: ratio < 0.5,
    "shorter": lambda ratio: ratio < 0.9,
    "within 10 %": lambda ratio: ratio * 0.9 <= 1.0,
    "longer": lambda ratio: ratio <= 2.0,
    "more than twice as long": lambda ratio: True,
}
"""Groups of pairs by the length of the chosen answer relative to the rejected one. The first match
applies."""


def figures_of(pairs: Iterable[ScoredPair], *, log_odds: bool) -> PairFigures:
    """Return the figures of pairs, with intervals clustered by prompt."""
    pairs = list(pairs)
    return pair_figures(
        [one.chosen_score.score if one.chosen_score.ok else None for one in pairs],
        [one.rejected_score.score if one.rejected_score.ok else None for one in pairs],
        [str(one.prompt) for one in pairs],
        log_odds=log_odds,
    )


def figures_by_subset(pairs: Sequence[ScoredPair], *, log_odds: bool) -> dict[str, PairFigures]:
    """Return the figures of each subset and, if there are several, of all of them together."""
    subsets = sorted({one.subset for one in pairs} - {UNKNOWN})
    found = {
        name: figures_of((one for one in pairs if one.subset == name), log_odds=log_odds) for name in subsets
    }
    return found | ({OVERALL: figures_of(pairs, log_odds=log_odds)} if len(subsets) > 1 else {})


def figures_by_length(pairs: Sequence[ScoredPair], *, log_odds: bool) -> dict[str, PairFigures]:
    """Return the figures of each group of `LENGTHS` that has pairs. Pairs with an empty text are omitted."""
    held: dict[str, list[ScoredPair]] = {name: [] for name in LENGTHS}
    for one in pairs:
        if one.chosen and one.rejected:
            ratio = len(one.chosen) / len(one.rejected)
            held[next(name for name, fits in LENGTHS.items() if fits(ratio))].append(one)
    return {name: figures_of(some, log_odds=log_odds) for name, some in held.items() if some}


def longer_is_better(pairs: Iterable[ScoredPair]) -> float | None:
    """Return the accuracy of preferring the longer answer, or None if all answers are equally long."""
    apart = [len(one.chosen) > len(one.rejected) for one in pairs if len(one.chosen) != len(one.rejected)]
    return fmean(apart) if apart else None


def failures_of(pairs: Iterable[ScoredPair]) -> dict[str, int]:
    """Return the number of pairs with each status other than `ok`."""
    return dict(sorted(Counter(one.failure.status for one in pairs if one.failure).items()))
