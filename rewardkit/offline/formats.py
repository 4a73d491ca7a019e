"""Files of rows, of every format, as chunks of `Records`: bounded memory, cut in places that depend on the
file alone, damaged parts told apart from the rest.

What the rows mean is decided in `kinds` and `samples`.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, BinaryIO, Protocol

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from rewardkit.errors import InputError, MissingDependencyError
from rewardkit.offline.inputs import COMPRESSIONS, STDIN, Input, open_binary
from rewardkit.offline.records import BadRowError, RawRow, Records, parse

CHUNK_BYTES = 24 << 20
"""Uncompressed bytes of a chunk, about; several chunks are held at once."""
CHUNK_ROWS = 8_192

_BOM = b"\xef\xbb\xbf"


class RowFile(Protocol):
    """An open file of rows."""

    source: Input

    @property
    def schema(self) -> pa.Schema | None:
        """The columns and their types, where the format has them."""
        ...

    @property
    def total(self) -> int | None:
        """Number of rows, where it is known without reading them."""
        ...

    def first_row(self) -> RawRow:
        """Return a row to recognise the kind by; empty if there is none that can be read."""
        ...

    def chunks(self) -> Iterator[Records]:
        """Read the file from its beginning."""
        ...

    def close(self) -> None:
        """Close the file."""
        ...


def open_rows(source: Input) -> RowFile:
    """Open a file of rows.

    Raises:
        InputError: it cannot be read, is not of the format that its name says, or has no rows.
        MissingDependencyError: its format or place needs an extra.
    """
    if source.format == "parquet":
        return ParquetRows(source)
    if source.format == "jsonl":
        return LineRows(source)
    readers = {"csv": _csv_rows, "json": _json_rows, "inspect": _inspect_rows}
    return ObjectRows(source, readers[source.format])


def columns_of(file: RowFile) -> list[str]:
    """Return the names of a file's columns; of a file of objects those of its first row."""
    return list(file.schema.names if file.schema is not None else file.first_row())


