"""Families of values in an integer, `n\\pi`: one may be another by whole periods, or counted backwards.

How their ends compare is passed in.
"""

from __future__ import annotations

from rewardkit.rewards.math.comparing import relations, scalar
from rewardkit.rewards.math.comparing.rule import Rule
from rewardkit.rewards.math.policies import MathOptions
from rewardkit.rewards.math.tree.nodes import Add, Mul, Node, Num, negate, symbols
from rewardkit.rewards.math.tree.rebuild import substitute

_MOST_PERIODS = 1_000


def same_progression(a: Node, b: Node, name: str, options: MathOptions, equal: Rule) -> bool:
    """Return True where the values of two trees for all integers `name` are the same.

    Both must be linear in it and hold no other unknown: then they are the same where their steps are, up to
    the sign, and their starts are whole steps apart.
    """
    first, second = relations.assignment(a), relations.assignment(b)
    if first and second and first[0] != second[0]:
        return False
    left, right = (_line(found[1] if found else side, name) for found, side in ((first, a), (second, b)))
    if left is None or right is None:
        return False
    start, step = left
    other_start, other_step = right
    if not equal(step, other_step, options) and not equal(step, negate(other_step), options):
        return False
    apart = _whole_steps(start, other_start, step)
    if apart is None:
        return False
    return equal(Add((start, Mul((Num(apart), step)))), other_start, options) is True


def _line(node: Node, name: str) -> tuple[Node, Node] | None:
    """Start and step of what is linear in a variable; None for anything else."""
    if symbols(node) != {name}:
        return None
    values = [substitute(node, name, Num(n)) for n in (0, 1, 2, 5)]
    found = [scalar.real_value(value) for value in values]
    start, one, two, five = found
    if start is None or one is None or two is None or five is None:
        return None
    step = one - start
    tolerance = abs(step) * 1e-20
    if not step or abs(two - start - 2 * step) > tolerance or abs(five - start - 5 * step) > tolerance:
        return None
    return values[0], Add((values[1], negate(values[0])))


def _whole_steps(start: Node, other: Node, step: Node) -> int | None:
    """How many steps lie between two starts, if that is a whole number that is not absurd."""
    low, high, size = (scalar.real_value(node) for node in (start, other, step))
    if low is None or high is None or not size:
        return None
    steps = (high - low) / size
    whole = round(steps)
    return whole if abs(steps - whole) < 1e-15 and abs(whole) <= _MOST_PERIODS else None
