"""Requests to servers that score or play: JSON over HTTP with aiohttp, the same for every kind of server.

What is asked and what an answer is worth is the callers'. A server that is down, refuses, or answers no JSON
is a `ServiceError`, which becomes a status; never a score.
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
"""Bytes of an answer."""

_kept: dict[asyncio.AbstractEventLoop, aiohttp.ClientSession] = {}


class ServiceError(RuntimeError):
    """A server that cannot be reached, or whose answer is of no use; the message says why.

    `status`: of its answer; 0: there was none.
    """

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class Service:
    """One server. The running event loop keeps connections; cookies are kept by who hands them over."""

    def __init__(
        self, url: str, *, who: str, token: str = "", timeout_s: float = 60.0, retries: int = 3
    ) -> None:
        """Point at a server; nothing is sent.

        Args:
            url: Name and password in it are sent, and never shown.
            who: What messages call it.
            token: Sent as a bearer token; empty: none is.
            timeout_s: For one request.
            retries: Further tries where the server has not begun with it.

        Raises:
            ValueError: the URL is no address of HTTP.
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
        """Return what the server answers, as data.

        Args:
            path: Behind the address, with its slash.
            cookies: Sent, and updated with what the answer sets.

        Raises:
            ServiceError: it cannot be reached, does not answer in time, refuses, or answers no JSON.
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
        """Send a request and yield its answer, whose body has not been read. Raises as `json`."""
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
        """Open a WebSocket, which the caller closes. Raises as `json`.

        Args:
            largest: Bytes that a message may have.
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
        """Return what a server or a library says without the address's secrets and what is sent for them."""
        return self.address.unsaid(text, self._secrets())

    def _secrets(self) -> set[str]:
        return {*self.address.secrets, *(value.partition(" ")[2] for value in self._headers.values())}

    async def read(self, answer: aiohttp.ClientResponse) -> bytes:
        """Return an answer's body, which has a largest size.

        Raises:
            ServiceError: it is larger.
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
