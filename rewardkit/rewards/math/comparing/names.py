"""Names of values: valid names, the names in a relation, and the named values in a list.

Named values are compared by name if both sides have names, and in order if one side has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rewardkit.rewards.math.comparing.scalar import equal, is_scalar
from rewardkit.rewards.math.policies import DEFAULT
from rewardkit.rewards.math.reading.listing import ANYTHING
from rewardkit.rewards.math.reading.text import fold
from rewardkit.rewards.math.reading.words import LEADS, table
from rewardkit.rewards.math.tree.nodes import (
    App,
    BigOp,
    Div,
    Fn,
    Logic,
    Matrix,
    Mul,
    NamedValue,
    Node,
    Quantity,
    Ratio,
    Rel,
    Seq,
    Sym,
    Text,
    symbols,
)
from rewardkit.rewards.math.tree.rebuild import substitute

_MEASURES = table("abs det max min sin cos tan cot sec csc deg dim gcd lcm floor ceil tr rank Var arg re im")


def is_label(node: Node) -> bool:
    """Return True if a node can name a result: a variable, f(x), AB, |AB|, (p, q), an integral."""
    match node:
        case Sym() | App() | Text() | BigOp():
            return True
        case Mul(factors=(Sym(name="nabla"), field)):
            return is_label(field)
        case Mul(factors=factors):
            names = [f.name for f in factors if isinstance(f, Sym)]
            named = len(names) == len(factors) and (all(n[:1].isupper() for n in names) or " " in names[-1])
            return named or _is_head(factors)
        case Seq() | Matrix():
            items = _components(node)
            return bool(items) and all(map(is_label, items))
        case Ratio(parts=items):
            return all(map(is_label, items))
        case Div(top=top, bottom=bottom):
            return (_is_segment(top) and _is_segment(bottom)) or (
                _is_differential(top) and _is_differential(bottom)
            )
        case Fn(name=name, args=args):
            return name in _MEASURES and all(_is_segment(a) or _is_greek(a) for a in args)
    return False


def _is_head(factors: tuple[Node, ...]) -> bool:
    return len(factors) == 2 and isinstance(factors[0], Sym) and isinstance(factors[1], Seq)


def _is_segment(node: Node) -> bool:
    """Return True if a node is a geometric name: a capital letter or a product of capital letters."""
    names = node.factors if isinstance(node, Mul) else (node,)
    return all(isinstance(n, Sym) and (n.name[:1].isupper() or " " in n.name) for n in names)


def _is_differential(node: Node) -> bool:
    """Return True if a node may be the top or bottom of a derivative: `dy`, `d x` or `d`."""
    first = node.factors[0] if isinstance(node, Mul) else node
    return first in (Sym("d"), Sym("partial"))


def _is_greek(node: Node) -> bool:
    return isinstance(node, Sym) and len(node.name) > 1


def assignment(node: Node) -> tuple[Node, Node] | None:
    """Return the name and value in `x = 5`, `5 = x`, `x = 2 + 3 = 5` or `A(1, 2)`, or None.

    A chain of constants that differ is false and has no value. The value is the number before an
    approximation sign, not the approximation after it.
    """
    match node:
        case NamedValue(name=name, value=value):
            return name, value
        case Mul(factors=(Sym() as name, Seq(opening="(", items=(_, _, *_)) as point)):
            return name, point  # An example is A(1, 2).
    if not isinstance(node, Rel) or any(op not in ("=", "~") for op in node.ops):
        return None
    sides = list(node.sides)
    if "~" in node.ops:
        cut = node.ops.index("~") + 1
        sides = sides[: max(cut, 2)]
    label, *values = sides
    if not is_label(label):
        if len(sides) == 2 and is_label(sides[1]) and not symbols(label):
            return sides[1], label
        return None
    more = []
    while len(values) > 1 and is_label(values[0]):
        more.append(values.pop(0))
    value = values[-1]
    if symbols(label) & symbols(value) and not isinstance(label, (App, Div, Seq, Matrix)):
        return None
    if any(_sides_differ(v, value) for v in values[:-1]):
        return None
    for name in reversed(more):
        value = NamedValue(name, value)
    return label, value


def _sides_differ(a: Node, b: Node) -> bool:
    """Return True if two sides of a chain are known to differ."""
    a, b = (n.value if isinstance(n, Quantity) else n for n in (a, b))
    if is_scalar(a) and is_scalar(b):
        return equal(a, b, DEFAULT) is False
    return a != b


def chain_value(node: Rel) -> Node | None:
    """Return the value of a chain of equal constants such as `3 + 4 = 7`, or None for any other relation."""
    if any(op not in ("=", "~") for op in node.ops) or symbols(node):
        return None
    if "~" in node.ops:
        return node.sides[node.ops.index("~")]
    last = node.sides[-1]
    return None if any(_sides_differ(s, last) for s in node.sides[:-1]) else last


def same_label(a: Node, b: Node) -> bool:
    """Return True if two labels name the same thing. The names of a definition's arguments do not matter.

    `y` names the same thing as any function of an argument. A function differs from its derivative and its
    inverse.
    """
    if a == b or (isinstance(a, Text) and isinstance(b, Text) and fold(a.text) == fold(b.text)):
        return True
    if isinstance(a, App) and isinstance(b, App) and len(a.args) != len(b.args):
        return False
    first, second = _function_head(a), _function_head(b)
    if not first or not second:
        return False
    names, primes = zip(*((name.rstrip("'"), name.count("'")) for name in (first, second)), strict=True)
    defined = isinstance(a, App) or isinstance(b, App)
    return primes[0] == primes[1] and (names[0] == names[1] or (defined and "y" in names))


def base_name(label: Node) -> str:
    """Return the name of a variable without a numeric index (`x` for `x_1`), or "" for other labels."""
    if not isinstance(label, Sym):
        return ""
    name, _, index = label.name.partition("_")
    return name if not index or index.isdigit() else label.name


def captures(label: Node, value: Node, model: Node) -> bool:
    """Return True if renaming a definition's arguments as in `model` would capture a letter: `f(y) = x^2`."""
    if not (isinstance(label, App) and isinstance(model, App)):
        return False
    return bool((symbols(model) - symbols(label)) & symbols(value))


