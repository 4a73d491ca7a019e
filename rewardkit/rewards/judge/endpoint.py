"""One chat completion from an OpenAI-compatible server, with retries. Knows nothing of what is asked."""

from __future__ import annotations

import asyncio
import os
import random
import weakref
from collections.abc import Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

import httpx

if TYPE_CHECKING:
    from rewardkit.rewards.judge import Options

_RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_MAX_BACKOFF_S = 30.0

_clients: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, httpx.AsyncClient] = (
    weakref.WeakKeyDictionary()
)
"""Connections belong to an event loop; a worker has one, and keeps its connections from chunk to chunk."""


class EndpointError(RuntimeError):
    """The server gave no answer; the message says why."""


class _TransientError(EndpointError):
    """Worth another try, `after_s` from now at the earliest."""

    def __init__(self, message: str, after_s: float = 0.0) -> None:
        super().__init__(message)
        self.after_s = after_s


async def complete(messages: Sequence[dict[str, str]], options: Options) -> str:
    """Return the text of the answer.

    Overload, server errors, lost connections and answers that are no completion are tried again, after a
    pause that doubles and is jittered, and no sooner than a Retry-After demands. The caller has the deadline.

    Raises:
        EndpointError: a refusal, or the last attempt failed too.
    """
    for attempt in range(options.retries + 1):
        try:
            return await _attempt(messages, options)
        except _TransientError as error:
            if attempt == options.retries:
                tries = f"{attempt + 1} attempts" if attempt else "1 attempt"
                raise EndpointError(f"{error} ({tries})") from None
            pause = min(_MAX_BACKOFF_S, options.backoff_s * 2**attempt)
            await asyncio.sleep(error.after_s + pause * random.uniform(0.5, 1.0))
    raise AssertionError("unreachable")


async def _attempt(messages: Sequence[dict[str, str]], options: Options) -> str:
    body = {
        "model": options.model,
        "messages": list(messages),
        "temperature": options.temperature,
        "max_tokens": options.max_tokens,
        **options.extra_body,
    }
    key = os.environ.get(options.api_key_env, "") if options.api_key_env else ""
    try:
        answer = await _client().post(
            f"{options.url.rstrip('/')}/chat/completions",
            json=body,
            headers={"Authorization": f"Bearer {key}"} if key else {},
            timeout=options.request_timeout_s,
        )
    except httpx.TimeoutException:
        raise _TransientError(f"the judge did not answer in {options.request_timeout_s:g} s") from None
    except (httpx.TransportError, httpx.DecodingError) as error:
        raise _TransientError(f"the judge cannot be reached: {type(error).__name__}: {error}") from None
    if answer.status_code in _RETRIED:
        raise _TransientError(_refusal(answer), _retry_after_s(answer))
    if answer.status_code != 200:
        raise EndpointError(_refusal(answer))
    return _text(answer, options)


def _text(answer: httpx.Response, options: Options) -> str:
    try:
        choice: Any = answer.json()["choices"][0]
        text, finish = choice["message"]["content"], choice.get("finish_reason")
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise _TransientError(f"the judge's server sent no completion: {answer.text[:80]!r}") from None
    if finish == "length":
        raise EndpointError(f"the judge's answer was cut off after max_tokens={options.max_tokens}")
    if not isinstance(text, str):
        raise EndpointError(f"the judge's answer holds no text (finish_reason {finish!r})")
    return text


def _refusal(answer: httpx.Response) -> str:
    shown = " ".join(answer.text[:400].split())[:160]
    return f"the judge's server answered {answer.status_code}: {shown}"


def _retry_after_s(answer: httpx.Response) -> float:
    """Seconds to wait by the Retry-After header, a number or a date; 0.0 if there is none to understand."""
    value = answer.headers.get("retry-after", "")
    if value.isascii() and value.isdigit():
        return float(value)
    try:
        when = parsedate_to_datetime(value)
    except ValueError:
        return 0.0
    return max(0.0, (when.astimezone(UTC) - datetime.now(UTC)).total_seconds())


def _client() -> httpx.AsyncClient:
    loop = asyncio.get_running_loop()
    if loop not in _clients:
        # The chunk bounds the concurrency; a limit here would only make requests wait unseen.
        _clients[loop] = httpx.AsyncClient(limits=httpx.Limits(max_connections=None))
    return _clients[loop]
