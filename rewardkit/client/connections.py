"""Persistent `http.client` connections for the synchronous client."""

from __future__ import annotations

import contextlib
import http.client
import queue
import ssl
import time
import urllib.parse
from collections.abc import Callable

from rewardkit.client.wire import HttpAnswer
from rewardkit.http_addresses import Address

IDLE_S = 30.0
"""Maximum idle time of a connection in seconds. The server may close connections that are idle for longer."""


class HttpConnections:
    """Pool of persistent `http.client` connections, each used by one thread at a time."""

    def __init__(self, url: Address) -> None:
        self.url = url
        self._idle: queue.LifoQueue[tuple[float, http.client.HTTPConnection]] = queue.LifoQueue()
        self._make = _maker(urllib.parse.urlsplit(url))

    def exchange(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str], timeout_s: float
    ) -> HttpAnswer:
        connection = self._take()
        try:
            connection.timeout = timeout_s
            if connection.sock is not None:
                connection.sock.settimeout(timeout_s)
            url = Address(self.url.request_url(path))
            target = urllib.parse.urlsplit(url.given)._replace(scheme="", netloc="").geturl()
            connection.request(method, target, body, headers)
            response = connection.getresponse()
            retry_after = response.getheader("retry-after", "")
            sent = headers.get("authorization", "")
            answer = HttpAnswer(url, response.status, retry_after, response.read(), sent)
        except BaseException:
            connection.close()
            raise
        self._idle.put((time.monotonic(), connection))
        return answer

    def _take(self) -> http.client.HTTPConnection:
        with contextlib.suppress(queue.Empty):
            while True:
                used, connection = self._idle.get_nowait()
                if time.monotonic() - used < IDLE_S:
                    return connection
                connection.close()
        return self._make()

    def close(self) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                self._idle.get_nowait()[1].close()


def _maker(parts: urllib.parse.SplitResult) -> Callable[[], http.client.HTTPConnection]:
    host = parts.hostname or ""
    if parts.scheme == "https":
        context = ssl.create_default_context()
        return lambda: http.client.HTTPSConnection(host, parts.port, context=context)
    return lambda: http.client.HTTPConnection(host, parts.port)
