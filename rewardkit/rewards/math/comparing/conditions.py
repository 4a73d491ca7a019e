"""Comparison of relations, of conditions made of several relations, and of set-builder forms with any tree.

`relations` compares two relations. The function that compares their parts is passed in as `equal`.
"""

from __future__ import annotations

import itertools

from rewardkit.rewards.math.comparing import names, quantities, relations, sequences
from rewardkit.rewards.math.comparing.rational import Irrational, exact
from rewardkit.rewards.math.comparing.rule import Rule
from rewardkit.rewards.math.comparing.sets import set_of_reals
from rewardkit.rewards.math.guards import TooLarge
from rewardkit.rewards.math.policies import MathOptions
from rewardkit.rewards.math.reading.listing import ANYTHING
from rewardkit.rewards.math.reading.nouns import harmless
from rewardkit.rewards.math.tree.nodes import (
    Add,
    Builder,
    Logic,
    Mul,
    NamedValue,
    Node,
    Num,
    Part,
    Rel,
    Seq,
    Sym,
    Text,
    negate,
    symbols,
)


def named(a: Node, b: Node, options: MathOptions, equal: Rule) -> bool | None:
    """Compare a named value with any tree: by name if both have a name, otherwise by value."""
    assert isinstance(a, NamedValue)
    if isinstance(b, NamedValue):
        return _two_named(a, b, options, equal)
    if isinstance(b, (Rel, Logic, Builder)):
        return sequences.same_families((a,), (b,), counted=False) or relation(
            names.as_relation(a), b, options, equal
        )
    if isinstance(b, Seq):
        if _has_values_and_bounds(b):
            return sequences.matched((a,), b.items, options, equal)
        if sequences.declared(b.items)[1]:
            return sequences.sequence(b, a, options, equal)
        if (vector := names.joined_components(a.name, b.items)) is not None:
            return equal(names.value_of(a), vector, options)
        own = names.names_of(a)
        if len(b.items) == len(own) > 1:  # The answers may be x = y = z = 1 and (1, 1, 1).
            value = names.value_of(a)
            return equal(Seq("", "", tuple(NamedValue(name, value) for name in own)), b, options)
    if isinstance(a.name, Text) and not harmless(a.name.text):
        return False  # The answer may be `wrong: 5`.
    return equal(names.value_of(a), b, options)


def _two_named(a: NamedValue, b: NamedValue, options: MathOptions, equal: Rule) -> bool | None:
    first, second = names.value_of(a), names.value_of(b)
    for mine, other in itertools.product(names.names_of(a), names.names_of(b)):
        if names.same_label(mine, other):
            if names.captures(other, second, mine) or names.captures(mine, first, other):
                return False
            same = equal(first, names.rename_head(other, second, mine), options)
            return same or sequences.same_families((a,), (b,), counted=False) or same
    found = _two_relations(names.as_relation(a), names.as_relation(b), options, equal)
    return False if found is None and isinstance(a.name, Sym) and isinstance(b.name, Sym) else found


def part(a: Node, b: Node, options: MathOptions, equal: Rule) -> bool | None:
    """Compare the answer to a part of a question with any tree, including the label if both have one."""
    assert isinstance(a, Part)
    if isinstance(b, Part):
        return a.label == b.label and equal(a.value, b.value, options)
    return equal(a.value, b, options)


def relation(a: Node, b: Node, options: MathOptions, equal: Rule) -> bool | None:
    """Compare a relation, a condition made of several relations, or a set-builder form with any tree."""
    if isinstance(b, Seq) and _has_values_and_bounds(b):
        return sequences.matched((a,), b.items, options, equal)
    if isinstance(a, Logic) and isinstance(b, Seq) and a.op in _IN_SIGNS:
        return equal(Seq("", "", a.parts), b, options)
    if isinstance(a, Rel) and not isinstance(b, (Rel, Logic, Builder)):
        found = _relation_value(a, b, options, equal)
        if found is not _NO_RULE:
            return found  # type: ignore[return-value]
    if isinstance(a, Rel) and isinstance(b, Rel):
        found = _two_relations(a, b, options, equal)
        if found is not None:
            return found
    if _other_unknowns(a, b):
        return False
    if (product := _alternatives(a, b)) is not None:
        return relations.same_relation(*product, options)
    if (
        isinstance(a, Logic)
        and isinstance(b, Logic)
        and _IN_SIGNS.get(a.op, a.op) == _IN_SIGNS.get(b.op, b.op)
        and sequences.matched(a.parts, b.parts, options, equal)
    ):
        return True
    if isinstance(a, Logic) and not all(isinstance(part, (Rel, Logic, Builder)) for part in a.parts):
        return False  # Propositions do not define sets.
    return set_of_reals(a, b, options, equal)


