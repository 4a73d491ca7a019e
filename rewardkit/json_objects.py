"""Objects of JSON in which no key stands twice; Python's reader takes the last of them without a word."""

from __future__ import annotations

from collections import Counter
from typing import Any


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
