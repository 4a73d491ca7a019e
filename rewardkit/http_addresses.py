"""Types for addresses of services and request fields. Printing or storing such an object hides its secrets.

The printed, encoded or stored form of an `Address` contains only its public part, and that of
`RequestFields` contains only sampling parameters. Code that sends a request has to access the secret parts
explicitly. This module sends nothing.

The module does not recognise secrets by names such as `key` or `token`. Instead, it treats only the
following as public: the scheme, host, port and path of an address, and the numbers and booleans in request
fields whose names are in `SAMPLING`. Even digests leave out everything else, because an attacker can guess a
short secret from its digest.
"""

from __future__ import annotations

import base64
import re
import urllib.parse
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

SAMPLING = frozenset(
    {"temperature", "top_p", "top_k", "min_p", "typical_p", "seed", "n", "best_of", "logprobs"}
    | {"top_logprobs", "max_tokens", "max_completion_tokens", "min_tokens", "presence_penalty"}
    | {"frequency_penalty", "repetition_penalty", "length_penalty", "use_beam_search", "ignore_eos"}
    | {"chat_template_kwargs", "enable_thinking", "thinking", "thinking_budget"}
)
"""Request fields that can change a response. Numbers and booleans in these fields are not secret."""

NOT_RECORDED = "(not recorded)"
"""Placeholder in records for a text that may be secret."""
_SHORTEST = 4
"""Minimum length, in characters, of a secret that is removed from a server's message."""

_SCHEME = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:)?//")
_NAMED = re.compile(r"(?<!\S)[^\s/@:]*:[^\s/@]*@")
"""Pattern of `user:password@` without a scheme before it."""
_MARKS = re.compile("://|@")
_IN_TEXT = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s\"<>]*|//[^\s/\"<>]*@[^\s\"<>]*")
_BEHIND = re.compile(r"[\])}'`,;:.!]*$")
"""Pattern of punctuation marks that end a sentence or a bracket after an address."""


def _public(given: str) -> str:
    scheme = _SCHEME.search(given)
    if scheme is None:
        return _NAMED.sub("", given)
    rest = given[scheme.end() :]
    host = re.split(r"[/?#]", rest, maxsplit=1)[0]
    port = host.rpartition("@")[2].rpartition("]")[2].partition(":")[2]
    # The text after the first colon is not a port number if a password contains a slash or a question mark.
    held = host if "@" in host or not port or port.isdecimal() else rest
    rest = rest[len(held.rpartition("@")[0]) + ("@" in held) :]
    return given[: scheme.end()] + re.split(r"[?#]", rest, maxsplit=1)[0]


class Address(str):
    """Address of a service or a remote file. The string form shows only scheme, host, port and path.

    Comparisons include the secrets. A text without `://`, such as a path, is kept unchanged.
    """

    __slots__ = ("_given",)
    _given: str

    def __new__(cls, given: str = "") -> Address:
        """Create an address from its complete text, including any secrets."""
        if isinstance(given, Address):
            return given
        made = super().__new__(cls, _public(given))
        made._given = given
        return made

    @property
    def given(self) -> str:
        """Complete address including its secrets, for connecting to the service. Never print or store it."""
        return self._given

    @property
    def authorization(self) -> str | None:
        """Value of the `Authorization` header, or None if the address has no user name or password."""
        parts = urllib.parse.urlsplit(self._given)
        if not (parts.username or parts.password):
            return None
        name, password = (urllib.parse.unquote(part or "") for part in (parts.username, parts.password))
        return f"Basic {base64.b64encode(f'{name}:{password}'.encode()).decode()}"

    def request_url(self, path: str = "", *, without: str = "") -> str:
        """Return the URL for a request, including its query and excluding user name and password. Never show
        it.

        Args:
            path: Path to append to the address, with a leading slash and optionally with a query.
            without: Suffix to remove from the path of the address before `path` is appended.
        """
        parts = urllib.parse.urlsplit(self._given)
        more, _, query = path.partition("?")
        base = parts.path.rstrip("/").removesuffix(without) if path else parts.path
        host = parts.netloc.rpartition("@")[2]
        queries = "&".join(filter(None, (parts.query, query)))
        return urllib.parse.urlunsplit((parts.scheme, host, f"{base}{more}", queries, ""))

    @property
    def secrets(self) -> set[str]:
        """Secret parts of the address, both as given and URL-decoded."""
        return {one for one in _pieces(self._given) if len(one) >= _SHORTEST}

    def unsaid(self, text: str, secrets: Iterable[str] = ()) -> str:
        """Return a message from a server or a library with the secret parts of addresses removed.

        Args:
            text: Message to clean.
            secrets: Further texts to remove, such as those sent with the request.
        """
        for one in sorted({*self.secrets, *secrets}, key=len, reverse=True):
            if len(one) >= _SHORTEST:
                text = text.replace(one, "...")
        return public_text(text)

    def __eq__(self, other: object) -> bool:
        return self._given == (other._given if isinstance(other, Address) else other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self._given)

    def __reduce__(self) -> tuple[type[Address], tuple[str]]:
        return Address, (self._given,)


NO_ADDRESS = Address()
"""Empty address, for objects without an address."""


