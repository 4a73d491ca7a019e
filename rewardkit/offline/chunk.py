"""One chunk of rows: from its records and scores to what is written of it. The same in this process and in
the workers of `file_workers`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec
import pyarrow as pa

from rewardkit.errors import UnknownDataSourceError
from rewardkit.files.records import BadRowError
from rewardkit.logs.layout import RowLayout
from rewardkit.logs.samples import SampleBatch
from rewardkit.offline.columns import score_columns, score_names, score_objects
from rewardkit.offline.report import Report, SourceReport
from rewardkit.types import Sample, Score, failure

BadRowPolicy = Literal["fail", "mark", "drop"]
TOLD = 20
"""Bad rows of a chunk whose reasons are kept; the others are counted."""
RENAMED = "logged_"
"""Put before a log's own columns where they have the names of ours."""

_encoder = msgspec.json.Encoder()


@dataclass(frozen=True, slots=True)
class Output:
    """The form of the output, the same for each chunk."""

    prefix: str = ""
    bad_rows: BadRowPolicy = "mark"
    as_lines: bool = False
    """Rows that are lines go out as lines."""


class ChunkResult(msgspec.Struct):
    """A chunk that is done, as it is kept for `--resume` too."""

    sources: dict[str, SourceReport]
    bad: list[tuple[int, str]]
    """The first rows that could not be used, and why."""
    bad_count: int
    kept: list[int] | None
    """Which of the chunk's rows go out, by index; None: all."""
    columns: bytes = b""
    """The score columns of those rows, in Arrow's stream format."""
    lines: bytes = b""
    """Those rows with their scores, as lines of JSON."""

    def table(self) -> pa.RecordBatch:
        """The score columns."""
        with pa.ipc.open_stream(self.columns) as stream:
            return stream.read_next_batch()

    def parts(self) -> set[str]:
        """The names of the parts that its scores have."""
        schema = self.table().schema if self.columns else pa.schema([])
        if "parts" not in schema.names:
            return set()
        kind = schema.field("parts").type
        return {one.name for one in (kind.value_type if pa.types.is_list(kind) else kind)}


def mark_unknown_sources(batch: SampleBatch, check: Callable[[Sequence[str]], None]) -> None:
    """Count the samples without a reward among those that cannot be used.

    Args:
        check: raises UnknownDataSourceError for a data source that has none.
    """
    for source in {sample.data_source for sample in batch.usable}:
        try:
            check([source])
        except UnknownDataSourceError as error:
            strange = (i for i, sample in enumerate(batch.samples) if sample.data_source == source)
            batch.bad.update(dict.fromkeys(strange, str(error)))


def finish(batch: SampleBatch, scores: Sequence[Score], layout: RowLayout, output: Output) -> ChunkResult:
    """Return the output and the counts of a chunk.

    Args:
        scores: of the usable samples, in order.
    """
    merged = _with_bad(batch, scores)
    kept, lengths, merged_kept, samples_kept = _kept(batch, merged, output)
    report = Report()
    report.add(samples_kept, merged_kept)
    rows = batch.rows if batch.bad else []
    result = ChunkResult(
        sources=report.sources,
        bad=[(rows[i], why) for i, why in list(batch.bad.items())[:TOLD]],
        bad_count=len(batch.bad),
        kept=kept,
    )
    if output.as_lines and batch.records.lines:
        result.lines = _lines(batch, kept, lengths, merged_kept, layout, output)
    else:
        many_lengths = lengths if layout.many else None
        result.columns = _stream(score_columns(merged_kept, many_lengths))
    return result


def _with_bad(batch: SampleBatch, scores: Sequence[Score]) -> list[Score]:
    if not batch.bad:
        return list(scores)
    good = iter(scores)
    return [
        failure("invalid", batch.bad[i]) if i in batch.bad else next(good) for i in range(len(batch.samples))
    ]


def _kept(
    batch: SampleBatch, scores: list[Score], output: Output
) -> tuple[list[int] | None, list[int], list[Score], list[Sample]]:
    """The rows that go out, how many samples each has, and their scores and samples."""
    lengths = batch.lengths if batch.lengths is not None else [1] * batch.records.count
    drop = output.bad_rows == "drop" and bool(batch.bad)
    if not drop and not batch.skipped:
        return None, lengths, scores, batch.samples
    kept: list[int] = []
    places: list[int] = []
    start = 0
    for row, length in enumerate(lengths):
        mine = range(start, start + length)
        start += length
        if row not in batch.skipped and not (drop and any(i in batch.bad for i in mine)):
            kept.append(row)
            places += mine
    samples = [batch.samples[i] for i in places]
    return kept, [lengths[row] for row in kept], [scores[i] for i in places], samples


def _stream(columns: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, columns.schema) as stream:
        stream.write_batch(columns)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _lines(
    batch: SampleBatch,
    kept: list[int] | None,
    lengths: Sequence[int],
    scores: Sequence[Score],
    layout: RowLayout,
    output: Output,
) -> bytes:
    lines = batch.records.lines
    names = frozenset(score_names(output.prefix))
    found: list[bytes] = []
    added = score_objects(scores, lengths, output.prefix, many=layout.many)
    for at, more in zip(range(len(lines)) if kept is None else kept, added, strict=True):
        line = lines[at]
        row = batch.parsed[at]
        if isinstance(row, BadRowError):
            line = _encoder.encode({"unreadable": line.decode("utf-8", "replace")})
        elif row is not None and not names.isdisjoint(row):
            line = _encoder.encode(renamed(row, names))
        found.append(_spliced(line, more))
    return b"".join(found)


def _spliced(line: bytes, added: bytes) -> bytes:
    """Put the fields of one JSON object behind those of another."""
    head = line[:-1].rstrip()
    comma = b"" if head.endswith(b"{") or added == b"{}" else b","
    return b"".join((head, comma, added[1:], b"\n"))


def renamed(row: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Return a row whose own fields make room for those of these names."""
    return {f"{RENAMED}{key}" if key in names else key: value for key, value in row.items()}
