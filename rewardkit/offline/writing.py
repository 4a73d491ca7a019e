"""Writers of scored rows as Parquet, JSONL (also .gz) or CSV, depending on the file name.

Files are published atomically.
"""

from __future__ import annotations

import contextlib
import csv
import functools
import gzip
import io
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import IO, Any, Protocol, cast

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from rewardkit.errors import InputError
from rewardkit.files.arrow_values import in_python, moment_text
from rewardkit.files.inputs import COMPRESSIONS, STDIN, format_of
from rewardkit.files.publishing import published
from rewardkit.files.records import BadRowError, Records
from rewardkit.logs.samples import parsed
from rewardkit.logs.scored_rows import renamed, renamed_names
from rewardkit.offline.chunk import ChunkResult, Output, with_ends
from rewardkit.offline.columns import conform
from rewardkit.offline.receipt import KEY, Receipt, encoded
from rewardkit.tables import is_text

RUN_KEY = b"rewardkit.run"
"""Key for the fingerprint of the run in the metadata of a Parquet file."""

_encoder = msgspec.json.Encoder(enc_hook=moment_text)


class Writer(Protocol):
    """Writer that receives scored chunks in order."""

    def write(self, records: Records, result: ChunkResult) -> None:
        """Write the kept rows of a chunk with their scores."""
        ...

    def close(self) -> None:
        """Finish the file."""
        ...


@contextlib.contextmanager
def sink_for(out: str) -> Iterator[IO[bytes]]:
    """Yield standard output, or a new file that is published if the block ends without an error."""
    if out == STDIN:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with published(Path(out)) as file:
        if out.endswith(".gz"):
            with gzip.GzipFile(fileobj=file, mode="wb", mtime=0) as packed:
                yield cast("IO[bytes]", packed)
        else:
            yield file


def check_output(out: str) -> str:
    """Return the format of an output, as determined by its name.

    Raises:
        InputError: The name does not indicate a format that can be written.
    """
    found = "jsonl" if out == STDIN else format_of(out)
    if found not in ("parquet", "jsonl", "csv") or out.lower().endswith((".zst", ".tsv")):
        raise InputError(
            f"cannot write {out}: expected a name that ends in .parquet, .jsonl, .jsonl.gz or .csv"
        )
    return found


def run_of(out: Path) -> bytes | None:
    """Return the fingerprint of the run that wrote a Parquet file, or None if the file has no fingerprint."""
    try:
        found: bytes | None = (pq.read_metadata(out).metadata or {}).get(RUN_KEY)
    except (pa.ArrowException, OSError):
        return None
    return found


def output_name(name: str) -> str:
    """Return the name of the output for an input. If its format cannot be written, the output is JSONL."""
    path = PurePosixPath(name)
    if path.suffix.lower() in COMPRESSIONS:
        path = path.with_suffix("")
    return str(path if path.suffix in (".parquet", ".jsonl", ".csv") else path.with_suffix(".jsonl"))


def scored_name(path: str) -> str:
    """Return the name of the scored file or folder beside an input file or folder."""
    place = Path(path)
    if place.is_dir():
        folder = place if place.name not in ("", "..") else place.resolve()  # the path `.` has no name
        return str(folder.with_name(f"{place.resolve().name}.scored"))
    name = Path(output_name(place.name))
    return str(place.with_name(f"{name.stem}.scored{name.suffix}"))


class ParquetWriter:
    """Writer of a Parquet file, with the score columns after the rows' own columns."""

    def __init__(
        self,
        sink: io.BufferedIOBase,
        schema: pa.Schema,
        carried: Sequence[pa.Field],
        fields: Sequence[pa.Field],
        prefix: str,
        run: bytes,
    ) -> None:
        """Create a writer, and begin the file.

        Args:
            sink: Output stream.
            schema: Schema of the rows' own columns.
            carried: Columns for `Output.carried`.
            fields: Score columns.
            prefix: Prefix of the score columns.
            run: Fingerprint of the run.
        """
        schema = parquet_schema(schema)
        self._fields = fields
        self._prefix = prefix
        self._input = schema
        self._added = {field.name for field in (*carried, *fields)}
        own = renamed_names(schema.names, self._added)
        self._schema = pa.schema([f.with_name(name) for f, name in zip(schema, own, strict=True)])
        self._carried = carried
        metadata = {**(schema.metadata or {}), RUN_KEY: run}
        whole = pa.schema([*self._schema, *carried, *fields], metadata)
        # Statistics of text columns take a third of the writing time, and no query needs them.
        counted = [field.name for field in whole if not (is_text(field.type) or field.type.num_fields)]
        self._writer = pq.ParquetWriter(sink, whole, compression="zstd", write_statistics=counted)

    def write(self, records: Records, result: ChunkResult) -> None:
        try:
            self._write(self._rows(records), result)
        except pa.ArrowException as error:
            raise InputError(f"cannot write parquet: {error}; write .jsonl") from None

    def _write(self, table: pa.Table, result: ChunkResult) -> None:
        if result.kept is not None:
            table = table.take(pa.array(result.kept, pa.int64()))
        carried = result.carried_table()
        fields = [*(self._carried if carried is not None else ()), *self._fields]
        arrays = [*(carried.columns if carried is not None else ())]
        arrays += conform(result.table(), self._fields, self._prefix)
        for field, array in zip(fields, arrays, strict=True):
            table = table.append_column(field, array)
        if len(table):
            self._writer.write_table(table, row_group_size=len(table))

    def _rows(self, records: Records) -> pa.Table:
        if records.damaged is not None:
            return pa.table([pa.nulls(records.count, f.type) for f in self._schema], schema=self._schema)
        if records.table is not None:
            table = parquet_table(records.table)
            if table.schema.equals(self._input):
                return table.rename_columns(self._schema.names)
        rows = [renamed(row, self._added) if isinstance(row, Mapping) else {} for row in parsed(records)]
        return table_of(rows, self._schema)

    def add_receipt(self, receipt: Receipt) -> None:
        """Add a receipt to the metadata."""
        self._writer.add_key_value_metadata({KEY: encoded(receipt)})

    def close(self) -> None:
        self._writer.close()


