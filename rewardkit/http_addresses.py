"""Addresses of HTTP services that may hold a name and a password: these are sent, and never shown.

Nothing is sent here.
"""

from __future__ import annotations

import base64
import re
import urllib.parse
from dataclasses import dataclass, field, fields

_CREDENTIALS = re.compile(r"(?<=//)(?:[^\s/]*@|[^\s/@:]*:[^\s@]*@)|(?<!\S)[^\s/@:]*:[^\s/@]*@")
"""What stands before the last @ of a host; also with a slash in the password, which is no address then, and
where no scheme stands before it."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a service is, and what it is told about who asks."""

    url: str
    """Without name and password."""
    authorization: str | None = field(default=None, repr=False)
    """The header of that name, where the address holds a name or a password; it is of the kind Basic."""


def address_of(url: str) -> Address:
    """Return an address in its two parts.

    Raises:
        ValueError: it is none of HTTP; the message shows no password.
    """
    try:
        parts = urllib.parse.urlsplit(url)
        good = parts.scheme in ("http", "https") and parts.hostname and (parts.port or 1)
    except ValueError:
        good = False
    if not good:
        raise ValueError(f"'{without_credentials(url)}' is not a server address; expected http://HOST:PORT")
    if not (parts.username or parts.password):
        return Address(url)
    name, password = (urllib.parse.unquote(part or "") for part in (parts.username, parts.password))
    sent = base64.b64encode(f"{name}:{password}".encode()).decode()
    host = parts.netloc.rpartition("@")[2]
    return Address(urllib.parse.urlunsplit(parts._replace(netloc=host)), f"Basic {sent}")


def without_credentials(text: str) -> str:
    """Return an address, or a text with addresses in it, without names and passwords."""
    return _CREDENTIALS.sub("", text)


class CredentialsUnshown:
    """Base of settings that hold an address: their repr shows it without name and password."""

    __slots__ = ()

    def __repr__(self) -> str:
        shown = [f"{one.name}={getattr(self, one.name)!r}" for one in fields(self)]  # type: ignore[arg-type]
        return without_credentials(f"{type(self).__name__}({', '.join(shown)})")
