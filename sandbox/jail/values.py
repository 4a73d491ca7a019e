"""Converts Python values to and from tagged JSON, to send them between processes. Decoding executes nothing.

Scalars and lists are encoded as themselves. Any other value becomes an object with one key that names its
type, so that a tuple, a set, a date or a dict with integer keys keeps its type. Only builtin types and types
from the standard library or NumPy are sent by content. Other values, such as objects of the program's own
classes, are encoded by the caller's `foreign` function or, without one, as `Opaque`. The data to decode may
be hostile.
"""

from __future__ import annotations

import builtins
import collections
import datetime
import decimal
import fractions
import json
import math
from collections.abc import Callable, Iterable
from typing import Any

MAX_DEPTH = 200
_MAX_ALIKE = 256
"""Maximum number of set members or dict keys that may have the same hash."""
_MAX_FRACTION_DIGITS = 10_000
"""Maximum number of hexadecimal digits in each part of a fraction. Reducing longer fractions takes too
long."""

Foreign = Callable[[Any], Any]
"""Function that returns JSON data (an object with one key) for a value that cannot be sent by content."""
Local = Callable[[str, Any], Any]
"""Function that returns the value for a tag and its body, or raises KeyError if the tag is unknown."""

# This encoder is reused, because `json.dumps` would create an encoder for each message.
_encoder = json.JSONEncoder(separators=(",", ":"))


