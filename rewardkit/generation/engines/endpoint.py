"""Any OpenAI-compatible server. Many requests are in flight at once, and each is retried by itself."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import aiohttp
import msgspec

from rewardkit.agents.runner import drive
from rewardkit.agents.types import Call, Reply
from rewardkit.errors import ConfigError
from rewardkit.generation.playing import Player
from rewardkit.generation.types import (
    Completion,
    Done,
    EngineSettings,
    GenerationRequest,
    GenerationSettings,
)
from rewardkit.http_retry import RETRIED, retry_after_s
from rewardkit.model_api.answers import content_text
from rewardkit.model_api.failures import broken_choice, why_failed
from rewardkit.types import Message

_EXAMPLE = "http://127.0.0.1:8000/v1"
_PATH = "/chat/completions"
_LIMIT = "max_tokens"
_NEW_LIMIT = "max_completion_tokens"
"""The name that OpenAI's reasoning models demand; they refuse `max_tokens`."""
_BACKOFF_S = 0.5
_MAX_BACKOFF_S = 30.0


class _TransientGenerationError(Exception):
    """A request failed and may be tried again, `after_s` seconds from now at the earliest."""

    def __init__(self, message: str, after_s: float = 0.0) -> None:
        super().__init__(message)
        self.after_s = after_s


class PermanentError(Exception):
    """A request failed, and would fail again."""


@dataclass(frozen=True, slots=True)
class EndpointAnswer:
    """One completion."""

    text: str
    finish_reason: str
    prompt_tokens: int | None
    tokens: int | None
    log_probs: Sequence[float] | None
    calls: Sequence[Call]
    """The calls of tools that the server found in it."""


def open_engine(engine: EngineSettings, settings: GenerationSettings) -> EndpointEngine:
    """Return the engine. The server is not asked before the first request.

    Raises:
        ConfigError: there is no address, or it does not begin with http:// or https://.
    """
    if not engine.url:
        raise ConfigError(f"the engine 'endpoint' needs --url, such as {_EXAMPLE}")
    if not engine.url.lower().startswith(("http://", "https://")):
        raise ConfigError(f"--url '{engine.url}' must begin with http:// or https://, such as {_EXAMPLE}")
    return EndpointEngine(engine, settings)


