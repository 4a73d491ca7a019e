"""The big pieces of notation: sums, products, integrals, limits, matrices and systems of equations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rewardkit.rewards.math.guards import Unparsable
from rewardkit.rewards.math.tokens import END
from rewardkit.rewards.math.tree import BigOp, Fn, Logic, Matrix, Mul, Node, Num, Sym
from rewardkit.rewards.math.words import table

if TYPE_CHECKING:
    from rewardkit.rewards.math.atoms import Atoms

_MATRICES = table("matrix pmatrix bmatrix Bmatrix vmatrix Vmatrix smallmatrix array")
_ALIGNED = table("cases aligned align gathered split eqnarray")


def big(parser: Atoms) -> Node:
    op = parser.advance().value
    lower: Node | None = None
    upper: Node | None = None
    variable = ""
    while parser.peek() in (("op", "^"), ("op", "_")):
        if parser.advance().value == "^":
            upper = parser.exponent()
        else:
            variable, lower = _lower_bound(parser)
    if op == "int":
        return _integral(parser, lower, upper)
    parser.bound.append(variable)
    body = parser.term()
    parser.bound.pop()
    return BigOp(op, variable, lower, upper, body)


def _lower_bound(parser: Atoms) -> tuple[str, Node | None]:
    braced = parser.at("open", "{")
    start = parser.position + braced
    name = parser.tokens[start] if start < len(parser.tokens) else END
    if braced and name.kind in ("sym", "const") and parser.peek(2).value in ("=", "to"):
        parser.position += 3
        lower = parser.sum()
        if parser.at("op", "^"):  # a one-sided limit
            raise Unparsable("a one-sided limit")
        parser.expect("close", "}")
        return name.value, lower
    return "", parser.argument()


def _integral(parser: Atoms, lower: Node | None, upper: Node | None) -> Node:
    """The body runs to a factor `d` followed by a variable, at this level."""
    factors = parser.term()
    parts = factors.factors if isinstance(factors, Mul) else (factors,)
    if len(parts) >= 2 and parts[-2] == Sym("d") and isinstance(parts[-1], Sym):
        body = Mul(parts[:-2]) if len(parts) > 2 else Num(1)
        return BigOp("int", parts[-1].name, lower, upper, body)
    raise Unparsable("an integral without its differential")


def environment(parser: Atoms) -> Node:
    name = parser.advance().value
    if name == "array":
        parser.argument() if parser.at("open", "{") else None
    rows: list[list[Node]] = [[]]
    while parser.kind() != "end":
        token = parser.peek()
        if token.kind == "row":
            parser.advance()
            rows.append([])
        elif token.kind == "amp":
            parser.advance()
        else:
            rows[-1].append(parser.item())
            if parser.kind() == "sep":
                parser.advance()
    if parser.advance().kind != "end":
        raise Unparsable(f"the environment {name} does not end")
    cells = tuple(tuple(row) for row in rows if row)
    if name in _ALIGNED:
        return Logic("and", tuple(cell for row in cells for cell in row))
    if name not in _MATRICES or not cells or len({len(row) for row in cells}) != 1:
        raise Unparsable(f"the environment {name}")
    return Fn("det", (Matrix(cells),)) if name == "vmatrix" else Matrix(cells)
