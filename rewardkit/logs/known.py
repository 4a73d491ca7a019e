"""Facts about files that are needed before their rows are scored: data sources, size and identity."""

from __future__ import annotations

import contextlib
import itertools
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rewardkit.files.arrow_values import in_python
from rewardkit.files.formats import ParquetRows, RowFile
from rewardkit.files.inputs import STDIN, Input
from rewardkit.logs.layout import RowLayout
from rewardkit.logs.samples import to_batch
from rewardkit.tables import column_of, top_level

UNKNOWN_BYTES = 4 << 20
"""Assumed size of remote files and standard input, in bytes."""


def data_sources_of(file: RowFile, layout: RowLayout) -> list[str]:
    """Return the data sources in a file.

    If a column of a Parquet file names the data sources, all of them are returned. Otherwise, the result
    contains only the data sources in the first chunk that has usable rows.
    """
    if layout.data_source is not None:
        return [layout.data_source]
    if isinstance(file, ParquetRows) and _in_a_column(file, layout):
        with contextlib.suppress(pa.ArrowException, OSError, UnicodeDecodeError):
            return _distinct(file, str(layout.names.data_source))
    for records in file.chunks():
        batch = to_batch(records, layout, ())
        usable = [one.data_source for i, one in enumerate(batch.samples) if i not in batch.bad]
        found = dict.fromkeys(usable)
        if found:
            return list(found)
    return []


def all_data_sources_of(file: RowFile, layout: RowLayout) -> list[str] | None:
    """Return all data sources in a file, or None if finding them would require reading all rows."""
    found = data_sources_of(file, layout)
    if layout.data_source is not None or _in_a_column(file, layout):
        return found
    return found if len(list(itertools.islice(file.chunks(), 2))) < 2 else None


def _in_a_column(file: RowFile, layout: RowLayout) -> bool:
    has_column = layout.kind is None and layout.join is None and layout.names.data_source is not None
    return isinstance(file, ParquetRows) and has_column


def _distinct(file: ParquetRows, name: str) -> list[str]:
    found: dict[str, None] = {}
    for batch in file.file.iter_batches(columns=[top_level(name, file.schema)]):
        found |= dict.fromkeys(in_python(pc.unique(column_of(batch, name))))
    return [source for source in found if source is not None]


def identity_of(source: Input) -> list[Any]:
    """Return the path, size and modification time of a file, or only the path for remote files and stdin."""
    if source.path == STDIN or "://" in source.path:
        return [source.path]
    stat = os.stat(source.path)
    return [str(Path(source.path).resolve()), stat.st_size, stat.st_mtime_ns]


def bytes_of(files: list[tuple[RowFile, RowLayout]]) -> int:
    """Return the total size of the files in bytes. Remote files and stdin count as `UNKNOWN_BYTES` each."""
    total = 0
    for file, _ in files:
        identity = identity_of(file.source)
        total += identity[1] if len(identity) > 1 else UNKNOWN_BYTES
    return total
