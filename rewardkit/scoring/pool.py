"""A pool of worker processes that can be killed: where rewards run that may hang or crash.

One thread per pool starts, feeds, watches and kills the workers, so the pool can be used from any thread
or event loop, and the workers' parent thread lives as long as they do. No signals, no `fork` of the
caller's memory, no dependence on the main thread.

The one rule on failure: a chunk whose worker died or overran its deadline is taken apart and its unscored
samples run again one by one. A single sample that overruns is a `timeout`; one whose worker dies is run
once more, and is an `error` if the worker dies again. A neural model is the exception, as each new worker
loads it again, which can take minutes: its chunks fail, or run once more, as a whole.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import queue
import selectors
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass
from typing import Any, cast

import msgspec

from rewardkit import processes
from rewardkit.errors import ScoringError
from rewardkit.scoring.jobs import NOBODY, Chunk, IncomingScores, Scores, ScoringTurn, WorkerJob
from rewardkit.scoring.turns import Waiting
from rewardkit.scoring.worker import Loaded, Scored, Work, WorkerRun, frame
from rewardkit.shared import SharedOwner
from rewardkit.types import Score, Status, failure

DEAR_S = 0.5
CHEAP_S = 0.1
"""Worker time of a sample from which on it is dear, and that of a chunk up to which it is cheap."""

_decoder = msgspec.msgpack.Decoder(Loaded | Scored)


class _Worker:
    """One child process, the chunk it works on and when it must have answered."""

    def __init__(self, owner: SharedOwner) -> None:
        self.process = processes.start_python(
            "rewardkit.scoring.worker:main", descriptors=owner.descriptors, environment=owner.environment
        )
        assert self.process.stdin is not None and self.process.stdout is not None
        self.stdin = self.process.stdin
        self.stdout = self.process.stdout
        os.set_blocking(self.stdin.fileno(), False)
        _widen(self.stdin.fileno())
        self.loaded: set[int] = set()
        self.loading: int | None = None
        self.chunk: Chunk | None = None
        self.since = 0.0
        """When it was given the sample that it works on."""
        self.deadline = float("inf")
        self.outgoing = memoryview(b"")
        self.incoming = bytearray()

    def start(self, chunk: Chunk) -> None:
        self.chunk = chunk
        self.since = time.monotonic()
        job = chunk.job
        # The samples are encoded already; the worker decodes them as Samples.
        run = frame(WorkerRun(job.job_id, cast("list[Work]", chunk.samples), job.stream))
        if job.job_id in self.loaded:
            self.outgoing = memoryview(run)
            self.deadline = self.since + job.patience_s
        else:
            self.loading = job.job_id
            self.outgoing = memoryview(job.load_frame + run)
            self.deadline = self.since + job.load_timeout_s

    def dear_from(self) -> float:
        """When its sample counts as dear, by what is known of its job or by how long it has taken."""
        assert self.chunk is not None
        return self.since if self.chunk.job.expected_s >= DEAR_S else self.since + DEAR_S

    def messages(self) -> list[Loaded | Scored] | None:
        """Read what has come in; None when the worker has closed the pipe."""
        data = os.read(self.stdout.fileno(), 1 << 20)
        if not data:
            return None
        self.incoming += data
        found = []
        while len(self.incoming) >= 4:
            end = 4 + int.from_bytes(self.incoming[:4], "big")
            if len(self.incoming) < end:
                break
            found.append(_decoder.decode(self.incoming[4:end]))
            del self.incoming[:end]
        return found

    def kill(self) -> None:
        """Kill the worker and whatever it started in its process group, and reap it."""
        processes.kill_group(self.process)
        self.process.wait()


@dataclass
class Counts:
    """What has happened to a pool's workers since it was made."""

    started: int = 0
    died: int = 0
    """By themselves, or by someone else's hand."""
    killed: int = 0
    """By us: a sample overran its deadline, or whoever asked had gone."""
    begun: int = 0
    """Chunks of samples that a worker began."""
    waited_s: float = 0.0
    """How long these had waited for it, together."""


