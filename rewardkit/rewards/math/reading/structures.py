"""Parses large notations: sums, products, integrals, limits, matrices and systems of equations."""

from __future__ import annotations

from rewardkit.rewards.math.guards import Unparsable
from rewardkit.rewards.math.reading.levels import Parser
from rewardkit.rewards.math.reading.tokens import END, Token
from rewardkit.rewards.math.reading.words import JOINTS, table
from rewardkit.rewards.math.tree.nodes import BigOp, Cases, Fn, Logic, Matrix, Mul, Node, Num, Rel, Sym, Text

_MATRICES = table("matrix pmatrix bmatrix Bmatrix vmatrix Vmatrix smallmatrix array")
_ALIGNED = table("cases aligned align split eqnarray")


def big(parser: Parser) -> Node:
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


def _lower_bound(parser: Parser) -> tuple[str, Node | None]:
    braced = parser.at("open", "{")
    start = parser.position + braced
    name = parser.tokens[start] if start < len(parser.tokens) else END
    if braced and name.kind in ("sym", "const") and parser.peek(2).value in ("=", "to"):
        parser.position += 3
        lower = parser.sum()
        if parser.at("op", "^"):  # An example is `x \to 0^+`.
            raise Unparsable("a one-sided limit")
        parser.expect("close", "}")
        return name.value, lower
    return "", parser.argument()


def _integral(parser: Parser, lower: Node | None, upper: Node | None) -> Node:
    """Parse an integral. The body ends at a factor `d` followed by a variable, outside any brackets."""
    factors = parser.term()
    parts = factors.factors if isinstance(factors, Mul) else (factors,)
    if len(parts) >= 2 and parts[-2] == Sym("d") and isinstance(parts[-1], Sym):
        body = Mul(parts[:-2]) if len(parts) > 2 else Num(1)
        return BigOp("int", parts[-1].name, lower, upper, body)
    raise Unparsable("an integral without its differential")


def environment(parser: Parser) -> Node:
    name = parser.advance().value
    if name in _ALIGNED:
        _join_aligned(parser)
    rows: list[list[Node]] = [[]]
    while parser.kind() != "end":
        token = parser.peek()
        if token.kind == "row":
            parser.advance()
            rows.append([])
        elif token.kind == "amp":
            parser.advance()
        else:
            rows[-1].append(_condition(parser) if name in _ALIGNED and rows[-1] else parser.item())
            if parser.kind() == "sep":
                parser.advance()
    if parser.advance().kind != "end":
        raise Unparsable(f"the environment {name} is not closed")
    cells = tuple(tuple(row) for row in rows if row)
    column_of_relations = name == "array" and all(len(row) == 1 and isinstance(row[0], Rel) for row in cells)
    if name in _ALIGNED or (cells and column_of_relations):
        return _system(name, cells)
    if name not in _MATRICES or not cells or len({len(row) for row in cells}) != 1:
        raise Unparsable(f"the environment {name}")
    return Fn("det", (Matrix(cells),)) if name == "vmatrix" else Matrix(cells)


def _join_aligned(parser: Parser) -> None:
    r"""Remove alignment marks next to relation signs, and line breaks before relation signs.

    This joins the two lines of `x &= 5 \\ &= 3+2`.
    """
    tokens = parser.tokens
    start = parser.position
    kept: list[Token] = []
    for index in range(start, len(tokens)):
        kind = tokens[index].kind
        following = [t.kind for t in tokens[index + 1 : index + 3]]
        beside = following[:1] == ["rel"] or (kept and kept[-1].kind == "rel")
        continued = following[:1] == ["rel"] or following == ["amp", "rel"]
        if not ((kind == "amp" and beside) or (kind == "row" and continued)):
            kept.append(tokens[index])
    parser.tokens[start:] = kept


def _condition(parser: Parser) -> Node:
    """Parse the condition at the end of a row of cases, with or without "if" or "for" before it."""
    if parser.kind() == "sep" or (
        parser.kind() == "text" and parser.peek().value.casefold() in ("if", "when")
    ):
        parser.advance()
    parts = [parser.item()]
    joints = []
    while parser.kind() in ("conn", "sep") and parser.peek(1).kind not in ("row", "end", "amp"):
        joints.append(JOINTS.get(parser.advance().value, ","))
        parts.append(parser.item())
    return parts[0] if len(parts) == 1 else Logic("or" if set(joints) == {"or"} else "and", tuple(parts))


def _system(name: str, cells: tuple[tuple[Node, ...], ...]) -> Node:
    """Return a piecewise value if each row is a value with a condition.

    For other rows, return a conjunction of relations.
    """
    by_cases = all(len(row) == 2 and isinstance(row[1], (Rel, Logic, Text)) for row in cells)
    if cells and by_cases and not all(isinstance(row[0], Rel) for row in cells):
        return Cases(tuple((row[0], row[1]) for row in cells))
    flat = tuple(cell for row in cells for cell in row)
    if not flat:
        raise Unparsable(f"the environment {name} is empty")
    if not all(isinstance(cell, (Rel, Logic)) for cell in flat) and len(flat) != 1:
        raise Unparsable(f"the environment {name} contains something other than relations")
    return flat[0] if len(flat) == 1 else Logic("and", flat)
