"""Builds the tree of a listing: one value, a list, or conditions joined by "and" or "or"."""

from __future__ import annotations

from typing import TypeGuard

from rewardkit.rewards.math.reading.words import JOINTS
from rewardkit.rewards.math.tree.nodes import (
    Add,
    App,
    Const,
    Div,
    Fn,
    Logic,
    Mul,
    Node,
    Num,
    Pow,
    Rel,
    Seq,
    Sym,
)

_CONGRUENT = ("mod", "modulus")
ANYTHING = Sym("?")
"""Subject of a congruence without a stated subject, such as `1 (mod 4)`."""


def congruent(subject: Node, value: Node, modulus: Node) -> Node:
    r"""Return a congruence, or a list with one for each member of a set: `x \in \{1, 3\} \pmod 8`."""
    if not (isinstance(value, Seq) and value.opening == "{" and value.items):
        return Rel(_CONGRUENT, (subject, value, modulus))
    found = tuple(Rel(_CONGRUENT, (subject, member, modulus)) for member in value.items)
    return found[0] if len(found) == 1 else Seq("", "", found)


def is_residues(node: Node) -> TypeGuard[Seq]:
    """Return True if a node is a bare list of congruences."""
    return isinstance(node, Seq) and node.opening == "" and all(map(_is_congruence, node.items))


def _is_congruence(node: Node) -> bool:
    return isinstance(node, Rel) and node.ops == _CONGRUENT


def assemble(groups: list[list[Node]], joints: list[str], connectives: set[str]) -> Node:
    """Return the tree of a listing from its comma groups and the words or semicolons between them.

    Args:
        connectives: All words between items, including words after a comma.
    """
    if any(isinstance(item, Rel) and item.ops == ("mod",) for group in groups for item in group):
        groups = [[_with_modulus(item) for item in group] for group in groups]
    names = [item for group in groups for item in group]
    joined = len(connectives) == 1 and connectives.isdisjoint(_SIGNS)
    if joined and len(names) > 1 and all(map(_is_proposition, names)):
        return Logic(_JOINED[JOINTS[connectives.pop()]], tuple(names))  # "A or C" differs from "A and C".
    if set(joints) == {"and"} and all(len(g) == 1 and isinstance(g[0], _VALUES) for g in groups[1:]):
        groups = [[item for group in groups for item in group]]  # An example is x \\ne 1, 2 and 3.
        joints = []
    elif set(joints) == {"or"} and _has_no_subject(names[-1]):
        groups = [names]  # An example is x \\equiv 1 or 3 \\pmod 8.
        joints = []
    groups = [_shared(group) if len(group) > 1 else group for group in groups]
    if len(groups) == 1:
        items = groups[0]
        return items[0] if len(items) == 1 else Seq("", "", tuple(items))
    flat = [item for group in groups for item in group]
    if _SIGNS.issuperset(joints) and len(flat) == len(groups) and all(map(_is_proposition, flat)):
        return _formula(flat, joints)
    words = {JOINTS[j] for j in joints if j in JOINTS}
    single_relations = all(len(g) == 1 and isinstance(g[0], Rel) for g in groups)
    alternatives = words == {"or"} and len({item.sides[0] for item in flat if isinstance(item, Rel)}) > 1
    residues = words == {"or"} and all(isinstance(item, Rel) and "modulus" in item.ops for item in flat)
    if (
        len(words) == 1
        and single_relations
        and (alternatives or any(map(_is_condition, flat)))
        and not residues
    ):
        return Logic(words.pop(), tuple(flat))
    sizes = {len(g) for g in groups}
    if sizes != {1} and len(sizes) == 1 and all(isinstance(item, Rel) for item in flat):
        return Seq("", "", tuple(Seq("(", ")", tuple(group)) for group in groups))
    return Seq("", "", tuple(flat))


def _with_modulus(node: Node) -> Node:
    r"""Return the last residue of `x \equiv 1, 3 \bmod 8` as a congruence, and any other node unchanged."""
    match node:
        case Fn(name="mod", args=(value, modulus)):
            return Rel(_CONGRUENT, (ANYTHING, value, modulus))
    return node


def _has_no_subject(node: Node) -> bool:
    """Return True if a node is a residue without a number that has it: `3 \\pmod 8`."""
    return isinstance(node, Rel) and node.ops == _CONGRUENT and node.sides[0] == ANYTHING


def _shared(items: list[Node]) -> list[Node]:
    r"""Repeat the shared part of a list in each of its items: `a, b > 0`, `x \ne 1, 2`, `1, 3 \pmod 8`."""
    found: list[Node] = []
    for item in items:
        last = found[-1] if found else None
        if isinstance(item, Rel) and item.ops in _BOUNDS and isinstance(item.sides[0], Sym):
            names = [] if item.sides[0] in found else _trailing(found, Sym)
            found[len(found) - len(names) :] = [Rel(item.ops, (name, item.sides[1])) for name in names]
        elif isinstance(item, Rel) and item.ops == _CONGRUENT:
            found, item = _residues(found, item)
        elif isinstance(last, Rel) and last.ops == ("!=",) and isinstance(item, _VALUES):
            item = Rel(last.ops, (last.sides[0], item))
        found.append(item)
    return found


def _residues(before: list[Node], last: Rel) -> tuple[list[Node], Rel]:
    r"""Expand `x \equiv 1, 3 \pmod 8` into a congruence for each residue.

    All congruences have the subject of the first residue and the modulus of the last. Return the items up to
    the last congruence, and the last congruence itself.
    """
    values = _trailing(before, (Num, Sym, Mul, Add))
    rest = before[: len(before) - len(values)]
    subject = last.sides[0]
    match rest[-1:]:
        case [Rel(ops=("mod",) | ("=",), sides=(named, first))]:
            subject = named
            values = [first, *values]
            rest.pop()
    shared = [Rel(last.ops, (subject, value, last.sides[2])) for value in (*values, last.sides[1])]
    return [*rest, *shared[:-1]], shared[-1]


_SIGNS = frozenset({"land", "lor"})
_JOINED = {"and": "both", "or": "either"}
_BOUNDS = {("!=",), ("<",), (">",), ("<=",), (">=",), ("in",), ("notin",)}
_VALUES = (Num, Const, Mul, Add, Div, Pow, Fn)


def _trailing(items: list[Node], kinds: type | tuple[type, ...]) -> list[Node]:
    """Return the longest run of nodes of these kinds at the end of a list."""
    start = len(items)
    while start and isinstance(items[start - 1], kinds):
        start -= 1
    return items[start:]


def _formula(items: list[Node], joints: list[str]) -> Node:
    r"""Build a formula such as `p \lor q \land r`, in which "and" binds more tightly than "or"."""
    alternatives: list[list[Node]] = [[items[0]]]
    for joint, item in zip(joints, items[1:], strict=False):
        if joint == "land":
            alternatives[-1].append(item)
        else:
            alternatives.append([item])
    parts = [one[0] if len(one) == 1 else Logic("and", tuple(one)) for one in alternatives]
    return parts[0] if len(parts) == 1 else Logic("or", tuple(parts))


def _is_proposition(node: Node) -> bool:
    """Return True if a node is a letter, a predicate, or a formula made of letters and predicates."""
    match node:
        case Sym() | App():
            return True
        case Logic(parts=items) | Mul(factors=items):
            return all(map(_is_proposition, items))
    return False


def _is_condition(node: Node) -> bool:
    """Return True if a node restricts a variable instead of stating its value."""
    return isinstance(node, Rel) and any(op != "=" for op in node.ops)
