"""Limits of the work that the server takes on at once, and of the body of one request. Beyond it the answer
is "try again in n seconds", at once.

Counts bytes (of request bodies in memory), samples (being scored or waiting for a worker) and, since the
two say little about time, when a request would be done: it is refused only if that is too late for its
client. The order in which the workers take things is `rewardkit.scoring.turns`.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from starlette.exceptions import HTTPException
from starlette.types import Message

from rewardkit.errors import OverloadedError
from rewardkit.server.request import CurrentRequest

RESERVE_SHARE = 0.1
"""The share of its deadline that a request must be expected to have left when it is done. It is kept in
reserve, since the expectation may be wrong."""

RESERVE_S = 6.0
"""The reserve is at least so many seconds, but at most `MOST_RESERVE_SHARE` of the deadline."""

MOST_RESERVE_SHARE = 0.6
"""The largest share of a deadline that is kept because of `RESERVE_S`."""

BODY_TIMEOUT_S = 60.0
"""Seconds that each piece of a body may take to arrive."""

_MAX_DIGITS = 20
"""Digits of a length: it is far too large with as many, and int() takes long over many more."""

_LEARNING_RATE = 0.1
"""Weight of the newest batch in the mean of seconds per sample."""


@dataclass(slots=True)
class _Backlog:
    """Requests of one client that are alike."""

    requests: int = 0
    samples: int = 0


_Key = tuple[str, int]
"""A label, and the binary logarithm of the number of samples."""


class Admission:
    """Work that is in the server now, and its limits.

    Args:
        max_samples: scored or waiting at once; a single batch may be larger when nothing else is there.
        max_bytes: of request bodies held at once.
        workers: scoring processes.
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
        """Worker time of one sample, by the reward's label."""
        self._clients: dict[Hashable, dict[_Key, _Backlog]] = {}

    @property
    def wait_s(self) -> float:
        """Return the seconds that the workers are expected to need for the samples in the server."""
        busy_s = sum(
            backlog.samples * self._mean_s.get(label, 0.0)
            for backlogs in self._clients.values()
            for (label, _), backlog in backlogs.items()
        )
        return busy_s / self.workers

    def take_bytes(self, n: int) -> None:
        """Reserve bytes for a request body; the caller releases them with `give_back_bytes`.

        Raises:
            OverloadedError: there is no room; nothing was counted.
        """
        if self.bytes and self.bytes + n > self.max_bytes:
            raise self._full(f"{self.bytes >> 20} MiB of requests are being processed", 1.0)
        self.bytes += n

    def give_back_bytes(self, n: int) -> None:
        """Release bytes that `take_bytes` has reserved."""
        self.bytes -= n

    @contextmanager
    def room_for(
        self, counts: Mapping[str, int], timeout_s: float, client: Hashable = None
    ) -> Iterator[None]:
        """Reserve places for samples, counted by label, in the block; `""`: those that no worker scores.

        Args:
            timeout_s: when the client gives up.
            client: whose they are; clients share the workers' time.

        Raises:
            OverloadedError: there is no room, or they could not be expected to be scored in time.
        """
        n = sum(counts.values())
        if self.samples and self.samples + n > self.max_samples:
            raise self._full(f"{self.samples} samples are being scored", max(1.0, self.wait_s / 2))
        done_s = self._done_in_s(counts, client)
        if done_s > latest_s(timeout_s) and self._clients:  # one that is alone may take as long as it takes
            why = f"scoring would take {done_s:.1f} s, and the time limit is {timeout_s:.0f} s"
            raise self._full(why, done_s / 4)
        self.samples += n
        self._count(counts, client, 1)
        try:
            yield
        finally:
            self.samples -= n
            self._count(counts, client, -1)

    def learn(self, label: str, seconds: float) -> None:
        """Record the seconds that one sample kept a worker busy."""
        before = self._mean_s.get(label, seconds)
        self._mean_s[label] = before + _LEARNING_RATE * (seconds - before)

    def _done_in_s(self, counts: Mapping[str, int], client: Hashable) -> float:
        """Return the time at which a newcomer would be done: before it, every request of its client has had
        as much time as it needs itself, and every other client as much as all those together."""
        own_s = sum(self._mean_s.get(label, 0.0) * count for label, count in counts.items())
        if not own_s:
            return 0.0
        with_own_s = own_s + self._before_s(client, own_s)
        others_s = sum(
            min(with_own_s, self._before_s(other, math.inf)) for other in self._clients if other != client
        )
        return (with_own_s + others_s) / self.workers

    def _before_s(self, client: Hashable, at_most_s: float) -> float:
        """Worker time of a client's requests, of each no more than `at_most_s`."""
        total_s = 0.0
        for (label, _), backlog in self._clients.get(client, {}).items():
            seconds = backlog.samples * self._mean_s.get(label, 0.0)
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


def latest_s(timeout_s: float) -> float:
    """Return by when, in seconds from now, a request with this deadline must be expected to be scored."""
    reserve_s = max(RESERVE_SHARE * timeout_s, min(RESERVE_S, MOST_RESERVE_SHARE * timeout_s))
    return timeout_s - reserve_s


class Body:
    """One request's body.

    Args:
        max_bytes: a larger one gets 413, whether it announces its length or not.
        streamed: scored line by line as it comes in: never held as a whole, so its length does not matter.
    """

    def __init__(
        self,
        request: CurrentRequest,
        admission: Admission,
        headers: Mapping[bytes, bytes],
        *,
        max_bytes: int,
        streamed: bool,
    ) -> None:
        self.request = request
        self.admission = admission
        self.max_bytes = max_bytes
        self.streamed = streamed
        length = headers.get(b"content-length", b"")
        self.declared = int(length[:_MAX_DIGITS]) if length.isdigit() and not streamed else 0
        self.encoding = headers.get(b"content-encoding", b"identity")
        self._came = 0
        self._held = 0

    def open(self) -> None:
        """Reserve the bytes that the headers announce.

        Raises:
            HTTPException: it is too large, or compressed.
            OverloadedError: too much is held already.
        """
        if self.declared > self.max_bytes:
            raise HTTPException(413, self.too_large())
        if self.encoding.lower() != b"identity":
            raise HTTPException(
                415, "compressed bodies are not supported: send the body without Content-Encoding"
            )
        self.take(self.declared)

    def take(self, n: int) -> None:
        """Reserve bytes that are held for this request."""
        self.admission.take_bytes(n)
        self._held += n

    def release(self) -> None:
        """Release all bytes reserved for this request."""
        self.admission.give_back_bytes(self._held)

    async def receive(self) -> Message:
        """Pass on what comes in, within the limits.

        Raises:
            HTTPException: the body is too large, or takes too long.
            OverloadedError: too much is held already.
        """
        request = self.request
        message = await (request.receive() if request.body_read else self._in_time())
        if message["type"] == "http.disconnect":
            request.gone = True
        elif not request.body_read:
            self._came += len(message.get("body", b""))
            request.body_read = not message.get("more_body", False)
            if not self.streamed:
                if self._came > self.max_bytes:
                    raise HTTPException(413, self.too_large(), {"connection": "close"})
                if self._came > self._held:
                    self.take(self._came - self._held)
        return message

    def too_large(self) -> str:
        """Return the message about a body that is over the limit."""
        return f"the body is larger than {self.max_bytes >> 20} MiB; send smaller batches"

    async def _in_time(self) -> Message:
        """Return the next message that comes in."""
        try:
            async with asyncio.timeout(BODY_TIMEOUT_S):
                return await self.request.receive()
        except TimeoutError:
            raise HTTPException(408, "the body took too long to arrive") from None
