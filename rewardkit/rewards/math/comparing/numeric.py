"""Approximate evaluation of trees with mpmath at any precision, with a guard on the cost of each step.

Each thread has its own mpmath context, because the global context is shared state. A value is an mpf or mpc.
If a tree has no finite value at a point, evaluation raises `Undefined`. It raises a subclass if the reason is
certain.
"""

from __future__ import annotations

import hashlib
import math
import threading
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from mpmath import fp  # type: ignore[import-untyped]
from mpmath.ctx_mp import MPContext  # type: ignore[import-untyped]

from rewardkit.rewards.math.comparing.rational import Irrational, exact
from rewardkit.rewards.math.functions import FUNCTIONS, named
from rewardkit.rewards.math.guards import MAX_LOG2, MAX_TERMS, TooLarge, spend
from rewardkit.rewards.math.tree.nodes import (
    Add,
    App,
    BigOp,
    Const,
    Degree,
    Div,
    Fn,
    Matrix,
    Mul,
    Node,
    Num,
    Percent,
    Pow,
    Sym,
    symbols,
)

Value = Any
"""An mpf or mpc from mpmath, which has no type information."""
_LOCAL = threading.local()


class Undefined(Exception):
    """Raised if a tree has no finite value, or no value that can be computed."""


class Pole(Undefined):
    """Raised if a tree certainly has no finite value, as for a division by zero or the factorial of -1."""


class Unreal(Undefined):
    """Raised if a part of a real function certainly has no real value, as for an even root of -1."""


def context(digits: int) -> Any:
    """Return this thread's mpmath context, set to a precision of this many decimal digits."""
    found = getattr(_LOCAL, "context", None)
    if found is None:
        found = _LOCAL.context = MPContext()
    if found.dps != digits:
        found.dps = digits
    return found


def evaluate(node: Node, env: Mapping[str, Fraction], digits: int, real: bool = False) -> Value:
    """Return the value of a tree at a point. With `real`, every part of the tree must have a real value.

    Raises:
        Undefined: The tree has no finite value.
        TooLarge: A guard stopped the evaluation.
    """
    return Evaluator(env, digits, real).value(node)


def as_fraction(value: Value) -> Fraction:
    """Return the exact value of a finite mpf."""
    mantissa, exponent = value.man_exp
    scaled = Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
    return -scaled if value < 0 else scaled


def plainly_differ(a: Node, b: Node, env: Mapping[str, Fraction]) -> bool:
    """Return True if machine floats prove that two real values differ by more than rounding errors.

    This check decides most wrong answers at a tenth of the cost. False proves nothing.
    """
    evaluator = FloatEvaluator(env, _LAST_DIGITS)
    x, y = evaluator.get(a), evaluator.get(b)
    if x is None or y is None:
        return False
    gap = abs(x - y)
    size = max(abs(x), abs(y))
    # Cancellation can magnify a rounding error only in proportion to the largest intermediate value.
    return math.isfinite(gap) and size > 1e-6 and gap > 1e-3 * size and evaluator.largest < 1e6 * gap


def log2_range(nodes: tuple[Node, ...], env: Mapping[str, Fraction], digits: int) -> tuple[int, int]:
    """Return the binary exponents of the smallest and largest intermediate values of some trees.

    The difference of the exponents determines the precision needed to tell the trees apart. The exceptions
    are those of `evaluate`.
    """
    evaluator = _RangeEvaluator(env, digits)
    for node in nodes:
        evaluator.value(node)
    return evaluator.low, evaluator.high


