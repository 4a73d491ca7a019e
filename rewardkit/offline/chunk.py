"""Output for one chunk, which is made from the chunk's records and scores.

The main process and the workers in `file_workers` both use this module.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

import msgspec
import pyarrow as pa

from rewardkit.errors import UnknownDataSourceError
from rewardkit.files.records import BadRowError
from rewardkit.logs.layout import RowLayout
from rewardkit.logs.samples import SampleBatch
from rewardkit.logs.scored_rows import renamed
from rewardkit.offline.columns import (
    carried_columns,
    carried_objects,
    carried_values,
    each_once,
    repeated_columns,
    score_names,
    score_objects,
)
from rewardkit.offline.report import Report, SourceReport
from rewardkit.types import Score, with_known

BadRowPolicy = Literal["fail", "mark", "drop"]
TOLD = 20
"""Maximum number of bad rows per chunk for which the reason is kept. Further bad rows are only counted."""

_encoder = msgspec.json.Encoder()
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Output:
    """Settings for the output, which are the same for all chunks."""

    prefix: str = ""
    bad_rows: BadRowPolicy = "mark"
    as_lines: bool = False
    """True if rows that were read as lines of text are also written as lines of text."""
    carried: tuple[str, ...] = ()
    """Fields of a Sample that are written as columns in addition to the scores. See `RowLayout.to_add`."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns that are added."""
        return (*self.carried, *score_names(self.prefix))


class ChunkResult(msgspec.Struct):
    """Result of a finished chunk. The result is also saved, so that `--resume` can continue the run."""

    sources: dict[str, SourceReport]
    bad: list[tuple[int, str]]
    """Row number and reason for each unusable row, up to the limit `TOLD`."""
    bad_count: int
    kept: list[int] | None
    """Indices of the rows in the chunk that are written, or None for all rows."""
    columns: bytes = b""
    """Score columns of the written rows, in Arrow's stream format."""
    carried: bytes = b""
    """Columns for `Output.carried`, in Arrow's stream format; empty if no fields are carried."""
    ends: bytes = b""
    """Text to append to each written line if rows are lines. The text contains the scores as the end of a
    JSON object."""
    rewritten: dict[int, bytes] = {}
    """New text for lines with renamed columns and for unreadable lines, by index of the line."""
    paid: list[Score | None] | None = None
    """Scores of all samples if a judge's budget was spent before all samples were scored. None marks a sample
    that the budget did not allow. Such a chunk is not finished."""
    why_unpaid: str = ""
    """Reason why the budget did not allow one of the samples."""

    def table(self) -> pa.RecordBatch:
        """Return the score columns as a table."""
        with pa.ipc.open_stream(self.columns) as stream:
            return stream.read_next_batch()

    def carried_table(self) -> pa.RecordBatch | None:
        """Return the columns for `Output.carried` as a table, or None if no fields are carried."""
        if not self.carried:
            return None
        with pa.ipc.open_stream(self.carried) as stream:
            return stream.read_next_batch()

    def parts(self) -> set[str]:
        """Return the names of the parts in the scores."""
        schema = self.table().schema if self.columns else pa.schema([])
        if "parts" not in schema.names:
            return set()
        kind = schema.field("parts").type
        return {one.name for one in (kind.value_type if pa.types.is_list(kind) else kind)}


def mark_unknown_sources(batch: SampleBatch, check: Callable[[Sequence[str]], None]) -> None:
    """Mark samples whose data source has no reward as unusable.

    Args:
        batch: Samples to check.
        check: Function that raises UnknownDataSourceError for a data source without a reward.
    """
    for source in {sample.data_source for sample in batch.usable}:
        try:
            check([source])
        except UnknownDataSourceError as error:
            for i, sample in enumerate(batch.samples):
                if sample.data_source == source and sample.known is None:
                    batch.refuse(i, str(error))


