"""Comparison of sets of reals, given by conditions, intervals, operations or a name, as spans.

The function that compares the ends of spans is passed in as `equal`.
"""

from __future__ import annotations

from rewardkit.rewards.math.comparing import realset, sequences
from rewardkit.rewards.math.comparing.realset import NotASet
from rewardkit.rewards.math.comparing.rule import Rule, family
from rewardkit.rewards.math.comparing.texts import text
from rewardkit.rewards.math.policies import MathOptions
from rewardkit.rewards.math.tree.nodes import Const, Logic, Node, Rel, Seq, SetOp, Text


def named_set(a: Node, b: Node, options: MathOptions, equal: Rule) -> bool | None:
    if isinstance(a, Const) and isinstance(b, Const):
        return a.name == b.name
    return set_of_reals(a, b, options, equal)


def set_of_reals(a: Node, b: Node, options: MathOptions, equal: Rule) -> bool | None:
    """Compare two sets of reals as spans, or test the condition of one set on the spans of the other."""
    if isinstance(b, Text):
        return text(b, a, options, equal)
    if family(b) == "scalar":
        return None if isinstance(a, SetOp) else False
    first, second = realset.variable(a), realset.variable(b)
    if first is not None and second is not None and first != second:
        return False
    left, right = _spans(a), _spans(b)
    if left is not None and right is not None:
        return _same_spans(left, right, options, equal)
    name = first or second
    if name is not None and left is not None:
        return _agrees(left, b, name)
    if name is not None and right is not None:
        return _agrees(right, a, name)
    if isinstance(a, SetOp) and isinstance(b, SetOp) and a.op == b.op:
        return (
            sequences.matched(a.parts, b.parts, options, equal)
            if a.op != "minus"
            else sequences.in_order(a.parts, b.parts, options, equal)
        )
    return None


def _spans(node: Node) -> realset.Spans | None:
    if isinstance(node, Seq) and node.opening == "":
        if not all(isinstance(i, Rel) for i in node.items):
            return None
        return _spans(Logic("and", node.items)) or _spans(Logic("or", node.items))
    try:
        return realset.spans(node)
    except NotASet:
        return None


def _agrees(spans: realset.Spans, node: Node, name: str) -> bool | None:
    """Return False if a point distinguishes the two sets, or None so that SymPy decides."""
    try:
        return False if realset.agrees(spans, node, name) is False else None
    except NotASet:
        return None


def _same_spans(a: realset.Spans, b: realset.Spans, options: MathOptions, equal: Rule) -> bool | None:
    if len(a) != len(b):
        return False
    found: bool | None = True
    for x, y in zip(a, b, strict=True):
        if (x.low_closed, x.high_closed) != (y.low_closed, y.high_closed):
            return False
        for one, other in ((x.low, y.low), (x.high, y.high)):
            verdict = equal(one, other, options)
            if verdict is False:
                return False
            found = None if verdict is None else found
    return found
