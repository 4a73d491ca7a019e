"""Comparison of formulas with vectors and matrices by components and by their values at random points."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from rewardkit.rewards.math.comparing.numeric import Undefined, as_fraction, context, evaluate, seed
from rewardkit.rewards.math.comparing.rational import Irrational, exact
from rewardkit.rewards.math.guards import spend
from rewardkit.rewards.math.tree.nodes import (
    Add,
    Const,
    Div,
    Fn,
    Linear,
    Matrix,
    Mul,
    Node,
    Num,
    Pow,
    Seq,
    Sym,
    children,
    number,
    symbols,
    walk,
)
from rewardkit.rewards.math.tree.rebuild import rebuild, substitute

_SIZE = 3
_POINTS = 2
_MAX_POWER = 12
_DIGITS = 60
_TOLERANCE = Fraction(1, 10**30)
_UNITS = ("hat i", "hat j", "hat k")
_AXES = ("hat x", "hat y", "hat z")
Grid = tuple[tuple[Fraction, ...], ...]
"""Matrix of Fractions. A scalar has one cell, and a vector one column."""


class Misfit(Exception):
    """Raised if the shapes in a sum or product do not fit."""


def same_products(a: Node, b: Node) -> bool | None:
    """Return True if two formulas are equal for all vectors and matrices, or None if undecided.

    Raises:
        Misfit: No shapes fit both formulas, so that the bold letters must be ordinary numbers.
    """
    names = {
        name for side in (a, b) for part in walk(side) if isinstance(part, Linear) for name in part.names
    }
    if any(isinstance(part, Fn) and part.name == "cross" for side in (a, b) for part in walk(side)):
        return _same(a, b, names, 1)
    try:
        return _same(a, b, names, None)
    except Misfit:
        return _same(a, b, names, 1)


def without_marks(node: Node) -> Node:
    """Return a formula with its vectors and matrices turned into ordinary variables."""
    if isinstance(node, Linear):
        return without_marks(node.value)
    below = children(node)
    return rebuild(node, tuple(map(without_marks, below))) if below else node


def _same(a: Node, b: Node, names: set[str], columns: int | None) -> bool | None:
    for point in range(_POINTS):
        values = _Values(names, columns, point)
        try:
            first, second = values.of(a), values.of(b)
        except (Irrational, Undefined, ZeroDivisionError):
            return None
        if _shape(first) != _shape(second) or not _close(first, second):
            return False
    return True


def _shape(grid: Grid) -> tuple[int, int]:
    return len(grid), len(grid[0])


def _close(a: Grid, b: Grid) -> bool:
    pairs = [pair for rows in zip(a, b, strict=True) for pair in zip(*rows, strict=True)]
    size = max(abs(cell) for pair in pairs for cell in pair)
    return all(abs(x - y) <= size * _TOLERANCE for x, y in pairs)


class _Values:
    """Evaluator for formulas with vectors and matrices at one random point."""

    def __init__(self, names: set[str], columns: int | None, point: int) -> None:
        """Create an evaluator for the vectors and matrices with these names.

        Args:
            names: Names of the vectors and matrices.
            columns: Number of columns in each vector or matrix. If None, capital letters are square matrices
                and other letters are vectors.
            point: Number of the random point.
        """
        self.names = names
        self.columns = columns
        self.point = point

    def of(self, node: Node) -> Grid:
        spend(20)
        match node:
            case Linear(value=value):
                return self.of(value)
            case Sym(name=name):
                return self._letter(name)
            case Add(terms=terms):
                return _added([self.of(term) for term in terms])
            case Mul(factors=factors):
                return self._product(factors)
            case Div(top=top, bottom=bottom):
                return _scaled(self.of(top), 1 / _scalar(self.of(bottom)))
            case Pow(base=base, exponent=Sym(name="T" | "top")):
                return tuple(zip(*self.of(base), strict=True))
            case Pow(base=base, exponent=exponent):
                return self._power(self.of(base), exponent)
            case Fn(name="cross", args=(left, right)):
                return _crossed(self.of(left), self.of(right))
            case Fn(name="tr", args=(inner,)):
                grid = _square(self.of(inner))
                return _cell(sum((grid[k][k] for k in range(len(grid))), Fraction(0)))
            case Fn(name="abs", args=(inner,)) if not symbols(inner).isdisjoint(self.names):
                square = _scalar(_times(*[self.of(inner)] * 2))
                return _cell(self._number(Fn("root", (number(square), Num(2)))))
        return _cell(self._number(node))

    def _number(self, node: Node) -> Fraction:
        """Return the value of a formula without vectors, exactly or with more digits than are compared."""
        if not symbols(node).isdisjoint(self.names):
            raise Irrational("a function of a vector or matrix")
        env = {name: self._draw(name, 0) for name in symbols(node)}
        try:
            return exact(node, env)
        except Irrational:
            value = evaluate(node, env, _DIGITS, real=True)
        return as_fraction(context(_DIGITS).re(value))

    def _letter(self, name: str) -> Grid:
        if name in _UNITS:
            return tuple((Fraction(k == _UNITS.index(name)),) for k in range(_SIZE))
        if name not in self.names:
            return _cell(self._draw(name, 0))
        columns = self.columns or (_SIZE if name[:1].isupper() else 1)
        return tuple(
            tuple(self._draw(name, 1 + row * columns + column) for column in range(columns))
            for row in range(_SIZE)
        )

    def _draw(self, name: str, cell: int) -> Fraction:
        return Fraction(seed(f"{name}/{cell}/{self.point}") % 9_973 - 4_986)

    def _product(self, factors: tuple[Node, ...]) -> Grid:
        result = self.of(factors[0])
        for factor in factors[1:]:
            result = _times(result, self.of(factor))
        return result

    def _power(self, base: Grid, exponent: Node) -> Grid:
        power = exact(exponent)
        if power.denominator != 1 or abs(power) > _MAX_POWER:
            raise Irrational("a power")
        if power < 0:
            base = _inverse(base)
        result = base
        if power == 0:
            raise Irrational("the power zero of a matrix")
        for _ in range(abs(power.numerator) - 1):
            result = _times(result, base)
        return result


def _cell(value: Fraction) -> Grid:
    return ((value,),)


def _scalar(grid: Grid) -> Fraction:
    if len(grid) != 1 or len(grid[0]) != 1:
        raise Misfit("a vector or matrix where a number is due")
    return grid[0][0]


def _square(grid: Grid) -> Grid:
    if len(grid) != len(grid[0]):
        raise Misfit("a matrix that is not square")
    return grid


def _added(grids: list[Grid]) -> Grid:
    if len({(len(grid), len(grid[0])) for grid in grids}) > 1:
        raise Misfit("a sum of other shapes")
    return tuple(
        tuple(sum(cells, Fraction(0)) for cells in zip(*rows, strict=True))
        for rows in zip(*grids, strict=True)
    )


def _scaled(grid: Grid, factor: Fraction) -> Grid:
    return tuple(tuple(cell * factor for cell in row) for row in grid)


def _times(a: Grid, b: Grid) -> Grid:
    """Return the matrix product, or the scalar product of two vectors."""
    for one, other in ((a, b), (b, a)):
        if len(one) == len(one[0]) == 1:
            return _scaled(other, one[0][0])
    if len(a[0]) == len(b[0]) == 1:
        a = tuple(zip(*a, strict=True))
    if len(a[0]) != len(b):
        raise Misfit("a product of other shapes")
    columns = list(zip(*b, strict=True))
    return tuple(
        tuple(sum((x * y for x, y in zip(row, column, strict=True)), Fraction(0)) for column in columns)
        for row in a
    )


def _crossed(a: Grid, b: Grid) -> Grid:
    if (len(a), len(a[0])) != (_SIZE, 1) or (len(b), len(b[0])) != (_SIZE, 1):
        raise Misfit("a cross product of what are no vectors")
    x, y = ([row[0] for row in side] for side in (a, b))
    return tuple(
        (x[(k + 1) % _SIZE] * y[(k + 2) % _SIZE] - x[(k + 2) % _SIZE] * y[(k + 1) % _SIZE],)
        for k in range(_SIZE)
    )


def _inverse(grid: Grid) -> Grid:
    size = len(_square(grid))
    rows = [[*row, *(Fraction(k == i) for k in range(size))] for i, row in enumerate(grid)]
    for column in range(size):
        pivot = next((r for r in range(column, size) if rows[r][column]), None)
        if pivot is None:
            raise Irrational("a matrix without an inverse")
        rows[column], rows[pivot] = rows[pivot], rows[column]
        rows[column] = [cell / rows[column][column] for cell in rows[column]]
        for r in range(size):
            if r != column:
                factor = rows[r][column]
                rows[r] = [x - factor * y for x, y in zip(rows[r], rows[column], strict=True)]
    return tuple(tuple(row[size:]) for row in rows)


# --- components ---


def in_units(node: Node) -> Node:
    r"""Return a formula with its unit vectors named i, j and k: `3\hat{x}+4\hat{y}` or `3i+4j+k`.

    Plain letters are unit vectors only if they are the only letters and there are two of them.
    """
    if not isinstance(node, (Add, Mul, Div, Linear)):
        return node
    names = symbols(node)
    letters: tuple[Node, ...]
    if not names.isdisjoint(_AXES) and names.isdisjoint(_UNITS):
        letters = tuple(map(Sym, _AXES))
    elif names in ({"j"}, {"k"}, {"j", "k"}) and (len(names) > 1 or Const("i") in walk(node)):
        letters = (Const("i"), Sym("j"), Sym("k"))
    else:
        return node
    return _renamed(node, dict(zip(letters, map(Sym, _UNITS), strict=True)))


def _renamed(node: Node, units: dict[Node, Sym]) -> Node:
    if isinstance(node, (Sym, Const)):
        return units.get(node, node)
    return (
        rebuild(node, tuple(_renamed(child, units) for child in children(node))) if children(node) else node
    )


def has_units(node: Node) -> bool:
    """Return True if a formula contains unit vectors."""
    return isinstance(node, (Sym, Add, Mul, Div, Linear)) and not symbols(node).isdisjoint(_UNITS)


def components(node: Node, other: Node, same: Callable[[Node, Node], bool | None]) -> Seq | None:
    """Return a sum of unit vectors as a tuple with as many components as another tuple or column.

    `same` compares two scalars. The result is None if the node is not a sum of unit vectors, or has more
    components than the other tuple or column.
    """
    match other:
        case Seq(opening="(" | "[" as opening, closing=closing, items=items):
            size = len(items)
        case Matrix(rows=rows):
            size, opening, closing = max(len(rows), len(rows[0])), "(", ")"
        case _:
            return None
    if not 2 <= size <= len(_UNITS) or not _is_sum_of_units(node):
        return None
    found = [_coefficient(node, unit) for unit in _UNITS]
    if any(not same(rest, Num(0)) for rest in found[size:]):
        return None
    return Seq(opening, closing, tuple(found[:size]))


def _is_sum_of_units(node: Node) -> bool:
    """Return True if every term has exactly one unit vector as a factor."""
    match node:
        case Linear(value=value):
            return _is_sum_of_units(value)
        case Add(terms=terms):
            return all(map(_is_sum_of_units, terms))
        case Mul(factors=factors):
            inner = [factor for factor in factors if has_units(factor)]
            return len(inner) == 1 and _is_sum_of_units(inner[0])
        case Div(top=top, bottom=bottom):
            return _is_sum_of_units(top) and not has_units(bottom)
        case Sym(name=name):
            return name in _UNITS
    return False


def _coefficient(node: Node, unit: str) -> Node:
    for name in _UNITS:
        node = substitute(node, name, Num(int(name == unit)))
    node = node.value if isinstance(node, Linear) else node
    try:
        return number(exact(node))
    except Irrational:
        return node
