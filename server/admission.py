"""Admission control for all routes, with a fair share for each client.

If a limit is exceeded, the server immediately responds with "try again in n seconds". The limits cover the
bytes of request bodies in memory, and the samples that are being scored or waiting for a worker. A client
that is within its share of a limit is admitted even if another client has used up the limit. Addresses get
equal shares, and the clients at an address divide its share equally. A client therefore gains nothing by
using many names. Admission also estimates when a request would be done, and refuses the request if the client
would have given up by then. The order in which workers process requests is in `rewardkit.scoring.turns`.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from starlette.exceptions import HTTPException
from starlette.types import Message, Scope

from rewardkit.errors import OverloadedError
from rewardkit.scoring.jobs import UNKNOWN_S, Client, address_of
from rewardkit.server.request import CurrentRequest

RESERVE_SHARE = 0.1
"""Share of a request's time limit that must be left when the request is expected to be done.

The reserve allows for errors in the estimate.
"""

RESERVE_S = 6.0
"""Minimum time in seconds to leave before a request's time limit, but at most `MOST_RESERVE_SHARE` of the
limit."""

MOST_RESERVE_SHARE = 0.6
"""Maximum share of a request's time limit that `RESERVE_S` may reserve."""

BODY_TIMEOUT_S = 60.0
"""Time limit in seconds for each piece of a body to arrive."""

LEAST_RATE = 16 << 10
"""Minimum number of bytes per second at which a body must arrive, after `BODY_GRACE_S`."""

BODY_GRACE_S = 30.0
"""Seconds after the headers for which a body may arrive at any rate."""

WHOLE_BODY = "rewardkit.whole_body"
"""ASGI extension in the scope of a request whose body has arrived completely. Such a body needs no timer."""

_MAX_DIGITS = 20
"""Number of digits of a content length that are parsed. Longer numbers are far too large anyway, and int()
is slow for very long numbers."""

AT_ONCE = 8
"""Number of turns in the event loop that an address with few requests gets before other addresses get theirs.

An address with many requests gets one.
"""

_TURN_BYTES = 2_048
"""Number of bytes in a request body that cost one turn in the event loop."""

_MOST_TURNS = 4
"""Maximum number of turns that a request costs."""

_SEVERAL_S = 1.0
"""Number of seconds for which addresses take turns after requests from different addresses have arrived."""

_LEARNING_RATE = 0.1
"""Weight of the newest batch in the moving average of seconds per sample."""


@dataclass(slots=True)
class _Backlog:
    """Requests from one client with the same key."""

    requests: int = 0
    samples: int = 0


_Key = tuple[str, int]
"""A label, and the bit length of the number of samples."""


