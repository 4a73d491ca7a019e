"""Equations and inequalities: assignments and their values, definitions, proportional sides."""

from __future__ import annotations

from fractions import Fraction
from itertools import islice

from rewardkit.rewards.math.comparing.agreement import DIGITS
from rewardkit.rewards.math.comparing.identity import held, same_function
from rewardkit.rewards.math.comparing.numeric import Undefined, Value, as_fraction, context, evaluate
from rewardkit.rewards.math.comparing.points import Functions, points
from rewardkit.rewards.math.comparing.scalar import equal
from rewardkit.rewards.math.guards import TooLarge
from rewardkit.rewards.math.policies import DEFAULT, MathOptions
from rewardkit.rewards.math.reading.words import table
from rewardkit.rewards.math.tree.nodes import (
    Add,
    App,
    Const,
    Div,
    Fn,
    Mul,
    Node,
    Num,
    Pow,
    Quantity,
    Ratio,
    Rel,
    Seq,
    Sym,
    Text,
    negate,
    symbols,
)
from rewardkit.rewards.math.tree.rebuild import substitute

_FLIPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "!=": "!=", "~": "~"}
"""Relations of numbers, and what they are when read from the right."""
_TURNED = _FLIPPED | {
    "sub": "sup", "sup": "sub", "subeq": "supeq", "supeq": "subeq", "par": "par", "perp": "perp",
    "prop": "prop", "iff": "iff",
}  # fmt: skip
"""All relations that can be read from the right; an arrow or a membership has a direction and is not here."""
_MEASURES = table("abs det max min sin cos tan cot sec csc deg dim gcd lcm floor ceil tr rank Var arg re im")


def is_label(node: Node) -> bool:
    """Whether this can be the name of what was asked for: a variable, f(x), AB, |AB|, (p, q), V_1 : V_2."""
    match node:
        case Sym() | App() | Text():
            return True
        case Mul(factors=factors):
            names = [f.name for f in factors if isinstance(f, Sym)]
            named = len(names) == len(factors) and (all(n[:1].isupper() for n in names) or " " in names[-1])
            return named or _is_head(factors)
        case Seq(items=items) | Ratio(parts=items):
            return bool(items) and all(is_label(i) for i in items)
        case Div(top=top, bottom=bottom):
            return (_is_segment(top) and _is_segment(bottom)) or (
                _is_differential(top) and _is_differential(bottom)
            )
        case Fn(name=name, args=args):
            return name in _MEASURES and all(_is_segment(a) or _is_greek(a) for a in args)
    return False


def _is_head(factors: tuple[Node, ...]) -> bool:
    return len(factors) == 2 and isinstance(factors[0], Sym) and isinstance(factors[1], Seq)


def _is_segment(node: Node) -> bool:
    """A geometric name: a capital or a product of capitals."""
    names = node.factors if isinstance(node, Mul) else (node,)
    return all(isinstance(n, Sym) and (n.name[:1].isupper() or " " in n.name) for n in names)


def _is_differential(node: Node) -> bool:
    """`dy`, `d x`, `d`: half of a derivative."""
    first = node.factors[0] if isinstance(node, Mul) else node
    return first in (Sym("d"), Sym("partial"))


def _is_greek(node: Node) -> bool:
    return isinstance(node, Sym) and len(node.name) > 1


def assignment(node: Node) -> tuple[Node, Node] | None:
    """Return label and value of `x = 5`, `5 = x`, `x = 2 + 3 = 5`; None for any other relation.

    A chain whose constant sides disagree states something false and has no value. What follows an
    approximation sign is only a reading of what stands before it.
    """
    if not isinstance(node, Rel) or any(op not in ("=", "~") for op in node.ops):
        return None
    sides = list(node.sides)
    if "~" in node.ops:
        cut = node.ops.index("~") + 1
        sides = sides[: max(cut, 2)]
    label, *values = sides
    if not is_label(label):
        if len(sides) == 2 and is_label(sides[1]) and not symbols(label):
            return sides[1], label
        return None
    while len(values) > 1 and is_label(values[0]):
        values = values[1:]
    if symbols(label) & symbols(values[-1]) and not isinstance(label, (App, Div)):
        return None
    if any(_sides_differ(v, values[-1]) for v in values[:-1]):
        return None
    return label, values[-1]


def _sides_differ(a: Node, b: Node) -> bool:
    """Whether two sides of a chain are known to be different."""
    a, b = (n.value if isinstance(n, Quantity) else n for n in (a, b))
    if _scalar(a) and _scalar(b):
        return equal(a, b, DEFAULT) is False
    return a != b


