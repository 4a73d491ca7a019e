"""slime's remote reward model (`--rm-type remote_rm --rm-url`), which miles also uses.

{"prompt": text or messages, "response": text, "label": anything}
-> a number under `/slime`, or {"score": number, ...} under `/slime_dict` for `--reward-key score`
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from fastapi import APIRouter

from rewardkit.server.exchanges import Exchange, Question, ServedRows, question_of
from rewardkit.server.protocols.base import (
    ProtocolContext,
    ask,
    failed_header,
    mount,
    parts_of,
    reward_of,
)
from rewardkit.server.wire import BodyDecoder, Reply, replied
from rewardkit.special_tokens import strip_end
from rewardkit.types import Message, Score


class SlimeRequest(msgspec.Struct):
    response: str
    prompt: str | list[Message] | None = None
    label: Any = None


class SlimeAnswer(msgspec.Struct):
    score: float
    correct: bool | None
    status: str
    detail: str | None
    parts: dict[str, float]


TIMEOUT_S = 115.0
"""Time limit in seconds for a request. The client waits 120 s for the response."""

_EXAMPLE = {"prompt": "6 * 12 = ?", "response": "#### 72", "label": "72"}

_decode: BodyDecoder[SlimeRequest] = BodyDecoder(SlimeRequest, "a slime reward request")


def router(context: ProtocolContext) -> APIRouter:
    """Return the routes `/slime` for numbers and `/slime_dict` for dicts, with an optional data source."""
    routes = APIRouter(tags=["slime"])
    for exchange, base in ((SLIME, "/slime"), (SLIME_DICT, "/slime_dict")):
        paths = (base, base + "/{data_source:path}")
        mount(context, routes, paths, exchange, "slime's remote reward model", _EXAMPLE)
    return routes


def _read(rows: ServedRows, body: bytes, data_source: str | None) -> Question:
    request = _decode(body)
    asked = ask(
        rows,
        strip_end(request.response),
        prompt=request.prompt,
        label=request.label,
        data_source=data_source,
    )
    return question_of([asked])


def _number(rows: ServedRows, question: Question, scores: Sequence[Score]) -> Reply:
    return replied(reward_of(rows, scores[0]), failed_header(scores))


def _by_key(rows: ServedRows, question: Question, scores: Sequence[Score]) -> Reply:
    (score,) = scores
    parts = parts_of(question.samples[0], score)
    made = SlimeAnswer(reward_of(rows, score), score.correct, score.status, score.detail, parts)
    return replied(made, failed_header(scores))


SLIME = Exchange(_read, _number, TIMEOUT_S)
SLIME_DICT = Exchange(_read, _by_key, TIMEOUT_S)
