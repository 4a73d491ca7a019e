"""Shared parts of readers of JSON: the exceptions that they raise, and objects without duplicate keys, of
which Python's reader silently takes the last."""

from __future__ import annotations

from collections import Counter
from typing import Any

NOT_JSON = (ValueError, RecursionError)
"""Exceptions of msgspec and `json` for text or bytes that are no JSON, or not of the type: errors of their
own, those of Unicode, and one of the interpreter where arrays are nested too deeply."""


def object_of_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object of these keys and values; a reader's `object_pairs_hook`.

    Raises:
        ValueError: a key occurs twice.
    """
    found = dict(pairs)
    if len(found) != len(pairs):
        ((key, _),) = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"the key {key!r:.60} appears twice")
    return found