class Opaque:
    """Stand-in for a value whose type cannot be sent."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def encode(value: Any, foreign: Foreign | None = None, depth: int = 0) -> Any:
    """Return `value` as JSON data.

    Raises:
        ValueError: The value is nested more deeply than MAX_DEPTH, or contains itself.
    """
    kind: Any = type(value)
    if value is None or kind is bool or kind is str:
        return value
    if kind is int:
        return value if -(2**63) <= value < 2**63 else {"int": hex(value)}
    if kind is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if depth > MAX_DEPTH:
        raise ValueError(f"a value is nested deeper than {MAX_DEPTH} levels")
    if kind is list:
        return [encode(v, foreign, depth + 1) for v in value]
    if kind is tuple or kind is set or kind is frozenset:
        return {kind.__name__: [encode(v, foreign, depth + 1) for v in value]}
    if kind is dict:
        return {"dict": _pairs(value, foreign, depth)}
    if kind is bytes or kind is bytearray:
        return {kind.__name__: value.hex()}
    return _encode_rarer(value, kind, foreign, depth)


def _pairs(value: Any, foreign: Foreign | None, depth: int) -> list[Any]:
    return [[encode(k, foreign, depth + 1), encode(v, foreign, depth + 1)] for k, v in value.items()]


def _encode_rarer(value: Any, kind: Any, foreign: Foreign | None, depth: int) -> Any:
    if kind in _SIMPLE:
        tag, parts = _SIMPLE[kind]
        return {tag: [encode(part) for part in parts(value)]}
    name = value.__name__ if isinstance(value, type) else ""
    if name and vars(builtins).get(name) is value:
        return {"type": name}
    if value is Ellipsis or value is NotImplemented:
        return {"name": repr(value)}
    module = type(value).__module__
    if module == "numpy" and hasattr(value, "tolist"):
        return {
            "numpy": [encode(value.tolist(), None, depth + 1), str(value.dtype), hasattr(value, "__len__")]
        }
    if kind is collections.deque:
        return {"deque": [encode(v, foreign, depth + 1) for v in value]}
    if module == "collections" and isinstance(value, dict):
        return {kind.__name__: _pairs(value, foreign, depth)}
    if module == "array":
        return encode(value.tolist(), None, depth + 1)
    if foreign is not None:
        return foreign(value)
    base = content_base(value)
    return {"opaque": describe(value)} if base is None else encode(base, None, depth + 1)


def content_base(value: Any) -> Any:
    """Return the content of an instance of a builtin type, or of a subclass, as the builtin type.

    The types are str, int, float, list, tuple, dict and set. For any other object, return None. The content
    is read with the builtin type's own methods, because a subclass may override them to return something
    else.
    """
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, list):
        return list(list.__iter__(value))
    if isinstance(value, tuple):
        return tuple(tuple.__iter__(value))
    if isinstance(value, dict):
        return dict(dict.items(value))
    if isinstance(value, set):
        return set(set.__iter__(value))
    return None


def describe(value: Any) -> str:
    """Return a placeholder text for a value that cannot be sent by content."""
    return f"<{type(value).__name__[:80]} object>"


_SIMPLE: dict[Any, tuple[str, Callable[[Any], Iterable[Any]]]] = {
    complex: ("complex", lambda v: (v.real, v.imag)),
    fractions.Fraction: ("fraction", lambda v: (v.numerator, v.denominator)),
    decimal.Decimal: ("decimal", lambda v: (str(v),)),
    datetime.datetime: ("datetime", lambda v: (v.isoformat(),)),
    datetime.date: ("date", lambda v: (v.isoformat(),)),
    datetime.time: ("time", lambda v: (v.isoformat(),)),
    datetime.timedelta: ("timedelta", lambda v: (v.days, v.seconds, v.microseconds)),
    range: ("range", lambda v: (v.start, v.stop, v.step)),
    slice: ("slice", lambda v: (v.start, v.stop, v.step)),
}
"""Tags and constructor arguments for types that can be rebuilt from a few plain values."""

_MADE: dict[str, Callable[..., Any]] = {
    "complex": complex,
    "decimal": decimal.Decimal,
    "datetime": datetime.datetime.fromisoformat,
    "date": datetime.date.fromisoformat,
    "time": datetime.time.fromisoformat,
    "timedelta": datetime.timedelta,
    "range": range,
    "slice": slice,
}


def decode(data: Any, local: Local | None = None) -> Any:
    """Return the value that was passed to `encode`.

    Raises:
        ValueError: The data is not a valid encoding.
    """
    if type(data) is list:
        return [decode(v, local) for v in data]
    if type(data) is not dict:
        return data
    try:
        ((tag, body),) = data.items()
        return _decode_tagged(tag, body, local)
    except (TypeError, KeyError, IndexError, AttributeError, ArithmeticError) as error:
        raise ValueError(f"a value is not encoded correctly: {error}") from None


def _decode_tagged(tag: str, body: Any, local: Local | None) -> Any:
    if tag == "int":
        return int(body, 16)
    if tag == "float":
        return float(body)
    if tag in ("bytes", "bytearray"):
        return getattr(builtins, tag).fromhex(body)
    if tag in _MADE:
        return _MADE[tag](*map(decode, body))
    if tag == "fraction":
        return _fraction(*map(decode, body))
    if tag in ("dict", "defaultdict", "OrderedDict", "Counter"):
        return _mapping(tag, [(decode(k, local), decode(v, local)) for k, v in body])
    if tag == "name":
        return {"Ellipsis": Ellipsis, "NotImplemented": NotImplemented}[body]
    if tag == "type":
        return _builtin_type(body)
    if tag == "opaque":
        return Opaque(str(body))
    if tag == "numpy":
        return local(tag, body) if local is not None else decode(body[0])
    if tag in ("tuple", "set", "frozenset", "deque"):
        return _members(tag, [decode(v, local) for v in body])
    if local is None:
        raise KeyError(tag)
    return local(tag, body)


def _members(tag: str, items: list[Any]) -> Any:
    if tag in ("set", "frozenset"):
        _check_hashes(items)
    kind: Any = collections.deque if tag == "deque" else getattr(builtins, tag)
    return kind(items)


def _mapping(tag: str, pairs: list[tuple[Any, Any]]) -> Any:
    _check_hashes([key for key, _ in pairs])
    return dict(pairs) if tag in ("dict", "defaultdict") else getattr(collections, tag)(dict(pairs))


def _check_hashes(keys: list[Any]) -> None:
    """Reject many keys with the same hash, because putting them into a dict or set takes quadratic time."""
    if len(keys) <= _MAX_ALIKE:
        return
    alike = collections.Counter(map(hash, keys))
    if max(alike.values()) > _MAX_ALIKE:
        raise ValueError(f"more than {_MAX_ALIKE} keys have the same hash")


def _fraction(above: Any, below: Any) -> fractions.Fraction:
    if max(above.bit_length(), below.bit_length()) > 4 * _MAX_FRACTION_DIGITS:
        raise ValueError("a fraction has too many digits")
    return fractions.Fraction(above, below)


def _builtin_type(name: Any) -> type:
    found = getattr(builtins, name)
    if not isinstance(found, type):
        raise ValueError(f"{name} is not a type")
    return found


def line(message: dict[str, Any]) -> bytes:
    """Return a message with already encoded values as one line of JSON."""
    return _encoder.encode(message).encode()


def loads(text: bytes) -> dict[str, Any]:
    """Parse a message from `line`, but leave its values encoded.

    Raises:
        ValueError: The text is not a JSON object, or is nested too deeply.
    """
    try:
        message = json.loads(text)
    except RecursionError:
        raise ValueError("the message is nested too deep") from None
    if type(message) is not dict:
        raise ValueError("the message is not a JSON object")
    return message
