"""Compares the rows of a query with the expected rows, in order if the query has an ORDER BY."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

SqlRow = tuple[Any, ...]

_TOKEN = re.compile(
    r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|\[[^\]]*\]|--[^\n]*|/\*.*?\*/|[()]|\w+", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Result:
    """Rows of a query, or the error that the query caused."""

    rows: tuple[SqlRow, ...] = ()
    columns: int = 0
    tables: bool = False
    """True if the query read a table."""
    error: str | None = None

    @property
    def says_something(self) -> bool:
        """Return True if any value is not NULL."""
        return any(value is not None for row in self.rows for value in row)


@dataclass(frozen=True, slots=True)
class Expected:
    """Results that a right query may return."""

    results: tuple[Result, ...]
    """Accepted results. The first is the result of the ground truth's query."""
    groups: tuple[int, ...] = ()
    """End offsets of the groups of rows that the ORDER BY leaves tied.

    After the last offset, the accepted results differ.
    """
    ordered: bool = False

    def misfit(self, found: Result) -> str | None:
        """Return the reason why a result is not one of the expected results, or None if it is one of them."""
        first = self.results[0]
        if found.error:
            return f"the query fails: {found.error}"
        if first.tables and not found.tables:
            return "the query reads no table"
        sizes = {(result.columns, len(result.rows)) for result in self.results}
        if (found.columns, len(found.rows)) not in sizes:
            return (
                f"the query returns {len(found.rows)} rows of {found.columns} columns, expected "
                f"{len(first.rows)} rows of {first.columns} columns"
            )
        if any(_same_pieces(found.rows, result.rows, self._ends(result)) for result in self.results):
            return None
        same_bag = any(_same_bag(found.rows, result.rows) for result in self.results)
        return "the rows are in a different order" if self.ordered and same_bag else "the rows differ"

    def _ends(self, result: Result) -> tuple[int, ...]:
        """Return the ends of the parts of a result within which rows may be in any order."""
        if not self.ordered:
            return (len(result.rows),)
        return (*self.groups, len(result.rows)) if self.groups else tuple(range(1, len(result.rows) + 1))


def is_ordered(query: str) -> bool:
    """Return True if a query has an ORDER BY outside parentheses."""
    return _order_ends(query) is not None


def with_ties(query: str, columns: int) -> tuple[str, ...]:
    """Return an ordered query in two versions, with its ties in ascending and in descending order.

    Return an empty tuple for a query without an ORDER BY.
    """
    end = _order_ends(query)
    if end is None or columns < 1:
        return ()
    return tuple(
        f"{query[:end]}, {', '.join(f'{i + 1} {way}' for i in range(columns))} {query[end:]}"
        for way in ("ASC", "DESC")
    )


def _order_ends(query: str) -> int | None:
    """Return the offset at which the terms of a query's own ORDER BY end, or None without an ORDER BY."""
    depth = 0
    words: list[re.Match[str]] = []
    last_end = 0
    for token in _TOKEN.finditer(query):
        if token[0].startswith(("--", "/*")):
            continue
        depth += (token[0] == "(") - (token[0] == ")")
        last_end = token.end()
        if depth == 0 and token[0] != ")":
            words.append(token)
    found = [i for i, (a, b) in enumerate(pairwise(words)) if (a[0] + b[0]).lower() == "orderby"]
    if not found:
        return None
    limit = next((word for word in words[found[-1] + 2 :] if word[0].lower() == "limit"), None)
    return limit.start() if limit else last_end


def groups(up: Result, down: Result) -> tuple[int, ...]:
    """Return the ends of the groups of rows whose order differs between two results of the same query."""
    balance: Counter[str] = Counter()
    unequal = 0
    ends = []
    for i, (a, b) in enumerate(zip(up.rows, down.rows, strict=False)):
        for row, step in ((repr(a), 1), (repr(b), -1)):
            unequal -= balance[row] != 0
            balance[row] += step
            unequal += balance[row] != 0
        if unequal == 0:
            ends.append(i + 1)
    return tuple(ends) or (0,)


def _same_pieces(a: Sequence[SqlRow], b: Sequence[SqlRow], ends: Sequence[int]) -> bool:
    if len(a) != len(b):
        return False
    start = 0
    for end in ends:
        if not _same_bag(a[start:end], b[start:end]):
            return False
        start = end
    return True


def _same_bag(a: Sequence[SqlRow], b: Sequence[SqlRow]) -> bool:
    """Return True if two results contain the same rows, in any order."""
    return len(a) == len(b) and all(map(_same_row, sorted(a, key=_sortable), sorted(b, key=_sortable)))


def _sortable(row: SqlRow) -> tuple[tuple[int, float, str], ...]:
    return tuple(map(_sortable_value, row))


def _sortable_value(value: Any) -> tuple[int, float, str]:
    if value is None:
        return (0, 0.0, "")
    if isinstance(value, int):
        # Integers are not converted, because floats cannot distinguish large neighbouring integers.
        return (1, value, "")
    if isinstance(value, float):
        return (1, float(f"{value:.8g}"), "")
    return (2, 0.0, str(value))


def _same_row(a: SqlRow, b: SqlRow) -> bool:
    return len(a) == len(b) and all(map(_same, a, b))


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, int | float) and isinstance(b, int | float):
        either_float = isinstance(a, float) or isinstance(b, float)
        return a == b or (either_float and math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12))
    return type(a) is type(b) and bool(a == b)
