"""ROLL's remote reward system (`RemoteRewardSystemWorker`): submit a sample, then poll for its reward.

POST /roll/submit {"prompt", "response", "reward_info": {"ground_truth"}, "timeout", ...}
-> {"errcode": 0, "reward_request_id": id}
GET /roll/result with the body {"reward_request_id": id}
-> {"errcode": 1} while it runs, then {"errcode": 0, "reward_score": number, ...}
"""

from __future__ import annotations

import asyncio
import contextvars
import math
import time
import uuid
from collections.abc import Coroutine
from typing import Any, NamedTuple

import msgspec
from fastapi import APIRouter, Response

from rewardkit.errors import RewardkitError
from rewardkit.server.dialects.base import Asked, Context, ask, judge, mount, parts_of, reward_of
from rewardkit.server.wire import Decoder, refusal, reply
from rewardkit.types import Message, Score

RUNNING, GONE = 1, 2
"""`errcode` of a sample being judged, and of one that is not known (any more)."""

KEPT_S = 900.0
"""How long a submitted sample can be asked for; ROLL gives up after 300 s."""

MAX_KEPT = 100_000
"""Samples kept at once, judged or not."""


class Submission(msgspec.Struct):
    response: str
    prompt: str | list[Message] | None = None
    reward_info: Any = None
    timeout: float | None = None
    """Seconds."""


class Poll(msgspec.Struct):
    reward_request_id: str


class _Kept(NamedTuple):
    asked: Asked
    task: asyncio.Task[list[Score]]
    until: float


class Store:
    """Samples between submission and poll: bounded in number, and gone after a time."""

    def __init__(self, limit: int = MAX_KEPT, kept_s: float = KEPT_S) -> None:
        self._limit = limit
        self._kept_s = kept_s
        self._kept: dict[str, _Kept] = {}  # the oldest first

    def full(self) -> bool:
        """Forget what has expired; True when there is no room even so."""
        now = time.monotonic()
        while self._kept:
            oldest = next(iter(self._kept))
            if self._kept[oldest].until > now:
                break
            self._kept.pop(oldest).task.cancel()
        return len(self._kept) >= self._limit

    def start(self, asked: Asked, judging: Coroutine[Any, Any, list[Score]]) -> tuple[str, asyncio.Task[Any]]:
        """Judge in the background, outliving the request that asked for it."""
        task = asyncio.create_task(judging, context=contextvars.Context())
        request_id = uuid.uuid4().hex
        self._kept[request_id] = _Kept(asked, task, time.monotonic() + self._kept_s)
        return request_id, task

    def get(self, request_id: str) -> _Kept | None:
        """Return what was submitted under this id, if it is still kept."""
        kept = self._kept.get(request_id)
        return kept if kept is not None and kept.until > time.monotonic() else None

    def forget(self, request_id: str) -> None:
        """Drop it, so that the client submits it again."""
        self._kept.pop(request_id, None)


_EXAMPLE = {"prompt": "6 * 12 = ?", "response": "#### 72", "reward_info": {"ground_truth": "72"}}

_decode_submission: Decoder[Submission] = Decoder(Submission, "a submission to ROLL's reward system")
_decode_poll: Decoder[Poll] = Decoder(Poll, "a poll of ROLL's reward system")


def router(context: Context) -> APIRouter:
    """Routes `/roll/submit`, with a data source after it or not, and `/roll/result`."""
    store = Store()

    async def submit(body: bytes, data_source: str | None) -> Response:
        submission = _decode_submission(body)
        if store.full():
            return refusal(503, "overloaded", "too many samples wait to be polled", {"Retry-After": "2"})
        asked = ask(
            context,
            submission.response,
            prompt=submission.prompt,
            label=_label(submission.reward_info),
            data_source=data_source,
        )
        allowed = submission.timeout
        timeout_s = allowed if allowed is not None and 0 < allowed < math.inf else None
        request_id, task = store.start(asked, judge(context, [asked], timeout_s=timeout_s))
        await asyncio.wait([task], timeout=0)
        if task.done() and task.exception() is not None:
            store.forget(request_id)
            task.result()  # raises: the server is overloaded, and says so at once
        return reply({"errcode": 0, "reward_request_id": request_id})

    async def result(body: bytes, data_source: str | None) -> Response:
        request_id = _decode_poll(body).reward_request_id
        kept = store.get(request_id)
        if kept is None:
            return reply({"errcode": GONE, "errmsg": "unknown here, or expired"})
        if not kept.task.done():
            return reply({"errcode": RUNNING})
        try:
            (score,) = kept.task.result()
        except (RewardkitError, asyncio.CancelledError) as error:
            store.forget(request_id)
            return reply({"errcode": GONE, "errmsg": f"not judged: {error}; submit it again"})
        return reply(_answer(context, kept.asked, score))

    routes = APIRouter(tags=["ROLL"])
    paths = ("/roll/submit", "/roll/submit/{data_source:path}")
    mount(routes, paths, submit, "ROLL: submit a sample", _EXAMPLE)
    mount(routes, ["/roll/result"], result, "ROLL: its reward", {"reward_request_id": "0"}, method="GET")
    return routes


def _label(info: Any) -> Any:
    """The ground truth within `reward_info`; all of it where it names a data source too."""
    if not isinstance(info, dict) or "data_source" in info:
        return info
    return next((info[name] for name in ("ground_truth", "test_cases") if name in info), None)


def _answer(context: Context, asked: Asked, score: Score) -> dict[str, Any]:
    """Dimensions are objects, not numbers: ROLL's client looks into each for `debug_info`."""
    parts = parts_of(asked, score).items()
    answer = {
        "errcode": 0,
        "reward_score": reward_of(context, score),
        "dimention_reward_score": {name: {"score": value, "debug_info": {}} for name, value in parts},
    }
    failed = {"failure_kind": score.status, "failure_reason": score.detail}
    return answer if score.ok else answer | failed
