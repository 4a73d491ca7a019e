"""What a kind of log is. The kinds stand in the files of their producers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rewardkit.files.records import RawRow
from rewardkit.rows import Fields, find_names, has_value, value_at


class SkippedRowError(Exception):
    """A row that repeats another one's responses, and is left out."""


@dataclass(frozen=True, slots=True)
class LogKind:
    """A kind of log."""

    name: str
    """As it is said to the user: `verl rollout dump`."""
    columns: frozenset[str]
    """A log has all of these."""
    read: Callable[[RawRow], Fields]
    """Takes a row apart.

    Raises:
        BadRowError: the row holds no response, through no fault of the model's.
        SkippedRowError: its responses stand in another row too.
    """
    note: Callable[[RawRow], str] = lambda row: ""
    """What else is said of the file, from its first row."""
    facts: Callable[[RawRow], Mapping[str, Any]] = lambda row: {}
    """What a row says of its responses elsewhere than in columns of the names in `scored`, under those names:
    `score`, `correct`, `finish_reason`; lists where it has several responses."""
    unless_answered: bool = False
    """Only a log without a column that usually holds responses is one."""
    check: Callable[[RawRow], None] = lambda row: None
    """Looks at the first row.

    Raises:
        InputError: such a file holds no responses.
    """


def one_or_several(texts: list[str]) -> str | list[str]:
    """Return the responses of a row as `Fields` has them: a single one as itself."""
    return texts if len(texts) > 1 else texts[0]


def ground_truth_in(row: RawRow) -> Any:
    """Return the ground truth of a row under the names that rows usually have."""
    names = find_names(lambda name: has_value(row, name))
    return value_at(row, names.ground_truth)
