"""Scoring of whole chunks of a file in the scorer's workers.

A worker receives either the position of lines in a file, which it reads itself, or the columns that it needs.
Columns are sent because a Parquet file cannot be read from the middle of a row group, and the main process
must read them anyway to write them. A worker returns only scores.

Only inline rewards are supported, because other rewards may require stopping a single sample. If a worker
dies or does not respond, the caller scores the samples in the chunk.
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

if TYPE_CHECKING:  # Workers import this module but do not need a Scorer, so this import is only for types.
    from rewardkit.scoring.jobs import WorkerJob
    from rewardkit.scoring.scorer import Scorer

SILENCE_S = 120.0
"""Time limit in seconds for one chunk. The supported rewards take only microseconds per sample."""


class _SentRecords(msgspec.Struct):
    """Records for a worker, given by their content or by the position from which the worker reads them."""

    first_row: int
    count: int
    place: FileRange | None = None
    table: bytes = b""
    """Table in Arrow's stream format; empty if the rows are lines."""
    lines: bytes = b""
    """Lines separated by newlines."""


_encoder = msgspec.msgpack.Encoder()
_pieces = msgspec.msgpack.Decoder(_SentRecords)
_results = msgspec.msgpack.Decoder(ChunkResult | None)


class Workers(Protocol):
    """Pool of processes that score chunks."""

    @property
    def size(self) -> int:
        """Maximum number of chunks in flight."""
        ...

    @property
    def takes_all(self) -> bool:
        """True if the pool scores any chunk. Other pools score only large files with inline rewards."""
        ...

    def submit(self, setup: FileSetup, records: Records) -> Future[ChunkResult | None]:
        """Submit a chunk for scoring. The result of the future is None if the caller must score the chunk."""
        ...


class FileWorkers:
    """Pool that uses a scorer's workers for chunks of files."""

    takes_all = False

    def __init__(self, scorer: Scorer) -> None:
        self.size = scorer.workers
        self._scorer = scorer
        self._jobs: dict[FileSetup, WorkerJob] = {}

    def submit(self, setup: FileSetup, records: Records) -> Future[ChunkResult | None]:
        """Submit a chunk for scoring. The result of the future is None if the caller must score the chunk."""
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
    """Set the result of the future `found` to a worker's decoded answer, or to its error."""
    if (error := done.exception()) is not None:
        found.set_exception(error)
        return
    (answer,) = done.result()
    found.set_result(None if isinstance(answer, Score) else _results.decode(answer))


class _ChunkRunner:
    """Runner that scores the chunks of one file in a worker."""

    def __init__(self, setup: FileSetup) -> None:
        self._scorer = ChunkScorer(setup, killable=True)

    def load(self) -> None:
        """Do nothing, since inline rewards need no preparation."""

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
        if len(lines) != sent.count:  # The file has changed since the caller read it.
            return None
        return self._scorer.score(Records(sent.first_row, sent.count, lines=lines))


def _stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content
