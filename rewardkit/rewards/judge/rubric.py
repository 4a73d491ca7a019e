"""Rubrics: the criteria that a file or a sample brings, in the forms that datasets have them, and their
score.

Read are HealthBench's rows (`criterion`, `points`), RaR's and open-instruct's (`title`, `description`,
`weight`), verifiers' (`name`, `text`) and NeMo-Gym's (`question`, `pass_criteria`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rewardkit.rewards.judge.options import JudgeOptions, RubricItem
from rewardkit.rewards.judge.question import UnjudgeableError
from rewardkit.types import Sample

_LISTS = ("rubrics", "rubric", "criteria")
"""Under which names a row has its rubric."""

_TEXTS = ("text", "criterion", "description", "question")
_NAMES = ("name", "title")
_WEIGHTS = ("weight", "points")


class RubricScore(NamedTuple):
    """The score of a rubric, and what it is made of."""

    score: float
    met: float
    """The share of the criteria that are met, pitfalls that were avoided among them."""
    detail: str


def items_of(sample: Sample, options: JudgeOptions) -> list[RubricItem]:
    """Return the criteria for a sample.

    Raises:
        UnjudgeableError: it brings none, or one that cannot be read, or there is nothing to gain.
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
    """Return the score of a rubric: the points of what is met, divided by those that can be gained.

    Args:
        scores: how far each criterion is met, from 0 to 1; None: it has no verdict, and is left out.

    Raises:
        UnjudgeableError: nothing that can be gained has a verdict.
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
