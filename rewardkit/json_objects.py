"""Shared helpers for reading JSON: the exceptions to catch, and the rejection of duplicate keys.

Python's own parser silently keeps the last value of a duplicate key.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

NOT_JSON = (ValueError, RecursionError)
"""Exceptions that msgspec and `json` raise for invalid JSON, values of the wrong type, invalid Unicode and
arrays that are nested too deeply."""


def object_of_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build a dictionary from key-value pairs. Serves as an `object_pairs_hook` for `json`.

    Raises:
        ValueError: A key occurs twice.
    """
    found = dict(pairs)
    if len(found) != len(pairs):
        ((key, _),) = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"the key {key!r:.60} appears twice")
    return found
