"""The scoring routes of vLLM's server, so that clients of a reward model there can point here.

    /classify {"model", "input": text or texts} -> {"data": [{"index", "label", "probs": [number]}]}
    /score    {"model", "text_1", "text_2"}     -> {"data": [{"index", "score"}]}
    /pooling  {"model", "input"}                -> {"data": [{"index", "data": [number]}]}
    /rerank   {"model", "query", "documents"}   -> {"results": [{"index", "document", "relevance_score"}]}

`POST /score` at the root is rewardkit's own; vLLM's stands under `/vllm`, as all of these do.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter

from rewardkit.errors import InputError
from rewardkit.server.dialects.base import CARRIES_NO_TRUTH, DialectContext, Handle, SampleOrProblem, mount
from rewardkit.server.dialects.texts import (
    ask_documents,
    ask_inputs,
    ask_pairs,
    best_first,
    scoring,
    texts_in,
)

_AT_ROOT = ("/v1/classify", "/classify", "/pooling", "/v1/rerank", "/v2/rerank", "/rerank")
_BELOW = (*_AT_ROOT, "/v1/score", "/score")
"""Those with a version first: a data source in the path would match the version too."""
_BASES = ("/vllm", "/vllm/{data_source:path}")
_PAIRS = (("text_1", "text_2"), ("queries", "documents"), ("queries", "items"), ("data_1", "data_2"))
"""Names of the prompts and of the responses: vLLM takes any of these."""


def router(context: DialectContext) -> APIRouter:
    """The routes under `/vllm` and `/vllm/{data_source}`, and those that only vLLM has also at the root."""
    example_input = {"model": "gsm8k", "input": "<|user|>6 * 12 = ?<|assistant|>#### 72"}
    example_score = {"model": "gsm8k", "text_1": "6 * 12 = ?", "text_2": "#### 72"}
    example_rerank = {"model": "gsm8k", "query": "6 * 12 = ?", "documents": ["#### 72", "#### 1"]}
    by_name: dict[str, tuple[Handle, dict[str, Any]]] = {
        "classify": (scoring(context, ask_input, classified), example_input),
        "pooling": (scoring(context, ask_input, _pooled), example_input),
        "score": (scoring(context, _ask_score, _scored), example_score),
        "rerank": (scoring(context, ask_documents, _reranked), example_rerank),
    }
    routes = APIRouter(tags=["vLLM"])
    for name, (handle, example) in by_name.items():
        at_root = [path for path in _AT_ROOT if path.endswith(name)]
        below = [base + path for base in _BASES for path in _BELOW if path.endswith(name)]
        paths = [*at_root, *below]
        mount(context, routes, paths, handle, f"vLLM's {name}", example, note=CARRIES_NO_TRUTH)
    return routes


def ask_input(
    context: DialectContext, request: dict[str, Any], data_source: str | None
) -> list[SampleOrProblem]:
    """The samples of a request to /classify or /pooling."""
    return ask_inputs(context, request, "input", data_source)


def classified(request: dict[str, Any], rewards: Sequence[float]) -> dict[str, Any]:
    """The answer of /classify: one class, whose probability is the reward."""
    data = [
        {"index": i, "label": "LABEL_0", "probs": [reward], "num_classes": 1}
        for i, reward in enumerate(rewards)
    ]
    return _head(request) | {"data": data}


def _ask_score(
    context: DialectContext, request: dict[str, Any], data_source: str | None
) -> list[SampleOrProblem]:
    for first, second in _PAIRS:
        if first in request and second in request:
            prompts, responses = texts_in(request[first], first), texts_in(request[second], second)
            return ask_pairs(context, request, prompts, responses, data_source)
    raise InputError("send text_1 (the prompts) and text_2 (the responses)")


def _pooled(request: dict[str, Any], rewards: Sequence[float]) -> dict[str, Any]:
    data = [{"index": i, "object": "pooling", "data": [reward]} for i, reward in enumerate(rewards)]
    return _head(request) | {"data": data}


def _scored(request: dict[str, Any], rewards: Sequence[float]) -> dict[str, Any]:
    data = [{"index": i, "object": "score", "score": reward} for i, reward in enumerate(rewards)]
    return _head(request) | {"data": data}


def _reranked(request: dict[str, Any], rewards: Sequence[float]) -> dict[str, Any]:
    documents = texts_in(request["documents"], "documents")
    results = [
        {"index": i, "document": {"text": documents[i]}, "relevance_score": rewards[i]}
        for i in best_first(request, rewards)
    ]
    return _head(request) | {"results": results}


def _head(request: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": f"rewardkit-{uuid.uuid4().hex}",
        "object": "list",
        "created": int(time.time()),
        "model": request.get("model"),
        "usage": {"prompt_tokens": 0, "total_tokens": 0},
    }
