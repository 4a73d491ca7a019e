"""Definition of a kind of log. The kinds stand in the files of their producers."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from rewardkit.files.records import RawRow
from rewardkit.model_api.answers import is_conversation
from rewardkit.rows import Fields, find_names, has_value, value_at

LogShape = Mapping[str, Callable[[Any], bool]]
"""Tests of the values under some possibly dotted names."""


class SkippedRowError(Exception):
    """A row that repeats another one's responses, and is left out."""


@dataclass(frozen=True, slots=True)
class LogKind:
    """A kind of log."""

    name: str
    """Name as users read it: `verl rollout dump`."""
    shape: LogShape
    """Values that tell its rows from others: the fewest that do."""
    read: Callable[[RawRow], Fields]
    """Takes a row apart.

    Raises:
        BadRowError: the row holds no response, through no fault of the model's.
        SkippedRowError: its responses stand in another row too.
    """
    note: Callable[[RawRow], str] = lambda row: ""
    """Further note about the file, from its first row."""
    facts: Callable[[RawRow], Mapping[str, Any]] = lambda row: {}
    """Facts about the responses of a row that stand elsewhere than in columns of the names in `scored`, under
    those names: `score`, `correct`, `finish_reason`; lists where it has several responses."""
    unless_answered: bool = False
    """Only a log without a column that usually holds responses is one."""
    check: Callable[[RawRow], None] = lambda row: None
    """Looks at the first row.

    Raises:
        InputError: such a file holds no responses.
    """
    task_in_name: str = ""
    """A pattern whose group is the task in the name of the file, where the rows do not say it."""


def anything(value: Any) -> bool:
    """Return True: the name alone counts."""
    return True


def is_object(value: Any) -> bool:
    """Return True for a JSON object."""
    return isinstance(value, Mapping)


def is_text(value: Any) -> bool:
    """Return True for a text."""
    return isinstance(value, str)


def is_array(value: Any) -> bool:
    """Return True for a JSON array."""
    return isinstance(value, list)


def is_number(value: Any) -> bool:
    """Return True for a number, or nothing."""
    return value is None or isinstance(value, int | float)


def no_text(value: Any) -> bool:
    """Return True for an object, an array or nothing."""
    return value is None or isinstance(value, Mapping | list)


def is_messages(value: Any) -> bool:
    """Return True for chat messages, as they are or as the text of their JSON."""
    return bool(is_conversation(decoded(value)))


def are_objects(value: Any) -> bool:
    """Return True for an array of objects."""
    return isinstance(value, list) and bool(value) and all(isinstance(one, Mapping) for one in value)


def decoded(value: Any) -> Any:
    """Return the list that the text of a JSON array of objects holds; anything else as it is."""
    if isinstance(value, str) and value.lstrip().startswith("[{"):
        with contextlib.suppress(msgspec.DecodeError):
            return msgspec.json.decode(value)
    return value


def has_shape(row: RawRow, shape: LogShape) -> bool:
    """Return True where a row holds what a shape says."""
    return all(has_value(row, name) and fits(value_at(row, name)) for name, fits in shape.items())


def one_or_several(texts: list[str]) -> str | list[str]:
    """Return the responses of a row as `Fields` has them: a single one as itself."""
    return texts if len(texts) > 1 else texts[0]


def reward_in(row: RawRow) -> Mapping[str, Any]:
    """Return the score of a row that calls it its reward, as `LogKind.facts` does."""
    return {"score": row.get("reward")}


def ground_truth_in(row: RawRow) -> Any:
    """Return the ground truth of a row under the names that rows usually have."""
    names = find_names(lambda name: has_value(row, name))
    return value_at(row, names.ground_truth)
