"""Child process of a pool, with its pipes, current work and deadline.

The module `pool` chooses the work of each process and handles failures.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys
import time
from collections.abc import Mapping
from typing import cast

import msgspec

from rewardkit import processes
from rewardkit.scoring.flights import Flights
from rewardkit.scoring.jobs import Chunk, WorkerJob
from rewardkit.scoring.worker import (
    Landed,
    Loaded,
    Parked,
    Reported,
    Scored,
    Work,
    WorkerFlight,
    WorkerRun,
    frame,
)
from rewardkit.types import Sample

DEAR_S = 0.5
"""Minimum worker time, in seconds, at which a sample counts as expensive."""

FromWorker = Loaded | Scored | Landed | Parked | Reported
"""Messages that a worker sends to its parent process."""

_decoder = msgspec.msgpack.Decoder(FromWorker)


class WorkerProcess:
    """A child process with its current chunk or its samples in flight, and the deadline for its next
    answer."""

    def __init__(self, descriptors: tuple[int, ...], environment: Mapping[str, str]) -> None:
        self.process = processes.start_python(
            "rewardkit.scoring.worker:main", descriptors=descriptors, environment=environment
        )
        assert self.process.stdin is not None and self.process.stdout is not None
        self.stdin = self.process.stdin
        self.stdout = self.process.stdout
        os.set_blocking(self.stdin.fileno(), False)
        _widen(self.stdin.fileno())
        self.loaded: set[int] = set()
        self.loading: WorkerJob | None = None
        self.chunk: Chunk | None = None
        self.flights = Flights()
        self.since = 0.0
        """Time at which the process received its current sample."""
        self.deadline = float("inf")
        self.outgoing = memoryview(b"")
        self.incoming = bytearray()

    def start(self, chunk: Chunk) -> None:
        self.chunk = chunk
        self.since = time.monotonic()
        job = chunk.job
        # The samples are already encoded. The worker decodes them as Samples.
        run = frame(WorkerRun(job.job_id, cast("list[Work]", chunk.samples), job.stream))
        if job.job_id in self.loaded:
            self.deadline = self.since + job.patience_s
        else:
            self.load(job)
        self._add(run)

    def load(self, job: WorkerJob) -> None:
        """Load the reward of a job, unless the process is already loading it."""
        if self.loading is not job:
            self.loading = job
            self._add(job.load_frame)
            self.deadline = time.monotonic() + job.load_timeout_s

    def fly(self, chunk: Chunk) -> None:
        """Start a sample while other samples are in flight."""
        job = chunk.job
        number = self.flights.add(chunk)
        encoded = cast("Sample", chunk.samples[0])
        more = frame(WorkerFlight(job.job_id, number, encoded))
        if self.loading is None and job.job_id not in self.loaded:
            self.load(job)
        elif self.loading is None and (job.in_threads or len(self.flights) == 1):
            self.renew(job)
        self._add(more)

    def drop_cancelled(self) -> None:
        """Stop the cancelled samples that are in flight."""
        for job_id, number in self.flights.drop_cancelled():
            self._add(frame(WorkerFlight(job_id, number)))
        if self.chunk is None and not self.flights:
            self.deadline = float("inf")

    def _add(self, message: bytes | bytearray) -> None:
        """Send a message after the messages that have not been written yet."""
        self.outgoing = memoryview(bytes(self.outgoing) + message if self.outgoing else message)

    def take_all(self) -> list[Chunk]:
        """Remove and return the chunks of this process, because the process has been lost."""
        chunks = [*([self.chunk] if self.chunk is not None else []), *self.flights.take_all()]
        self.chunk = None
        return chunks

    def renew(self, job: WorkerJob) -> None:
        """Restart the time limit after the worker has started or answered. An idle worker has no time limit.

        Samples that run in threads have their own time limits.
        """
        self.since = time.monotonic()
        if job.in_threads:
            self.deadline = self.flights.deadline
            return
        busy = self.chunk is not None or self.flights
        self.deadline = self.since + job.patience_s if busy else float("inf")

    def dear_from(self) -> float:
        """Return the monotonic time at which the current sample starts to count as expensive.

        A sample that is expected to be expensive counts as expensive from its start.
        """
        assert self.chunk is not None
        job = self.chunk.job
        return self.since if job.dear or job.expected_s >= DEAR_S else self.since + DEAR_S

    def messages(self) -> list[FromWorker] | None:
        """Read the messages received so far. Return None if the worker has closed the pipe."""
        data = os.read(self.stdout.fileno(), 1 << 20)
        if not data:
            return None
        self.incoming += data
        found = []
        while len(self.incoming) >= 4:
            end = 4 + int.from_bytes(self.incoming[:4], "big")
            if len(self.incoming) < end:
                break
            with memoryview(self.incoming) as incoming:  # messages may have many megabytes
                found.append(_decoder.decode(incoming[4:end]))
            del self.incoming[:end]
        return found

    def kill(self) -> None:
        """Kill and reap the worker, and kill all other processes in its process group."""
        processes.kill_group(self.process)
        self.process.wait()


def _widen(pipe: int) -> None:
    """Enlarge a pipe, if the system allows it, so that a chunk fits in one write."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 1 << 20)
