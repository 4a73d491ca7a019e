"""Reads prompts from a file in any known format, and writes responses in the format of the output file."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec.structs import replace

from rewardkit.errors import InputError
from rewardkit.files.arrow_values import in_python, moment_text
from rewardkit.files.formats import open_rows
from rewardkit.files.inputs import find_inputs
from rewardkit.files.publishing import published
from rewardkit.files.records import BadRowError, Records
from rewardkit.logs.samples import parsed
from rewardkit.offline.receipt import KEY, DigestingSink, Receipt, encoded, write_beside
from rewardkit.offline.writing import parquet_table, schema_of, table_of

FORMS = (".parquet", ".jsonl")
NO_RECEIPT = Receipt({})


def read_prompts_table(path: str | Path, limit: int | None) -> pa.Table:
    """Return the rows in a file of any known format, or in all files that a folder or glob pattern matches.

    Args:
        path: File, folder or glob pattern.
        limit: Maximum number of rows to return, or None for all rows.

    Raises:
        InputError: No file or row exists, or a file has an unknown format or cannot be read.
    """
    tables: list[pa.Table] = []
    for source in find_inputs([path]):
        file = open_rows(source)
        try:
            schema = file.schema if file.schema is not None else schema_of(file.chunks())
            tables += [_table(records, schema, source.path) for records in file.chunks()]
        finally:
            file.close()
    if not tables:
        raise InputError(f"{path} has no rows")
    try:
        table = pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException as error:
        raise InputError(
            f"cannot combine the files of {path}: {error}; give each column one type in all files"
        ) from None
    return table.slice(0, limit) if limit else table


def _table(records: Records, schema: pa.Schema, path: str) -> pa.Table:
    if records.table is not None:
        try:
            records.table.validate(full=True)  # finds invalid UTF-8, which Arrow reads silently
        except pa.ArrowException as error:
            raise InputError(f"{path}, row {records.first_row} or later: {error}") from None
        return records.table
    if records.damaged is not None:
        raise InputError(f"{path}, row {records.first_row}: {records.damaged}")
    rows = []
    for i, row in enumerate(parsed(records), records.first_row):
        if isinstance(row, BadRowError):
            raise InputError(f"{path}, row {i}: {row}")
        if row is not None:
            rows.append(row)
    return table_of(rows, schema)


def write_table(table: pa.Table, out: Path, receipt: Receipt = NO_RECEIPT) -> None:
    """Write a table atomically as parquet or jsonl, depending on the suffix of the file, with its receipt.

    The digest of the content is added to the receipt.

    Raises:
        InputError: The suffix is not supported, or the file cannot be written.
    """
    check_form(out)
    with published(out) as file:
        sink = DigestingSink(file)
        if out.suffix == ".parquet":
            table = parquet_table(table)
            with pq.ParquetWriter(sink, table.schema, compression="zstd") as writer:
                writer.write_table(table)
                receipt = replace(receipt, content=sink.digest)
                writer.add_key_value_metadata({KEY: encoded(receipt)})
            return
        for batch in table.to_batches(max_chunksize=1024):
            rows = in_python(batch)
            sink.writelines(msgspec.json.encode(row, enc_hook=moment_text) + b"\n" for row in rows)
    write_beside(out, replace(receipt, content=sink.digest))


def check_form(out: Path) -> None:
    """Check that the suffix of a file belongs to a format that can be written.

    Raises:
        InputError: The suffix is not supported.
    """
    if out.suffix not in FORMS:
        raise InputError(f"{out}: the name must end in {' or '.join(FORMS)}")
