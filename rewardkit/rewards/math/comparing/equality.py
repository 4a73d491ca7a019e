"""Typed comparison of two trees, with one rule for each pair of families in either order.

The rule of the higher family is used, so equal(a, b) and equal(b, a) run the same code. A rule returns
True, False, or None if it cannot decide. The rules use no symbolic algebra.
"""

from __future__ import annotations

import functools
from fractions import Fraction

from rewardkit.rewards.math.comparing import (
    conditions,
    families,
    linear,
    names,
    piecewise,
    quantities,
    realset,
    scalar,
    sequences,
    sets,
    texts,
    vectors,
)
from rewardkit.rewards.math.comparing.rule import Rule, family
from rewardkit.rewards.math.comparing.signs import has_pm, with_signs
from rewardkit.rewards.math.guards import spend
from rewardkit.rewards.math.policies import MathOptions
from rewardkit.rewards.math.tree.nodes import (
    Add,
    Based,
    Builder,
    Const,
    Degree,
    Div,
    Fn,
    Logic,
    Matrix,
    Mul,
    Node,
    Num,
    Percent,
    Pow,
    Ratio,
    Rel,
    Seq,
    SetOp,
    Sym,
    Time,
    walk,
)

_TUPLES = (Seq, Matrix)
_PI_OVER_180 = Div(Const("pi"), Num(180))
_HUNDRED = Num(100)


def equal(a: Node, b: Node, options: MathOptions) -> bool | None:
    """Return True if two trees are equal, False if they differ, or None if neither can be proved."""
    spend(20)
    if a == b:
        return True
    if has_pm(a) or has_pm(b):
        return with_signs(a, b, options, equal)
    a, b = _settled(a), _settled(b)
    if isinstance(a, _TUPLES) != isinstance(b, _TUPLES):
        a, b = _by_components(a, b, options), _by_components(b, a, options)
    first, second = family(a), family(b)
    if _RANKS[first] < _RANKS[second]:
        return _RULES[second](b, a, options)
    return _RULES[first](a, b, options)


def _by_components(a: Node, b: Node, options: MathOptions) -> Node:
    """Return a sum of unit vectors as a tuple if the other side is a tuple or column, or else the tree."""
    if isinstance(a, _TUPLES) or vectors.has_units(b):
        return a
    sum_of_units = vectors.in_units(a)
    if not vectors.has_units(sum_of_units):
        return a
    return vectors.components(sum_of_units, b, lambda x, y: scalar.equal(x, y, options)) or a


def _settled(node: Node) -> Node:
    """Return a tree with matrix arithmetic evaluated, names resolved and finite sets turned into lists."""
    if isinstance(node, Pow) and node.exponent == Sym("T"):
        return linear.transpose(node.base) or node
    if isinstance(node, Seq) and node.opening in ("", "{") and (every := realset.enumerated(node.items)):
        return Seq(node.opening, node.closing, every)
    if isinstance(node, (SetOp, Rel, Add, Mul, Builder)) and (classes := families.congruences(node)):
        return classes[0] if len(classes) == 1 else Seq("", "", classes)
    builder = realset.among_integers(node) if isinstance(node, SetOp) else node
    if isinstance(builder, Builder):
        return _members(builder) or node
    found = names.named(node)  # For example, A(1,2) is the point A.
    return linear.fold(found) if isinstance(found, (Add, Mul, Div, Pow)) else found


def _members(node: Builder) -> Seq | None:
    """Return a set as a list of integers, terms of a family or values named in its condition, or None."""
    try:
        return Seq("{", "}", realset.integers(node))
    except realset.NotASet:
        pass
    if (listed := realset.images(node)) is not None:
        return Seq("{", "}", listed)
    if not isinstance(node.head, Sym):
        family_of = (node.head, node.condition)  # as in 2k, k in Z for the even numbers
        return Seq("", "", family_of) if sequences.declared(family_of)[1] else None
    parts = node.condition.parts if isinstance(node.condition, Logic) else (node.condition,)
    return Seq("", "", parts) if node.head in names.labels(parts) else None


# --- percentages, angles, bases, times, dates and ratios ---


def _percent(a: Node, b: Node, options: MathOptions) -> bool | None:
    assert isinstance(a, Percent)
    if isinstance(b, Percent):
        return equal(a.value, b.value, options)
    if isinstance(b, Degree):
        return False
    found = equal(_hundredth(a.value), b, options)
    value = scalar.real_value(a.value)
    if found or options.units == "required" or (value is not None and abs(value) < 1):
        return found  # A number below one without a percent sign is the fraction itself: 0.25 is 25%.
    plain = equal(a.value, b, options) if not isinstance(a.value, Percent) else False
    return plain if plain is not False else found


