"""Sanitising of model-written text for terminals and files."""

from __future__ import annotations

from typing import Any


def printable(text: str) -> str:
    """Escape the control characters in a text, except newlines and tabs, to make it safe for a terminal."""
    return "".join(c if c.isprintable() or c in "\n\t" else f"\\x{ord(c):02x}" for c in text)


def writable(value: Any) -> Any:
    """Replace lone surrogates in plain data by U+FFFD, so that the data can be encoded as UTF-8."""
    if isinstance(value, str):
        if value.isascii():
            return value
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {writable(key): writable(item) for key, item in value.items()}
    return [writable(item) for item in value] if isinstance(value, list | tuple) else value
