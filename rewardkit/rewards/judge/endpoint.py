"""One chat completion from an OpenAI-compatible server, with retries. Knows nothing of what is asked."""

from __future__ import annotations

import asyncio
import os
import random
import weakref
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import aiohttp
import msgspec

from rewardkit.http_retry import RETRIED, retry_after_s
from rewardkit.http_sessions import end_with_loop

_MAX_BACKOFF_S = 30.0

_sessions: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, aiohttp.ClientSession] = (
    weakref.WeakKeyDictionary()
)
"""Connections belong to an event loop; a worker has one, and keeps its connections from chunk to chunk."""


class EndpointError(RuntimeError):
    """The server gave no answer; the message says why."""


class _TransientJudgeError(EndpointError):
    """Worth another try, `after_s` from now at the earliest."""

    def __init__(self, message: str, after_s: float = 0.0) -> None:
        super().__init__(message)
        self.after_s = after_s


class JudgeSettings(Protocol):
    """Who is asked, and how; the judge's options are such settings."""

    @property
    def url(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def api_key_env(self) -> str: ...
    @property
    def temperature(self) -> float: ...
    @property
    def max_tokens(self) -> int: ...
    @property
    def extra_body(self) -> Mapping[str, Any]: ...
    @property
    def request_timeout_s(self) -> float: ...
    @property
    def retries(self) -> int: ...
    @property
    def backoff_s(self) -> float: ...


async def complete(
    messages: Sequence[dict[str, str]],
    options: JudgeSettings,
    who: str = "the judge",
    session: aiohttp.ClientSession | None = None,
) -> str:
    """Return the text of the answer of `who`, which messages of errors name.

    Without a session, one that lives as long as the event loop is used.

    Overload, server errors, lost connections and answers that are no completion are tried again, after a
    pause that doubles and is jittered, and no sooner than a Retry-After demands. The caller has the deadline.

    Raises:
        EndpointError: a refusal, or the last attempt failed too.
    """
    for attempt in range(options.retries + 1):
        try:
            return await _attempt(messages, options, who, session or _session())
        except _TransientJudgeError as error:
            if attempt == options.retries:
                tries = f"{attempt + 1} attempts" if attempt else "1 attempt"
                raise EndpointError(f"{error} ({tries})") from None
            pause = min(_MAX_BACKOFF_S, options.backoff_s * 2**attempt)
            await asyncio.sleep(error.after_s + pause * random.uniform(0.5, 1.0))
    raise AssertionError("unreachable")


async def _attempt(
    messages: Sequence[dict[str, str]], options: JudgeSettings, who: str, session: aiohttp.ClientSession
) -> str:
    body = {
        "model": options.model,
        "messages": list(messages),
        "temperature": options.temperature,
        "max_tokens": options.max_tokens,
        **options.extra_body,
    }
    key = os.environ.get(options.api_key_env, "") if options.api_key_env else ""
    try:
        async with session.post(
            f"{options.url.rstrip('/')}/chat/completions",
            json=body,
            headers={"Authorization": f"Bearer {key}"} if key else {},
            timeout=aiohttp.ClientTimeout(total=options.request_timeout_s),
            allow_redirects=False,
        ) as answer:
            content = await answer.read()
    except TimeoutError:
        raise _TransientJudgeError(f"{who} did not answer in {options.request_timeout_s:g} s") from None
    except (aiohttp.ClientError, OSError) as error:
        raise _TransientJudgeError(f"{who} cannot be reached: {type(error).__name__}: {error}") from None
    if answer.status in RETRIED:
        raise _TransientJudgeError(_refusal(answer.status, content, who), retry_after_s(answer.headers))
    if answer.status != 200:
        raise EndpointError(_refusal(answer.status, content, who))
    return _text(content, options, who)


def _text(content: bytes, options: JudgeSettings, who: str) -> str:
    try:
        choice: Any = msgspec.json.decode(content)["choices"][0]
        text = choice["message"]["content"]
        finish = choice.get("finish_reason")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        shown = content[:80].decode("utf-8", "replace")
        raise _TransientJudgeError(f"{who}'s server sent no completion: {shown!r}") from None
    if finish == "length":
        raise EndpointError(f"{who}'s answer was cut off after max_tokens={options.max_tokens}")
    if not isinstance(text, str):
        raise EndpointError(f"{who}'s answer holds no text (finish_reason {finish!r})")
    return text


def _refusal(status: int, content: bytes, who: str) -> str:
    shown = " ".join(content[:400].decode("utf-8", "replace").split())[:160]
    return f"{who}'s server answered {status}: {shown}"


def _session() -> aiohttp.ClientSession:
    loop = asyncio.get_running_loop()
    if loop not in _sessions:
        # The chunk bounds the concurrency; a limit here would only make requests wait unseen.
        connector = aiohttp.TCPConnector(limit=0)
        _sessions[loop] = aiohttp.ClientSession(connector=connector, trust_env=True)
        end_with_loop(_sessions[loop])
    return _sessions[loop]
