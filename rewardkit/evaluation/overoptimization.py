"""Detection of over-optimisation, in which the score rises while a second judge or the ground truth falls.

A policy that is trained on a reward model finds responses that the model overrates (Gao et al. 2023,
arXiv:2210.10760). The score alone never reveals this. This module compares the curve of the score with a
curve of the "truth": the ground truth or a second judge, possibly measured at fewer steps and on other
prompts.

A drop in the truth is compared with the noise of its measurements. All windows of consecutive measurements up
to now are compared with all earlier windows, so the significance limit grows with the number of measurements.
If the same prompts are measured at each step, the noise is that of the differences between their truths. This
noise is lower, because some prompts are easier than others at every step.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import accumulate, pairwise
from statistics import fmean, variance
from typing import Any

from rewardkit.errors import InputError
from rewardkit.evaluation.scored import Groups

PREFIX = "overoptimization/"
"""Prefix of the metrics that describe the curves and their drops."""
STEP = "training/global_step"
"""Metric with the number of the step."""
SCORE = f"{PREFIX}score"
"""Metric with the mean score of training responses for which the reward reports no correctness."""
POINTS = 64
"""Maximum number of points in a curve. If there are more, neighbouring points are merged in pairs."""
GROUPS = 256
"""Maximum number of groups of prompts whose truths are compared between steps."""
_FEWEST_GROUPS = 32
"""Minimum number of groups of prompts. The noise of fewer differences is too uncertain."""
_LIMIT = 15.0
"""Squared number of standard errors from which the first drop is significant. With 2 log n for n points, less
than 1 % of simulated runs without over-optimisation and with 20 measurements show a significant drop of 0.25
or more."""


_TINY = 1e-12
"""Minimum variance. A drop that is equal for all prompts is significant."""


@dataclass(frozen=True, slots=True)
class Point:
    """One measurement of the score and the truth, or the mean of several measurements."""

    step: int
    score: float
    truth: float
    variance: float
    """Variance of the truth between prompts."""
    prompts: float
    """Number of prompts on which the truth was measured."""
    measurements: int = 1
    groups: tuple[float, ...] = ()
    """Truth of each group of prompts, from `group_truths`, or empty if each step has other prompts."""

    def merged(self, other: Point) -> Point:
        """Return the mean of this point and a later one."""
        n = self.measurements + other.measurements

        def mean(a: float, b: float) -> float:
            return (a * self.measurements + b * other.measurements) / n

        return Point(
            other.step,
            mean(self.score, other.score),
            mean(self.truth, other.truth),
            mean(self.variance, other.variance),
            self.prompts + other.prompts,
            n,
            tuple(map(mean, self.groups, other.groups)) if len(self.groups) == len(other.groups) else (),
        )


@dataclass(frozen=True, slots=True)
class Fall:
    """Significant drop in the truth during which the score rose."""

    since: int
    """Step before the drop at which the truth was highest."""
    size: float
    """Size of the drop between two windows of measurements, in standard deviations of the truth between
    prompts."""
    truth_before: float
    """Truth at the step `since`."""
    truth_now: float
    """Mean truth of the latest window."""
    score_before: float
    """Score at the step `since`."""
    score_now: float
    """Mean score of the latest window."""


class TruthCurve:
    """Score and truth over the steps of a run, with at most `POINTS` points."""

    def __init__(self, points: Sequence[Point] = ()) -> None:
        self.points = list(points)

    def add(self, point: Point) -> None:
        """Add a measurement. After a resume, a step may be measured again; the new value replaces the old
        one."""
        while self.points and self.points[-1].step >= point.step:
            self.points.pop()
        width = self.points[0].measurements if self.points else 1
        if self.points and self.points[-1].measurements < width:
            self.points[-1] = self.points[-1].merged(point)
        else:
            self.points.append(point)
        if len(self.points) > POINTS:
            twos = (self.points[i : i + 2] for i in range(0, len(self.points), 2))
            self.points = [two[0].merged(two[1]) if two[1:] else two[0] for two in twos]

    def fall(self) -> Fall | None:
        """Return the most significant drop that lasts until now, or None if no drop is significant."""
        measurements = sum(point.measurements for point in self.points)
        limit = _LIMIT + 2 * math.log(max(measurements, 1))
        fall, z = max(self._falls(), key=lambda found: found[1], default=(None, 0.0))
        if fall is None or z * z < limit:
            return None
        earlier = (one for one in self.points if one.step <= fall.since and one.score < fall.score_now)
        best = max(earlier, key=lambda one: (one.truth, one.step))
        return replace(fall, since=best.step, truth_before=best.truth, score_before=best.score)

    def _falls(self) -> Iterator[tuple[Fall, float]]:
        """Yield each drop between two windows, with its size in standard errors. Values are means of the
        windows, and `since` is the last step before the drop."""
        points, n = self.points, len(self.points)
        truths, scores, variances = (
            [0.0, *accumulate(values)]
            for values in (
                [point.truth for point in points],
                [point.score for point in points],
                [point.variance for point in points],
            )
        )
        noise = _Noise(points)
        for middle in range(1, n):
            now, score_now = ((of[n] - of[middle]) / (n - middle) for of in (truths, scores))
            for first in range(middle):
                before, score_before = (
                    (of[middle] - of[first]) / (middle - first) for of in (truths, scores)
                )
                if before <= max(now, points[-1].truth) or score_now <= score_before:
                    continue
                spread = (variances[n] - variances[first]) / (n - first)
                if spread <= 0.0:
                    continue
                size = (before - now) / math.sqrt(spread)
                since = points[middle - 1].step
                z = (before - now) / math.sqrt(max(noise.between(first, middle), _TINY))
                yield Fall(since, size, before, now, score_before, score_now), z


class _Noise:
    """Variance of the difference between the truths of two windows of points."""

    def __init__(self, points: Sequence[Point]) -> None:
        self._n = len(points)
        self._means = [0.0, *accumulate(point.variance / point.prompts for point in points)]
        """Cumulative variances of the points' truths."""
        groups = [point.groups for point in points]
        same = len({len(some) for some in groups}) == 1 and len(groups[0]) >= _FEWEST_GROUPS
        self._groups = [list(accumulate(of, initial=0.0)) for of in zip(*groups, strict=True)] if same else []
        """Cumulative truths of each group of prompts, or empty if the points have other prompts."""

    def between(self, first: int, middle: int) -> float:
        """Return the variance of the difference between the points from `first` to `middle` and the rest."""
        before, now = middle - first, self._n - middle
        if not self._groups:
            means = self._means
            return (means[middle] - means[first]) / before**2 + (means[-1] - means[middle]) / now**2
        falls = [(of[middle] - of[first]) / before - (of[-1] - of[middle]) / now for of in self._groups]
        return float(variance(falls)) / len(falls)


