"""Type of the rules that compare two trees, and the family of a tree, which selects the rule.

Rules for composite trees get `equal`, the function that compares their parts, as an argument to avoid a
circular import.
"""

from __future__ import annotations

from collections.abc import Callable

from rewardkit.rewards.math.policies import MathOptions
from rewardkit.rewards.math.tree.nodes import NAMED_SETS, Add, Const, Node, Quantity

Rule = Callable[[Node, Node, MathOptions], bool | None]
"""Function that returns True if two trees are equal, False if they differ, or None if neither can be
proved."""


def family(node: Node) -> str:
    """Return the family of a tree, which most node classes define themselves."""
    if isinstance(node, Const):
        return "set" if node.name in NAMED_SETS else "scalar"
    return "quantity" if is_quantity(node) else node.family


def is_quantity(node: Node) -> bool:
    """Return True if a node is a quantity or a sum that contains a quantity."""
    return isinstance(node, Quantity) or (
        isinstance(node, Add) and any(isinstance(term, Quantity) for term in node.terms)
    )