def _function_head(node: Node) -> str:
    """Return the function name with primes at the head of a definition, or "" for other labels."""
    if isinstance(node, App):
        dummies = all(isinstance(arg, Sym) and not arg.name[:1].isupper() for arg in node.args)
        return node.name if dummies else ""  # P(A) is not P(B).
    return node.name if isinstance(node, Sym) and node.name.rstrip("'") in ("y", "f", "g", "h") else ""


def rename_head(label: Node, value: Node, model: Node) -> Node:
    """Return the value of a definition with its arguments renamed to those of the model's label."""
    if not (isinstance(label, App) and isinstance(model, App) and len(label.args) == len(model.args)):
        return value
    for mine, other in zip(label.args, model.args, strict=True):
        if isinstance(mine, Sym) and isinstance(other, Sym) and mine != other:
            value = substitute(value, mine.name, other)
    return value


def named(node: Node) -> Node:
    """Return a node that names values as a `NamedValue` or a tuple or list of named values.

    Other nodes are returned unchanged.
    """
    match node:
        case Rel() | Mul() if (found := assignment(node)) is not None:
            return _with_name(*found)
        case Logic(op="and", parts=parts) if all(map(assignment, parts)):
            return Seq("", "", parts)
        case Ratio(parts=(Text() as name, value)):
            return _with_name(name, value)
        case Seq(items=items) if len(items) > 1:
            return Seq(node.opening, node.closing, _spread(items))
    return node


def _with_name(name: Node, value: Node) -> Node:
    """Return a named value, a tuple of named values, or the plain value after "the answer is"."""
    if isinstance(name, Text) and LEADS.issuperset(name.text.casefold().replace(":", " ").split()):
        return value
    if parts := _components(name):
        values = _components(value)
        if len(values) == len(parts):
            pairs = zip(parts, values, strict=True)
            return Seq("(", ")", tuple(Rel(("=",), pair) for pair in pairs))
    return NamedValue(name, value)


def _components(value: Node) -> Sequence[Node]:
    """Return the components of a tuple, list, row or column, or an empty tuple for other values."""
    match value:
        case Seq(opening="(" | "[" | "", items=items):
            return items
        case Matrix(rows=rows) if len(rows) == 1 or len(rows[0]) == 1:
            return [cell for row in rows for cell in row]
    return ()


def _spread(items: tuple[Node, ...]) -> tuple[Node, ...]:
    """Return the items of a list, adding to each item a name that is written only once.

    For example, the name `(x, y)` applies to both points in `(x, y) = (1, 2), (3, 4)`. The items of
    `x: 1, y: 2` are named values, not ratios.
    """
    pairs = [item.parts for item in items if isinstance(item, Ratio) and len(item.parts) == 2]
    if len(pairs) == len(items) and all(is_label(name) and not symbols(value) for name, value in pairs):
        return tuple(NamedValue(*pair) for pair in pairs)
    first = items[0]
    if not (isinstance(first, Rel) and isinstance(first.sides[0], Seq) and assignment(first)):
        return items
    found: list[Node] = [first]
    for item in items[1:]:
        unnamed = isinstance(item, Seq) and item.opening == "(" and not labels(item.items)
        found.append(Rel(("=",), (first.sides[0], item)) if unnamed else item)
    return tuple(found)


def labels(items: Iterable[Node]) -> set[Node]:
    """Return the names in a list."""
    return {found[0] for item in items if (found := assignment(item)) is not None}


def joined_components(label: Node, items: Sequence[Node]) -> Seq | None:
    """Return the values of `v_x = 1, v_y = 2` in the order of the axes, as the vector `v`, or None.

    A missing component before the last one equals nothing.
    """
    if not (isinstance(label, Sym) and 1 < len(items) <= len(_AXES)):
        return None
    named = dict(found for item in items if (found := assignment(item)) is not None)
    axes = [Sym(f"{label.name}_{axis}") for axis in _AXES]
    if len(named) < len(items) or not named.keys() <= set(axes):
        return None
    values = [named.get(axis, ANYTHING) for axis in axes]
    while values[-1] == ANYTHING:
        values.pop()
    return Seq("(", ")", tuple(values))


_AXES = "xyz"


def names_of(node: Node) -> list[Node]:
    """Return all names of a named value."""
    return [node.name, *names_of(node.value)] if isinstance(node, NamedValue) else []


def value_of(node: Node) -> Node:
    """Return a value without its names."""
    return value_of(node.value) if isinstance(node, NamedValue) else node


def as_relation(node: NamedValue) -> Rel:
    """Return a named value as an equation."""
    sides = (*names_of(node), value_of(node))
    return Rel(("=",) * (len(sides) - 1), sides)
