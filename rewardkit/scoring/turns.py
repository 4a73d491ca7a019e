"""Fair queue of chunks that wait for a worker. It shares worker time among addresses, clients and requests.

The queue uses weighted fair queueing. All addresses get the same share of worker time, regardless of how much
work they send and how many client names they use. The clients at an address share its time equally, and the
requests from a client share that client's time equally. Short requests finish soon, and no request waits
forever. Chunks without a client count as one request from one client, in order of arrival.
"""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from typing import Generic, Protocol, TypeVar

from rewardkit.scoring.jobs import Chunk, address_of


class _Queue(Protocol):
    """Queue of waiting chunks, in the order in which they will be scored."""

    tag: float
    """Worker time used by these chunks, plus the time on the parent's clock when the queue was added."""

    def __iter__(self) -> Iterator[Chunk]: ...

    def add(self, chunk: Chunk, order: int) -> None: ...

    def first(self) -> Chunk | None: ...

    def take(self, chunk: Chunk, *, cost: bool) -> None: ...

    def keep(self, wanted: Callable[[Chunk], bool]) -> None: ...


class _Client:
    """Waiting chunks of one client, ordered by the time at which they would end if requests had equal
    shares."""

    def __init__(self, tag: float) -> None:
        self.tag = tag
        self._clock = 0.0
        """Worker time that each request would have used so far if the client's requests had equal shares."""
        self._chunks: list[tuple[float, int, Chunk]] = []
        self._ends: dict[Hashable, float] = {}
        """Time on the clock at which the last chunk of a request would end, by request."""
        self._waiting: dict[Hashable, int] = {}
        """Number of waiting chunks of each request."""

    def __iter__(self) -> Iterator[Chunk]:
        return (chunk for _, _, chunk in self._chunks)

    def add(self, chunk: Chunk, order: int) -> None:
        request = chunk.turn.request
        end = max(self._ends.get(request, 0.0), self._clock) + chunk.cost_s
        self._ends[request] = end
        self._waiting[request] = self._waiting.get(request, 0) + 1
        heapq.heappush(self._chunks, (end, order, chunk))

    def first(self) -> Chunk | None:
        return self._chunks[0][2] if self._chunks else None

    def take(self, chunk: Chunk, *, cost: bool) -> None:
        """Remove the first chunk."""
        heapq.heappop(self._chunks)
        self._clock += chunk.cost_s / len(self._waiting)
        if cost:
            self.tag += chunk.cost_s
        request = chunk.turn.request
        self._waiting[request] -= 1
        if not self._waiting[request]:
            del self._waiting[request], self._ends[request]

    def keep(self, wanted: Callable[[Chunk], bool]) -> None:
        """Drop all chunks except the wanted chunks."""
        self._chunks = [entry for entry in self._chunks if wanted(entry[2])]
        heapq.heapify(self._chunks)
        self._waiting = {}
        for chunk in self:
            self._waiting[chunk.turn.request] = self._waiting.get(chunk.turn.request, 0) + 1
        self._ends = {request: end for request, end in self._ends.items() if request in self._waiting}


Q = TypeVar("Q", bound=_Queue)


