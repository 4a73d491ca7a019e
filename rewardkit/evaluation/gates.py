"""Gates that compare the figures of an evaluation or a comparison with limits, for CI and Python code.

A gate passes or fails, or ends in an error if the figure that it checks is missing. The commands print the
results of the gates, and `summary.py` writes the files for CI.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from rewardkit.errors import GateError, IncompleteError, InputError, OptionsError, did_you_mean
from rewardkit.evaluation.comparison import Comparison
from rewardkit.evaluation.evaluation import OVERALL, Figures
from rewardkit.evaluation.intervals import Estimate, ends

Counted = Literal["point", "interval"]
"""Value that a gate compares with its limit: the mean (`point`) or the lower end of the `interval`."""
GateLimits = float | Mapping[str, float]
"""One limit for every data source, or limits by data source. The limit under "" applies to all others."""

MAX_NOT_SCORED = 0.05
"""Maximum share of unscored responses (or prompts) in a data source. With more, its gate ends in an error."""
_ROUNDING = 1e-9
"""Tolerance for rounding errors. A value that misses a limit by less than this amount still passes."""


@dataclass(frozen=True, slots=True)
class GateResult:
    """Result of one gate for one data source."""

    data_source: str
    rule: str
    """Condition of the gate in words."""
    status: Literal["passed", "failed", "error"]
    """Outcome of the gate. `error` means that a figure is missing or that too many responses are unscored."""
    line: str
    """One line of text with the figures and the outcome."""
    limit: float
    value: float | None = None
    low: float | None = None
    high: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the result as a dictionary."""
        return asdict(self)


def gate_limits(given: GateLimits | None, *, least: float = -math.inf) -> dict[str, float]:
    """Return limits by data source. The limit under "" applies to all data sources that are not named.

    Raises:
        OptionsError: A limit is not a finite number, or is less than `least`.
    """
    limits = dict(given) if isinstance(given, Mapping) else {} if given is None else {"": given}
    for name, limit in limits.items():
        if isinstance(limit, bool) or not isinstance(limit, int | float) or not math.isfinite(limit):
            raise OptionsError(
                f"the limit{f' of {name}' if name else ''} must be a number, not {limit!r:.40}"
            )
        if limit < least:
            raise OptionsError(
                f"the limit{f' of {name}' if name else ''} must be at least {least:g}, not {limit:g}"
            )
    return limits


def require_named(limits: Mapping[str, float], names: Collection[str]) -> None:
    """Check that every data source with a limit is in the result.

    Raises:
        InputError: A data source is not in the result. The message lists the data sources in the result.
    """
    for name in limits:
        if name and name not in names:
            raise InputError(_not_there(name, names))


@dataclass(frozen=True, slots=True)
class Gated:
    """Figures that a gate checks: the accuracy, or the mean score if there is no accuracy."""

    accuracy: Estimate | None
    score: Estimate | None
    of: int
    """Number of responses or other items, including those that could not be scored."""
    scored: int
    items: str = "responses"
    """Name of the items in messages."""


def gate_figures(
    figures: Mapping[str, Figures], limits: Mapping[str, float], counted: Counted = "point"
) -> list[GateResult]:
    """Return the results of gates on the figures of data sources, as `gate` does."""
    gated = {name: Gated(one.accuracy, one.score, one.responses, one.scored) for name, one in figures.items()}
    return gate(gated, limits, counted)


def gate(
    figures: Mapping[str, Gated], limits: Mapping[str, float], counted: Counted = "point"
) -> list[GateResult]:
    """Return the results of gates that require an accuracy or a mean score to be at least the limit."""
    return [
        _of_figures(name, figures[name], limit, counted)
        if name in figures
        else _missing(name, limit, figures)
        for name, limit in _applied(limits, figures)
    ]


def gate_comparison(found: Comparison, limits: Mapping[str, float]) -> list[GateResult]:
    """Return the results of gates that limit how much worse the second file may be than the first.

    A gate fails if the paired difference is certainly below the negated limit. That is the case if even the
    upper end of the difference's interval is below it.
    """
    return [
        _of_difference(name, found, limit) if name in found.sources else _missing(name, limit, found.sources)
        for name, limit in _applied(limits, found.sources)
    ]


