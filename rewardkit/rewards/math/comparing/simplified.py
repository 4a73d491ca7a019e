"""Whether an answer is worked out: no unreduced fraction, no arithmetic on plain numbers left to do."""

from __future__ import annotations

from math import gcd

from rewardkit.rewards.math.comparing.rational import Irrational, root
from rewardkit.rewards.math.tree.nodes import MINUS_ONE, Add, Div, Fn, Mul, Node, Num, Pow, walk


def is_simplified(node: Node) -> bool:
    """Return whether nothing in the tree could be written shorter by arithmetic alone."""
    return not any(_is_open(part) for part in walk(node))


def _is_open(node: Node) -> bool:
    match node:
        case Div(top=top, bottom=bottom):
            above, below = _integer(top), _integer(bottom)
            return above is not None and below is not None and (gcd(above, below) != 1 or below == 1)
        case Add(terms=terms):
            mixed = len(terms) == 2 and isinstance(terms[1], Div)
            return sum(_is_number(t) for t in terms) > 1 and not mixed
        case Mul(factors=factors):
            return sum(isinstance(f, Num) and f != MINUS_ONE for f in factors) > 1
        case Pow(base=Num(), exponent=Num(den=1)):
            return True
        case Fn(name="factorial" | "binom", args=args):
            return all(isinstance(a, Num) for a in args)
        case Fn(name="root", args=(Num() as inner, Num(num=degree, den=1))):
            return _is_perfect(inner, degree)
    return False


def _integer(node: Node) -> int | None:
    if isinstance(node, Mul) and node.factors[0] == MINUS_ONE and len(node.factors) == 2:
        node = node.factors[1]
    return node.num if isinstance(node, Num) and node.den == 1 else None


def _is_number(node: Node) -> bool:
    return isinstance(node, Num) or (isinstance(node, Div) and _integer(node.top) is not None)


def _is_perfect(value: Num, degree: int) -> bool:
    try:
        root(value.value, degree)
    except Irrational:
        return False
    return True
