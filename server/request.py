"""The current request, with the id, the deadline and the client state that scoring needs.

The middleware sets the current request. Nothing in this module depends on HTTP.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Protocol

from starlette.types import Message, Receive, Scope

from rewardkit.scoring.jobs import Attribute, Client


class Trace(Protocol):
    """The trace span of a request."""

    id: str

    def watch(self, what: str, start: float, end: float, attributes: Mapping[str, Attribute]) -> None:
        """Add a child span with the name `what`, from `start` to `end` on the clock of `time.monotonic`."""

    def end(self, route: str, status: int, samples: int, request_id: str) -> None:
        """End the span of the request."""


class BeginTrace(Protocol):
    """Function that begins the span of a request."""

    def __call__(self, scope: Scope, headers: Mapping[bytes, bytes], client: Client) -> Trace: ...


@dataclass(slots=True, eq=False)
class CurrentRequest:
    """An HTTP request that the server is handling."""

    id: str
    receive: Receive
    """Function that receives messages from the client. After the body, it returns only when the client
    disconnects."""
    client: Client = field(default_factory=Client)
    """Client that sent the request. Addresses, and the clients at an address, get equal shares."""
    timeout_s: float | None = None
    """Time limit in seconds from `X-Timeout-S`."""
    body_read: bool = False
    gone: bool = False
    """True if the client has closed the connection."""
    samples: int = 0
    """Number of samples scored for the request so far."""
    status: int = 0
    """Status of the response once it has been started, else 0."""
    started: float = field(default_factory=time.perf_counter)
    """Arrival time, on the clock of `time.perf_counter`."""
    clock: float = 0.0
    """Start of the time limit: the arrival of the request or, for a stream, of the current lines."""
    trace: Trace | None = None
    """Trace span of the request, or None without tracing."""
    wait_for_turn: Callable[[Client, float, int], Awaitable[None]] | None = None
    """`LoopTurns.take`, or None if the request never waits for a turn in the event loop."""

    def __post_init__(self) -> None:
        self.clock = self.started

    async def take_turn(self, size: int) -> None:
        """Wait until the client has a turn in the event loop.

        Args:
            size: Size of the answer in bytes.
        """
        if self.wait_for_turn is not None:
            await self.wait_for_turn(self.client, time.perf_counter(), size)

    def outlived(self) -> CurrentRequest:
        """Return a copy for work that continues after the request has been answered."""
        return CurrentRequest(self.id, disconnected, self.client, trace=self.trace)

    def let_go(self) -> None:
        """Release the connection.

        A timer that was started during the request may keep this object alive for longer.
        """
        self.receive = disconnected

    @contextmanager
    def cancelled_with_client(self) -> Iterator[None]:
        """Cancel the current task if the client disconnects during the block."""
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
        # A client may disconnect from many requests at once, and ending each of them takes some time.
        await self.take_turn(0)
        task.cancel()


async def disconnected() -> Message:
    """Return a disconnect message.

    Requests that no longer depend on their client use this function as `receive`.
    """
    return {"type": "http.disconnect"}


CURRENT: ContextVar[CurrentRequest | None] = ContextVar("current_request", default=None)
"""Request that the current task is handling, or None outside of a request."""
