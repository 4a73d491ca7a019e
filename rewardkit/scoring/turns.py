"""Turns of the chunks that wait for a worker, shared out fairly among clients and their requests.

Weighted fair queueing: each client gets the same share of the workers' time, however much it asks for, and
within a client so does each request; those that need little are done soon, and none waits for ever. What
nobody says a client for is one client's one request, in the order in which it came.
"""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Hashable, Iterator

from rewardkit.scoring.jobs import Chunk


class _Client:
    """The waiting chunks of one client, as they would end if each request had its share."""

    def __init__(self, client: Hashable, tag: float) -> None:
        self.client = client
        self.tag = tag
        """Worker time that it has had, counted from that of the others when it came."""
        self.clock = 0.0
        """Worker time that each of its requests has had, if they had it evenly."""
        self.chunks: list[tuple[float, int, Chunk]] = []
        self.ends: dict[Hashable, float] = {}
        """Time at which the last chunk of each request would end."""
        self.waiting: dict[Hashable, int] = {}

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
        """Keep only these of the chunks."""
        self.chunks = chunks
        heapq.heapify(self.chunks)
        self.waiting = {}
        for _, _, chunk in chunks:
            self.waiting[chunk.turn.request] = self.waiting.get(chunk.turn.request, 0) + 1
        self.ends = {request: end for request, end in self.ends.items() if request in self.waiting}


class Waiting:
    """A queue of chunks, fair among clients and their requests. For use in one thread."""

    def __init__(self) -> None:
        self._first: deque[Chunk] = deque()
        """Begun already, by a worker that died."""
        self._clients: dict[Hashable, _Client] = {}
        self._order = itertools.count()
        self._turns: list[tuple[float, int, _Client]] = []
        """A heap of the clients with chunks; an entry whose tag is not the client's is out of date."""
        self._clock = 0.0

    def __iter__(self) -> Iterator[Chunk]:
        yield from self._first
        for client in self._clients.values():
            yield from (chunk for _, _, chunk in client.chunks)

    def add(self, chunk: Chunk) -> None:
        """Put a chunk behind those that its client's share of the time lets go before it."""
        key = chunk.turn.client
        client = self._clients.get(key)
        if client is None:
            client = self._clients[key] = _Client(key, self._clock)
            self._push(client)
        client.add(chunk, next(self._order))

    def add_first(self, chunk: Chunk) -> None:
        """Put a chunk before all others: it has had its turn."""
        self._first.appendleft(chunk)

    def first(self) -> Chunk | None:
        """The chunk whose turn it is, or None; those before it that nobody waits for any more are dropped."""
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
        """Take the chunk that `first` has shown."""
        if self._first:
            return self._first.popleft()
        client = self._next_client()
        assert client is not None, "nothing waits"
        return self._take(client, cost=True)

    def pop_cheap(self, below_s: float, *, unknown: bool) -> Chunk | None:
        """Take the first cheap chunk that is next in its client's queue, out of turn; None without one.

        Args:
            unknown: one of which nobody knows what it costs will do.
        """
        if self._first:
            return None
        for client in list(self._clients.values()):
            chunk = client.chunks[0][2]
            cost_s = len(chunk.samples) * chunk.job.expected_s  # as it is known by now
            cheap = cost_s <= below_s if chunk.job.seen else unknown
            if cheap and not chunk.cancelled():
                return self._take(client, cost=True)
        return None

    def prune(self) -> None:
        """Drop what nobody waits for any more."""
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
