"""Sources of the gradient in one training step: failures scored as zeros, format, and response length.

A ledger is one row of figures over all data sources. The trainer's alarms and a table over steps use this
row. `gradient.py` computes the advantages and divides them among the components of the score.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import NamedTuple

from rewardkit.evaluation.gradient import IN_GROUPS, OVER_ALL
from rewardkit.evaluation.scored import Groups, ScoredResponse

Group = Sequence[ScoredResponse]
Pairs = Sequence[tuple[Group, Sequence[float]]]
"""Groups of scored responses, each with the advantages of its responses."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """Shares of the gradient by source, from 0 to 1. A share that is undefined is None."""

    responses: int
    failed: float
    """Share of the responses that could not be scored."""
    right: float | None
    """Share of the scored responses that are correct, or None if no reward reports correctness."""
    equal: float | None
    """Share of groups in which all scores are equal, among the groups with at least two scored responses."""
    failures: float
    """Share of the gradient that would come from failures if each failure were scored 0. A failure affects
    the advantage of its own response. It also changes the group's mean and spread, and thereby the other
    advantages."""
    nobody_right: float | None
    """Share of |advantage| from groups in which no response is correct."""
    format: float | None
    """Share of |advantage| that comes from differences between equally correct responses in a group. Only
    format, length or style can cause these differences."""
    length: float
    """Share of the advantages' variance within groups that response length predicts. Only equally correct
    responses are compared, because wrong responses are often longer."""


def ledger(groups: Groups, estimator: str = "grpo") -> Ledger:
    """Return the sources of the gradient under one of the estimators in `gradient.py`.

    If there are no failures and all scores are equal, all shares of the gradient are 0.
    """
    members = [group for prompts in groups.values() for group in prompts.values()]
    everyone = [one for group in members for one in group]
    scored = [[one for one in group if one.ok] for group in members]
    usable = [group for group in scored if len(group) > 1]
    judged = [one.correct for group in scored for one in group if one.correct is not None]
    advantages = _advantages([_scores(group) for group in scored], estimator)
    shares = shares_of(list(zip(scored, advantages, strict=True)))
    return Ledger(
        responses=len(everyone),
        failed=sum(not one.ok for one in everyone) / max(len(everyone), 1),
        right=fmean(judged) if judged else None,
        equal=fmean(len(set(_scores(group))) == 1 for group in usable) if usable else None,
        failures=_of_failures(members, advantages, estimator),
        nobody_right=shares.nobody_right,
        format=shares.format,
        length=shares.length,
    )


class AdvantageShares(NamedTuple):
    """Shares in a `Ledger` that need only the advantages, for any estimator."""

    nobody_right: float | None
    format: float | None
    length: float


def shares_of(pairs: Pairs) -> AdvantageShares:
    """Return the advantage shares for groups of responses with their advantages."""
    return AdvantageShares(_of_nobody_right(pairs), _of_format(pairs), _of_length(pairs))


def _scores(group: Group) -> list[float]:
    return [one.score or 0.0 for one in group]


def _advantages(groups: Sequence[Sequence[float]], estimator: str) -> list[list[float]]:
    """Return the advantages for the scores in each group.

    If an estimator compares responses within a group, the only response of a group gets the advantage 0.
    """
    if estimator != OVER_ALL:
        rule = IN_GROUPS[estimator]
        return [rule(scores) if len(scores) > 1 else [0.0] * len(scores) for scores in groups]
    everyone = [score for scores in groups for score in scores]
    if len(everyone) < 2:
        return [[0.0] * len(scores) for scores in groups]
    mean = fmean(everyone)
    scale = stdev(everyone) + 1e-8
    return [[(score - mean) / scale for score in scores] for scores in groups]


def _of_failures(members: Sequence[Group], advantages: Sequence[Sequence[float]], estimator: str) -> float:
    """Return the share of |advantage| that failures would add if they were scored as zeros."""
    as_zeros = _advantages([_scores(group) for group in members], estimator)
    added = own = 0.0
    for group, whole, left in zip(members, as_zeros, advantages, strict=True):
        masked = iter(left)
        for one, advantage in zip(group, whole, strict=True):
            without = next(masked) if one.ok else 0.0
            added += abs(advantage - without)
            own += abs(without)
    return _share(added, own)


def _judged(pairs: Pairs) -> Pairs:
    """Return the groups in which the correctness of every response is known."""
    return [(group, found) for group, found in pairs if group and all(o.correct is not None for o in group)]


def _of_nobody_right(pairs: Pairs) -> float | None:
    judged = _judged(pairs)
    sums = [(sum(map(abs, found)), any(one.correct for one in group)) for group, found in judged]
    return (
        _share(
            sum(one for one, somebody in sums if not somebody), sum(one for one, somebody in sums if somebody)
        )
        if judged
        else None
    )


def _of_format(pairs: Pairs) -> float | None:
    """Return the share of |advantage - mean|, with the mean over equally correct responses in a group."""
    judged = _judged(pairs)
    within = between = 0.0
    for _, advantages in _equally_right(judged):
        mean = fmean(advantages)
        within += sum(abs(advantage - mean) for advantage in advantages)
        between += abs(mean) * len(advantages)
    return _share(within, between) if judged else None


def _of_length(pairs: Pairs) -> float:
    """Return the share of the advantages' variance within groups that a linear fit to the lengths explains.

    The fit subtracts means over the equally correct responses of a group from both lengths and advantages.
    """
    product = of_lengths = 0.0
    for group, found in _equally_right(pairs):
        lengths = _centred([float(one.length) for one in group])
        product += sum(a * b for a, b in zip(lengths, _centred(found), strict=True))
        of_lengths += sum(a * a for a in lengths)
    whole = sum(a * a for _, found in pairs for a in _centred(found))
    return product * product / (of_lengths * whole) if of_lengths * whole else 0.0


def _equally_right(pairs: Pairs) -> Iterator[tuple[Group, Sequence[float]]]:
    """Yield the correct responses of each group, and then its other responses, with the advantages of
    each."""
    for group, found in pairs:
        for right in (True, False):
            own = [(one, a) for one, a in zip(group, found, strict=True) if bool(one.correct) == right]
            if own:
                yield [one for one, _ in own], [a for _, a in own]


def _centred(values: Sequence[float]) -> list[float]:
    mean = fmean(values) if values else 0.0
    return [value - mean for value in values]


def _share(part: float, rest: float) -> float:
    return part / (part + rest) if part > 1e-9 * rest and part > 1e-12 else 0.0
