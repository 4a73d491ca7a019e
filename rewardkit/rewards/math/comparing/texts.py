"""Comparison of words with any tree.

The words may be names of numbers or sets, counted things, or single letters.

The function that compares the meanings of the words is passed in as `equal`.
"""

from __future__ import annotations

from rewardkit.rewards.math.comparing.rule import Rule
from rewardkit.rewards.math.policies import MathOptions
from rewardkit.rewards.math.reading.nouns import harmless
from rewardkit.rewards.math.reading.spelled import leading_number, spelled_number
from rewardkit.rewards.math.reading.text import fold, same
from rewardkit.rewards.math.tree.nodes import Const, Node, Quantity, Seq, SetOp, Sym, Text, negate, number


def text(a: Node, b: Node, options: MathOptions, equal: Rule) -> bool | None:
    assert isinstance(a, Text)
    if isinstance(b, Text):
        return same(a.text, b.text)
    meaning = _MEANINGS.get(fold(a.text))
    if meaning is not None:
        return equal(meaning, b, options)
    spelled = spelled_number(a.text)
    if spelled is not None:
        return equal(number(spelled), b, options)
    counted = leading_number(a.text)
    if counted is not None and harmless(counted[1]):
        return equal(Quantity(number(counted[0]), counted[1]), b, options)
    if isinstance(b, (Sym, Const)) and len(a.text) == 1:
        return a.text == b.name
    if isinstance(b, Quantity) and isinstance(b.value, Sym):
        return fold(a.text) == fold(b.unit)
    return False


_ZERO = number(0)
_MEANINGS: dict[str, Node] = {
    "no solution": Const("empty"),
    "infinity": Const("inf"),
    "negative infinity": negate(Const("inf")),
    "all real numbers": Const("R"),
    "all positive real numbers": Seq("(", ")", (_ZERO, Const("inf"))),
    "all negative real numbers": Seq("(", ")", (negate(Const("inf")), _ZERO)),
    "all nonnegative real numbers": Seq("[", ")", (_ZERO, Const("inf"))),
    "all nonpositive real numbers": Seq("(", "]", (negate(Const("inf")), _ZERO)),
    "all nonzero real numbers": SetOp("minus", (Const("R"), Seq("{", "}", (_ZERO,)))),
    "all integers": Const("Z"),
}
