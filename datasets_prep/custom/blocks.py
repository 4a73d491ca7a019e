"""Reads raw files of any size in blocks of columns, a few megabytes at a time.

Arrow parses JSON lines. If a block's columns do not have the types that Arrow expects, the block's lines are
parsed one by one. Parsing single lines finds bad lines and allows mixed types.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import pyarrow as pa
import pyarrow.json

from rewardkit.datasets_prep.common.readers import BadRows, chunks, rows_of_lines, unflagged
from rewardkit.datasets_prep.common.sources import Record
from rewardkit.datasets_prep.custom.parts import is_something
from rewardkit.errors import InputError
from rewardkit.files.arrow_values import in_python
from rewardkit.files.formats import open_rows
from rewardkit.files.inputs import Input
from rewardkit.files.records import RawRow, Records
from rewardkit.json_objects import NOT_JSON

_BLOCK_ROWS = 4096
FIRST_ROWS = 32
"""Number of rows at the beginning of a file that determine its columns."""
_PIECE = 16
"""Number of cells converted to Python objects at once. The number is small because cells may be images."""

Values: TypeAlias = pa.Array | list[Any]


@dataclass(frozen=True, slots=True)
class RowBlock:
    """Block of rows, stored by column."""

    label: str
    columns: dict[str, Values]
    numbers: Sequence[int]
    """Zero-based number of each row in its file."""
    before: int
    """Number of rows in the split before this file."""
    others: frozenset[str] = frozenset()
    """Names of nonempty columns that were not requested."""
    folder: Path | None = None
    """Folder of the file. Image paths are relative to this folder."""

    def where(self, row: int) -> str:
        """Return the location of a row, for messages."""
        return f"{self.label} row {self.numbers[row]}"


def file_blocks(files: Sequence[Input], bad: BadRows, roots: Sequence[str]) -> Iterator[RowBlock]:
    """Read the columns `roots` from the files, one file after another.

    Raises:
        InputError: A file cannot be read, has no rows, or has a bad row and bad rows are not skipped.
    """
    before = 0
    for file in files:
        rows = 0
        schema: pa.Schema | None = None
        for records in chunks(file, bad):
            schema = schema or _schema_of(records.lines, roots)
            for columns, numbers, others in _columns_in(records, schema, file.name, roots, bad):
                yield RowBlock(file.name, columns, numbers, before, others, Path(file.path).parent)
                rows = numbers[-1] + 1
        if not rows and not bad.dropped:
            raise InputError(f"{file.path} has no rows")
        before += rows


def record_blocks(records: Iterable[Record], roots: Sequence[str], label: str) -> Iterator[RowBlock]:
    """Collect records, such as records streamed from the hub, into blocks of the columns `roots`."""
    stream = iter(records)
    while chunk := list(itertools.islice(stream, _BLOCK_ROWS)):
        columns: dict[str, Values] = {name: [r.values.get(name) for r in chunk] for name in roots}
        others = _others([record.values for record in chunk], roots)
        yield RowBlock(label, columns, [record.index for record in chunk], 0, others)


def first_rows(file: Input) -> list[RawRow]:
    """Return the first rows of a file.

    Raises:
        InputError: The file cannot be read, or is empty.
    """
    opened = open_rows(file)
    try:
        return opened.first_rows(FIRST_ROWS)
    finally:
        opened.close()


_Piece = tuple[dict[str, Values], Sequence[int], frozenset[str]]
_DECODER = msgspec.json.Decoder(dict[str, msgspec.Raw])
_NOTHING = (b"null", b'""', b"[]", b"{}")


def _columns_in(
    records: Records, schema: pa.Schema, label: str, roots: Sequence[str], bad: BadRows
) -> Iterator[_Piece]:
    numbers: Sequence[int] = range(records.first_row, records.first_row + records.count)
    if records.table is None:
        table = _by_arrow(records.lines, schema)
    else:
        table, numbers = unflagged(records, label, bad)
    if table is None:
        if rows := list(rows_of_lines(records, label, bad)):
            columns: dict[str, Values] = {name: [row.get(name) for _, row in rows] for name in roots}
            yield columns, [number for number, _ in rows], _others([row for _, row in rows], roots)
    elif len(table):
        names = [name for name in roots if name in table.column_names]
        columns = {name: table.column(name).combine_chunks() for name in names}
        held = table.drop_columns(names) if records.table is not None else None
        yield columns, numbers, _keys_of(records.lines, roots) if held is None else _filled(held)


def _others(rows: Sequence[RawRow], roots: Collection[str]) -> frozenset[str]:
    """Return the names of nonempty columns that are not in `roots`."""
    names = set().union(*rows).difference(roots)
    return frozenset(name for name in names if any(is_something(row.get(name)) for row in rows))


def _keys_of(lines: Sequence[bytes], roots: Collection[str]) -> frozenset[str]:
    """Return the names of nonempty columns in JSON lines, except `roots`, without decoding the values."""
    rows = [_DECODER.decode(line) for line in lines]
    names = set().union(*rows).difference(roots)
    nothing = msgspec.Raw(b"null")
    return frozenset(
        name for name in names if any(bytes(row.get(name, nothing)) not in _NOTHING for row in rows)
    )


def _filled(table: pa.Table) -> frozenset[str]:
    """Return the names of nonempty columns in a table."""
    found = set()
    for name in table.column_names:
        column = table.column(name)
        pieces = (in_python(column.slice(start, _PIECE)) for start in range(0, len(column), _PIECE))
        if any(is_something(value) for piece in pieces for value in piece):
            found.add(name)
    return frozenset(found)


def _schema_of(lines: Sequence[bytes], roots: Sequence[str]) -> pa.Schema:
    """Return a schema for the columns in JSON lines, based on the first line.

    Arrow's own type inference would convert some strings to dates.
    """
    try:
        first = msgspec.json.decode(next(filter(None, lines), b"{}"))
    except NOT_JSON:
        first = None
    values = first if isinstance(first, dict) else {}
    return pa.schema([(name, pa.int64() if type(values.get(name)) is int else pa.string()) for name in roots])


def _by_arrow(lines: Sequence[bytes], schema: pa.Schema) -> pa.Table | None:
    """Parse JSON lines into a table. Return None if a line does not match the schema."""
    block = b"\n".join(lines)
    parsing = pyarrow.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    reading = pyarrow.json.ReadOptions(use_threads=False, block_size=len(block) + 1)
    try:
        table = pyarrow.json.read_json(io.BytesIO(block), read_options=reading, parse_options=parsing)
        table.validate(full=True)
    except (pa.ArrowException, UnicodeDecodeError):
        return None
    return table if table.num_rows == len(lines) else None
