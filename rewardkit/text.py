"""Text that models wrote, made fit for a person's terminal and for files."""

from __future__ import annotations

from typing import Any


def printable(text: str) -> str:
    """Return text that cannot steer a terminal: control characters but newlines and tabs shown as signs."""
    return "".join(c if c.isprintable() or c in "\n\t" else f"\\x{ord(c):02x}" for c in text)


def writable(value: Any) -> Any:
    """Return plain data that can be written as UTF-8: half a character (a lone surrogate) becomes U+FFFD."""
    if isinstance(value, str):
        if value.isascii():
            return value
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {writable(key): writable(item) for key, item in value.items()}
    return [writable(item) for item in value] if isinstance(value, list | tuple) else value
