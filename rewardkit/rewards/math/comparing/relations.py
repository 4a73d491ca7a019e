"""Comparison of equations, inequalities and statements. `names` handles relations that name a value."""

from __future__ import annotations

from fractions import Fraction
from itertools import islice

from rewardkit.rewards.math.comparing.agreement import DIGITS
from rewardkit.rewards.math.comparing.identity import held, same_function
from rewardkit.rewards.math.comparing.numeric import Undefined, Value, as_fraction, context, evaluate
from rewardkit.rewards.math.comparing.points import Functions, points
from rewardkit.rewards.math.comparing.scalar import equal, is_scalar
from rewardkit.rewards.math.guards import TooLarge
from rewardkit.rewards.math.policies import MathOptions
from rewardkit.rewards.math.tree.nodes import (
    Add,
    Mul,
    Node,
    Rel,
    negate,
    symbols,
)

_FLIPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "!=": "!=", "~": "~"}
"""Relations between numbers, each mapped to the equivalent relation with the sides swapped."""
_TURNED = _FLIPPED | {
    "sub": "sup", "sup": "sub", "subeq": "supeq", "supeq": "subeq", "par": "par", "perp": "perp",
    "prop": "prop", "iff": "iff", "subsetneq": "supsetneq", "supsetneq": "subsetneq", "prec": "succ",
    "succ": "prec",
    "preceq": "succeq", "succeq": "preceq", "npar": "npar", "niff": "niff", "asymp": "asymp",
    "nsub": "nsup", "nsup": "nsub",
    "nsubeq": "nsupeq", "nsupeq": "nsubeq",
}  # fmt: skip
"""All relations that can be swapped, each mapped to its swapped form. Arrows and memberships cannot."""


def same_relation(a: Rel, b: Rel, options: MathOptions) -> bool | None:
    """Return True if two relations have equal sides or proportional differences, or None if undecided."""
    if len(a.ops) != len(b.ops):
        return None
    if a.ops == b.ops and _sides_equal(a.sides, b.sides, options):
        return True
    if a.ops == _turned(b) and _sides_equal(a.sides, tuple(reversed(b.sides)), options):
        return True
    if "in" in a.ops or "in" in b.ops:
        return None
    if len(a.ops) != 1 or a.ops[0] not in _FLIPPED or b.ops[0] not in _FLIPPED:
        return False if len(a.ops) == 1 else None
    return _proportional(a, b)


def same_statement(a: Rel, b: Rel) -> bool:
    """Return True if two statements without unknowns have the same sides as written, in either order.

    Comparing by value would make all true statements equal, such as `2+2=4` and `5=5`.
    """
    return (a.ops, a.sides) in ((b.ops, b.sides), (_turned(b), tuple(reversed(b.sides))))


def _turned(relation: Rel) -> tuple[str, ...] | None:
    """Return the operators of a chain with the sides reversed, or None if an operator cannot be reversed."""
    if not _TURNED.keys() >= set(relation.ops):
        return None
    return tuple(_TURNED[op] for op in reversed(relation.ops))


def _sides_equal(first: tuple[Node, ...], second: tuple[Node, ...], options: MathOptions) -> bool:
    return all(
        x == y or (is_scalar(x) and is_scalar(y) and equal(x, y, options) is True)
        for x, y in zip(first, second, strict=True)
    )


def _proportional(a: Rel, b: Rel) -> bool | None:
    """Return True if the differences `lhs - rhs` of two relations are proportional, or None if undecided.

    For inequalities, the sign of the factor must agree with their directions.
    """
    left, right = Add((a.sides[0], negate(a.sides[1]))), Add((b.sides[0], negate(b.sides[1])))
    names = sorted(symbols(left) | symbols(right))
    at = _where_neither_is_zero(left, right, names)
    if at is None:
        return None
    env, ratio = at
    here = held(left, env)
    if same_function(Mul((left, held(right, env))), Mul((right, here)), names) is not True:
        return None
    if same_function(left, here, names):
        return False  # The unknown cancels, as in x = x + 1 and x = x + 2.
    if a.ops[0] in ("=", "!=", "~"):
        return a.ops == b.ops
    if context(DIGITS).im(ratio) != 0:
        return None
    return a.ops[0] == (b.ops[0] if ratio > 0 else _FLIPPED[b.ops[0]])


def _where_neither_is_zero(
    left: Node, right: Node, names: list[str]
) -> tuple[dict[str, Fraction], Value] | None:
    """Return a point at which neither tree is 0 and the ratio of their values, or None if none is found."""
    for env in points(Functions.of(left, right, names)) if names else ():
        try:
            x, y = evaluate(left, env, DIGITS), evaluate(right, env, DIGITS)
        except (Undefined, TooLarge):
            continue
        if x != 0 and y != 0:
            return env, x / y
    return None


def refuted(a: Rel, b: Rel) -> bool:
    """Return True if a real point satisfies one of two equations but clearly not the other.

    The points are searched for along the variables in which an equation is linear or quadratic.
    """
    left, right = (Add((r.sides[0], negate(r.sides[1]))) for r in (a, b))
    names = sorted(symbols(left) | symbols(right))
    for env in islice(points(Functions(left, right, names, [], frozenset())), 2):
        for f, g in ((left, right), (right, left)):
            for name in names:
                if any(_is_no_root(g, env, name, root) for root in _roots(f, env, name)):
                    return True
    return False


def _roots(node: Node, env: dict[str, Fraction], name: str) -> list[Fraction]:
    """Return the real zeros of a tree in a variable, or [] if the tree is not linear or quadratic in it."""
    mp = context(40)
    try:
        f0, f1, f2, f3 = (evaluate(node, env | {name: Fraction(x)}, 40) for x in range(4))
    except (Undefined, TooLarge):
        return []
    if any(mp.im(f) != 0 for f in (f0, f1, f2, f3)):
        return []
    square = (f2 - 2 * f1 + f0) / 2
    slope = f1 - f0 - square
    size = max(map(abs, (f0, f1, f2, f3)))
    if abs(9 * square + 3 * slope + f0 - f3) > size * 1e-30:
        return []
    if abs(square) <= size * 1e-30:
        return [as_fraction(-f0 / slope)] if abs(slope) > size * 1e-20 else []
    inside = slope**2 - 4 * square * f0
    return [as_fraction((-slope + s * mp.sqrt(inside)) / (2 * square)) for s in (1, -1)] if inside > 0 else []


def _is_no_root(node: Node, env: dict[str, Fraction], name: str, root: Fraction) -> bool:
    try:
        there, beside = (evaluate(node, env | {name: x}, 40) for x in (root, root + 1))
    except (Undefined, TooLarge):
        return False
    return bool(abs(there) > 1e-9 * (abs(there) + abs(beside)) and abs(there) > 1e-9)
