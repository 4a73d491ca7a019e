"""The scoring routes of vLLM's and SGLang's servers, for clients that expect one of these servers.

    /classify {"model", "input": text or texts}       -> {"data": [{"index", "label", "probs": [number]}]}
    /pooling  {"model", "input"}                      -> {"data": [{"index", "data": [number]}]}
    /v1/embeddings {"model", "input"}                 -> {"data": [{"embedding": [number], "index"}]}
    /sglang/classify {"model", "text": text or texts} -> [{"embedding": [number]}], or one of them

The first two routes also exist under `/vllm`, and `/classify` also exists as `/v1/classify`. The route
`/v1/embeddings`, which verl uses with SGLang, also exists under `/sglang`. All routes accept a conversation
in `messages` instead of texts. `model` names the data source. Token ids are not supported, since the server
has no tokenizer.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from fastapi import APIRouter

from rewardkit.errors import InputError
from rewardkit.server.exchanges import Exchange, Question, ServedRows, question_of
from rewardkit.server.protocols.base import (
    CARRIES_NO_TRUTH,
    ProtocolContext,
    ask_messages,
    ask_text,
    failed_header,
    mount,
    reward_of,
)
from rewardkit.server.wire import Reply, decode_object, replied
from rewardkit.types import Score

MakeAnswer = Callable[[dict[str, Any], Sequence[float]], Any]
"""Function that creates the response as plain data: (head of the request, rewards) -> response."""

_TEXT = "<|user|>6 * 12 = ?<|assistant|>#### 72"


def vllm_router(context: ProtocolContext) -> APIRouter:
    """Create the routes at the root, under `/vllm` and under `/vllm/{data_source}`."""
    routes = APIRouter(tags=["vLLM"])
    for name, answer, paths in (
        ("classify", _classified, ("/v1/classify", "/classify")),
        ("pooling", _pooled, ("/pooling",)),
    ):
        # Paths with a version come first, since the data source in a path would also match the version.
        everywhere = [base + path for base in ("", "/vllm", "/vllm/{data_source:path}") for path in paths]
        _add(context, routes, everywhere, "input", answer, f"vLLM's {name}")
    return routes


def sglang_router(context: ProtocolContext) -> APIRouter:
    """Create the routes under `/sglang` and `/sglang/{data_source}`, and `/v1/embeddings` at the root."""
    routes = APIRouter(tags=["SGLang"])
    bases = ("/sglang", "/sglang/{data_source:path}")
    for path, field, answer in (
        ("/v1/classify", "input", _classified),
        ("/v1/embeddings", "input", _embeddings),
        ("/classify", "text", _embedded),
    ):
        at_root = ["/v1/embeddings"] if path == "/v1/embeddings" else []
        _add(context, routes, [*at_root, *(base + path for base in bases)], field, answer, f"SGLang's {path}")
    return routes


def _add(
    context: ProtocolContext,
    routes: APIRouter,
    paths: Sequence[str],
    field: str,
    answer: MakeAnswer,
    summary: str,
) -> None:
    """Add a route for requests whose texts are in the body field `field`."""
    example = {"model": "gsm8k", field: _TEXT}
    exchange = Exchange(partial(_read, field), partial(_answer, answer))
    mount(context, routes, paths, exchange, summary, example, note=CARRIES_NO_TRUTH)


def _read(field: str, rows: ServedRows, body: bytes, data_source: str | None) -> Question:
    """Return the samples in a request: one per text in the field, or the conversation in `messages`."""
    request = decode_object(body)
    model = request.get("model")
    source = data_source or (model if isinstance(model, str) else None)
    head = {"model": model, "several": isinstance(request.get(field), list)}
    messages = request.get("messages")
    if isinstance(messages, list) and all(isinstance(message, dict) for message in messages):
        return question_of([ask_messages(rows, messages, data_source=source)], head)
    texts = _texts_in(request.get(field), field)
    return question_of([ask_text(rows, text, data_source=source) for text in texts], head)


def _answer(answer: MakeAnswer, rows: ServedRows, question: Question, scores: Sequence[Score]) -> Reply:
    rewards = [reward_of(rows, score) for score in scores]
    return replied(answer(question.about, rewards), failed_header(scores))


def _texts_in(value: Any, name: str) -> list[str]:
    """Return a text or a list of texts as a list."""
    values = value if isinstance(value, list) else [value]
    if not values or not all(isinstance(item, str) for item in values):
        raise InputError(
            f"'{name}' must be a string or a non-empty list of strings; token ids are not supported"
        )
    return values


def _classified(request: dict[str, Any], rewards: Sequence[float]) -> dict[str, Any]:
    """Return a response in the form of vLLM's /classify, with one class whose probability is the reward."""
    data = [
        {"index": i, "label": "LABEL_0", "probs": [reward], "num_classes": 1}
        for i, reward in enumerate(rewards)
    ]
    return _head(request) | {"data": data}


def _pooled(request: dict[str, Any], rewards: Sequence[float]) -> dict[str, Any]:
    data = [{"index": i, "object": "pooling", "data": [reward]} for i, reward in enumerate(rewards)]
    return _head(request) | {"data": data}


def _embeddings(request: dict[str, Any], rewards: Sequence[float]) -> dict[str, Any]:
    data = [{"object": "embedding", "index": i, "embedding": [reward]} for i, reward in enumerate(rewards)]
    usage = {"prompt_tokens": 0, "total_tokens": 0}
    return {"object": "list", "model": request.get("model"), "data": data, "usage": usage}


def _embedded(request: dict[str, Any], rewards: Sequence[float]) -> Any:
    made = [{"embedding": [reward], "meta_info": {"prompt_tokens": 0}} for reward in rewards]
    return made if request["several"] else made[0]


def _head(request: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": f"rewardkit-{uuid.uuid4().hex}",
        "object": "list",
        "created": int(time.time()),
        "model": request.get("model"),
        "usage": {"prompt_tokens": 0, "total_tokens": 0},
    }
