"""The points at which functions are compared, chosen from the two trees: few for plain algebra, and one in
each piece where functions break, of both parities and several residues where only integers make sense.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from rewardkit.rewards.math.comparing.breaks import Break, breaks, constants, places, rungs
from rewardkit.rewards.math.comparing.numeric import FloatEvaluator, seed
from rewardkit.rewards.math.tree.nodes import BigOp, Fn, Mul, Node, Num, Pow, symbols, walk

_INTEGER_LETTERS = frozenset("ijklmnpq")
"""Variables that are taken for integers inside a floor or ceiling."""
_SIGNS = ("+", "-+", "+-", "+", "--++", "++--", "-", "+", "+", "+")
"""The signs of the variables at each point, in the order of their names."""
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
"""Coordinates are multiples of its reciprocal, and no integers: a hole of a function is nowhere there."""
_INSIDE = Fraction(41, 97)
"""Where between two breaks a point lies: no place that a function is likely to have a hole at."""
_BRANCH_EXPONENTS = (Fraction(2), Fraction(1, 2), Fraction(1))
_WHOLE_EXPONENTS = (Fraction(1), Fraction(2), Fraction(3))
_MAX_BRANCH_NAMES = 3
_MOST_LINES = 9
_MOST_INTEGER_POINTS = 48
_INVERSES = frozenset({"arcsin", "arccos", "arctan", "arccot", "arcsec", "arccsc", "arg"})
"""Functions that undo others in a part of their range only."""


class Point(NamedTuple):
    env: dict[str, Fraction]
    isolated: bool = False
    """A place that one chooses only for what a function does just there: a hole in it proves nothing."""


def points(names: list[str], whole: frozenset[str]) -> Iterator[dict[str, Fraction]]:
    """Yield fixed pseudo-random points, of independent signs; variables in `whole` get positive integers."""
    for index in range(len(_SIGNS)):
        yield _point(names, whole, index)


def _point(names: list[str], whole: frozenset[str], index: int) -> dict[str, Fraction]:
    return {name: _coordinate(name, rank % 4, index, name in whole) for rank, name in enumerate(names)}


@lru_cache(maxsize=4_096)
def _coordinate(name: str, rank: int, index: int, whole: bool) -> Fraction:
    """The value of a variable, which is the one of that rank, at the point of that index."""
    draw = seed(f"{name}/{index}")
    if whole:
        return Fraction(1 + draw % (3 + 2 * index))
    low, high = _SIZES[index]
    steps = round((low + (high - low) * (draw % 9973) / 9973) * _GRID)
    size = Fraction(steps if steps % _GRID else steps + 1, _GRID)
    return -size if _SIGNS[index][rank % len(_SIGNS[index])] == "-" else size


def integer_names(node: Node) -> frozenset[str]:
    """Variables that only make sense as integers here: in a factorial, a bound, a power of a negative."""
    found: set[str] = set()
    for part in walk(node):
        match part:
            case Fn(name="floor" | "ceil") | Fn(name="mod", args=(_, Num(num=1, den=1))):
                found |= symbols(part) & _INTEGER_LETTERS
            case Fn(name="factorial" | "factorial2" | "binom" | "mod" | "gcd" | "lcm"):
                found |= symbols(part)
            case Pow(base=base, exponent=exponent) if not isinstance(exponent, Num) and _is_negative(base):
                found |= symbols(exponent)
            case BigOp(lower=lower, upper=upper):
                for bound in (lower, upper):
                    found |= symbols(bound) if bound is not None else set()
    return frozenset(found)


def _is_negative(node: Node) -> bool:
    """Whether this is certainly below 0, whatever the variables are."""
    if isinstance(node, Mul) and isinstance(node.factors[0], Num):
        return node.factors[0].num < 0
    if isinstance(node, Num):
        return node.num < 0
    value = FloatEvaluator({}).get(node) if not symbols(node) else None
    return value is not None and value < 0


def pieces(a: Node, b: Node, names: list[str], whole: frozenset[str]) -> Iterator[Point]:
    """Yield a point in each piece of functions that break, and integers of many kinds; none for others."""
    found = list(dict.fromkeys([*breaks(a), *breaks(b)]))
    real = [name for name in names if name not in whole]
    if found or _undoes(a) or _undoes(b):
        yield from map(Point, points(names, whole))
    if not found and not whole:
        return
    sizes = constants(a, b)
    if real and found:
        yield from _on_lines(found, names, whole, rungs(sizes))
    if whole:
        yield from _integers(names, whole, [] if _is_long(a) or _is_long(b) else _whole_sizes(sizes))


def _undoes(node: Node) -> bool:
    return any(isinstance(part, Fn) and part.name in _INVERSES for part in walk(node))


def _is_long(node: Node) -> bool:
    return any(isinstance(part, BigOp) for part in walk(node))


def _on_lines(
    found: list[Break], names: list[str], whole: frozenset[str], scale: list[float]
) -> Iterator[Point]:
    """Yield a point in each piece of lines along each variable, and where a function may jump."""
    used = set().union(*(one.names for one in found))
    moving = [name for name in names if name in used and name not in whole]
    starts = [0] if len(names) == 1 else [0, 1, 2]
    for index, name in itertools.islice(itertools.product(starts, moving), _MOST_LINES):
        env = _point(names, whole, index)
        on_line = places(found, env, name, scale)
        for t in _between(list(on_line)):
            yield Point(env | {name: t})
        for t, jumps in on_line.items():
            if jumps:
                yield Point(env | {name: t}, isolated=True)


def _between(breaks: list[Fraction]) -> Iterator[Fraction]:
    """Yield a number in each of the pieces that some numbers in order cut the line into."""
    if not breaks:
        return
    step = Fraction(1, 3) + max(map(abs, breaks)) / 7
    yield breaks[0] - step
    for low, high in itertools.pairwise(breaks):
        yield low + (high - low) * _INSIDE
    yield breaks[-1] + step


def _whole_sizes(sizes: set[float]) -> list[int]:
    """The whole numbers among some constants, the smallest of them that small integers leave out."""
    return sorted(int(size) for size in sizes if size.is_integer() and 12 < size < 1e9)[:4]


def _integers(names: list[str], whole: frozenset[str], sizes: list[int]) -> Iterator[Point]:
    """Yield points with integers of both parities and signs, small ones and such as the constants suggest."""
    moving = [name for name in names if name in whole]
    rows = _single(sizes) if len(moving) == 1 else _several(moving, sizes)
    for count, row in enumerate(rows):
        env = _point(names, whole, count % len(_SIGNS))
        yield Point(env | {name: Fraction(value) for name, value in zip(moving, row, strict=True)})


def _single(sizes: list[int]) -> Iterator[tuple[int, ...]]:
    yield from ((n,) for n in range(-7, 13))
    for size in sizes:
        yield from ((n,) for n in (size - 1, size, size + 1, 2 * size, 2 * size + 1, -size))


def _several(moving: list[str], sizes: list[int]) -> Iterator[tuple[int, ...]]:
    """Independent draws: small ones, ones of both signs, multiples of one number and their neighbours."""
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