class Admission:
    """Admission control, which tracks the server's current work and refuses requests beyond its limits.

    Args:
        max_samples: Maximum number of samples being scored or waiting. A batch may be larger if the server is
            otherwise idle.
        max_bytes: Maximum size of all request bodies in memory.
        workers: Number of scoring processes.
    """

    def __init__(
        self,
        *,
        max_samples: int = 50_000,
        max_bytes: int = 1 << 30,
        workers: int = 1,
    ) -> None:
        self.max_samples = max_samples
        self.max_bytes = max_bytes
        self.workers = workers
        self.samples = 0
        self.bytes = 0
        self.refused = 0
        self._mean_s: dict[str, float] = {}
        """Mean worker time per sample in seconds, by label of the data source."""
        self._clients: dict[Hashable, dict[_Key, _Backlog]] = {}
        self._samples: Counter[Hashable] = Counter()
        self._bytes: Counter[Hashable] = Counter()
        """Samples and bytes of each client."""

    @property
    def wait_s(self) -> float:
        """Expected seconds until the workers have scored all samples in the server."""
        return sum(self._before_s(client, math.inf) for client in self._clients) / self.workers

    def take_bytes(self, n: int, client: Hashable = None) -> None:
        """Reserve bytes for a request body. The caller must release them with `give_back_bytes`.

        Raises:
            OverloadedError: There is not enough room. No bytes were reserved.
        """
        self.require_room(n, client)
        self.bytes += n
        self._bytes[client] += n

    def require_room(self, n: int, client: Hashable = None) -> None:
        """Check that there is room for the bytes of a request body.

        Raises:
            OverloadedError: There is not enough room.
        """
        if self.bytes and self._exceeds(n, self.bytes, self.max_bytes, self._bytes, client):
            raise self._full(f"{self.bytes >> 20} MiB of requests are being processed", 1.0)

    def give_back_bytes(self, n: int, client: Hashable = None) -> None:
        """Release bytes that `take_bytes` reserved."""
        self.bytes -= n
        _subtract(self._bytes, client, n)

    @contextmanager
    def room_for(
        self, counts: Mapping[str, int], timeout_s: float, client: Hashable = None
    ) -> Iterator[None]:
        """Reserve room for samples for the duration of the block.

        Args:
            counts: Number of samples by label. The label `""` is for samples that need no worker.
            timeout_s: Seconds until the client gives up.
            client: Client that sent the samples. Clients share the workers' time equally.

        Raises:
            OverloadedError: There is no room, or the samples are not expected to be scored in time.
        """
        n = sum(counts.values())
        if self.samples and self._exceeds(n, self.samples, self.max_samples, self._samples, client):
            raise self._full(f"{self.samples} samples are being scored", max(1.0, self.wait_s / 2))
        done_s = self._done_in_s(counts, client)
        # The check does not apply if the server is otherwise idle.
        if done_s > latest_s(timeout_s) and self._clients:
            why = f"scoring would take {done_s:.1f} s, and the time limit is {timeout_s:.0f} s"
            raise self._full(why, done_s / 4)
        self.samples += n
        self._samples[client] += n
        self._count(counts, client, 1)
        try:
            yield
        finally:
            self.samples -= n
            _subtract(self._samples, client, n)
            self._count(counts, client, -1)

    def learn(self, label: str, seconds: float) -> None:
        """Update the mean worker time of a label with a new measurement in seconds per sample."""
        before = self._mean_s.get(label, seconds)
        self._mean_s[label] = before + _LEARNING_RATE * (seconds - before)

    def _exceeds(self, n: int, held: int, limit: int, by_client: Counter[Hashable], client: Hashable) -> bool:
        """Return True if `n` more samples or bytes would exceed the total limit as well as the fair share.

        If a client is within its share but other clients at its address use too much, the client is still
        admitted until the address uses twice its share.
        """
        if held + n <= limit:
            return False
        address = address_of(client)
        by_address: Counter[Hashable] = Counter({address: n})
        names = {client}
        for other, used in by_client.items():
            by_address[address_of(other)] += used
            if address_of(other) == address:
                names.add(other)
        share = limit // len(by_address)
        used = by_address[address]
        within = len(names) > 1 and used <= 2 * share and by_client[client] + n <= share // len(names)
        return used > share and not within

    def _done_in_s(self, counts: Mapping[str, int], client: Hashable) -> float:
        """Return the estimated number of seconds until a new request would be done.

        When a request is done, every earlier request from the same client has received at most as much worker
        time as the new request, every other client at the address at most as much as this client in total,
        and every other address at most as much as this address. A request is never refused because of samples
        with an unknown cost, because the server could then never measure the cost.
        """
        own_s = sum(self._mean_s.get(label, 0.0) * count for label, count in counts.items())
        if not own_s:
            return 0.0
        with_own_s = own_s + self._before_s(client, own_s)
        address = address_of(client)
        before_s: dict[Hashable, float] = {address: with_own_s}
        for other in self._clients:
            at = address_of(other)
            if other != client:
                seconds = self._before_s(other, math.inf)
                before_s[at] = before_s.get(at, 0.0) + (
                    min(with_own_s, seconds) if at == address else seconds
                )
        return sum(min(before_s[address], seconds) for seconds in before_s.values()) / self.workers

    def _before_s(self, client: Hashable, at_most_s: float) -> float:
        """Return the total worker time of a client's requests, each limited to `at_most_s`.

        Samples whose cost is unknown count as expensive.
        """
        total_s = 0.0
        for (label, _), backlog in self._clients.get(client, {}).items():
            seconds = backlog.samples * self._mean_s.get(label, UNKNOWN_S)
            total_s += min(seconds, backlog.requests * at_most_s)
        return total_s

    def _count(self, counts: Mapping[str, int], client: Hashable, sign: int) -> None:
        for label, count in counts.items():
            if not label:
                continue
            backlogs = self._clients.setdefault(client, {})
            key = label, count.bit_length()
            backlog = backlogs.setdefault(key, _Backlog())
            backlog.requests += sign
            backlog.samples += sign * count
            if not backlog.requests:
                del backlogs[key]
            if not backlogs:
                del self._clients[client]

    def _full(self, why: str, retry_after_s: float) -> OverloadedError:
        self.refused += 1
        return OverloadedError(f"{why}; try again later", float(math.ceil(retry_after_s)))


