"""Limits on the total work in the server, and on the body of a request.

If a limit is exceeded, the server immediately responds with "try again in n seconds". It limits the bytes of
request bodies in memory, and the samples that are being scored or waiting for a worker. Because these numbers
say little about time, it also estimates when a request would be done, and refuses the request if that would
be too late for the client. The order in which workers process requests is in `rewardkit.scoring.turns`.
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
"""Share of a request's time limit that must be left when the request is expected to be done. This reserve is
needed because the estimate may be wrong."""

RESERVE_S = 6.0
"""Minimum reserve in seconds, limited to `MOST_RESERVE_SHARE` of the time limit."""

MOST_RESERVE_SHARE = 0.6
"""Maximum share of a time limit that is reserved because of `RESERVE_S`."""

BODY_TIMEOUT_S = 60.0
"""Time limit in seconds for each piece of a body to arrive."""

_MAX_DIGITS = 20
"""Number of digits of a content length that are parsed. Longer numbers are far too large anyway, and int()
is slow for very long numbers."""

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

    @property
    def wait_s(self) -> float:
        """Expected seconds until the workers have scored all samples in the server."""
        busy_s = sum(
            backlog.samples * self._mean_s.get(label, 0.0)
            for backlogs in self._clients.values()
            for (label, _), backlog in backlogs.items()
        )
        return busy_s / self.workers

    def take_bytes(self, n: int) -> None:
        """Reserve bytes for a request body. The caller must release them with `give_back_bytes`.

        Raises:
            OverloadedError: There is not enough room. No bytes were reserved.
        """
        if self.bytes and self.bytes + n > self.max_bytes:
            raise self._full(f"{self.bytes >> 20} MiB of requests are being processed", 1.0)
        self.bytes += n

    def give_back_bytes(self, n: int) -> None:
        """Release bytes that `take_bytes` reserved."""
        self.bytes -= n

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
        if self.samples and self.samples + n > self.max_samples:
            raise self._full(f"{self.samples} samples are being scored", max(1.0, self.wait_s / 2))
        done_s = self._done_in_s(counts, client)
        if done_s > latest_s(timeout_s) and self._clients:  # not applied to a lone request
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
        """Update the mean worker time of a label with a new measurement in seconds per sample."""
        before = self._mean_s.get(label, seconds)
        self._mean_s[label] = before + _LEARNING_RATE * (seconds - before)

    def _done_in_s(self, counts: Mapping[str, int], client: Hashable) -> float:
        """Return the estimated number of seconds until a new request would be done.

        By that time, every earlier request from the same client has received at most as much worker time as
        the new request, and every other client has received at most as much as this client in total.
        """
        own_s = sum(self._mean_s.get(label, 0.0) * count for label, count in counts.items())
        if not own_s:
            return 0.0
        with_own_s = own_s + self._before_s(client, own_s)
        others_s = sum(
            min(with_own_s, self._before_s(other, math.inf)) for other in self._clients if other != client
        )
        return (with_own_s + others_s) / self.workers

    def _before_s(self, client: Hashable, at_most_s: float) -> float:
        """Return the total worker time of a client's requests, each limited to `at_most_s`."""
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
    """Return the maximum estimated seconds until a request with this time limit is done."""
    reserve_s = max(RESERVE_SHARE * timeout_s, min(RESERVE_S, MOST_RESERVE_SHARE * timeout_s))
    return timeout_s - reserve_s


class Body:
    """Body of a request, with limits on its size and speed.

    Args:
        request: Request to which the body belongs.
        admission: Admission control in which the bytes of the body are counted.
        headers: Headers of the request.
        max_bytes: Maximum size. Larger bodies get status 413, even without a Content-Length.
        streamed: True if the body is scored line by line while it arrives. The size of such a body is not
            limited, since it is never in memory as a whole.
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
        """Check the headers, and reserve the number of bytes in Content-Length.

        Raises:
            HTTPException: The body is too large, or compressed.
            OverloadedError: Too many bytes are in memory already.
        """
        if self.declared > self.max_bytes:
            raise HTTPException(413, self.too_large())
        if self.encoding.lower() != b"identity":
            raise HTTPException(
                415, "compressed bodies are not supported: send the body without Content-Encoding"
            )
        self.take(self.declared)

    def take(self, n: int) -> None:
        """Reserve bytes for this request."""
        self.admission.take_bytes(n)
        self._held += n

    def release(self) -> None:
        """Release all bytes reserved for this request."""
        self.admission.give_back_bytes(self._held)

    async def receive(self) -> Message:
        """Return the next message from the client, within the limits.

        Raises:
            HTTPException: The body is too large, or takes too long to arrive.
            OverloadedError: Too many bytes are in memory already.
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
        """Return the error message for a body that is too large."""
        return f"the body is larger than {self.max_bytes >> 20} MiB; send smaller batches"

    async def _in_time(self) -> Message:
        """Return the next message from the client, or raise HTTPException 408 after `BODY_TIMEOUT_S`."""
        try:
            async with asyncio.timeout(BODY_TIMEOUT_S):
                return await self.request.receive()
        except TimeoutError:
            raise HTTPException(408, "the body took too long to arrive") from None
