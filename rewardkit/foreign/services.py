"""Sends JSON requests over HTTP, with aiohttp, to servers that score responses or run environments.

The callers define the content of the requests and interpret the responses. If a server is down, refuses a
request or does not return JSON, a `ServiceError` is raised, which becomes a status and never a score.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import msgspec

from rewardkit.http_addresses import address_of
from rewardkit.http_retry import NOT_BEGUN, retry_after_s
from rewardkit.http_sessions import end_with_loop
from rewardkit.json_objects import NOT_JSON

_PAUSE_S = 0.5
_LARGEST = 64 << 20
"""Maximum size of a response body in bytes."""

_kept: dict[asyncio.AbstractEventLoop, aiohttp.ClientSession] = {}


class ServiceError(RuntimeError):
    """Raised if a server cannot be reached or returns an unusable response.

    The message contains the reason. `status` is the HTTP status of the response, or 0 if there is no
    response.
    """

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class Service:
    """Client for a server. Each event loop has its own connections. The caller must store the cookies."""

    def __init__(
        self, url: str, *, who: str, token: str = "", timeout_s: float = 60.0, retries: int = 3
    ) -> None:
        """Create a client without sending anything.

        Args:
            url: Address of the server. A user name and password in the address are sent but never shown.
            who: Name of the server for error messages.
            token: Bearer token to send, or empty for no token.
            timeout_s: Time limit for a request, in seconds.
            retries: Maximum number of retries for a request that the server has not begun to process.

        Raises:
            ValueError: The URL is not an HTTP address.
        """
        self.address = address_of(url)
        self.who = f"{who} {self.address.rstrip('/')}"
        self.timeout_s = timeout_s
        self.retries = retries
        authorization = f"Bearer {token}" if token else self.address.authorization
        self._headers = {"Authorization": authorization} if authorization else {}

    async def json(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        headers: Mapping[str, str] | None = None,
        cookies: dict[str, str] | None = None,
    ) -> Any:
        """Send a request and return the decoded JSON from the response.

        Args:
            method: HTTP method.
            path: Path to append to the address, with a leading slash.
            body: Data to send as JSON, or None.
            headers: Additional headers.
            cookies: Cookies to send. Cookies that the response sets are added to them.

        Raises:
            ServiceError: The server cannot be reached, does not respond in time, refuses the request, or does
                not return JSON.
        """
        async with self.request(method, path, body, headers=headers, cookies=cookies) as answer:
            content = await self.read(answer)
        for secret in self._secrets():
            content = content.replace(secret.encode(), b"...")
        try:
            return msgspec.json.decode(content)
        except NOT_JSON:
            raise ServiceError(f"{self.who} did not answer with JSON: {self._said(content)!r}", 200) from None

    @asynccontextmanager
    async def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        headers: Mapping[str, str] | None = None,
        cookies: dict[str, str] | None = None,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send a request and yield the response before its body is read.

        Raises:
            ServiceError: The server cannot be reached, does not respond in time, or refuses the request.
        """
        try:
            answer = await self._sent(method, path, body, dict(headers or {}), cookies)
            try:
                yield answer
            finally:
                answer.close()
        except TimeoutError:
            raise ServiceError(f"{self.who} did not answer within {self.timeout_s:g} s") from None
        except (aiohttp.ClientError, OSError) as error:
            raise self._unreached(error) from None

    async def _sent(
        self,
        method: str,
        path: str,
        body: Any,
        headers: dict[str, str],
        cookies: dict[str, str] | None,
    ) -> aiohttp.ClientResponse:
        content = None if body is None else msgspec.json.encode(body)
        headers = {**self._headers, "Content-Type": "application/json", **headers}
        if cookies:
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in cookies.items())
        for attempt in range(self.retries + 1):
            answer = await _of_loop().request(
                method,
                self.address.request_url(path),
                data=content,
                headers=headers,
                allow_redirects=method == "GET",
                timeout=aiohttp.ClientTimeout(total=self.timeout_s),
            )
            if answer.status not in NOT_BEGUN or attempt == self.retries:
                break
            answer.close()
            await asyncio.sleep(max(retry_after_s(answer.headers), _PAUSE_S * 2**attempt))
        if cookies is not None:
            cookies.update({name: one.value for name, one in answer.cookies.items()})
        if answer.status != 200:
            said = self._said(await answer.content.read(400))
            raise ServiceError(f"{self.who} answered {answer.status}: {said}", answer.status)
        return answer

    async def websocket(self, path: str, largest: int) -> aiohttp.ClientWebSocketResponse:
        """Open a WebSocket, which the caller must close.

        Args:
            path: Path to append to the address, with a leading slash.
            largest: Maximum size of a message in bytes.

        Raises:
            ServiceError: The server cannot be reached.
        """
        url = f"ws{self.address.request_url(path).removeprefix('http')}"
        try:
            return await _of_loop().ws_connect(
                url, headers=self._headers, max_msg_size=largest, heartbeat=60.0
            )
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise self._unreached(error) from None

    def _said(self, content: bytes) -> str:
        return self._public(" ".join(content.decode("utf-8", "replace").split()))[:200]

    def _unreached(self, error: Exception) -> ServiceError:
        return ServiceError(
            f"{self.who} cannot be reached: {self._public(f'{type(error).__name__}: {error}')}"
        )

    def _public(self, text: str) -> str:
        """Remove the secrets in the address and the headers from text that a server or library produced."""
        return self.address.unsaid(text, self._secrets())

    def _secrets(self) -> set[str]:
        return {*self.address.secrets, *(value.partition(" ")[2] for value in self._headers.values())}

    async def read(self, answer: aiohttp.ClientResponse) -> bytes:
        """Return the body of a response.

        Raises:
            ServiceError: The body is larger than the maximum size.
        """
        content = await answer.content.read(_LARGEST)
        while not answer.content.at_eof() and len(content) < _LARGEST:
            content += await answer.content.read(_LARGEST - len(content))
        if not answer.content.at_eof():
            raise ServiceError(f"{self.who} sent an answer of more than {_LARGEST >> 20} MB", answer.status)
        return content


def _of_loop() -> aiohttp.ClientSession:
    loop = asyncio.get_running_loop()
    if loop not in _kept or _kept[loop].closed:
        for ended in [one for one in _kept if one.is_closed()]:
            del _kept[ended]
        _kept[loop] = aiohttp.ClientSession(
            cookie_jar=aiohttp.DummyCookieJar(), connector=aiohttp.TCPConnector(limit=0), trust_env=True
        )
        end_with_loop(_kept[loop])
    return _kept[loop]