class EndpointEngine:
    """Chat completions over HTTP."""

    def __init__(self, engine: EngineSettings, settings: GenerationSettings) -> None:
        self._engine = engine
        self._settings = settings
        self._player = None if settings.episodes is None else Player(settings)
        self._address = f"{(engine.url or '').rstrip('/').removesuffix(_PATH)}{_PATH}"
        self._limit = _LIMIT
        """The name under which the server takes a limit on tokens."""
        self._resting_until = 0.0
        """When the server asked us to wait, no request starts before this time of the loop's clock."""

    def run(self, requests: Sequence[GenerationRequest], done: Done) -> None:
        """See `GenerationEngine.run`. A request that fails in all its attempts has an `error`."""
        drive(self._run(requests, done))

    def close(self) -> None:
        """See `GenerationEngine.close`. There is nothing to close: each run closes its connections."""

    async def _run(self, requests: Sequence[GenerationRequest], done: Done) -> None:
        waiting = iter(requests)
        connector = aiohttp.TCPConnector(limit=self._engine.concurrency)
        async with aiohttp.ClientSession(connector=connector, trust_env=True) as session:

            async def work() -> None:
                for request in waiting:  # shared: each takes the next
                    done(await (self._play if self._player else self._complete)(session, request))

            async with asyncio.TaskGroup() as group:
                for _ in range(min(self._engine.concurrency, len(requests))):
                    group.create_task(work())

    async def _complete(self, session: aiohttp.ClientSession, request: GenerationRequest) -> Completion:
        body = self.body(request.messages, request.seed, self._settings.max_tokens)
        try:
            answer = await self.ask(session, body)
        except PermanentError as error:
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

    async def _play(self, session: aiohttp.ClientSession, request: GenerationRequest) -> Completion:
        assert self._player is not None
        model = _Conversation(self, session)
        one = await self._player.play(model, request)
        return msgspec.structs.replace(one, prompt_tokens=model.prompt_tokens)

    async def ask(self, session: aiohttp.ClientSession, body: Mapping[str, Any]) -> EndpointAnswer:
        """Return the server's answer, after as many attempts as it takes.

        Raises:
            PermanentError: the server refused the request, or all attempts failed.
        """
        loop = asyncio.get_running_loop()
        for attempt in range(self._engine.retries + 1):
            await asyncio.sleep(max(0.0, self._resting_until - loop.time()))
            try:
                return await self._attempt(session, body)
            except _TransientGenerationError as error:
                last = f"{error} ({attempt + 1} attempts)"
                if error.after_s:
                    self._resting_until = max(self._resting_until, loop.time() + error.after_s)
                if attempt < self._engine.retries:
                    await asyncio.sleep(random.uniform(0, min(_MAX_BACKOFF_S, _BACKOFF_S * 2**attempt)))
        raise PermanentError(last)

    async def _attempt(self, session: aiohttp.ClientSession, body: Mapping[str, Any]) -> EndpointAnswer:
        sent = {self._limit if name == _LIMIT else name: value for name, value in body.items()}
        status, headers, content = await self._post(session, sent)
        if status == 200:
            return _answer(content)
        if status == 400 and _LIMIT in sent and _NEW_LIMIT.encode() in content:
            self._limit = _NEW_LIMIT
            return await self._attempt(session, body)
        said = " ".join(content[:400].decode("utf-8", "replace").split())[:160]
        message = f"the server answered {status}: {said}{self._next_step(status)}"
        if status in RETRIED:
            raise _TransientGenerationError(message, retry_after_s(headers))
        raise PermanentError(message)

    async def _post(
        self, session: aiohttp.ClientSession, body: Mapping[str, Any]
    ) -> tuple[int, Mapping[str, str], bytes]:
        key = os.environ.get(self._engine.api_key_env, "")
        try:
            async with session.post(
                self._address,
                json=body,
                headers={"Authorization": f"Bearer {key}"} if key else {},
                timeout=aiohttp.ClientTimeout(total=self._engine.request_timeout_s),
                allow_redirects=False,
            ) as answer:
                return answer.status, answer.headers, await answer.read()
        except TimeoutError:
            raise _TransientGenerationError(f"no answer in {self._engine.request_timeout_s:g} s") from None
        except (aiohttp.ClientError, OSError) as error:
            raise _TransientGenerationError(
                f"the server cannot be reached: {type(error).__name__}: {error}"
            ) from None

    def _next_step(self, status: int) -> str:
        """Return what the user should look at for this status, or an empty text."""
        if status in (401, 403):
            return f"; the key is taken from the variable {self._engine.api_key_env} (--api-key-env)"
        if status == 404:
            return f"; asked was {self._address} for the model '{self._engine.model}'"
        return ""

    def body(self, messages: Sequence[Message], seed: int, max_tokens: int) -> dict[str, Any]:
        """Return the body of a request."""
        settings = self._settings
        body: dict[str, Any] = {
            "model": self._engine.model,
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
        return body


class _Conversation:
    """One episode's ChatModel."""

    def __init__(self, engine: EndpointEngine, session: aiohttp.ClientSession) -> None:
        self._engine = engine
        self._session = session
        self.prompt_tokens: int | None = None
        """Of all turns: what was paid for."""

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
        answer = await self._engine.ask(self._session, body)
        self.prompt_tokens = (self.prompt_tokens or 0) + (answer.prompt_tokens or 0)
        finish: Literal["stop", "length"] = "length" if answer.finish_reason == "length" else "stop"
        # Where the server finds none, they may still be in the text: it may know nothing of them.
        calls = answer.calls or None
        return Reply(answer.text, (), answer.log_probs, finish, calls, answer.tokens)


def _answer(content: bytes) -> EndpointAnswer:
    try:
        answer: Any = msgspec.json.decode(content)
        if (why := why_failed(answer) or broken_choice(answer["choices"][0])) is not None:
            raise _TransientGenerationError(why)
        choice = answer["choices"][0]
        message: Mapping[str, Any] = choice["message"]
        usage: Mapping[str, Any] = answer.get("usage") or {}
        log_probs = choice.get("logprobs")
        text = message.get("content")
        if text is not None and not isinstance(text, str | list):
            raise TypeError("content is no text")
        measured = (log_probs or {}).get("content")
        return EndpointAnswer(
            content_text(text),
            str(choice.get("finish_reason") or "stop"),
            usage.get("prompt_tokens"),
            usage.get("completion_tokens"),
            None if measured is None else [float(token["logprob"]) for token in measured],
            [_call(one) for one in message.get("tool_calls") or ()],
        )
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        shown = content[:80].decode("utf-8", "replace")
        raise _TransientGenerationError(f"the server sent no completion: {shown!r}") from None


def _call(one: Mapping[str, Any]) -> Call:
    """Return a call that the server found. If its arguments are no JSON object, the call has an `error`."""
    function = one["function"]
    name = str(function.get("name") or "")
    error = None if name else "the call has no name"
    arguments: Any = {}
    try:
        arguments = function.get("arguments") or "{}"
        if isinstance(arguments, str):  # some servers send the object itself
            arguments = msgspec.json.decode(arguments)
        if not isinstance(arguments, dict):
            raise msgspec.DecodeError("no object")
    except msgspec.DecodeError:
        arguments = {}
        error = "the arguments are no JSON object"
    return Call(name, arguments, str(one.get("id") or ""), error)
