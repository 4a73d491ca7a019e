"""The family of a tree, such as `scalar` or `set`. Each family has one rule of comparison, see `equality`."""

from __future__ import annotations

from rewardkit.rewards.math.tree.nodes import NAMED_SETS, Add, Const, Node, Quantity


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
