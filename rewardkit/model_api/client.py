"""Client for chat completions from OpenAI-compatible servers, based on the package `openai`.

Judges, simulated users and generation engines share this client, but build their own requests and check the
responses themselves. `openai` is imported at the first request. Connections are made with aiohttp, because
`openai`'s default connections use four times as much CPU time when a thousand connections are open.
"""

from __future__ import annotations

import asyncio
import json
import os
import ssl
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING, Any, NamedTuple

import aiohttp
import msgspec

from rewardkit.errors import MissingDependencyError
from rewardkit.http_addresses import Address, NetworkSettings, RequestFields, address_of, named_variable
from rewardkit.http_retry import retry_after_s
from rewardkit.http_sessions import end_with_loop
from rewardkit.messages import content_text
from rewardkit.model_api.failures import broken_choice, is_withheld, why_failed

if TYPE_CHECKING:
    import httpx2

_PATH = "/chat/completions"
_OWN_FIELDS = frozenset({"messages", "model", "tools", "response_format", "stop"})
"""Request fields that callers set. Texts in all other fields come from the user and may be secret."""
_LIMIT = "max_tokens"
_NEW_LIMIT = "max_completion_tokens"
"""Field that OpenAI's reasoning models require in place of `max_tokens`."""
_NEVER_SENT = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)
"""Errors of aiohttp before a request is sent."""
_LONGEST_REST_S = 120.0
"""Maximum time in seconds to wait if a server asks for a pause. `openai` does not wait longer either."""


@dataclass(frozen=True, slots=True)
class Endpoint(NetworkSettings):
    """Server that receives requests, and settings for the requests."""

    url: Address
    """Base URL of the API, such as `http://localhost:8000/v1`. It may contain a user name and password, which
    are then sent instead of the API key."""
    model: str
    api_key_env: str = ""
    """Environment variable that contains the API key. If empty, no key is sent."""
    request_timeout_s: float = 60.0
    """Time limit in seconds for one attempt."""
    retries: int = 4
    who: str = "the server"
    """Name of the server in error messages."""

    @property
    def address(self) -> Address:
        """Address for requests. When converted to text, it shows only its public part."""
        return Address(address_of(self.url).request_url(_PATH, without=_PATH))

    @property
    def authorization(self) -> str | None:
        """Value of the Authorization header, or None if there is no key."""
        key = os.environ.get(self.api_key_env, "") if self.api_key_env else ""
        return self.url.authorization or (f"Bearer {key}" if key else None)

    def unsaid(self, text: str, body: Mapping[str, Any]) -> str:
        """Remove secrets in the address and the request from a text that a server or library returned."""
        key = (self.authorization or "").partition(" ")[2]
        sent = {name: value for name, value in body.items() if name not in _OWN_FIELDS}
        return self.url.unsaid(text, {key, *RequestFields(sent).texts})


class EndpointError(RuntimeError):
    """Raised if the server returned no completion. The message gives the reason."""


class AttemptMeter:
    """Meter of the attempts of one request. An exception that it raises ends the request.

    This meter records nothing. A subclass overrides all methods.
    """

    async def begin(self) -> None:
        """Prepare for an attempt, before it is sent."""

    def unsent(self) -> None:
        """Record that the attempt did not reach the server."""

    def answered(self, answer: Mapping[str, Any]) -> None:
        """Record the server's answer, usable or not. The answer is empty if the server sent an error.

        This method is not called if the answer did not arrive or the caller was cancelled.
        """


class _Sending(NamedTuple):
    """Request of the current task, whose attempts are being sent."""

    endpoint: Endpoint
    body: Mapping[str, Any]
    meter: AttemptMeter


_SENDING: ContextVar[_Sending] = ContextVar("sending")
_UNMETERED = AttemptMeter()


class _OldLimitError(EndpointError):
    """Raised if the server does not accept `max_tokens`."""


def require_openai(what: str) -> None:
    """Check that a recent version of the package `openai` is installed.

    Args:
        what: Name of the feature that needs the package, for the error message.

    Raises:
        MissingDependencyError: The package is missing or too old.
    """
    try:
        version = metadata.version("openai")
    except metadata.PackageNotFoundError:
        version = "0"
    if int(version.partition(".")[0]) < 3:
        raise MissingDependencyError(
            f"{what} needs the package openai, version 3 or newer; "
            "install it with: pip install 'rewardkit[openai]'"
        )


