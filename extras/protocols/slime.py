"""slime's remote reward model (`--rm-type remote_rm --rm-url`), which miles also uses.

{"prompt": text or messages, "response": text, "label": anything}
-> a number under `/slime`, or {"score": number, ...} under `/slime_dict` for `--reward-key score`
"""

from __future__ import annotations

from typing import Any

import msgspec
from fastapi import APIRouter, Response

from rewardkit.server.protocols.base import (
    ProtocolContext,
    ask,
    failed_header,
    mount,
    parts_of,
    reward_of,
    score_all,
)
from rewardkit.server.wire import BodyDecoder, reply
from rewardkit.special_tokens import strip_end
from rewardkit.types import Message


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

    async def answer(body: bytes, data_source: str | None) -> tuple[SlimeAnswer, dict[str, str]]:
        request = _decode(body)
        asked = ask(
            context,
            strip_end(request.response),
            prompt=request.prompt,
            label=request.label,
            data_source=data_source,
        )
        (score,) = await score_all(context, [asked], timeout_s=TIMEOUT_S)
        parts = parts_of(asked, score)
        made = SlimeAnswer(reward_of(context, score), score.correct, score.status, score.detail, parts)
        return made, failed_header([score])

    async def number(body: bytes, data_source: str | None) -> Response:
        made, headers = await answer(body, data_source)
        return reply(made.score, headers=headers)

    async def by_key(body: bytes, data_source: str | None) -> Response:
        made, headers = await answer(body, data_source)
        return reply(made, headers=headers)

    routes = APIRouter(tags=["slime"])
    for handle, base in ((number, "/slime"), (by_key, "/slime_dict")):
        paths = (base, base + "/{data_source:path}")
        mount(context, routes, paths, handle, "slime's remote reward model", _EXAMPLE)
    return routes
