"""Whether two scalars are the same value: exactly when they are rational, otherwise as functions.

An identity is tested at several fixed points, first exactly, then with raised precision until the
difference is plainly there or plainly nothing. `None` means that neither could be shown.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

from rewardkit.rewards.math.comparing.numeric import Undefined, Value, context, evaluate, plainly_differ
from rewardkit.rewards.math.comparing.points import branch_points, integer_names, points
from rewardkit.rewards.math.comparing.rational import Irrational, exact, residue
from rewardkit.rewards.math.comparing.rounding import as_decimal, rounds, rounds_to
from rewardkit.rewards.math.guards import TooLarge, spend
from rewardkit.rewards.math.policies import MathOptions
from rewardkit.rewards.math.tree.nodes import (
    App,
    Const,
    Degree,
    Div,
    Fn,
    Mul,
    Node,
    Num,
    Pow,
    children,
    symbols,
    walk,
)
from rewardkit.rewards.math.tree.rebuild import rebuild

_PRECISIONS = (30, 60, 120, 240)
_GOOD_POINTS = 3
_PRIMES = ((1 << 61) - 1, (1 << 89) - 1, (1 << 107) - 1)


def equal(a: Node, b: Node, options: MathOptions) -> bool | None:
    """Return whether two scalar trees have the same value under the rounding rule of the options."""
    if a == b:
        return True
    spend(50)
    names = sorted(symbols(a) | symbols(b))
    found = _functions(a, b, names) if names else _constants(a, b, options)
    if found is not True and _has_bare_log(a) != _has_bare_log(b):
        decimal_log = _functions(_base_ten(a), _base_ten(b), names)
        return decimal_log or found
    return found


# Constants.


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


def _constant_identity(a: Node, b: Node) -> bool | None:
    close = _compare_at(a, b, {})
    if close is not True:
        return close
    if _magnitude(a) < 150:
        return True
    try:
        return all(residue(a, prime) == residue(b, prime) for prime in _PRIMES)
    except (Irrational, TooLarge):
        return _agree_in_full(a, b)


def _magnitude(node: Node) -> float:
    value = evaluate(node, {}, 30)
    return abs(float(context(30).mag(value))) if value != 0 else 0.0


def _agree_in_full(a: Node, b: Node) -> bool | None:
    """Compare huge irrational values with all their integer digits, when these are few enough."""
    digits = int(_magnitude(a) * 0.302) + 30
    if digits > 3_000:
        return None
    try:
        x, y = evaluate(a, {}, digits), evaluate(b, {}, digits)
    except (Undefined, TooLarge):
        return None
    return bool(abs(x - y) < context(digits).mpf(10) ** -10)


# Functions of variables.


def _functions(a: Node, b: Node, names: list[str]) -> bool | None:
    if not names:
        return _constant_identity(a, b)
    found = _at_points(a, b, names)
    if found and any(_branches_differ(a, b, env) for env in branch_points(a, b, names)):
        return False
    return found


def _at_points(a: Node, b: Node, names: list[str]) -> bool | None:
    whole = integer_names(a) | integer_names(b)
    rational = _looks_rational(a) and _looks_rational(b)
    imaginary = _has_imaginary(a) or _has_imaginary(b)
    precise = _literal_digits(a, b)
    seen: Counter[str] = Counter()
    too_large: TooLarge | None = None
    for env in points(names, whole):
        try:
            found: bool | str | None = _exactly_at(a, b, env) if rational else None
            if found is None:
                found = _at_point(a, b, env, imaginary, precise)
            if found is None and whole and _one_sided(a, b, env):
                found = "one-sided"
        except TooLarge as error:
            too_large = error
            continue
        if found is False:
            return False
        seen["good" if found is True else found or ""] += 1
        if seen["good"] >= _GOOD_POINTS and seen["good"] > seen["one-sided"]:
            return True
    return _summed_up(seen, too_large)


def _summed_up(seen: Counter[str], too_large: TooLarge | None) -> bool | None:
    """The verdict of points of which too few were good to settle it on the way."""
    if seen["one-sided"] >= max(seen["good"], 1):
        return False
    if seen["good"]:
        return True if seen["unlike"] == 0 or seen["good"] >= 2 else None
    if seen["unlike"]:
        return False
    if too_large is not None and not seen["alike"]:
        raise too_large
    return True if seen["alike"] >= 2 else None


def _one_sided(a: Node, b: Node, env: dict[str, Fraction]) -> bool:
    """Whether only one side has a value here, and that is not nothing: they are not the same function."""
    values = []
    for node in (a, b):
        try:
            values.append(evaluate(node, env, 30))
        except Undefined:
            values.append(None)
    return (values[0] is None) != (values[1] is None) and any(v is not None and v != 0 for v in values)


def _branches_differ(a: Node, b: Node, env: dict[str, Fraction]) -> bool:
    try:
        x, y = evaluate(a, env, 30), evaluate(b, env, 30)
    except (Undefined, TooLarge):
        return False
    mp = context(30)
    both_real = _is_real(mp, x) and _is_real(mp, y)
    return both_real and bool(abs(x - y) > (abs(x) + abs(y)) * 1e-15)


def _looks_rational(node: Node) -> bool:
    """Whether exact arithmetic is worth trying: nothing in the tree is irrational on its face."""
    for part in walk(node):
        match part:
            case Const() | App() | Degree() | Fn(name="root" | "ln" | "sin" | "cos" | "tan"):
                return False
            case Pow(exponent=exponent) if isinstance(exponent, (Div, Const)):
                return False
    return True


def _exactly_at(a: Node, b: Node, env: dict[str, Fraction]) -> bool | None:
    try:
        return exact(a, env) == exact(b, env)
    except (Irrational, TooLarge):
        return None


def _at_point(a: Node, b: Node, env: dict[str, Fraction], imaginary: bool, precise: int) -> bool | str | None:
    """Compare at one point: a verdict, `alike` or `unlike` where both are complex by accident, or None."""
    if not precise and not imaginary and plainly_differ(a, b, env):
        return False
    digits = _PRECISIONS[0] + precise
    try:
        x, y = evaluate(a, env, digits), evaluate(b, env, digits)
    except Undefined:
        return None
    mp = context(digits)
    real = _is_real(mp, x), _is_real(mp, y)
    if not imaginary and not all(real):
        if any(real):
            return None
        return "alike" if abs(x - y) <= abs(x) * 1e-15 else "unlike"
    gap = abs(x - y)
    size = max(abs(x), abs(y))
    if gap <= size * mp.mpf(10) ** -(digits * 2 // 3):
        return True
    if gap > size * 1e-6 and size > 1e-6:
        return False
    return _compare_at(a, b, env, precise)


def _is_real(mp: Value, value: Value) -> bool:
    return isinstance(value, mp.mpf) or bool(abs(mp.im(value)) <= abs(value) * 1e-20)


def _compare_at(a: Node, b: Node, env: dict[str, Fraction], precise: int = 0) -> bool | None:
    """Compare at one point with rising precision: two precisions that agree settle it."""
    if not precise and plainly_differ(a, b, env):
        return False
    agreed = differed = 0
    for digits in _PRECISIONS:
        try:
            x, y = evaluate(a, env, digits + precise), evaluate(b, env, digits + precise)
        except Undefined:
            return None
        mp = context(digits + precise)
        gap = abs(x - y)
        size = max(abs(x), abs(y))
        small = mp.mpf(10) ** -int(digits * 0.6 + precise)
        if gap <= max(size, mp.mpf(1)) * small:
            # Relative to nothing, a difference must keep shrinking with the precision to be nothing.
            agreed += bool(gap <= size * small or digits > 60)
        elif gap > size * 1e-6 and size > 1e-9:
            return False
        else:
            differed += 1
        if agreed >= 2:
            return True
        if differed >= 2:
            return False
    return None


def _has_imaginary(node: Node) -> bool:
    return any(part == Const("i") for part in walk(node))


def _literal_digits(a: Node, b: Node) -> int:
    """Extra precision, so that a small term beside a huge literal is not lost."""
    longest = max(
        (
            part.num.bit_length() + part.den.bit_length()
            for n in (a, b)
            for part in walk(n)
            if isinstance(part, Num)
        ),
        default=0,
    )
    return min(int(longest * 0.302), 1_500) if longest > 64 else 0


def _has_bare_log(node: Node) -> bool:
    return any(isinstance(part, Fn) and part.name == "log" and len(part.args) == 1 for part in walk(node))


def _base_ten(node: Node) -> Node:
    """The tree with every bare `log` read as base ten."""
    if isinstance(node, Fn) and node.name == "log" and len(node.args) == 1:
        return Fn("log", (_base_ten(node.args[0]), Num(10)))
    return rebuild(node, tuple(_base_ten(c) for c in children(node)))


def real_value(node: Node) -> Value | None:
    """Return the approximate value of a constant real tree, infinite for `inf`; None if it has none."""
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
    return mp.re(value) if _is_real(mp, value) else None
