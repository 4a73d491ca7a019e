"""Scoring of a table in memory, which is a pandas DataFrame or a pyarrow Table."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from rewardkit.errors import InputError, RewardkitError
from rewardkit.files.arrow_values import in_python
from rewardkit.files.formats import line_of
from rewardkit.files.inputs import Input
from rewardkit.files.records import RawRow, Records, parse, require_names_once
from rewardkit.logs.layout import ReadOptions, layout_of
from rewardkit.logs.reader import PLAIN
from rewardkit.logs.samples import to_batch
from rewardkit.logs.scored_rows import carried_fields, renamed_names
from rewardkit.offline.columns import (
    carried_columns,
    carried_values,
    conform,
    parts_of,
    score_columns,
    score_fields,
    score_names,
)
from rewardkit.rows import plain_mapping
from rewardkit.scoring.scorer import Scorer


class TableRows:
    """Table with the interface of a file that has a single chunk of rows."""

    def __init__(self, records: Records) -> None:
        self.source = Input("the table", "table")
        self.schema: pa.Schema | None = None if records.table is None else records.table.schema
        self.total: int = records.count
        self._records = records

    def first_row(self) -> RawRow:
        return self.first_rows(1)[0]

    def first_rows(self, count: int) -> list[RawRow]:
        table = self._records.table
        if table is None:
            return [parse(line) for line in self._records.lines[:count]]
        rows: list[RawRow] = in_python(table.slice(0, count))
        return rows or [dict.fromkeys(table.schema.names)]

    def chunks(self) -> Iterator[Records]:
        yield self._records

    def close(self) -> None:
        pass


def score_frame(
    frame: Any,
    *,
    scorer: Scorer | None = None,
    options: ReadOptions = PLAIN,
    prefix: str = "",
    mark_bad: bool = False,
) -> Any:
    """Return the frame with score columns, and with columns for missing fields such as `data_source`.

    Args:
        frame: A `pandas.DataFrame` (whose index is kept) or a `pyarrow.Table`, with the columns that
            `score_file` reads.
        scorer: Scorer for the rows. By default, a new `Scorer` is created.
        options: Options for reading the frame, a `rewardkit.offline.ReadOptions` with names of columns or
            values that apply to all rows.
        prefix: Prefix for the names of the score columns.
        mark_bad: True to give unusable rows the status `invalid` instead of raising an error. A data source
            without a reward still raises an error.

    Raises:
        InputError: A column is missing, or a row cannot be used.
        UnknownDataSourceError: A data source has no reward.
    """
    if scorer is None:
        with Scorer() as own:
            return score_frame(frame, scorer=own, options=options, prefix=prefix, mark_bad=mark_bad)
    columns = _columns_of(frame)
    file = TableRows(_records_of(frame))
    layout = layout_of(file, options, guess=False)
    carried = tuple(filter(layout.to_add.__contains__, carried_fields(layout.response_name)))
    taken = [name for name in score_names(prefix) if name in columns]
    if taken:
        raise InputError(f"the table already has a column '{taken[0]}'; pass another prefix=")
    batch = to_batch(next(file.chunks()), layout)
    if batch.bad and not mark_bad:
        at, why = next(iter(batch.bad.items()))
        raise InputError(f"row {batch.rows[at]}: {why}; fix the row, or pass mark_bad=True to score the rest")
    sources = {sample.data_source for sample in batch.usable}
    scorer.check(sources)
    scores = scorer.score_batch(batch.samples)
    declared = {part for source in sources for part in scorer.reward_for(source).parts}
    fields = score_fields(prefix, declared | parts_of(scores), many=layout.many)
    each = batch.lengths if layout.many else None
    scored = score_columns(scores, each)
    new = dict(zip(fields, conform(scored, fields, prefix), strict=True))
    values = carried_values(carried, batch.samples, batch.finish_reasons, each)
    added = carried_columns(values, many=layout.many)
    new = dict(zip(added.schema, added.columns, strict=True)) | new
    renamed = renamed_names(columns, {*carried, *score_names(prefix)})
    if isinstance(frame, pa.Table):
        frame = frame.rename_columns(renamed)
        for one, array in new.items():
            frame = frame.append_column(one, array)
        return frame
    frame = frame.rename(
        columns={old: to for old, to in zip(frame.columns, renamed, strict=True) if str(old) != to}
    )
    return frame.assign(**{one.name: array.to_pylist() for one, array in new.items()})


@contextmanager
def as_file(frame: Any, on_note: Callable[[str], None]) -> Iterator[tuple[str, Callable[[str], None]]]:
    """Write a frame to a temporary file for the block, and yield its path and an `on_note` callback.

    Remarks and errors raised in the block mention the table instead of the file.

    Raises:
        InputError: The frame is neither a `pandas.DataFrame` nor a `pyarrow.Table`, or has no rows.
    """
    _columns_of(frame)
    if not len(frame):
        raise InputError("the table has no rows")
    with tempfile.TemporaryDirectory() as folder:
        records = _records_of(frame)
        path = Path(folder, "table.jsonl" if records.table is None else "table.parquet")
        if records.table is None:
            path.write_bytes(b"".join(line + b"\n" for line in records.lines))
        else:
            pq.write_table(records.table, path)

        def named(text: str) -> str:
            return text.replace(str(path), "the table")

        try:
            yield str(path), lambda line: on_note(named(line))
        except RewardkitError as error:
            raise type(error)(named(str(error))) from None


def _columns_of(frame: Any) -> list[str]:
    """Return the column names of a frame or table.

    Raises:
        InputError: The object is neither a frame nor a table, or has two columns with the same name.
    """
    if isinstance(frame, pa.Table):
        names: list[str] = frame.column_names
    elif hasattr(frame, "columns") and hasattr(frame, "to_dict"):
        names = [str(name) for name in frame.columns]
    else:
        raise InputError(f"expected a pandas DataFrame or a pyarrow Table, found {type(frame).__name__}")
    require_names_once(names, "the table")
    return names


def _records_of(frame: Any) -> Records:
    """Return the rows of a frame or table, as JSON lines if Arrow has no common type for a column."""
    if isinstance(frame, pa.Table):
        return Records(0, len(frame), frame)
    try:
        return Records(0, len(frame), pa.Table.from_pandas(frame, preserve_index=False))
    except (pa.ArrowException, OverflowError, ValueError, TypeError):
        values = frame.astype(object).where(frame.notna(), None)
        lines = tuple([line_of(plain_mapping(row)) for row in values.to_dict("records")])
        return Records(0, len(lines), lines=lines)