class ParquetRows:
    """A parquet file. Row groups are read one after the other, so a damaged one loses only its own rows."""

    def __init__(self, source: Input) -> None:
        self.source = source
        far = "://" in source.path
        binary = open_binary(source)
        if not far:  # Arrow reads local files without the interpreter's lock
            binary.close()
        try:
            # No pre-buffering of local files: it would hold whole row groups, however large they are.
            self._file = pq.ParquetFile(
                binary if far else source.path, pre_buffer=far, page_checksum_verification=True
            )
            schema = self._file.schema_arrow
            names = schema.names
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise InputError(
                f"{source.path} is not a parquet file that can be read: {_line(error)}"
            ) from None
        self.schema: pa.Schema = schema
        self.total: int = self._file.metadata.num_rows
        repeated = [name for name in names if names.count(name) > 1]
        if repeated:
            raise InputError(f"{source.path} has two columns named '{repeated[0]}'; rename one of them")
        if self.total == 0:
            raise InputError(f"{source.path} has no rows")

    @property
    def file(self) -> pq.ParquetFile:
        """The file as Arrow has it."""
        return self._file

    def first_row(self) -> RawRow:
        try:
            batch = next(self._file.iter_batches(batch_size=1))
            row: RawRow = batch.to_pylist()[0]
        except (pa.ArrowException, OSError, UnicodeDecodeError, StopIteration):
            return dict.fromkeys(self.schema.names)
        return row

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
        """The row groups of a run in which one is damaged, but for the rows that were read already."""
        for group in groups:
            size = self._rows(group)
            try:
                table = self._file.read_row_group(group)
            except (pa.ArrowException, OSError) as reason:
                why = f"row group {group} is damaged: {_line(reason)}"
                if size > done:
                    yield Records(first + done, size - done, damaged=why)
            else:
                if size > done:
                    yield Records(first + done, size - done, table.slice(done))
            first += size
            done = max(0, done - size)

    def _runs(self) -> Iterator[list[int]]:
        """Neighbouring row groups, as many as make a chunk: a file of tiny ones is read in larger pieces."""
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
        """Rows a chunk: fewer where rows are large."""
        groups = [self._file.metadata.row_group(i) for i in range(self._file.num_row_groups)]
        bytes_a_row = max(1, sum(group.total_byte_size for group in groups) // self.total)
        return max(1, min(CHUNK_ROWS, CHUNK_BYTES // int(bytes_a_row)))

    def close(self) -> None:
        self._file.close(force=True)


class LineRows:
    """A file of JSON objects, one a line."""

    schema = None

    def __init__(self, source: Input) -> None:
        self.source = source
        self.total: int | None = None
        if not source.path.endswith(COMPRESSIONS) and "://" not in source.path and source.path != STDIN:
            self.total = _count_lines(source)

    def first_row(self) -> RawRow:
        for records in self.chunks():
            for line in records.lines:
                try:
                    if line:
                        return parse(line)
                except BadRowError:
                    continue
        raise InputError(f"{self.source.path} has no rows of JSON objects")

    def chunks(self) -> Iterator[Records]:
        first = 0
        try:
            with open_binary(self.source) as file:
                for lines in _line_chunks(file):
                    stripped = tuple([line.strip() for line in lines])
                    yield Records(first, len(lines), lines=stripped)
                    first += len(lines)
        except (OSError, EOFError, pa.ArrowException) as error:
            raise InputError(f"{self.source.path}, after line {first}: {_line(error)}") from None

    def close(self) -> None:
        pass


class ObjectRows:
    """A file whose rows are read as Python objects (csv, JSON, inspect logs): lines of JSON from here on."""

    schema = None
    total = None

    def __init__(self, source: Input, read: Callable[[Input], Iterator[Any]]) -> None:
        self.source = source
        self._read = read

    def first_row(self) -> RawRow:
        for row in self._read(self.source):
            if isinstance(row, dict):
                return row
        raise InputError(f"{self.source.path} has no rows")

    def chunks(self) -> Iterator[Records]:
        first = 0
        for rows in _batched(self._read(self.source), 1_024):
            lines = tuple([_to_line(row) for row in rows])
            yield Records(first, len(lines), lines=lines)
            first += len(lines)

    def close(self) -> None:
        pass


class KeyedRows:
    """A file whose rows also have what the names of its folders say of them (hive partitions)."""

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
        return {**self._file.first_row(), **self._keys}

    def chunks(self) -> Iterator[Records]:
        for records in self._file.chunks():
            table = records.table
            if table is not None:
                for key, value in self._keys.items():
                    table = table.append_column(key, pa.repeat(pa.scalar(value), records.count))
            yield replace(records, table=table, lines=tuple(map(self._with_keys, records.lines)))

    def _with_keys(self, line: bytes) -> bytes:
        if not (line.startswith(b"{") and line.endswith(b"}")):  # no row
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


def _line_chunks(file: BinaryIO) -> Iterator[list[bytes]]:
    lines = file.readlines(CHUNK_BYTES // 4)
    if lines:
        lines[0] = lines[0].removeprefix(_BOM)
    while lines:
        for start in range(0, len(lines), CHUNK_ROWS):
            yield lines[start : start + CHUNK_ROWS]
        lines = file.readlines(CHUNK_BYTES // 4)


def _batched(rows: Iterable[Any], size: int) -> Iterator[list[Any]]:
    iterator = iter(rows)
    while batch := list(itertools.islice(iterator, size)):
        yield batch


def _to_line(row: Any) -> bytes:
    """A row as a line of JSON; bytes that were no UTF-8 are what they were, for `parse` to tell of."""
    try:
        return msgspec.json.encode(row)
    except UnicodeEncodeError:
        return json.dumps(row, ensure_ascii=False).encode("utf-8", "surrogateescape")


def _csv_rows(source: Input) -> Iterator[dict[str, Any]]:
    """The rows of a csv file. Cells that a row lacks are null, and those it has too many are left out."""
    csv.field_size_limit(sys.maxsize)
    with open_binary(source) as binary:
        text = io.TextIOWrapper(binary, encoding="utf-8-sig", errors="surrogateescape", newline="")
        reader = csv.DictReader(text, restkey="", strict=False)
        names = reader.fieldnames or []
        repeated = [name for name in names if list(names).count(name) > 1]
        if repeated:
            raise InputError(f"{source.path} has two columns named '{repeated[0]}'; rename one of them")
        try:
            for row in reader:
                row.pop("", None)
                yield row
        except csv.Error as error:
            raise InputError(f"{source.path}, line {reader.line_num}: {error}") from None


def _json_rows(source: Input) -> Iterator[Any]:
    """The rows of a JSON file: an array of objects, an object that holds one such array, or one object."""
    with open_binary(source) as file:
        content = file.read().removeprefix(_BOM)
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"{source.path} is not JSON ({error}); a file of one object a line is named .jsonl"
        ) from None
    if isinstance(found, dict):
        if {"version", "status", "eval", "plan"} <= found.keys():
            yield from _inspect_rows(source)
            return
        lists = [value for value in found.values() if _is_rows(value)]
        found = lists[0] if len(lists) == 1 else [found]
    if not _is_rows(found):
        raise InputError(f"{source.path} holds no array of objects")
    yield from found


def _is_rows(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)


def _inspect_rows(source: Input) -> Iterator[dict[str, Any]]:
    """The samples of a log of inspect, read with its own library."""
    try:
        from inspect_ai.log import read_eval_log, read_eval_log_samples
    except ImportError:
        raise MissingDependencyError(
            f"{source.path} is a log of inspect; install its library with: pip install inspect-ai"
        ) from None
    try:
        header = read_eval_log(source.path, header_only=True)
        for sample in read_eval_log_samples(source.path, all_samples_required=False):
            row = sample.model_dump(mode="json", include=_INSPECT_FIELDS)
            yield {"eval": header.eval.dataset.name or header.eval.task, **row}
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"{source.path} is not a log of inspect that can be read: {_line(error)}") from None


_INSPECT_FIELDS = {"id", "epoch", "input", "target", "output", "scores", "metadata", "error"}


def _line(error: Exception) -> str:
    return str(error).partition("\n")[0] or type(error).__name__
