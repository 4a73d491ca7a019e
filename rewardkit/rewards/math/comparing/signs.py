"""Comparison of answers with plus-or-minus signs, which are expanded to the list of their values.

The function that compares the items is passed in as `equal`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from rewardkit.rewards.math.comparing.rule import Rule
from rewardkit.rewards.math.policies import MathOptions
from rewardkit.rewards.math.tree.nodes import Node, Pm, Seq, children, negate, walk
from rewardkit.rewards.math.tree.rebuild import rebuild


def has_pm(node: Node) -> bool:
    return any(isinstance(part, Pm) for part in walk(node))


def with_signs(a: Node, b: Node, options: MathOptions, equal: Rule) -> bool | None:
    """Compare two trees with their plus-or-minus signs expanded.

    Several signs may be tied or independent. Either interpretation is accepted.
    """
    found: bool | None = False
    for x, y in itertools.product(_signed(a), _signed(b)):
        verdict = equal(x, y, options)
        if verdict:
            return True
        found = None if verdict is None else found
    return found


def _signed(node: Node) -> list[Node]:
    """Return the possible interpretations of a tree, each with its plus-or-minus signs expanded to a list."""
    if not has_pm(node):
        return [node]
    if isinstance(node, Seq) and node.opening in ("", "{"):
        items: list[Node] = []
        for item in node.items:
            reading = _signed(item)[0]
            bare = isinstance(reading, Seq) and reading.opening == "" and has_pm(item)
            items.extend(reading.items if bare and isinstance(reading, Seq) else [reading])
        return [Seq(node.opening, node.closing, tuple(items))]
    count = sum(isinstance(p, Pm) for p in walk(node))
    tied = [_choose(node, itertools.repeat(sign)) for sign in (1, -1)]
    readings: list[Node] = [Seq("", "", tuple(tied))]
    if 1 < count <= 6:
        free = [_choose(node, iter(signs)) for signs in itertools.product((1, -1), repeat=count)]
        readings.append(Seq("", "", tuple(free)))
    return readings


def write_signs(node: Node) -> Node:
    """Return the tree with its plus-or-minus signs, taken as tied, expanded to a list."""
    return _signed(node)[0]


def _choose(node: Node, signs: Iterator[int]) -> Node:
    """Return the tree with each sign taken from `signs`, in reading order."""
    if isinstance(node, Pm):
        sign = next(signs)
        inner = _choose(node.value, signs)
        return inner if (sign > 0) != node.flipped else negate(inner)
    parts = tuple(_choose(c, signs) for c in children(node))
    return rebuild(node, parts) if parts else node
