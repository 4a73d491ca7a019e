"""Scoring of a table that is in memory: a pandas DataFrame or a pyarrow Table, the same kind out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from rewardkit.errors import InputError
from rewardkit.files.inputs import Input
from rewardkit.files.records import RawRow, Records
from rewardkit.logs.layout import ReadOptions, layout_of
from rewardkit.logs.reader import PLAIN
from rewardkit.logs.samples import to_batch
from rewardkit.offline.columns import conform, parts_of, score_columns, score_fields, score_names
from rewardkit.scoring.scorer import Scorer
from rewardkit.types import failure


class TableRows:
    """A table in the place of a file."""

    def __init__(self, table: pa.Table) -> None:
        self.source = Input("the table", "table")
        self.schema: pa.Schema = table.schema
        self.total: int = len(table)
        self._table = table

    def first_row(self) -> RawRow:
        return self.first_rows(1)[0]

    def first_rows(self, count: int) -> list[RawRow]:
        rows: list[RawRow] = self._table.slice(0, count).to_pylist()
        return rows or [dict.fromkeys(self.schema.names)]

    def chunks(self) -> Iterator[Records]:
        yield Records(0, len(self._table), self._table)

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
    """Return the frame with score columns added.

    Args:
        frame: a `pandas.DataFrame` (its index is kept) or a `pyarrow.Table`, with columns as `score_file`
            reads them.
        options: how to read the frame: names of columns, or values that hold for all rows.
        prefix: put before the names of the score columns.
        mark_bad: give rows that cannot be used the status `invalid` rather than raise. A data source
            without a reward is an error all the same.

    Raises:
        InputError: a missing column, or a row that cannot be used.
        UnknownDataSourceError: a data source without a reward.
    """
    if scorer is None:
        with Scorer() as own:
            return score_frame(frame, scorer=own, options=options, prefix=prefix, mark_bad=mark_bad)
    table = frame if isinstance(frame, pa.Table) else _from_pandas(frame)
    file = TableRows(table)
    layout = layout_of(file, options)
    taken = [name for name in score_names(prefix) if name in table.column_names]
    if taken:
        raise InputError(f"the table already has a column '{taken[0]}'; pass another prefix=")
    batch = to_batch(next(file.chunks()), layout)
    if batch.bad and not mark_bad:
        at, why = next(iter(batch.bad.items()))
        raise InputError(f"row {batch.rows[at]}: {why}; fix the row, or pass mark_bad=True to score the rest")
    sources = {sample.data_source for sample in batch.usable}
    scorer.check(sources)
    good = iter(scorer.score_batch(batch.usable))
    scores = [
        failure("invalid", batch.bad[i]) if i in batch.bad else next(good) for i in range(len(batch.samples))
    ]
    declared = {part for source in sources for part in scorer.reward_for(source).parts}
    fields = score_fields(prefix, declared | parts_of(scores), many=layout.many)
    columns = score_columns(scores, batch.lengths if layout.many else None)
    new = dict(zip(fields, conform(columns, fields, prefix), strict=True))
    if isinstance(frame, pa.Table):
        for one, array in new.items():
            table = table.append_column(one, array)
        return table
    return frame.assign(**{one.name: array.to_pylist() for one, array in new.items()})


def _from_pandas(frame: Any) -> pa.Table:
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except (AttributeError, TypeError) as error:
        raise InputError(
            f"expected a pandas DataFrame or a pyarrow Table, found {type(frame).__name__}"
        ) from error
