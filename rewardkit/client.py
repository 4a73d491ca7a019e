"""Python client of `rewardkit serve`, sync and async, with the Scorer's own methods and types."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from types import TracebackType
from typing import Any

import httpx
import msgspec

from rewardkit.errors import ServerError, UnknownDataSourceError
from rewardkit.types import Sample, Score

_encoder = msgspec.json.Encoder()
_scores = msgspec.json.Decoder(list[Score])


class Client:
    """A reward server, used like a Scorer. Keeps its connections; safe to use from several threads.

    Args:
        url: for example `http://127.0.0.1:8000`.
        token: sent as a bearer token.
        timeout_s: for one request, connecting included.

    Example:
        >>> with Client("http://127.0.0.1:8000") as client:  # doctest: +SKIP
        ...     client.score(Sample("gsm8k", "#### 72", "72")).score
        1.0
    """

    def __init__(self, url: str, *, token: str | None = None, timeout_s: float = 60.0) -> None:
        self.url = url.rstrip("/")
        self._http = httpx.Client(base_url=self.url, headers=_headers(token), timeout=timeout_s)

    def score(self, sample: Sample) -> Score:
        """Score one sample.

        Raises:
            ServerError: the server cannot be reached, refused the request or failed.
        """
        return self.score_batch([sample])[0]

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Score samples; the result has one Score for each, in order.

        Raises:
            ServerError: the server cannot be reached, refused the request or failed.
        """
        content = _encode(samples)
        try:
            response = self._http.post("/score", content=content)
        except httpx.HTTPError as error:
            raise _unreachable(self.url, error) from error
        return _decode(response, len(samples))

    def rewards(self) -> list[dict[str, Any]]:
        """Return what the server can judge."""
        try:
            response = self._http.get("/rewards")
        except httpx.HTTPError as error:
            raise _unreachable(self.url, error) from error
        found: list[dict[str, Any]] = _json(response)
        return found

    def check(self, data_sources: Iterable[str]) -> None:
        """Make sure that the server has a reward for every one of these data sources.

        Raises:
            UnknownDataSourceError: it has none for one of them.
            ServerError: the server cannot be reached.
        """
        wanted = sorted(set(data_sources))
        try:
            response = self._http.get("/rewards", params={"for": wanted})
        except httpx.HTTPError as error:
            raise _unreachable(self.url, error) from error
        if response.status_code == httpx.codes.NOT_FOUND:
            raise UnknownDataSourceError(f"{_message(response)} (on {self.url})")
        _json(response)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncClient:
    """Like `Client`, for an event loop."""

    def __init__(self, url: str, *, token: str | None = None, timeout_s: float = 60.0) -> None:
        self.url = url.rstrip("/")
        self._http = httpx.AsyncClient(base_url=self.url, headers=_headers(token), timeout=timeout_s)

    async def ascore(self, sample: Sample) -> Score:
        """Score one sample; raises like `Client.score`."""
        return (await self.ascore_batch([sample]))[0]

    async def ascore_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Score samples, in order; raises like `Client.score_batch`."""
        content = _encode(samples)
        try:
            response = await self._http.post("/score", content=content)
        except httpx.HTTPError as error:
            raise _unreachable(self.url, error) from error
        return _decode(response, len(samples))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def _headers(token: str | None) -> dict[str, str]:
    headers = {"content-type": "application/json"}
    return headers | {"authorization": f"Bearer {token}"} if token else headers


def _encode(samples: Sequence[Sample]) -> bytes:
    try:
        return _encoder.encode(samples)
    except UnicodeEncodeError:  # lone surrogates; the server knows what to do with their escapes
        return json.dumps(msgspec.to_builtins(samples)).encode()


def _decode(response: httpx.Response, expected: int) -> list[Score]:
    if response.status_code != httpx.codes.OK:
        raise ServerError(f"{response.url} answered {response.status_code}: {_message(response)}")
    try:
        scores = _scores.decode(response.content)
    except msgspec.DecodeError as error:
        raise ServerError(f"{response.url} did not answer with scores: {error}") from None
    if len(scores) != expected:
        raise ServerError(f"{response.url} answered with {len(scores)} scores for {expected} samples")
    return scores


def _json(response: httpx.Response) -> Any:
    if response.status_code != httpx.codes.OK:
        raise ServerError(f"{response.url} answered {response.status_code}: {_message(response)}")
    return response.json()


def _message(response: httpx.Response) -> str:
    try:
        return str(response.json()["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return response.text[:200]


def _unreachable(url: str, error: httpx.HTTPError) -> ServerError:
    reason = str(error) or type(error).__name__
    return ServerError(f"cannot reach the reward server at {url}: {reason}; is `rewardkit serve` running?")
