"""Reads files by blocks of columns: a few megabytes at once, whatever the size of the file.

JSON lines are parsed by Arrow; a block that Arrow cannot take as the columns it expects is read line by line,
which finds the bad lines and takes mixed types.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import pyarrow as pa
import pyarrow.json
import pyarrow.parquet as pq

from rewardkit.datasets_prep.common.readers import (
    READ_ERRORS,
    BadRows,
    format_of,
    open_plain,
    read_file,
)
from rewardkit.datasets_prep.common.sources import Record
from rewardkit.errors import InputError

_BLOCK_BYTES = 8 << 20
_BLOCK_ROWS = 4096

Values: TypeAlias = pa.Array | list[Any]


@dataclass(frozen=True, slots=True)
class RowBlock:
    """Some rows, column by column."""

    label: str
    columns: dict[str, Values]
    numbers: Sequence[int]
    """The number of each row in its file, counted from 1."""
    before: int
    """Rows of the split before this file."""

    def where(self, row: int) -> str:
        """Return the place of a row, for messages."""
        return f"{self.label} row {self.numbers[row] - 1}"


def file_blocks(files: Sequence[Path], root: Path, roots: Sequence[str], bad: BadRows) -> Iterator[RowBlock]:
    """Read columns of some files, one after another.

    Raises:
        InputError: a file cannot be read, is empty, or has a bad row that is not to be skipped.
    """
    before = 0
    for file in files:
        label = file.relative_to(root).as_posix()
        last = 0
        try:
            for columns, numbers in _read(file, label, roots, bad):
                yield RowBlock(label, columns, numbers, before)
                last = numbers[-1]
        except READ_ERRORS as error:
            why = str(error).partition("\n")[0]
            raise InputError(f"cannot read {file}: {why}") from error
        if not last and not bad.dropped:
            raise InputError(f"{file} is empty: it holds no rows")
        before += last


def record_blocks(records: Iterable[Record], roots: Sequence[str], label: str) -> Iterator[RowBlock]:
    """Gather records, as the hub streams them."""
    stream = iter(records)
    while chunk := list(itertools.islice(stream, _BLOCK_ROWS)):
        columns: dict[str, Values] = {name: [r.values.get(name) for r in chunk] for name in roots}
        yield RowBlock(label, columns, [record.index + 1 for record in chunk], 0)


def column_names(file: Path, label: str) -> list[str]:
    """Return the names of a file's columns: of its first row, where it has no schema.

    Raises:
        InputError: it cannot be read, or is empty.
    """
    try:
        if format_of(file) == ".parquet":
            return list(pq.read_schema(file).names)
        first = next(read_file(file, label, BadRows(skip=True)), None)
    except READ_ERRORS as error:
        raise InputError(f"cannot read {file}: {str(error).partition(chr(10))[0]}") from error
    if first is None:
        raise InputError(f"{file} is empty: it holds no rows")
    return list(first[1])


_Piece = tuple[dict[str, Values], Sequence[int]]


def _read(file: Path, label: str, roots: Sequence[str], bad: BadRows) -> Iterator[_Piece]:
    kind = format_of(file)
    if kind in (".jsonl", ".ndjson"):
        yield from _jsonl(file, label, roots, bad)
    elif kind == ".parquet":
        yield from _parquet(file, roots)
    else:
        rows = read_file(file, label, bad)
        while chunk := list(itertools.islice(rows, _BLOCK_ROWS)):
            yield _columns([values for _, values in chunk], roots), [number for number, _ in chunk]


def _columns(rows: Sequence[dict[str, Any]], roots: Sequence[str]) -> dict[str, Values]:
    return {name: [row.get(name) for row in rows] for name in roots}


def _parquet(file: Path, roots: Sequence[str]) -> Iterator[_Piece]:
    done = 0
    with pq.ParquetFile(file, pre_buffer=False) as opened:
        wanted = [name for name in roots if name in opened.schema_arrow.names]
        for batch in opened.iter_batches(batch_size=_BLOCK_ROWS, columns=wanted):
            columns: dict[str, Values] = {name: batch.column(name) for name in wanted}
            yield columns, range(done + 1, done + batch.num_rows + 1)
            done += batch.num_rows


def _jsonl(file: Path, label: str, roots: Sequence[str], bad: BadRows) -> Iterator[_Piece]:
    schema: pa.Schema | None = None
    done = 0
    with open_plain(file) as stream:
        while block := stream.read(_BLOCK_BYTES):
            block += stream.readline()
            if not done:
                block = block.removeprefix(b"\xef\xbb\xbf")
            lines = block.count(b"\n") + (not block.endswith(b"\n"))
            schema = schema or _schema_of(block, roots)
            table = _by_arrow(block, schema, lines)
            if table is not None:
                columns: dict[str, Values] = {n: table.column(n).combine_chunks() for n in roots}
                yield columns, range(done + 1, done + lines + 1)
            else:
                yield from _by_line(block, done, label, roots, bad)
            done += lines


def _schema_of(block: bytes, roots: Sequence[str]) -> pa.Schema:
    """What the columns seem to be, by the first line: Arrow would take a text like a date for a date."""
    try:
        first = msgspec.json.decode(block[: block.find(b"\n")] if b"\n" in block else block)
    except (msgspec.DecodeError, RecursionError):
        first = None
    values = first if isinstance(first, dict) else {}
    return pa.schema([(name, pa.int64() if type(values.get(name)) is int else pa.string()) for name in roots])


def _by_arrow(block: bytes, schema: pa.Schema, lines: int) -> pa.Table | None:
    """The rows of a block; None if they are not what the schema says, one a line."""
    parsing = pyarrow.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    reading = pyarrow.json.ReadOptions(use_threads=False, block_size=len(block) + 1)
    try:
        table = pyarrow.json.read_json(io.BytesIO(block), read_options=reading, parse_options=parsing)
        table.validate(full=True)
    except (pa.ArrowException, UnicodeDecodeError):
        return None
    return table if table.num_rows == lines else None


def _by_line(block: bytes, done: int, label: str, roots: Sequence[str], bad: BadRows) -> Iterator[_Piece]:
    rows: list[dict[str, Any]] = []
    numbers: list[int] = []
    decode: Callable[[bytes], Any] = msgspec.json.Decoder().decode
    for number, line in enumerate(block.split(b"\n"), start=done + 1):
        if not line.strip():
            continue
        try:
            values = decode(line)
            if not isinstance(values, dict):
                raise ValueError(f"expected an object, found {type(values).__name__}")
        except RecursionError:
            bad.add(InputError(f"{label} line {number}: malformed JSON: nested too deeply"))
        except ValueError as error:
            bad.add(InputError(f"{label} line {number}: malformed JSON: {error}"))
        else:
            rows.append(values)
            numbers.append(number)
    if rows:
        yield _columns(rows, roots), numbers
