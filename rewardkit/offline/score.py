"""Scores a parquet file chunk by chunk: bounded memory, all cores, resumable, published whole.

The input is read once in chunks whose size depends on the file alone. The scores of each chunk are kept
in a progress folder beside the output as soon as they are there, so a killed run loses only the chunks
in flight; the output itself is written under a temporary name and renamed at the end.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from rewardkit.errors import InputError
from rewardkit.files import published
from rewardkit.offline.columns import (
    Columns,
    Rows,
    column_of,
    score_fields,
    to_columns,
    to_rows,
    top_level,
    type_of,
    with_unusable,
)
from rewardkit.offline.progress import Progress
from rewardkit.offline.report import Report
from rewardkit.scorer import Pending, Scorer
from rewardkit.types import Score

CHUNK_BYTES = 24 << 20
"""Uncompressed bytes of a chunk, about; several chunks are held at once."""
CHUNK_ROWS = 16_384

OnProgress = Callable[[int, int], None]
"""Called with the rows done and the rows there are."""


@dataclass
class _Chunk:
    index: int
    table: pa.Table
    rows: Rows
    pending: Pending | None
    """None: scored by an earlier run."""


def score_file(
    path: Path,
    out: Path,
    *,
    scorer: Scorer,
    columns: Columns | None = None,
    mark_bad: bool = False,
    resume: bool = False,
    restart: bool = False,
    on_progress: OnProgress = lambda done, total: None,
) -> Report:
    """Write the rows of `path` with their scores to `out`, and return the totals.

    Args:
        mark_bad: give rows with a null response or a null or NaN ground truth the status `invalid`.
        resume: go on with what an interrupted run has left; the output is the same to the byte.
        restart: throw away what an interrupted run has left.

    Raises:
        InputError: not a parquet file, no rows, a missing column, a row that cannot be used, an output
            that cannot be written, or an interrupted run that is neither resumed nor restarted.
        UnknownDataSourceError: a data source without a reward; found before anything is scored.
    """
    with _open(path) as file:
        found = (columns or Columns()).found_in(file.schema_arrow)
        sources = _preflight(file, found, mark_bad)
        scorer.check(sources)
        rewards = [scorer.reward_for(source) for source in sources]
        if out.resolve() == path.resolve():
            raise InputError(f"the output would overwrite the input {path}; choose another --out")
        fingerprint = _fingerprint(file, found, scorer.describe(sources))
        progress = Progress.open(out, fingerprint, resume=resume, restart=restart)
        reads = {name for reward in rewards for name in reward.reads}
        run = _Run(file, found, scorer, progress, reads=reads, mark_bad=mark_bad)
        with progress:
            return run.write(out, {part for r in rewards for part in r.parts}, on_progress)


class _Run:
    """One pass over the file."""

    def __init__(
        self,
        file: pq.ParquetFile,
        columns: Columns,
        scorer: Scorer,
        progress: Progress,
        *,
        reads: set[str],
        mark_bad: bool,
    ) -> None:
        self.file, self.columns, self.scorer, self.progress = file, columns, scorer, progress
        self.reads, self.mark_bad = reads, mark_bad

    def write(self, out: Path, declared_parts: set[str], on_progress: OnProgress) -> Report:
        report, done, total = Report(), 0, self.file.metadata.num_rows
        schema: pa.Schema = self.file.schema_arrow
        fields: list[pa.Field] = []
        writer: pq.ParquetWriter | None = None
        on_progress(0, total)
        with published(out) as sink:
            try:
                for chunk, scores in self._scored():
                    if writer is None:
                        fields = score_fields(self.columns, schema, declared_parts, scores)
                        writer = pq.ParquetWriter(
                            sink, pa.schema([*schema, *fields], schema.metadata), compression="zstd"
                        )
                    writer.write_table(
                        self._with_scores(chunk, scores, fields), row_group_size=len(chunk.table)
                    )
                    report.add(chunk.rows.samples, scores)
                    done += len(chunk.table)
                    on_progress(done, total)
            finally:
                if writer is not None:
                    writer.close()
        return report

    def _with_scores(self, chunk: _Chunk, scores: list[Score], fields: list[pa.Field]) -> pa.Table:
        table = chunk.table
        for field, array in zip(
            fields, to_columns(scores, chunk.rows, fields, self.columns.prefix), strict=True
        ):
            table = table.append_column(field, array)
        return table

    def _scored(self) -> Iterator[tuple[_Chunk, list[Score]]]:
        """The chunks in order, each as soon as it is scored, with a few more on their way."""
        waiting: deque[_Chunk] = deque()
        for chunk in self._chunks():
            waiting.append(chunk)
            if len(waiting) > self.scorer.workers:
                yield self._finish(waiting.popleft())
        while waiting:
            yield self._finish(waiting.popleft())

    def _finish(self, chunk: _Chunk) -> tuple[_Chunk, list[Score]]:
        if chunk.pending is None:
            return chunk, self.progress.load(chunk.index)
        scores = with_unusable(chunk.pending.wait(), chunk.rows)
        self.progress.save(chunk.index, scores)
        return chunk, scores

    def _chunks(self) -> Iterator[_Chunk]:
        first_row = 0
        for index, batch in enumerate(self.file.iter_batches(batch_size=_chunk_rows(self.file))):
            table = pa.Table.from_batches([batch], self.file.schema_arrow)
            rows = to_rows(table, self.columns, first_row, reads=self.reads, mark_bad=self.mark_bad)
            pending = None if self.progress.has(index) else self.scorer.submit(rows.samples)
            yield _Chunk(index, table, rows, pending)
            first_row += len(table)


def _open(path: Path) -> pq.ParquetFile:
    if not path.exists():
        raise InputError(f"no such file: {path}")
    if not path.is_file():
        raise InputError(f"{path} is not a file; name one parquet file")
    try:
        # No pre-buffering: it would hold whole row groups, however large they are.
        file = pq.ParquetFile(path, pre_buffer=False)
    except (pa.ArrowInvalid, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"{path} is not a parquet file that can be read: {reason}") from None
    if file.metadata.num_rows == 0:
        raise InputError(f"{path} has no rows")
    return file


def _preflight(file: pq.ParquetFile, columns: Columns, mark_bad: bool) -> list[str]:
    """Look at the cheap columns of the whole file before anything is scored; return the data sources."""
    schema = file.schema_arrow
    cheap = [columns.data_source, columns.ground_truth or ""]
    if _has_nulls(file, columns.response or ""):
        cheap.append(columns.response or "")
    sources: dict[str, None] = {}
    first_row = 0
    for batch in file.iter_batches(
        batch_size=CHUNK_ROWS, columns=sorted({top_level(name, schema) for name in cheap})
    ):
        table = pa.Table.from_batches([batch])
        for name in cheap:
            _refuse_nulls(column_of(table, name), name, first_row, mark_bad)
        sources |= dict.fromkeys(column_of(table, columns.data_source).unique().to_pylist())
        first_row += len(table)
    return [source for source in sources if source is not None]


def _has_nulls(file: pq.ParquetFile, name: str) -> bool:
    """True when the statistics in the file say that a plain column has nulls. A list column's say less."""
    groups = (file.metadata.row_group(i) for i in range(file.metadata.num_row_groups))
    columns = (group.column(i) for group in groups for i in range(group.num_columns))
    return any(
        column.path_in_schema == name and column.statistics is not None and column.statistics.null_count
        for column in columns
    )