async def complete(
    endpoint: Endpoint, body: Mapping[str, Any], meter: AttemptMeter = _UNMETERED
) -> dict[str, Any]:
    """Request a completion whose first choice has a message and was not aborted by the server.

    Requests are retried after an overload, a server error, a lost connection or an invalid response. The
    pauses between attempts double and have jitter. Each pause is at least as long as a Retry-After header
    requires, and the header delays all requests to the server. Callers must set their own deadline.

    An answer that the server's filter withheld is not requested again at temperature 0, since the filter
    would withhold the same answer.

    Args:
        endpoint: Server and model.
        body: Fields of the request except `model`.
        meter: Meter that is told about each attempt.

    Raises:
        EndpointError: The server refused the request, or all attempts failed.
    """
    connections = _of_loop()
    body = {"model": endpoint.model, **body}
    if endpoint not in connections.of_new_limit:
        try:
            return await connections.complete(_Sending(endpoint, body, meter))
        except _OldLimitError:
            connections.of_new_limit.add(endpoint)
    body = {_NEW_LIMIT if name == _LIMIT else name: value for name, value in body.items()}
    return await connections.complete(_Sending(endpoint, body, meter))


async def complete_text(
    endpoint: Endpoint,
    messages: Sequence[Mapping[str, str]],
    *,
    temperature: float,
    max_tokens: int,
    extra_body: Mapping[str, Any],
) -> str:
    """Request a completion and return its text.

    Raises:
        EndpointError: See `complete`. Also raised if the text was cut off or is missing.
    """
    body = {"messages": messages, "temperature": temperature, "max_tokens": max_tokens, **extra_body}
    return text_of(await complete(endpoint, body), endpoint, max_tokens)


def text_of(completion: Mapping[str, Any], endpoint: Endpoint, max_tokens: int | None) -> str:
    """Return the text of a completion's first choice.

    Args:
        completion: Completion from `complete`.
        endpoint: Server that returned the completion, for error messages.
        max_tokens: Token limit in the request. If None, a text that was cut off is accepted.

    Raises:
        EndpointError: The text was cut off or is missing.
    """
    choice = completion["choices"][0]
    finish = choice.get("finish_reason")
    if finish == "length" and max_tokens is not None:
        raise EndpointError(
            f"{endpoint.who} sent an answer truncated at max_tokens={max_tokens}; raise max_tokens"
        )
    content = choice["message"].get("content")
    if content is None:
        raise EndpointError(f"{endpoint.who} sent an answer without text (finish_reason {finish!r})")
    return content_text(content)