class RequestFields(Mapping[str, Any]):
    """Additional request fields. When printed or encoded, they show only the fields in `recorded`."""

    __slots__ = ("_all",)

    def __init__(self, given: Mapping[str, Any] = {}) -> None:
        self._all = dict(given)

    @property
    def recorded(self) -> dict[str, Any]:
        """Fields that may be recorded: numbers and booleans in sampling parameters."""
        found = {name: _numbers(self._all[name]) for name in sorted(SAMPLING & set(self._all))}
        return {name: value for name, value in found.items() if value not in (None, {})}

    @property
    def texts(self) -> set[str]:
        """All texts in the fields. Never show them."""
        return set(_texts(self._all))

    def __getitem__(self, name: str) -> Any:
        return self._all[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def __hash__(self) -> int:
        return hash(tuple(self._all))

    def __repr__(self) -> str:
        return repr(self.recorded)

    def __reduce__(self) -> tuple[type[RequestFields], tuple[dict[str, Any]]]:
        return RequestFields, (self._all,)


class NetworkSettings:
    """Base class for dataclasses that converts values for fields of type `Address` or `RequestFields`."""

    __slots__ = ()

    def __post_init__(self) -> None:
        """Convert the values of fields annotated as `Address` or `RequestFields`."""
        for one in fields(self):  # type: ignore[arg-type]
            made = _MADE.get(str(one.type))
            value = getattr(self, one.name)
            if made is not None and value is not None:
                object.__setattr__(self, one.name, made(value))


_MADE: dict[str, Any] = {"Address": Address, "Address | None": Address, "RequestFields": RequestFields}


def address_of(url: str) -> Address:
    """Validate and return the address of an HTTP service.

    Raises:
        ValueError: The address is not a valid HTTP address. The message contains no secrets.
    """
    address = Address(url)
    try:
        parts = urllib.parse.urlsplit(address.given)
        good = parts.scheme in ("http", "https") and parts.hostname and (parts.port or 1)
    except ValueError:
        good = False
    if not good:
        raise ValueError(f"'{address}' is not a server address; expected http://HOST:PORT")
    return address


def public_text(text: str) -> str:
    """Return a text in which addresses are reduced to their public parts."""
    return _NAMED.sub("", _IN_TEXT.sub(_cut, text))


def named_variable(name: str) -> str:
    """Describe the environment variable that contains an API key.

    A name with lower-case letters is not shown, since it may be the key itself.
    """
    shows = re.fullmatch("[A-Z_][A-Z0-9_]*", name)
    return f"the variable {name}" if shows else "the variable that api_key_env names"


def made_private(kind: type, value: Any) -> Any:
    """Convert a value to `Address` or `RequestFields`. Serves as a `dec_hook` for msgspec.

    Raises:
        ValueError: The value does not fit the type.
    """
    if kind is Address and isinstance(value, str):
        return Address(value)
    if kind is RequestFields and isinstance(value, Mapping):
        return RequestFields(value)
    raise ValueError(f"expected {'a string' if kind is Address else 'an object'}")


def shown(value: Any) -> Any:
    """Return a copy of a value in which addresses and request fields are reduced to their public parts.

    Mappings and dataclasses become dicts, and tuples become lists. Values of other types are returned as they
    are.
    """
    if isinstance(value, RequestFields):
        return value.recorded
    if isinstance(value, str):
        return str(value) if isinstance(value, Address) or not _MARKS.search(value) else public_text(value)
    if isinstance(value, Mapping):
        return {str(name): shown(inner) for name, inner in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: shown(getattr(value, one.name)) for one in fields(value)}
    return [shown(inner) for inner in value] if isinstance(value, list | tuple) else value


def recorded_options(options: Mapping[str, Any], sources: Iterable[str]) -> dict[str, Any]:
    """Return the options of a user's function in a form that may be recorded.

    Numbers, booleans, and texts that occur as a word in the function's source texts (`sources`) are kept. Any
    other text may be a secret key, so `NOT_RECORDED` replaces it.
    """
    joined = "\n".join(sources)

    def recorded(value: Any) -> Any:
        if isinstance(value, str):
            known = re.search(rf"(?<!\w){re.escape(value)}(?!\w)", joined)
            return shown(value) if known or not value else NOT_RECORDED
        if isinstance(value, Mapping):
            return {str(name): recorded(inner) for name, inner in value.items()}
        if isinstance(value, list | tuple):
            return [recorded(inner) for inner in value]
        return value if value is None or isinstance(value, bool | int | float) else NOT_RECORDED

    return {name: recorded(value) for name, value in shown(options).items()}


def revealed(value: Any) -> Any:
    """Return a value with complete addresses and request fields, to compare it in memory. Never show it."""
    if isinstance(value, Address):
        return value.given
    if isinstance(value, Mapping):
        return {name: revealed(inner) for name, inner in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: revealed(getattr(value, one.name)) for one in fields(value)}
    return [revealed(inner) for inner in value] if isinstance(value, list | tuple) else value


def _cut(found: re.Match[str]) -> str:
    public = _public(found[0])
    behind = _BEHIND.search(found[0])
    return public if behind is None or public.endswith(behind[0]) else f"{public}{behind[0]}"


def _pieces(given: str) -> set[str]:
    """Return the secret parts of an address, both as given and URL-decoded."""
    public = _public(given)
    found = {given} if public != given else set()
    _, scheme, rest = given.rpartition("://")
    if not scheme:
        return found
    name, at, _ = rest.rpartition("@")
    query = re.split(r"[?#]", rest, maxsplit=1)[1:]
    found |= {*query, *re.split(r"[?#&]", "".join(query))}
    found |= {value for pair in found for _, equals, value in [pair.partition("=")] if equals}
    if at and name and not public.endswith(rest):
        found |= {name, *name.split(":", 1)}
    return found | {urllib.parse.unquote(one) for one in found}


def _numbers(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): inner for name, inner in value.items() if isinstance(inner, bool | int | float)}
    return value if isinstance(value, bool | int | float) else None


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(inner)
