"""Addresses and requests of services, as they may be shown: by construction, without what is secret.

Nothing is sent here. An `Address` is, as a text, only its public part; a request's further fields are, as
data, only parameters of sampling. Whatever prints, encodes or stores one of them can therefore show nothing
else; only what sends a request asks for the rest by name.

What counts as secret is not decided by names such as `key` or `token`. It is the other way round: scheme,
host, port and path of an address are public, and so are numbers and truth values of a request's fields whose
names are in `SAMPLING`. Everything else is left out, also of digests: that of a short secret can be guessed.
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
"""Fields of a request that can change an answer and hold no secret, as their values are numbers."""

NOT_RECORDED = "(not recorded)"
"""Stands in a record for a text that may be secret."""
_SHORTEST = 4
"""Characters of the shortest text that is taken out of what a server says."""

_SCHEME = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:)?//")
_NAMED = re.compile(r"(?<!\S)[^\s/@:]*:[^\s/@]*@")
"""Name and password where no scheme stands before them."""
_MARKS = re.compile("://|@")
_IN_TEXT = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s\"<>]*|//[^\s/\"<>]*@[^\s\"<>]*")
_BEHIND = re.compile(r"[\])}'`,;:.!]*$")
"""Characters behind an address in a sentence."""


def _public(given: str) -> str:
    scheme = _SCHEME.search(given)
    if scheme is None:
        return _NAMED.sub("", given)
    rest = given[scheme.end() :]
    host = re.split(r"[/?#]", rest, maxsplit=1)[0]
    port = host.rpartition("@")[2].rpartition("]")[2].partition(":")[2]
    # A password may hold a slash or a question mark; then what seems to be the port is no number.
    held = host if "@" in host or not port or port.isdecimal() else rest
    rest = rest[len(held.rpartition("@")[0]) + ("@" in held) :]
    return given[: scheme.end()] + re.split(r"[?#]", rest, maxsplit=1)[0]


class Address(str):
    """The place of a service or a remote file. As a text it is only scheme, host, port and path.

    Two are equal if all of them is. A text without `://`, such as a path, stays as it is.
    """

    __slots__ = ("_given",)
    _given: str

    def __new__(cls, given: str = "") -> Address:
        """Keep an address as it was given."""
        if isinstance(given, Address):
            return given
        made = super().__new__(cls, _public(given))
        made._given = given
        return made

    @property
    def given(self) -> str:
        """All of it, for what opens it. Not to be shown."""
        return self._given

    @property
    def authorization(self) -> str | None:
        """The header of that name, of the kind Basic; None: there is no name and no password."""
        parts = urllib.parse.urlsplit(self._given)
        if not (parts.username or parts.password):
            return None
        name, password = (urllib.parse.unquote(part or "") for part in (parts.username, parts.password))
        return f"Basic {base64.b64encode(f'{name}:{password}'.encode()).decode()}"

    def request_url(self, path: str = "", *, without: str = "") -> str:
        """Return where a request goes: no name and password, and the query behind the path. Not to be shown.

        Args:
            path: Behind the address, with its slash, and perhaps with a query of its own.
            without: The end of the address's path that `path` replaces, where it has that.
        """
        parts = urllib.parse.urlsplit(self._given)
        more, _, query = path.partition("?")
        base = parts.path.rstrip("/").removesuffix(without) if path else parts.path
        host = parts.netloc.rpartition("@")[2]
        queries = "&".join(filter(None, (parts.query, query)))
        return urllib.parse.urlunsplit((parts.scheme, host, f"{base}{more}", queries, ""))

    @property
    def secrets(self) -> set[str]:
        """The parts of it that are not public, as they were given and decoded."""
        return {one for one in _pieces(self._given) if len(one) >= _SHORTEST}

    def unsaid(self, text: str, secrets: Iterable[str] = ()) -> str:
        """Return what a server or a library says without what of this address, and of others, is not public.

        Args:
            secrets: Further texts that were sent.
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
"""The address of what has none."""


class RequestFields(Mapping[str, Any]):
    """Further fields of requests. Shown or encoded, they are only the numbers in `recorded`."""

    __slots__ = ("_all",)

    def __init__(self, given: Mapping[str, Any] = {}) -> None:
        self._all = dict(given)

    @property
    def recorded(self) -> dict[str, Any]:
        """The fields that may be written down: parameters of sampling that are numbers or truth values."""
        found = {name: _numbers(self._all[name]) for name in sorted(SAMPLING & set(self._all))}
        return {name: value for name, value in found.items() if value not in (None, {})}

    @property
    def texts(self) -> set[str]:
        """All texts in them, none of which is to be shown."""
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
    """Base of dataclasses with fields of the types `Address` and `RequestFields`: makes their values that."""

    __slots__ = ()

    def __post_init__(self) -> None:
        """Make each value that which its annotation names."""
        for one in fields(self):  # type: ignore[arg-type]
            made = _MADE.get(str(one.type))
            value = getattr(self, one.name)
            if made is not None and value is not None:
                object.__setattr__(self, one.name, made(value))


_MADE: dict[str, Any] = {"Address": Address, "Address | None": Address, "RequestFields": RequestFields}


def address_of(url: str) -> Address:
    """Return the address of an HTTP service.

    Raises:
        ValueError: it is none of HTTP; the message shows no secret.
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
    """Return a text with only the public parts of the addresses in it."""
    return _NAMED.sub("", _IN_TEXT.sub(_cut, text))


def named_variable(name: str) -> str:
    """Return how to name the variable of the environment with a key: in small letters it may be the key."""
    shows = re.fullmatch("[A-Z_][A-Z0-9_]*", name)
    return f"the variable {name}" if shows else "the variable that api_key_env names"


def made_private(kind: type, value: Any) -> Any:
    """Return a value as one of the types of this module: a `dec_hook` of msgspec.

    Raises:
        ValueError: it does not fit.
    """
    if kind is Address and isinstance(value, str):
        return Address(value)
    if kind is RequestFields and isinstance(value, Mapping):
        return RequestFields(value)
    raise ValueError(f"expected {'a string' if kind is Address else 'an object'}")


def shown(value: Any) -> Any:
    """Return plain data in which addresses and requests are only what is public of them."""
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
    """Return what may be written of the options of a user's function: numbers, truth values, and the texts
    that stand as a word in the function's own source files. Any other text may be a key.
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
    """Return data with addresses and requests whole, to compare it in memory. Not to be shown."""
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
    """Yield the parts of an address that are not public, as given and decoded."""
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