class WorkerPool:
    """Runs chunks of samples in up to `size` killable processes, which start as they are needed.

    Args:
        express: have two processes more, for cheap chunks while all others are busy with dear ones. One is
            also for chunks of which nobody knows yet what they cost.
    """

    def __init__(self, size: int, *, express: bool = False) -> None:
        self.size = size
        self.express = express
        self.counts = Counts()
        self._closed = False
        self._start_thread()

    def _start_thread(self) -> None:
        self._pid = os.getpid()
        self._inbox: queue.SimpleQueue[list[Chunk] | None] = queue.SimpleQueue()
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        os.set_blocking(self._wake_write, False)
        self._wake_lock = threading.Lock()
        self._loop = _Loop(self)
        self._thread = threading.Thread(target=self._loop.run, name="rewardkit-workers", daemon=True)
        self._thread.start()

    def submit(
        self,
        job: WorkerJob,
        samples: Sequence[msgspec.Raw | bytes | Score],
        chunk_size: int,
        turn: ScoringTurn = NOBODY,
    ) -> Scores:
        """Score encoded samples in the workers; the future has one Score for each, in order. Or hand them
        pieces of work, of which the future has the results.

        A Score among them, of a sample that could not be encoded, stands for itself.

        Cancelling the future kills the workers that are busy with it and with nothing else.

        Raises:
            ScoringError: the pool is closed.
        """
        if self._closed:
            raise ScoringError("this scorer is closed; make a new one")
        if self._pid == os.getpid() and not self._thread.is_alive():
            raise ScoringError(f"the worker pool has stopped: {self._loop.stopped_by!r}")
        if self._pid != os.getpid():  # we are a fork: the thread and the workers are our parent's
            self._start_thread()
        batch = IncomingScores(len(samples))
        encoded: list[msgspec.Raw | bytes] = []
        slots: list[tuple[IncomingScores, int]] = []
        for position, sample in enumerate(samples):
            if isinstance(sample, Score):
                batch.put(position, sample)
            else:
                encoded.append(sample)
                slots.append((batch, position))
        starts = range(0, len(encoded), chunk_size)
        chunks = [Chunk(job, encoded[i : i + chunk_size], slots[i : i + chunk_size], turn) for i in starts]
        if chunks:
            batch.future.add_done_callback(self._on_done)
            self._inbox.put(chunks)
            self._wake()
        return batch.future

    def close(self) -> None:
        """Kill the workers. Futures still open get a ScoringError."""
        if self._closed or self._pid != os.getpid():
            return
        self._closed = True
        self._inbox.put(None)
        self._wake()
        self._thread.join()
        with self._wake_lock:
            os.close(self._wake_read)
            os.close(self._wake_write)
            self._wake_write = -1

    def _on_done(self, future: Future[list[Score]]) -> None:
        if future.cancelled():
            self._loop.prune = True
            self._wake()

    def _wake(self) -> None:
        with self._wake_lock, contextlib.suppress(BlockingIOError):  # full: the thread is awake anyway
            if self._wake_write >= 0:
                os.write(self._wake_write, b"x")


