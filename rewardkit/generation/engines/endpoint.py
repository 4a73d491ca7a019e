"""Any OpenAI-compatible server: many requests in flight, patient when it is busy, each retried by itself."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Mapping, Sequence
from typing import Any

import aiohttp
import msgspec

from rewardkit.errors import ConfigError
from rewardkit.generation.types import (
    Completion,
    Done,
    EngineSettings,
    GenerationRequest,
    GenerationSettings,
)
from rewardkit.http_retry import RETRIED, retry_after_s

_BACKOFF_S = 0.5
_MAX_BACKOFF_S = 30.0


class _TransientError(Exception):
    """Worth another try, `after_s` from now at the earliest."""

    def __init__(self, message: str, after_s: float = 0.0) -> None:
        super().__init__(message)
        self.after_s = after_s


class _RefusedError(Exception):
    """Another try cannot help."""


def open_engine(engine: EngineSettings, settings: GenerationSettings) -> EndpointEngine:
    """Return the engine; nothing is asked before the first request.

    Raises:
        ConfigError: there is no address.
    """
    if not engine.url:
        raise ConfigError("the engine 'endpoint' needs --url, such as http://127.0.0.1:8000/v1")
    return EndpointEngine(engine, settings)


class EndpointEngine:
    """Chat completions over HTTP."""

    def __init__(self, engine: EngineSettings, settings: GenerationSettings) -> None:
        self._engine, self._settings = engine, settings
        self._resting_until = 0.0
        """When the server asked us to wait, no request starts before this time of the loop's clock."""

    def run(self, requests: Sequence[GenerationRequest], done: Done) -> None:
        """See `GenerationEngine.run`. A request that stays refused has an `error`."""
        asyncio.run(self._run(requests, done))

    def close(self) -> None:
        """See `GenerationEngine.close`. Connections go with each run."""

    async def _run(self, requests: Sequence[GenerationRequest], done: Done) -> None:
        waiting = iter(requests)
        connector = aiohttp.TCPConnector(limit=self._engine.concurrency)
        async with aiohttp.ClientSession(connector=connector, trust_env=True) as session:

            async def work() -> None:
                for request in waiting:  # shared: each takes the next
                    done(await self._answer(session, request))

            async with asyncio.TaskGroup() as group:
                for _ in range(min(self._engine.concurrency, len(requests))):
                    group.create_task(work())

    async def _answer(self, session: aiohttp.ClientSession, request: GenerationRequest) -> Completion:
        loop = asyncio.get_running_loop()
        for attempt in range(self._engine.retries + 1):
            await asyncio.sleep(max(0.0, self._resting_until - loop.time()))
            try:
                return await self._attempt(session, request)
            except _RefusedError as error:
                return Completion(request.row, request.sample, error=str(error))
            except _TransientError as error:
                last = f"{error} ({attempt + 1} attempts)"
                if error.after_s:
                    self._resting_until = max(self._resting_until, loop.time() + error.after_s)
                if attempt < self._engine.retries:
                    await asyncio.sleep(random.uniform(0, min(_MAX_BACKOFF_S, _BACKOFF_S * 2**attempt)))
        return Completion(request.row, request.sample, error=last)

    async def _attempt(self, session: aiohttp.ClientSession, request: GenerationRequest) -> Completion:
        key = os.environ.get(self._engine.api_key_env, "")
        try:
            async with session.post(
                f"{(self._engine.url or '').rstrip('/')}/chat/completions",
                json=self._body(request),
                headers={"Authorization": f"Bearer {key}"} if key else {},
                timeout=aiohttp.ClientTimeout(total=self._engine.request_timeout_s),
                allow_redirects=False,
            ) as answer:
                content = await answer.read()
        except TimeoutError:
            raise _TransientError(f"no answer in {self._engine.request_timeout_s:g} s") from None
        except (aiohttp.ClientError, OSError) as error:
            raise _TransientError(f"the server cannot be reached: {type(error).__name__}: {error}") from None
        if answer.status == 200:
            return _completion(content, request)
        said = " ".join(content[:400].decode("utf-8", "replace").split())[:160]
        message = f"the server answered {answer.status}: {said}"
        if answer.status in RETRIED:
            raise _TransientError(message, retry_after_s(answer.headers))
        raise _RefusedError(message)

    def _body(self, request: GenerationRequest) -> dict[str, Any]:
        settings = self._settings
        body: dict[str, Any] = {
            "model": self._engine.model,
            "messages": request.messages,
            "temperature": settings.temperature,
            "max_tokens": settings.max_tokens,
            "seed": request.seed,
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


def _completion(content: bytes, request: GenerationRequest) -> Completion:
    try:
        answer: Any = msgspec.json.decode(content)
        choice = answer["choices"][0]
        message: Mapping[str, Any] = choice["message"]
        usage: Mapping[str, Any] = answer.get("usage") or {}
        log_probs = choice.get("logprobs")
        text = message.get("content")
        if text is not None and not isinstance(text, str):
            raise TypeError("content is no text")
        return Completion(
            request.row,
            request.sample,
            text or "",
            str(choice.get("finish_reason") or "stop"),
            usage.get("prompt_tokens"),
            usage.get("completion_tokens"),
            [float(token["logprob"]) for token in log_probs["content"]] if log_probs else None,
        )
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        shown = content[:80].decode("utf-8", "replace")
        raise _TransientError(f"the server sent no completion: {shown!r}") from None
