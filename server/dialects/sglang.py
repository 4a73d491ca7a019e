"""The scoring routes of SGLang's server, under `/sglang`.

/classify    {"model", "text": text or texts}           -> [{"embedding": [number]}], or one of them
/v1/classify as vLLM's /classify
/v1/rerank   {"model", "query", "documents"}            -> [{"score", "document", "index"}], best first
/v1/score    {"model", "query", "items", ...}           -> {"scores": [[number]]}
/v1/embeddings {"model", "input": text or texts}        -> {"data": [{"embedding": [number], "index"}]},
             as verl's reward client takes it from SGLang, also at the root
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter

from rewardkit.server.dialects.base import CARRIES_NO_TRUTH, DialectContext, Handle, SampleOrProblem, mount
from rewardkit.server.dialects.texts import (
    ask_documents,
    ask_inputs,
    ask_pairs,
    best_first,
    scoring,
    texts_in,
)
from rewardkit.server.dialects.vllm import ask_input, classified


def router(context: DialectContext) -> APIRouter:
    """The routes, under `/sglang` and `/sglang/{data_source}`."""
    example_text = {"model": "gsm8k", "text": "<|user|>6 * 12 = ?<|assistant|>#### 72"}
    example_input = {"model": "gsm8k", "input": example_text["text"]}
    example_rerank = {"model": "gsm8k", "query": "6 * 12 = ?", "documents": ["#### 72", "#### 1"]}
    example_score = {"model": "gsm8k", "query": "6 * 12 = ?", "items": ["#### 72"], "label_token_ids": [1]}
    handlers: dict[str, tuple[Handle, dict[str, Any]]] = {
        "/v1/classify": (scoring(context, ask_input, classified), example_input),
        "/v1/embeddings": (scoring(context, ask_input, _embeddings), example_input),
        "/v1/rerank": (scoring(context, ask_documents, _reranked), example_rerank),
        "/v1/score": (scoring(context, _ask_items, _scored), example_score),
        # Last, as a data source in the path would match the others' /v1 too.
        "/classify": (scoring(context, _ask_text, _embedded), example_text),
    }
    routes = APIRouter(tags=["SGLang"])
    for base in ("/sglang", "/sglang/{data_source:path}"):
        for path, (handle, example) in handlers.items():
            said = f"SGLang's {path}"
            mount(context, routes, [base + path], handle, said, example, note=CARRIES_NO_TRUTH)
    handle, example = handlers["/v1/embeddings"]
    said = "SGLang's /v1/embeddings"
    mount(context, routes, ["/v1/embeddings"], handle, said, example, note=CARRIES_NO_TRUTH)
    return routes


def _ask_text(
    context: DialectContext, request: dict[str, Any], data_source: str | None
) -> list[SampleOrProblem]:
    return ask_inputs(context, request, "text", data_source)


def _ask_items(
    context: DialectContext, request: dict[str, Any], data_source: str | None
) -> list[SampleOrProblem]:
    query = texts_in(request.get("query"), "query")
    items = texts_in(request.get("items"), "items")
    return ask_pairs(context, request, query, items, data_source)


def _embedded(request: dict[str, Any], rewards: Sequence[float]) -> Any:
    made = [{"embedding": [reward], "meta_info": {"prompt_tokens": 0}} for reward in rewards]
    return made if isinstance(request.get("text"), list) else made[0]


def _embeddings(request: dict[str, Any], rewards: Sequence[float]) -> dict[str, Any]:
    data = [{"object": "embedding", "index": i, "embedding": [reward]} for i, reward in enumerate(rewards)]
    usage = {"prompt_tokens": 0, "total_tokens": 0}
    return {"object": "list", "model": request.get("model"), "data": data, "usage": usage}


def _reranked(request: dict[str, Any], rewards: Sequence[float]) -> Any:
    documents = texts_in(request["documents"], "documents")
    return [{"score": rewards[i], "document": documents[i], "index": i} for i in best_first(request, rewards)]


def _scored(request: dict[str, Any], rewards: Sequence[float]) -> Any:
    scores = [[reward] for reward in rewards]
    return {"scores": scores, "object": "scoring", "model": request.get("model")}
