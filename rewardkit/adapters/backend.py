"""What scores for the adapters: one Scorer, or one client of each server, per process. No signatures here.

Made when first used, shared by all callers, closed when the process ends. A forked child makes its own.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Sequence

from rewardkit.client import AsyncClient, Client
from rewardkit.scoring.scorer import Scorer
from rewardkit.types import Sample, Score

URL_VARIABLE = "REWARDKIT_URL"
TOKEN_VARIABLE = "REWARDKIT_TOKEN"


class _Backends:
    """The backends of this process."""

    def __init__(self) -> None:
        self.making = threading.Lock()
        self.scorer: Scorer | None = None
        self.clients: dict[str, Client] = {}
        self.async_clients: dict[tuple[asyncio.AbstractEventLoop, str], AsyncClient] = {}

    def local(self) -> Scorer:
        with self.making:
            if self.scorer is None:
                self.scorer = Scorer()
            return self.scorer

    def remote(self, url: str) -> Client:
        with self.making:
            if url not in self.clients:
                self.clients[url] = Client(url, token=_token())
            return self.clients[url]

    def async_remote(self, url: str) -> AsyncClient:
        """A client's connections belong to the event loop that opened them, and end with it."""
        key = (asyncio.get_running_loop(), url)
        with self.making:
            if key not in self.async_clients:
                for ended in [known for known in self.async_clients if known[0].is_closed()]:
                    del self.async_clients[ended]
                self.async_clients[key] = AsyncClient(url, token=_token())
            return self.async_clients[key]

    def close(self) -> None:
        if self.scorer is not None:
            self.scorer.close()
        for client in self.clients.values():
            client.close()


_backends = _Backends()
_of_parents: list[_Backends] = []
"""What a forked child inherited: its workers and connections are its parent's, so it is neither used nor
closed, and kept only for nothing to be closed by being collected."""


def _forget() -> None:
    global _backends
    _of_parents.append(_backends)
    _backends = _Backends()


def close() -> None:
    """Stop the workers and close the connections; the next call starts anew."""
    global _backends
    closing, _backends = _backends, _Backends()
    closing.close()


os.register_at_fork(after_in_child=_forget)
atexit.register(close)


def score_batch(samples: Sequence[Sample], url: str | None = None) -> list[Score]:
    """Score samples here, or on the server at `url`, or at REWARDKIT_URL if that is set.

    Raises:
        ServerError: the server cannot be reached, refused the request or failed.
    """
    address = _address(url)
    backend = _backends.remote(address) if address else _backends.local()
    return backend.score_batch(samples)


async def ascore_batch(samples: Sequence[Sample], url: str | None = None) -> list[Score]:
    """Like `score_batch`, without holding the event loop."""
    address = _address(url)
    backend = _backends.async_remote(address) if address else _backends.local()
    return await backend.ascore_batch(samples)


async def ascore(sample: Sample, url: str | None = None) -> Score:
    """Score one sample, for callers that have many of them on the way at once."""
    address = _address(url)
    backend = _backends.async_remote(address) if address else _backends.local()
    return await backend.ascore(sample)


def _token() -> str | None:
    """The first, where the variable lists all that a server accepts."""
    return next(iter(os.environ.get(TOKEN_VARIABLE, "").split()), None)


def _address(url: str | None) -> str | None:
    return url or os.environ.get(URL_VARIABLE)
