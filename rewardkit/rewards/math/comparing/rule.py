"""The shape of every comparison of two trees, and the family of a tree, which picks the rule.

Rules for what has parts are given the comparison of the parts, `equal`, so that they need not import it.
"""

from __future__ import annotations

from collections.abc import Callable

from rewardkit.rewards.math.policies import MathOptions
from rewardkit.rewards.math.tree.nodes import NAMED_SETS, Add, Const, Node, Quantity

Rule = Callable[[Node, Node, MathOptions], bool | None]
"""Whether two trees say the same; None when that stays open."""


def family(node: Node) -> str:
    """Return the family of a tree; for most nodes it is stated with their class."""
    if isinstance(node, Const):
        return "set" if node.name in NAMED_SETS else "scalar"
    return "quantity" if is_quantity(node) else node.family


def is_quantity(node: Node) -> bool:
    """Whether this is a quantity, or a sum with one in it."""
    return isinstance(node, Quantity) or (
        isinstance(node, Add) and any(isinstance(term, Quantity) for term in node.terms)
    )