def _hundredth(node: Node) -> Node:
    if isinstance(node, Num):
        value = node.value / 100
        return Num(value.numerator, value.denominator, None if node.places is None else node.places + 2)
    return Div(node, _HUNDRED)


def _degree(a: Node, b: Node, options: MathOptions) -> bool | None:
    assert isinstance(a, Degree)
    if isinstance(b, Degree):
        return equal(a.value, b.value, options)
    radians = Mul((a.value, _PI_OVER_180))
    if any(part == Const("pi") or (isinstance(part, Fn) and part.name.startswith("arc")) for part in walk(b)):
        return equal(radians, b, options)
    return equal(a.value, b, options) if options.units == "optional" else False


def _based(a: Node, b: Node, options: MathOptions) -> bool | None:
    assert isinstance(a, Based)
    if any(int(digit, 36) >= a.base for digit in a.digits if digit.isalnum()):
        return False  # For example, 72_2 is not a number.
    if isinstance(b, Based):
        return a.base == b.base and _without_zeros(a.digits) == _without_zeros(b.digits)
    return (
        options.units == "optional"
        and a.digits.removeprefix("-").replace(".", "", 1).isdecimal()
        and isinstance(b, Num)
        and b.value == Fraction(a.digits)
    )


def _without_zeros(digits: str) -> tuple[bool, str]:
    """Return the sign and the digits of a numeral without zeros that do not count."""
    return digits.startswith("-"), digits.upper().lstrip("-0")


def _time(a: Node, b: Node, options: MathOptions) -> bool | None:
    if isinstance(a, Time) and isinstance(b, Time):
        if a.meridiem and b.meridiem and a.meridiem != b.meridiem:
            return False
        if bool(a.meridiem) == bool(b.meridiem):
            return a.minutes == b.minutes
        marked, plain = (a, b) if a.meridiem else (b, a)
        if 60 <= plain.minutes < 780:
            return plain.minutes % 720 == marked.minutes  # A time such as 3:00 may be a.m. or p.m.
        return plain.minutes == marked.minutes + (720 if marked.meridiem == "p" else 0)
    return False


def _date(a: Node, b: Node, options: MathOptions) -> bool | None:
    """Return False.

    Equal dates were recognised earlier, and a date without a year equals no date with a year.
    """
    return False


def _ratio(a: Node, b: Node, options: MathOptions) -> bool | None:
    assert isinstance(a, Ratio)
    if isinstance(b, Ratio):
        if len(a.parts) != len(b.parts):
            return False
        crossed = [
            equal(Mul((x, b.parts[0])), Mul((y, a.parts[0])), options)
            for x, y in zip(a.parts[1:], b.parts[1:], strict=True)
        ]
        return False if False in crossed else None if None in crossed else True
    return equal(Div(*a.parts), b, options) if len(a.parts) == 2 else False


def _scalar(a: Node, b: Node, options: MathOptions) -> bool | None:
    infinite = _infinite(a), _infinite(b)
    if any(infinite):
        return infinite[0] == infinite[1]
    found = scalar.equal(a, b, options)
    if found or not sequences.may_count(a):
        return found
    return sequences.same_families((a,), (b,), counted=False) or found


def _infinite(node: Node) -> int:
    match node:
        case Const(name="inf"):
            return 1
        case Mul(factors=(Num(num=num), Const(name="inf"))):
            return 1 if num > 0 else -1
    return 0


_RULES: dict[str, Rule] = {
    "scalar": _scalar,
    "ratio": _ratio,
    "matrix": functools.partial(sequences.matrix, equal=equal),
    "cases": functools.partial(piecewise.cases, equal=equal),
    "sequence": functools.partial(sequences.sequence, equal=equal),
    "set": functools.partial(sets.named_set, equal=equal),
    "time": _time,
    "date": _date,
    "based": _based,
    "degree": _degree,
    "percent": _percent,
    "quantity": functools.partial(quantities.quantity, equal=equal),
    "text": functools.partial(texts.text, equal=equal),
    "relation": functools.partial(conditions.relation, equal=equal),
    "named": functools.partial(conditions.named, equal=equal),
    "part": functools.partial(conditions.part, equal=equal),
}
"""Rules by family, lowest family first. The first argument of a rule must be a tree of its family."""

_RANKS = {name: rank for rank, name in enumerate(_RULES)}
