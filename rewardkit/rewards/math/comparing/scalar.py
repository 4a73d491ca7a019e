"""Whether two scalars are the same value: exactly when they are rational, otherwise as functions.

An identity is judged at several fixed points, first exactly, then with raised precision until the
difference is plainly there or plainly nothing. `None` means that neither could be shown.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

from rewardkit.rewards.math.comparing.numeric import Undefined, Value, context, evaluate, plainly_differ, seed
from rewardkit.rewards.math.comparing.rational import Irrational, exact, residue
from rewardkit.rewards.math.guards import TooLarge, spend
from rewardkit.rewards.math.policies import MathOptions
from rewardkit.rewards.math.tree.nodes import (
    Add,
    App,
    BigOp,
    Builder,
    Cases,
    Const,
    Degree,
    Div,
    Fn,
    Logic,
    Matrix,
    Mul,
    Node,
    Num,
    Percent,
    Pm,
    Pow,
    Quantity,
    Ratio,
    Rel,
    Seq,
    SetOp,
    Sym,
    children,
    symbols,
    walk,
)

_PRECISIONS = (30, 60, 120, 240)
_INTEGER_LETTERS = frozenset("ijklmnpq")
"""Variables that are taken for integers inside a floor or ceiling."""
_GOOD_POINTS = 3
_RANGES = (
    (0.2, 0.9),
    (1.2, 2.9),
    (-2.6, -0.3),
    (3.1, 8.0),
    (-0.9, -0.2),
    (0.05, 0.2),
    (12.0, 30.0),
    (-7.0, -3.1),
)
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
        return x == y or _rounds(a, x, b, y, options) or _within(x, y, options)
    for first, second in ((a, b), (b, a)):
        decimal = as_decimal(first)
        if decimal is not None and decimal[1] > 0:
            found = _rounds_to(decimal, second, options)
            return found if found is not False else _constant_identity(a, b) is True
    return _constant_identity(a, b)


def _exact_or_none(node: Node) -> Fraction | None:
    try:
        return exact(node)
    except (Irrational, TooLarge):
        return None


def _within(x: Fraction, y: Fraction, options: MathOptions) -> bool:
    if not options.rel_tol or (x.denominator == 1 and y.denominator == 1):
        return False
    return abs(x - y) <= Fraction(options.rel_tol) * max(abs(x), abs(y))


def as_decimal(node: Node) -> tuple[Fraction, int] | None:
    """Return the value and decimal places of a number written as a decimal, `0.333` or `1.5 \\times 10^3`."""
    match node:
        case Num(places=int(places)):
            return node.value, places
        case Percent(value=inner) if (found := as_decimal(inner)) is not None:
            return found[0] / 100, found[1] + 2
        case Mul(factors=(Num(num=-1, den=1, places=None), inner)) if (
            found := as_decimal(inner)
        ) is not None:
            return -found[0], found[1]
        case Mul(factors=(Num() as head, Pow(base=Num(num=10, den=1), exponent=Num(den=1, num=power)))):
            found = as_decimal(head)
            if found is not None and abs(power) < 400:
                return found[0] * Fraction(10) ** power, found[1] - power
    return None


def _rounds(a: Node, x: Fraction, b: Node, y: Fraction, options: MathOptions) -> bool:
    """Whether one side is a decimal that the other, exact and not an integer, correctly rounds to."""
    first, second = as_decimal(a), as_decimal(b)
    if (first is None) == (second is None):
        return False
    decimal, other = (first, y) if first is not None else (second, x)
    if decimal is None or other.denominator == 1 or decimal[1] <= 0:
        return False
    return _enough_digits(decimal, options) and abs(decimal[0] - other) <= _tolerance(decimal)


def _enough_digits(decimal: tuple[Fraction, int], options: MathOptions) -> bool:
    """Whether a decimal shows enough: the digits asked for, or as many places and one digit fewer."""
    wanted = options.rounding_digits
    if wanted <= 0 or decimal[1] > 1_000:
        return False
    digits = len(str(abs(int(decimal[0] * Fraction(10) ** decimal[1]))))
    return digits >= wanted or (decimal[1] >= wanted and digits >= max(wanted - 1, 2))


def _rounds_to(decimal: tuple[Fraction, int], other: Node, options: MathOptions) -> bool | None:
    """Whether the value of an irrational tree, rounded, is the decimal."""
    try:
        value = evaluate(other, {}, max(30, decimal[1] + 15))
    except Undefined:
        return None
    mp = context(max(30, decimal[1] + 15))
    if mp.im(value) != 0:
        return False
    target = mp.mpf(decimal[0].numerator) / decimal[0].denominator
    if options.rel_tol and abs(value - target) <= options.rel_tol * abs(value):
        return True
    allowed = _tolerance(decimal)
    return _enough_digits(decimal, options) and bool(
        abs(value - target) <= mp.mpf(allowed.numerator) / allowed.denominator
    )


def _tolerance(decimal: tuple[Fraction, int]) -> Fraction:
    """Half a unit in the last place, or a double's own rounding for a decimal of a double's full length."""
    value, places = decimal
    half = Fraction(1, 2 * 10**places)
    double = abs(value) / (1 << 51)
    return max(half, double) if half * 20 <= abs(value) / 10**14 else half


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
    if found and any(_branches_differ(a, b, env) for env in _branch_points(a, b, names)):
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


_BRANCH_EXPONENTS = (Fraction(2), Fraction(1, 2), Fraction(1))
_WHOLE_EXPONENTS = (Fraction(1), Fraction(2), Fraction(3))
_MAX_BRANCH_NAMES = 3


def _branch_points(a: Node, b: Node, names: list[str]) -> Iterator[dict[str, Fraction]]:
    """Points that tell `(a^b)^c` from `a^{bc}`: negative bases, even and halved exponents."""
    first, second = _open_powers(a), _open_powers(b)
    raised = sorted({name for p in first | second for name in symbols(p.exponent)})
    if first == second or len(raised) > _MAX_BRANCH_NAMES:
        return
    choices = [_WHOLE_EXPONENTS if name in _INTEGER_LETTERS else _BRANCH_EXPONENTS for name in raised]
    for chosen in itertools.product(*choices):
        exponents = dict(zip(raised, chosen, strict=True))
        yield {name: exponents.get(name, Fraction(-2)) for name in names}


def _open_powers(node: Node) -> set[Pow]:
    """The powers with a variable both below and above."""
    powers = {part for part in walk(node) if isinstance(part, Pow)}
    return {power for power in powers if symbols(power.base) and symbols(power.exponent)}


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


def points(names: list[str], whole: frozenset[str]) -> Iterator[dict[str, Fraction]]:
    """Yield fixed pseudo-random points; variables in `whole` get small positive integers."""
    for index in range(len(_RANGES)):
        yield {name: _coordinate(name, index, name in whole) for name in names}


@lru_cache(maxsize=4_096)
def _coordinate(name: str, index: int, whole: bool) -> Fraction:
    """The value of a variable at the point of that index."""
    draw = seed(f"{name}/{index}")
    if whole:
        return Fraction(1 + draw % (3 + 2 * index))
    low, high = _RANGES[index]
    place = Fraction(low) + (Fraction(high) - Fraction(low)) * Fraction(draw % 9973, 9973)
    return place.limit_denominator(97)


def integer_names(node: Node) -> frozenset[str]:
    """Variables that only make sense as integers here: in a factorial, a bound, a power of a negative."""
    found: set[str] = set()
    for part in walk(node):
        match part:
            case Fn(name="factorial" | "factorial2" | "binom" | "mod" | "gcd" | "lcm"):
                found |= symbols(part)
            case Fn(name="floor" | "ceil"):
                found |= symbols(part) & _INTEGER_LETTERS
            case Pow(base=Num(num=num), exponent=exponent) if num < 0:
                found |= symbols(exponent)
            case Pow(base=Mul(factors=(Num(num=num), *_)), exponent=exponent) if num < 0:
                found |= symbols(exponent)
            case BigOp(lower=lower, upper=upper):
                for bound in (lower, upper):
                    found |= symbols(bound) if bound is not None else set()
    return frozenset(found)


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


def rebuild(node: Node, parts: tuple[Node, ...]) -> Node:
    """Return the node with other children."""
    match node:
        case Add():
            return Add(parts)
        case Mul():
            return Mul(parts)
        case Div():
            return Div(*parts)
        case Pow():
            return Pow(*parts)
        case Fn(name=name):
            return Fn(name, parts)
        case App(name=name):
            return App(name, parts)
        case Pm(flipped=flipped):
            return Pm(parts[0], flipped)
        case Percent():
            return Percent(parts[0])
        case Degree():
            return Degree(parts[0])
        case Quantity(unit=unit):
            return Quantity(parts[0], unit)
        case Rel(ops=ops):
            return Rel(ops, parts)
        case Logic(op=op):
            return Logic(op, parts)
        case SetOp(op=op):
            return SetOp(op, parts)
        case Seq(opening=opening, closing=closing):
            return Seq(opening, closing, parts)
        case Ratio():
            return Ratio(parts)
        case Builder():
            return Builder(*parts)
        case Matrix(rows=rows):
            cells = iter(parts)
            return Matrix(tuple(tuple(next(cells) for _ in row) for row in rows))
        case Cases():
            return Cases(tuple(zip(parts[::2], parts[1::2], strict=True)))
        case BigOp(op=op, var=var, lower=lower, upper=upper):
            rest = list(parts)
            new_lower = rest.pop(0) if lower is not None else None
            new_upper = rest.pop(0) if upper is not None else None
            return BigOp(op, var, new_lower, new_upper, rest[0])
    return node


def substitute(node: Node, name: str, value: Node) -> Node:
    """Return the tree with a variable replaced."""
    if isinstance(node, Sym):
        return value if node.name == name else node
    below = children(node)
    return rebuild(node, tuple(substitute(c, name, value) for c in below)) if below else node


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
