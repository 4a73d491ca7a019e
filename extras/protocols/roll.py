"""ROLL's remote reward system (`RemoteRewardSystemWorker`): submit a sample, then poll for its reward.

POST /roll/submit {"prompt", "response", "reward_info": {"ground_truth"}, "timeout", ...}
-> {"errcode": 0, "reward_request_id": id}
GET /roll/result with the body {"reward_request_id": id}
-> {"errcode": 1} while the sample is being scored, then {"errcode": 0, "reward_score": number, ...}
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec
from fastapi import APIRouter, Response

from rewardkit.errors import InputError
from rewardkit.server.exchanges import Exchange, Question, ServedRows, question_of
from rewardkit.server.protocols.background import ELSEWHERE, Store
from rewardkit.server.protocols.base import (
    ProtocolContext,
    add_routes,
    ask,
    parts_of,
    reward_of,
)
from rewardkit.server.wire import BodyDecoder, Reply, replied, reply, small
from rewardkit.types import Message, Score

RUNNING = 1
GONE = 2
"""Values of `errcode` for a sample that is being scored, and for an unknown or expired sample."""

TIMEOUT_S = 300.0
"""Time limit in seconds for a sample. The client stops polling after this time."""


class Submission(msgspec.Struct):
    response: str
    prompt: str | list[Message] | None = None
    reward_info: Any = None
    timeout: float | None = None
    """Time limit in seconds."""


class Poll(msgspec.Struct):
    reward_request_id: str


_GONE = {"errcode": GONE, "errmsg": f"unknown id, or expired; {ELSEWHERE}"}
_EXAMPLE = {"prompt": "6 * 12 = ?", "response": "#### 72", "reward_info": {"ground_truth": "72"}}

_decode_submission: BodyDecoder[Submission] = BodyDecoder(Submission, "a submission to ROLL's reward system")
_decode_poll: BodyDecoder[Poll] = BodyDecoder(Poll, "a poll of ROLL's reward system")


def router(context: ProtocolContext) -> APIRouter:
    """Return the routes `/roll/submit`, with an optional data source, and `/roll/result`."""
    store = Store(context.requests.admission)

    async def submit(body: bytes, data_source: str | None) -> Response:
        if context.processes > 1:
            raise InputError(
                "ROLL's routes need a server with a single process; start `rewardkit serve` with --workers 1"
            )
        finish = await context.requests.begin(ROLL, body, data_source)

        async def answering() -> bytes:
            return bytes((await finish()).body)

        request_id = await store.start(len(body), answering())
        return reply({"errcode": 0, "reward_request_id": request_id})

    async def result(body: bytes, data_source: str | None) -> Response:
        return reply(_result(store, _decode_poll(small(body)).reward_request_id))

    routes = APIRouter(tags=["ROLL"])
    paths = ("/roll/submit", "/roll/submit/{data_source:path}")
    add_routes(context, routes, paths, submit, "ROLL: submit a sample", _EXAMPLE)
    add_routes(
        context,
        routes,
        ["/roll/result"],
        result,
        "ROLL: get the reward of a sample",
        {"reward_request_id": "0"},
        method="GET",
    )
    return routes


def _result(store: Store, request_id: str) -> Any:
    """Return the response to a poll as a value that can be encoded as JSON."""
    kept = store.get(request_id)
    if kept is None:
        return _GONE
    if kept.answer is not None:
        store.answered(kept)
        return msgspec.Raw(kept.answer)
    if kept.failed is None:
        return {"errcode": RUNNING}
    store.forget(request_id)
    return {"errcode": GONE, "errmsg": f"not scored: {kept.failed}; submit it again"}


def _label(info: Any) -> Any:
    """Return the ground truth in `reward_info`, or `reward_info` itself if it contains other row fields."""
    if not isinstance(info, dict) or "data_source" in info or {"ground_truth", "extra_info"} <= info.keys():
        return info
    return next((info[name] for name in ("ground_truth", "test_cases") if name in info), None)


def _read(rows: ServedRows, body: bytes, data_source: str | None) -> Question:
    submission = _decode_submission(body)
    asked = ask(
        rows,
        submission.response,
        prompt=submission.prompt,
        label=_label(submission.reward_info),
        data_source=data_source,
    )
    allowed = submission.timeout
    timeout_s = allowed if allowed is not None and 0 < allowed < math.inf else None
    return question_of([asked], timeout_s=timeout_s)


def _answer(rows: ServedRows, question: Question, scores: Sequence[Score]) -> Reply:
    """Return the response with the reward. Every dimension has `debug_info`, which the client reads."""
    (score,) = scores
    parts = parts_of(question.samples[0], score).items()
    answer = {
        "errcode": 0,
        "reward_score": reward_of(rows, score),
        "dimention_reward_score": {name: {"score": value, "debug_info": {}} for name, value in parts},
    }
    failed = {"failure_kind": score.status, "failure_reason": score.detail}
    return replied(answer if score.ok else answer | failed)


ROLL = Exchange(_read, _answer, TIMEOUT_S)