def chain_value(node: Rel) -> Node | None:
    """Return the value of a chain of equal constants, `3 + 4 = 7`; None if it is false or no such chain."""
    if any(op not in ("=", "~") for op in node.ops) or symbols(node):
        return None
    if "~" in node.ops:
        return node.sides[node.ops.index("~")]
    last = node.sides[-1]
    return None if any(_sides_differ(s, last) for s in node.sides[:-1]) else last


def same_label(a: Node, b: Node) -> bool:
    """Whether two labels name the same thing; heads of definitions do whatever letters their arguments have.

    `y` names what any function is; a function and its derivative or inverse are two.
    """
    if a == b:
        return True
    if isinstance(a, App) and isinstance(b, App) and len(a.args) != len(b.args):
        return False
    first, second = _function_head(a), _function_head(b)
    if not first or not second:
        return False
    names, primes = zip(*((name.rstrip("'"), name.count("'")) for name in (first, second)), strict=True)
    return primes[0] == primes[1] and (names[0] == names[1] or "y" in names)


def base_name(label: Node) -> str:
    """The name of a variable without a number as its index: `x` for `x_1`; empty for other labels."""
    if not isinstance(label, Sym):
        return ""
    name, _, index = label.name.partition("_")
    return name if not index or index.isdigit() else label.name


def captures(label: Node, value: Node, model: Node) -> bool:
    """Whether renaming a definition's arguments would take in a letter that is not one: `f(y) = x^2`."""
    if not (isinstance(label, App) and isinstance(model, App)):
        return False
    return bool((symbols(model) - symbols(label)) & symbols(value))


def _function_head(node: Node) -> str:
    """The name of a function that a definition begins with, primes included; empty for other labels."""
    if isinstance(node, App):
        return node.name if all(isinstance(a, Sym) for a in node.args) else ""
    return node.name if isinstance(node, Sym) and node.name.rstrip("'") in ("y", "f", "g", "h") else ""


def rename_head(label: Node, value: Node, model: Node) -> Node:
    """Return the value of a definition with its dummy variables named as the model's head names them."""
    if not (isinstance(label, App) and isinstance(model, App) and len(label.args) == len(model.args)):
        return value
    for mine, other in zip(label.args, model.args, strict=True):
        if isinstance(mine, Sym) and isinstance(other, Sym) and mine != other:
            value = substitute(value, mine.name, other)
    return value


def same_relation(a: Rel, b: Rel, options: MathOptions) -> bool | None:
    """Whether two relations state the same: side by side, or with proportional differences."""
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
    """Whether two statements without an unknown have the same sides, as they are written.

    All true statements would be alike by their values: `2+2=4` and `5=5`.
    """
    return (a.ops, a.sides) in ((b.ops, b.sides), (_turned(b), tuple(reversed(b.sides))))


def _turned(relation: Rel) -> tuple[str, ...] | None:
    """The operators of a chain as it reads from the right; None where one of them has a direction."""
    if not _TURNED.keys() >= set(relation.ops):
        return None
    return tuple(_TURNED[op] for op in reversed(relation.ops))


def _sides_equal(first: tuple[Node, ...], second: tuple[Node, ...], options: MathOptions) -> bool:
    return all(
        x == y or (_scalar(x) and _scalar(y) and equal(x, y, options) is True)
        for x, y in zip(first, second, strict=True)
    )


def _scalar(node: Node) -> bool:
    return isinstance(node, (Num, Const, Sym, Add, Mul, Div, Pow, Fn, App))


def _proportional(a: Rel, b: Rel) -> bool | None:
    """Whether lhs - rhs of both differ by a constant factor (of the right sign for an inequality)."""
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
        return False  # x = x + 1 and x = x + 2: no unknown is left
    if a.ops[0] in ("=", "!=", "~"):
        return a.ops == b.ops
    if context(DIGITS).im(ratio) != 0:
        return None
    return a.ops[0] == (b.ops[0] if ratio > 0 else _FLIPPED[b.ops[0]])


def _where_neither_is_zero(
    left: Node, right: Node, names: list[str]
) -> tuple[dict[str, Fraction], Value] | None:
    """A point at which two trees have a value other than 0, and the ratio of these."""
    for env in points(Functions.of(left, right, names)) if names else ():
        try:
            x, y = evaluate(left, env, DIGITS), evaluate(right, env, DIGITS)
        except (Undefined, TooLarge):
            continue
        if x != 0 and y != 0:
            return env, x / y
    return None


def refuted(a: Rel, b: Rel) -> bool:
    """Whether a real point satisfies one of two equations and plainly not the other.

    Points are found along the variables in which an equation is linear or quadratic.
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
    """The real zeros along one variable, where the tree is linear or quadratic in it."""
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
