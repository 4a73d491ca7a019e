"""The request being handled, for the code that scores within it: its id, its deadline, and whether its client
is still there. The guard sets it; nothing here speaks HTTP.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Protocol

from starlette.types import Message, Receive, Scope

from rewardkit.scoring.jobs import Attribute


class Trace(Protocol):
    """The span of a request, where spans are wanted."""

    id: str

    def watch(self, what: str, start: float, end: float, attributes: Mapping[str, Attribute]) -> None:
        """Add a span `what` from `start` to `end`, by `time.monotonic`."""

    def end(self, route: str, status: int, samples: int, request_id: str) -> None:
        """End the span of the request."""


class BeginTrace(Protocol):
    """Begins the span of a request."""

    def __call__(self, scope: Scope, headers: Mapping[bytes, bytes], client: str) -> Trace: ...


@dataclass(slots=True, eq=False)
class CurrentRequest:
    """One HTTP request on its way through the server."""

    id: str
    receive: Receive
    """Once the body has been read, it answers only when the client has gone."""
    client: str = ""
    """Client that asks: clients share the workers' time."""
    timeout_s: float | None = None
    """Seconds that the client asked for in `X-Timeout-S`."""
    body_read: bool = False
    gone: bool = False
    """The client has closed the connection."""
    samples: int = 0
    """Scored on its behalf so far."""
    status: int = 0
    """Status of the answer, once it has begun."""
    started: float = field(default_factory=time.perf_counter)
    """`time.perf_counter` at its arrival."""
    clock: float = 0.0
    """Time from which its deadline counts: its arrival, or for a stream that of the lines being scored."""
    trace: Trace | None = None
    """Its span; None where nobody wants spans."""

    def __post_init__(self) -> None:
        self.clock = self.started

    def outlived(self) -> CurrentRequest:
        """Return a copy for work that goes on after the request has been answered."""
        return CurrentRequest(self.id, disconnected, self.client, trace=self.trace)

    def let_go(self) -> None:
        """Release its body and connection; a timer started in the request may keep this object longer."""
        self.receive = disconnected

    @contextmanager
    def cancelled_with_client(self) -> Iterator[None]:
        """Within it, the running task is cancelled when the client goes away."""
        task = asyncio.current_task()
        if not self.body_read or task is None:
            yield
            return
        watcher = asyncio.create_task(self._watch(task))
        try:
            yield
        finally:
            watcher.cancel()

    async def _watch(self, task: asyncio.Task[object]) -> None:
        while (await self.receive())["type"] != "http.disconnect":
            pass
        self.gone = True
        task.cancel()


async def disconnected() -> Message:
    """Stands for the `receive` of a request whose client is not waited for."""
    return {"type": "http.disconnect"}


CURRENT: ContextVar[CurrentRequest | None] = ContextVar("current_request", default=None)
"""None outside of a request."""
