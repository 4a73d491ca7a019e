"""What a listing comes to: one value, a list of them, or conditions that all or any hold."""

from __future__ import annotations

from rewardkit.rewards.math.tree.nodes import Logic, Node, Rel, Seq


def assemble(groups: list[list[Node]], joints: list[str]) -> Node:
    """Return the tree of a listing from its comma groups and the words or semicolons between them."""
    if len(groups) == 1:
        items = groups[0]
        return items[0] if len(items) == 1 else Seq("", "", tuple(items))
    words = {j for j in joints if j in ("and", "or")}
    flat = [item for group in groups for item in group]
    single_relations = all(len(g) == 1 and isinstance(g[0], Rel) for g in groups)
    alternatives = words == {"or"} and len({item.sides[0] for item in flat if isinstance(item, Rel)}) > 1
    if len(words) == 1 and single_relations and (alternatives or any(map(_is_condition, flat))):
        return Logic(words.pop(), tuple(flat))
    sizes = {len(g) for g in groups}
    if sizes != {1} and len(sizes) == 1 and all(isinstance(item, Rel) for item in flat):
        return Seq("", "", tuple(Seq("(", ")", tuple(group)) for group in groups))
    return Seq("", "", tuple(flat))


def _is_condition(node: Node) -> bool:
    """Whether this restricts a variable rather than naming a value of it."""
    return isinstance(node, Rel) and any(op != "=" for op in node.ops)
