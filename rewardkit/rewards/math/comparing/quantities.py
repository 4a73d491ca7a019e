"""Comparison of values with units or counted nouns: what converts, what may be left out, what conflicts.

How the values compare is passed in; what words mean is in `units`.
"""

from __future__ import annotations

from rewardkit.rewards.math import units
from rewardkit.rewards.math.comparing.rule import Rule, is_quantity
from rewardkit.rewards.math.policies import MathOptions
from rewardkit.rewards.math.reading.nouns import same_things
from rewardkit.rewards.math.reading.text import fold
from rewardkit.rewards.math.tree.nodes import (
    Add,
    Degree,
    Mul,
    Node,
    Num,
    Percent,
    Pow,
    Quantity,
    Sym,
    number,
    symbols,
)


def quantity(a: Node, b: Node, options: MathOptions, equal: Rule) -> bool | None:
    first = _single_quantity(a)
    if first is None:
        return False
    if is_quantity(b):
        second = _single_quantity(b)
        return _two_quantities(first, second, options, equal) if second is not None else False
    unit = units.read(first.unit)
    spelled = _spelled_unit(first)
    if spelled is not None and symbols(b) and equal(spelled, b, options):
        return True
    if isinstance(b, (Degree, Percent)):
        return equal(first.value, b, options) if unit.droppable and unit.dimensions is None else False
    if not unit.droppable:
        return False
    if options.units == "required" and unit.dimensions is not None:
        return False
    return equal(first.value, b, options)


def _single_quantity(node: Node) -> Quantity | None:
    """One quantity; a sum of compatible ones (`5 ft 3 in`) in the unit of its first part."""
    if isinstance(node, Quantity):
        return node
    assert isinstance(node, Add)
    parts = [t for t in node.terms if isinstance(t, Quantity)]
    known = [units.read(p.unit) for p in parts]
    if (
        len(parts) != len(node.terms)
        or len({u.dimensions for u in known}) != 1
        or known[0].dimensions is None
    ):
        return None
    terms = [Mul((number(u.factor / known[0].factor), p.value)) for u, p in zip(known, parts, strict=True)]
    return Quantity(Add(tuple(terms)), parts[0].unit)


def _two_quantities(a: Quantity, b: Quantity, options: MathOptions, equal: Rule) -> bool | None:
    first, second = units.read(a.unit), units.read(b.unit)
    if first.dimensions is not None and second.dimensions is not None:
        if first.dimensions != second.dimensions:
            return False
        if first.factor == second.factor:
            return equal(a.value, b.value, options)
        ratio = first.factor / second.factor
        return equal(Mul((number(ratio), a.value)), b.value, options)
    same_words = fold(first.folded) == fold(second.folded)
    if not same_words and not (
        first.droppable and second.droppable and same_things(first.folded, second.folded)
    ):
        return False
    return equal(a.value, b.value, options)


def _spelled_unit(quantity: Quantity) -> Node | None:
    """The unit read as variables: `144 \\text{ m}^3` as 144 m^3."""
    letters, _, power = quantity.unit.partition("^")
    if not (letters.isalpha() and letters.isascii() and len(letters) <= 3):
        return None
    factors: list[Node] = [Sym(letter) for letter in letters]
    if power.isdigit():
        factors[-1] = Pow(factors[-1], Num(int(power)))
    return Mul((quantity.value, *factors))