def require_passed(problems: Sequence[str], gates: Sequence[GateResult]) -> None:
    """Raise an error if the result is incomplete or a gate did not pass.

    Raises:
        IncompleteError: Rows or data sources are missing, or a gate ended in an error.
        GateError: A gate failed.
    """
    errors = [*problems, *(gate.line for gate in gates if gate.status == "error")]
    if errors:
        raise IncompleteError("; ".join(errors))
    failed = [gate.line for gate in gates if gate.status == "failed"]
    if failed:
        raise GateError("; ".join(failed))


def exit_code(problems: Sequence[str], gates: Sequence[GateResult]) -> int:
    """Return the exit code of the error that `require_passed` raises, or 0 if it raises no error."""
    try:
        require_passed(problems, gates)
    except (IncompleteError, GateError) as error:
        return error.exit_code
    return 0


def _applied(limits: Mapping[str, float], names: Iterable[str]) -> list[tuple[str, float]]:
    named = {name: limit for name, limit in limits.items() if name}
    every = limits.get("")
    others = [] if every is None else [name for name in names if name not in named and name != OVERALL]
    return [*((name, every) for name in others if every is not None), *named.items()]


def _missing(name: str, limit: float, names: Collection[str]) -> GateResult:
    return GateResult(name, "is in the result", "error", _not_there(name, names), limit)


def _not_there(name: str, names: Collection[str]) -> str:
    has = f"the result has {', '.join(names) or 'none'}"
    return (
        f"a gate names the data source '{name}', which is not in the result{did_you_mean(name, names)}; {has}"
    )


def _of_figures(name: str, one: Gated, limit: float, counted: Counted) -> GateResult:
    what = "mean score" if one.accuracy is None else "accuracy"
    rule = f"{what} is at least {limit:g}" + (" (lower end of the interval)" if counted == "interval" else "")
    estimate = one.accuracy or one.score
    if estimate is None:
        return GateResult(
            name, rule, "error", f"{name}: none of its {one.of:,} {one.items} was scored", limit
        )
    figures = (estimate.mean, estimate.low, estimate.high)
    missing = one.of - one.scored
    if missing > MAX_NOT_SCORED * one.of:
        line = _too_many(name, missing, one.of, one.items)
        return GateResult(name, rule, "error", line, limit, *figures)
    counts = estimate.mean if counted == "point" else estimate.low
    if counts is None:
        line = f"{name}: {what} {estimate.mean:.4f} has no interval, since there is only one prompt"
        return GateResult(name, rule, "error", line, limit, *figures)
    passed = counts >= limit - _ROUNDING
    compared = "mean" if counted == "point" else "lower end of the interval"
    line = (
        f"{name}: {what} {estimate.mean:.4f}{_interval(estimate.low, estimate.high)}; "
        f"the {compared} is {'at least' if passed else 'under'} {limit:g}"
    )
    return GateResult(name, rule, "passed" if passed else "failed", line, limit, *figures)


def _of_difference(name: str, found: Comparison, limit: float) -> GateResult:
    source = found.sources[name]
    what = "mean score" if source.accuracy is None else "accuracy"
    rule = f"{what} is not worse by more than {limit:g}"
    difference = source.accuracy or source.score
    if difference is None:
        line = f"{name}: no prompt has a scored response in both files"
        return GateResult(name, rule, "error", line, limit)
    figures = (difference.mean, difference.low, difference.high)
    prompts = source.prompts + source.not_scored
    if source.not_scored > MAX_NOT_SCORED * prompts:
        line = _too_many(name, source.not_scored, prompts, "prompts")
        return GateResult(name, rule, "error", line, limit, *figures)
    if difference.high is None:
        line = f"{name}: {what} {difference.mean:+.4f} has no interval, since there is only one prompt"
        return GateResult(name, rule, "error", line, limit, *figures)
    failed = difference.high < -limit - _ROUNDING
    line = (
        f"{name}: {what} {difference.mean:+.4f}{_interval(difference.low, difference.high, '+')}; "
        f"the interval is {'below' if failed else 'not below'} -{limit:g}"
    )
    return GateResult(name, rule, "failed" if failed else "passed", line, limit, *figures)


def _too_many(name: str, missing: int, whole: int, what: str) -> str:
    return (
        f"{name}: {missing:,} of {whole:,} {what} were not scored; a gate needs at least "
        f"{1 - MAX_NOT_SCORED:.0%} of them. `rewardkit view FILE --reasons` says why; score with `--bad-rows "
        "drop` to leave out invalid rows"
    )


def _interval(low: float | None, high: float | None, sign: str = "") -> str:
    found = ends(low, high, lambda value: f"{value:{sign}.4f}")
    return found and f" (95 % interval {found})"
