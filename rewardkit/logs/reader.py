"""Reader of files with responses, which yields batches of Samples for scoring, viewing and comparing.

    >>> for batch in read_samples(["rollouts/*.jsonl"], ReadOptions(data_source="gsm8k")):  # doctest: +SKIP
    ...     for sample, row in zip(batch.samples, batch.rows):
    ...         print(row, sample.response)

`batch.bad` contains the reasons why samples cannot be used. `batch.records` contains the rows as they were
read, with all other columns (`samples.parsed` returns them as mappings).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from rewardkit.errors import InputError, with_columns
from rewardkit.files.formats import KeyedRows, RowFile, columns_of, line_of, open_rows
from rewardkit.files.inputs import Input, find_inputs
from rewardkit.files.records import BadRowError, RawRow, Records
from rewardkit.logs.layout import Joined, ReadOptions, RowLayout, batch_names, layout_of, names_of
from rewardkit.logs.lists import batch_rows
from rewardkit.logs.samples import ALL, SampleBatch, parsed, to_batch
from rewardkit.rows import Fields, RowNames, ground_truth_text, has_value, value_at

PLAIN = ReadOptions()
"""Default options, with which the column names and data sources in the files are used."""


@contextlib.contextmanager
def opened(
    source: Input,
    options: ReadOptions,
    *,
    with_keys: bool = True,
    to_score: Callable[[RowFile], bool] | None = None,
) -> Iterator[tuple[RowFile, RowLayout]]:
    """Open a file with responses for the block, and recognise the layout of its rows.

    Args:
        source: File to open.
        options: Options for reading the file.
        with_keys: True to add the values of Hive partitions as columns to rows without these columns.
        to_score: Function that decides `options.to_score` for the file.

    Raises:
        InputError: The file cannot be read, or a column is missing.
    """
    file: RowFile = open_rows(source)
    try:
        if to_score is not None:
            options = replace(options, to_score=to_score(file))
        if (names := batch_names(file, options)) is not None:
            file = BatchedRows(file, names)
        layout = layout_of(file, options)
        columns = columns_of(file)
        keys = {key: value for key, value in source.keys.items() if with_keys and key not in columns}
        yield KeyedRows(file, keys) if keys else file, layout
    finally:
        file.close()


class BatchedRows:
    """Rows of a file in which each row contains a batch, split into one row for each response."""

    schema = None
    total = None

    def __init__(self, file: RowFile, names: RowNames) -> None:
        self.source = file.source
        self._file = file
        self._names = names

    def first_row(self) -> RawRow:
        return self.first_rows(1)[0]

    def first_rows(self, count: int) -> list[RawRow]:
        return [one for row in self._file.first_rows(count) for one in batch_rows(row, self._names)][:count]

    def chunks(self) -> Iterator[Records]:
        first = 0
        for records in self._file.chunks():
            if records.damaged is None:
                lines = tuple(self._lines(records))
                records = Records(first, len(lines), lines=lines)
            else:
                records = replace(records, first_row=first)
            yield records
            first += records.count

    def _lines(self, records: Records) -> Iterator[bytes]:
        for i, row in enumerate(parsed(records)):
            if isinstance(row, Mapping):
                yield from map(line_of, batch_rows(row, self._names))
            else:
                yield records.lines[i] if records.lines else b""

    def close(self) -> None:
        self._file.close()


def read_samples(
    paths: Iterable[str | Path], options: ReadOptions = PLAIN, reads: Collection[str] = ALL
) -> Iterator[SampleBatch]:
    """Yield the samples in files, folders, globs and URLs in order, a few thousand rows at a time.

    Args:
        paths: Files, folders, globs and URLs.
        options: Options for reading the files, a `rewardkit.offline.ReadOptions` with names of columns or
            values that apply to all rows.
        reads: Optional fields to read, out of `prompt` and `extra_info`. All other optional fields are empty.

    Raises:
        InputError: A file is missing or cannot be read, or a column is missing.
    """
    for source in find_inputs(paths):
        with opened(source, options) as (file, layout):
            for records in file.chunks():
                yield to_batch(records, layout, reads)


def read_join(paths: Iterable[str | Path], on: str) -> Joined:
    """Return the ground truths (and data sources, prompts and `extra_info`) in files by a key.

    Args:
        paths: Files with the ground truths.
        on: Name of the key column, or `NAME=OTHER` if the column is called OTHER in the files with the ground
            truths.

    Raises:
        InputError: A file cannot be read, a row has no key or no ground-truth column, or two rows with the
            same key have different ground truths.
    """
    key, _, key_there = on.partition("=")
    key_there = key_there or key
    rows: dict[str, Fields] = {}
    for source in find_inputs(paths):
        file = open_rows(source)
        try:
            names = replace(names_of(file), response=None)
            for records in file.chunks():
                for row in parsed(records):
                    if row is not None and not isinstance(row, BadRowError):
                        _add(rows, row, names, key_there, source.path)
        finally:
            file.close()
    return Joined(key, rows)


def _add(rows: dict[str, Fields], row: RawRow, names: RowNames, key: str, path: str) -> None:
    if not has_value(row, key) or names.ground_truth is None:
        lacking = f"column '{key}' to join by" if names.ground_truth else "ground-truth column"
        raise InputError(with_columns(f"{path} has no {lacking}", row))
    fields = names.read(row)
    known = rows.setdefault(str(value_at(row, key)), fields)
    if ground_truth_text(known.ground_truth) != ground_truth_text(fields.ground_truth):
        raise InputError(
            f"{path}: two rows with {key} {value_at(row, key)!r:.60} have different ground truths"
        )
