"""Breaks of real functions along a line: zeros of the arguments of `|.|`, max, floor, roots and logarithms.

Breaks are searched for in machine floats. The search need not be exact, because a false break only costs one
more point. `identity` compares the functions at points between the breaks.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import NamedTuple

from rewardkit.rewards.math.comparing.numeric import FloatEvaluator
from rewardkit.rewards.math.comparing.rational import Irrational, exact
from rewardkit.rewards.math.functions import named
from rewardkit.rewards.math.guards import TooLarge
from rewardkit.rewards.math.tree.nodes import (
    MINUS_ONE,
    Add,
    App,
    BigOp,
    Div,
    Fn,
    Node,
    Num,
    Pow,
    Sym,
    children,
    negate,
    symbols,
    walk,
)

_AT_ZERO = frozenset({"abs", "ln", "log", "root"})
_AT_ONE = named("breaks_at_one")
_STEPS = frozenset({"floor", "ceil"})
_MOST_PAIRS = 15
"""Maximum number of pairs of arguments examined for a `max` or `min`."""
_LEVELS = (-1, 0, 1, 2)
"""Steps of a floor function to search for, relative to the function's current value."""
_LARGEST = 1e18
_TINY, _VAST = (1e-15, 1e-9, 1e-5), (1e5, 1e7, 1e10, 1e16, 1e30)
"""Sizes far outside the scale of the constants, at which roots, logarithms or quotients may still be 0."""

_Line = Callable[[float], float | None]
"""Function along a line that returns its value, or None if it has no value."""


class Break(NamedTuple):
    """Tree whose zeros may be breaks in a function."""

    tree: Node
    names: frozenset[str]
    """Names of the variables in the tree."""
    steps: bool = False
    """True if the function breaks at every integer value of the tree, like a floor function."""
    jumps: bool = False
    """True if the value at the break itself may differ from the values on both sides."""


def breaks(parts: Iterable[Node]) -> Iterator[Break]:
    """Yield the arguments with variables whose zeros may be breaks in the functions among the parts."""
    for part in parts:
        if isinstance(part, (Fn, Pow)):
            for tree, steps, jumps in _arguments(part):
                if names := symbols(tree):
                    yield Break(tree, names, steps, jumps)
                    yield from (Break(p.bottom, symbols(p.bottom)) for p in walk(tree) if isinstance(p, Div))


def _arguments(node: Fn | Pow) -> Iterator[tuple[Node, bool, bool]]:
    """Yield each tree whose zeros may be breaks in a function, with the flags `steps` and `jumps`."""
    match node:
        case Fn(name="root", args=(_, Num(num=degree))) if degree % 2:
            return
        case Fn(name=name, args=(first, *_)) if name in _AT_ZERO:
            yield first, False, False
        case Fn(name="sgn", args=(first,)):
            yield first, False, True
        case Fn(name=name, args=(first,)) if name in _AT_ONE:
            yield from ((Add((first, one)), False, False) for one in (MINUS_ONE, Num(1)))
        case Fn(name=name, args=(first,)) if name in _STEPS:
            yield first, True, True
        case Fn(name="mod", args=(first, modulus)):
            yield Div(first, modulus), True, True
        case Fn(name="max" | "min", args=args):
            pairs = itertools.islice(itertools.combinations(args, 2), _MOST_PAIRS)
            yield from ((Add((x, negate(y))), False, False) for x, y in pairs)
        case Pow(base=Num(num=0), exponent=exponent):
            yield exponent, False, True
        case Pow(base=base, exponent=exponent) if _is_even_root(exponent):
            yield base, False, False


def _is_even_root(exponent: Node) -> bool:
    if isinstance(exponent, Num):
        return exponent.den % 2 == 0
    if not isinstance(exponent, Div) or symbols(exponent):
        return False
    try:
        return exact(exponent).denominator % 2 == 0
    except (Irrational, TooLarge):
        return False


def constants(*nodes: Node) -> set[float]:
    """Return the absolute values of the largest constant subtrees in some trees."""
    found: set[float] = set()
    evaluator = FloatEvaluator({})
    for node in nodes:
        fixed: list[Node] = []
        if _collect(node, fixed):
            fixed.append(node)
        found |= {abs(value) for value in map(evaluator.get, fixed) if value and abs(value) < _LARGEST}
    return found


def _collect(node: Node, fixed: list[Node]) -> bool:
    """Return True if a tree is constant. Otherwise, append its largest constant subtrees to `fixed`."""
    below = children(node)
    if not below:
        return not isinstance(node, (Sym, App))
    constant = [_collect(child, fixed) for child in below]
    if all(constant) and not isinstance(node, (App, BigOp)):
        return True
    fixed.extend(child for child, plain in zip(below, constant, strict=True) if plain)
    return False


class Scale(NamedTuple):
    """Places along a line at which a function is evaluated."""

    reach: float
    """Distance from 0 that exceeds the scale of the constants."""
    rungs: list[float]
    """Increasing numbers of both signs, some of them far beyond `reach`."""


def scale_of(sizes: set[float]) -> Scale:
    """Return the scale for functions whose constants have these absolute values."""
    low = min([0.5, *sizes]) / 10
    high = 100 * math.prod(sorted((max(1.0, size) for size in sizes), reverse=True)[:2])
    count = min(max(round(2 * math.log10(high / low)), 7), 13)
    ratio = (high / low) ** (1 / (count - 1))
    up = [low * ratio**k for k in range(count)]
    up = [*(s for s in _TINY if s < low), *up, *(s for s in _VAST if s > high)]
    return Scale(high, [-size for size in reversed(up)] + [0.0] + up)


