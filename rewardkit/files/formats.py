"""Reading of files in all formats. A file is read in chunks of `Records`, so memory use is bounded.

Chunk boundaries depend only on the file. Damaged parts of a file are reported without losing the intact rows.
Formats that are read as Python objects (CSV, JSON, inspect logs) are in `objects`. The package
`rewardkit.logs` interprets the rows.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, BinaryIO, Protocol

import msgspec
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq

from rewardkit.errors import InputError, reason_of
from rewardkit.extensions import FUNCTION, Table
from rewardkit.files import records as held
from rewardkit.files.arrow_values import in_python
from rewardkit.files.inputs import COMPRESSIONS, STDIN, Input, open_binary
from rewardkit.files.objects import csv_rows, inspect_rows, json_rows
from rewardkit.files.records import (
    BOM,
    UNREADABLE,
    BadRowError,
    FileRange,
    RawRow,
    Records,
    parse,
    require_names_once,
    stripped,
    without_mark,
)

CHUNK_BYTES = 24 << 20
"""Approximate number of uncompressed bytes in a chunk. Several chunks are in memory at once."""
CHUNK_ROWS = 8_192
_BLOCK_BYTES = CHUNK_BYTES // 4

_ARROW_FILE = b"ARROW1"
"""First bytes of a file in Arrow's file format. Arrow's stream format starts with different bytes."""


class RowFile(Protocol):
    """Open file that contains rows."""

    source: Input

    @property
    def schema(self) -> pa.Schema | None:
        """Columns and their types, or None if the format has no schema."""
        ...

    @property
    def total(self) -> int | None:
        """Number of rows, or None if it is not known without reading the rows."""
        ...

    def first_row(self) -> RawRow:
        """Return the first readable row. Its values may all be null."""
        ...

    def first_rows(self, count: int) -> list[RawRow]:
        """Return the first readable rows, at least one and at most `count`."""
        ...

    def chunks(self) -> Iterator[Records]:
        """Yield the rows of the file from its beginning."""
        ...

    def close(self) -> None:
        """Close the file."""
        ...


def open_rows(source: Input) -> RowFile:
    """Open a file of rows.

    Raises:
        InputError: The file cannot be read, does not have the format that its name indicates, or has no rows.
        MissingDependencyError: The format or location of the file needs an extra.
    """
    return OPENERS[source.format](source)


def columns_of(file: RowFile) -> list[str]:
    """Return the names of a file's columns. A file without a schema has the columns of its first row."""
    return list(file.schema.names if file.schema is not None else file.first_row())


OpenRows = Callable[[Input], RowFile]


