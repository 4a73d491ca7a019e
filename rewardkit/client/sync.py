"""Synchronous, thread-safe client with the methods of Scorer and persistent connections."""

from __future__ import annotations

import http.client
import threading
import time
import urllib.parse
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any

from rewardkit.client.attempts import Attempts
from rewardkit.client.connections import HttpConnections
from rewardkit.client.wire import (
    HttpAnswer,
    RequestBatch,
    batches,
    deadline_header,
    encode,
    error_of,
    join_singles,
    json_of,
    scores_of,
    server_at,
)
from rewardkit.errors import UnknownDataSourceError
from rewardkit.reward_options import check_timeout
from rewardkit.types import Sample, Score

_THREADS = 4


class Client:
    """Thread-safe client for a reward server, used like a Scorer. It keeps its connections open.

    Args:
        url: Address of the server, such as `http://127.0.0.1:8000`.
        token: Bearer token, unless the URL has one: `http://:TOKEN@HOST:8000`.
        timeout_s: Time limit for each request in seconds, including retries, counted from when the request is
            sent. A large batch is split into requests of at most 1,024 samples (2,048 if a group would be
            split) and 16 MiB. The server receives the time limit and stops scoring shortly before it.

    Example:
        >>> with Client("http://127.0.0.1:8000") as client:  # doctest: +SKIP
        ...     client.score(Sample("gsm8k", "#### 72", "72")).score
        1.0
    """

    def __init__(self, url: str, *, token: str | None = None, timeout_s: float = 60.0) -> None:
        self.url, self._headers = server_at(url, token)
        self.timeout_s = check_timeout(timeout_s)
        self._connections = HttpConnections(self.url)
        self._threads: ThreadPoolExecutor | None = None
        self._making = threading.Lock()

    def score(self, sample: Sample) -> Score:
        """Score one sample. As with a Scorer, the status is `invalid` if the sample's reward scores groups.

        Raises:
            OverloadedError: The server was overloaded until the deadline.
            DeadlineError: The server did not answer before the deadline.
            RefusedError: The server rejects the request, for example because of a wrong token.
            ServerError: The server cannot be reached, or failed.
        """
        return self._send(join_singles([encode(sample)]))[0]

    def score_batch(self, samples: Sequence[Sample]) -> list[Score]:
        """Score samples and return one Score for each, in order. Raises the same exceptions as `score`."""
        requests = list(batches(samples))
        if len(requests) < 2:
            return [score for request in requests for score in self._send(request)]
        with self._making:
            if self._threads is None:
                self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="rewardkit-client")
        return [score for scores in self._threads.map(self._send, requests) for score in scores]

    def rewards(self) -> list[dict[str, Any]]:
        """Return descriptions of the server's rewards. Raises the same exceptions as `score`."""
        found: list[dict[str, Any]] = json_of(self._request("GET", "/rewards"))
        return found

    def check(self, data_sources: Iterable[str]) -> frozenset[str]:
        """Check that the server has a reward for each of these data sources.

        Returns:
            The data sources for which all responses to a prompt must be passed in one call of `score_batch`.

        Raises:
            UnknownDataSourceError: The server has no reward for a data source.
            ServerError: The server cannot be reached.
        """
        query = urllib.parse.urlencode([("for", source) for source in sorted(set(data_sources))])
        answer = self._request("GET", f"/rewards?{query}")
        kind, message = error_of(answer)
        if kind == "unknown_data_source":
            raise UnknownDataSourceError(f"{message} (on {self.url})")
        rewards = [reward for reward in json_of(answer) if reward.get("batch") == "group"]
        return frozenset(source for reward in rewards for source in reward.get("for", ()))

    def _send(self, batch: RequestBatch) -> list[Score]:
        return scores_of(self._request("POST", batch.path, batch.body), batch.size)

    def _request(self, method: str, path: str, body: bytes | None = None) -> HttpAnswer:
        attempts = Attempts(self.url, self.timeout_s)
        while True:
            try:
                left = attempts.left_s()
                headers = {**self._headers, **deadline_header(left)}
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
