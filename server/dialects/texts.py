"""What the model servers' dialects (vLLM, SGLang) share: texts, pairs and conversations become samples.

`model` names the data source. Token ids cannot be read: there is no tokenizer here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fastapi import Response

from rewardkit.errors import InputError
from rewardkit.server.dialects.base import (
    DialectContext,
    Handle,
    SampleOrProblem,
    ask,
    ask_messages,
    ask_text,
    failed_header,
    reward_of,
    score_all,
)
from rewardkit.server.wire import decode_object, reply

ReadBody = Callable[[DialectContext, dict[str, Any], str | None], list[SampleOrProblem]]
"""Reads a request: (context, request, data source in the path) -> samples."""

MakeAnswer = Callable[[dict[str, Any], Sequence[float]], Any]
"""Makes an answer: (request, rewards) -> JSON-ready."""


def scoring(context: DialectContext, ask: ReadBody, answer: MakeAnswer) -> Handle:
    """Score between the two translations."""

    async def handle(body: bytes, data_source: str | None) -> Response:
        request = decode_object(body)
        scores = await score_all(context, ask(context, request, data_source))
        rewards = [reward_of(context, score) for score in scores]
        return reply(answer(request, rewards), headers=failed_header(scores))

    return handle


def best_first(request: Mapping[str, Any], rewards: Sequence[float]) -> list[int]:
    """The places of the rewards, the highest first, no more than the request's `top_n`."""
    best = sorted(range(len(rewards)), key=lambda i: -rewards[i])
    top = request.get("top_n")
    return best[:top] if isinstance(top, int) and top > 0 else best


def source_of(request: Mapping[str, Any], data_source: str | None) -> str | None:
    """The data source in the path, or else `model`."""
    model = request.get("model")
    return data_source or (model if isinstance(model, str) else None)


def texts_in(value: Any, name: str) -> list[str]:
    """Return one text or a list of them as a list.

    Raises:
        InputError: it is anything else, token ids for example.
    """
    values = value if isinstance(value, list) else [value]
    if not values or not all(isinstance(item, str) for item in values):
        raise InputError(f"{name} must be a text or a list of texts; token ids cannot be read here")
    return values


def ask_inputs(
    context: DialectContext, request: Mapping[str, Any], name: str, data_source: str | None
) -> list[SampleOrProblem]:
    """Prompt and response together in each text of the field `name`, or a conversation in `messages`."""
    source = source_of(request, data_source)
    messages = request.get("messages")
    if isinstance(messages, list) and all(isinstance(message, dict) for message in messages):
        return [ask_messages(context, messages, data_source=source)]
    return [ask_text(context, text, data_source=source) for text in texts_in(request.get(name), name)]


def ask_pairs(
    context: DialectContext,
    request: Mapping[str, Any],
    prompts: list[str],
    responses: list[str],
    source: str | None,
) -> list[SampleOrProblem]:
    """A prompt and a response at a time; a single prompt goes with every response."""
    if len(prompts) == 1:
        prompts = prompts * len(responses)
    if len(prompts) != len(responses):
        raise InputError(f"{len(prompts)} prompts do not go with {len(responses)} responses")
    named = source_of(request, source)
    return [
        ask(context, response, prompt=prompt, data_source=named)
        for prompt, response in zip(prompts, responses, strict=True)
    ]


def ask_documents(
    context: DialectContext, request: dict[str, Any], data_source: str | None
) -> list[SampleOrProblem]:
    """A rerank request: the query is the prompt, the documents are responses to it."""
    query = texts_in(request.get("query"), "query")
    documents = texts_in(request.get("documents"), "documents")
    return ask_pairs(context, request, query, documents, data_source)
