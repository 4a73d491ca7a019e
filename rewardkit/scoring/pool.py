"""Pool of worker processes that can be killed, for rewards that may hang or crash.

One thread per pool starts, supplies, monitors and kills the workers. The pool can therefore be used from any
thread or event loop, and the thread that is the workers' parent lives as long as the workers. The pool uses
no signals, does not `fork` the caller's memory, and does not depend on the main thread.

If a worker dies or exceeds its deadline, its chunk is split, and the unscored samples run again one by one. A
single sample that exceeds the deadline gets the status `timeout`. A single sample whose worker dies runs once
more, and gets the status `error` if the worker dies again. Chunks for a neural model are an exception: such a
chunk fails or runs once more as a whole, because loading the model in a new worker can take minutes.
"""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass
from typing import Any

import msgspec

from rewardkit import processes
from rewardkit.errors import ScoringError
from rewardkit.scoring.jobs import NOBODY, Chunk, IncomingScores, Scores, ScoringTurn, WorkerJob
from rewardkit.scoring.turns import Waiting
from rewardkit.scoring.worker import Landed, Loaded, Parked, Reported, Scored
from rewardkit.scoring.worker_process import DEAR_S, WorkerProcess
from rewardkit.types import Score, Status, failure
from rewardkit.users_code import report
from rewardkit.worker_lifeline import SharedOwner

_log = logging.getLogger("rewardkit.scoring")

CHEAP_S = 0.1
"""Maximum worker time, in seconds, that a cheap chunk is expected to take."""
_SPARE_EVERY_S = 10.0
"""Minimum number of seconds between two express workers that are started in advance."""
_REST_S = 0.002
"""Seconds for which the answers of a worker are collected while it scores a chunk. Otherwise, each answer
would wake this process, which for cheap samples costs as much as their scores."""
_PRUNE_EVERY_S = 0.02
_PRUNE_SHARE = 10
"""Minimum number of seconds between two searches for cancelled samples: in total, and per second of a
search."""
_EXIT_S = 0.5
"""Seconds to wait for the exit status of a worker that has closed its pipe."""


@dataclass
class Counts:
    """Counts of worker events since a pool was created."""

    started: int = 0
    """Number of workers started."""
    died: int = 0
    """Number of workers that crashed, exited, or were killed from outside."""
    killed: int = 0
    """Number of workers that the pool killed after a missed deadline or a cancellation."""
    begun: int = 0
    """Number of chunks that a worker started."""
    waited_s: float = 0.0
    """Total number of seconds that these chunks waited for a worker."""


