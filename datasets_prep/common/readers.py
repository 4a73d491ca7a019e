"""Reads raw files row by row and handles unusable rows.

`rewardkit.files` decodes the file formats. Each dataset interprets its own columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from rewardkit.errors import InputError
from rewardkit.files.arrow_values import in_python
from rewardkit.files.formats import open_rows
from rewardkit.files.inputs import Input
from rewardkit.files.records import BadRowError, Records, parse
from rewardkit.rows import AUDIT, flags_of
from rewardkit.tables import type_of

_SLICE = 16
"""Number of table rows converted to Python objects at once. The number is small because a row in a code
dataset can contain megabytes of tests."""


class LeftOutError(InputError):
    """Error for a valid row that cannot be used, such as a proof or a test row without an answer.

    These rows are counted but never stop the run.
    """


@dataclass(slots=True)
class BadRows:
    """Policy for unusable rows.

    The run either stops at the first bad row, or drops and counts all of them.
    """

    skip: bool = False
    dropped: int = 0
    first: list[str] = field(default_factory=list)
    """Error messages of the first few dropped rows."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Number of valid but unusable rows, by reason."""

    def add(self, error: InputError, count: int = 1) -> None:
        """Count one or more unusable rows.

        Raises:
            InputError: The rows are bad and `skip` is False.
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
"""Pairs of a zero-based row number and the row's values."""


def chunks(source: Input, bad: BadRows) -> Iterator[Records]:
    """Read a file in chunks. Damaged chunks count as bad rows.

    Raises:
        InputError: The content does not match the format in the file's name, or the file is damaged and bad
            rows are not skipped.
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
        InputError: The file cannot be read (see `chunks`), or a row is not an object and bad rows are not
            skipped.
    """
    for records in chunks(source, bad):
        if records.table is not None:
            yield from _of_table(*unflagged(records, source.name, bad))
        else:
            yield from rows_of_lines(records, source.name, bad)


def unflagged(records: Records, label: str, bad: BadRows) -> tuple[pa.Table, Sequence[int]]:
    """Return the rows of a table and their numbers. If bad rows are skipped, rows with flags are dropped.

    `rewardkit audit --flag` writes the flags (see `rewardkit.rows.flags_of`).
    """
    table = records.table
    assert table is not None
    numbers = range(records.first_row, records.first_row + records.count)
    if not bad.skip or type_of(table.schema, f"extra_info.{AUDIT}") is None:
        return table, numbers
    kept = []
    for i, extra_info in enumerate(table["extra_info"].to_pylist()):
        if flags := flags_of(extra_info):
            bad.add(InputError(f"{label} row {numbers[i]}: flagged by an audit: {', '.join(flags)}"))
        else:
            kept.append(i)
    return table.take(pa.array(kept, pa.int64())), [numbers[i] for i in kept]


def _of_table(table: pa.Table, numbers: Sequence[int]) -> Numbered:
    for start in range(0, len(table), _SLICE):
        rows = in_python(table.slice(start, _SLICE))
        yield from zip(numbers[start : start + _SLICE], rows, strict=True)


def rows_of_lines(records: Records, label: str, bad: BadRows) -> Numbered:
    """Decode lines of JSON and yield the rows. A line that is not a JSON object is a bad row."""
    for number, line in enumerate(records.lines, records.first_row):
        if not line:
            continue
        try:
            row = dict(parse(line))
        except BadRowError as error:
            bad.add(InputError(f"{label} row {number}: {error}"))
        else:
            yield number, row
