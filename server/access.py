"""Access control. It checks the token of each request, and the origin of requests sent by web pages.

Access is decided from the headers alone, before the server reads the body. Load limits are in `admission`.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import ipaddress
import socket
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import urlsplit

from starlette.responses import Response

from rewardkit.server.wire import refusal

Headers = Mapping[bytes, bytes]

_PRIVATE_SUFFIXES = (".localhost", ".local", ".internal", ".svc", ".home.arpa")
"""Suffixes that do not occur in public DNS names."""

_MAX_HOSTS = 1_024
"""Maximum number of accepted host names in the cache."""


class Access:
    """Access control based on request headers.

    Args:
        tokens: Tokens that are accepted as a bearer token, as the password or user of Basic authentication,
            in `X-Api-Key` and in `XRL-Authorization`. Without tokens, all requests to one of the server's own
            host names are accepted.
        origins: Origins whose pages may call the server; `*` allows all origins.
        hosts: Additional host names of this server. Addresses, names without a dot and private names are
            always accepted.
    """

    def __init__(
        self, tokens: Sequence[str] = (), *, origins: Iterable[str] = (), hosts: Iterable[str] = ()
    ) -> None:
        self._tokens = [token.encode() for token in tokens]
        self._origins = {origin.encode() for origin in origins}
        self._names = {name.lower() for name in (*hosts, socket.gethostname())}
        self._good_hosts: set[bytes] = set()

    def refused(self, headers: Headers, *, open_path: bool) -> Response | None:
        """Return a response that refuses a request with these headers, or None if the request is allowed.

        Args:
            headers: Headers of the request.
            open_path: True if the path needs no token.
        """
        origin = headers.get(b"origin")
        if origin is not None and not self._may_call(origin, headers):
            return refusal(
                403,
                "cross_origin",
                "requests from web pages of other origins are not allowed; allow an origin with "
                "--cors-origin",
            )
        if not self._tokens:
            return None if self._is_ours(headers.get(b"host", b"")) else _not_ours(headers[b"host"])
        if open_path or self._has_token(headers):
            return None
        return refusal(
            401,
            "unauthorized",
            "send the header 'Authorization: Bearer TOKEN' with a valid token; a client that takes "
            "only an address can use http://:TOKEN@HOST/",
            {"www-authenticate": "Bearer"},
        )

    def _has_token(self, headers: Headers) -> bool:
        same = [hmac.compare_digest(sent, token) for sent in _credentials(headers) for token in self._tokens]
        return any(same)  # Comparing with every token makes the duration independent of which token matched.

    def _may_call(self, origin: bytes, headers: Headers) -> bool:
        if headers.get(b"sec-fetch-site") in (b"same-origin", b"none"):  # Web pages cannot set this header.
            return True
        if origin in self._origins or b"*" in self._origins:
            return True
        return origin.partition(b"://")[2] == headers.get(b"host")

    def _is_ours(self, host: bytes) -> bool:
        """Return True if `Host` is a name of this server.

        A malicious page can make its own host name resolve to this server, but such requests carry the page's
        host name in `Host`.
        """
        if host in self._good_hosts:
            return True
        good = _is_private(host.decode("latin-1"), self._names)
        if good and len(self._good_hosts) < _MAX_HOSTS:
            self._good_hosts.add(host)
        return good


def _credentials(headers: Headers) -> list[bytes]:
    """Return all possible tokens from the headers in which clients may send them."""
    found = []
    for name in (b"authorization", b"xrl-authorization"):
        scheme, _, sent = headers.get(name, b"").partition(b" ")
        if scheme.lower() == b"bearer":
            found.append(sent.strip())
        elif scheme.lower() == b"basic":
            found += _basic(sent.strip())
    key = headers.get(b"x-api-key")
    return found if key is None else [*found, key]


def _basic(encoded: bytes) -> list[bytes]:
    """Return the password and the user name, since some clients send the token as the user name."""
    try:
        user, _, password = base64.b64decode(encoded, validate=True).partition(b":")
    except (binascii.Error, ValueError):
        return []
    return [password, user]


def _is_private(host: str, names: set[str]) -> bool:
    try:
        name = (urlsplit(f"//{host}").hostname or "").rstrip(".").lower()
    except ValueError:
        return False
    if "." not in name and ":" not in name:
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return name in names or name.endswith(_PRIVATE_SUFFIXES)
    return True


def _not_ours(host: bytes) -> Response:
    name = host.decode("latin-1")[:100]
    message = (
        f"the host name '{name}' is not allowed without a token; pass --allow-host, or start the server "
        "with a token"
    )
    return refusal(421, "unknown_host", message)
