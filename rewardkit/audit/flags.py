"""Writes a copy of a dataset in which each row has the flags of an audit, as `extra_info.audit`.

`rewardkit prep --skip-bad` and `data.leave_out` of `rewardkit train` leave flagged rows out, and `rewardkit
eval` shows their figures apart (`rewardkit.rows.flags_of` reads the flags).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from rewardkit.audit import Audit
from rewardkit.audit.frames import written
from rewardkit.errors import InputError, reason_of
from rewardkit.files.formats import open_rows
from rewardkit.files.inputs import find_inputs
from rewardkit.files.publishing import published
from rewardkit.files.records import parse_all
from rewardkit.labels.labelled import Labelled
from rewardkit.rows import AUDIT, EXTRA_INFO, plain_mapping
from rewardkit.scoring.scorer import Scorer

_FLAGS = pa.list_(pa.string())


def find_flags(rows: Sequence[Labelled], scorer: Scorer, audit: Audit) -> dict[int, list[str]]:
    """Return the flags of each flagged row, by the number of the row in the file.

    Args:
        rows: All rows of the file that was audited.
        scorer: Scorer of the audit.
        audit: Results, which name the weak rows, the frame of answers and the constant responses that pay.
    """
    found: dict[int, list[str]] = {}
    for source in audit.sources:
        for weak in source.weak_rows:
            found.setdefault(weak.row, []).append("weak_tests")
        mine = [row for row in rows if row.item.data_source == source.data_source]
        holes = [hole for hole in source.holes if hole.layer == "constant"]
        texts = [payment.text for hole in holes for payment in hole.payments]
        right = _best(scorer, [(row, _right(row, source.frame)) for row in mine])
        constant = _best(scorer, [(row, texts) for row in mine])
        for row, most, idle in zip(mine, right, constant, strict=True):
            if idle is not None and idle > 0 and (most is None or idle >= most):
                found.setdefault(row.item.row, []).append("pays_constant")
            if most is not None and most <= 0:
                found.setdefault(row.item.row, []).append("denies_reference")
    return found


def _right(row: Labelled, frame: str) -> list[str]:
    """Return the responses that should be paid: the worked solution, and the ground truth in the frame."""
    return [text for text in (row.solution, written(frame, row.item.ground_truth)) if text]


def _best(scorer: Scorer, tries: Sequence[tuple[Labelled, Sequence[str]]]) -> list[float | None]:
    """Return the highest score of each row's responses, or None if none was scored.

    If the reward reports correctness, a wrong response counts as 0, whatever its form earns.
    """
    scores = scorer.stream(row.sample(text) for row, texts in tries for text in texts)
    found = (
        [0.0 if one.correct is False else one.score for one in islice(scores, len(texts)) if one.ok]
        for _, texts in tries
    )
    return [max(some, default=None) for some in found]


def write_flags(path: str | Path, out: Path, flags: Mapping[int, Collection[str]]) -> Counter[str]:
    """Write the rows of a file to a parquet file with their flags, and return the number of rows per flag.

    Rows without flags get an empty list, which replaces the flags of an earlier audit.

    Args:
        path: File that was audited.
        out: Parquet file to write.
        flags: Flags by the number of the row in the file, from 0.

    Raises:
        InputError: The file cannot be read, or its rows are not alike.
    """
    (source,) = find_inputs([path])
    with published(out) as file:
        try:
            tables = [_flagged(table, first, flags) for first, table in _tables(source)]
            pq.write_table(pa.concat_tables(tables, promote_options="permissive"), file, compression="zstd")
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"cannot add flags to {path}: {reason_of(error)}") from None
    return Counter(flag for some in flags.values() for flag in some)


def _tables(source: Any) -> Iterator[tuple[int, pa.Table]]:
    opened = open_rows(source)
    try:
        for records in opened.chunks():
            if records.damaged is not None:
                raise InputError(f"{source.name} row {records.first_row}: {records.damaged}")
            table = records.table
            yield records.first_row, pa.Table.from_pylist(_rows(records.lines)) if table is None else table
    finally:
        opened.close()


def _rows(lines: Any) -> list[dict[str, Any]]:
    rows = []
    for row in parse_all(lines):
        if not isinstance(row, Mapping):
            raise InputError(f"a row is not an object: {row}; remove empty and damaged lines")
        rows.append({**row, EXTRA_INFO[0]: plain_mapping(row.get(EXTRA_INFO[0]))})
    return rows


def _flagged(table: pa.Table, first: int, flags: Mapping[int, Collection[str]]) -> pa.Table:
    """Return a table with flags in a field of the column `extra_info`."""
    (name,) = EXTRA_INFO
    found = pa.array([list(flags.get(first + i, ())) for i in range(len(table))], _FLAGS)
    fields: dict[str, pa.Array] = {}
    if name in table.column_names:
        column = table.column(name).combine_chunks()
        if not pa.types.is_struct(column.type):
            raise InputError(f"the column {name} is {column.type}; expected an object in each row")
        fields = dict(zip([field.name for field in column.type], column.flatten(), strict=True))
    info = pa.StructArray.from_arrays(list((fields | {AUDIT: found}).values()), [*(fields | {AUDIT: found})])
    if name not in table.column_names:
        return table.append_column(name, info)
    return table.set_column(table.column_names.index(name), name, info)
