"""The type of every comparison of two trees, and the family of a tree, which selects the rule.

Rules for composite trees get the comparison of the parts, `equal`, as an argument, so that they need not
import it.
"""

from __future__ import annotations

from collections.abc import Callable

from rewardkit.rewards.math.policies import MathOptions
from rewardkit.rewards.math.tree.nodes import NAMED_SETS, Add, Const, Node, Quantity

Rule = Callable[[Node, Node, MathOptions], bool | None]
"""Function that returns whether two trees mean the same; None if that remains open."""


def family(node: Node) -> str:
    """Return the family of a tree; most node classes define it themselves."""
    if isinstance(node, Const):
        return "set" if node.name in NAMED_SETS else "scalar"
    return "quantity" if is_quantity(node) else node.family


def is_quantity(node: Node) -> bool:
    """Return whether a node is a quantity, or a sum that contains one."""
    return isinstance(node, Quantity) or (
        isinstance(node, Add) and any(isinstance(term, Quantity) for term in node.terms)
    )