class Evaluator:
    def __init__(self, env: Mapping[str, Fraction], digits: int, real: bool = False) -> None:
        self.mp = context(digits)
        self.env: dict[str, Value] = {k: self.mp.mpf(v.numerator) / v.denominator for k, v in env.items()}
        self.cost = 2 + digits // 40
        """Number of budget steps that evaluating a node costs."""
        self.power_cost = 10 * self.cost
        self.function_cost = self.power_cost + (digits // 30) ** 2
        self.real = real
        self.free = len(env)
        """Number of variables that have values outside sums."""

    def value(self, node: Node) -> Value:
        spend(self.cost)
        rule = _RULES.get(type(node))
        if rule is None:
            raise Undefined(type(node).__name__)
        return rule(self, node)

    def _at_a_point(self) -> bool:
        """Return True if the variables have arbitrary values, outside any sum or product over an index."""
        return len(self.env) == self.free > 0

    def num(self, node: Num) -> Value:
        return self.mp.mpf(node.num) if node.den == 1 else self.mp.mpf(node.num) / node.den

    def const(self, node: Const) -> Value:
        match node.name:
            case "pi":
                return +self.mp.pi
            case "e":
                return +self.mp.e
            case "i":
                return self.mp.mpc(0, 1)
        raise Undefined(node.name)

    def sym(self, node: Sym) -> Value:
        if node.name not in self.env:
            raise Undefined(node.name)
        return self.env[node.name]

    def add(self, node: Add) -> Value:
        total = self.value(node.terms[0])
        for term in node.terms[1:]:
            total = total + self.value(term)
        return total

    def mul(self, node: Mul) -> Value:
        product = self.value(node.factors[0])
        for factor in node.factors[1:]:
            product = self._bounded(product * self.value(factor))
        return product

    def div(self, node: Div) -> Value:
        bottom = self.value(node.bottom)
        if bottom == 0:
            raise Pole("division by zero")
        return self._bounded(self.value(node.top) / bottom)

    def pow(self, node: Pow) -> Value:
        exponent = self.value(node.exponent)
        if node.base == Const("e"):
            return self._exp(exponent)
        base = self.value(node.base)
        if self.real and base < 0 and not self.mp.isint(exponent):
            return self._real_power(base, exponent, node.exponent)
        return self.power(base, exponent)

    def _real_power(self, base: Value, exponent: Value, written: Node) -> Value:
        """Return a negative number raised to a fractional power, which must have an odd denominator.

        A variable in the exponent leaves the power undefined, because it presupposes a positive base.
        """
        if symbols(written):
            raise Undefined("a variable power of a negative number")
        try:
            fraction = exact(written)
        except Irrational:
            raise Unreal("an irrational power of a negative number") from None
        if fraction.denominator % 2 == 0:
            raise Unreal("an even root of a negative number")
        size = self.power(-base, exponent)
        return -size if fraction.numerator % 2 else size

    def power(self, base: Value, exponent: Value) -> Value:
        mp = self.mp
        if base == 0:
            if mp.re(exponent) > 0:
                return mp.mpf(0)
            if exponent == 0:
                return mp.mpf(1)
            raise Pole("a power of zero")
        size = abs(mp.mag(base)) * mp.ldexp(1, max(0, mp.mag(exponent)))
        if exponent != 0 and size > MAX_LOG2:
            raise TooLarge("a power")
        spend(self.power_cost)
        if mp.isint(exponent) and abs(exponent) < 1 << 20:
            return base ** int(mp.re(exponent))
        spend(self.function_cost)
        return self._bounded(mp.power(base, exponent))

    def _exp(self, exponent: Value) -> Value:
        if exponent != 0 and self.mp.mag(exponent) > 40:
            raise TooLarge("an exponential")
        spend(self.function_cost)
        return self.mp.exp(exponent)

    def _bounded(self, value: Value) -> Value:
        if getattr(value, "man", 0):  # Only a finite, nonzero real number has a mantissa other than 0.
            if abs(value.exp + value.bc) > MAX_LOG2:
                raise TooLarge("a product")
            return value
        mp = self.mp
        if not mp.isfinite(value):
            raise Pole("not finite")
        if value != 0 and abs(mp.mag(value)) > MAX_LOG2:
            raise TooLarge("a product")
        return value

    def percent(self, node: Percent) -> Value:
        return self.value(node.value) / 100

    def degree(self, node: Degree) -> Value:
        return self.value(node.value) * self.mp.pi / 180

    def app(self, node: App) -> Value:
        """Return an arbitrary value for a call to an unknown function.

        The value depends only on the arguments and the point.
        """
        found = self.unknown(node)
        return self.mp.mpf(found.numerator) / found.denominator

    def unknown(self, node: App) -> Fraction:
        """Return the arbitrary value for a call to an unknown function as a Fraction."""
        arguments = [self.mp.nstr(self.value(a), 12) for a in node.args]
        point = self.mp.nstr(self.env[node.name], 12) if node.name in self.env else ""
        return Fraction(2 * seed(f"{node.name}{point}({','.join(arguments)})") - (1 << 20), 1_000_003)

    def big(self, node: BigOp) -> Value:
        if node.op not in ("sum", "prod") or node.lower is None or node.upper is None:
            raise Undefined(node.op)
        low, high = self.value(node.lower), self.value(node.upper)
        mp = self.mp
        if not (mp.isint(low) and mp.isint(high)):
            raise Undefined("bounds that are not integers")
        if high - low >= MAX_TERMS:
            raise Undefined("a sum too long to write out")
        if high < low and self._at_a_point():
            raise Undefined("bounds out of order, at a point that was not meant")
        outer = self.env.get(node.var)
        total = mp.mpf(0 if node.op == "sum" else 1)
        for index in range(int(low), int(high) + 1):
            self.env[node.var] = mp.mpf(index)
            term = self.value(node.body)
            total = total + term if node.op == "sum" else self._bounded(total * term)
        self.env.pop(node.var, None)
        if outer is not None:
            self.env[node.var] = outer
        return total

    def fn(self, node: Fn) -> Value:
        if node.name == "det" and isinstance(node.args[0], Matrix):
            return self._determinant(node.args[0])
        values = [self.value(a) for a in node.args]
        if node.name == "binom" and any(value.imag for value in values):
            raise Undefined("a binomial of complex numbers")
        if node.name == "binom" and self._at_a_point() and values[1] > values[0] and symbols(node.args[1]):
            raise Pole("a binomial out of range")
        spend(self.power_cost if node.name == "root" else self.function_cost)
        try:
            found = self._bounded(self._function(node.name, values))
        except (ValueError, ZeroDivisionError) as error:
            raise Pole(f"{node.name}: {error}") from None
        except (OverflowError, TypeError, NotImplementedError) as error:
            raise Undefined(f"{node.name}: {error}") from None
        if self.real and found.imag != 0:
            raise Unreal(node.name)
        return found

    def _determinant(self, matrix: Matrix) -> Value:
        size = len(matrix.rows)
        if size > 8 or any(len(row) != size for row in matrix.rows):
            raise Undefined("a determinant")
        spend(self.cost * (100 + 10 * size**3))
        return self.mp.det(self.mp.matrix([[self.value(c) for c in row] for row in matrix.rows]))

    def _function(self, name: str, values: list[Value]) -> Value:
        mp = self.mp
        first = values[0]
        big = first != 0 and mp.mag(first) > 200
        if big and name not in ("ln", "log", "root", "abs", "max", "min", "sgn"):
            raise TooLarge(name)
        if name in _OF_RECIPROCAL:
            return self._function(_OF_RECIPROCAL[name], [1 / first])
        if name in _ELEMENTARY:
            return getattr(mp, _ELEMENTARY[name])(first)
        match name:
            case "root":
                return self._root(first, values[1])
            case "abs":
                return abs(first)
            case "ln":
                return mp.log(first)
            case "log":
                return mp.log(first) / mp.log(values[1]) if len(values) > 1 else mp.log(first)
            case "arccot":
                return mp.pi / 2 - mp.atan(first)
            case "floor" | "ceil":
                return self._round(name, first)
            case "factorial":
                if mp.mag(first) > 40:
                    raise TooLarge("a factorial")
                return mp.factorial(first)
            case "factorial2":
                return mp.fac2(first)
            case "binom":
                return self._binomial(first, values[1])
            case "max" | "min":
                return (max if name == "max" else min)(values)
            case "mod":
                return first - values[1] * mp.floor(first / values[1])
            case "sgn":
                return mp.sign(first)
            case "gcd" | "lcm":
                return self._common(math.gcd if name == "gcd" else math.lcm, values)
        raise Undefined(name)

    def _binomial(self, top: Value, bottom: Value) -> Value:
        mp = self.mp
        if mp.isint(top) and mp.isint(bottom) and bottom < 0:
            if top < 0:
                raise Undefined("a binomial with two readings")
            return mp.mpf(0)
        return mp.binomial(top, bottom)

    def _common(self, combine: Callable[..., int], values: list[Value]) -> Value:
        if not all(self.mp.isint(v) for v in values):
            raise Undefined("a common divisor of broken numbers")
        return self.mp.mpf(combine(*(int(self.mp.re(v)) for v in values)))

    def _root(self, value: Value, degree: Value) -> Value:
        """Return the real root if it exists, or else the principal root."""
        mp = self.mp
        if not mp.isint(degree) or degree == 0:
            return self.power(value, 1 / degree)
        count = int(mp.re(degree))
        if count == 2:
            return mp.sqrt(value)
        if mp.im(value) == 0 and mp.re(value) < 0 and count % 2:
            return -self.power(-mp.re(value), mp.mpf(1) / count)
        return self.power(value, mp.mpf(1) / count)

    def _round(self, name: str, value: Value) -> Value:
        """Return the floor or ceiling. A value within rounding error of an integer counts as the integer."""
        mp = self.mp
        nearest = mp.nint(value)
        if abs(value - nearest) < mp.mpf(10) ** (-mp.dps * 2 // 3):
            return nearest
        return mp.floor(value) if name == "floor" else mp.ceil(value)


class FloatEvaluator(Evaluator):
    """Evaluator for real functions in machine floats."""

    def __init__(self, env: Mapping[str, Fraction], barred: frozenset[str] = frozenset()) -> None:
        self.mp = fp
        self.env = {k: float(v) for k, v in env.items()}
        self.cost = 1
        self.power_cost = 1
        self.function_cost = 3
        self.real = True
        self.free = len(env)
        self.barred = barred
        """Names of functions that are treated as undefined."""
        self.largest = 0.0

    def get(self, node: Node) -> float | None:
        """Return the value of a tree, or None if it has no real value."""
        try:
            value = self.value(node)
        except (Undefined, TooLarge, ArithmeticError, ValueError, TypeError, NotImplementedError):
            return None
        return value if isinstance(value, (int, float)) else None

    def value(self, node: Node) -> Value:
        if isinstance(node, (App, BigOp)) or (isinstance(node, Fn) and node.name in self.barred):
            raise Undefined("not for floats")
        value = super().value(node)
        self.largest = max(self.largest, abs(value))
        return value

    def _bounded(self, value: Value) -> Value:
        return value

    def _function(self, name: str, values: list[Value]) -> Value:
        return _OF_FLOATS[name](values[0]) if name in _OF_FLOATS else super()._function(name, values)

    def _round(self, name: str, value: Value) -> Value:
        return float(math.floor(value) if name == "floor" else math.ceil(value))


class _RangeEvaluator(Evaluator):
    """Evaluator that records the sizes of intermediate values, except possible rounding errors."""

    def __init__(self, env: Mapping[str, Fraction], digits: int) -> None:
        super().__init__(env, digits)
        self.low = 0
        self.high = 0

    def value(self, node: Node) -> Value:
        value = super().value(node)
        if value != 0:
            size = int(self.mp.mag(value))
            self.high = max(self.high, size)
            if not isinstance(node, Add) or size > self.high - self.mp.prec * 4 // 5:
                self.low = min(self.low, size)
        return value

    def _function(self, name: str, values: list[Value]) -> Value:
        """Evaluate a function and record its distance from its limit as an intermediate value."""
        if name in _LEVELLING and self.mp.mag(values[0]) > 3:
            size = abs(values[0])
            self.low = min(self.low, -int(2 * size ** (2 if name == "erf" else 1)) - 1)
        return super()._function(name, values)


_LEVELLING = named("levels_off")
_LAST_DIGITS = named("reads_last_digits")
_ELEMENTARY = {name: function.mpmath for name, function in FUNCTIONS.items() if function.mpmath}
_OF_RECIPROCAL = {"arccoth": "arctanh", "arcsech": "arccosh", "arccsch": "arcsinh"}
"""Equivalent functions of the reciprocal: `arccoth(x)` is `arctanh(1/x)`."""
_OF_FLOATS = {"arcsinh": math.asinh, "arccosh": math.acosh, "arctanh": math.atanh}
"""Functions that mpmath does not provide for machine floats."""
_RULES: dict[type, Any] = {
    Num: Evaluator.num, Const: Evaluator.const, Sym: Evaluator.sym, Add: Evaluator.add, Mul: Evaluator.mul,
    Div: Evaluator.div, Pow: Evaluator.pow, Fn: Evaluator.fn, App: Evaluator.app, BigOp: Evaluator.big,
    Percent: Evaluator.percent, Degree: Evaluator.degree,
}  # fmt: skip


def seed(name: str) -> int:
    """Return a pseudo-random number below 2**20 that depends only on the name."""
    return int.from_bytes(hashlib.blake2b(name.encode("utf-8", "replace"), digest_size=8).digest()) % (
        1 << 20
    )
