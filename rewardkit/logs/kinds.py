"""Which kind of log a file is: by which columns each is recognised.

Rows of no such kind are read under the names that `rewardkit.rows` knows. To know another kind, add a
function that takes a row apart and an entry to `KINDS` in the file of those who write it.
"""

from __future__ import annotations

from collections.abc import Collection

from rewardkit.errors import InputError
from rewardkit.files.records import RawRow
from rewardkit.logs import harnesses, model_apis, trainers
from rewardkit.logs.kind import LogKind
from rewardkit.logs.model_apis import API_ANSWERS, is_answer
from rewardkit.rows import RESPONSE

KINDS = (*harnesses.KINDS, *trainers.KINDS, *model_apis.KINDS)

_RESPONSES = frozenset(RESPONSE)

_REFUSED = (
    (
        frozenset({"custom_id", "method", "url", "body"}),
        "this is the input of a batch, which holds requests; name the file of its output",
    ),
)


def recognise(columns: Collection[str], first: RawRow) -> LogKind | None:
    """Return the kind of a log by the columns it has and its first row; None if it is no known one.

    Raises:
        InputError: it is of a kind that holds no responses.
    """
    for refused, why in _REFUSED:
        if refused <= set(columns):
            raise InputError(why)
    answered = not _RESPONSES.isdisjoint(columns)
    for kind in KINDS:
        if kind.columns <= set(columns) and not (answered and kind.unless_answered):
            kind.check(first)
            return kind
    return API_ANSWERS if not answered and is_answer(first) else None


def by_name(name: str) -> LogKind:
    """Return the kind of that name."""
    return next(kind for kind in KINDS if kind.name == name)
