"""Comparison of piecewise functions with piecewise or plain functions, within each piece and at its ends.

The function that compares the values is passed in as `equal`.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from rewardkit.rewards.math.comparing import realset, sequences
from rewardkit.rewards.math.comparing.breaks import constants
from rewardkit.rewards.math.comparing.numeric import as_fraction, context
from rewardkit.rewards.math.comparing.realset import NotASet, Spans
from rewardkit.rewards.math.comparing.rule import Rule, family
from rewardkit.rewards.math.comparing.scalar import real_value
from rewardkit.rewards.math.policies import MathOptions
from rewardkit.rewards.math.tree.nodes import Cases, Logic, Node, Seq, Text, number, symbols
from rewardkit.rewards.math.tree.rebuild import substitute

_INSIDE = tuple(Fraction(k, 97) for k in (5, 31, 59, 92))
_BEYOND = tuple(map(Fraction, ("0.37", "1.9", "17.3", "1234.6", "1000003.7")))
_MOST_ENDS = 24


class _CasePiece(NamedTuple):
    where: Spans
    value: Node


def cases(a: Node, b: Node, options: MathOptions, equal: Rule) -> bool | None:
    """Return True if piecewise functions have the same rows in any order, or the same values everywhere."""
    assert isinstance(a, Cases)
    if isinstance(b, Cases):
        first, second = ([Seq("(", ")", row) for row in side.rows] for side in (a, b))
        if len(first) == len(second) and sequences.matched(first, second, options, equal):
            return True
    elif family(b) != "scalar":
        return False
    names = set().union(*(symbols(condition) for side in (a, b) for condition in _conditions(side)))
    if len(names) != 1:
        return False
    name = names.pop()
    try:
        pieces = [_pieces(side) for side in (a, b)]
    except NotASet:
        return False
    return _agree(pieces, name, options, equal)


def _conditions(node: Node) -> list[Node]:
    return [condition for _, condition in node.rows] if isinstance(node, Cases) else []


def _pieces(node: Node) -> list[_CasePiece]:
    """Return each value with the set on which it holds. An "otherwise" value holds on the remaining set."""
    if not isinstance(node, Cases):
        return [_CasePiece(realset.ALL, node)]
    said = [condition for _, condition in node.rows if not isinstance(condition, Text)]
    found = []
    for value, condition in node.rows:
        if isinstance(condition, Text):
            elsewhere = realset.complement(Logic("or", tuple(said)) if len(said) > 1 else said[0])
            found.append(_CasePiece(elsewhere, value))
        else:
            found.append(_CasePiece(realset.spans(condition), value))
    return found


def _agree(pieces: list[list[_CasePiece]], name: str, options: MathOptions, equal: Rule) -> bool | None:
    verdict: bool | None = True
    for place in _places(pieces):
        first, second = (_at(side, place, name) for side in pieces)
        if bool(first) != bool(second):
            return False
        for value in (*first, *second):
            found = equal(first[0], value, options)
            if found is False:
                return False
            verdict = None if found is None else verdict
    return verdict


def _at(pieces: list[_CasePiece], place: Node, name: str) -> list[Node]:
    """Return the values of all pieces that contain a place. Overlapping pieces must agree."""
    x = real_value(place)
    return [substitute(piece.value, name, place) for piece in pieces if realset.inside(piece.where, x)]


def _places(pieces: list[list[_CasePiece]]) -> Iterator[Node]:
    """Yield the ends of all pieces and the constants in their values, and numbers between and beyond them."""
    ends: dict[Fraction, Node] = {}
    for side in pieces:
        for piece in side:
            for end in (end for span in piece.where for end in (span.low, span.high)):
                value = real_value(end)
                if value is not None and context(30).isfinite(value):
                    ends.setdefault(as_fraction(value), end)
    sizes = constants(*(piece.value for side in pieces for piece in side))
    for size in (Fraction(s) * sign for s in sizes for sign in (1, -1)):
        ends.setdefault(size, number(size))
    if not 0 < len(ends) <= _MOST_ENDS:
        raise NotASet("too many pieces")
    yield from ends.values()
    ordered = sorted(ends)
    for low, high in pairwise(ordered):
        yield from (number(low + (high - low) * part) for part in _INSIDE)
    for step in _BEYOND:
        yield from (number(ordered[0] - step), number(ordered[-1] + step))