def finish(batch: SampleBatch, scores: Sequence[Score], layout: RowLayout, output: Output) -> ChunkResult:
    """Return the output and the totals for a chunk.

    Args:
        batch: Samples in the chunk.
        scores: Scores of the usable samples (`SampleBatch.usable`) in order.
        layout: Layout of the rows.
        output: Settings for the output.
    """
    everything = with_known(batch.samples, scores)
    kept, lengths, places = _kept(batch, output)
    samples = _taken(batch.samples, places)
    found = _taken(everything, places)
    once, which = each_once(found)
    report = Report()
    report.add(samples, once, which)
    rows = batch.rows if batch.bad else []
    result = ChunkResult(
        sources=report.sources,
        bad=[(rows[i], why) for i, why in list(batch.bad.items())[:TOLD]],
        bad_count=len(batch.bad),
        kept=kept,
    )
    if unpaid := [score for score in scores if score.parts.get("over_budget")]:
        result.paid = [None if one.parts.get("over_budget") else one for one in everything]
        result.why_unpaid = unpaid[0].detail or "a judge's budget is spent"
    ends = None if batch.finish_reasons is None else _taken(batch.finish_reasons, places)
    each = lengths if layout.many else None
    fields = carried_values(output.carried, samples, ends, each)
    if output.as_lines and batch.records.lines:
        if layout.many:
            added = score_objects(found, lengths, output.prefix, many=True)
        else:
            few = score_objects(once, [], output.prefix, many=False)
            added = list(map(few.__getitem__, which))
        if fields:
            added = [_joined(*both) for both in zip(carried_objects(fields), added, strict=True)]
        known = {one: _end(one) for one in set(added)}
        result.ends = b"".join(map(known.__getitem__, added))
        result.rewritten = _rewritten(batch, output)
    else:
        result.columns = _stream(repeated_columns(once, which, each))
        result.carried = _stream(carried_columns(fields, many=layout.many)) if fields else b""
    return result


def _taken(values: list[T], places: Sequence[int] | None) -> list[T]:
    return values if places is None else [values[i] for i in places]


def _kept(batch: SampleBatch, output: Output) -> tuple[list[int] | None, list[int], list[int] | None]:
    """Return the indices of the rows to write, their numbers of samples, and the indices of their samples.

    The indices are None if all rows are written.
    """
    lengths = batch.lengths if batch.lengths is not None else [1] * batch.records.count
    drop = output.bad_rows == "drop" and bool(batch.bad)
    if not drop and not batch.skipped:
        return None, lengths, None
    kept: list[int] = []
    places: list[int] = []
    start = 0
    for row, length in enumerate(lengths):
        mine = range(start, start + length)
        start += length
        if row not in batch.skipped and not (drop and any(i in batch.bad for i in mine)):
            kept.append(row)
            places += mine
    return kept, [lengths[row] for row in kept], places


def _stream(columns: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, columns.schema) as stream:
        stream.write_batch(columns)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _joined(one: bytes, other: bytes) -> bytes:
    """Return a JSON object with the fields of both objects. The first object must not be empty."""
    return one if other == b"{}" else one[:-1] + b"," + other[1:]


def _end(added: bytes) -> bytes:
    """Return the fields of a JSON object as text to append to an object without its closing brace."""
    return b"}\n" if added == b"{}" else b"," + added[1:] + b"\n"


def _rewritten(batch: SampleBatch, output: Output) -> dict[int, bytes]:
    names = frozenset(output.names)
    found: dict[int, bytes] = {}
    for at, row in enumerate(batch.parsed):
        if isinstance(row, BadRowError):
            found[at] = _encoder.encode({"unreadable": batch.records.lines[at].decode("utf-8", "replace")})
        elif row is not None and not names.isdisjoint(row):
            found[at] = _encoder.encode(renamed(row, names))
    return found


def with_ends(lines: Sequence[bytes], result: ChunkResult) -> bytes:
    """Return the lines of a chunk that will be written, with their scores appended."""
    ends = result.ends.splitlines(keepends=True)
    if result.rewritten:
        lines = [result.rewritten.get(at, line) for at, line in enumerate(lines)]
    if result.kept is not None:
        lines = [lines[at] for at in result.kept]
    found: list[bytes] = []
    for line, end in zip(lines, ends, strict=True):
        head = line[:-1].rstrip()
        found += (head, end[1:] if head.endswith(b"{") and end[:1] == b"," else end)
    return b"".join(found)