_IN_SIGNS = {"both": "and", "either": "or"}


def _has_values_and_bounds(listed: Seq) -> bool:
    """Return True if a bare list has both values and bounds (`x>0, 1, 2`) and so is not a set of numbers."""
    items, _ = sequences.declared(listed.items)
    bounds = [isinstance(item, Rel) and any(op != "=" for op in item.ops) for item in items]
    values = [not isinstance(item, (Rel, Logic)) for item in items]
    return not listed.opening and any(bounds) and any(values)


def _other_unknowns(a: Node, b: Node) -> bool:
    """Return True if one condition has all unknowns of the other and more, as in `x < 3` and `x < y`."""
    if isinstance(a, Builder) or not all(_is_condition(side) for side in (a, b)):
        return False
    first = symbols(a)
    second = symbols(b)
    return first != second and (first < second or second < first)


def _is_condition(node: Node) -> bool:
    parts = node.items if isinstance(node, Seq) else node.parts if isinstance(node, Logic) else (node,)
    return all(isinstance(part, (Rel, Logic)) for part in parts)


def _alternatives(a: Node, b: Node) -> tuple[Rel, Rel] | None:
    """Return `a = 0 or b = 0` as the equation `ab = 0`, and the equation on the other side, or None."""
    for this, other in ((a, b), (b, a)):
        if isinstance(this, Logic) and this.op == "or" and isinstance(other, Rel) and other.ops == ("=",):
            parts = [p for p in this.parts if isinstance(p, Rel) and p.ops == ("=",)]
            if len(parts) == len(this.parts):
                factors = tuple(Add((p.sides[0], negate(p.sides[1]))) for p in parts)
                return Rel(("=",), (Mul(factors), Num(0))), other
    return None


_NO_RULE = object()


def _relation_value(a: Rel, b: Node, options: MathOptions, equal: Rule) -> object:
    """Compare the value or set that a relation states with a plain value or set, or return `_NO_RULE`."""
    if all(op in ("=", "~") for op in a.ops):
        if not symbols(a):
            value = names.chain_value(a)
            return equal(value, b, options) if value is not None else False
        return None if _may_solve(a, b) else False
    if a.ops == ("mod", "modulus"):
        listed = b.items if isinstance(b, Seq) and b.opening in ("", "{") else (b,)
        items, integers = sequences.declared(listed)
        if not all(integers.values()):
            return False  # A residue class also has negative members.
        # The result is None, and thus False, if the other side is a plain number.
        return bool(sequences.same_families((a,), items, counted=bool(integers)))
    if a.ops == ("in",) and names.is_label(a.sides[0]):
        return equal(a.sides[1], b, options)
    return _NO_RULE


def _may_solve(equation: Rel, answers: Node) -> bool:
    """Return True if an equation in one unknown may be compared with a list of its solutions."""
    return (
        equation.ops == ("=",)
        and len(symbols(equation)) == 1
        and _labels_of(answers) <= {Sym(name) for name in symbols(equation)}
    )


def _labels_of(node: Node) -> set[Node]:
    """Return the names in a list, or a name that equals no other name if an item has no name."""
    items = node.items if isinstance(node, Seq) else (node,)
    return names.labels(items) if all(map(names.assignment, items)) else {Text("")}


def _two_relations(a: Rel, b: Rel, options: MathOptions, equal: Rule) -> bool | None:
    if a.ops == b.ops == ("mod", "modulus"):
        return _congruent(a, b, options, equal)
    if a.ops == b.ops == ("in",) and names.same_label(a.sides[0], b.sides[0]):
        return equal(a.sides[1], b.sides[1], options)
    if not symbols(a) and not symbols(b):
        return relations.same_statement(a, b)
    a, b = quantities.in_variables(a), quantities.in_variables(b)
    found = relations.same_relation(a, b, options)
    if found is None and a.ops == b.ops == ("=",):
        return False if symbols(a) != symbols(b) or relations.refuted(a, b) else None
    return found


def _congruent(a: Rel, b: Rel, options: MathOptions, equal: Rule) -> bool | None:
    named = ANYTHING not in (a.sides[0], b.sides[0])
    if (named and not equal(a.sides[0], b.sides[0], options)) or not equal(a.sides[2], b.sides[2], options):
        return False
    try:
        return (exact(a.sides[1]) - exact(b.sides[1])) % exact(a.sides[2]) == 0
    except (Irrational, TooLarge, ZeroDivisionError):
        return equal(a.sides[1], b.sides[1], options)
