"""Choice of the points at which two functions are compared.

Plain algebra needs few points. Functions that break need one point in each piece, and integer variables need
values of several parities and residues.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from rewardkit.rewards.math.comparing.breaks import Break, Scale, breaks, constants, places, scale_of
from rewardkit.rewards.math.comparing.numeric import FloatEvaluator, seed
from rewardkit.rewards.math.functions import named
from rewardkit.rewards.math.tree.nodes import (
    App,
    BigOp,
    Const,
    Degree,
    Fn,
    Mul,
    Node,
    Num,
    Pow,
    symbols,
    walk,
)

_INTEGER_LETTERS = frozenset("ijklmnpq")
"""Variables that are assumed to be integers inside a floor or ceiling."""
_SIGNS = ("+", "-+", "+-", "+", "--++", "++--", "-", "+", "+", "+")
"""Signs of the variables, in the order of their names, for each point."""
_SIZES = (
    (0.2, 0.95),
    (1.1, 4.0),
    (0.3, 9.0),
    (0.05, 0.9),
    (0.2, 0.95),
    (1.1, 4.0),
    (0.05, 0.95),
    (3.2, 30.0),
    (1.1, 4.0),
    (0.3, 9.0),
)
_GRID = 89
"""Denominator of all coordinates.

No coordinate is an integer, because functions may be undefined at integers.
"""
_INSIDE = Fraction(41, 97)
"""Relative position of a point between two breaks. Functions are unlikely to have a hole at this position."""
_BRANCH_EXPONENTS = (Fraction(2), Fraction(1, 2), Fraction(1))
_WHOLE_EXPONENTS = (Fraction(1), Fraction(2), Fraction(3))
_MAX_BRANCH_NAMES = 3
_MOST_LINES = 6
_MOST_ON_LINES = 48
"""Maximum total number of points in the pieces of all lines."""
_MOST_INTEGER_POINTS = 48
_BRANCHES = named("is_branch")
_OF_INTEGERS = named("takes_integers")


_CHOOSING = frozenset({Fn, Pow, BigOp, Const, App, Degree})

Env = dict[str, Fraction]


class Point(NamedTuple):
    env: Env
    isolated: bool = False
    """True if the point is exactly at a jump. A missing value at a jump proves nothing."""


class Functions(NamedTuple):
    """Two trees to compare as functions, with the data for choosing points."""

    a: Node
    b: Node
    names: list[str]
    parts: list[Node]
    """Functions, powers, constants, degrees, and sums and products with bounds in both trees."""
    whole: frozenset[str]
    """Variables that are meaningful only as integers."""

    @classmethod
    def of(cls, a: Node, b: Node, names: list[str]) -> Functions:
        parts = [part for node in (a, b) for part in walk(node) if type(part) in _CHOOSING]
        return cls(a, b, names, parts, _integer_names(parts))


def points(functions: Functions) -> Iterator[Env]:
    """Yield fixed pseudo-random points with independent signs. Integer variables get positive integers."""
    for index in range(len(_SIGNS)):
        yield _point(functions, index)


def _point(functions: Functions, index: int) -> Env:
    whole = functions.whole
    return {
        name: _coordinate(name, rank % 4, index, name in whole) for rank, name in enumerate(functions.names)
    }


@lru_cache(maxsize=4_096)
def _coordinate(name: str, rank: int, index: int, whole: bool) -> Fraction:
    """Return the value of a variable at point number `index`. `rank` is its position among the names."""
    draw = seed(f"{name}/{index}")
    if whole:
        return Fraction(1 + draw % (3 + 2 * index))
    low, high = _SIZES[index]
    steps = round((low + (high - low) * (draw % 9973) / 9973) * _GRID)
    size = Fraction(steps if steps % _GRID else steps + 1, _GRID)
    return -size if _SIGNS[index][rank % len(_SIGNS[index])] == "-" else size


def _integer_names(parts: list[Node]) -> frozenset[str]:
    """Return the variables that must be integers.

    These variables occur in a factorial, a bound, a remainder or the exponent of a negative number. In a
    floor or ceiling, only letters that usually denote integers count.
    """
    found: set[str] = set()
    for part in parts:
        match part:
            case Fn(name="floor" | "ceil") | Fn(name="mod", args=(_, Num(num=1, den=1))):
                found |= symbols(part) & _INTEGER_LETTERS
            case Fn(name=name) if name in _OF_INTEGERS:
                found |= symbols(part)
            case Pow(base=base, exponent=exponent) if not isinstance(exponent, Num) and _is_negative(base):
                found |= symbols(exponent)
            case BigOp(lower=lower, upper=upper):
                for bound in (lower, upper):
                    found |= symbols(bound) if bound is not None else set()
    return frozenset(found)


def _is_negative(node: Node) -> bool:
    """Return True if a node is a negative constant or a product with a negative leading number."""
    if isinstance(node, Mul) and isinstance(node.factors[0], Num):
        return node.factors[0].num < 0
    if isinstance(node, Num):
        return node.num < 0
    value = FloatEvaluator({}).get(node) if not symbols(node) else None
    return value is not None and value < 0


def pieces(functions: Functions) -> Iterator[Point]:
    """Yield a point in each piece if the functions break, and various integers if variables are integers."""
    found = list(dict.fromkeys(breaks(functions.parts)))
    kinds = {type(part) for part in functions.parts}
    undoing = Fn in kinds and any(isinstance(p, Fn) and p.name in _BRANCHES for p in functions.parts)
    if found or undoing:
        yield from map(Point, points(functions))
    if not found and not functions.whole:
        return
    sizes = constants(functions.a, functions.b)
    if found:
        scale = scale_of(sizes)
        yield from itertools.islice(_on_lines(found, functions, scale), _MOST_ON_LINES)
        if any(
            isinstance(p, Fn) and p.name in ("max", "min") and len(symbols(p)) > 1 for p in functions.parts
        ):
            yield from _together(functions, scale)
    if functions.whole:
        yield from _integers(functions, _whole_sizes(sizes, BigOp in kinds))


def _on_lines(found: list[Break], functions: Functions, scale: Scale) -> Iterator[Point]:
    """Yield a point in each piece of a line along each variable, and at each possible jump."""
    used = set().union(*(one.names for one in found)) - functions.whole
    alone = len(functions.names) == 1
    starts = [0] if alone else [0, 1]
    for index, name in itertools.islice(itertools.product(starts, sorted(used)), _MOST_LINES):
        env = _point(functions, index)
        if name not in env:
            continue
        on_line = places(found, env, name, scale, 12 if alone else 4)
        for t in _between(list(on_line)):
            yield Point(env | {name: t})
        for t, jumps in on_line.items():
            if jumps:
                yield Point(env | {name: t}, isolated=True)


def _together(functions: Functions, scale: Scale) -> Iterator[Point]:
    """Yield points at which all variables have similar values, from far below 0 to far above.

    A constant argument of `max` or `min` is the largest or smallest only at extreme points.
    """
    for rung in scale.rungs:
        env = _point(functions, 0)
        moved = (Fraction(rung).limit_denominator(1_000) * (1 + Fraction(k, 7)) for k in range(len(env)))
        yield Point(
            env | {name: t for name, t in zip(env, moved, strict=True) if name not in functions.whole}
        )


def _between(breaks: list[Fraction]) -> Iterator[Fraction]:
    """Yield a number in each piece of the real line between, below and above the increasing breaks."""
    if not breaks:
        return
    step = Fraction(1, 3) + max(map(abs, breaks)) / 7
    yield breaks[0] - step
    for low, high in itertools.pairwise(breaks):
        yield low + (high - low) * _INSIDE
    yield breaks[-1] + step


def _whole_sizes(sizes: set[float], summed: bool) -> list[int]:
    """Return the four smallest integers above 12 among some constants.

    If `summed`, return at most one integer below 150, because sums are evaluated term by term.
    """
    found = sorted(int(size) for size in sizes if size.is_integer() and 12 < size < 1e15)[:4]
    return [size for size in found[:1] if size < 150] if summed else found


def _integers(functions: Functions, sizes: list[int]) -> Iterator[Point]:
    """Yield points with integers of both parities and signs that are small or derived from the constants."""
    moving = [name for name in functions.names if name in functions.whole]
    rows = _single(sizes) if len(moving) == 1 else _several(moving, sizes)
    for count, row in enumerate(rows):
        env = _point(functions, count % len(_SIGNS))
        yield Point(env | {name: Fraction(value) for name, value in zip(moving, row, strict=True)})


def _single(sizes: list[int]) -> Iterator[tuple[int, ...]]:
    yield from ((n,) for n in (*range(-7, 13), 25, 61, 120, 10_007))
    for size in sizes:
        yield from ((n,) for n in (size - 1, size, size + 1, 2 * size, 2 * size + 1, -size))


def _several(moving: list[str], sizes: list[int]) -> Iterator[tuple[int, ...]]:
    """Yield pseudo-random tuples of small integers, multiples of a common factor and their neighbours."""
    factors = [*sizes, 2, 3, 4, 6, 10]
    for index in range(_MOST_INTEGER_POINTS):
        draws = [seed(f"{name}/whole/{index}") for name in moving]
        factor = factors[index // 4 % len(factors)]
        match index % 4:
            case 0:
                yield tuple(draw % 13 for draw in draws)
            case 1:
                yield tuple(draw % 17 - 8 for draw in draws)
            case 2:
                yield tuple(factor * (1 + draw % 5) for draw in draws)
            case _:
                yield tuple(factor * (draw % 4) + draw // 4 % 3 - 1 for draw in draws)


def branch_points(functions: Functions) -> Iterator[Env]:
    """Yield points with negative bases and small exponents that distinguish `(a^b)^c` from `a^{bc}`.

    Yield nothing if both functions have the same powers with variables in both base and exponent.
    """
    powers = [p for p in functions.parts if isinstance(p, Pow) and not isinstance(p.exponent, Num)]
    raised = sorted({name for p in powers if symbols(p.base) for name in symbols(p.exponent)})
    if not 0 < len(raised) <= _MAX_BRANCH_NAMES or _open_powers(functions.a) == _open_powers(functions.b):
        return
    choices = [_WHOLE_EXPONENTS if name in _INTEGER_LETTERS else _BRANCH_EXPONENTS for name in raised]
    for chosen in itertools.product(*choices):
        exponents = dict(zip(raised, chosen, strict=True))
        yield {name: exponents.get(name, Fraction(-2)) for name in functions.names}


def _open_powers(node: Node) -> set[Pow]:
    powers = {part for part in walk(node) if isinstance(part, Pow)}
    return {power for power in powers if symbols(power.base) and symbols(power.exponent)}
