"""Sets given by a condition, `{x | x > 0}` and `{2k + 1 : k in Z}`: what they hold, by head and condition.

As spans (`realset`) such a set is only known where its head is a plain real variable.
"""

from __future__ import annotations

from fractions import Fraction

from rewardkit.rewards.math.comparing.rational import Irrational, exact
from rewardkit.rewards.math.comparing.rule import Rule
from rewardkit.rewards.math.guards import TooLarge
from rewardkit.rewards.math.policies import MathOptions
from rewardkit.rewards.math.tree.nodes import Builder, Const, Logic, Node, Rel, Seq, Sym, number, symbols
from rewardkit.rewards.math.tree.rebuild import substitute

_REALS = (Const("R"), Sym("R"))


def whole_condition(node: Builder) -> tuple[Node, Node]:
    """Return head and condition of `{x in D | ...}` with the membership among the conditions, unless D is the
    reals."""
    match node.head:
        case Rel(ops=("in",), sides=(Sym() as name, domain)):
            if domain in _REALS:
                return name, node.condition
            return name, Logic("and", (*_parts(node.condition), node.head))
    return node.head, node.condition


def _parts(condition: Node) -> tuple[Node, ...]:
    return condition.parts if isinstance(condition, Logic) and condition.op == "and" else (condition,)


def same_builder(a: Builder, b: Builder, options: MathOptions, equal: Rule) -> bool | None:
    """Whether two such sets are the same, by their heads and conditions; None where that stays open."""
    (head, condition), (other_head, other_condition) = whole_condition(a), whole_condition(b)
    names, others = _parameters(head, condition), _parameters(other_head, other_condition)
    if len(names) != len(others):
        return None
    for i, name in enumerate(others):  # by way of names that nobody writes: letters may change places
        other_head, other_condition = (
            substitute(x, name, Sym(f"?{i}")) for x in (other_head, other_condition)
        )
    for i, name in enumerate(names):
        other_head, other_condition = (
            substitute(x, f"?{i}", Sym(name)) for x in (other_head, other_condition)
        )
    found = equal(head, other_head, options), _same_condition(condition, other_condition, options, equal)
    if all(found):
        return True
    if condition == other_condition and len(names) == 1 and _is_integers(condition, names[0]):
        return _same_progression(head, other_head, names[0])
    plain = isinstance(head, Sym) and isinstance(other_head, Sym)
    return False if plain and found[1] is False else None


def _same_condition(a: Node, b: Node, options: MathOptions, equal: Rule) -> bool | None:
    first, second = _parts(a), _parts(b)
    if len(first) != len(second) or len(first) == 1:
        return equal(a, b, options)
    rest = list(second)
    for part in first:
        match = next((one for one in rest if equal(part, one, options)), None)
        if match is None:
            return None
        rest.remove(match)
    return True


def _parameters(head: Node, condition: Node) -> list[str]:
    """The letters that stand for members: those of the head, in its order where it is a tuple of letters."""
    if isinstance(head, Seq):
        listed = [item.name for item in head.items if isinstance(item, Sym)]
        if len(set(listed)) == len(head.items):
            return listed
    return sorted(symbols(head) & (symbols(condition) | symbols(head)))


def _is_integers(condition: Node, name: str) -> bool:
    return isinstance(condition, Rel) and (condition.ops, condition.sides) in (
        (("in",), (Sym(name), Const("Z"))),
        (("in",), (Sym(name), Sym("Z"))),
    )


def _same_progression(a: Node, b: Node, name: str) -> bool | None:
    """Whether two heads that are linear in an integer run through the same numbers: `2k + 1` and `2k - 1`."""
    lines = [_line(head, name) for head in (a, b)]
    if lines[0] is None or lines[1] is None:
        return None
    (start, step), (other, other_step) = lines[0], lines[1]
    return abs(step) == abs(other_step) and ((start - other) / step).denominator == 1


def _line(head: Node, name: str) -> tuple[Fraction, Fraction] | None:
    try:
        values = [exact(substitute(head, name, number(k))) for k in (0, 1, 2, 5, -7)]
    except (Irrational, TooLarge, ZeroDivisionError):
        return None
    step = values[1] - values[0]
    straight = all(value == values[0] + k * step for k, value in zip((0, 1, 2, 5, -7), values, strict=True))
    return (values[0], step) if straight and step else None
