"""Comparison of values with units or counted nouns: conversions, optional units and conflicts.

The function that compares the values is passed in as `equal`. `units` parses the names of units.
"""

from __future__ import annotations

from rewardkit.rewards.math import units
from rewardkit.rewards.math.comparing.rule import Rule, is_quantity
from rewardkit.rewards.math.policies import MathOptions
from rewardkit.rewards.math.reading.nouns import names_things, same_things
from rewardkit.rewards.math.reading.text import fold
from rewardkit.rewards.math.tree.nodes import (
    Add,
    Const,
    Degree,
    Mul,
    Node,
    Num,
    Percent,
    Pow,
    Quantity,
    Rel,
    Sym,
    number,
    symbols,
)
from rewardkit.rewards.math.units import Measure, Unit

_ANGLE = (("deg", 1),)


def quantity(a: Node, b: Node, options: MathOptions, equal: Rule) -> bool | None:
    first = _single_quantity(a)
    if first is None:
        return False
    if is_quantity(b):
        second = _single_quantity(b)
        return _two_quantities(first, second, options, equal) if second is not None else False
    unit = units.read(first.unit)
    if symbols(b) and (spelled := _as_variables(first)) is not None and equal(spelled, b, options):
        return True
    if isinstance(b, Degree) and unit.measure is not None and unit.measure.dimensions == _ANGLE:
        return _two_quantities(first, Quantity(b.value, "deg"), options, equal)
    if isinstance(b, (Degree, Percent)):
        return equal(first.value, b, options) if unit.droppable and unit.measure is None else False
    if first.bare or not unit.droppable or (options.units == "required" and unit.measure is not None):
        return False
    return equal(first.value, b, options)


def _single_quantity(node: Node) -> Quantity | None:
    """Return a quantity unchanged, or a sum such as `5 ft 3 in` as a quantity in its first unit.

    Return None if the units are incompatible.
    """
    if isinstance(node, Quantity):
        return node
    assert isinstance(node, Add)
    parts = [t for t in node.terms if isinstance(t, Quantity)]
    known = [measure for part in parts if (measure := units.read(part.unit).measure) is not None]
    if len(known) != len(node.terms) or len({measure.dimensions for measure in known}) != 1:
        return None
    terms = [_converted(part.value, size, known[0]) for part, size in zip(parts, known, strict=True)]
    return Quantity(Add(tuple(terms)), parts[0].unit)


def _two_quantities(a: Quantity, b: Quantity, options: MathOptions, equal: Rule) -> bool | None:
    first, second = units.read(a.unit), units.read(b.unit)
    if first.measure is not None and second.measure is not None:
        return _two_measures(a.value, first.measure, b.value, second.measure, options, equal)
    return equal(a.value, b.value, options) if _same_words(first, second) else False


def _same_words(first: Unit, second: Unit) -> bool:
    """Return True if two phrases, at most one of them a unit of measure, mean the same after a number."""
    for unit, phrase in ((first, second), (second, first)):
        if unit.measure is not None:  # For example, "72 miles" and "72 miles in all" are equal.
            within = [units.read(word).measure for word in phrase.words.split()]
            return phrase.droppable and (unit.measure in within or not names_things(phrase.words))
    same = fold(first.words) == fold(second.words)
    if same and max(len(first.words), len(second.words)) <= _MOST_LETTERS:
        return first.words == second.words  # The prefixes of mw and Mw differ.
    return same or (first.droppable and second.droppable and same_things(first.words, second.words))


def _two_measures(
    a: Node, first: Measure, b: Node, second: Measure, options: MathOptions, equal: Rule
) -> bool | None:
    """Compare two values in both sides' units, because a decimal is rounded in the unit in which it is
    written."""
    if first.dimensions != second.dimensions:
        return False
    found = equal(_converted(a, first, second), b, options)
    return found if found or first == second else equal(a, _converted(b, second, first), options)


def _converted(value: Node, unit: Measure, other: Measure) -> Node:
    """Return a value in another unit of the same dimensions."""
    ratio = unit.times(other, -1)
    factors: list[Node] = [] if ratio.factor == 1 else [number(ratio.factor)]
    if ratio.pi:
        factors.append(Pow(Const("pi"), Num(ratio.pi)))
    return Mul((*factors, value)) if factors else value


def in_variables(relation: Rel) -> Rel:
    """Return a relation with its units interpreted as variables, as in `kx = 2mg`."""
    sides = ((isinstance(side, Quantity) and _as_variables(side)) or side for side in relation.sides)
    return Rel(relation.ops, tuple(sides))


def _as_variables(quantity: Quantity) -> Node | None:
    r"""Interpret the unit of a quantity as variables: `144 \text{ m}^3` as 144 m^3.

    Return None if there is no unit or a name in the unit has too many letters.
    """
    factors: list[Node] = [quantity.value]
    for name, power in units.read(quantity.unit).factors:
        if len(name) > _MOST_LETTERS:
            return None
        *letters, last = (Sym(_GREEK.get(letter, letter)) for letter in name)
        factors += [*letters, last if power == 1 else Pow(last, Num(power))]
    return Mul(tuple(factors)) if len(factors) > 1 else None


_GREEK = {"µ": "mu", "Ω": "Omega"}
_MOST_LETTERS = 3
