"""The samples that one worker has in flight: each begins as soon as another ends, and waits for none.

For asynchronous rewards with processes of their own, such as judges. Which worker gets a sample, and what
becomes of it when the worker fails, is decided in `pool`.
"""

from __future__ import annotations

from itertools import count

from rewardkit.scoring.jobs import Chunk


class Flights:
    """Chunks of one sample each, by a number under which the worker answers."""

    def __init__(self) -> None:
        self._chunks: dict[int, Chunk] = {}
        self._numbers = count()

    def __len__(self) -> int:
        return len(self._chunks)

    def has_room_for(self, chunk: Chunk) -> bool:
        """Return True if a sample may begin. One that was in flight when a worker failed is tried again
        alone."""
        if not self._chunks:
            return True
        suspect = chunk.deaths or any(one.deaths for one in self._chunks.values())
        return not suspect and len(self._chunks) < chunk.job.in_flight

    def add(self, chunk: Chunk) -> int:
        """Begin a sample; return its number."""
        number = next(self._numbers)
        self._chunks[number] = chunk
        return number

    def land(self, number: int) -> Chunk | None:
        """Take out a sample that is done; None where nobody waits for it any more."""
        return self._chunks.pop(number, None)

    def drop_cancelled(self) -> list[int]:
        """Take out what nobody waits for any more; return the numbers."""
        gone = [number for number, chunk in self._chunks.items() if chunk.cancelled()]
        for number in gone:
            del self._chunks[number]
        return gone

    def take_all(self) -> list[Chunk]:
        """Take out everything, as the worker is lost."""
        chunks = list(self._chunks.values())
        self._chunks.clear()
        return chunks
