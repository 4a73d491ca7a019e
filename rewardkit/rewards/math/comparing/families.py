r"""Families of numbers counted by an integer, modulo their period: `\pi/4 + n\pi`, `x \equiv 3 \pmod 7`.

A family is the union of classes `value + n period`. Two families are equal if they have the same classes
modulo a common period. The name of the integer, the starting values and the split into classes do not matter.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from rewardkit.rewards.math.comparing.numeric import Undefined, evaluate
from rewardkit.rewards.math.comparing.scalar import is_scalar, same_constant
from rewardkit.rewards.math.guards import TooLarge
from rewardkit.rewards.math.reading.listing import ANYTHING
from rewardkit.rewards.math.tree.nodes import (
    Add,
    Builder,
    Const,
    Degree,
    Div,
    Fn,
    Mul,
    Node,
    Num,
    Rel,
    SetOp,
    Sym,
    negate,
    number,
    symbols,
)
from rewardkit.rewards.math.tree.rebuild import substitute

_MOST_CLASSES = 64
_DIGITS = 40


class ResidueClass(NamedTuple):
    """Numbers `value + n period` for all integers n."""

    value: Node
    period: Node


ResidueFamily = list[ResidueClass]


def family(items: Sequence[Node], letter: str) -> ResidueFamily | None:
    """Return the classes of values counted by the integer `letter`, or None if they are not a family."""
    found: ResidueFamily = []
    for item in items:
        match item:
            case Rel(ops=("mod", "modulus"), sides=(_, value, period)) | Fn(name="mod", args=(value, period)):
                if symbols(value) or symbols(period):
                    return None
                found.append(ResidueClass(value, period))
                continue
        if not (is_scalar(item) or isinstance(item, Degree)) or symbols(item) != {letter}:
            return None
        classes = _linear(item, letter) or _by_parity(item, letter)
        if not classes:
            return None
        found += classes
    return found if 0 < len(found) <= _MOST_CLASSES else None


def congruences(node: Node) -> tuple[Rel, ...]:
    r"""Return a set of residue classes as congruences, or an empty tuple for any other node.

    The set is a union of cosets `3+7\mathbb{Z}`, of set-builder forms and of congruences, or `x` is in it.
    """
    match node:
        case Rel(ops=("mod", "modulus")):
            return (node,)
        case Rel(ops=("in",), sides=(Sym() as subject, members)):
            return tuple(_congruence(subject, *one.sides[1:]) for one in congruences(members))
        case SetOp(op="cup", parts=parts):
            found = [congruences(part) for part in parts]
            return tuple(one for classes in found for one in classes) if all(found) else ()
        case Mul(factors=(Num() as period, domain)) if domain in _INTEGERS:
            return (_congruence(ANYTHING, Num(0), period),)
        case Add(terms=(first, second)):
            for coset, value in ((first, second), (second, first)):
                if isinstance(coset, Mul) and (found_one := congruences(coset)) and is_scalar(value):
                    return (_congruence(ANYTHING, value, found_one[0].sides[2]),)
        case Builder(head=head, condition=condition):
            return _described(head, condition)
    return ()


_INTEGERS = (Const("Z"), Sym("Z"))


def _congruence(subject: Node, value: Node, period: Node) -> Rel:
    return Rel(("mod", "modulus"), (subject, value, period))


def _described(head: Node, condition: Node) -> tuple[Rel, ...]:
    r"""Return the classes of `\{7k+3 : k\in\mathbb{Z}\}` or `\{x\in\mathbb{Z} : x \equiv 3 \pmod 7\}`."""
    match head, condition:
        case Rel(ops=("in",), sides=(Sym() as name, domain)), Rel(ops=("mod", "modulus")):
            fits = domain in _INTEGERS and condition.sides[0] == name
            return (_congruence(ANYTHING, *condition.sides[1:]),) if fits else ()
        case _, Rel(ops=("in",), sides=(Sym(name=letter), domain)) if domain in _INTEGERS:
            single = is_scalar(head) and symbols(head) == {letter}
            return tuple(_congruence(ANYTHING, *one) for one in (_linear(head, letter) if single else ()))
    return ()


def _linear(node: Node, letter: str) -> ResidueFamily:
    """Return a list with the class of an expression that is linear in its only letter, or an empty list."""
    zero, one, two, far = (_plain(substitute(node, letter, Num(n))) for n in (0, 1, 2, -5))
    period = Add((one, negate(zero)))
    steps = (
        (Add((two, negate(zero))), Mul((Num(2), period))),
        (Add((zero, negate(far))), Mul((Num(5), period))),
    )
    if same_constant(period, Num(0)) is not False or not all(same_constant(*step) for step in steps):
        return []
    return [ResidueClass(zero, period)]


def _by_parity(node: Node, letter: str) -> ResidueFamily:
    r"""Return the two classes of an expression such as `(-1)^n x + n\pi`, or an empty list."""
    double = Mul((Num(2), Sym(letter)))
    halves = [_linear(substitute(node, letter, Add((double, Num(k)))), letter) for k in (0, 1)]
    return [*halves[0], *halves[1]] if all(halves) else []


def _plain(node: Node) -> Node:
    """Return an angle in degrees as a product, so that other terms can be added to it."""
    return Mul((node.value, Degree(Num(1)))) if isinstance(node, Degree) else node


def is_shifted(classes: ResidueFamily) -> bool:
    """Return True if no class contains 0. The letter is then unlikely to be an ordinary variable."""
    return all(_quotient(one.value, one.period) is None for one in classes)


def same(a: ResidueFamily, b: ResidueFamily) -> bool | None:
    """Return True if two families have the same members, or None if no small common period is found."""
    unit = a[0].period
    ratios = [[_ratio(one.period, unit) for one in side] for side in (a, b)]
    if any(ratio is None for side in ratios for ratio in side):
        return None
    known = [[abs(ratio) for ratio in side if ratio is not None] for side in ratios]
    whole = _common_multiple([ratio for side in known for ratio in side])
    if sum(whole / ratio for side in known for ratio in side) > _MOST_CLASSES:
        return None
    places: list[set[Fraction]] = [set(), set()]
    others: list[list[Node]] = [[], []]
    for side, sizes, simple, rest in zip((a, b), known, places, others, strict=True):
        for one, size in zip(side, sizes, strict=True):
            steps = [size * step for step in range(int(whole / size))]
            start = _ratio(one.value, unit)
            if start is not None:
                simple.update((start + step) % whole for step in steps)
            else:
                rest += [Add((one.value, Mul((number(step), unit)))) for step in steps]
    period = Mul((number(whole), unit))
    return places[0] == places[1] and all(
        any(_quotient(Add((x, negate(y))), period) is not None for y in other)
        for one, other in (others, others[::-1])
        for x in one
    )


def _common_multiple(sizes: list[Fraction]) -> Fraction:
    return Fraction(
        math.lcm(*(size.numerator for size in sizes)), math.gcd(*(size.denominator for size in sizes))
    )


def _ratio(a: Node, b: Node) -> Fraction | None:
    """Return the quotient of two constants, or None if it is not a simple fraction."""
    try:
        value = evaluate(Div(a, b), {}, _DIGITS)
    except (Undefined, TooLarge):
        return None
    if getattr(value, "imag", 0) or not abs(value) < 1e6:
        return None
    # The quotient of two complex periods is complex, although it has no imaginary part.
    found = Fraction(str(getattr(value, "real", value))).limit_denominator(1_000)
    return found if same_constant(a, Mul((number(found), b))) else None


def _quotient(a: Node, b: Node) -> int | None:
    """Return the quotient of two constants, or None if it is not an integer."""
    found = _ratio(a, b)
    return int(found) if found is not None and found.denominator == 1 else None
