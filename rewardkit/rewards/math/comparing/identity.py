"""Whether two functions of variables are the same: at points that `points` chooses from the two trees.

Without an imaginary unit they are real functions: they agree wherever both are real, and on the same ground.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import NamedTuple

from rewardkit.rewards.math.comparing.agreement import DIGITS, close, surely
from rewardkit.rewards.math.comparing.numeric import Evaluator
from rewardkit.rewards.math.comparing.points import branch_points, integer_names, pieces, points
from rewardkit.rewards.math.comparing.rational import Irrational, exact
from rewardkit.rewards.math.guards import TooLarge
from rewardkit.rewards.math.tree.nodes import (
    Add,
    App,
    Const,
    Degree,
    Div,
    Fn,
    Mul,
    Node,
    Pow,
    Sym,
    children,
    number,
    symbols,
    walk,
)
from rewardkit.rewards.math.tree.rebuild import rebuild, substitute

_GOOD_POINTS = 3
_PARTS = frozenset({"re", "im", "arg"})
"""Functions of complex numbers."""

Env = dict[str, Fraction]


def same_function(a: Node, b: Node, names: list[str]) -> bool | None:
    """Return whether two trees have the same value whatever the variables are; None when that stays open."""
    if _takes_parts(a) or _takes_parts(b):
        a, b = _complex(a, names), _complex(b, names)
        names = sorted(symbols(a) | symbols(b))
    pair = _Pair(a, b, names, integer_names(a) | integer_names(b), _looks_rational(a) and _looks_rational(b))
    imaginary = _has_imaginary(a) or _has_imaginary(b)
    found = _same(pair, real=not imaginary)
    if found is None and not imaginary:
        found = _same(pair, real=False)  # real nowhere, as far as was seen
    return found


def _takes_parts(node: Node) -> bool:
    return any(isinstance(part, Fn) and part.name in _PARTS for part in walk(node))


def _complex(node: Node, names: list[str]) -> Node:
    """The tree with every variable a complex one."""
    for name in names:
        node = substitute(node, name, Add((Sym(name), Mul((Const("i"), Sym(f"{name} imaginary"))))))
    return node


def held(node: Node, env: Env) -> Node:
    """Return a tree with its variables and unknown functions held at their values at a point."""
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


class _Pair(NamedTuple):
    a: Node
    b: Node
    names: list[str]
    whole: frozenset[str]
    rational: bool

    def at(self, env: Env, real: bool) -> bool | str | None:
        """Compare at one point; see `close`."""
        found = _exactly(self.a, self.b, env) if self.rational else None
        return close(self.a, self.b, env, real) if found is None else found

    def differs(self, env: Env, real: bool, isolated: bool = False) -> bool:
        """Whether the functions differ at one point, in their values or in where they have one."""
        try:
            found = self.at(env, real)
        except TooLarge:
            return False
        return found is False or (not isolated and self._other_ground(found, real))

    def _other_ground(self, found: bool | str | None, real: bool) -> bool:
        """Whether a value on one side alone tells functions apart. An integer may only be out of range."""
        return real and (found == "unreal" or (found == "pole" and not self.whole))


def _same(pair: _Pair, real: bool) -> bool | None:
    good: Env | None = None
    seen: Counter[str | None] = Counter()
    too_large: TooLarge | None = None
    for count, env in enumerate(points(pair.names, pair.whole), 1):
        try:
            found = pair.at(env, real)
        except TooLarge as error:
            too_large = error
            continue
        if found is False or pair._other_ground(found, real):
            return False
        seen["good" if found is True else found] += 1
        good = env if found is True else good
        if count >= _GOOD_POINTS <= seen["good"] > seen["pole"]:
            break
    if seen["pole"] >= max(seen["good"], 1):
        return False
    if _differs_somewhere(pair, real):
        return False
    if good is None and too_large is not None:
        raise too_large
    return None if good is None else _surely(pair, good, real)


def _differs_somewhere(pair: _Pair, real: bool) -> bool:
    """Whether a point shows a difference that those for plain algebra do not."""
    a, b, names, whole, _ = pair
    return any(pair.differs(point.env, real, point.isolated) for point in pieces(a, b, names, whole)) or any(
        pair.differs(env, real) for env in branch_points(a, b, names)
    )


def _surely(pair: _Pair, env: Env, real: bool) -> bool | None:
    exactly = pair.rational and _exactly(pair.a, pair.b, env)
    return True if exactly else surely(pair.a, pair.b, env, real)


def _exactly(a: Node, b: Node, env: Env) -> bool | None:
    try:
        return exact(a, env) == exact(b, env)
    except (Irrational, TooLarge):
        return None


def _looks_rational(node: Node) -> bool:
    """Whether exact arithmetic is worth trying: nothing in the tree is irrational on its face."""
    for part in walk(node):
        match part:
            case Const() | App() | Degree() | Fn(name="root" | "ln" | "sin" | "cos" | "tan"):
                return False
            case Pow(exponent=exponent) if isinstance(exponent, (Div, Const)):
                return False
    return True


def _has_imaginary(node: Node) -> bool:
    return any(part == Const("i") for part in walk(node))
