"""Engine for OpenAI-compatible servers. Many requests are in flight at once, each with its own retries."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from rewardkit.agents.runner import drive
from rewardkit.agents.types import Reply
from rewardkit.errors import ConfigError
from rewardkit.generation.playing import Player
from rewardkit.generation.types import (
    Completion,
    Done,
    EngineSettings,
    GenerationRequest,
    GenerationSettings,
)
from rewardkit.http_addresses import Address
from rewardkit.messages import message_text
from rewardkit.model_api.client import Endpoint, EndpointError, complete, require_openai
from rewardkit.pictures import PictureError
from rewardkit.tool_calls.call import Call, call_of
from rewardkit.types import Message

_EXAMPLE = "http://127.0.0.1:8000/v1"


@dataclass(frozen=True, slots=True)
class EndpointAnswer:
    """Response from the server to a request."""

    text: str
    finish_reason: str
    prompt_tokens: int | None
    tokens: int | None
    log_probs: Sequence[float] | None
    calls: Sequence[Call]
    """Tool calls that the server found in the response."""


def open_engine(engine: EngineSettings, settings: GenerationSettings) -> EndpointEngine:
    """Create the engine without contacting the server.

    Raises:
        ConfigError: The URL is missing, or does not begin with http:// or https://.
        MissingDependencyError: The package `openai` is not installed.
    """
    if not engine.url:
        raise ConfigError(f"the engine 'endpoint' needs --url, such as {_EXAMPLE}")
    if not engine.url.lower().startswith(("http://", "https://")):
        raise ConfigError(f"--url '{engine.url}' must begin with http:// or https://, such as {_EXAMPLE}")
    require_openai("the engine 'endpoint'")
    return EndpointEngine(engine, settings)


class EndpointEngine:
    """Engine that requests chat completions over HTTP."""

    def __init__(self, engine: EngineSettings, settings: GenerationSettings) -> None:
        self._settings = settings
        self._concurrency = engine.concurrency
        self._player = None if settings.episodes is None else Player(settings)
        self._endpoint = Endpoint(
            engine.url or Address(),
            engine.model,
            engine.api_key_env,
            engine.request_timeout_s,
            engine.retries,
        )

    def run(self, requests: Sequence[GenerationRequest], done: Done) -> None:
        """See `GenerationEngine.run`. If all attempts at a request fail, its completion has an `error`."""
        drive(self._run(requests, done))

    def close(self) -> None:
        """See `GenerationEngine.close`. Does nothing, because each run closes its own connections."""

    async def _run(self, requests: Sequence[GenerationRequest], done: Done) -> None:
        waiting = iter(requests)

        async def work() -> None:
            for request in waiting:  # all workers share the iterator
                done(await (self._play if self._player else self._complete)(request))

        async with asyncio.TaskGroup() as group:
            for _ in range(min(self._concurrency, len(requests))):
                group.create_task(work())

    async def _complete(self, request: GenerationRequest) -> Completion:
        try:
            messages = [_with_urls(one) for one in request.messages]
        except PictureError as error:
            return Completion(request.row, request.sample, error=str(error))
        body = self.body(messages, request.seed, self._settings.max_tokens)
        try:
            answer = await self.ask(body)
        except EndpointError as error:
            return Completion(request.row, request.sample, error=str(error))
        log_probs = list(answer.log_probs) if answer.log_probs is not None else None
        return Completion(
            request.row,
            request.sample,
            answer.text,
            answer.finish_reason,
            answer.prompt_tokens,
            answer.tokens,
            log_probs,
        )

    async def _play(self, request: GenerationRequest) -> Completion:
        assert self._player is not None
        model = _Conversation(self)
        one = await self._player.play(model, request)
        return msgspec.structs.replace(one, prompt_tokens=model.prompt_tokens)

    async def ask(self, body: Mapping[str, Any]) -> EndpointAnswer:
        """Send a request and return the server's response.

        Raises:
            EndpointError: The server refused the request, or all attempts failed.
        """
        return _answer(await complete(self._endpoint, body))

    def body(self, messages: Sequence[Message], seed: int, max_tokens: int) -> dict[str, Any]:
        """Return the JSON body for a request."""
        settings = self._settings
        body: dict[str, Any] = {
            "messages": list(messages),
            "temperature": settings.temperature,
            "max_tokens": max_tokens,
            "seed": seed,
        }
        if settings.top_p < 1.0:
            body["top_p"] = settings.top_p
        if settings.top_k > 0:
            body["top_k"] = settings.top_k
        if settings.stop:
            body["stop"] = list(settings.stop)
        if settings.log_probs:
            body["logprobs"] = True
        return {**settings.sampling_params, **body}


class _Conversation:
    """Implementation of `ChatModel` for a single episode."""

    def __init__(self, engine: EndpointEngine) -> None:
        self._engine = engine
        self.prompt_tokens: int | None = 0
        """Number of prompt tokens in all turns, or None if the server did not count the tokens in a turn."""

    async def chat(
        self,
        messages: Sequence[Message],
        tools: Sequence[Mapping[str, Any]],
        *,
        seed: int,
        max_tokens: int,
    ) -> Reply:
        """See `ChatModel.chat`."""
        body = self._engine.body(messages, seed, max_tokens)
        if tools:
            body["tools"] = list(tools)
        answer = await self._engine.ask(body)
        counts = (self.prompt_tokens, answer.prompt_tokens)
        self.prompt_tokens = None if None in counts else sum(count or 0 for count in counts)
        finish: Literal["stop", "length"] = "length" if answer.finish_reason == "length" else "stop"
        # If the server reports no calls, the text may still contain calls, because not every server parses
        # them.
        calls = answer.calls or None
        return Reply(answer.text, (), answer.log_probs, finish, calls, answer.tokens)


def _with_urls(message: Message) -> Message:
    """Return a message with its pictures as data URLs. The pixels are those that the other engines use."""
    if not isinstance(message.get("content"), list):
        return message
    parts = [
        {"type": "image_url", "image_url": {"url": part["image"].data_url()}} if "image" in part else part
        for part in message["content"]
    ]
    return {**message, "content": parts}


def _answer(completion: Mapping[str, Any]) -> EndpointAnswer:
    choice = completion["choices"][0]
    message: Mapping[str, Any] = choice["message"]
    usage: Mapping[str, Any] = completion.get("usage") or {}
    try:
        measured = (choice.get("logprobs") or {}).get("content")
        return EndpointAnswer(
            message_text(message),
            str(choice.get("finish_reason") or "stop"),
            usage.get("prompt_tokens"),
            usage.get("completion_tokens"),
            None if measured is None else [float(token["logprob"]) for token in measured],
            [_call(one) for one in message.get("tool_calls") or ()],
        )
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise EndpointError(f"the server's response cannot be parsed: {error!r}") from None


def _call(one: Mapping[str, Any]) -> Call:
    """Convert a tool call that the server found."""
    function = one["function"]
    return call_of(function.get("name"), function.get("arguments"), str(one.get("id") or ""))
