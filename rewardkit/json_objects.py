"""Objects of JSON in which no key stands twice; Python's reader takes the last of them without a word."""

from __future__ import annotations

from typing import Any


def object_of_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object of these keys and values; a reader's `object_pairs_hook`.

    Raises:
        ValueError: a key occurs twice.
    """
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key occurs twice")
    return found