class _Sharing(Generic[Q]):
    """Queues that share worker time equally, such as the queues of the clients at one address.

    Args:
        tag: See `_Queue`.
        key: Function that returns the key of a chunk's queue.
        make: Function that creates an empty queue with a tag.
    """

    def __init__(self, tag: float, key: Callable[[Chunk], Hashable], make: Callable[[float], Q]) -> None:
        self.tag = tag
        self._key = key
        self._make = make
        self._queues: dict[Hashable, Q] = {}
        self._order = itertools.count()
        self._turns: list[tuple[float, int, Hashable, Q]] = []
        """Heap of queues by tag. Entries of removed queues, and entries with an earlier tag, are outdated."""
        self._clock = 0.0

    def __iter__(self) -> Iterator[Chunk]:
        return itertools.chain.from_iterable(self._queues.values())

    def queues(self) -> Iterator[Q]:
        """Yield the queues, none of which is empty."""
        yield from list(self._queues.values())

    def add(self, chunk: Chunk, order: int) -> None:
        key = self._key(chunk)
        queue = self._queues.get(key)
        if queue is None:
            queue = self._queues[key] = self._make(self._clock)
            self._push(key, queue)
        queue.add(chunk, order)

    def first(self) -> Chunk | None:
        """Return the chunk that is next in turn, or None if no chunk waits."""
        while self._turns:
            tag, _, key, queue = self._turns[0]
            if self._queues.get(key) is queue and queue.tag == tag:
                return queue.first()
            heapq.heappop(self._turns)
        return None

    def take(self, chunk: Chunk, *, cost: bool) -> None:
        """Remove a chunk that is the first in its queue.

        Args:
            chunk: Chunk to remove.
            cost: True to count the chunk's worker time, or False if the chunk is dropped without being
                scored.
        """
        key = self._key(chunk)
        queue = self._queues[key]
        tag = queue.tag
        queue.take(chunk, cost=cost)
        if cost:
            self.tag += chunk.cost_s
            self._clock = max(self._clock + chunk.cost_s / len(self._queues), tag)
        if queue.first() is None:
            del self._queues[key]
        elif queue.tag != tag:
            self._push(key, queue)

    def keep(self, wanted: Callable[[Chunk], bool]) -> None:
        """Drop all chunks except the wanted chunks."""
        for key, queue in list(self._queues.items()):
            queue.keep(wanted)
            if queue.first() is None:
                del self._queues[key]

    def _push(self, key: Hashable, queue: Q) -> None:
        heapq.heappush(self._turns, (queue.tag, next(self._order), key, queue))


def _clients(tag: float) -> _Sharing[_Client]:
    return _Sharing(tag, lambda chunk: chunk.turn.client, _Client)


class Waiting:
    """Queue of chunks that is fair to addresses, clients and requests. The queue is not thread-safe."""

    def __init__(self) -> None:
        self._first: deque[Chunk] = deque()
        """Chunks to run first, because the worker that was running them has died."""
        self._addresses = _Sharing(0.0, lambda chunk: address_of(chunk.turn.client), _clients)
        self._order = itertools.count()

    def __iter__(self) -> Iterator[Chunk]:
        yield from self._first
        yield from self._addresses

    def add(self, chunk: Chunk) -> None:
        """Add a chunk. Its turn depends on the shares of its client and its request."""
        self._addresses.add(chunk, next(self._order))

    def add_first(self, chunk: Chunk) -> None:
        """Add a chunk before all other chunks, because it has already had its turn."""
        self._first.appendleft(chunk)

    def first(self) -> Chunk | None:
        """Drop cancelled chunks. Return the chunk that is next in turn, or None if no chunk is left."""
        while self._first:
            if not self._first[0].cancelled():
                return self._first[0]
            self._first.popleft()
        while (chunk := self._addresses.first()) is not None and chunk.cancelled():
            self._addresses.take(chunk, cost=False)
        return chunk

    def pop(self) -> Chunk:
        """Remove and return the chunk that `first` returns."""
        if self._first:
            return self._first.popleft()
        chunk = self._addresses.first()
        assert chunk is not None, "nothing waits"
        self._addresses.take(chunk, cost=True)
        return chunk

    def pop_cheap(self, below_s: float, *, unknown: bool) -> Chunk | None:
        """Remove and return a cheap chunk before its turn, or return None if no chunk is cheap.

        Args:
            below_s: Maximum expected worker time of a cheap chunk in seconds.
            unknown: True to accept a chunk whose cost is unknown as well.
        """
        if self._first:
            return None
        for clients in self._addresses.queues():
            for client in clients.queues():
                chunk = client.first()
                assert chunk is not None
                cost_s = len(chunk.samples) * chunk.job.expected_s  # the latest estimate
                cheap = cost_s <= below_s if chunk.job.seen else unknown
                if cheap and not chunk.job.dear and not chunk.cancelled():
                    self._addresses.take(chunk, cost=True)
                    return chunk
        return None

    def prune(self) -> None:
        """Drop the cancelled chunks."""
        self._first = deque(chunk for chunk in self._first if not chunk.cancelled())
        self._addresses.keep(lambda chunk: not chunk.cancelled())
