"""Python client of `rewardkit serve`, sync and async, with the Scorer's own methods and types.

Scoring changes nothing on the server, so a request is sent again when the connection failed or the server
had too much to do, and only then. What the two clients share stands at the end.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import queue
import random
import ssl
import threading
import time
import urllib.parse
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

import msgspec

from rewardkit.errors import (
    DeadlineError,
    OverloadedError,
    RefusedError,
    ServerError,
    UnknownDataSourceError,
)
from rewardkit.groups import group_of
from rewardkit.types import Sample, Score

if TYPE_CHECKING:
    import aiohttp

BATCH_SAMPLES = 1_024
BATCH_BYTES = 16 << 20
"""A request holds no more samples, and no more bytes unless one sample does."""

COALESCED = 64
"""Single samples that share a request at most: one that is slow holds up the others in it."""

_RETRIES = 4
"""Times a request is sent again after its connection failed."""

_FIRST_PAUSE_S = 0.05
_THREADS = 4
_IDLE_S = 30.0
"""A connection that was idle for longer is not used again: the server may be about to close it."""

_encoder = msgspec.json.Encoder()
_scores = msgspec.json.Decoder(list[Score])


class Client:
    """A reward server, used like a Scorer. Keeps its connections; safe to use from several threads.

    Args:
        url: for example `http://127.0.0.1:8000`.
        token: sent as a bearer token.
        timeout_s: deadline of a request of up to 1,024 samples, with everything that is sent again. The
            server is told, and stops scoring in time.

    Example:
        >>> with Client("http://127.0.0.1:8000") as client:  # doctest: +SKIP
        ...     client.score(Sample("gsm8k", "#### 72", "72")).score
        1.0
    """

    def __init__(self, url: str, *, token: str | None = None, timeout_s: float = 60.0) -> None:
        self.url = url.rstrip("/")
        self.timeout_s = timeout_s
        self._headers = _headers(token)
        self._connections = _Connections(self.url)
        self._threads: ThreadPoolExecutor | None = None
        self._making = threading.Lock()

    def score(self, sample: Sample) -> Score:
        """Score one sample.

        Raises:
            OverloadedError: the server had too much to do until the deadline.
            DeadlineError: it had not answered by the deadline.
            RefusedError: it does not take the request: a wrong token, say.
            ServerError: it cannot be reached, or failed.
        """
        return self.score_batch([sample])[0]

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Score samples; the result has one Score for each, in order. Raises like `score`."""
        batches = list(_batches(samples))
        if len(batches) < 2:
            return [score for batch in batches for score in self._send(batch)]
        with self._making:
            if self._threads is None:
                self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="rewardkit-client")
        return [score for scores in self._threads.map(self._send, batches) for score in scores]

    def rewards(self) -> list[dict[str, Any]]:
        """Return what the server can score. Raises like `score`."""
        found: list[dict[str, Any]] = _json(self._request("GET", "/rewards"))
        return found

    def check(self, data_sources: Iterable[str]) -> frozenset[str]:
        """Make sure that the server has a reward for every one of these data sources.

        Returns:
            those whose reward has to see all responses to a prompt in one call of `score_batch`.

        Raises:
            UnknownDataSourceError: it has none for one of them.
            ServerError: the server cannot be reached.
        """
        query = urllib.parse.urlencode([("for", source) for source in sorted(set(data_sources))])
        answer = self._request("GET", f"/rewards?{query}")
        kind, message = _error(answer)
        if kind == "unknown_data_source":
            raise UnknownDataSourceError(f"{message} (on {self.url})")
        rewards = [reward for reward in _json(answer) if reward.get("batch") == "group"]
        return frozenset(source for reward in rewards for source in reward.get("for", ()))

    def _send(self, batch: _Batch) -> list[Score]:
        return _decode(self._request("POST", "/score", batch.body), batch.size)

    def _request(self, method: str, path: str, body: bytes | None = None) -> _HttpAnswer:
        attempts = _Attempts(self.url, self.timeout_s)
        while True:
            try:
                left = attempts.left_s()
                headers = {**self._headers, **_deadline(left)}
                answer = self._connections.exchange(method, path, body, headers, left)
            except TimeoutError:
                raise attempts.too_late() from None
            except (OSError, http.client.HTTPException) as error:
                pause_s = attempts.pause_after_failure(error)
            else:
                if answer.status != http.client.SERVICE_UNAVAILABLE:
                    return answer
                pause_s = attempts.pause_when_overloaded(answer)
            time.sleep(pause_s)

    def close(self) -> None:
        """Close the connections."""
        if self._threads is not None:
            self._threads.shutdown()
        self._connections.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncClient:
    """Like `Client`, for one event loop, with any number of calls at once.

    Args:
        url: for example `http://127.0.0.1:8000`.
        token: sent as a bearer token.
        timeout_s: as for `Client`; it counts from when the request is sent, not from the call.
        connections: requests under way at once. Single samples beyond that share requests.
    """

    def __init__(
        self, url: str, *, token: str | None = None, timeout_s: float = 60.0, connections: int = 64
    ) -> None:
        self.url = url.rstrip("/")
        self.timeout_s = timeout_s
        self._headers = _headers(token)
        self._slots = asyncio.Semaphore(connections)
        self._session: aiohttp.ClientSession | None = None
        self._connections = connections
        self._waiting: dict[str, deque[_Single]] = {}
        """By data source, so that quick ones do not wait for slow ones."""
        self._senders: set[asyncio.Task[None]] = set()

    async def ascore(self, sample: Sample) -> Score:
        """Score one sample; raises like `Client.score`. Cancelling it stops the server's work on it."""
        single = _Single(_encode(sample), asyncio.get_running_loop().create_future())
        self._waiting.setdefault(sample.data_source, deque()).append(single)
        if len(self._senders) < self._connections:
            sender = asyncio.create_task(self._send_singles())
            self._senders.add(sender)
            sender.add_done_callback(self._senders.discard)
        return await single.score

    async def ascore_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Score samples, in order; raises like `Client.score_batch`."""
        tasks = [asyncio.create_task(self._send(batch)) for batch in _batches(samples)]
        try:
            found = await asyncio.gather(*tasks)
        except BaseException:
            for task in tasks:
                task.cancel()
            raise
        return [score for scores in found for score in scores]

    async def _send_singles(self) -> None:
        """Send what waits, the data sources in turn, until nothing does."""
        while self._waiting:
            source = next(iter(self._waiting))
            mine = self._waiting.pop(source)
            # One each while there are connections to spare.
            share = -(-len(mine) // self._connections)
            singles = [mine.popleft() for _ in range(min(COALESCED, share))]
            if mine:
                self._waiting[source] = mine
            await self._send_together([single for single in singles if not single.score.done()])

    async def _send_together(self, singles: list[_Single]) -> None:
        if not singles:
            return
        batch = _batch([single.body for single in singles])
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

    async def _send(self, batch: _Batch) -> list[Score]:
        async with self._slots:
            return _decode(await self._request(batch.body), batch.size)

    async def _request(self, body: bytes) -> _HttpAnswer:
        import aiohttp

        attempts = _Attempts(self.url, self.timeout_s)
        while True:
            try:
                left = attempts.left_s()
                async with asyncio.timeout(left):
                    answer = await self._exchange(body, _deadline(left))
            except TimeoutError:
                raise attempts.too_late() from None
            except (aiohttp.ClientError, OSError) as error:
                pause_s = attempts.pause_after_failure(error)
            else:
                if answer.status != http.client.SERVICE_UNAVAILABLE:
                    return answer
                pause_s = attempts.pause_when_overloaded(answer)
            await asyncio.sleep(pause_s)

    async def _exchange(self, body: bytes, headers: dict[str, str]) -> _HttpAnswer:
        import aiohttp

        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=self._connections, keepalive_timeout=_IDLE_S),
                timeout=aiohttp.ClientTimeout(total=None),
                headers=self._headers,
            )
        async with self._session.post(f"{self.url}/score", data=body, headers=headers) as response:
            retry_after = response.headers.get("retry-after", "")
            return _HttpAnswer(str(response.url), response.status, retry_after, await response.read())

    async def aclose(self) -> None:
        """Close the connections; calls still waiting are cancelled."""
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


# --- what both share ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Batch:
    body: bytes
    size: int


@dataclass(frozen=True, slots=True)
class _Single:
    body: bytes
    score: asyncio.Future[Score]


@dataclass(frozen=True, slots=True)
class _HttpAnswer:
    url: str
    status: int
    retry_after: str
    body: bytes


class _Attempts:
    """When to send a request again, and when to give up."""

    def __init__(self, url: str, timeout_s: float) -> None:
        self.url = url
        self.timeout_s = timeout_s
        self.ends = time.monotonic() + timeout_s
        self.failures = 0

    def left_s(self) -> float:
        left = self.ends - time.monotonic()
        if left <= 0:
            raise self.too_late()
        return left

    def too_late(self) -> DeadlineError:
        return DeadlineError(f"{self.url} did not answer within {self.timeout_s:g} s; set a longer timeout_s")

    def pause_after_failure(self, error: Exception) -> float:
        """Seconds to wait. Raises ServerError when it was tried often enough."""
        self.failures += 1
        pause_s = _FIRST_PAUSE_S * 2.0**self.failures * random.uniform(0.5, 1.5)
        if self.failures > _RETRIES or time.monotonic() + pause_s > self.ends:
            reason = str(error) or type(error).__name__
            raise ServerError(
                f"cannot reach the reward server at {self.url}: {reason}; is `rewardkit serve` running?"
            ) from error
        return pause_s

    def pause_when_overloaded(self, answer: _HttpAnswer) -> float:
        """Seconds to wait. Raises OverloadedError when that would be too late."""
        try:
            retry_after_s = float(answer.retry_after)
        except ValueError:  # none, or a date
            retry_after_s = 1.0
        pause_s = retry_after_s * random.uniform(1.0, 1.5)  # not all at once
        if time.monotonic() + pause_s > self.ends:
            raise OverloadedError(f"{answer.url} answered 503: {_error(answer)[1]}", retry_after_s)
        return pause_s


class _Connections:
    """Kept connections of `http.client`, each used by one thread at a time."""

    def __init__(self, url: str) -> None:
        self.url = url
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ServerError(f"{url} is no address of a server; write it as http://HOST:PORT")
        self.prefix = parts.path
        self._idle: queue.LifoQueue[tuple[float, http.client.HTTPConnection]] = queue.LifoQueue()
        self._make = _maker(parts)

    def exchange(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str], timeout_s: float
    ) -> _HttpAnswer:
        connection = self._take()
        try:
            connection.timeout = timeout_s
            if connection.sock is not None:
                connection.sock.settimeout(timeout_s)
            connection.request(method, self.prefix + path, body, headers)
            response = connection.getresponse()
            retry_after = response.getheader("retry-after", "")
            answer = _HttpAnswer(f"{self.url}{path}", response.status, retry_after, response.read())
        except BaseException:
            connection.close()
            raise
        self._idle.put((time.monotonic(), connection))
        return answer

    def _take(self) -> http.client.HTTPConnection:
        with contextlib.suppress(queue.Empty):
            while True:
                used, connection = self._idle.get_nowait()
                if time.monotonic() - used < _IDLE_S:
                    return connection
                connection.close()
        return self._make()

    def close(self) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                self._idle.get_nowait()[1].close()


def _maker(parts: urllib.parse.SplitResult) -> Callable[[], http.client.HTTPConnection]:
    host = parts.hostname or ""
    if parts.scheme == "https":
        context = ssl.create_default_context()
        return lambda: http.client.HTTPSConnection(host, parts.port, context=context)
    return lambda: http.client.HTTPConnection(host, parts.port)


def _headers(token: str | None) -> dict[str, str]:
    headers = {"content-type": "application/json"}
    return headers | {"authorization": f"Bearer {token}"} if token else headers


def _deadline(left_s: float) -> dict[str, str]:
    """Have the server end a little earlier, so that what it has scored by then still arrives."""
    return {"x-timeout-s": f"{max(0.9 * left_s, left_s - 1.0):.3f}"}


def _batches(samples: Sequence[Sample]) -> Iterator[_Batch]:
    """Encode samples into request bodies that are not too large; neighbours of one group stay together."""
    parts: list[bytes] = []
    size = 0
    for i, sample in enumerate(samples):
        part = _encode(sample)
        full = len(parts) >= BATCH_SAMPLES and (
            len(parts) >= 2 * BATCH_SAMPLES or group_of(sample) != group_of(samples[i - 1])
        )
        if parts and (full or size + len(part) > BATCH_BYTES):
            yield _batch(parts)
            parts = []
            size = 0
        parts.append(part)
        size += len(part) + 1
    if parts:
        yield _batch(parts)


def _batch(parts: Sequence[bytes]) -> _Batch:
    return _Batch(b"[" + b",".join(parts) + b"]", len(parts))


def _encode(sample: Sample) -> bytes:
    try:
        return _encoder.encode(sample)
    except UnicodeEncodeError:  # lone surrogates; the server knows what to do with their escapes
        return json.dumps(msgspec.to_builtins(sample)).encode()


def _decode(answer: _HttpAnswer, expected: int) -> list[Score]:
    _refuse(answer)
    try:
        scores = _scores.decode(answer.body)
    except msgspec.DecodeError as error:
        raise ServerError(f"{answer.url} did not answer with scores: {error}") from None
    if len(scores) != expected:
        raise ServerError(f"{answer.url} answered with {len(scores)} scores for {expected} samples")
    return scores


def _json(answer: _HttpAnswer) -> Any:
    _refuse(answer)
    return json.loads(answer.body)


def _refuse(answer: _HttpAnswer) -> None:
    """Raise what a status other than 200 stands for."""
    if answer.status != http.client.OK:
        kind = RefusedError if 400 <= answer.status < 500 else ServerError
        raise kind(f"{answer.url} answered {answer.status}: {_error(answer)[1]}")


def _error(answer: _HttpAnswer) -> tuple[str, str]:
    """The type and the message of an error, as far as the answer says."""
    try:
        error = json.loads(answer.body)["error"]
        return str(error["type"]), str(error["message"])
    except (ValueError, KeyError, TypeError):
        return "", answer.body[:200].decode("utf-8", "replace")
