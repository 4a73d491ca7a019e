"""Reads raw files row by row, and handles rows that cannot be used.

`rewardkit.files` reads the formats; each dataset interprets its columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from rewardkit.errors import InputError
from rewardkit.files.arrow_values import in_python
from rewardkit.files.formats import open_rows
from rewardkit.files.inputs import Input
from rewardkit.files.records import BadRowError, Records, parse

_SLICE = 16
"""Rows of a table that are Python objects at once, because a row of a code dataset can have megabytes of
tests."""


class LeftOutError(InputError):
    """Raised for a valid row that is of no use here (a proof, a test without answer). It is counted, but is
    no error."""


@dataclass(slots=True)
class BadRows:
    """Handles rows that cannot be used: stops the run, or drops and counts them."""

    skip: bool = False
    dropped: int = 0
    first: list[str] = field(default_factory=list)
    """The first few messages."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Number of valid rows that are of no use here, by reason."""

    def add(self, error: InputError, count: int = 1) -> None:
        """Count one or more bad rows.

        Raises:
            InputError: the given error, if bad rows are not to be skipped.
        """
        if isinstance(error, LeftOutError):
            self.left_out[str(error)] += count
            return
        if not self.skip:
            raise InputError(f"{error}; fix the row, or pass --skip-bad to drop bad rows") from error
        self.dropped += count
        if len(self.first) < 20:
            self.first.append(str(error))


Numbered = Iterator[tuple[int, dict[str, Any]]]
"""Pairs of a row number, counted from 0, and the row's values."""


def chunks(source: Input, bad: BadRows) -> Iterator[Records]:
    """Read a file in pieces; damaged parts are bad rows.

    Raises:
        InputError: it does not have the format of its name, or is damaged and bad rows are not to be skipped.
    """
    file = open_rows(source)
    try:
        for records in file.chunks():
            if records.damaged is None:
                yield records
            else:
                where = f"{source.name} row {records.first_row}"
                bad.add(InputError(f"{where}: {records.damaged}"), records.count)
    finally:
        file.close()


def read_file(source: Input, bad: BadRows) -> Numbered:
    """Read the rows of a file.

    Raises:
        InputError: as `chunks`, or a row is not an object and is not to be skipped.
    """
    for records in chunks(source, bad):
        if records.table is not None:
            yield from _of_table(records)
        else:
            yield from rows_of_lines(records, source.name, bad)


def _of_table(records: Records) -> Numbered:
    assert records.table is not None
    for start in range(0, records.count, _SLICE):
        rows = in_python(records.table.slice(start, _SLICE))
        yield from enumerate(rows, records.first_row + start)


def rows_of_lines(records: Records, label: str, bad: BadRows) -> Numbered:
    """Return the rows in lines of JSON; a line without an object is a bad row."""
    for number, line in enumerate(records.lines, records.first_row):
        if not line:
            continue
        try:
            row = dict(parse(line))
        except BadRowError as error:
            bad.add(InputError(f"{label} row {number}: {error}"))
        else:
            yield number, row
