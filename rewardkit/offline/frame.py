"""Scoring of a table that is in memory: a pandas DataFrame or a pyarrow Table, the same kind out."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from rewardkit.errors import InputError
from rewardkit.offline.columns import Columns, column_of, score_fields, to_columns, to_rows, with_unusable
from rewardkit.scorer import Scorer


def score_frame(
    frame: Any, *, scorer: Scorer | None = None, columns: Columns | None = None, mark_bad: bool = False
) -> Any:
    """Return the frame with score columns added.

    Args:
        frame: a `pandas.DataFrame` (its index is kept) or a `pyarrow.Table`, with the columns that
            `rewardkit score` reads.
        mark_bad: give rows with a null response or ground truth the status `invalid` rather than raise.

    Raises:
        InputError: a missing column, or a row that cannot be used.
        UnknownDataSourceError: a data source without a reward.
    """
    if scorer is None:
        with Scorer() as own:
            return score_frame(frame, scorer=own, columns=columns, mark_bad=mark_bad)
    is_table = isinstance(frame, pa.Table)
    table = frame if is_table else _from_pandas(frame)
    found = (columns or Columns()).found_in(table.schema)
    sources = [s for s in column_of(table, found.data_source).unique().to_pylist() if s is not None]
    scorer.check(sources)
    rewards = [scorer.reward_for(source) for source in sources]
    rows = to_rows(table, found, 0, reads={name for r in rewards for name in r.reads}, mark_bad=mark_bad)
    scores = with_unusable(scorer.score_batch(rows.samples), rows)
    fields = score_fields(found, table.schema, {part for r in rewards for part in r.parts}, scores)
    new = dict(zip(fields, to_columns(scores, rows, fields, found.prefix), strict=True))
    if is_table:
        for field, array in new.items():
            table = table.append_column(field, array)
        return table
    return frame.assign(**{field.name: array.to_pylist() for field, array in new.items()})


def _from_pandas(frame: Any) -> pa.Table:
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except (AttributeError, TypeError) as error:
        raise InputError(
            f"expected a pandas DataFrame or a pyarrow Table, got {type(frame).__name__}"
        ) from error
