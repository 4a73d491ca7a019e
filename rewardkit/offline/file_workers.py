"""Processes that own whole chunks of a file: each turns records into samples, scores them and sends back
what is written, so that no row passes through the parent's interpreter.

For rewards that run inline only; the others need the scorer's pool, which can kill a single sample. A worker
that dies or falls silent loses its chunk to the caller, who scores it in that pool.
"""

from __future__ import annotations

import select
import subprocess
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from typing import Any, Protocol

import cloudpickle
import msgspec
import pyarrow as pa

from rewardkit.files.records import Records
from rewardkit.logs.layout import RowLayout
from rewardkit.logs.samples import columns_needed, to_batch
from rewardkit.offline.chunk import ChunkResult, Output, finish, usable
from rewardkit.processes import die_with_parent, kill_group, start_python, take_standard_streams
from rewardkit.registry import Reward
from rewardkit.scoring.pending import Pending, ScoringPlan
from rewardkit.scoring.runner import RewardRunner
from rewardkit.types import Score
from rewardkit.user_files import UserFile, import_as_read, user_reward_file

SILENCE_S = 120.0
"""How long a worker may take for one chunk of rewards that take microseconds."""

Rewards = Mapping[str, tuple[Reward, Any]]
"""The reward of each data source, and its options."""


class _Setup(msgspec.Struct, tag="setup"):
    """What chunks from now on mean; pickled by our own parent."""

    pickled: bytes
    files: list[UserFile]


class _ChunkMessage(msgspec.Struct, tag="chunk"):
    """A table follows the message, in Arrow's stream format; lines stand in it, with line ends between."""

    first_row: int
    count: int
    table_bytes: int = 0
    lines: bytes = b""


class _UnknownSource(msgspec.Struct, tag="refused"):
    """A data source that the worker was not told of."""


class _Done(msgspec.Struct, tag="done"):
    result: ChunkResult


class _UnknownSourceError(LookupError):
    pass


