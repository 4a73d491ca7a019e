"""Fair queue of the chunks that wait for a worker, across clients and their requests.

The queue uses weighted fair queueing. All clients get the same share of the workers' time, regardless of how
much work they send, and all requests from a client get the same share of the client's time. Short requests
finish soon, and no request waits forever. Chunks without a client count as one request from one client, in
order of arrival.
"""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Hashable, Iterator

from rewardkit.scoring.jobs import Chunk


class _Client:
    """Waiting chunks of one client, ordered by the time they would end if all requests had equal shares."""

    def __init__(self, client: Hashable, tag: float) -> None:
        self.client = client
        self.tag = tag
        """Worker time that the client has used, plus the queue's clock when the client was added."""
        self.clock = 0.0
        """Worker time per request so far, if the client's requests shared the client's time equally."""
        self.chunks: list[tuple[float, int, Chunk]] = []
        self.ends: dict[Hashable, float] = {}
        """Time on `clock` at which the last chunk of each request would end."""
        self.waiting: dict[Hashable, int] = {}
        """Number of waiting chunks of each request."""

    def add(self, chunk: Chunk, order: int) -> None:
        request = chunk.turn.request
        end = max(self.ends.get(request, 0.0), self.clock) + chunk.cost_s
        self.ends[request] = end
        self.waiting[request] = self.waiting.get(request, 0) + 1
        heapq.heappush(self.chunks, (end, order, chunk))

    def pop(self) -> Chunk:
        _, _, chunk = heapq.heappop(self.chunks)
        self.clock += chunk.cost_s / len(self.waiting)
        self.tag += chunk.cost_s
        request = chunk.turn.request
        self.waiting[request] -= 1
        if not self.waiting[request]:
            del self.waiting[request], self.ends[request]
        return chunk

    def keep(self, chunks: list[tuple[float, int, Chunk]]) -> None:
        """Keep only the given chunks."""
        self.chunks = chunks
        heapq.heapify(self.chunks)
        self.waiting = {}
        for _, _, chunk in chunks:
            self.waiting[chunk.turn.request] = self.waiting.get(chunk.turn.request, 0) + 1
        self.ends = {request: end for request, end in self.ends.items() if request in self.waiting}


class Waiting:
    """Queue of chunks that is fair among clients and their requests. It is not thread-safe."""

    def __init__(self) -> None:
        self._first: deque[Chunk] = deque()
        """Chunks to run first, because the worker that had started them died."""
        self._clients: dict[Hashable, _Client] = {}
        self._order = itertools.count()
        self._turns: list[tuple[float, int, _Client]] = []
        """Heap of the clients with chunks. Entries with a tag other than the client's current tag are out of
        date."""
        self._clock = 0.0

    def __iter__(self) -> Iterator[Chunk]:
        yield from self._first
        for client in self._clients.values():
            yield from (chunk for _, _, chunk in client.chunks)

    def add(self, chunk: Chunk) -> None:
        """Add a chunk, which waits for its turn according to the shares of its client and request."""
        key = chunk.turn.client
        client = self._clients.get(key)
        if client is None:
            client = self._clients[key] = _Client(key, self._clock)
            self._push(client)
        client.add(chunk, next(self._order))

    def add_first(self, chunk: Chunk) -> None:
        """Add a chunk before all others, because it has already had its turn."""
        self._first.appendleft(chunk)

    def first(self) -> Chunk | None:
        """Drop cancelled chunks, and return the chunk whose turn it is, or None if no chunk is left."""
        while self._first:
            if not self._first[0].cancelled():
                return self._first[0]
            self._first.popleft()
        while (client := self._next_client()) is not None:
            chunk = client.chunks[0][2]
            if not chunk.cancelled():
                return chunk
            self._take(client, cost=False)
        return None

    def pop(self) -> Chunk:
        """Remove and return the chunk that `first` returns."""
        if self._first:
            return self._first.popleft()
        client = self._next_client()
        assert client is not None, "nothing waits"
        return self._take(client, cost=True)

    def pop_cheap(self, below_s: float, *, unknown: bool) -> Chunk | None:
        """Remove and return a cheap chunk out of turn, or return None if no chunk qualifies.

        Args:
            below_s: Maximum expected worker time of a cheap chunk in seconds.
            unknown: True to accept a chunk whose cost is unknown as well.
        """
        if self._first:
            return None
        for client in list(self._clients.values()):
            chunk = client.chunks[0][2]
            cost_s = len(chunk.samples) * chunk.job.expected_s  # this uses the latest estimate
            cheap = cost_s <= below_s if chunk.job.seen else unknown
            if cheap and not chunk.job.dear and not chunk.cancelled():
                return self._take(client, cost=True)
        return None

    def prune(self) -> None:
        """Drop the cancelled chunks."""
        self._first = deque(chunk for chunk in self._first if not chunk.cancelled())
        for client in list(self._clients.values()):
            kept = [entry for entry in client.chunks if not entry[2].cancelled()]
            if not kept:
                del self._clients[client.client]
            elif len(kept) < len(client.chunks):
                client.keep(kept)

    def _take(self, client: _Client, *, cost: bool) -> Chunk:
        tag = client.tag
        chunk = client.pop()
        if cost:
            self._clock = max(self._clock + chunk.cost_s / len(self._clients), tag)
        else:
            client.tag = tag
        if not client.chunks:
            del self._clients[client.client]
        elif client.tag != tag:
            self._push(client)
        return chunk

    def _push(self, client: _Client) -> None:
        heapq.heappush(self._turns, (client.tag, next(self._order), client))

    def _next_client(self) -> _Client | None:
        while self._turns:
            tag, _, client = self._turns[0]
            if self._clients.get(client.client) is client and client.tag == tag:
                return client
            heapq.heappop(self._turns)
        return None