class _Connections:
    """Connections in one event loop: the HTTP client, and information about servers from earlier requests."""

    def __init__(self) -> None:
        import httpx2
        import openai

        class Client(openai.DefaultAioHttpClient):
            async def send(self, request: httpx2.Request, **given: Any) -> httpx2.Response:
                try:
                    return await super().send(request, **given)
                except httpx2.RequestError as error:
                    if isinstance(error.__cause__, _NEVER_SENT):
                        _SENDING.get().meter.unsent()
                    raise

        http = Client(
            verify=ssl.create_default_context(),  # the certificates that this machine trusts
            limits=httpx2.Limits(max_connections=0),  # no limit here, since callers limit themselves
            follow_redirects=False,
            event_hooks={"request": [self._begin], "response": [self._check]},
        )
        self._client = openai.AsyncOpenAI(
            api_key="of each request", base_url="of each request", http_client=http
        )
        self._resting_until: dict[str, float] = {}
        """Time on the event loop's clock before which no request to a host may start, by host."""
        self.of_new_limit: set[Endpoint] = set()
        """Servers and models that require `max_completion_tokens`."""

    @property
    def closed(self) -> bool:
        return self._client.is_closed()

    async def close(self) -> None:
        await self._client.close()

    async def complete(self, sending: _Sending) -> dict[str, Any]:
        """Request a completion. The body contains all fields of the request. See the function `complete`."""
        import httpx2
        import openai

        endpoint, body, _ = sending
        token = _SENDING.set(sending)
        try:
            answer = await self._client.post(
                endpoint.address.given,
                cast_to=httpx2.Response,
                content=json.dumps(body).encode(),  # ASCII can also encode lone surrogates
                options={
                    "headers": {"Authorization": endpoint.authorization or openai.omit},
                    "timeout": endpoint.request_timeout_s,
                    "max_retries": endpoint.retries,
                },
            )
        except openai.APIStatusError as error:
            raise _refusal(error.response, endpoint, body) from None
        except (openai.APIConnectionError, aiohttp.ClientError) as error:
            why = endpoint.unsaid(_why_none(error, endpoint), body)
            raise EndpointError(f"{endpoint.who} {why}") from None
        finally:
            _SENDING.reset(token)
        return _object_in(answer.content)

    async def _begin(self, request: httpx2.Request) -> None:
        """Delay an attempt until the end of the pause that the server asked for, and start its meter."""
        until = self._resting_until.get(request.url.host, 0.0)
        await asyncio.sleep(until - asyncio.get_running_loop().time())
        await _SENDING.get().meter.begin()

    async def _check(self, response: httpx2.Response) -> None:
        """Record the answer and when the next request may start. For an invalid answer, raise an error.

        The error is retried unless it is an EndpointError.
        """
        import httpx2

        endpoint, body, meter = _SENDING.get()
        if response.status_code != 200:
            meter.answered({})
            rest = min(retry_after_s(response.headers), _LONGEST_REST_S)
            until = asyncio.get_running_loop().time() + rest
            host = response.request.url.host
            self._resting_until[host] = max(until, self._resting_until.get(host, 0.0))
            return
        try:
            async with asyncio.timeout(response.request.extensions["timeout"]["read"]):
                content = await response.aread()
        except TimeoutError:
            raise httpx2.ReadTimeout("the answer did not end") from None
        answer = _object_in(content)
        meter.answered(answer)
        why = _why_unusable(answer, content)
        if why is not None and is_withheld(answer) and body.get("temperature") == 0:
            raise EndpointError(f"{endpoint.who} sent no completion: {why}")
        if why is not None:
            raise httpx2.DecodingError(why)


_kept: dict[asyncio.AbstractEventLoop, _Connections] = {}
"""Connections by event loop. A worker has one event loop, so it keeps its connections between chunks."""


def _of_loop() -> _Connections:
    loop = asyncio.get_running_loop()
    if loop not in _kept:
        for ended in [loop for loop in _kept if loop.is_closed()]:
            del _kept[ended]
        _kept[loop] = _Connections()
        end_with_loop(_kept[loop])
    return _kept[loop]


def _object_in(content: bytes) -> dict[str, Any]:
    """Return the JSON object in a response body, or an empty object if it contains none."""
    try:
        answer: dict[str, Any] = msgspec.json.decode(content, type=dict[str, Any])
    except (ValueError, RecursionError):
        return {}
    return answer


def _why_unusable(answer: Mapping[str, Any], content: bytes) -> str | None:
    """Return why an answer is no valid completion, or None if it is one."""
    try:
        why = why_failed(answer) or broken_choice(answer["choices"][0])
        if why is None and not isinstance(answer["choices"][0]["message"].get("content"), str | list | None):
            raise TypeError
    except (LookupError, TypeError, AttributeError):
        why = repr(content[:80].decode("utf-8", "replace"))
    return why


def _refusal(answer: httpx2.Response, endpoint: Endpoint, body: Mapping[str, Any]) -> EndpointError:
    said = " ".join(endpoint.unsaid(answer.text, body)[:400].split())[:160]
    message = f"{endpoint.who} answered {answer.status_code}: {said}"
    if answer.status_code == 400 and _NEW_LIMIT in answer.text:
        return _OldLimitError(message)
    if answer.status_code in (401, 403):
        sent = (
            f"the key is taken from {named_variable(endpoint.api_key_env)}"
            if endpoint.api_key_env
            else "no key was sent"
        )
        return EndpointError(f"{message}; {sent}")
    if answer.status_code == 404:
        return EndpointError(
            f"{message}; the request was for the model '{endpoint.model}' at {endpoint.address}"
        )
    return EndpointError(message)


def _why_none(error: Exception, endpoint: Endpoint) -> str:
    import httpx2

    cause = error.__cause__ or error
    if isinstance(cause, httpx2.DecodingError):
        return f"sent no completion: {cause}"
    if isinstance(cause, httpx2.ReadTimeout):
        return f"did not answer within {endpoint.request_timeout_s:g} s"
    return f"cannot be reached: {cause}"
