"""Construction of trees from other trees, by replacing a variable or the children of a node."""

from __future__ import annotations

from rewardkit.rewards.math.tree.nodes import (
    Add,
    App,
    BigOp,
    Builder,
    Cases,
    Degree,
    Div,
    Fn,
    Linear,
    Logic,
    Matrix,
    Mul,
    NamedValue,
    Node,
    Part,
    Percent,
    Pm,
    Pow,
    Quantity,
    Ratio,
    Rel,
    Seq,
    SetOp,
    Sym,
    children,
)


def rebuild(node: Node, parts: tuple[Node, ...]) -> Node:
    """Return a node with its children replaced by `parts`."""
    match node:
        case Add():
            return Add(parts)
        case Mul():
            return Mul(parts)
        case Div():
            return Div(*parts)
        case Pow():
            return Pow(*parts)
        case Fn(name=name):
            return Fn(name, parts)
        case App(name=name):
            return App(name, parts)
        case Pm(flipped=flipped):
            return Pm(parts[0], flipped)
        case Percent():
            return Percent(parts[0])
        case Degree():
            return Degree(parts[0])
        case Quantity(unit=unit, bare=bare):
            return Quantity(parts[0], unit, bare)
        case Rel(ops=ops):
            return Rel(ops, parts)
        case Logic(op=op):
            return Logic(op, parts)
        case SetOp(op=op):
            return SetOp(op, parts)
        case Seq(opening=opening, closing=closing):
            return Seq(opening, closing, parts)
        case Ratio():
            return Ratio(parts)
        case Builder():
            return Builder(*parts)
        case Linear(names=names):
            return Linear(parts[0], names)
        case NamedValue():
            return NamedValue(*parts)
        case Part(label=label):
            return Part(label, parts[0])
        case Matrix(rows=rows):
            cells = iter(parts)
            return Matrix(tuple(tuple(next(cells) for _ in row) for row in rows))
        case Cases():
            return Cases(tuple(zip(parts[::2], parts[1::2], strict=True)))
        case BigOp(op=op, var=var, lower=lower, upper=upper):
            rest = list(parts)
            new_lower = rest.pop(0) if lower is not None else None
            new_upper = rest.pop(0) if upper is not None else None
            return BigOp(op, var, new_lower, new_upper, rest[0])
    return node


def substitute(node: Node, name: str, value: Node) -> Node:
    """Return the tree with the variable `name` replaced by `value`."""
    if isinstance(node, Sym):
        return value if node.name == name else node
    below = children(node)
    return rebuild(node, tuple(substitute(c, name, value) for c in below)) if below else node