class WorkerPool:
    """Pool of killable processes, started when needed, that run chunks of samples.

    Args:
        size: Maximum number of processes.
        express: True to allow two more processes, for cheap chunks while all others are busy with expensive
            chunks. One of the two also accepts chunks whose cost is still unknown.
        descriptors: File descriptors that the workers inherit.
        environment: Environment variables to add for the workers.
    """

    def __init__(
        self,
        size: int,
        *,
        express: bool = False,
        descriptors: tuple[int, ...] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.size = size
        self.descriptors = descriptors
        self.environment = environment or {}
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
        self._woken = False
        """True if the thread was woken, and has not looked at the inbox since."""
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
        """Send encoded samples or pieces of work to the workers, and return a future for the results.

        Cancelling the future kills workers that are busy only with this batch.

        Args:
            job: Job of the samples or pieces.
            samples: Encoded samples or pieces. A sample that could not be encoded is given as its Score,
                which is returned unchanged.
            chunk_size: Number of samples or pieces that a worker gets at once.
            turn: Client and request of the batch.

        Returns:
            A future with one result for each sample or piece, in order.

        Raises:
            ScoringError: The pool is closed or has stopped.
        """
        if self._closed:
            raise ScoringError("this Scorer is closed; create a new Scorer")
        if self._pid == os.getpid() and not self._thread.is_alive():
            raise ScoringError(f"the worker pool has stopped: {self._loop.stopped_by!r}")
        if self._pid != os.getpid():  # a fork cannot use its parent's workers
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

    @property
    def memory(self) -> int:
        """Resident memory of all workers in bytes, without their child processes."""
        return sum(processes.resident_bytes(worker.process.pid) for worker in list(self._loop.workers))

    def kill_larger(self, most: int) -> None:
        """Kill the workers with more than `most` bytes of resident memory, as if they had died."""
        for worker in list(self._loop.workers):
            size = processes.resident_bytes(worker.process.pid)
            if size > most:
                _log.warning(
                    "a scoring process has %d MiB and is stopped; the limit is %d", size >> 20, most >> 20
                )
                worker.process.kill()

    def close(self) -> None:
        """Kill the workers. Unfinished futures raise a ScoringError."""
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
        if self._woken:  # a write may wait for the interpreter lock
            return
        self._woken = True
        with self._wake_lock, contextlib.suppress(BlockingIOError):  # a full pipe wakes the thread as well
            if self._wake_write >= 0:
                os.write(self._wake_write, b"x")


class _Loop:
    """Event loop of the pool's thread."""

    def __init__(self, pool: WorkerPool) -> None:
        self.pool = pool
        self.size = pool.size
        self.inbox = pool._inbox
        self.wake_read = pool._wake_read
        self.waiting = Waiting()
        self.workers: list[WorkerProcess] = []
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.wake_read, selectors.EVENT_READ)
        self.owner = SharedOwner()
        """Owner of the servers that all workers share, such as the SymPy server of the maths reward."""
        self.stopped_by: Exception | None = None
        """Exception that ended the loop, or None."""
        self.look_again = float("inf")
        """Time at which a waiting chunk may get an express worker even if no other worker has become free."""
        self.prune = False
        """True if a batch was cancelled and its waiting chunks have to be dropped."""
        self.prune_from = 0.0
        """Time from which waiting chunks may be dropped again."""
        self.cheap: WorkerJob | None = None
        """Job of the latest cheap chunk, which the next express worker loads in advance."""
        self.resting: dict[WorkerProcess, float] = {}
        """Workers whose answers are left in their pipes until a time, so that several are read together."""
        self.spare_from = 0.0
        """Time from which an express worker may be started in advance."""

    def run(self) -> None:
        try:
            while self._take_inbox():
                self._assign()
                self._wait()
        # If the thread fails, for example because no process can be started, callers must not wait forever.
        except Exception as error:
            self.stopped_by = error
        finally:
            for worker in list(self.workers):
                for chunk in worker.take_all():
                    self._fail(chunk)
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
        self.look_again = float("inf")
        self._kill_cancelled()
        if self.prune:
            self._prune()
        while (first := self.waiting.first()) is not None:
            if first.job.in_flight:
                if not self._begin_beside(first):
                    return
                continue
            busy = [w for w in self.workers if w.chunk is not None]
            chunk = self._next_chunk() if len(busy) < self.size else self._cheap_chunk(busy)
            if chunk is None:
                break
            idle = [w for w in self.workers if w.chunk is None and w.loading in (None, chunk.job)]
            # Loading a reward may take a second, so a worker that has loaded it is preferred.
            worker = max(idle, key=lambda one: chunk.job.job_id in one.loaded, default=None)
            worker = worker or self._new_worker()
            self.pool.counts.begun += 1
            self.pool.counts.waited_s += chunk.begin()
            worker.start(chunk)
            self._send(worker)
        self._prepare_express()

    def _prepare_express(self) -> None:
        """Start an express worker while all workers are busy with expensive chunks.

        Starting a process and loading a reward takes a second, for which the next cheap chunk would wait.
        """
        now = time.monotonic()
        if self.cheap is None or not self.pool.express or self.spare_from > now:
            return
        if len(self.workers) == self.size and all(w.chunk and w.dear_from() <= now for w in self.workers):
            self.spare_from = now + _SPARE_EVERY_S
            worker = self._new_worker()
            worker.load(self.cheap)
            self._send(worker)

    def _kill_cancelled(self) -> None:
        """Kill the workers whose chunk was cancelled, unless they still load the reward or have just begun.

        Otherwise, clients that disconnect again and again would keep the machine busy with starting workers.
        """
        now = time.monotonic()
        for worker in list(self.workers):
            chunk = worker.chunk
            if chunk is None or chunk.job.costly or worker.loading is not None or not chunk.cancelled():
                continue
            if worker.since + DEAR_S <= now:
                self._discard(worker)
                self.pool.counts.killed += 1
            else:
                self.look_again = min(self.look_again, worker.since + DEAR_S)

    def _prune(self) -> None:
        """Drop cancelled samples, but not at each cancellation, because this searches all waiting chunks."""
        now = time.monotonic()
        if now < self.prune_from:
            self.look_again = min(self.look_again, self.prune_from)
            return
        self.prune = False
        self.waiting.prune()
        for worker in self.workers:
            if worker.flights:
                worker.drop_cancelled()
                self._send(worker)
        ended = time.monotonic()
        self.prune_from = ended + max(_PRUNE_EVERY_S, _PRUNE_SHARE * (ended - now))

    def _begin_beside(self, first: Chunk) -> bool:
        """Start a sample in a worker that has room for it. Return False if all workers are full."""
        fit = [
            one
            for one in self.workers
            if one.flights.has_room_for(first) and one.loading in (None, first.job)
        ]
        spare = len(self.workers) < self.size
        if not fit and not spare:
            return False
        worker = min(fit, key=lambda one: one.flights.moving, default=None)
        if worker is None or (spare and worker.flights.moving and first.job.in_threads):
            worker = self._new_worker()
        self.pool.counts.begun += 1
        self.pool.counts.waited_s += first.begin()
        worker.fly(self.waiting.pop())
        self._send(worker)
        return True

    def _next_chunk(self) -> Chunk:
        """Remove and return the next waiting chunk, merged with as many following chunks as possible."""
        chunk = self.waiting.pop()
        while (following := self.waiting.first()) is not None and chunk.has_room_for(following):
            chunk.add(self.waiting.pop())
        return chunk

    def _cheap_chunk(self, busy: list[WorkerProcess]) -> Chunk | None:
        """Remove and return a cheap chunk for an express worker, or return None if no chunk qualifies.

        Express workers are used only while all other workers are busy with expensive chunks.
        """
        if not self.pool.express:
            return None
        if sum(w.chunk is not None or w.loading is not None for w in self.workers) > self.size + 1:
            return None
        dear_from = max(worker.dear_from() for worker in busy)
        if dear_from > time.monotonic():
            self.look_again = min(self.look_again, dear_from)
            return None
        return self.waiting.pop_cheap(CHEAP_S, unknown=len(busy) == self.size)

    def _new_worker(self) -> WorkerProcess:
        worker = WorkerProcess(
            (*self.owner.descriptors, *self.pool.descriptors),
            {**self.owner.environment, **self.pool.environment},
        )
        self.pool.counts.started += 1
        self.workers.append(worker)
        self.selector.register(worker.stdout, selectors.EVENT_READ, worker)
        return worker

    def _wait(self) -> None:
        deadline = min([self.look_again, *self.resting.values(), *(w.deadline for w in self.workers)])
        timeout = None if deadline == float("inf") else max(0.0, deadline - time.monotonic())
        for key, _ in self.selector.select(timeout):
            if key.data is None:
                with contextlib.suppress(BlockingIOError):
                    os.read(self.wake_read, 65536)
                self.pool._woken = False
            elif key.data in self.workers:
                self._serve(key.data, key.fileobj)
        now = time.monotonic()
        rested = [worker for worker, until in self.resting.items() if until <= now]
        for worker in rested:
            del self.resting[worker]
            self.selector.register(worker.stdout, selectors.EVENT_READ, worker)
        # The answers of a worker that has just rested are read first.
        for worker in [w for w in self.workers if w.deadline <= now and w not in rested]:
            self._overran(worker)

    def _serve(self, worker: WorkerProcess, file: Any) -> None:
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
            elif isinstance(message, Landed):
                self._landed(worker, message)
            elif isinstance(message, Parked):
                worker.flights.park(message.number)
                worker.deadline = worker.flights.deadline
            elif isinstance(message, Reported):
                for who, error in message.reports:
                    report(who, error)
            elif worker.chunk is not None:
                self._scored(worker, worker.chunk, message)
        if worker.chunk is not None and worker.chunk.done:
            self.resting[worker] = time.monotonic() + _REST_S
            self.selector.unregister(worker.stdout)

    def _send(self, worker: WorkerProcess) -> None:
        """Write as much as the pipe accepts. The rest is written when the pipe becomes writable again."""
        try:
            while worker.outgoing:
                worker.outgoing = worker.outgoing[os.write(worker.stdin.fileno(), worker.outgoing) :]
        except BlockingIOError:
            if worker.stdin not in self.selector.get_map():
                self.selector.register(worker.stdin, selectors.EVENT_WRITE, worker)
            return
        except BrokenPipeError:
            worker.outgoing = memoryview(b"")  # the worker is dead, which `messages` will report
        if worker.stdin in self.selector.get_map():
            self.selector.unregister(worker.stdin)

    def _loaded(self, worker: WorkerProcess, message: Loaded) -> None:
        job = worker.loading
        assert job is not None
        if message.error is None:
            worker.loaded.add(job.job_id)
            job.load_deaths = 0
            worker.loading = None
            worker.flights.restart()
            worker.renew(job)
            return
        self._discard(worker)
        for chunk in worker.take_all():
            self._put_rest(chunk, f"cannot load the reward in a worker: {message.error}")

    def _landed(self, worker: WorkerProcess, message: Landed) -> None:
        chunk = worker.flights.land(message.number)
        if chunk is not None:
            worker.renew(chunk.job)
            chunk.end("ok")
            if chunk.job.sandboxed:
                chunk.saw(message.score)
            if message.busy_s is not None:
                chunk.job.learn_typical(message.busy_s)
            chunk.put(message.score)

    def _scored(self, worker: WorkerProcess, chunk: Chunk, message: Scored) -> None:
        if chunk.done + len(message.scores) == len(chunk.samples):
            # The chunk must end before its last score is delivered, because the caller then continues.
            chunk.end("ok")
        for answer in message.scores:
            if isinstance(answer, Score):
                self._learn(chunk, answer)
            else:
                chunk.job.learn(time.monotonic() - worker.since)
            chunk.put(answer)
        if chunk.done == len(chunk.samples):
            worker.chunk = None
            if chunk.job.seen and not chunk.job.dear and chunk.job.expected_s <= CHEAP_S:
                self.cheap = chunk.job
        worker.renew(chunk.job)

    def _learn(self, chunk: Chunk, score: Score) -> None:
        if chunk.watching and chunk.job.sandboxed:
            chunk.saw(score)
        if chunk.job.stream:
            chunk.job.learn(score.seconds)

    def _overran(self, worker: WorkerProcess) -> None:
        loading = worker.loading
        self._discard(worker)
        self.pool.counts.killed += 1
        if loading is None:
            for chunk in reversed(worker.flights.take_innocent()):
                self.waiting.add_first(chunk)
        for chunk in reversed(worker.take_all()):
            chunk.end("timeout")
            if loading is not None:
                self._put_rest(
                    chunk, f"the reward did not load in a worker within {loading.load_timeout_s:g} s"
                )
            elif chunk.job.in_flight:
                self._alone(chunk, "timeout", _killed(chunk.job))
            else:
                self._overran_chunk(chunk)

    def _overran_chunk(self, chunk: Chunk) -> None:
        if chunk.job.whole:
            detail = f"{_killed(chunk.job)}, with all {len(chunk.samples)} samples of one call"
            self._put_rest(chunk, detail, "timeout")
            return
        rest = chunk.rest_one_by_one()
        # When streaming, the first sample without a score is the sample that exceeded the deadline.
        if chunk.job.stream or len(rest) == 1:
            job = chunk.job
            chunk.put(failure("timeout", _killed(job), scorer=job.name, seconds=job.timeout_s))
            job.learn(job.timeout_s)
            rest = rest[1:]
        for one in rest:
            self.waiting.add(one)

    def _alone(self, chunk: Chunk, status: Status, detail: str) -> None:
        """Retry a sample alone, because one of the samples in flight made the worker fail.

        If the worker also fails on this sample alone, the sample gets a failure.
        """
        chunk.deaths += 1
        if chunk.deaths > 1:
            self._put_rest(chunk, detail, status)
        else:
            self.waiting.add_first(chunk)

    def _died(self, worker: WorkerProcess) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):  # a live worker may have closed its pipe
            worker.process.wait(_EXIT_S)
        self._discard(worker)
        self.pool.counts.died += 1
        died = _how(worker.process.returncode)
        chunks = worker.take_all()
        held = sum(len(chunk.samples) for chunk in chunks)
        _log.warning("a scoring process ended (%s) while it had %d samples", died, held)
        if worker.loading is not None:
            worker.loading.load_deaths += 1
        for chunk in reversed(chunks):
            chunk.end("died")
            if worker.loading is not None:
                self._died_loading(chunk, died)
            elif chunk.job.in_flight:
                self._alone(chunk, "error", f"the worker died twice on this sample ({died})")
            else:
                self._died_with(chunk, died)

    def _died_with(self, chunk: Chunk, died: str) -> None:
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
        """Retry with a new worker a limited number of times, because no sample caused the failure."""
        if chunk.job.load_deaths < chunk.job.max_load_deaths:
            self.waiting.add_first(chunk)
        else:
            self._put_rest(chunk, f"the workers die while they load the reward ({died})")

    def _put_rest(self, chunk: Chunk, detail: str, status: Status = "error") -> None:
        for _ in range(chunk.done, len(chunk.samples)):
            chunk.put(failure(status, detail, scorer=chunk.job.name))

    def _discard(self, worker: WorkerProcess) -> None:
        self.workers.remove(worker)
        self.resting.pop(worker, None)
        for file in (worker.stdout, worker.stdin):
            if file in self.selector.get_map():
                self.selector.unregister(file)
        worker.kill()

    def _fail(self, chunk: Chunk | None) -> None:
        reason = f": {self.stopped_by!r}" if self.stopped_by else ""
        for batch in {batch for batch, _ in chunk.slots} if chunk is not None else ():
            with contextlib.suppress(InvalidStateError):
                batch.future.set_exception(
                    ScoringError(f"the Scorer was closed before all samples were scored{reason}")
                )


def _how(code: int | None) -> str:
    """Return how a process ended, given its exit status."""
    if code is None or code >= 0:
        return f"exit status {code}"
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
    return f"{name}, perhaps for lack of memory" if name == "SIGKILL" else name


def _killed(job: WorkerJob) -> str:
    return f"the reward's worker was killed after {job.timeout_s:g} s, the reward's time limit"
