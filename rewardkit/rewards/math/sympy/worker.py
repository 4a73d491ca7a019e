"""Worker for the SymPy tier, which builds SymPy objects from trees node by node and compares them.

The worker runs only in a subprocess that may be killed. SymPy never parses text. Every SymPy object is built
from a typed node, so nothing in an answer can be executed.
"""

from __future__ import annotations

from typing import Any

import msgspec
import sympy  # type: ignore[import-untyped]

from rewardkit.rewards.math.functions import FUNCTIONS
from rewardkit.rewards.math.tree.nodes import (
    Add,
    App,
    BigOp,
    Builder,
    Const,
    Degree,
    Div,
    Fn,
    Logic,
    Mul,
    Node,
    Num,
    Percent,
    Pow,
    Rel,
    Seq,
    SetOp,
    Sym,
)

Expr = Any
"""SymPy object. SymPy's annotations do not cover the parts used in this module."""
_CONSTANTS = {"pi": sympy.pi, "e": sympy.E, "i": sympy.I, "inf": sympy.oo}
_SETS = {
    "R": sympy.S.Reals, "Z": sympy.S.Integers, "N": sympy.S.Naturals, "Q": sympy.S.Rationals,
    "C": sympy.S.Complexes, "empty": sympy.S.EmptySet,
}  # fmt: skip
_FUNCTIONS = {name: getattr(sympy, function.sympy) for name, function in FUNCTIONS.items()}
_RELATIONS = {"=": sympy.Eq, "!=": sympy.Ne, "<": sympy.Lt, "<=": sympy.Le, ">": sympy.Gt, ">=": sympy.Ge}


class NoCounterpart(Exception):
    """Raised if a node has no SymPy counterpart."""


def prepare() -> None:
    """Make SymPy import its lazy modules before the server forks, so that all forks share their memory."""
    x = sympy.Symbol("x", real=True)
    sympy.simplify(sympy.sin(x) ** 2 + sympy.cos(x) ** 2 - sympy.integrate(1 / (x**2 + 1), (x, 0, 1)))
    sympy.Sum(sympy.Rational(1, 2) ** x, (x, 0, sympy.oo)).doit()
    sympy.limit(sympy.sin(x) / x, x, 0)
    sympy.solveset(x**2 - 3 * x + 2 > 0, x, sympy.S.Reals)
    sympy.solveset(sympy.sqrt(x) - 2, x, sympy.S.Reals)


def answer(question: dict[str, Any]) -> dict[str, Any]:
    """Compare the trees `a` and `b` of a question and return the outcome."""
    a, b = (msgspec.convert(question[side], Node) for side in "ab")
    outcome = decide(a, b)
    return {"outcome": {True: "equal", False: "not_equal", None: "undecided"}[outcome], "reason": "SymPy"}


def decide(a: Node, b: Node) -> bool | None:
    """Return True if SymPy finds two trees equal, False if different, or None if it cannot decide."""
    if _is_scalar(a) and _is_scalar(b):
        return _same_value(build(a), build(b))
    if isinstance(a, Rel) and isinstance(b, Rel) and a.ops == b.ops == ("=",):
        found = _same_equation(a, b)
        if found is not None:
            return found
    return _same_set(a, b)


def _is_scalar(node: Node) -> bool:
    return isinstance(node, (Num, Const, Sym, Add, Mul, Div, Pow, Fn, App, BigOp, Percent, Degree))


def _same_value(a: Expr, b: Expr) -> bool | None:
    a = a.doit()
    b = b.doit()
    difference = a - b
    if difference == 0:
        return True
    if not difference.free_symbols:
        value = sympy.N(difference, 30, maxn=200)
        if value.is_number and value.is_finite:
            size = max(abs(sympy.N(a, 15)), 1)
            if abs(value) > size * sympy.Float("1e-12"):
                return False
    if sympy.simplify(difference) == 0:
        return True
    found = difference.equals(0)
    return found if found is not None else None


def _same_equation(a: Rel, b: Rel) -> bool | None:
    """Return True if two equations have the same zeros, or None if their solutions must be compared."""
    first, second = (sympy.together(build(r.sides[0]) - build(r.sides[1])) for r in (a, b))
    ratio = sympy.cancel(sympy.numer(first) / sympy.numer(second))
    if ratio.is_number and ratio != 0:
        return True
    if first.free_symbols == second.free_symbols and len(first.free_symbols) == 1:
        return None
    squarefree = [sympy.prod(f for f, _ in sympy.factor_list(sympy.numer(e))[1]) for e in (first, second)]
    ratio = sympy.cancel(squarefree[0] / squarefree[1])
    return bool(ratio.is_number and ratio != 0)


def _same_set(a: Node, b: Node) -> bool | None:
    """Return True if two conditions on one unknown have the same solutions, or None if undecided.

    The result is None if neither condition has a solution, or if all numbers satisfy both. Without this rule,
    `e^x=-1` and `e^x=-2` would be equal, because neither equation has a real solution.
    """
    variable = _variable(a) or _variable(b)
    if variable is None:
        return None
    domain = sympy.S.Complexes if _polynomial(a, variable) and _polynomial(b, variable) else sympy.S.Reals
    first, second = _solutions(a, variable, domain), _solutions(b, variable, domain)
    if isinstance(first, sympy.FiniteSet) and isinstance(second, sympy.FiniteSet):
        return _same_points(first, second)
    if first in (sympy.S.EmptySet, domain) and second in (sympy.S.EmptySet, domain):
        return None if first == second else False
    if first == second or sympy.simplify(first.symmetric_difference(second)) == sympy.S.EmptySet:
        return True
    return False if _decided(first) and _decided(second) else None


