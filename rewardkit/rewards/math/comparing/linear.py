"""Arithmetic with matrices and tuples inside an answer: sums, scalar multiples, products and small powers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from fractions import Fraction
from typing import TypeGuard

from rewardkit.rewards.math.comparing.rational import exact
from rewardkit.rewards.math.comparing.scalar import is_scalar
from rewardkit.rewards.math.tree.nodes import (
    Add,
    Div,
    Matrix,
    Mul,
    Node,
    Num,
    Pow,
    Seq,
    children,
    number,
    walk,
)

_MAX_POWER = 12
_MAX_CELLS = 64


def fold(node: Node) -> Node:
    """Return the tree with its arithmetic of matrices and tuples evaluated, if the shapes allow it."""
    if not any(isinstance(c, (Matrix, Seq, Mul, Add, Div, Pow)) for c in children(node)):
        return node
    match node:
        case Add(terms=terms):
            return _sum([fold(t) for t in terms]) or node
        case Mul(factors=factors):
            return _product([fold(f) for f in factors]) or node
        case Div(top=top, bottom=bottom):
            # The value is computed only once, because each level of a nested quotient would double the work.
            inner = fold(top)
            if isinstance(inner, Matrix):
                return _map(inner, lambda cell: Div(cell, bottom))
            return _each(inner, lambda item: Div(item, bottom)) if _is_tuple(inner) else node
        case Pow(base=base, exponent=Num(num=power, den=1)) if 0 < power <= _MAX_POWER:
            inner = fold(base)
            return _product([inner] * power) or node if isinstance(inner, Matrix) else node
    return node


def _is_tuple(node: Node) -> TypeGuard[Seq]:
    return isinstance(node, Seq) and node.opening + node.closing == "()" and len(node.items) > 1


def _each(node: Seq, change: Callable[[Node], Node]) -> Seq:
    return Seq("(", ")", tuple(map(change, node.items)))


def _sum(terms: list[Node]) -> Node | None:
    first = terms[0]
    tuples = [term.items for term in terms if _is_tuple(term)]
    if len(tuples) == len(terms) and len(set(map(len, tuples))) == 1:
        return Seq("(", ")", tuple(Add(items) for items in zip(*tuples, strict=True)))
    if not all(isinstance(t, Matrix) for t in terms) or not isinstance(first, Matrix):
        return None
    grids = [t.rows for t in terms if isinstance(t, Matrix)]
    if any([len(r) for r in grid] != [len(r) for r in first.rows] for grid in grids):
        return None
    return Matrix(
        tuple(tuple(Add(cells) for cells in zip(*rows, strict=True)) for rows in zip(*grids, strict=True))
    )


def _product(factors: list[Node]) -> Node | None:
    tuples = [factor for factor in factors if _is_tuple(factor)]
    others = [factor for factor in factors if not _is_tuple(factor)]
    if len(tuples) == 1 and all(map(is_scalar, others)):
        return _each(tuples[0], lambda item: Mul((*others, item)))
    result: Matrix | None = None
    scalars: list[Node] = []
    for factor in factors:
        if not isinstance(factor, Matrix):
            scalars.append(factor)
        elif result is None:
            result = factor
        elif len(result.rows[0]) != len(factor.rows) or len(result.rows) * len(factor.rows[0]) > _MAX_CELLS:
            return None
        else:
            result = _times(result, factor)
    if result is None or not scalars:
        return result
    return _map(result, lambda cell: Mul((*scalars, cell)))


def _times(a: Matrix, b: Matrix) -> Matrix:
    columns = list(zip(*b.rows, strict=True))
    return Matrix(tuple(tuple(_inner_product(row, column) for column in columns) for row in a.rows))


def _inner_product(row: tuple[Node, ...], column: tuple[Node, ...]) -> Node:
    if all(isinstance(cell, Num) and cell.places is None for cell in (*row, *column)):
        return number(sum((exact(x) * exact(y) for x, y in zip(row, column, strict=True)), Fraction(0)))
    cell = Add(tuple(Mul(pair) for pair in zip(row, column, strict=True)))
    # The cell doubles in size with each power. Walking through the cell deducts its size from the budget.
    deque(walk(cell), maxlen=0)
    return cell


def _map(matrix: Matrix, change: object) -> Matrix:
    assert callable(change)
    return Matrix(tuple(tuple(change(cell) for cell in row) for row in matrix.rows))


def transpose(node: Node) -> Node | None:
    """Return the transpose of a matrix, a tuple unchanged, or None for any other tree.

    A tuple equals both a row and a column, so that transposing it changes nothing.
    """
    if isinstance(node, Matrix):
        return Matrix(tuple(zip(*node.rows, strict=True)))
    return node if isinstance(node, Seq) else None


def from_lists(seq: Seq) -> Matrix | None:
    """Return nested lists such as `[[1,2],[3,4]]` as a matrix, or None for any other sequence."""
    rows = [item.items for item in seq.items if isinstance(item, Seq) and item.opening == "["]
    if len(rows) != len(seq.items) or len({len(r) for r in rows}) != 1 or not rows[0]:
        return None
    return Matrix(tuple(rows))
