"""Standard errors, confidence intervals and tests for means over responses, clustered by prompt.

Responses to the same prompt are correlated, so the prompts are the independent units (Miller 2024,
arXiv:2411.00640). All random draws use fixed seeds. This module reads no files.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, product
from math import comb
from statistics import fmean

LEVEL = 0.95
"""Confidence level of every interval."""
EXACT_FLIPS = 12
"""Maximum number of differing prompts for which the sign-flip test enumerates all combinations of signs."""
DRAWS = 10_000
"""Number of random sign combinations that the test draws if there are too many to enumerate."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Mean over all responses with its standard error and 95 % interval."""

    mean: float
    standard_error: float | None
    """Standard error, clustered by prompt; None for fewer than two prompts."""
    low: float | None
    high: float | None
    """Upper end of the 95 % interval, whose lower end is `low`."""
    prompts: int
    n: int
    """Number of responses."""


def ends(low: float | None, high: float | None, show: Callable[[float], str]) -> str:
    """Return the ends of an interval as text, or "" if there is no interval, as for a single prompt."""
    return "" if low is None or high is None else f"{show(low)} to {show(high)}"


def estimate(groups: Sequence[Sequence[float]], *, share: bool = False) -> Estimate | None:
    """Return the mean of all values with its interval, or None if there are no values.

    Args:
        groups: Values of the responses to each prompt. Empty groups are ignored.
        share: True if the values are between 0 and 1. The interval is then limited to this range.
    """
    groups = [group for group in groups if len(group) > 0]
    n = sum(map(len, groups))
    if n == 0:
        return None
    mean = _sum(groups) / n
    error = standard_error(groups)
    if error is None:
        return Estimate(mean, None, None, None, len(groups), n)
    if share:
        low, high = _share_interval(groups, mean, error)
    else:
        reach = t_quantile(len(groups) - 1) * error
        low, high = mean - reach, mean + reach
    return Estimate(mean, error, low, high, len(groups), n)


def within_unit(groups: Sequence[Sequence[float]]) -> bool:
    """Return True if all values, and therefore their mean, are between 0 and 1."""
    return all(0.0 <= value <= 1.0 for group in groups for value in group)


def standard_error(groups: Sequence[Sequence[float]]) -> float | None:
    """Return the standard error of the mean, clustered by group, or None for fewer than two groups.

    Source: Miller 2024, section 2.2. The factor sqrt(G / (G - 1)) corrects for a small number of groups G.
    """
    if len(groups) < 2:
        return None
    n = sum(map(len, groups))
    mean = _sum(groups) / n
    squares = math.fsum((math.fsum(group) - len(group) * mean) ** 2 for group in groups)
    return math.sqrt(squares * len(groups) / (len(groups) - 1)) / n


def _sum(groups: Sequence[Sequence[float]]) -> float:
    """Return the correctly rounded sum of all values, which does not depend on the order of the values."""
    return math.fsum(chain.from_iterable(groups))


_ROUNDING = 1e-12
"""Threshold for standard error divided by mean. Below it, the standard error is rounding noise and counts as
0."""


_FEW = 3
"""Number of prompts with the rarer outcome at which half of the observations beyond one per prompt count."""


def _share_interval(groups: Sequence[Sequence[float]], mean: float, error: float) -> tuple[float, float]:
    """Return Wilson's interval for the number of independent observations with the same standard error.

    If the values do not vary, each prompt counts as one observation. If few prompts have the rarer outcome,
    the standard error depends mostly on them, so that more observations than prompts count only in part.
    """
    prompts = len(groups)
    quantile = t_quantile(prompts - 1)
    spread = mean * (1.0 - mean)
    if spread <= 0.0 or error <= _ROUNDING * mean:
        return wilson(mean, prompts, quantile)
    observations = spread / error**2 * prompts / (prompts - 1)
    if observations > prompts:
        some_success = sum(1 for group in groups if max(group) > 0.0)
        some_failure = sum(1 for group in groups if min(group) < 1.0)
        rarer = min(some_success, some_failure)
        observations = prompts + (observations - prompts) * rarer / (rarer + _FEW)
    return wilson(mean, observations, quantile)