def _polynomial(node: Node, variable: Expr) -> bool:
    """Return True if a side consists of values and of equations between polynomials in the unknown."""
    if isinstance(node, (Seq, Logic)):
        return all(_polynomial(p, variable) for p in (node.items if isinstance(node, Seq) else node.parts))
    if isinstance(node, Rel):
        return set(node.ops) == {"="} and all(build(s).is_polynomial(variable) for s in node.sides)
    return _is_scalar(node)


def _decided(found: Expr) -> bool:
    return isinstance(found, (sympy.FiniteSet, sympy.Interval, sympy.Union)) or found is sympy.S.EmptySet


def _same_points(a: Expr, b: Expr) -> bool | None:
    if len(a) != len(b):
        return False
    left = list(b)
    for x in a:
        match = next((y for y in left if sympy.simplify(x - y) == 0), None)
        if match is None:
            return False
        left.remove(match)
    return True


def _variable(node: Node) -> Expr | None:
    """Return the only unknown of a condition, or None if it has none or several."""
    if isinstance(node, Seq):
        # The entry is None for an item without exactly one unknown.
        names = {_variable(item) for item in node.items}
        return names.pop() if len(names) == 1 else None
    if isinstance(node, (Rel, Logic)):
        parts = node.sides if isinstance(node, Rel) else node.parts
        names = set()
        for part in parts:
            names |= {_variable(part)} if isinstance(part, (Rel, Logic)) else _free(part)
        return names.pop() if len(names) == 1 else None
    return None


def _free(node: Node) -> set[Expr]:
    try:
        return set(build(node).free_symbols)
    except NoCounterpart:
        return set()


def _solutions(node: Node, variable: Expr, domain: Expr) -> Expr:
    """Return the set of values of the unknown allowed by a condition, a list of values or a set."""
    match node:
        case Seq(opening="" | "{", items=items):
            return sympy.Union(*(_solutions(i, variable, domain) for i in items))
        case Seq(opening="(" | "[" as opening, closing=closing, items=(low, high)):
            return sympy.Interval(build(low), build(high), opening == "(", closing == ")")
        case SetOp(op="cup", parts=parts):
            return sympy.Union(*(_solutions(p, variable, domain) for p in parts))
        case SetOp(op="cap", parts=parts):
            return sympy.Intersection(*(_solutions(p, variable, domain) for p in parts))
        case SetOp(op="minus", parts=(first, second)):
            return _solutions(first, variable, domain) - _solutions(second, variable, domain)
        case Logic(op=op, parts=parts):
            combine = sympy.Intersection if op == "and" else sympy.Union
            return combine(*(_solutions(p, variable, domain) for p in parts))
        case Builder(condition=condition):
            return _solutions(condition, variable, domain)
        case Rel(ops=("in",), sides=(_, target)):
            return _solutions(target, variable, domain)
        case Rel(ops=ops, sides=sides):
            links = [
                _link(op, build(left), build(right), variable, domain)
                for op, left, right in zip(ops, sides, sides[1:], strict=False)
            ]
            return sympy.Intersection(*links)
        case Const(name=name) if name in _SETS:
            return _SETS[name]
        case _:
            return sympy.FiniteSet(build(node))


def _link(op: str, left: Expr, right: Expr, variable: Expr, domain: Expr) -> Expr:
    if op not in _RELATIONS:
        raise NoCounterpart(op)
    if op == "=":
        return sympy.solveset(left - right, variable, domain)
    return sympy.solveset(_RELATIONS[op](left, right), variable, sympy.S.Reals)


def build(node: Node) -> Expr:
    """Return the SymPy object for a scalar tree."""
    match node:
        case Num(num=num, den=den):
            return sympy.Rational(num, den)
        case Const(name=name) if name in _CONSTANTS:
            return _CONSTANTS[name]
        case Sym(name=name):
            return sympy.Symbol(name, real=True)
        case Add(terms=terms):
            return sympy.Add(*(build(t) for t in terms))
        case Mul(factors=factors):
            return sympy.Mul(*(build(f) for f in factors))
        case Div(top=top, bottom=bottom):
            return build(top) / build(bottom)
        case Pow(base=base, exponent=exponent):
            return sympy.Pow(build(base), build(exponent))
        case Percent(value=inner):
            return build(inner) / 100
        case Degree(value=inner):
            return build(inner) * sympy.pi / 180
        case Fn(name=name, args=args) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*(build(a) for a in args))
        case App(name=name, args=args):
            return sympy.Function(name)(*(build(a) for a in args))
        case BigOp():
            return _big(node)
    raise NoCounterpart(type(node).__name__)


def _big(node: BigOp) -> Expr:
    body = build(node.body)
    variable = sympy.Symbol(node.var, real=True)
    if node.op == "lim" and node.lower is not None:
        if body.has(sympy.factorial, sympy.gamma, sympy.binomial):
            raise NoCounterpart("a limit with factorials, which takes SymPy too long")
        return sympy.limit(body, variable, build(node.lower))
    if node.lower is None or node.upper is None:
        if node.op == "int":
            return sympy.integrate(body, variable)
        raise NoCounterpart(node.op)
    bounds = (variable, build(node.lower), build(node.upper))
    make = {"sum": sympy.Sum, "prod": sympy.Product, "int": sympy.Integral}[node.op]
    return make(body, bounds)
