"""Result of an episode, which a program reports with `POST /complete`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rewardkit.agents.endpoint.program_requests import ApiError
from rewardkit.types import STATUSES, Status

FIELDS = ("answer", "reward", "status", "detail", "metrics", "train")


@dataclass(frozen=True, slots=True)
class Completion:
    """Result of an episode, as its program reports it."""

    answer: str | None = None
    """Answer to score, or None if a turn of the model is the answer."""
    reward: float | None = None
    """Reward for the episode, or None if the reward of the row scores the answer."""
    status: Status = "ok"
    """Status of the episode. An episode whose status is not `ok` has failed and is not scored."""
    detail: str | None = None
    """Description of the failure in one line."""
    metrics: Mapping[str, float] = field(default_factory=dict)
    train: frozenset[int] | None = None
    """Numbers of the turns to train on, or None to train on all turns that the program used."""


def read(body: Mapping[str, Any], turns: int) -> Completion:
    """Parse a report.

    Args:
        body: Fields of the request.
        turns: Number of turns that the model has generated.

    Raises:
        ApiError: A field is unknown, or its value is not valid.
    """
    for name in body:
        if name not in FIELDS:
            raise ApiError(f"unknown field '{name}'; known: {', '.join(FIELDS)}", param=name)
    answer, detail, status = body.get("answer"), body.get("detail"), body.get("status", "ok")
    for name, value in (("answer", answer), ("detail", detail)):
        if value is not None and not isinstance(value, str):
            raise ApiError(f"'{name}' must be a string", param=name)
    if status not in STATUSES:
        raise ApiError(f"'status' must be one of {', '.join(STATUSES)}", param="status")
    reward = body.get("reward")
    metrics = body.get("metrics") or {}
    if not isinstance(metrics, Mapping):
        raise ApiError("'metrics' must be an object whose values are numbers", param="metrics")
    return Completion(
        answer,
        None if reward is None else _number(reward, "reward"),
        status,
        None if detail is None else " ".join(detail.split())[:500],
        {str(name): _number(value, "metrics") for name, value in metrics.items()},
        _numbers(body.get("train"), turns),
    )


def _number(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ApiError(f"'{name}' must be a finite number; found {value!r:.40}", param=name)
    return float(value)


def _numbers(ids: Any, turns: int) -> frozenset[int] | None:
    """Return the numbers of the turns for a list of response ids."""
    if ids is None:
        return None
    if not isinstance(ids, list) or not all(isinstance(one, str) for one in ids):
        raise ApiError("'train' must be a list of ids of responses", param="train")
    found = [one.rpartition("-")[2].rpartition("_")[2] for one in ids]
    for one, number in zip(ids, found, strict=True):
        if not (number.isascii() and number.isdecimal() and 1 <= int(number) <= turns):
            raise ApiError(f"'train': this episode has no response '{one:.40}'", param="train")
    return frozenset(map(int, found))