class _Loop:
    """What the pool's thread does."""

    def __init__(self, pool: WorkerPool) -> None:
        self.pool = pool
        self.size = pool.size
        self.inbox = pool._inbox
        self.wake_read = pool._wake_read
        self.waiting = Waiting()
        self.workers: list[_Worker] = []
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.wake_read, selectors.EVENT_READ)
        self.owner = SharedOwner()
        """Of what runs once for all the workers, such as the maths reward's SymPy."""
        self.stopped_by: Exception | None = None
        self.look_again = float("inf")
        """When a chunk that waits may get a worker though none has become free."""
        self.prune = False
        """Something was cancelled: chunks of it that still wait are to be let go."""

    def run(self) -> None:
        try:
            while self._take_inbox():
                self._assign()
                self._wait()
        except Exception as error:  # no process can be started, say: whoever waits must hear of it
            self.stopped_by = error
        finally:
            for worker in list(self.workers):
                self._fail(worker.chunk)
                self._discard(worker)
            for chunk in self.waiting:
                self._fail(chunk)
            self.selector.close()
            self.owner.close()

    def _take_inbox(self) -> bool:
        while True:
            try:
                chunks = self.inbox.get_nowait()
            except queue.Empty:
                return True
            if chunks is None:
                return False
            for chunk in chunks:
                self.waiting.add(chunk)

    def _assign(self) -> None:
        for worker in list(self.workers):
            if worker.chunk is not None and not worker.chunk.job.costly and worker.chunk.cancelled():
                self._discard(worker)
                self.pool.counts.killed += 1
        if self.prune:
            self.prune = False
            self.waiting.prune()
        self.look_again = float("inf")
        while self.waiting.first() is not None:
            busy = [w for w in self.workers if w.chunk is not None]
            chunk = self._next_chunk() if len(busy) < self.size else self._cheap_chunk(busy)
            if chunk is None:
                return
            idle = [w for w in self.workers if w.chunk is None]
            worker = idle[0] if idle else self._new_worker()
            self.pool.counts.begun += 1
            self.pool.counts.waited_s += chunk.begin()
            worker.start(chunk)
            self._send(worker)

    def _next_chunk(self) -> Chunk:
        """The chunk whose turn it is, with as many of those behind it as go to a worker together."""
        chunk = self.waiting.pop()
        while (following := self.waiting.first()) is not None and chunk.has_room_for(following):
            chunk.add(self.waiting.pop())
        return chunk

    def _cheap_chunk(self, busy: list[_Worker]) -> Chunk | None:
        """A cheap chunk for the workers that are kept for those, while all others are busy with dear ones."""
        if not self.pool.express or len(busy) > self.size + 1:
            return None
        dear_from = max(worker.dear_from() for worker in busy)
        if dear_from > time.monotonic():
            self.look_again = dear_from
            return None
        return self.waiting.pop_cheap(CHEAP_S, unknown=len(busy) == self.size)

    def _new_worker(self) -> _Worker:
        worker = _Worker(self.owner)
        self.pool.counts.started += 1
        self.workers.append(worker)
        self.selector.register(worker.stdout, selectors.EVENT_READ, worker)
        return worker

    def _wait(self) -> None:
        deadline = min([self.look_again, *(w.deadline for w in self.workers)])
        timeout = None if deadline == float("inf") else max(0.0, deadline - time.monotonic())
        for key, _ in self.selector.select(timeout):
            if key.data is None:
                with contextlib.suppress(BlockingIOError):
                    os.read(self.wake_read, 65536)
            elif key.data in self.workers:
                self._serve(key.data, key.fileobj)
        now = time.monotonic()
        for worker in [w for w in self.workers if w.deadline <= now]:
            self._overran(worker)

    def _serve(self, worker: _Worker, file: Any) -> None:
        if file is worker.stdin:
            self._send(worker)
            return
        messages = worker.messages()
        if messages is None:
            self._died(worker)
            return
        for message in messages:
            if isinstance(message, Loaded):
                self._loaded(worker, message)
            elif worker.chunk is not None:
                self._scored(worker, worker.chunk, message)

    def _send(self, worker: _Worker) -> None:
        """Write what the pipe takes; the selector calls again when it takes more."""
        try:
            while worker.outgoing:
                worker.outgoing = worker.outgoing[os.write(worker.stdin.fileno(), worker.outgoing) :]
        except BlockingIOError:
            if worker.stdin not in self.selector.get_map():
                self.selector.register(worker.stdin, selectors.EVENT_WRITE, worker)
            return
        except BrokenPipeError:
            worker.outgoing = memoryview(b"")  # it is dead; its closed stdout will tell
        if worker.stdin in self.selector.get_map():
            self.selector.unregister(worker.stdin)

    def _loaded(self, worker: _Worker, message: Loaded) -> None:
        chunk = worker.chunk
        assert chunk is not None and worker.loading is not None
        if message.error is None:
            worker.loaded.add(worker.loading)
            chunk.job.load_deaths = 0
            worker.loading = None
            worker.since = time.monotonic()
            worker.deadline = worker.since + chunk.job.patience_s
            return
        self._discard(worker)
        self._put_rest(chunk, f"the reward does not load in a worker: {message.error}")

    def _scored(self, worker: _Worker, chunk: Chunk, message: Scored) -> None:
        if chunk.done + len(message.scores) == len(chunk.samples):
            chunk.end("ok")  # before the last score, with which whoever asked goes on
        for answer in message.scores:
            if isinstance(answer, Score):
                self._learn(chunk, answer)
            chunk.put(answer)
        if chunk.done == len(chunk.samples):
            worker.chunk = None
            worker.deadline = float("inf")
        else:
            worker.since = time.monotonic()
            worker.deadline = worker.since + chunk.job.patience_s

    def _learn(self, chunk: Chunk, score: Score) -> None:
        if chunk.watching and chunk.job.sandboxed:
            chunk.saw(score)
        if chunk.job.stream:
            chunk.job.learn(score.seconds)

    def _overran(self, worker: _Worker) -> None:
        chunk = worker.chunk
        loading = worker.loading
        self._discard(worker)
        self.pool.counts.killed += 1
        assert chunk is not None
        chunk.end("timeout")
        if loading is not None:
            self._put_rest(chunk, f"the reward took over {chunk.job.load_timeout_s:g} s to load in a worker")
            return
        if chunk.job.whole:
            detail = f"killed with {len(chunk.samples)} samples after {chunk.job.timeout_s:g} s"
            self._put_rest(chunk, detail, "timeout")
            return
        rest = chunk.rest_one_by_one()
        # Streaming, it is known which sample overran: the first without a score.
        if chunk.job.stream or len(rest) == 1:
            job = chunk.job
            detail = f"killed after {job.timeout_s:g} s"
            chunk.put(failure("timeout", detail, scorer=job.name, seconds=job.timeout_s))
            job.learn(job.timeout_s)
            rest = rest[1:]
        for one in rest:
            self.waiting.add(one)

    def _died(self, worker: _Worker) -> None:
        chunk = worker.chunk
        self._discard(worker)
        self.pool.counts.died += 1
        if chunk is None:
            return
        chunk.end("died")
        died = f"exit status {worker.process.returncode}"
        if worker.loading is not None:
            self._died_loading(chunk, died)
            return
        if chunk.job.whole:
            self._run_once_more(chunk, died)
            return
        rest = chunk.rest_one_by_one()
        if len(rest) == 1:
            rest[0].deaths = chunk.deaths + 1
            if rest[0].deaths > 1:
                self._put_rest(chunk, f"the worker died twice on this sample ({died})")
                return
        for one in reversed(rest):
            self.waiting.add_first(one)

    def _run_once_more(self, chunk: Chunk, died: str) -> None:
        chunk.deaths += 1
        if chunk.deaths > 1:
            self._put_rest(chunk, f"the worker died twice on {len(chunk.samples)} samples ({died})")
        else:
            self.waiting.add_first(chunk)

    def _died_loading(self, chunk: Chunk, died: str) -> None:
        """No sample is to blame: try again with a fresh worker, but not for ever."""
        chunk.job.load_deaths += 1
        if chunk.job.load_deaths < chunk.job.max_load_deaths:
            self.waiting.add_first(chunk)
        else:
            self._put_rest(chunk, f"the workers die while they load the reward ({died})")

    def _put_rest(self, chunk: Chunk, detail: str, status: Status = "error") -> None:
        for _ in range(chunk.done, len(chunk.samples)):
            chunk.put(failure(status, detail, scorer=chunk.job.name))

    def _discard(self, worker: _Worker) -> None:
        self.workers.remove(worker)
        for file in (worker.stdout, worker.stdin):
            if file in self.selector.get_map():
                self.selector.unregister(file)
        worker.kill()

    def _fail(self, chunk: Chunk | None) -> None:
        reason = f": {self.stopped_by!r}" if self.stopped_by else ""
        for batch in {batch for batch, _ in chunk.slots} if chunk is not None else ():
            with contextlib.suppress(InvalidStateError):
                batch.future.set_exception(
                    ScoringError(f"the scorer was closed before this was scored{reason}")
                )


def _widen(pipe: int) -> None:
    """Let a chunk pass in one write where the system allows it."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 1 << 20)
