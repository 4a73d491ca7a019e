"""One child process of a pool: its pipes, what it works on, and when it must have answered.

Which work it gets, and what becomes of that when it fails, is decided in `pool`.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys
import time
from typing import cast

import msgspec

from rewardkit import processes
from rewardkit.scoring.flights import Flights
from rewardkit.scoring.jobs import Chunk, WorkerJob
from rewardkit.scoring.worker import Landed, Loaded, Reported, Scored, Work, WorkerFlight, WorkerRun, frame
from rewardkit.types import Sample
from rewardkit.worker_lifeline import SharedOwner

DEAR_S = 0.5
"""Worker time of a sample from which on it is dear."""

_decoder = msgspec.msgpack.Decoder(Loaded | Scored | Landed | Reported)


class WorkerProcess:
    """One child process, the chunk it works on or the samples that it has in flight, and when it must have
    answered."""

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
        self.loading: WorkerJob | None = None
        self.chunk: Chunk | None = None
        self.flights = Flights()
        self.since = 0.0
        """Time at which it was given the sample that it works on."""
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
            self.loading = job
            self.outgoing = memoryview(job.load_frame + run)
            self.deadline = self.since + job.load_timeout_s

    def fly(self, chunk: Chunk) -> None:
        """Start a sample beside those that are in flight."""
        job = chunk.job
        number = self.flights.add(chunk)
        encoded = cast("Sample", chunk.samples[0])
        more = frame(WorkerFlight(job.job_id, number, encoded))
        if self.loading is None and job.job_id not in self.loaded:
            self.loading = job
            more = job.load_frame + more
            self.deadline = time.monotonic() + job.load_timeout_s
        elif self.loading is None and len(self.flights) == 1:
            self.renew(job)
        self.outgoing = memoryview(bytes(self.outgoing) + more)

    def drop_cancelled(self, job_id: int) -> None:
        """Stop the samples that nobody waits for any more."""
        for number in self.flights.drop_cancelled():
            self.outgoing = memoryview(bytes(self.outgoing) + frame(WorkerFlight(job_id, number)))
        if self.chunk is None and not self.flights:
            self.deadline = float("inf")

    def take_all(self) -> list[Chunk]:
        """Take out all that it works on, as it is lost."""
        chunks = [*([self.chunk] if self.chunk is not None else []), *self.flights.take_all()]
        self.chunk = None
        return chunks

    def renew(self, job: WorkerJob) -> None:
        """It has answered, or begun: give it its time again, if it has anything to do."""
        self.since = time.monotonic()
        busy = self.chunk is not None or self.flights
        self.deadline = self.since + job.patience_s if busy else float("inf")

    def dear_from(self) -> float:
        """Return the monotonic time from which its sample counts as slow: its start, if that is expected."""
        assert self.chunk is not None
        return self.since if self.chunk.job.expected_s >= DEAR_S else self.since + DEAR_S

    def messages(self) -> list[Loaded | Scored | Landed | Reported] | None:
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


def _widen(pipe: int) -> None:
    """Let a chunk pass in one write where the system allows it."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 1 << 20)
