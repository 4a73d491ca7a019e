"""What a listing comes to: one value, a list of them, or conditions that all or any hold."""

from __future__ import annotations

from rewardkit.rewards.math.reading.words import JOINTS
from rewardkit.rewards.math.tree.nodes import App, Logic, Mul, Node, Rel, Seq, Sym


def assemble(groups: list[list[Node]], joints: list[str]) -> Node:
    """Return the tree of a listing from its comma groups and the words or semicolons between them."""
    if len(groups) == 1:
        items = groups[0]
        return items[0] if len(items) == 1 else Seq("", "", tuple(items))
    flat = [item for group in groups for item in group]
    if {"land", "lor"}.issuperset(joints) and len(flat) == len(groups) and all(map(_is_proposition, flat)):
        return _formula(flat, joints)
    words = {JOINTS[j] for j in joints if j in JOINTS}
    single_relations = all(len(g) == 1 and isinstance(g[0], Rel) for g in groups)
    alternatives = words == {"or"} and len({item.sides[0] for item in flat if isinstance(item, Rel)}) > 1
    if len(words) == 1 and single_relations and (alternatives or any(map(_is_condition, flat))):
        return Logic(words.pop(), tuple(flat))
    sizes = {len(g) for g in groups}
    if sizes != {1} and len(sizes) == 1 and all(isinstance(item, Rel) for item in flat):
        return Seq("", "", tuple(Seq("(", ")", tuple(group)) for group in groups))
    return Seq("", "", tuple(flat))


def _formula(items: list[Node], joints: list[str]) -> Node:
    """`p \\lor q \\land r`: "and" binds tighter."""
    alternatives: list[list[Node]] = [[items[0]]]
    for joint, item in zip(joints, items[1:], strict=False):
        if joint == "land":
            alternatives[-1].append(item)
        else:
            alternatives.append([item])
    parts = [one[0] if len(one) == 1 else Logic("and", tuple(one)) for one in alternatives]
    return parts[0] if len(parts) == 1 else Logic("or", tuple(parts))


def _is_proposition(node: Node) -> bool:
    """Whether this can be true or false and is no relation: a letter, a predicate, a formula of them."""
    match node:
        case Sym() | App():
            return True
        case Logic(parts=items) | Mul(factors=items):
            return all(map(_is_proposition, items))
    return False


def _is_condition(node: Node) -> bool:
    """Whether this restricts a variable rather than naming a value of it."""
    return isinstance(node, Rel) and any(op != "=" for op in node.ops)
