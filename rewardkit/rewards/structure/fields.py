"""Computes how far two JSON-like values agree, comparing values and types leaf by leaf."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_MAX_LEAVES = 100_000


def agreement(value: Any, ground_truth: Any) -> float:
    """Return the share of the leaves that are equal, which is 1.0 for equal values.

    `1` and `1.0` are the same number, but `1` differs from `true` and from `"1"`. Lists are compared by
    position. Leaves that the ground truth does not have lower the share, so extra data gains nothing.
    """
    given, wanted = dict(_leaves(value)), dict(_leaves(ground_truth))
    same = sum(path in given and _same(given[path], leaf) for path, leaf in wanted.items())
    return same / max(1, len(given.keys() | wanted.keys()))


def _same(a: Any, b: Any) -> bool:
    return a == b and (type(a) is type(b) or (_is_number(a) and _is_number(b)))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _leaves(value: Any) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield each leaf of a value with its path. Empty objects and lists are leaves.

    The function is not recursive, because the response determines the depth.
    """
    waiting: list[tuple[tuple[Any, ...], Any]] = [((), value)]
    for _ in range(_MAX_LEAVES):
        if not waiting:
            return
        path, item = waiting.pop()
        if isinstance(item, dict) and item:
            waiting += [((*path, key), inner) for key, inner in item.items()]
        elif isinstance(item, list) and item:
            waiting += [((*path, i), inner) for i, inner in enumerate(item)]
        else:
            yield path, item
