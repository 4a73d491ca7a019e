"""Parses the rubrics in judges' options and in samples, and computes scores from verdicts on the criteria.

The supported formats are those of HealthBench (`criterion`, `points`), RaR and open-instruct (`title`,
`description`, `weight`), verifiers (`name`, `text`) and NeMo-Gym (`question`, `pass_criteria`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rewardkit.rewards.judge.options import JudgeOptions, RubricItem
from rewardkit.rewards.judge.question import UnjudgeableError
from rewardkit.types import Sample

_LISTS = ("rubrics", "rubric", "criteria")
"""Keys in a row that may contain the rubric."""

_TEXTS = ("text", "criterion", "description", "question")
_NAMES = ("name", "title")
_WEIGHTS = ("weight", "points")


class RubricScore(NamedTuple):
    """Score for a rubric, with details."""

    score: float
    met: float
    """Fraction of criteria that are met. A pitfall counts as met if the response avoids it."""
    detail: str


def items_of(sample: Sample, options: JudgeOptions) -> list[RubricItem]:
    """Return the criteria for a sample.

    Raises:
        UnjudgeableError: The sample has no criteria, a criterion is malformed, or none has points above 0.
    """
    if not options.rubric:
        return options.criteria
    found = _list_in(_json_of(sample.ground_truth)) or _list_in(sample.extra_info)
    if not found:
        raise UnjudgeableError(
            "the sample has no rubric; expected a list of criteria as ground truth, or rubrics in extra_info"
        )
    items = [_item(one) for one in found]
    if not any(item.points > 0 for item in items):
        raise UnjudgeableError("no criterion of the rubric has a weight above 0")
    return items


def _json_of(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _list_in(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        value = next((value[name] for name in _LISTS if value.get(name)), None)
        value = _json_of(value) if isinstance(value, str) else value
    return list(value) if isinstance(value, list | tuple) else []


def _item(given: Any) -> RubricItem:
    if isinstance(given, str) and given.strip():
        return RubricItem(given)
    text = _first(given, _TEXTS) if isinstance(given, Mapping) else None
    if not isinstance(text, str) or not text.strip():
        raise UnjudgeableError(f"a criterion of the rubric has no text: {given!r:.80}")
    passes = given.get("pass_criteria")
    weight = _first(given, _WEIGHTS)
    weight = 1.0 if weight is None else weight
    if isinstance(weight, bool) or not isinstance(weight, int | float) or abs(weight) > 1e6:
        raise UnjudgeableError(
            f"the weight of a criterion is {weight!r:.40}; expected a number from -1e6 to 1e6"
        )
    return RubricItem(
        f"{text}\n{passes}" if passes else text,
        str(_first(given, _NAMES) or ""),
        float(weight),
        required=given.get("required") is True,
        pitfall=given.get("pitfall") is True,
    )


def _first(given: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((given[name] for name in names if given.get(name) is not None), None)


def rubric_score(
    items: Sequence[RubricItem], scores: Sequence[float | None], options: JudgeOptions
) -> RubricScore:
    """Return the score for a rubric, aggregated as the options specify.

    The mean is the sum of the points of met criteria divided by the sum of all positive points.

    Args:
        items: Criteria of the rubric.
        scores: Degree to which each criterion is met, from 0 to 1, or None if the criterion has no verdict.
            Criteria without a verdict are ignored.
        options: Options of the judge.

    Raises:
        UnjudgeableError: No criterion with points above 0 has a verdict.
    """
    known = [(item, score) for item, score in zip(items, scores, strict=True) if score is not None]
    most = sum(item.points for item, _ in known if item.points > 0)
    if not most:
        raise UnjudgeableError("the judge gave no verdict on any criterion with a weight above 0")
    good = [score if item.points > 0 else 1.0 - score for item, score in known]
    failed = next(
        (item for (item, _), one in zip(known, good, strict=True) if item.required and one < 1.0), None
    )
    if options.aggregate == "mean":
        score = sum(item.points * one for item, one in known) / most
    else:
        score = min(good) if options.aggregate == "min" else float(min(good) >= 1.0)
    met = sum(good) / len(good)
    detail = f"{sum(one >= 1.0 for one in good)} of {len(items)} criteria met"
    if failed is not None:
        name = failed.name or failed.text[:60]
        return RubricScore(min(score, 0.0), met, f"{detail}; a required criterion is not met: {name}")
    return RubricScore(score, met, detail)
