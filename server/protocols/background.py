"""Background scoring, which continues after a request has ended.

The number, size and lifetime of submissions are limited.

Clients of ROLL's protocol poll for the result. Clients of the Open Reward Standard fetch the result if a
connection breaks.

A submission's body is kept until the submission has been scored. Afterwards, only the encoded answer is kept.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import time
import uuid
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any

from rewardkit.errors import OverloadedError, RewardkitError, reason_of
from rewardkit.scoring.jobs import Client
from rewardkit.server.admission import Admission
from rewardkit.server.request import CURRENT

_LOG = logging.getLogger(__name__)

KEPT_S = 900.0
"""Seconds for which a result can be fetched. ROLL gives up after 300 s."""

ASKED_KEPT_S = 60.0
"""Seconds for which a result is kept after a client fetched it.

The client may fetch it again if the response was lost.
"""

ELSEWHERE = "behind a load balancer, a client must always reach the same server"
"""Hint for error messages about unknown ids."""

_SWEEP_EVERY_S = 1.0
"""Minimum number of seconds between two removals of expired submissions."""

MAX_KEPT = 100_000
"""Maximum number of submissions that are kept, including those still being scored."""


@dataclass(slots=True, eq=False)
class BackgroundSubmission:
    """A submission that is being scored, or the answer to it."""

    until: float
    held: int
    """Size in bytes of the body during scoring, and of the answer afterwards."""
    client: Client = field(default_factory=Client)
    task: asyncio.Task[None] | None = None
    """Task that scores the submission, or None once it is done."""
    answer: bytes | None = None
    failed: str | None = None
    """Error message if scoring failed."""


class Store:
    """Store of submissions, which are kept until their results have been fetched or have expired.

    Args:
        admission: Admission control in which the bytes of submissions are counted.
        limit: Maximum number of submissions.
        kept_s: Seconds for which a submission is kept.
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
        """Start scoring in the background, independent of the current request.

        Args:
            body_bytes: Size of the request body.
            answering: Coroutine that scores the submission and returns the encoded answer.

        Returns:
            Id for fetching the answer.

        Raises:
            OverloadedError: There is no room for the submission, or scoring could not be started.
        """
        request = CURRENT.get()
        client = request.client if request is not None else Client()
        self._forget_expired()
        try:
            if len(self._kept) >= self._limit:
                raise OverloadedError(
                    "too many results are waiting to be fetched; fetch some, or try again later", 2.0
                )
            self._admission.take_bytes(body_bytes, client)
        except OverloadedError:
            answering.close()
            raise
        kept = BackgroundSubmission(time.monotonic() + self._kept_s, body_bytes, client)
        request_id = uuid.uuid4().hex
        self._kept[request_id] = kept
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
        except Exception as error:
            _LOG.exception("a submission could not be scored")
            kept.failed = f"{type(error).__name__}: {reason_of(error)}"
        kept.task = None
        held = len(kept.answer or b"")
        self._admission.give_back_bytes(kept.held - held, kept.client)
        kept.held = held

    def get(self, request_id: str) -> BackgroundSubmission | None:
        """Return the submission with this id, or None if the submission is no longer kept."""
        kept = self._kept.get(request_id)
        return kept if kept is not None and kept.until > time.monotonic() else None

    def answered(self, kept: BackgroundSubmission) -> None:
        """Record that the answer was fetched, so that it is kept only for a short time."""
        kept.until = min(kept.until, time.monotonic() + ASKED_KEPT_S)

    def forget(self, request_id: str) -> None:
        """Remove a submission, so that the client must submit it again."""
        kept = self._kept.pop(request_id, None)
        if kept is None:
            return
        if kept.task is not None:
            kept.task.cancel()  # The cancelled task releases the bytes.
        else:
            self._admission.give_back_bytes(kept.held, kept.client)
            kept.held = 0

    def _forget_expired(self) -> None:
        now = time.monotonic()
        if now < self._next_sweep and len(self._kept) < self._limit:
            return
        self._next_sweep = now + _SWEEP_EVERY_S
        for request_id in [id_ for id_, kept in self._kept.items() if kept.until <= now]:
            self.forget(request_id)