def places(
    found: list[Break], env: dict[str, Fraction], name: str, scale: Scale, most: int
) -> dict[Fraction, bool]:
    """Return the sorted places where functions may break along one variable, with True for possible jumps.

    Args:
        found: Breaks to search for.
        env: Point on the line.
        name: Variable along the line.
        scale: Places at which the functions are evaluated.
        most: Maximum number of places. The places nearest to the point are kept.
    """
    evaluator = FloatEvaluator(env)
    seen: dict[Fraction, bool] = {}
    for one in found:
        if name not in one.names:
            continue

        def value(t: float, tree: Node = one.tree) -> float | None:
            evaluator.env[name] = t
            return evaluator.get(tree)

        here = value(float(env[name])) if one.steps else None
        levels = [0.0] if here is None else [float(math.floor(here) + k) for k in _LEVELS]
        for place in itertools.islice(_where(value, levels, scale), most):
            seen[place] = seen.get(place, False) or one.jumps
    chosen = sorted(seen, key=lambda t: abs(t - env[name]))[:most]
    return {t: seen[t] for t in sorted(chosen)}


def _where(value: _Line, levels: list[float], scale: Scale) -> Iterator[Fraction]:
    """Yield places where a function reaches one of the levels. A linear function needs no search."""
    slope = _slope(value, scale.reach)
    if slope is not None:
        for level in levels if slope else ():
            place = 0.5
            for _ in range(2):
                here = value(place)
                place -= 0.0 if here is None else (here - level) / slope
            yield _tidy(place)
        return
    values = [value(t) for t in scale.rungs]
    for level in levels:
        yield from _zeros(value, level, scale.rungs, values)


def _slope(value: _Line, reach: float) -> float | None:
    """Return the slope of a function that appears to be linear, or None for any other function."""
    low, near, beside, high = (value(t) for t in (-reach, 0.5, 17.25, reach))
    if low is None or near is None or beside is None or high is None:
        return None
    slope = (high - low) / (2 * reach)
    rounding = 1e-12 * max(abs(high), abs(low))
    linear = all(abs(low + slope * (t + reach) - y) <= rounding for t, y in ((0.5, near), (17.25, beside)))
    return slope if linear else None


def _zeros(value: _Line, level: float, scale: list[float], values: list[float | None]) -> Iterator[Fraction]:
    """Yield places where a function crosses a level between two rungs, touches it or dips below it.

    Crossings are sorted by distance from 0 and come before the dips.
    """
    above = [None if v is None else v - level for v in values]
    for index in sorted(range(len(scale) - 1), key=lambda k: abs(scale[k] + scale[k + 1])):
        t, u = scale[index : index + 2]
        y, z = above[index : index + 2]
        if y == 0:
            yield _tidy(t)
        elif y is not None and z is not None and (y < 0) != (z < 0) and z != 0:
            yield _tidy(_crossing(value, level, t, u, y, z))
    for index in range(1, len(scale) - 1):
        before, y, after = above[index - 1 : index + 2]
        if before is None or y is None or after is None or y == 0:
            continue
        if abs(before) >= abs(y) < abs(after) and (before < 0) == (y < 0) == (after < 0):
            yield from _dip(value, level, scale[index - 1], scale[index + 1], before, after)


def _tidy(t: float) -> Fraction:
    near = Fraction(t).limit_denominator(1_000)
    return near if abs(near - Fraction(t)) <= 1e-8 * (1 + abs(t)) else Fraction(t)


def _crossing(value: _Line, level: float, t: float, u: float, y: float, z: float) -> float:
    """Find a zero between two places with different signs by the Illinois variant of false position."""
    for _ in range(60):
        far = t * u > 0 and not 0.01 < t / u < 100
        middle = math.copysign(math.sqrt(t * u), t) if far else (t * z - u * y) / (z - y)
        if not min(t, u) < middle < max(t, u):
            return u
        found = value(middle)
        if found is None:
            return middle
        found -= level
        if found == 0 or abs(u - t) <= 1e-13 * (abs(t) + abs(u)):
            return middle
        if (found < 0) != (z < 0):
            t, y = u, z
        else:
            y /= 2
        u, z = middle, found
    return u


_GOLDEN = (math.sqrt(5) - 1) / 2


def _dip(value: _Line, level: float, low: float, high: float, y: float, z: float) -> Iterator[Fraction]:
    """Yield the zeros around an extremum of a function with the same sign at both ends of an interval."""

    sign = 1 if y > 0 else -1

    def beyond(t: float) -> float:
        """Return the distance from the level, which is negative on the far side of the level."""
        found = value(t)
        return math.nan if found is None else (found - level) * sign

    inner = [high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)]
    depths = [beyond(t) for t in inner]
    ends, heights = [low, high], [abs(y), abs(z)]
    for _ in range(45):
        if not 0 < min(depths) < max(heights) / 2:
            break  # The function crosses the level or is flat above it.
        if depths[0] < depths[1]:
            ends[1], heights[1] = inner[1], depths[1]
            inner = [ends[1] - _GOLDEN * (ends[1] - ends[0]), inner[0]]
            depths = [beyond(inner[0]), depths[0]]
        else:
            ends[0], heights[0] = inner[0], depths[0]
            inner = [inner[1], ends[0] + _GOLDEN * (ends[1] - ends[0])]
            depths = [depths[1], beyond(inner[1])]
    deep, place = min(zip(depths, inner, strict=True))
    if deep < 0:
        yield _tidy(_crossing(value, level, low, place, y, deep * sign))
        yield _tidy(_crossing(value, level, place, high, deep * sign, z))
    elif deep <= 1e-9 * min(abs(y), abs(z)):
        yield _tidy(place)
