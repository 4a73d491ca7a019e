"""Definition of a kind of log. Other modules contain the kinds themselves, grouped by tool."""

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
"""Predicates that the values in a row must satisfy, by column name. Names may be dotted."""


class SkippedRowError(Exception):
    """Error for a row that is skipped because it is empty or repeats the responses in another row."""


@dataclass(frozen=True, slots=True)
class LogKind:
    """Kind of log that a tool or an API writes."""

    name: str
    """Name shown to users, such as `verl rollout dump`."""
    shape: LogShape
    """Smallest set of values by which rows of this kind differ from rows of other kinds."""
    read: Callable[[RawRow], Fields]
    """Function that extracts the fields of a row.

    Raises:
        BadRowError: The row contains no response, and the model is not the cause.
        SkippedRowError: Another row contains the same responses.
    """
    note: Callable[[RawRow], str] = lambda row: ""
    """Function that returns an additional note about the file, given the first row."""
    facts: Callable[[RawRow], Mapping[str, Any]] = lambda row: {}
    """Function that returns facts about the responses in a row under rewardkit's names, such as `score`,
    `correct` and `finish_reason`. The values are lists if the row has several responses."""
    unless_answered: bool = False
    """True if a log with one of the usual response columns is never of this kind."""
    check: Callable[[RawRow], None] = lambda row: None
    """Function that checks the first row of a file.

    Raises:
        InputError: The file contains no responses.
    """
    task_in_name: str = ""
    """Pattern for file names, whose first group is the task. It is set for kinds whose rows do not name the
    task."""


def anything(value: Any) -> bool:
    """Return True for any value. Use this predicate if only the presence of the name matters."""
    return True


def is_object(value: Any) -> bool:
    """Return True for a JSON object."""
    return isinstance(value, Mapping)


def is_text(value: Any) -> bool:
    """Return True for a string."""
    return isinstance(value, str)


def is_array(value: Any) -> bool:
    """Return True for a JSON array."""
    return isinstance(value, list)


def is_number(value: Any) -> bool:
    """Return True for a number or None."""
    return value is None or isinstance(value, int | float)


def no_text(value: Any) -> bool:
    """Return True for an object, an array or None."""
    return value is None or isinstance(value, Mapping | list)


def is_messages(value: Any) -> bool:
    """Return True for chat messages, which may be JSON text."""
    return bool(is_conversation(decoded(value)))


def are_objects(value: Any) -> bool:
    """Return True for a non-empty array of objects."""
    return isinstance(value, list) and bool(value) and all(isinstance(one, Mapping) for one in value)


def decoded(value: Any) -> Any:
    """Decode the JSON text of an array of objects. Return any other value unchanged."""
    if isinstance(value, str) and value.lstrip().startswith("[{"):
        with contextlib.suppress(msgspec.DecodeError):
            return msgspec.json.decode(value)
    return value


def has_shape(row: RawRow, shape: LogShape) -> bool:
    """Return True if the row has all values that the shape requires."""
    return all(has_value(row, name) and fits(value_at(row, name)) for name, fits in shape.items())


def one_or_several(texts: list[str]) -> str | list[str]:
    """Return the responses of a row in the form of `Fields`: a single text, or a list of several texts."""
    return texts if len(texts) > 1 else texts[0]


def reward_in(row: RawRow) -> Mapping[str, Any]:
    """Return the `reward` of a row as its score, in the form of `LogKind.facts`."""
    return {"score": row.get("reward")}


def ground_truth_in(row: RawRow) -> Any:
    """Return the ground truth of a row from a column with one of the usual names, or None."""
    names = find_names(lambda name: has_value(row, name))
    return value_at(row, names.ground_truth)
