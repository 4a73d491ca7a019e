"""Whole chunks of a file in the scorer's workers: each turns records into samples, scores them and sends back
what is written, so that no row passes through the parent's interpreter.

For rewards that run inline only: of the others a single sample may have to be killed. A chunk whose worker
died or fell silent goes back to the caller, who scores its samples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
import pyarrow as pa

from rewardkit.files.records import Records
from rewardkit.logs.layout import RowLayout
from rewardkit.logs.samples import columns_needed, to_batch
from rewardkit.offline.chunk import ChunkResult, Output, finish
from rewardkit.registry import Reward
from rewardkit.scoring.runner import RewardRunner
from rewardkit.types import Sample, Score
from rewardkit.user_files import user_reward_file

if TYPE_CHECKING:  # a worker, which imports this file, has none
    from rewardkit.scoring.jobs import WorkerJob
    from rewardkit.scoring.scorer import Scorer

SILENCE_S = 120.0
"""How long a worker may take for one chunk of rewards that take microseconds."""

Rewards = Mapping[str, tuple[Reward, Any]]
"""The reward of each data source, and its options."""


class _SentRecords(msgspec.Struct):
    """Records on their way to a worker."""

    first_row: int
    count: int
    table: bytes = b""
    """In Arrow's stream format; empty where the rows are lines."""
    lines: bytes = b""
    """With line ends between."""


_encoder = msgspec.msgpack.Encoder()
_pieces = msgspec.msgpack.Decoder(_SentRecords)
_results = msgspec.msgpack.Decoder(ChunkResult | None)


@dataclass(frozen=True, eq=False)
class FileSetup:
    """What the chunks of one file mean and how they are scored."""

    layout: RowLayout
    reads: Sequence[str]
    rewards: Rewards
    output: Output


class Workers(Protocol):
    """What scores chunks in other processes."""

    @property
    def size(self) -> int:
        """Chunks that may be on their way at once."""
        ...

    @property
    def takes_all(self) -> bool:
        """Whether it scores any chunk; else those alone that are large and whose rewards run inline."""
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
        table = b""
        if records.table is not None:
            table = _stream(columns_needed(records.table, setup.layout, setup.reads))
        piece = _SentRecords(records.first_row, records.count, table, b"\n".join(records.lines))
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


class _UnknownSourceError(LookupError):
    """A data source that the worker was not told of."""


class _ChunkRunner:
    """What a worker does with the chunks of one file."""

    def __init__(self, setup: FileSetup) -> None:
        self._setup = setup
        self._runners: dict[str, RewardRunner] = {}

    def load(self) -> None:
        """Inline rewards have nothing to make ready."""

    def run(self, work: Sequence[bytes]) -> list[bytes]:
        return [_encoder.encode(self._score(_pieces.decode(piece))) for piece in work]

    def _score(self, piece: _SentRecords) -> ChunkResult | None:
        table = pa.ipc.open_stream(piece.table).read_all() if piece.table else None
        lines = () if piece.table else tuple(piece.lines.split(b"\n"))
        records = Records(piece.first_row, piece.count, table, lines)
        batch = to_batch(records, self._setup.layout, self._setup.reads)
        try:
            scores = self._scores(batch.usable)
        except _UnknownSourceError:
            return None
        return finish(batch, scores, self._setup.layout, self._setup.output)

    def _scores(self, samples: Sequence[Sample]) -> list[Score]:
        places: dict[str, list[int]] = {}
        for i, sample in enumerate(samples):
            places.setdefault(sample.data_source, []).append(i)
        runners = {source: self._runner(source) for source in places}  # all, before anything is scored
        scores: dict[int, Score] = {}
        for source, mine in places.items():
            scores.update(zip(mine, runners[source].run([samples[i] for i in mine]), strict=True))
        return [scores[i] for i in range(len(samples))]

    def _runner(self, data_source: str) -> RewardRunner:
        if data_source not in self._runners:
            if data_source not in self._setup.rewards:
                raise _UnknownSourceError(data_source)
            self._runners[data_source] = RewardRunner(*self._setup.rewards[data_source])
        return self._runners[data_source]


def _stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content
