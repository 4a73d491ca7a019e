"""Scoring that outlives the request that asked for it: bounded in number, bytes and time until it is fetched.

ROLL's protocol polls for it, and the Open Reward Standard's clients come back for it when a connection broke.

A submission's body is held while it is scored, and only its encoded answer after that.
"""

from __future__ import annotations

import asyncio
import contextvars
import time
import uuid
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any

from rewardkit.errors import OverloadedError, RewardkitError
from rewardkit.server.limits import Admission
from rewardkit.server.request import CURRENT

KEPT_S = 900.0
"""Seconds that a sample can be asked for; ROLL gives up after 300 s."""

ASKED_KEPT_S = 60.0
"""The same once it has been asked for and answered: the answer may have been lost on its way."""

ELSEWHERE = "behind a load balancer, a client must always reach the same server"
"""Further reason why something may not be known here that was begun."""

_SWEEP_EVERY_S = 1.0
"""Seconds between searches for expired samples."""

MAX_KEPT = 100_000
"""Samples kept at once, scored or not."""


@dataclass(slots=True, eq=False)
class BackgroundSubmission:
    """One submission."""

    until: float
    held: int
    """Bytes: of the body while it is scored, of the answer after that."""
    task: asyncio.Task[None] | None = None
    """Scores it; None when it has."""
    answer: bytes | None = None
    failed: str | None = None
    """Reason why there will be no answer."""


class Store:
    """Keeps submitted samples until their scores are fetched.

    Args:
        admission: counts the bytes that are held.
    """

    def __init__(
        self,
        admission: Admission | None = None,
        *,
        limit: int = MAX_KEPT,
        kept_s: float = KEPT_S,
    ) -> None:
        self._admission = admission or Admission()
        self._limit = limit
        self._kept_s = kept_s
        self._kept: dict[str, BackgroundSubmission] = {}
        self._next_sweep = 0.0

    def __len__(self) -> int:
        return len(self._kept)

    async def start(self, body_bytes: int, answering: Coroutine[Any, Any, bytes]) -> str:
        """Score in the background, outliving the request that asked for it; return the id to ask with.

        Raises:
            OverloadedError: there is no room.
            RewardkitError: it could not be begun.
        """
        self._forget_expired()
        try:
            if len(self._kept) >= self._limit:
                raise OverloadedError(
                    "too many results are waiting to be fetched; fetch some, or try again later", 2.0
                )
            self._admission.take_bytes(body_bytes)
        except OverloadedError:
            answering.close()
            raise
        kept = BackgroundSubmission(time.monotonic() + self._kept_s, body_bytes)
        request_id = uuid.uuid4().hex
        self._kept[request_id] = kept
        request = CURRENT.get()
        within = contextvars.Context()
        within.run(CURRENT.set, request and request.outlived())
        kept.task = asyncio.create_task(self._finish(kept, answering), context=within)
        await asyncio.wait([kept.task], timeout=0)
        if kept.failed is not None:
            self.forget(request_id)
            raise OverloadedError(kept.failed, 2.0)
        return request_id

    async def _finish(self, kept: BackgroundSubmission, answering: Coroutine[Any, Any, bytes]) -> None:
        try:
            kept.answer = await answering
        except RewardkitError as error:
            kept.failed = str(error)
        except asyncio.CancelledError:
            kept.failed = "cancelled"
        kept.task = None
        held = len(kept.answer or b"")
        self._admission.give_back_bytes(kept.held - held)
        kept.held = held

    def get(self, request_id: str) -> BackgroundSubmission | None:
        """Return what was submitted under this id, if it is still kept."""
        kept = self._kept.get(request_id)
        return kept if kept is not None and kept.until > time.monotonic() else None

    def answered(self, kept: BackgroundSubmission) -> None:
        """Note that the scores were fetched: they are kept for a short time only."""
        kept.until = min(kept.until, time.monotonic() + ASKED_KEPT_S)

    def forget(self, request_id: str) -> None:
        """Drop it, so that the client submits it again."""
        kept = self._kept.pop(request_id, None)
        if kept is None:
            return
        if kept.task is not None:
            kept.task.cancel()  # gives its bytes back itself
        else:
            self._admission.give_back_bytes(kept.held)
            kept.held = 0

    def _forget_expired(self) -> None:
        now = time.monotonic()
        if now < self._next_sweep and len(self._kept) < self._limit:
            return
        self._next_sweep = now + _SWEEP_EVERY_S
        for request_id in [id_ for id_, kept in self._kept.items() if kept.until <= now]:
            self.forget(request_id)
