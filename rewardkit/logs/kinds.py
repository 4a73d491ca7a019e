"""Recognition of a log's kind by the values in its rows.

Rows of an unknown kind are read with the names that `naming` finds. To support another kind, write a function
that extracts the fields of a row. Then add an entry to `KINDS` in the module for the tool that writes such
logs, or in a package of your own (docs/extending_reading.md).
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from rewardkit.errors import InputError
from rewardkit.extensions import Table
from rewardkit.files.records import RawRow
from rewardkit.logs import harnesses, model_apis, trainers
from rewardkit.logs.kind import LogKind, anything, has_shape, is_object
from rewardkit.logs.model_apis import API_ANSWERS, is_answer
from rewardkit.rows import RESPONSE

KINDS: Table[LogKind] = Table(
    "log_kinds",
    LogKind,
    {
        # The keys include the columns, because a kind may have several forms with different columns.
        f"{kind.name}: {', '.join(kind.shape)}": kind
        for kind in (*harnesses.KINDS, *trainers.KINDS, *model_apis.KINDS)
    },
)

_RESPONSES = frozenset(RESPONSE)

_BATCH_INPUT = {"custom_id": anything, "url": anything, "body": is_object}


def recognise(row: RawRow) -> LogKind | None:
    """Return the kind of a log from one of its rows, or None if the kind is unknown.

    Raises:
        InputError: Logs of this kind contain no responses.
    """
    answered = not _RESPONSES.isdisjoint(row)
    if has_shape(row, _BATCH_INPUT) and not answered:
        raise InputError("the file contains batch requests, not responses; pass the batch output file")
    for kind in KINDS.values():
        if has_shape(row, kind.shape) and not (answered and kind.unless_answered):
            kind.check(row)
            return kind
    return API_ANSWERS if not answered and is_answer(row) else None


def facts_of(row: RawRow, kind: str) -> Mapping[str, Any]:
    """Return the scores and other facts in a row of this kind of log, under rewardkit's names.

    The mapping is empty if the row does not have the form of the kind.
    """
    with contextlib.suppress(KeyError, TypeError, AttributeError, IndexError, ValueError):
        return {name: value for name, value in by_name(kind).facts(row).items() if value is not None}
    return {}


def by_name(name: str) -> LogKind:
    """Return the kind of log with this name."""
    return next(kind for kind in KINDS.values() if kind.name == name)
