"""The points at which functions are compared: fixed ones, and integers where only these make sense."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

from rewardkit.rewards.math.comparing.numeric import seed
from rewardkit.rewards.math.tree.nodes import BigOp, Fn, Mul, Node, Num, Pow, symbols, walk

_INTEGER_LETTERS = frozenset("ijklmnpq")
"""Variables that are taken for integers inside a floor or ceiling."""
_RANGES = (
    (0.2, 0.9),
    (1.2, 2.9),
    (-2.6, -0.3),
    (3.1, 8.0),
    (-0.9, -0.2),
    (0.05, 0.2),
    (12.0, 30.0),
    (-7.0, -3.1),
)
_BRANCH_EXPONENTS = (Fraction(2), Fraction(1, 2), Fraction(1))
_WHOLE_EXPONENTS = (Fraction(1), Fraction(2), Fraction(3))
_MAX_BRANCH_NAMES = 3


def points(names: list[str], whole: frozenset[str]) -> Iterator[dict[str, Fraction]]:
    """Yield fixed pseudo-random points; variables in `whole` get small positive integers."""
    for index in range(len(_RANGES)):
        yield {name: _coordinate(name, index, name in whole) for name in names}


@lru_cache(maxsize=4_096)
def _coordinate(name: str, index: int, whole: bool) -> Fraction:
    """The value of a variable at the point of that index."""
    draw = seed(f"{name}/{index}")
    if whole:
        return Fraction(1 + draw % (3 + 2 * index))
    low, high = _RANGES[index]
    place = Fraction(low) + (Fraction(high) - Fraction(low)) * Fraction(draw % 9973, 9973)
    return place.limit_denominator(97)


def integer_names(node: Node) -> frozenset[str]:
    """Variables that only make sense as integers here: in a factorial, a bound, a power of a negative."""
    found: set[str] = set()
    for part in walk(node):
        match part:
            case Fn(name="factorial" | "factorial2" | "binom" | "mod" | "gcd" | "lcm"):
                found |= symbols(part)
            case Fn(name="floor" | "ceil"):
                found |= symbols(part) & _INTEGER_LETTERS
            case Pow(base=Num(num=num), exponent=exponent) if num < 0:
                found |= symbols(exponent)
            case Pow(base=Mul(factors=(Num(num=num), *_)), exponent=exponent) if num < 0:
                found |= symbols(exponent)
            case BigOp(lower=lower, upper=upper):
                for bound in (lower, upper):
                    found |= symbols(bound) if bound is not None else set()
    return frozenset(found)


def branch_points(a: Node, b: Node, names: list[str]) -> Iterator[dict[str, Fraction]]:
    """Points that tell `(a^b)^c` from `a^{bc}`: negative bases, even and halved exponents."""
    first, second = _open_powers(a), _open_powers(b)
    raised = sorted({name for p in first | second for name in symbols(p.exponent)})
    if first == second or len(raised) > _MAX_BRANCH_NAMES:
        return
    choices = [_WHOLE_EXPONENTS if name in _INTEGER_LETTERS else _BRANCH_EXPONENTS for name in raised]
    for chosen in itertools.product(*choices):
        exponents = dict(zip(raised, chosen, strict=True))
        yield {name: exponents.get(name, Fraction(-2)) for name in names}


def _open_powers(node: Node) -> set[Pow]:
    """The powers with a variable both below and above."""
    powers = {part for part in walk(node) if isinstance(part, Pow)}
    return {power for power in powers if symbols(power.base) and symbols(power.exponent)}
