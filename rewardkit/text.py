"""Text that models wrote, made fit for a person's terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    """Return text that cannot steer a terminal: control characters but newlines and tabs shown as signs."""
    return "".join(c if c.isprintable() or c in "\n\t" else f"\\x{ord(c):02x}" for c in text)
