"""Asynchronous client for one event loop. Concurrent calls with single samples share requests."""

from __future__ import annotations

import asyncio
import http.client
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING

from rewardkit.client.attempts import Attempts
from rewardkit.client.connections import IDLE_S
from rewardkit.client.wire import (
    HttpAnswer,
    RequestBatch,
    batches,
    deadline_header,
    encode,
    join_singles,
    scores_of,
    server_at,
)
from rewardkit.errors import OptionsError
from rewardkit.http_addresses import Address
from rewardkit.http_sessions import end_with_loop
from rewardkit.reward_options import check_timeout
from rewardkit.types import Sample, Score

if TYPE_CHECKING:
    import aiohttp

COALESCED = 64
"""Maximum number of single samples in a request. A slow sample delays all others in the same request."""


class AsyncClient:
    """Asynchronous version of `Client`, for use in a single event loop.

    Args:
        url: Address of the server, such as `http://127.0.0.1:8000`.
        token: Bearer token, as for `Client`.
        timeout_s: Time limit for each request in seconds, counted from when it is sent, as for `Client`.
        connections: Maximum number of concurrent requests. Additional single samples are sent in batches.
    """

    def __init__(
        self, url: str, *, token: str | None = None, timeout_s: float = 60.0, connections: int = 64
    ) -> None:
        if connections < 1:
            raise OptionsError(f"connections must be positive, found {connections}")
        self.url, self._headers = server_at(url, token)
        self.timeout_s = check_timeout(timeout_s)
        self._slots = asyncio.Semaphore(connections)
        self._session: aiohttp.ClientSession | None = None
        self._connections = connections
        self._waiting: dict[str, deque[_Single]] = {}
        """Waiting samples by data source, so that fast rewards do not wait for slow rewards."""
        self._senders: set[asyncio.Task[None]] = set()

    async def ascore(self, sample: Sample) -> Score:
        """Score one sample. Cancellation stops the server's work on the sample.

        The method raises the same exceptions as `Client.score`.
        """
        single = _Single(encode(sample), asyncio.get_running_loop().create_future())
        self._waiting.setdefault(sample.data_source, deque()).append(single)
        if len(self._senders) < self._connections:
            sender = asyncio.create_task(self._send_singles())
            self._senders.add(sender)
            sender.add_done_callback(self._senders.discard)
        return await single.score

    async def ascore_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Score samples and return their Scores in order. Raises the same exceptions as `Client.score`."""
        tasks = [asyncio.create_task(self._send(batch)) for batch in batches(samples)]
        try:
            found = await asyncio.gather(*tasks)
        except BaseException:
            for task in tasks:
                task.cancel()
            raise
        return [score for scores in found for score in scores]

    async def _send_singles(self) -> None:
        """Send the waiting samples until none are left, taking the data sources in turn."""
        while self._waiting:
            source = next(iter(self._waiting))
            mine = self._waiting.pop(source)
            # Each request has only one sample if there are enough connections.
            share = -(-len(mine) // self._connections)
            singles = [mine.popleft() for _ in range(min(COALESCED, share))]
            if mine:
                self._waiting[source] = mine
            await self._send_together([single for single in singles if not single.score.done()])

    async def _send_together(self, singles: list[_Single]) -> None:
        if not singles:
            return
        batch = join_singles([single.body for single in singles])
        sending = asyncio.create_task(self._send(batch))

        def stop_when_nobody_waits(_: object) -> None:
            if all(single.score.done() for single in singles):
                sending.cancel()

        for single in singles:
            single.score.add_done_callback(stop_when_nobody_waits)
        try:
            await asyncio.wait([sending])
        finally:
            sending.cancel()
        for i, single in enumerate(singles):
            if single.score.done():
                continue
            if sending.cancelled():
                single.score.cancel()
            elif (error := sending.exception()) is not None:
                single.score.set_exception(error)
            else:
                single.score.set_result(sending.result()[i])

    async def _send(self, batch: RequestBatch) -> list[Score]:
        async with self._slots:
            return scores_of(await self._request(batch), batch.size)

    async def _request(self, batch: RequestBatch) -> HttpAnswer:
        import aiohttp

        attempts = Attempts(self.url, self.timeout_s)
        while True:
            try:
                left = attempts.left_s()
                async with asyncio.timeout(left):
                    answer = await self._exchange(batch, deadline_header(left))
            except TimeoutError:
                raise attempts.too_late() from None
            except (aiohttp.ClientError, OSError) as error:
                pause_s = attempts.pause_after_failure(error)
            else:
                if answer.status != http.client.SERVICE_UNAVAILABLE:
                    return answer
                pause_s = attempts.pause_when_overloaded(answer)
            await asyncio.sleep(pause_s)

    async def _exchange(self, batch: RequestBatch, headers: dict[str, str]) -> HttpAnswer:
        import aiohttp

        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=self._connections, keepalive_timeout=IDLE_S),
                timeout=aiohttp.ClientTimeout(total=None),
                headers=self._headers,
            )
            end_with_loop(self._session)
        url = Address(self.url.request_url(batch.path))
        async with self._session.post(url.given, data=batch.body, headers=headers) as response:
            retry_after = response.headers.get("retry-after", "")
            body = await response.read()
            return HttpAnswer(url, response.status, retry_after, body, self._headers.get("authorization", ""))

    async def aclose(self) -> None:
        """Close the connections and cancel waiting calls. Connections also close with the event loop."""
        for sender in list(self._senders):
            sender.cancel()
        for singles in self._waiting.values():
            for single in singles:
                single.score.cancel()
        self._waiting.clear()
        if self._session is not None:
            await self._session.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


@dataclass(frozen=True, slots=True)
class _Single:
    body: bytes
    score: asyncio.Future[Score]
