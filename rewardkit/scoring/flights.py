"""Samples in flight in one worker. A new sample starts as soon as another sample ends.

Asynchronous rewards with dedicated processes, such as judges, score samples in flight, and so do rewards that
run programs in the sandbox. The module `pool` chooses the worker for a sample and handles failures of the
worker.
"""

from __future__ import annotations

import time
from itertools import count

from rewardkit.scoring.jobs import Chunk


class _Flight:
    """A sample that a worker is scoring together with other samples."""

    def __init__(self, chunk: Chunk) -> None:
        self.chunk = chunk
        self.parked = False
        """True if the sample's program has slept or waited. Other programs may then start."""
        self.restart()

    def restart(self) -> None:
        """Restart the time limit of a sample, because the sample's program was not running."""
        self.deadline = time.monotonic() + self.chunk.job.patience_s


class Flights:
    """Chunks with one sample each. The key is the number that identifies the sample in the worker's
    answers."""

    def __init__(self) -> None:
        self._flights: dict[int, _Flight] = {}
        self._numbers = count()

    def __len__(self) -> int:
        return len(self._flights)

    @property
    def moving(self) -> int:
        """Number of samples that are not parked."""
        return sum(not flight.parked for flight in self._flights.values())

    @property
    def deadline(self) -> float:
        """Return the earliest deadline of all samples, or infinity without samples."""
        return min((flight.deadline for flight in self._flights.values()), default=float("inf"))

    def has_room_for(self, chunk: Chunk) -> bool:
        """Return True if a sample may start. A sample runs alone if a worker failed while it was in
        flight."""
        if not self._flights:
            return True
        suspect = chunk.deaths or any(one.chunk.deaths for one in self._flights.values())
        room = len(self._flights) < chunk.job.in_flight and self.moving < chunk.job.moving
        return not suspect and room

    def add(self, chunk: Chunk) -> int:
        """Add a sample and return its number."""
        number = next(self._numbers)
        self._flights[number] = _Flight(chunk)
        return number

    def park(self, number: int) -> None:
        """Record that the program of a sample sleeps or waits for its turn."""
        if (flight := self._flights.get(number)) is not None:
            flight.parked = True
            flight.restart()

    def restart(self) -> None:
        """Restart the time limits of all samples, because the worker has loaded their reward."""
        for flight in self._flights.values():
            flight.restart()

    def land(self, number: int) -> Chunk | None:
        """Remove and return a finished sample, or return None if it was cancelled."""
        flight = self._flights.pop(number, None)
        return None if flight is None else flight.chunk

    def drop_cancelled(self) -> list[tuple[int, int]]:
        """Remove the cancelled samples, and return the job ID and the number of each."""
        gone = [(one.chunk.job.job_id, n) for n, one in self._flights.items() if one.chunk.cancelled()]
        for _, number in gone:
            del self._flights[number]
        return gone

    def take_all(self) -> list[Chunk]:
        """Remove and return all samples, because their worker has been lost."""
        chunks = [flight.chunk for flight in self._flights.values()]
        self._flights.clear()
        return chunks

    def take_innocent(self) -> list[Chunk]:
        """Remove and return the samples that run in threads and whose own deadline has not passed."""
        now = time.monotonic()
        innocent = [
            number
            for number, flight in self._flights.items()
            if flight.chunk.job.in_threads and flight.deadline > now
        ]
        return [self._flights.pop(number).chunk for number in innocent]
