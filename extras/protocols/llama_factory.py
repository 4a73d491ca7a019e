"""LLaMA-Factory's reward API for its PPO stage (`reward_model_type: api`).

    {"model": "model", "messages": [prompt + response, ...]} -> {"scores": [number, ...]}

The texts contain special tokens and padding. The client sends no ground truth.
"""

from __future__ import annotations

import uuid

import msgspec
from fastapi import APIRouter, Response

from rewardkit.server.protocols.base import (
    CARRIES_NO_TRUTH,
    ProtocolContext,
    ask_text,
    failed_header,
    mount,
    reward_of,
    score_all,
)
from rewardkit.server.wire import BodyDecoder, reply


class LlamaFactoryRequest(msgspec.Struct):
    messages: list[str]
    model: str = "model"


class LlamaFactoryAnswer(msgspec.Struct):
    id: str
    model: str
    scores: list[float]
    object: str = "score.evaluation"


TIMEOUT_S = 600.0
"""Time limit in seconds for a request. The client waits without a limit, but a proxy in between may not."""

_EXAMPLE = {"model": "model", "messages": ["<|user|>6 * 12 = ?<|assistant|>#### 72"]}

_decode: BodyDecoder[LlamaFactoryRequest] = BodyDecoder(LlamaFactoryRequest, "a LLaMA-Factory reward request")


def router(context: ProtocolContext) -> APIRouter:
    """Return the routes `/llama_factory`, with an optional data source, and `/v1/score/evaluation`."""

    async def score(body: bytes, data_source: str | None) -> Response:
        request = _decode(body)
        asked = [ask_text(context, text, data_source=data_source) for text in request.messages]
        scores = await score_all(context, asked, timeout_s=TIMEOUT_S)
        rewards = [reward_of(context, score) for score in scores]
        answer = LlamaFactoryAnswer(f"scoreval-{uuid.uuid4().hex}", request.model, rewards)
        return reply(answer, headers=failed_header(scores))

    routes = APIRouter(tags=["LLaMA-Factory"])
    paths = ("/llama_factory", "/llama_factory/{data_source:path}", "/v1/score/evaluation")
    mount(context, routes, paths, score, "LLaMA-Factory's reward API", _EXAMPLE, note=CARRIES_NO_TRUTH)
    return routes