def wilson(mean: float, n: float, z: float) -> tuple[float, float]:
    """Return Wilson's score interval for a share among n observations."""
    centre = (mean + z * z / (2 * n)) / (1 + z * z / n)
    reach = z / (1 + z * z / n) * math.sqrt(mean * (1 - mean) / n + z * z / (4 * n * n))
    return max(0.0, centre - reach), min(1.0, centre + reach)


@lru_cache(maxsize=1024)
def t_quantile(freedom: int, level: float = LEVEL) -> float:
    """Return the half-width of a two-sided Student's t interval, in standard errors."""
    import mpmath  # type: ignore[import-untyped]  # imported here because only reports need mpmath

    outside = 1.0 - level

    def excess(t: mpmath.mpf) -> mpmath.mpf:
        return mpmath.betainc(freedom / 2, 0.5, 0, freedom / (freedom + t * t), regularized=True) - outside

    return float(mpmath.findroot(excess, (1.9, 13.0 if freedom < 3 else 4.0), solver="anderson", tol=1e-12))


@dataclass(frozen=True, slots=True)
class Difference:
    """Mean of B minus A over the prompts that are in both A and B, with its interval and test."""

    mean: float
    standard_error: float | None
    low: float | None
    high: float | None
    p_value: float
    test: str
    """Name of the test: `McNemar` if A and B each have a single 0 or 1 per prompt, otherwise `sign flips`."""
    prompts: int
    better: int
    """Number of prompts on which B is higher than A."""
    worse: int
    """Number of prompts on which B is lower than A."""


def difference(a: Sequence[Sequence[float]], b: Sequence[Sequence[float]]) -> Difference:
    """Compare paired groups of values, where `a[i]` and `b[i]` are the values of the responses to prompt i.

    Prompts are compared by their means. Groups must not be empty.
    """
    gaps = [fmean(y) - fmean(x) for x, y in zip(a, b, strict=True)]
    found = estimate([[gap] for gap in gaps])
    assert found is not None
    low, high = found.low, found.high
    if within_unit(a) and within_unit(b) and low is not None and high is not None:
        low, high = max(-1.0, low), min(1.0, high)  # the difference of two shares is between -1 and 1
    better, worse = sum(gap > 0 for gap in gaps), sum(gap < 0 for gap in gaps)
    single = all(len(x) == len(y) == 1 and {x[0], y[0]} <= {0.0, 1.0} for x, y in zip(a, b, strict=True))
    test = "McNemar" if single else "sign flips"
    p_value = mcnemar(better, worse) if single else sign_flips(gaps)
    return Difference(found.mean, found.standard_error, low, high, p_value, test, len(gaps), better, worse)


def mcnemar(b: int, c: int) -> float:
    """Return the exact two-sided p-value for b and c discordant pairs (McNemar 1947, binomial form)."""
    if b + c == 0:
        return 1.0
    tail = sum(comb(b + c, i) for i in range(min(b, c) + 1))
    return min(1.0, 2 * tail / (1 << (b + c)))


def sign_flips(gaps: Sequence[float]) -> float:
    """Return the two-sided p-value of the mean of paired differences under random signs (Fisher 1935).

    The p-value is exact if at most `EXACT_FLIPS` prompts differ. Otherwise it is estimated from seeded random
    sign combinations, of which the observed combination counts as one.
    """
    moved = [abs(gap) for gap in gaps if gap != 0]
    if not moved:
        return 1.0
    observed = abs(math.fsum(gaps)) * (1 - 1e-12)
    if len(moved) <= EXACT_FLIPS:
        choices = product((1.0, -1.0), repeat=len(moved))
        totals = [abs(math.fsum(s * g for s, g in zip(signs, moved, strict=True))) for signs in choices]
        return sum(1 for total in totals if total >= observed) / len(totals)
    generator = random.Random(0)
    at_least = 1
    for _ in range(DRAWS):
        bits = generator.getrandbits(len(moved))
        total = math.fsum(gap if bits >> i & 1 else -gap for i, gap in enumerate(moved))
        at_least += abs(total) >= observed
    return at_least / (DRAWS + 1)
