"""Shared parts of JSON readers: the exceptions to catch, and the rejection of duplicate keys.

Python's own reader silently keeps the last value of a duplicate key.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

NOT_JSON = (ValueError, RecursionError)
"""Exceptions of msgspec and `json` for invalid JSON, values of the wrong type, invalid Unicode, and too
deeply nested arrays."""


def object_of_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a dictionary of key-value pairs. Serves as an `object_pairs_hook` of `json`.

    Raises:
        ValueError: A key occurs twice.
    """
    found = dict(pairs)
    if len(found) != len(pairs):
        ((key, _),) = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"the key {key!r:.60} appears twice")
    return found
