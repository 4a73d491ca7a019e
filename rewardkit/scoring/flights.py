"""Tracks the samples in flight in one worker. A new sample starts as soon as another sample ends.

Flights are used for asynchronous rewards with dedicated processes, such as judges. The module `pool` chooses
the worker for a sample and handles failures of the worker.
"""

from __future__ import annotations

from itertools import count

from rewardkit.scoring.jobs import Chunk


class Flights:
    """Chunks with one sample each, by the number that identifies the sample in the worker's answers."""

    def __init__(self) -> None:
        self._chunks: dict[int, Chunk] = {}
        self._numbers = count()

    def __len__(self) -> int:
        return len(self._chunks)

    def has_room_for(self, chunk: Chunk) -> bool:
        """Return True if a sample may start. A sample that was in flight when a worker failed runs alone."""
        if not self._chunks:
            return True
        suspect = chunk.deaths or any(one.deaths for one in self._chunks.values())
        return not suspect and len(self._chunks) < chunk.job.in_flight

    def add(self, chunk: Chunk) -> int:
        """Add a sample and return its number."""
        number = next(self._numbers)
        self._chunks[number] = chunk
        return number

    def land(self, number: int) -> Chunk | None:
        """Remove and return a finished sample, or return None if it was cancelled."""
        return self._chunks.pop(number, None)

    def drop_cancelled(self) -> list[int]:
        """Remove the cancelled samples and return their numbers."""
        gone = [number for number, chunk in self._chunks.items() if chunk.cancelled()]
        for number in gone:
            del self._chunks[number]
        return gone

    def take_all(self) -> list[Chunk]:
        """Remove and return all samples, because their worker has been lost."""
        chunks = list(self._chunks.values())
        self._chunks.clear()
        return chunks
