"""Comparison of two functions of variables at points that `points` chooses from the two trees.

Functions without an imaginary unit are real functions. They are equal if they have real values at the same
points and these values agree.
"""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import NamedTuple

from rewardkit.rewards.math.comparing.agreement import DIGITS, close, surely
from rewardkit.rewards.math.comparing.numeric import Evaluator
from rewardkit.rewards.math.comparing.points import Env, Functions, Point, branch_points, pieces, points
from rewardkit.rewards.math.comparing.rational import Irrational, exact
from rewardkit.rewards.math.functions import named
from rewardkit.rewards.math.guards import TooLarge
from rewardkit.rewards.math.tree.nodes import (
    MINUS_ONE,
    Add,
    App,
    Const,
    Degree,
    Div,
    Fn,
    Mul,
    Node,
    Num,
    Pow,
    Sym,
    children,
    negate,
    number,
    symbols,
)
from rewardkit.rewards.math.tree.rebuild import rebuild, substitute

_GOOD_POINTS = 3
_OF_COMPLEX = named("of_complex")


def same_function(a: Node, b: Node, names: list[str]) -> bool | None:
    """Return True if two trees agree for all values of the variables, False if not, or None if undecided."""
    functions = Functions.of(a, b, names)
    if any(isinstance(part, Fn) and part.name in _OF_COMPLEX for part in functions.parts):
        a, b = _complex(a, names), _complex(b, names)
        functions = Functions.of(a, b, sorted(symbols(a) | symbols(b)))
    rational = not any(map(_is_irrational, functions.parts))
    if Const("i") in functions.parts:
        return _Comparison(functions, rational, real=False).same()
    found = _Comparison(functions, rational, real=True).same()
    if found is None:  # The functions had no real values at any of the points.
        return _Comparison(functions, rational, real=False).same()
    return found


def _complex(node: Node, names: list[str]) -> Node:
    """Return the tree with every variable replaced by a complex variable."""
    for name in names:
        node = substitute(node, name, Add((Sym(name), Mul((Const("i"), Sym(f"{name} imaginary"))))))
    return node


def held(node: Node, env: Env) -> Node:
    """Return the tree with its variables and unknown functions replaced by their values at a point."""
    try:
        return number(exact(node, env))
    except (Irrational, TooLarge):
        pass
    match node:
        case Sym(name=name) if name in env:
            return number(env[name])
        case App() if all(name in env for name in symbols(node)):
            return number(Evaluator(env, DIGITS).unknown(node))
    below = children(node)
    return rebuild(node, tuple(held(child, env) for child in below)) if below else node


def same_up_to_constant(a: Node, b: Node) -> bool:
    """Return True if two functions, each with a constant of integration `+C`, differ only by a constant."""
    rests = [_without_constant(node) for node in (a, b)]
    if rests[0] is None or rests[1] is None:
        return False
    names = sorted(symbols(rests[0]) | symbols(rests[1]))
    if not names or any(name[:1].isupper() for name in names):
        return False  # In A + B + C, the C is an unknown and not a constant of integration.
    difference = Add((rests[0], negate(rests[1])))
    for env in islice(points(Functions.of(difference, Num(0), names)), _GOOD_POINTS):
        try:
            if same_function(difference, held(difference, env), names):
                return True
        except TooLarge:
            continue
    return False


def _without_constant(node: Node) -> Node | None:
    """Return a sum without its constant of integration, or None unless it has exactly one.

    The constant is a C with any sign and index.
    """
    if not isinstance(node, Add):
        return None
    rest = [term for term in node.terms if not _is_constant_of_integration(term)]
    return Add(tuple(rest)) if len(rest) == len(node.terms) - 1 > 0 else None


def _is_constant_of_integration(node: Node) -> bool:
    if isinstance(node, Mul) and node.factors[0] == MINUS_ONE and len(node.factors) == 2:
        node = node.factors[1]
    return isinstance(node, Sym) and node.name.partition("_")[0] == "C"


class _Comparison(NamedTuple):
    functions: Functions
    rational: bool
    real: bool

    def same(self) -> bool | None:
        good: Env | None = None
        seen: Counter[str | None] = Counter()
        too_large: TooLarge | None = None
        for count, env in enumerate(points(self.functions), 1):
            try:
                found = self.at(env)
            except TooLarge as error:
                too_large = error
                continue
            if found is False or self._other_ground(found):
                return False
            seen["good" if found is True else found] += 1
            good = env if found is True else good
            if count >= _GOOD_POINTS <= seen["good"] > seen["pole"]:
                break
        if seen["pole"] >= max(seen["good"], 1) or self._differ_elsewhere():
            return False
        if good is None and too_large is not None:
            raise too_large
        return None if good is None else self._surely(good)

    def at(self, env: Env) -> bool | str | None:
        """Compare both functions at one point. See `close` for the result."""
        found = self._exactly(env) if self.rational else None
        return close(self.functions.a, self.functions.b, env, self.real) if found is None else found

    def _exactly(self, env: Env) -> bool | None:
        try:
            return exact(self.functions.a, env) == exact(self.functions.b, env)
        except (Irrational, TooLarge):
            return None

    def _other_ground(self, found: bool | str | None) -> bool:
        """Return True if a missing value on one side proves a difference.

        A pole proves nothing if there are integer variables, because an integer may merely be out of range.
        """
        return self.real and (found == "unreal" or (found == "pole" and not self.functions.whole))

    def _differ_elsewhere(self) -> bool:
        """Return True if a point between breaks or on a branch shows a difference."""
        return any(self._differ(point) for point in pieces(self.functions)) or any(
            self._differ(Point(env)) for env in branch_points(self.functions)
        )

    def _differ(self, point: Point) -> bool:
        try:
            found = self.at(point.env)
        except TooLarge:
            return False
        return found is False or (not point.isolated and self._other_ground(found))

    def _surely(self, env: Env) -> bool | None:
        if self.rational and self._exactly(env):
            return True
        return surely(self.functions.a, self.functions.b, env, self.real)


def _is_irrational(part: Node) -> bool:
    """Return True if a part is obviously irrational, so that exact arithmetic would fail."""
    match part:
        case Const() | App() | Degree() | Fn(name="root" | "ln" | "sin" | "cos" | "tan"):
            return True
        case Pow(exponent=exponent):
            return isinstance(exponent, (Div, Const))
    return False