_encoder = msgspec.msgpack.Encoder()
_requests = msgspec.msgpack.Decoder(_Setup | _ChunkMessage)
_answers = msgspec.msgpack.Decoder(_Done | _UnknownSource)


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
    """Up to `size` such processes, which start as they are needed. A context manager."""

    takes_all = False

    def __init__(self, size: int) -> None:
        self.size = size
        self._threads = ThreadPoolExecutor(size, thread_name_prefix="rewardkit-file")
        self._of_thread = threading.local()
        self._children: list[_Child] = []
        self._closed = False

    def submit(self, setup: FileSetup, records: Records) -> Future[ChunkResult | None]:
        """Score a chunk; the future has its result, or None where the caller must score it."""
        return self._threads.submit(self._score, setup, records)

    def _score(self, setup: FileSetup, records: Records) -> ChunkResult | None:
        child: _Child | None = getattr(self._of_thread, "child", None)
        try:
            if child is None or child.setup is not setup:
                if child is not None:
                    child.kill()
                child = self._of_thread.child = _Child(setup)
                self._children.append(child)
            return child.score(records)
        except (OSError, EOFError, msgspec.DecodeError):
            if child is not None:
                child.kill()
            self._of_thread.child = None
            return None

    def __enter__(self) -> FileWorkers:
        return self

    def __exit__(self, *_: object) -> None:
        """Kill the processes; what is still on its way is lost."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for child in self._children:
            child.kill()
        self._threads.shutdown(wait=True)


class FileSetup:
    """What the chunks of one file mean and how they are scored, as the workers are told once."""

    def __init__(self, layout: RowLayout, reads: Sequence[str], rewards: Rewards, output: Output) -> None:
        self.layout = layout
        self.reads = tuple(reads)
        self.output = output
        self._rewards = dict(rewards)

    @cached_property
    def frame(self) -> bytes:
        """The same as a message to a worker."""
        files = [user_reward_file(reward.target) for reward, _ in self._rewards.values()]
        pickled = cloudpickle.dumps((self.layout, self.reads, self._rewards, self.output))
        return _frame(_Setup(pickled, [file for file in files if file]))


class _Child:
    def __init__(self, setup: FileSetup) -> None:
        self.setup = setup
        self.process: subprocess.Popen[bytes] = start_python("rewardkit.offline.file_workers:main")
        assert self.process.stdin is not None and self.process.stdout is not None
        self._to = self.process.stdin
        self._from = self.process.stdout
        _write(self._to, setup.frame)

    def score(self, records: Records) -> ChunkResult | None:
        table = pa.py_buffer(b"")
        if records.table is not None:
            table = _stream(columns_needed(records.table, self.setup.layout, self.setup.reads))
        chunk = _ChunkMessage(records.first_row, records.count, table.size, b"\n".join(records.lines))
        _write(self._to, _frame(chunk))
        _write(self._to, table)
        del chunk, table
        if not select.select([self._from], [], [], SILENCE_S)[0]:
            raise EOFError("the worker has fallen silent")
        answer = _answers.decode(_read(self._from))
        return answer.result if isinstance(answer, _Done) else None

    def kill(self) -> None:
        kill_group(self.process)
        self.process.wait()


def main(parent: int) -> None:
    """Score chunks until the parent closes the pipe; what a process of `FileWorkers` does."""
    if not die_with_parent(parent):
        return
    requests, answers = take_standard_streams()
    setup: _Inside | None = None
    while True:
        try:
            message = _requests.decode(_read(requests))
            table = _exactly(requests, message.table_bytes) if isinstance(message, _ChunkMessage) else None
        except EOFError:  # the parent has ended, maybe in the middle of a chunk
            return
        if isinstance(message, _Setup):
            setup = _Inside(message)
        elif setup is not None and table is not None:
            answers.write(_frame(setup.score(message, table)))
            answers.flush()


class _Inside:
    """What a worker knows of the file whose chunks it gets."""

    def __init__(self, setup: _Setup) -> None:
        import_as_read(setup.files)
        self._layout, self._reads, self._rewards, self._output = cloudpickle.loads(setup.pickled)
        self._plans: dict[str, ScoringPlan] = {}

    def score(self, chunk: _ChunkMessage, stream: bytearray) -> _Done | _UnknownSource:
        lines = () if stream else tuple(chunk.lines.split(b"\n"))
        table = pa.ipc.open_stream(stream).read_all() if stream else None
        records = Records(chunk.first_row, chunk.count, table, lines)
        batch = to_batch(records, self._layout, self._reads)
        try:
            scores = score_inline(usable(batch), self._plan)
        except _UnknownSourceError:
            return _UnknownSource()
        return _Done(finish(batch, scores, self._layout, self._output))

    def _plan(self, data_source: str) -> ScoringPlan:
        if data_source not in self._plans:
            if data_source not in self._rewards:
                raise _UnknownSourceError(data_source)
            reward, options = self._rewards[data_source]
            self._plans[data_source] = ScoringPlan(reward, RewardRunner(reward, options), None)
        return self._plans[data_source]


def score_inline(samples: Any, plan_of: Any) -> list[Score]:
    """Score samples of inline rewards in this thread."""
    sources = {sample.data_source for sample in samples}
    if len(sources) == 1:
        found: list[Score] = plan_of(sources.pop()).runner.run(samples)
        return found
    pending = Pending(samples, plan_of, _no_workers)
    pending.start()
    return pending.wait()


def _no_workers(plan: ScoringPlan, samples: object) -> Any:
    raise AssertionError(f"{plan.reward.name} is no inline reward")


def _stream(table: pa.Table) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue()


def _frame(message: msgspec.Struct) -> bytes:
    """A message with its length in front (8 bytes)."""
    body = _encoder.encode(message)
    return len(body).to_bytes(8, "big") + body


def _write(pipe: Any, content: bytes | pa.Buffer) -> None:
    view = memoryview(content)
    while view:
        view = view[pipe.write(view) :]


def _read(pipe: Any) -> bytearray:
    size = int.from_bytes(_exactly(pipe, 8), "big")
    return _exactly(pipe, size)


def _exactly(pipe: Any, size: int) -> bytearray:
    found = bytearray(size)
    view = memoryview(found)
    while view:
        got = pipe.readinto(view)
        if not got:
            raise EOFError
        view = view[got:]
    return found