class LinesWriter:
    """Writer of rows as JSON objects, one per line."""

    def __init__(self, sink: io.BufferedIOBase, output: Output) -> None:
        self._sink = sink
        self._output = output

    def write(self, records: Records, result: ChunkResult) -> None:
        if records.lines:
            self._sink.write(with_ends(records.lines, result))
            return
        for row in _objects(records, result, self._output):
            self._sink.write(_encoder.encode(row) + b"\n")

    def close(self) -> None:
        pass


class CsvWriter:
    """Writer of rows as CSV in UTF-8. Values other than texts and numbers are written as JSON."""

    def __init__(self, sink: io.BufferedIOBase, columns: Sequence[str], output: Output) -> None:
        """Create a writer, and write the header.

        Args:
            sink: Output stream.
            columns: Names of the rows' own columns.
            output: Settings for the output.
        """
        self._text = io.TextIOWrapper(
            cast("IO[bytes]", sink), encoding="utf-8", newline="", write_through=True
        )
        self._output = output
        names = [*renamed_names(columns, output.names), *output.names]
        self._writer = csv.DictWriter(self._text, names, extrasaction="ignore")
        self._writer.writeheader()

    def write(self, records: Records, result: ChunkResult) -> None:
        for row in _objects(records, result, self._output):
            self._writer.writerow({name: _cell(value) for name, value in row.items()})

    def close(self) -> None:
        self._text.detach()


def _objects(records: Records, result: ChunkResult, output: Output) -> Iterator[dict[str, Any]]:
    """Yield the kept rows of a chunk with their scores as mappings."""
    rows: list[Any] = [{}] * records.count if records.damaged is not None else list(parsed(records))
    names = frozenset(output.names)
    scores = result.table().to_pylist()
    carried = result.carried_table()
    fields = [{}] * len(scores) if carried is None else carried.to_pylist()
    kept = range(len(rows)) if result.kept is None else result.kept
    for at, own_fields, score in zip(kept, fields, scores, strict=True):
        row = rows[at]
        own = renamed(row, names) if isinstance(row, Mapping) else {}
        if isinstance(row, BadRowError) and records.lines:
            own = {"unreadable": records.lines[at].decode("utf-8", "replace")}
        yield own | own_fields | {output.prefix + name: value for name, value in score.items()}


def _cell(value: Any) -> Any:
    return value if value is None or isinstance(value, str | int | float) else _encoder.encode(value).decode()


def schema_of(chunks: Iterator[Records]) -> pa.Schema:
    """Return a Parquet schema for rows that are lines. A field with incompatible values is a string."""
    found: dict[str, pa.DataType] = {}
    for records in chunks:
        rows = [row for row in parsed(records) if isinstance(row, Mapping)]
        for name in dict.fromkeys(name for row in rows for name in row):
            try:
                new = pa.array([row.get(name) for row in rows]).type
            except (pa.ArrowException, OverflowError):
                new = pa.string()
            found[name] = _unified(found.get(name, pa.null()), new)
    return parquet_schema(pa.schema(found))


def parquet_schema(schema: pa.Schema) -> pa.Schema:
    """Return the schema with strings for types that Parquet does not support, such as empty structs."""
    fields = [field if _is_in_parquet(field.type) else field.with_type(pa.string()) for field in schema]
    return pa.schema(fields, schema.metadata)


def parquet_table(table: pa.Table) -> pa.Table:
    """Convert a table to its `parquet_schema`, with JSON text for types that Parquet does not support."""
    schema = parquet_schema(table.schema)
    if schema.equals(table.schema):
        return table
    columns = [
        column if column.type == field.type else _texts(in_python(column))
        for column, field in zip(table.columns, schema, strict=True)
    ]
    return pa.table(columns, schema=schema)


@functools.cache  # avoids a test file for each column of each chunk
def _is_in_parquet(kind: pa.DataType) -> bool:
    try:
        pq.ParquetWriter(io.BytesIO(), pa.schema({"column": kind})).close()
    except pa.ArrowNotImplementedError:
        return False
    return True


def _unified(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    try:
        schemas = [pa.schema({"it": kind}) for kind in (one, other)]
        return pa.unify_schemas(schemas, promote_options="permissive").field("it").type
    except pa.ArrowException:
        return pa.string()


def table_of(rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """Return rows as a table. In text fields, values other than text are written as JSON."""
    columns = []
    for field in schema:
        values = [row.get(field.name) for row in rows]
        if pa.types.is_string(field.type):
            columns.append(_texts(values))
        else:
            columns.append(pa.array(values, field.type))
    return pa.table(columns, schema=schema)


def _texts(values: Sequence[Any]) -> pa.Array:
    texts = [v if v is None or isinstance(v, str) else _encoder.encode(v).decode() for v in values]
    return pa.array(texts, pa.string())
