"""Wrong variants of a reference program: copies with one change each, and programs that solve nothing.

Programs are parsed here, and never run. `programs.py` runs them in the sandbox.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Any

from rewardkit.rewards.code.assertions import METHOD

_SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.GtE, ast.NotEq: ast.Gt,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.FloorDiv, ast.FloorDiv: ast.Div,
    ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult, ast.BitXor: ast.BitOr, ast.BitOr: ast.BitXor,
    ast.BitAnd: ast.BitOr, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
_RENAMED = {"min": "max", "max": "min", "any": "all", "all": "any"}
_OMITTED = frozenset({"sorted", "set", "abs", "round", "list", "reversed", "int", "float", "str"})
"""Functions of one value, without which a program often still works."""
_KEPT = (ast.Import, ast.ImportFrom, ast.expr_context, ast.operator, ast.cmpop, ast.boolop, ast.unaryop)
"""Nodes that are not changed by themselves."""
_LONGEST = 20_000
"""Number of characters up to which a program is changed."""

Site = tuple[Any, str, int | None]
"""Place of a node: its parent, the parent's field, and the index if the field is a list."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """Wrong program, or one that is no better than the reference."""

    change: str
    """Difference from the reference program, in one line."""
    source: str


def mutants(source: str, function: str, most: int) -> list[Mutant]:
    """Return programs that solve nothing, and up to `most` copies of a program with one change each.

    Args:
        source: Source of the reference program, in Python.
        function: Name of the function that the tests call. `Solution().name` means a method.
        most: Maximum number of changed copies.
    """
    idle = [Mutant(f"always returns {value}", _returning(function, value)) for value in _IDLE]
    return [*idle, *changed(source, most)]


_IDLE = ("None", "True", "arguments[0]")


def _returning(function: str, value: str) -> str:
    if not METHOD.fullmatch(function):
        return f"def {function}(*arguments):\n    return {value}\n"
    owner, _, name = function.partition("().")
    return f"class {owner}:\n    def {name}(self, *arguments):\n        return {value}\n"


def changed(source: str, most: int) -> list[Mutant]:
    """Return up to `most` copies of a program with one change each, of as many kinds as possible."""
    if len(source) > _LONGEST:
        return []
    try:
        tree = ast.parse(source)
        whole = ast.unparse(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    by_kind: dict[str, list[tuple[Site, ast.AST]]] = {}
    for site, node in _sites(tree):
        for kind, other in _changes(node):
            by_kind.setdefault(kind, []).append((site, other))
    ranked = sorted(by_kind, key=_KINDS.index)
    turns = chain.from_iterable(zip_longest(*(by_kind[kind] for kind in ranked)))
    found: dict[str, Mutant] = {}
    for site, other in filter(None, turns):
        if len(found) >= most:
            break
        one = _applied(tree, site, other)
        if one.source != whole:
            found.setdefault(one.source, one)
    return list(found.values())


def _sites(node: ast.AST) -> Iterator[tuple[Site, ast.AST]]:
    """Yield all nodes that may be changed, except in loops' conditions, which could then run forever."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_comment"):
            continue
        if isinstance(node, ast.While) and name == "test":
            continue
        skipped = (*_KEPT, ast.AugAssign, ast.Break) if isinstance(node, ast.While) else _KEPT
        for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(child, ast.AST) and not isinstance(child, skipped):
                yield (node, name, index), child
                yield from _sites(child)


def _changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield the kinds of changes to a node, each with the node to put in its place."""
    if isinstance(node, ast.If | ast.IfExp):
        yield "skipped", _copy(node, test=ast.Constant(False))
        yield "taken", _copy(node, test=ast.Constant(True))
    elif isinstance(node, ast.BoolOp):
        yield from (("operand", operand) for operand in node.values)
        yield "operator", _copy(node, op=_SWAPPED[type(node.op)]())
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in _SWAPPED:
        yield "comparison", _copy(node, ops=[_SWAPPED[type(node.ops[0])](), *node.ops[1:]])
    elif isinstance(node, ast.BinOp) and type(node.op) in _SWAPPED:
        yield "operator", _copy(node, op=_SWAPPED[type(node.op)]())
    elif isinstance(node, ast.UnaryOp):
        yield "operand", node.operand
    elif isinstance(node, ast.Constant) and type(node.value) is int:
        yield "larger", ast.Constant(node.value + 1)
        yield "smaller", ast.Constant(node.value - 1)
    elif isinstance(node, ast.Slice):
        bounds = [name for name in ("lower", "upper") if getattr(node, name) is not None]
        yield from (("slice", _copy(node, **{name: None})) for name in bounds)
    elif isinstance(node, ast.Call):
        yield from _calls(node)
    elif isinstance(node, ast.Return) and node.value is not None:
        yield "return", ast.Return(ast.Constant(None))
    elif isinstance(node, ast.Break | ast.AugAssign) or _is_call(node):
        yield "statement", ast.Pass()


def _is_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)


def _calls(node: ast.Call) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(node.func, ast.Attribute) and not node.args:
        yield "call", node.func.value
    elif isinstance(node.func, ast.Name) and node.func.id in _RENAMED:
        yield "call", _copy(node, func=ast.Name(_RENAMED[node.func.id]))
    elif isinstance(node.func, ast.Name) and node.func.id in _OMITTED and node.args:
        yield "call", node.args[0]


_KINDS = (
    "comparison", "operand", "larger", "smaller", "skipped", "call", "slice", "operator", "taken",
    "statement", "return",
)  # fmt: skip
"""Kinds of changes, from those that the tests of MBPP's training rows miss most often to the least."""


def _copy(node: ast.AST, **fields: Any) -> ast.AST:
    return type(node)(**(dict(ast.iter_fields(node)) | fields))


def _applied(tree: ast.Module, site: Site, other: ast.AST) -> Mutant:
    """Return the program with another node at a site. The tree is as before afterwards."""
    parent, name, index = site
    held = getattr(parent, name)
    node = held if index is None else held[index]
    _put(parent, name, index, other)
    try:
        source = ast.unparse(tree)
    finally:
        _put(parent, name, index, node)
    return Mutant(f"`{_line(node)}` is `{_line(other)}`", source)


def _put(parent: ast.AST, name: str, index: int | None, node: Any) -> None:
    if index is None:
        setattr(parent, name, node)
    else:
        getattr(parent, name)[index] = node


def _line(node: ast.AST) -> str:
    return " ".join(ast.unparse(node).partition(":\n")[0].split())[:80]
