"""Python values as tagged JSON: how arguments and results cross the wall. Executes nothing to decode.

Scalars and lists are themselves; everything else is an object with one key that says what it is, so a
tuple, a set, bytes or a dict with integer keys arrives as what it was. Only exact types of the language
are encoded by content; anything else (a class of the program's own) is an `Opaque`.
"""

from __future__ import annotations

import json
import math
from typing import Any

MAX_DEPTH = 200

_encoder = json.JSONEncoder(separators=(",", ":"))  # `json.dumps` would make one for each message

_TYPES: dict[str, Any] = {
    kind.__name__: kind for kind in (bool, int, float, complex, str, bytes, list, tuple, set, dict)
}


class Opaque:
    """A value of a type that cannot cross; `ref` is its number or name on the other side, where it stays."""

    def __init__(self, text: str, ref: int | str | None = None) -> None:
        self.text = text
        self.ref = ref

    def __repr__(self) -> str:
        return self.text


def encode(value: Any, refs: list[Any] | None = None, depth: int = 0) -> Any:
    """Return `value` as JSON data. With `refs`, values that cannot cross are kept there and referred to.

    Raises:
        ValueError: it is nested deeper than MAX_DEPTH (or contains itself).
    """
    kind: Any = type(value)
    if value is None or kind is bool or kind is str:
        return value
    if kind is int:
        return value if -(2**63) <= value < 2**63 else {"int": hex(value)}
    if kind is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if depth > MAX_DEPTH:
        raise ValueError(f"a value nested deeper than {MAX_DEPTH}")
    if kind is list:
        return [encode(v, refs, depth + 1) for v in value]
    if kind is tuple or kind is set or kind is frozenset:
        return {kind.__name__: [encode(v, refs, depth + 1) for v in value]}
    if kind is dict:
        return {"dict": [[encode(k, refs, depth + 1), encode(v, refs, depth + 1)] for k, v in value.items()]}
    if kind is bytes or kind is bytearray:
        return {kind.__name__: value.hex()}
    if kind is complex:
        return {"complex": [encode(value.real), encode(value.imag)]}
    if isinstance(value, Opaque) and value.ref is not None:
        return {"ref": value.ref}
    if kind is type and value in _TYPES.values():
        return {"type": next(name for name, known in _TYPES.items() if known is value)}
    return _encode_foreign(value, refs, depth)


def _encode_foreign(value: Any, refs: list[Any] | None, depth: int) -> Any:
    """Encode numpy's scalars and arrays and the standard containers' kin by content, the rest by name."""
    module = type(value).__module__
    if module == "numpy" and hasattr(value, "tolist"):
        return {"numpy": encode(value.tolist(), None, depth + 1)}
    for name in ("list", "tuple", "dict", "str", "int", "float"):
        base = _TYPES[name]
        if isinstance(value, base) and module in ("collections", "typing", "enum", "builtins"):
            return encode(base(value), refs, depth + 1)
    if module == "collections" and type(value).__name__ == "deque":
        return {"deque": [encode(v, refs, depth + 1) for v in value]}
    if refs is not None:
        refs.append(value)
        return {"opaque": _describe(value), "ref": len(refs) - 1}
    return {"opaque": _describe(value)}


def _describe(value: Any) -> str:
    return f"<{type(value).__name__[:80]} object>"


def decode(data: Any, refs: list[Any] | None = None) -> Any:
    """Return the value that `encode` was given, references looked up in `refs`.

    Raises:
        ValueError: it is not something that `encode` makes.
    """
    if type(data) is list:
        return [decode(v, refs) for v in data]
    if type(data) is not dict:
        return data
    if "opaque" in data:
        return Opaque(str(data["opaque"]), data.get("ref"))
    try:
        ((tag, body),) = data.items()
        return _decode_tagged(tag, body, refs)
    except (TypeError, KeyError, IndexError, AttributeError) as error:
        raise ValueError(f"not an encoded value: {error}") from None


def _decode_tagged(tag: str, body: Any, refs: list[Any] | None) -> Any:
    if tag == "int":
        return int(body, 16)
    if tag == "float":
        return float(body)
    if tag == "complex":
        return complex(decode(body[0]), decode(body[1]))
    if tag == "bytes":
        return bytes.fromhex(body)
    if tag == "bytearray":
        return bytearray.fromhex(body)
    if tag == "dict":
        return {decode(k, refs): decode(v, refs) for k, v in body}
    if tag == "ref":
        if refs is None:
            raise ValueError("a reference where none is possible")
        return refs[body]
    if tag == "type":
        return _TYPES[body]
    if tag == "numpy":
        return decode(body, refs)
    items = [decode(v, refs) for v in body]
    return {"tuple": tuple, "set": set, "frozenset": frozenset, "deque": list}[tag](items)


def line(message: dict[str, Any]) -> bytes:
    """Return a message, its values encoded, as one line of JSON."""
    return _encoder.encode(message).encode()


def loads(text: bytes) -> dict[str, Any]:
    """Read a message that `line` made; its values are still encoded.

    Raises:
        ValueError: it is not one (nested too deep included).
    """
    try:
        message = json.loads(text)
    except RecursionError:
        raise ValueError("a message nested too deep") from None
    if type(message) is not dict:
        raise ValueError("a message that is no object")
    return message
