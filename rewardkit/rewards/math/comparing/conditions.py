"""Comparison of relations, conditions of several, and sets given by a condition, with anything.

What a relation says is in `relations`; how its parts compare is passed in.
"""

from __future__ import annotations

from rewardkit.rewards.math.comparing import quantities, relations, sequences
from rewardkit.rewards.math.comparing.rational import Irrational, exact
from rewardkit.rewards.math.comparing.rule import Rule, family
from rewardkit.rewards.math.comparing.sets import set_of_reals
from rewardkit.rewards.math.guards import TooLarge
from rewardkit.rewards.math.policies import MathOptions
from rewardkit.rewards.math.reading.parse import ANYTHING
from rewardkit.rewards.math.tree.nodes import (
    Add,
    Builder,
    Logic,
    Mul,
    Node,
    Num,
    Rel,
    Seq,
    Sym,
    Text,
    negate,
    symbols,
)


def relation(a: Node, b: Node, options: MathOptions, equal: Rule) -> bool | None:
    """A relation, a condition of several, or a set-builder form, against anything."""
    if isinstance(a, Logic) and a.op == "and" and all(relations.assignment(p) for p in a.parts):
        return equal(Seq("", "", a.parts), b, options)
    if isinstance(b, Seq) and _has_values_and_bounds(b):
        return sequences.matched((a,), b.items, options, equal)
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
        and a.op == b.op
        and sequences.matched(a.parts, b.parts, options, equal)
    ):
        return True
    if isinstance(a, Logic) and not all(isinstance(part, (Rel, Logic, Builder)) for part in a.parts):
        return False  # propositions: no set is theirs
    return set_of_reals(a, b, options, equal)


def _has_values_and_bounds(listed: Seq) -> bool:
    """Whether a bare list mixes values with what restricts an unknown, `x>0, 1, 2`: no set of numbers."""
    items, _ = sequences.declared(listed.items)
    bounds = [isinstance(item, Rel) and any(op != "=" for op in item.ops) for item in items]
    values = [not isinstance(item, (Rel, Logic)) for item in items]
    return not listed.opening and any(bounds) and any(values)


def _other_unknowns(a: Node, b: Node) -> bool:
    """Whether one of two conditions restricts an unknown besides those of the other: `x < 3` and `y < 3`."""
    if isinstance(a, Builder) or not all(_is_condition(side) for side in (a, b)):
        return False
    first = symbols(a)
    second = symbols(b)
    return first != second and (first < second or second < first)


def _is_condition(node: Node) -> bool:
    parts = node.items if isinstance(node, Seq) else node.parts if isinstance(node, Logic) else (node,)
    return all(isinstance(part, (Rel, Logic)) for part in parts)


def _alternatives(a: Node, b: Node) -> tuple[Rel, Rel] | None:
    """`a = 0 or b = 0` as the one equation `ab = 0`, beside an equation it is compared with."""
    for this, other in ((a, b), (b, a)):
        if isinstance(this, Logic) and this.op == "or" and isinstance(other, Rel) and other.ops == ("=",):
            parts = [p for p in this.parts if isinstance(p, Rel) and p.ops == ("=",)]
            if len(parts) == len(this.parts):
                factors = tuple(Add((p.sides[0], negate(p.sides[1]))) for p in parts)
                return Rel(("=",), (Mul(factors), Num(0))), other
    return None


_NO_RULE = object()


def _relation_value(a: Rel, b: Node, options: MathOptions, equal: Rule) -> object:
    """What a relation says of its subject, against a plain value or set."""
    if all(op in ("=", "~") for op in a.ops):
        if not symbols(a):
            value = relations.chain_value(a)
            return equal(value, b, options) if value is not None else False
        found = relations.assignment(a)
        if found is None:
            return None if _may_solve(a, b) else False
        if isinstance(b, Seq) and not isinstance(found[1], Seq) and len(b.items) == len(a.sides) - 1 > 1:
            return sequences.in_order(
                [found[1]] * len(b.items), b.items, options, equal
            )  # x = y = z = 1 and (1, 1, 1)
        return equal(found[1], b, options)
    if a.ops == ("mod", "modulus") and family(b) == "scalar":
        return False  # a class of numbers is none of them
    if a.ops == ("in",) and relations.is_label(a.sides[0]):
        return equal(a.sides[1], b, options)
    return _NO_RULE


def _may_solve(equation: Rel, answers: Node) -> bool:
    """Whether an equation in one unknown stands against a list that may be its solutions."""
    return (
        equation.ops == ("=",)
        and len(symbols(equation)) == 1
        and _labels_of(answers) <= {Sym(name) for name in symbols(equation)}
    )


def _labels_of(node: Node) -> set[Node]:
    """The labels of a list whose every item is named; a label that matches nothing otherwise."""
    items = node.items if isinstance(node, Seq) else (node,)
    found = [relations.assignment(item) for item in items]
    return {f[0] for f in found if f is not None} if all(found) else {Text("")}


def _two_relations(a: Rel, b: Rel, options: MathOptions, equal: Rule) -> bool | None:
    first, second = relations.assignment(a), relations.assignment(b)
    if first and second and relations.same_label(first[0], second[0]):
        if relations.captures(*second, first[0]) or relations.captures(*first, second[0]):
            return False
        same = equal(first[1], relations.rename_head(second[0], second[1], first[0]), options)
        return same or sequences.counted_alike((a,), (b,), options, equal) or same
    if a.ops == b.ops == ("mod", "modulus"):
        return _congruent(a, b, options, equal)
    if a.ops == b.ops == ("in",) and relations.same_label(a.sides[0], b.sides[0]):
        return equal(a.sides[1], b.sides[1], options)
    if not symbols(a) and not symbols(b):
        return relations.same_statement(a, b)
    a, b = quantities.in_variables(a), quantities.in_variables(b)
    found = relations.same_relation(a, b, options)
    if found is None and first and second and isinstance(first[0], Sym) and isinstance(second[0], Sym):
        return False
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