def _refuse_nulls(column: pa.ChunkedArray, name: str, first_row: int, mark_bad: bool) -> None:
    unusable = column.is_null(nan_is_null=True) if pa.types.is_floating(column.type) else column.is_null()
    at = unusable.index(True).as_py()
    if at >= 0 and not mark_bad:
        what = "NaN" if column[at].is_valid else "null"
        raise InputError(
            f"row {first_row + at}: '{name}' is {what}; fix it, or pass --bad-rows mark to score the rest"
        )


def _chunk_rows(file: pq.ParquetFile) -> int:
    """Rows a chunk: fewer where rows are large. It depends on the file alone, so that a resumed run cuts
    the file in the same places."""
    groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
    bytes_a_row = max(1, sum(group.total_byte_size for group in groups) // file.metadata.num_rows)
    rows = min(CHUNK_ROWS, CHUNK_BYTES // bytes_a_row)
    return max(1, int(rows))


def _fingerprint(file: pq.ParquetFile, columns: Columns, rewards: dict[str, Any]) -> dict[str, Any]:
    """What must be the same for scores of an earlier run to be of use."""
    metadata = file.metadata
    return {
        "rows": metadata.num_rows,
        "row_groups": [metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups)],
        "schema": str(type_of(file.schema_arrow, columns.response or "")),
        "columns": [columns.data_source, columns.response, columns.ground_truth],
        "rewards": rewards,
    }
