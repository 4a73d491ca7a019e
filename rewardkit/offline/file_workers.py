"""Whole chunks of a file in the scorer's workers. A worker gets the place of lines, which it reads itself, or
the columns that it needs: a parquet cannot be read from within a row group, and this process reads its
columns anyway to write them. It sends back scores, no rows.

For rewards that run inline only: of the others a single sample may have to be killed. A chunk whose worker
died or fell silent goes back to the caller, who scores its samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
import pyarrow as pa

from rewardkit.files.records import FileRange, Records
from rewardkit.logs.samples import columns_needed
from rewardkit.offline.chunk import ChunkResult
from rewardkit.offline.inline import ChunkScorer, FileSetup
from rewardkit.types import Score
from rewardkit.user_files import user_reward_file

if TYPE_CHECKING:  # a worker, which imports this file, has none
    from rewardkit.scoring.jobs import WorkerJob
    from rewardkit.scoring.scorer import Scorer

SILENCE_S = 120.0
"""Seconds that a worker may take for one chunk of rewards that take microseconds."""


class _SentRecords(msgspec.Struct):
    """Records on their way to a worker: where it reads them itself, or what they are."""

    first_row: int
    count: int
    place: FileRange | None = None
    table: bytes = b""
    """Table in Arrow's stream format; empty where the rows are lines."""
    lines: bytes = b""
    """Lines with line ends between them."""


_encoder = msgspec.msgpack.Encoder()
_pieces = msgspec.msgpack.Decoder(_SentRecords)
_results = msgspec.msgpack.Decoder(ChunkResult | None)


class Workers(Protocol):
    """Processes that score chunks."""

    @property
    def size(self) -> int:
        """Chunks that may be on their way at once."""
        ...

    @property
    def takes_all(self) -> bool:
        """Return True if it scores any chunk; else it scores only large ones whose rewards run inline."""
        ...

    def submit(self, setup: FileSetup, records: Records) -> Future[ChunkResult | None]:
        """Score a chunk; the future has its result, or None where the caller must score it."""
        ...


class FileWorkers:
    """The workers of a scorer, for chunks of files."""

    takes_all = False

    def __init__(self, scorer: Scorer) -> None:
        self.size = scorer.workers
        self._scorer = scorer
        self._jobs: dict[FileSetup, WorkerJob] = {}

    def submit(self, setup: FileSetup, records: Records) -> Future[ChunkResult | None]:
        """Score a chunk; the future has its result, or None where the caller must score it."""
        if setup not in self._jobs:
            self._jobs[setup] = self._job(setup)
        piece = _SentRecords(records.first_row, records.count, records.place)
        if records.table is not None:
            piece.table = _stream(columns_needed(records.table, setup.layout, setup.reads))
        elif records.place is None:
            piece.lines = b"\n".join(records.lines)
        found: Future[ChunkResult | None] = Future()
        asked = self._scorer.submit_piece(self._jobs[setup], _encoder.encode(piece))
        asked.add_done_callback(lambda done: _hand_over(done, found))
        return found

    def _job(self, setup: FileSetup) -> WorkerJob:
        files = [user_reward_file(reward.target) for reward, _ in setup.rewards.values()]
        make_runner = partial(_ChunkRunner, setup)
        return self._scorer.job_of_pieces("file", SILENCE_S, make_runner, [file for file in files if file])


def _hand_over(done: Future[Any], found: Future[ChunkResult | None]) -> None:
    """Give a worker's answer to whoever waits for the chunk."""
    if (error := done.exception()) is not None:
        found.set_exception(error)
        return
    (answer,) = done.result()
    found.set_result(None if isinstance(answer, Score) else _results.decode(answer))


class _ChunkRunner:
    """Work of a worker on the chunks of one file."""

    def __init__(self, setup: FileSetup) -> None:
        self._scorer = ChunkScorer(setup, killable=True)

    def load(self) -> None:
        """Inline rewards have nothing to make ready."""

    def run(self, work: Sequence[bytes]) -> list[bytes]:
        return [_encoder.encode(self._score(_pieces.decode(piece))) for piece in work]

    def _score(self, sent: _SentRecords) -> ChunkResult | None:
        if sent.table:
            table = pa.ipc.open_stream(sent.table).read_all()
            return self._scorer.score(Records(sent.first_row, sent.count, table))
        try:
            lines = sent.place.lines(sent.count) if sent.place else tuple(sent.lines.split(b"\n"))
        except OSError:
            return None
        if len(lines) != sent.count:  # the file has changed since it was read
            return None
        return self._scorer.score(Records(sent.first_row, sent.count, lines=lines))


def _stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content