class LoopTurns:
    """Scheduler of small requests, which the event loop handles itself. Clients take turns.

    While several addresses send requests, they take turns in rounds. The event loop does its other work, such
    as accepting connections, between two rounds. An address that has lately taken less than half as many
    turns as another gets up to `AT_ONCE` turns in a round, and other addresses get one. The clients at one
    address share the address's turns in rotation. A large request takes several turns, after which its
    address waits for as many rounds. An address that is alone never waits.
    """

    def __init__(self) -> None:
        self._address = ""
        self._several_until = 0.0
        self._taken: Counter[str] = Counter()
        """Number of turns that each address has taken in this round, or owes from earlier rounds."""
        self._lately: Counter[str] = Counter()
        """Number of turns that each address has taken lately. It is halved every `_SEVERAL_S` seconds."""
        self._highest = 0
        """Highest number in `_lately`."""
        self._halve_at = 0.0
        self._waiting: dict[str, dict[Client, deque[tuple[Callable[[], object], int]]]] = {}
        """Waiting requests by address and client, each with a function to call and the number of turns."""
        self._round: asyncio.Handle | None = None

    def is_alone(self, address: str, now: float) -> bool:
        """Return True if no other address has sent requests lately. The address then has a turn.

        Args:
            address: Address that has sent a request.
            now: Time of the request, by any clock.
        """
        if address != self._address:
            self._address, self._several_until = address, now + _SEVERAL_S
        return now > self._several_until and not self._waiting

    async def take(self, client: Client, now: float, size: int = 0) -> None:
        """Wait for a turn, as `ask` describes it."""
        if self.is_alone(client.address, now):
            return
        begins = asyncio.Event()
        if not self.ask(client, now, size, begins.set):
            await begins.wait()

    def ask(self, client: Client, now: float, size: int, begin: Callable[[], object]) -> bool:
        """Return True if a client has a turn now. Otherwise, call `begin` when it has one.

        Args:
            client: Client that sent the request.
            now: Time of the request, by any clock.
            size: Size of the request in bytes.
            begin: Function that handles the request. It must not raise.
        """
        address = client.address
        if self.is_alone(address, now):
            return True
        if self._round is None:
            loop = asyncio.get_running_loop()
            self._round = loop.call_soon(self._next_round, loop)
        if now > self._halve_at:
            self._halve_at = now + _SEVERAL_S
            self._lately = Counter({one: n // 2 for one, n in self._lately.items() if n > 1})
            self._highest = max(self._lately.values(), default=0)
        turns = min(1 + size // _TURN_BYTES, _MOST_TURNS)
        if address not in self._waiting and self._taken[address] < self._most(address):
            self._count(address, turns)
            return True
        self._waiting.setdefault(address, {}).setdefault(client, deque()).append((begin, turns))
        return False

    def _most(self, address: str) -> int:
        """Return the number of turns that an address may take in this round."""
        has_few = len(self._lately) < 2 or 2 * self._lately[address] < self._highest
        return AT_ONCE if has_few else 1

    def _count(self, address: str, turns: int) -> None:
        self._taken[address] += turns
        self._lately[address] += turns
        self._highest = max(self._highest, self._lately[address])

    def _next_round(self, loop: asyncio.AbstractEventLoop) -> None:
        """Give each waiting address its turns.

        The event loop then handles the requests and calls this method again.
        """
        left = {one: n - self._most(one) for one, n in self._taken.items()} if self._waiting else {}
        self._taken = Counter({one: n for one, n in left.items() if n > 0})
        self._round = loop.call_soon(self._next_round, loop) if self._waiting else None
        for address, clients in list(self._waiting.items()):
            most = self._most(address)
            while clients and self._taken[address] < most:
                client, requests = next(iter(clients.items()))
                begin, turns = requests.popleft()
                del clients[client]
                if requests:
                    clients[client] = requests  # The client goes behind the other clients at its address.
                self._count(address, turns)
                begin()
            if not clients:
                del self._waiting[address]


def _subtract(counts: Counter[Hashable], client: Hashable, n: int) -> None:
    counts[client] -= n
    if counts[client] <= 0:
        del counts[client]


def latest_s(timeout_s: float) -> float:
    """Return the maximum estimated seconds until a request with this time limit is done."""
    reserve_s = max(RESERVE_SHARE * timeout_s, min(RESERVE_S, MOST_RESERVE_SHARE * timeout_s))
    return timeout_s - reserve_s if timeout_s < math.inf else math.inf


class Body:
    """Request body with limits on its size and arrival rate. Bytes are counted when they arrive.

    Args:
        request: Request to which the body belongs.
        scope: ASGI scope of the request.
        admission: Admission control in which the bytes of the body are counted.
        headers: Headers of the request.
        max_bytes: Maximum size. Larger bodies get status 413, even without a Content-Length.
        streamed: True if the body is scored line by line while it arrives. The size of a streamed body is not
            limited, because the body is never in memory as a whole.
    """

    def __init__(
        self,
        request: CurrentRequest,
        scope: Scope,
        admission: Admission,
        headers: Mapping[bytes, bytes],
        *,
        max_bytes: int,
        streamed: bool,
    ) -> None:
        self.request = request
        self.scope = scope
        self.admission = admission
        self.max_bytes = max_bytes
        self.streamed = streamed
        length = headers.get(b"content-length", b"")
        self.declared = int(length[:_MAX_DIGITS]) if length.isdigit() and not streamed else 0
        self.encoding = headers.get(b"content-encoding", b"identity")
        self._came = 0
        self._held = 0
        self._began = time.monotonic()

    def open(self) -> None:
        """Check the headers.

        Raises:
            HTTPException: The body is too large, or compressed.
            OverloadedError: There is no room for the body now.
        """
        if self.declared > self.max_bytes:
            raise HTTPException(413, self.too_large())
        if self.encoding.lower() != b"identity":
            raise HTTPException(
                415, "compressed bodies are not supported: send the body without Content-Encoding"
            )
        self.admission.require_room(self.declared, self.request.client)

    def release(self) -> None:
        """Release all bytes reserved for this request."""
        self.admission.give_back_bytes(self._held, self.request.client)

    async def receive(self) -> Message:
        """Return the next message from the client, within the limits.

        Raises:
            HTTPException: The body is too large, or takes too long to arrive.
            OverloadedError: Too many bytes are in memory already.
        """
        request = self.request
        has_arrived = request.body_read or WHOLE_BODY in self.scope.get("extensions", ())
        message = await (request.receive() if has_arrived else self._in_time())
        if message["type"] == "http.disconnect":
            request.gone = True
        elif not request.body_read:
            n = len(message.get("body", b""))
            self._came += n
            request.body_read = not message.get("more_body", False)
            if not self.streamed:
                if self._came > self.max_bytes:
                    raise HTTPException(413, self.too_large(), {"connection": "close"})
                self.admission.take_bytes(n, request.client)
                self._held += n
        return message

    def too_large(self) -> str:
        """Return the error message for a body that is too large."""
        return f"the body is larger than {self.max_bytes >> 20} MiB; send smaller batches"

    async def _in_time(self) -> Message:
        """Return the next message from the client.

        Raises:
            HTTPException: The message takes too long to arrive, or the body arrives too slowly (status 408).
        """
        waits_s = BODY_TIMEOUT_S
        if not self.streamed:
            until = self._began + BODY_GRACE_S + self._came / LEAST_RATE
            waits_s = min(waits_s, until - time.monotonic())
        try:
            async with asyncio.timeout(waits_s):
                return await self.request.receive()
        except TimeoutError:
            raise HTTPException(408, "the body took too long to arrive", {"connection": "close"}) from None