class ParquetRows:
    """Parquet file. Row groups are read one by one, so that a damaged group loses only its own rows."""

    def __init__(self, source: Input) -> None:
        self.source = source
        far = "://" in source.path
        binary = open_binary(source)
        if not far:  # Arrow reads local files itself, without holding the GIL.
            binary.close()
        try:
            # Without this, Arrow would keep whole row groups of local files in memory.
            opened = pq.ParquetFile(
                binary if far else source.path, pre_buffer=far, page_checksum_verification=True
            )
            self._file = opened if far else _in_pieces(opened, source.path)
            schema = self._file.schema_arrow
            names = schema.names
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise InputError(f"{source.path} is not a readable parquet file: {reason_of(error)}") from None
        self.schema: pa.Schema = schema
        self.total: int = self._file.metadata.num_rows
        require_names_once(names, source.path)
        if self.total == 0:
            raise InputError(f"{source.path} has no rows")

    @property
    def file(self) -> pq.ParquetFile:
        """Arrow's file object."""
        return self._file

    def first_row(self) -> RawRow:
        return self.first_rows(1)[0]

    def first_rows(self, count: int) -> list[RawRow]:
        try:
            rows: list[RawRow] = in_python(next(self._file.iter_batches(batch_size=count)))
        except (pa.ArrowException, OSError, UnicodeDecodeError, StopIteration):
            return [dict.fromkeys(self.schema.names)]
        return rows

    def chunks(self) -> Iterator[Records]:
        first = 0
        for groups in self._runs():
            size = sum(self._rows(group) for group in groups)
            done = 0
            try:
                for batch in self._file.iter_batches(self.chunk_rows(), row_groups=groups):
                    yield Records(first + done, len(batch), pa.Table.from_batches([batch], self.schema))
                    done += len(batch)
            except (pa.ArrowException, OSError) as error:
                yield from self._rest_one_by_one(groups, first, done, error)
            first += size

    def _rest_one_by_one(
        self, groups: Sequence[int], first: int, done: int, error: Exception
    ) -> Iterator[Records]:
        """Yield the rows of a run that contains a damaged row group, except for the rows already read.

        Args:
            groups: Row groups of the run.
            first: Number of the run's first row.
            done: Number of rows of the run that were already read.
            error: Exception that reading the run raised.
        """
        for group in groups:
            size = self._rows(group)
            try:
                table = self._file.read_row_group(group)
            except (pa.ArrowException, OSError) as reason:
                why = f"row group {group} is damaged: {reason_of(reason)}"
                if size > done:
                    yield Records(first + done, size - done, damaged=why)
            else:
                if size > done:
                    yield Records(first + done, size - done, table.slice(done))
            first += size
            done = max(0, done - size)

    def _runs(self) -> Iterator[list[int]]:
        """Yield runs of consecutive row groups that make up a chunk.

        Tiny row groups are therefore read together.
        """
        run: list[int] = []
        rows = 0
        for group in range(self._file.num_row_groups):
            run.append(group)
            rows += self._rows(group)
            if rows >= self.chunk_rows():
                yield run
                run = []
                rows = 0
        if run:
            yield run

    def _rows(self, group: int) -> int:
        count: int = self._file.metadata.row_group(group).num_rows
        return count

    def chunk_rows(self) -> int:
        """Return the number of rows per chunk, which is smaller if rows are large."""
        groups = [self._file.metadata.row_group(i) for i in range(self._file.num_row_groups)]
        bytes_a_row = max(1, sum(group.total_byte_size for group in groups) // self.total)
        return max(1, min(CHUNK_ROWS, CHUNK_BYTES // int(bytes_a_row)))

    def close(self) -> None:
        self._file.close(force=True)


def _in_pieces(file: pq.ParquetFile, path: str) -> pq.ParquetFile:
    """Return the file, reopened for reading in pieces if a column of a row group is large.

    For example, a column with test cases for programs can be large.
    """
    found = file.metadata
    groups = (found.row_group(i) for i in range(found.num_row_groups))
    sizes = (group.column(i).total_compressed_size for group in groups for i in range(group.num_columns))
    if max(sizes, default=0) <= CHUNK_BYTES:
        return file
    file.close()
    return pq.ParquetFile(
        path, metadata=found, buffer_size=1 << 20, pre_buffer=False, page_checksum_verification=True
    )


class ArrowRows:
    """File in one of Arrow's formats: the file format (Feather) or the stream format (used by `datasets`)."""

    def __init__(self, source: Input) -> None:
        self.source = source
        self.total: int | None = None
        try:
            with self._opened() as reader:
                self.schema: pa.Schema = reader.schema
                if isinstance(reader, pa.RecordBatchFileReader):
                    self.total = sum(reader.get_batch(i).num_rows for i in range(reader.num_record_batches))
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"{source.path} is not a readable Arrow file: {reason_of(error)}") from None

    def first_row(self) -> RawRow:
        return self.first_rows(1)[0]

    def first_rows(self, count: int) -> list[RawRow]:
        for records in self.chunks():
            if records.table is not None and records.count:
                rows: list[RawRow] = in_python(records.table.slice(0, count))
                return rows
        raise InputError(f"{self.source.path} has no rows")

    def chunks(self) -> Iterator[Records]:
        first = 0
        try:
            with self._opened() as reader:
                for batch in _batches(reader):
                    for start in range(0, len(batch), CHUNK_ROWS):
                        part = batch.slice(start, CHUNK_ROWS)
                        yield Records(first, len(part), pa.Table.from_batches([part], self.schema))
                        first += len(part)
        except (pa.ArrowException, OSError) as error:
            raise InputError(
                f"{self.source.path}: cannot read the rows from row {first} on: {reason_of(error)}"
            ) from None

    @contextmanager
    def _opened(self) -> Iterator[pa.RecordBatchFileReader | pa.RecordBatchStreamReader]:
        with open_binary(self.source) as binary:
            far = "://" in self.source.path
            with pa.PythonFile(binary, "r") if far else pa.memory_map(self.source.path) as file:
                magic = file.read(len(_ARROW_FILE))
                file.seek(0)
                open_reader = pa.ipc.open_file if magic == _ARROW_FILE else pa.ipc.open_stream
                with open_reader(file) as reader:
                    yield reader

    def close(self) -> None:
        pass


def _batches(reader: pa.RecordBatchFileReader | pa.RecordBatchStreamReader) -> Iterator[pa.RecordBatch]:
    if isinstance(reader, pa.RecordBatchFileReader):
        return map(reader.get_batch, range(reader.num_record_batches))
    return iter(reader)


class LineRows:
    """File of JSON objects, one per line."""

    schema = None

    def __init__(self, source: Input) -> None:
        self.source = source
        packed = source.path.lower().endswith(COMPRESSIONS)
        self._near = not packed and "://" not in source.path and source.path != STDIN
        self._plain = self._near and not source.member

    @cached_property
    def total(self) -> int | None:
        """Number of lines, counted on first access, or None for remote or compressed files."""
        return _count_lines(self.source) if self._near else None

    def first_row(self) -> RawRow:
        return self.first_rows(1)[0]

    def first_rows(self, count: int) -> list[RawRow]:
        rows: list[RawRow] = []
        why = ""
        for records in self.chunks():
            why = why or f"; {records.damaged}" * (records.damaged is not None)
            for number, line in enumerate(records.lines, records.first_row + 1):
                try:
                    if line:
                        rows.append(parse(line))
                except BadRowError as error:
                    why = why or f"; line {number}: {error}"
                if len(rows) == count:
                    break
            if rows:
                return rows
        if not why:
            raise InputError(f"{self.source.path} is empty")
        advice = (
            "" if "UTF-8" in why else "; a JSON array, or objects over several lines, must be in a .json file"
        )
        raise InputError(f"{self.source.path} has no line that is a JSON object in UTF-8{why}{advice}")

    def chunks(self) -> Iterator[Records]:
        first = 0
        path = os.path.abspath(self.source.path)
        with open_binary(self.source) as file:
            start = len(BOM) if self._plain and file.read(len(BOM)) == BOM else 0
            if self._plain:
                file.seek(0)
            try:
                for lines in _line_chunks(file, self.source.path):
                    size = sum(map(len, lines)) + len(lines)
                    place = FileRange(path, start, size) if self._plain else None
                    yield Records(first, len(lines), lines=stripped(lines), place=place)
                    first += len(lines)
                    start += size
            except _BreaksOffError as error:
                yield Records(first, 1, damaged=str(error))
            except OverflowError as error:
                raise InputError(f"{self.source.path}, line {first + 1}: {error}") from None

    def close(self) -> None:
        pass


class ObjectRows:
    """File whose rows are read as Python objects (CSV, JSON, inspect logs) and converted to lines of JSON."""

    schema = None
    total = None

    def __init__(self, source: Input, read: Callable[[Input], Iterator[Any]]) -> None:
        self.source = source
        self._read = read

    def first_row(self) -> RawRow:
        return self.first_rows(1)[0]

    def first_rows(self, count: int) -> list[RawRow]:
        readable = _Readable(self._read(self.source))
        rows: list[RawRow] = list(itertools.islice((row for row in readable if isinstance(row, dict)), count))
        if rows:
            return rows
        raise InputError(f"{self.source.path} has no rows" + f"; {readable.damaged}" * bool(readable.damaged))

    def chunks(self) -> Iterator[Records]:
        first = 0
        readable = _Readable(self._read(self.source))
        for rows in _batched(readable, 1_024):
            lines = tuple([line_of(row) for row in rows])
            yield Records(first, len(lines), lines=lines)
            first += len(lines)
        if readable.damaged:
            yield Records(first, 1, damaged=readable.damaged)

    def close(self) -> None:
        pass


def row_reader(read: Callable[[Input], Iterator[Any]]) -> OpenRows:
    """Return the opener for a format, given a function that yields a file's rows as Python objects."""
    return partial(ObjectRows, read=read)


OPENERS: Table[OpenRows] = Table(
    "file_formats",
    FUNCTION,
    {
        "parquet": ParquetRows,
        "jsonl": LineRows,
        "arrow": ArrowRows,
        "csv": row_reader(csv_rows),
        "json": row_reader(json_rows),
        "inspect": row_reader(inspect_rows),
    },
)
"""Functions that open a file, by format. A package's format `name` is used for files `*.name`."""


class KeyedRows:
    """File whose rows also have the fields given by the names of its folders (hive partitions)."""

    def __init__(self, file: RowFile, keys: Mapping[str, str]) -> None:
        self.source = file.source
        self.total = file.total
        self.schema = file.schema
        self._file = file
        self._keys = keys
        self._fields = msgspec.json.encode(keys)[1:]
        if file.schema is not None:
            self.schema = pa.schema(
                [*file.schema, *((key, pa.string()) for key in keys)], file.schema.metadata
            )

    def first_row(self) -> RawRow:
        return self.first_rows(1)[0]

    def first_rows(self, count: int) -> list[RawRow]:
        return [{**row, **self._keys} for row in self._file.first_rows(count)]

    def chunks(self) -> Iterator[Records]:
        for records in self._file.chunks():
            table = records.table
            if table is not None:
                for key, value in self._keys.items():
                    table = table.append_column(key, pa.repeat(pa.scalar(value), records.count))
            lines = tuple(map(self._with_keys, records.lines))
            yield replace(records, table=table, lines=lines, place=None)

    def _with_keys(self, line: bytes) -> bytes:
        if not (line.startswith(b"{") and line.endswith(b"}")):  # An empty line is not a row.
            return line
        head = line[:-1].rstrip()
        return head + (b"" if head == b"{" else b",") + self._fields

    def close(self) -> None:
        self._file.close()


def _count_lines(source: Input) -> int:
    count = 0
    last = b"\n"
    with open_binary(source) as file:
        while block := file.read(1 << 20):
            count += block.count(b"\n")
            last = block[-1:]
    return count + (last != b"\n")


def _line_chunks(file: BinaryIO, path: str) -> Iterator[list[bytes]]:
    """Yield the lines of a file in chunks whose boundaries depend only on the file.

    Raises:
        InputError: The file is UTF-16.
        _BreaksOffError: The rest of the file cannot be read.
        OverflowError: A line exceeds the maximum length of a row.
    """
    begun = b""
    for block, is_last in _blocks(file, path):
        *lines, begun = (begun + block).split(b"\n")
        lines += [begun] if is_last and begun else []
        for start in range(0, len(lines), CHUNK_ROWS):
            yield lines[start : start + CHUNK_ROWS]
        if len(begun) > held.LINE_BYTES:
            raise OverflowError(
                f"the line is longer than {held.LINE_BYTES >> 20} MB; expected one JSON object per line"
            )


def _blocks(file: BinaryIO, path: str) -> Iterator[tuple[bytes, bool]]:
    """Yield the blocks of a file, each with True if the block is the last.

    If the file is damaged, all complete lines before the damage are yielded.

    Raises:
        InputError: The file is UTF-16.
        _BreaksOffError: The rest of the file cannot be read.
    """
    read = getattr(file, "read1", file.read)  # `read1` returns the data before an error.
    parts: list[bytes] = []
    size = 0
    try:
        parts.append(without_mark(read(len(BOM)), path))
        while part := read(_BLOCK_BYTES):
            parts.append(part)
            size += len(part)
            if size >= _BLOCK_BYTES:
                yield b"".join(parts), False
                parts = []
                size = 0
    except UNREADABLE as error:
        whole = b"".join(parts).rpartition(b"\n")[:2]
        yield b"".join(whole), False
        raise _BreaksOffError(_breaks_off(error)) from None
    yield b"".join(parts), True


class _BreaksOffError(Exception):
    """Error raised if the rest of a file cannot be read."""


def _breaks_off(error: BaseException) -> str:
    return f"the file breaks off or is damaged: {reason_of(error)}"


class _Readable:
    """Iterable over a file's rows up to the place where the file is damaged."""

    def __init__(self, rows: Iterator[Any]) -> None:
        self._rows = rows
        self.damaged = ""
        """Reason why the rest of the file cannot be read. Empty if the file is intact so far."""

    def __iter__(self) -> Iterator[Any]:
        try:
            yield from self._rows
        except UNREADABLE as error:
            self.damaged = _breaks_off(error)


def _batched(rows: Iterable[Any], size: int) -> Iterator[list[Any]]:
    iterator = iter(rows)
    while batch := list(itertools.islice(iterator, size)):
        yield batch


def line_of(row: Any) -> bytes:
    """Encode a row as a line of JSON. Bytes that were not UTF-8 are restored so that `parse` reports them."""
    try:
        return msgspec.json.encode(row)
    except UnicodeEncodeError:
        pass
    try:
        return json.dumps(row, ensure_ascii=False).encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # The row has a lone surrogate, which JSON can represent as an escape.
        return json.dumps(row).encode()
