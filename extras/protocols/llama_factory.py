"""LLaMA-Factory's reward API for its PPO stage (`reward_model_type: api`).

    {"model": "model", "messages": [prompt + response, ...]} -> {"scores": [number, ...]}

The texts contain special tokens and padding. The client sends no ground truth.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence

import msgspec
from fastapi import APIRouter

from rewardkit.server.exchanges import Exchange, Question, ServedRows, question_of
from rewardkit.server.protocols.base import (
    CARRIES_NO_TRUTH,
    ProtocolContext,
    ask_text,
    failed_header,
    mount,
    reward_of,
)
from rewardkit.server.wire import BodyDecoder, Reply, replied
from rewardkit.types import Score


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
    routes = APIRouter(tags=["LLaMA-Factory"])
    paths = ("/llama_factory", "/llama_factory/{data_source:path}", "/v1/score/evaluation")
    mount(
        context, routes, paths, LLAMA_FACTORY, "LLaMA-Factory's reward API", _EXAMPLE, note=CARRIES_NO_TRUTH
    )
    return routes


def _read(rows: ServedRows, body: bytes, data_source: str | None) -> Question:
    request = _decode(body)
    asked = [ask_text(rows, text, data_source=data_source) for text in request.messages]
    return question_of(asked, request.model)


def _answer(rows: ServedRows, question: Question, scores: Sequence[Score]) -> Reply:
    rewards = [reward_of(rows, score) for score in scores]
    answer = LlamaFactoryAnswer(f"scoreval-{uuid.uuid4().hex}", question.about, rewards)
    return replied(answer, failed_header(scores))


LLAMA_FACTORY = Exchange(_read, _answer, TIMEOUT_S)
