"""Sources of the learning signal: the share of |advantage| that comes from each component of a score.

The responses to one prompt form a group, as in training. The advantages are defined as in
`trainer/algorithms`, but computed without torch. A test checks that both implementations agree.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, stdev
from typing import Any

from rewardkit.evaluation.scored import Groups, ScoredResponse
from rewardkit.types import UNDECIDED

CORRECT = "correct"
REST = "rest"
"""Name for the remainder of a score that none of the named components explains."""
MOST = 0.5
"""Warning threshold for the share of |advantage| that comes from groups without a correct response."""


@dataclass(frozen=True, slots=True)
class Signal:
    """Shares of the total |advantage| of all scored responses, under one estimator."""

    total: float
    """Sum of |advantage|. If the sum is 0, the model learns nothing and all shares are 0."""
    nobody_right: float
    """Share of |advantage| from groups in which no response is correct."""
    mixed: float
    everybody_right: float
    parts: dict[str, float]
    """Shares of `correct`, of the reward's parts, and of `rest`. The shares sum to 1."""
    long_quarter: float
    """Share of |advantage| from the longest quarter of the responses. Each response is weighted by its
    length, as in a mean over tokens."""


@dataclass(frozen=True, slots=True)
class SourceSignal:
    """Sources of the learning signal for one data source."""

    groups: int
    lone: int
    """Number of groups with at most one scored response. An estimator that compares the responses in a group
    learns nothing from such a group."""
    flat: int
    """Number of groups in which all scores are equal, so that all advantages are 0."""
    not_scored: dict[str, int]
    """Number of responses without a score, by status."""
    weights: dict[str, float]
    """Weight of each component in a score, fitted by least squares."""
    estimators: dict[str, Signal]
    warnings: list[str]

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as a dictionary."""
        return asdict(self)


Advantages = Callable[[Sequence[float]], list[float]]


def grpo(scores: Sequence[float]) -> list[float]:
    """Return the advantages of GRPO (arXiv:2402.03300): (score - mean) / (std + 1e-6) in the group.

    `std` is the sample standard deviation, with divisor n - 1.
    """
    scale = stdev(scores) + 1e-6
    return [one / scale for one in dr_grpo(scores)]


def dr_grpo(scores: Sequence[float]) -> list[float]:
    """Return the advantages of Dr.GRPO (arXiv:2503.20783): score - mean in the group."""
    mean = fmean(scores)
    return [score - mean for score in scores]


def rloo(scores: Sequence[float]) -> list[float]:
    """Return the advantages of RLOO (arXiv:2402.14740): score - mean of the other scores in the group."""
    n = len(scores)
    return [one * n / (n - 1) for one in dr_grpo(scores)]


IN_GROUPS: dict[str, Advantages] = {"grpo": grpo, "dr_grpo": dr_grpo, "rloo": rloo}
OVER_ALL = "reinforce_plus_plus"
"""Name of REINFORCE++ (arXiv:2501.03262), which normalises over all responses and ignores groups."""


def signal(groups: Groups) -> dict[str, SourceSignal]:
    """Return the sources of the learning signal for each data source."""
    return {source: source_signal(list(prompts.values())) for source, prompts in sorted(groups.items())}


def source_signal(groups: Sequence[Sequence[ScoredResponse]]) -> SourceSignal:
    """Return the sources of the learning signal for the groups of one data source."""
    scored = [[one for one in group if one.ok] for group in groups]
    usable = [group for group in scored if len(group) > 1]
    not_scored: dict[str, int] = {}
    for one in (one for group in groups for one in group if not one.ok):
        not_scored[one.status] = not_scored.get(one.status, 0) + 1
    weights = fit_weights([one for group in usable for one in group])
    estimators = {name: _in_groups(usable, weights, rule) for name, rule in IN_GROUPS.items()}
    estimators[OVER_ALL] = _over_all(usable, weights)
    return SourceSignal(
        groups=len(groups),
        lone=len(scored) - len(usable),
        flat=sum(1 for group in usable if len({one.score for one in group}) == 1),
        not_scored=dict(sorted(not_scored.items())),
        weights=weights,
        estimators=estimators,
        warnings=_warnings(estimators["grpo"]),
    )


def signal_under(estimator: str, groups: Sequence[Sequence[ScoredResponse]]) -> Signal:
    """Return the sources of the learning signal in these groups, under one estimator.

    Raises:
        KeyError: The estimator is neither in `IN_GROUPS` nor `OVER_ALL`.
    """
    usable = [group for group in ([one for one in each if one.ok] for each in groups) if len(group) > 1]
    weights = fit_weights([one for group in usable for one in group])
    if estimator == OVER_ALL:
        return _over_all(usable, weights)
    return _in_groups(usable, weights, IN_GROUPS[estimator])


def components(one: ScoredResponse) -> dict[str, float]:
    """Return the components that may explain a score: its parts, and its correctness as 0 or 1."""
    correct = {} if one.correct is None else {CORRECT: float(one.correct)}
    return {name: value for name, value in one.parts.items() if name != UNDECIDED} | correct


def fit_weights(responses: Sequence[ScoredResponse]) -> dict[str, float]:
    """Return the weight of each component of a score, fitted by least squares over all responses.

    `correct` is the first component, followed by the parts in alphabetical order. A component gets the weight
    0 if it is a linear combination of preceding components.
    """
    rows = [components(one) for one in responses]
    names = sorted({name for row in rows for name in row}, key=lambda name: (name != CORRECT, name))
    target = _centred([one.score or 0.0 for one in responses])
    basis: list[tuple[str, list[float], dict[str, float]]] = []
    for name in names:
        column = _centred([row.get(name, 0.0) for row in rows])
        size = _dot(column, column)
        made_of = {name: 1.0}
        for _, direction, of in basis:  # Gram-Schmidt; `made_of` has the remainder's coefficients
            factor = _dot(column, direction) / _dot(direction, direction)
            column = [x - factor * d for x, d in zip(column, direction, strict=True)]
            for other, share in of.items():
                made_of[other] = made_of.get(other, 0.0) - factor * share
        if _dot(column, column) > 1e-9 * max(size, 1e-9):
            basis.append((name, column, made_of))
    weights = dict.fromkeys(names, 0.0)
    for _, direction, made_of in basis:
        factor = _dot(target, direction) / _dot(direction, direction)
        for name, share in made_of.items():
            weights[name] += factor * share
    return weights


def _in_groups(
    groups: Sequence[Sequence[ScoredResponse]], weights: dict[str, float], rule: Advantages
) -> Signal:
    tally = _Tally(weights)
    for group in groups:
        scores = [one.score or 0.0 for one in group]
        advantages = rule(scores)
        mean = fmean(scores)
        gaps = [abs(score - mean) for score in scores]
        # Every estimator in `IN_GROUPS` multiplies the difference between score and group mean by one factor.
        largest = max(range(len(gaps)), key=gaps.__getitem__)
        scale = abs(advantages[largest]) / gaps[largest] if gaps[largest] > 0 else 0.0
        tally.add(group, advantages, scale)
    return tally.signal()


def _over_all(groups: Sequence[Sequence[ScoredResponse]], weights: dict[str, float]) -> Signal:
    everyone = [one for group in groups for one in group]
    scores = [one.score or 0.0 for one in everyone]
    if len(scores) < 2:
        return _Tally(weights).signal()
    mean = fmean(scores)
    scale = 1.0 / (stdev(scores) + 1e-8)
    centre = {name: fmean([components(one).get(name, 0.0) for one in everyone]) for name in weights}
    tally = _Tally(weights)
    for group in groups:
        tally.add(group, [((one.score or 0.0) - mean) * scale for one in group], scale, centre)
    return tally.signal()


class _Tally:
    """Sums of |advantage| by source."""

    def __init__(self, weights: dict[str, float]) -> None:
        self._weights = weights
        self._by_group = {"nobody": 0.0, "mixed": 0.0, "everybody": 0.0}
        self._by_part = dict.fromkeys([*weights, REST], 0.0)
        self._by_length: list[tuple[int, float]] = []

    def add(
        self,
        group: Sequence[ScoredResponse],
        advantages: Sequence[float],
        scale: float,
        centre: dict[str, float] | None = None,
    ) -> None:
        """Add a group whose advantages are the centred scores multiplied by `scale`.

        Args:
            group: Responses of the group.
            advantages: Advantage of each response.
            scale: Factor between the centred scores and the advantages.
            centre: Mean of each component, or None to use the means over the group.
        """
        right = sum(1 for one in group if one.correct)
        kind = "nobody" if right == 0 else "everybody" if right == len(group) else "mixed"
        self._by_group[kind] += sum(map(abs, advantages))
        rows = [components(one) for one in group]
        if centre is None:
            centre = {name: fmean([row.get(name, 0.0) for row in rows]) for name in self._weights}
        for one, row, advantage in zip(group, rows, advantages, strict=True):
            explained = 0.0
            for name, weight in self._weights.items():
                piece = weight * (row.get(name, 0.0) - centre[name]) * scale
                self._by_part[name] += abs(piece)
                explained += piece
            rest = abs(advantage - explained)
            self._by_part[REST] += rest if rest > 1e-6 else 0.0
            self._by_length.append((one.length, abs(advantage)))

    def signal(self) -> Signal:
        """Return the shares of |advantage| over all groups added so far."""
        total = sum(self._by_group.values())
        shares = _shares(self._by_group)
        self._by_length.sort()
        weighted = [length * advantage for length, advantage in self._by_length]
        longest = math.fsum(weighted[len(weighted) * 3 // 4 :])
        whole = math.fsum(weighted)
        return Signal(
            total,
            shares["nobody"],
            shares["mixed"],
            shares["everybody"],
            _shares(self._by_part),
            longest / whole if whole else 0.0,
        )


def _shares(sums: dict[str, float]) -> dict[str, float]:
    total = sum(sums.values())
    return {name: value / total if total else 0.0 for name, value in sums.items()}


def _warnings(found: Signal) -> list[str]:
    """Return a warning for each undesirable source of the signal."""
    lines = []
    if CORRECT in found.parts and found.nobody_right > MOST:
        lines.append(
            f"{found.nobody_right:.0%} of |advantage| comes from groups without a right "
            "response; in these groups, the model learns the shaping instead of the task"
        )
    correct = found.parts.get(CORRECT)
    shaping = {name: share for name, share in found.parts.items() if name not in (CORRECT, REST)}
    if correct is not None and shaping and sum(shaping.values()) > correct:
        largest = max(shaping, key=shaping.__getitem__)
        lines.append(
            f"parts other than correctness have {sum(shaping.values()):.0%} of |advantage|, "
            f"correctness has {correct:.0%}; the largest part is '{largest}'"
        )
    return lines


def _centred(values: Sequence[float]) -> list[float]:
    mean = fmean(values) if values else 0.0
    return [value - mean for value in values]


def _dot(a: Sequence[float], b: Sequence[float]) -> float:
    return math.fsum(x * y for x, y in zip(a, b, strict=True))
