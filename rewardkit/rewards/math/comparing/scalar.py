"""Comparison of two scalars: constants exactly or to a safe precision, other scalars as functions.

`None` means that neither equality nor difference was shown. `identity` compares functions of variables.
"""

from __future__ import annotations

from fractions import Fraction

from rewardkit.rewards.math.comparing import vectors
from rewardkit.rewards.math.comparing.agreement import surely
from rewardkit.rewards.math.comparing.identity import same_function, same_up_to_constant
from rewardkit.rewards.math.comparing.numeric import Undefined, Value, context, evaluate, plainly_differ
from rewardkit.rewards.math.comparing.rational import Irrational, exact, residue
from rewardkit.rewards.math.comparing.rounding import as_decimal, rounds, rounds_to
from rewardkit.rewards.math.guards import TooLarge, spend
from rewardkit.rewards.math.policies import MathOptions
from rewardkit.rewards.math.tree.nodes import (
    Add,
    App,
    Const,
    Div,
    Fn,
    Linear,
    Mul,
    Node,
    Num,
    Pow,
    Sym,
    children,
    symbols,
    walk,
)
from rewardkit.rewards.math.tree.rebuild import rebuild

_PRIMES = ((1 << 61) - 1, (1 << 89) - 1, (1 << 107) - 1)


def equal(a: Node, b: Node, options: MathOptions) -> bool | None:
    """Return True if two scalar trees have the same value under the rounding rule of the options."""
    if a == b:
        return True
    spend(50)
    if isinstance(a, Linear) or isinstance(b, Linear):
        try:
            return vectors.same_products(a, b)
        except vectors.Misfit:
            a, b = vectors.without_marks(a), vectors.without_marks(b)
    names = sorted(symbols(a) | symbols(b))
    found = _functions(a, b, names) if names else _constants(a, b, options)
    if not found and names and same_up_to_constant(a, b):
        return True
    if found is not True and _has_bare_log(a) != _has_bare_log(b):
        decimal_log = _functions(_base_ten(a), _base_ten(b), names)
        return decimal_log or found
    return found


def is_scalar(node: Node) -> bool:
    """Return True if a tree is a single value and not a list, a relation or words."""
    return isinstance(node, (Num, Const, Sym, Add, Mul, Div, Pow, Fn, App, Linear))


# --- constants ---


def _constants(a: Node, b: Node, options: MathOptions) -> bool | None:
    x, y = _exact_or_none(a), _exact_or_none(b)
    if x is not None and y is not None:
        return x == y or rounds(a, x, b, y, options)
    for first, second in ((a, b), (b, a)):
        decimal = as_decimal(first)
        if decimal is not None and decimal[1] > 0:
            found = rounds_to(decimal, second, options)
            return found if found is not False else _constant_identity(a, b) is True
    return _constant_identity(a, b)


def _exact_or_none(node: Node) -> Fraction | None:
    try:
        return exact(node)
    except (Irrational, TooLarge):
        return None


def same_constant(a: Node, b: Node) -> bool | None:
    """Return True if two constants are equal without rounding, or None if this cannot be decided."""
    x, y = _exact_or_none(a), _exact_or_none(b)
    return x == y if x is not None and y is not None else _constant_identity(a, b)


def _constant_identity(a: Node, b: Node) -> bool | None:
    if plainly_differ(a, b, {}):
        return False
    found = surely(a, b, {})
    if found is not None:
        return found
    try:
        return all(residue(a, prime) == residue(b, prime) for prime in _PRIMES)
    except (Irrational, TooLarge):
        return None


def _functions(a: Node, b: Node, names: list[str]) -> bool | None:
    return same_function(a, b, names) if names else _constant_identity(a, b)


def _has_bare_log(node: Node) -> bool:
    return any(isinstance(part, Fn) and part.name == "log" and len(part.args) == 1 for part in walk(node))


def _base_ten(node: Node) -> Node:
    """Return the tree with base ten added to every `log` without a base."""
    if isinstance(node, Fn) and node.name == "log" and len(node.args) == 1:
        return Fn("log", (_base_ten(node.args[0]), Num(10)))
    return rebuild(node, tuple(_base_ten(c) for c in children(node)))


def real_value(node: Node) -> Value | None:
    """Return the approximate value of a constant, infinite for `inf`, or None if it has no real value."""
    spend(10)
    if node == Const("inf"):
        return context(30).inf
    match node:
        case Mul(factors=(Num(num=num, den=1), Const(name="inf"))):
            return context(30).inf if num > 0 else -context(30).inf
    try:
        value = evaluate(node, {}, 30)
    except (Undefined, TooLarge):
        return None
    mp = context(30)
    return mp.re(value) if abs(mp.im(value)) <= abs(value) * 1e-20 else None