def group_truths(prompts: Sequence[Sequence[float]]) -> tuple[float, ...]:
    """Return the mean truth of at most `GROUPS` groups of neighbouring prompts.

    Args:
        prompts: Values of the responses to each prompt. A prompt without values counts as the mean of all.
    """
    means = [fmean(values) if values else None for values in prompts]
    known = [mean for mean in means if mean is not None]
    if not known:
        return ()
    whole = fmean(known)
    filled = [whole if mean is None else mean for mean in means]
    number = min(len(filled), GROUPS)
    ends = [i * len(filled) // number for i in range(number + 1)]
    return tuple(fmean(filled[start:end]) for start, end in pairwise(ends))


def truth_metrics(name: str, groups: Sequence[Sequence[float]]) -> dict[str, float]:
    """Return the metrics of one measurement of a truth, or no metrics for fewer than two prompts.

    Args:
        name: Name of the truth, such as a data source of the validation.
        groups: Values of the responses to each prompt.
    """
    means = [fmean(group) for group in groups if group]
    if len(means) < 2:
        return {}
    values = {"truth": fmean(means), "variance": variance(means), "prompts": float(len(means))}
    return {f"{PREFIX}{name}/{key}": value for key, value in values.items()}


def measurement(step: int, scored: Groups, again: Groups) -> dict[str, float]:
    """Return the metrics of one step from the scores of its responses and from their true scores.

    The truth is the correctness of a response, or its true score if the true reward does not report
    correctness.

    Raises:
        InputError: Fewer than two prompts have both a score and a true score.
    """
    scores = [
        one.score for prompts in scored.values() for group in prompts.values() for one in group if one.ok
    ]
    values = [
        [float(one.score or 0.0) if one.correct is None else float(one.correct) for one in group if one.ok]
        for prompts in again.values()
        for group in prompts.values()
    ]
    found = truth_metrics(_TRUTH, values)
    if not scores or not found:
        raise InputError(
            f"step {step}: fewer than two prompts could be scored again; pass the rewards of the truth, and "
            "their data source with --data-source"
        )
    return {STEP: float(step), SCORE: fmean(score or 0.0 for score in scores), **found}


def truth_of(metrics: Mapping[str, float]) -> tuple[float, float]:
    """Return the truth in the metrics of `measurement`, and the number of prompts."""
    return metrics[f"{PREFIX}{_TRUTH}/truth"], metrics[f"{PREFIX}{_TRUTH}/prompts"]


_TRUTH = "again"
"""Name of the truth of responses that are scored again."""


def points_in(step: int, metrics: Mapping[str, float | None]) -> dict[str, Point]:
    """Return the points of one step by the name of the truth."""
    found = {}
    for key in metrics:
        if key.startswith(PREFIX) and key.endswith("/truth"):
            stem = key.removesuffix("/truth")
            score, truth = metrics.get(SCORE), metrics.get(key)
            spread, prompts = metrics.get(f"{stem}/variance"), metrics.get(f"{stem}/prompts")
            if score is not None and truth is not None and spread is not None and prompts:
                found[stem.removeprefix(PREFIX)] = Point(step, score, truth, spread, prompts)
    return found


class TruthCurves:
    """Curves of all truths of a run."""

    def __init__(self) -> None:
        self._curves: dict[str, TruthCurve] = {}
        self.fallen = ""
        """Name of the truth that has dropped most, or "" if no truth has dropped."""
        self.fall: Fall | None = None
        """Most significant drop of this truth that lasts until now, or None if no truth has dropped."""
        self.groups: dict[str, tuple[float, ...]] = {}
        """Truth of each group of prompts in the next measurements, by name, if each step measures the same
        prompts. The metrics of a step have no room for them."""

    def add(self, metrics: Mapping[str, float | None]) -> None:
        """Add the measurements in the metrics of a step, if there are any."""
        step = metrics.get(STEP)
        points = {} if step is None else points_in(int(step), metrics)
        for name, point in points.items():
            of_groups = replace(point, groups=self.groups.get(name, ()))
            self._curves.setdefault(name, TruthCurve()).add(of_groups)
        self.groups = {}
        if points:
            self._look()

    def _look(self) -> None:
        falls = {name: fall for name, curve in self._curves.items() if (fall := curve.fall()) is not None}
        none: tuple[str, Fall | None] = ("", None)
        self.fallen, self.fall = max(falls.items(), key=lambda one: one[1].size, default=none)

    def metrics(self) -> dict[str, float]:
        """Return the figures of the largest drop, or no metrics if no truth has dropped."""
        if self.fall is None:
            return {}
        found = {name: float(value) for name, value in asdict(self.fall).items()}
        return {f"{PREFIX}{'fall' if name == 'size' else name}": value for name, value in found.items()}

    def state_dict(self) -> dict[str, list[dict[str, Any]]]:
        """Return the curves as JSON-ready data."""
        return {name: [asdict(point) for point in curve.points] for name, curve in self._curves.items()}

    def load_state_dict(self, state: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
        """Restore the curves from `state_dict`."""
        self._curves = {
            name: TruthCurve([_point(point) for point in points]) for name, points in state.items()
        }
        self._look()


def _point(state: Mapping[str, Any]) -> Point:
    return Point(**{**state, "groups": tuple(state.get("groups", ()))})  # JSON has lists instead of tuples
