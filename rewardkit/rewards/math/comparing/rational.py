"""Exact evaluation of trees whose values are rational and of bounded size.

The module also computes residues of very large integers.

No result depends on the rounding of floats.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from rewardkit.rewards.math.functions import named
from rewardkit.rewards.math.guards import MAX_BITS, MAX_TERMS, TooLarge, spend
from rewardkit.rewards.math.tree.nodes import (
    Add,
    Based,
    BigOp,
    Div,
    Fn,
    Matrix,
    Mul,
    Node,
    Num,
    Percent,
    Pow,
    Quantity,
    Sym,
    symbols,
)

MAX_FACTORIAL = 3_000
_KEEP_ZERO = named("keeps_zero")


class Irrational(Exception):
    """Raised if a value is irrational, undefined, or not found to be rational without approximation."""


def exact(node: Node, env: Mapping[str, Fraction] | None = None) -> Fraction:
    """Return the exact value of a tree with the variables' values in `env`.

    Raises:
        Irrational: The tree has no value that can be found exactly.
        TooLarge: The value, or an intermediate value, is too large to compute.
    """
    return _Exact(env or {}).value(node)


def bits(value: Fraction) -> int:
    return max(value.numerator.bit_length(), value.denominator.bit_length())


def power(base: Fraction, exponent: Fraction) -> Fraction:
    """Return base ** exponent.

    Raises:
        Irrational: The result is not rational.
        TooLarge: The result is too large.
    """
    if exponent.denominator != 1:
        return root(power(base, Fraction(exponent.numerator)), exponent.denominator)
    count = exponent.numerator
    if base in (0, 1, -1):
        if base == 0 and count <= 0:
            raise Irrational("a power of zero")
        return base if base >= 0 or count % 2 else -base
    if abs(count) * (bits(base) - 1) > MAX_BITS:
        raise TooLarge("a power")
    spend(1 + abs(count) * bits(base) // 50)
    return base**count


def root(value: Fraction, degree: int) -> Fraction:
    """Return the real root of a number. Negative numbers need an odd degree.

    Raises:
        Irrational: The root is not rational, or the number or the degree is too large.
    """
    if degree < 1 or degree > 64 or bits(value) > MAX_BITS:
        raise Irrational("a root")
    if value < 0:
        if degree % 2 == 0:
            raise Irrational("an even root of a negative number")
        return -root(-value, degree)
    return Fraction(_int_root(value.numerator, degree), _int_root(value.denominator, degree))


def _int_root(value: int, degree: int) -> int:
    if degree == 2:
        found = math.isqrt(value)
    elif value < 2:
        found = value
    else:  # This is Newton's method, starting above the root.
        found = 1 << -(-value.bit_length() // degree)
        while True:
            better = ((degree - 1) * found + value // found ** (degree - 1)) // degree
            if better >= found:
                break
            found = better
    if found**degree != value:
        raise Irrational("no perfect power")
    return found


class _Exact:
    def __init__(self, env: Mapping[str, Fraction]) -> None:
        self.env = dict(env)
        self.free = len(env)

    def _at_a_point(self) -> bool:
        """Return True if the variables have arbitrary values, outside any sum or product over an index."""
        return len(self.env) == self.free > 0

    def value(self, node: Node) -> Fraction:
        spend(2)
        match node:
            case Num():
                return Fraction(node.num, node.den)
            case Sym(name=name):
                if name not in self.env:
                    raise Irrational(name)
                return self.env[name]
            case Add(terms=terms):
                return self._small(sum((self.value(t) for t in terms), Fraction(0)))
            case Mul(factors=factors):
                product = Fraction(1)
                for factor in factors:
                    product = self._small(product * self.value(factor))
                return product
            case Div(top=top, bottom=bottom):
                below = self.value(bottom)
                if below == 0:
                    raise Irrational("division by zero")
                return self._small(self.value(top) / below)
            case Pow(base=base, exponent=exponent):
                return power(self.value(base), self.value(exponent))
            case Percent(value=inner):
                return self.value(inner) / 100
            case Quantity(value=inner, unit="th"):
                return self.value(inner)
            case Based():
                raise Irrational("a number in a stated base")
            case Fn(name=name, args=args):
                return self.function(name, args)
            case BigOp(op="sum" | "prod"):
                return self.big(node)
            case _:
                raise Irrational(type(node).__name__)

    def _small(self, value: Fraction) -> Fraction:
        spend(1 + bits(value) // 50)
        if bits(value) > 2 * MAX_BITS:
            raise TooLarge("a rational")
        return value

    def function(self, name: str, args: tuple[Node, ...]) -> Fraction:
        if name == "det" and isinstance(args[0], Matrix):
            return self.determinant(args[0])
        if name == "mod" and len(args) == 2:
            return self.remainder(*args)
        values = [self.value(a) for a in args]
        first = values[0]
        match name:
            case "root":
                if values[1].denominator != 1 or first < 0:
                    raise Irrational("a root")
                return root(first, values[1].numerator)
            case "abs":
                return abs(first)
            case "floor":
                return Fraction(math.floor(first))
            case "ceil":
                return Fraction(math.ceil(first))
            case "factorial" | "factorial2":
                return Fraction(self._factorial(first, 1 if name == "factorial" else 2))
            case "binom":
                if values[1] > first and self._at_a_point() and symbols(args[1]):
                    raise Irrational("a binomial out of range")
                return Fraction(self._binomial(first, values[1]))
            case "max":
                return max(values)
            case "min":
                return min(values)
            case "gcd" | "lcm" if all(v.denominator == 1 for v in values):
                combine = math.gcd if name == "gcd" else math.lcm
                return Fraction(combine(*(v.numerator for v in values)))
            case "sgn":
                return Fraction((first > 0) - (first < 0))
            case "log" if len(values) == 2:
                return self._logarithm(first, values[1])
            case "ln" | "log" if first == 1:
                return Fraction(0)
            case _ if first == 0 and name in _KEEP_ZERO:
                return Fraction(0)
            case _:
                raise Irrational(name)

    def remainder(self, value: Node, modulus: Node) -> Fraction:
        """Return the remainder of a value, even if the value itself is too large to compute."""
        below = self.value(modulus)
        if below == 0:
            raise Irrational("a remainder modulo zero")
        try:
            return self.value(value) % below
        except TooLarge:
            if below.denominator != 1 or below < 2:
                raise
            return Fraction(residue(value, below.numerator))

    def _factorial(self, value: Fraction, step: int) -> int:
        if value.denominator != 1 or value < 0:
            raise Irrational("the factorial of such a number")
        if value > MAX_FACTORIAL:
            raise TooLarge("a factorial")
        spend(value.numerator // 8)
        return math.prod(range(value.numerator, 0, -step)) if step > 1 else math.factorial(value.numerator)

    def _binomial(self, top: Fraction, bottom: Fraction) -> int:
        if top.denominator != 1 or bottom.denominator != 1 or top < 0:
            raise Irrational("such a binomial")
        n = top.numerator
        k = bottom.numerator
        if k < 0 or k > n:
            return 0
        if min(k, n - k) * n.bit_length() > MAX_BITS:
            raise TooLarge("a binomial")
        return math.comb(n, k)

    def _logarithm(self, value: Fraction, base: Fraction) -> Fraction:
        """Return the logarithm of a number.

        Raises:
            Irrational: The logarithm is not a fraction with a small denominator.
        """
        if value <= 0 or base <= 0 or base == 1 or max(bits(value), bits(base)) > 1024:
            raise Irrational("a logarithm")
        guess = Fraction(_log2(value) / _log2(base)).limit_denominator(12)
        if power(base, Fraction(guess.numerator)) != power(value, Fraction(guess.denominator)):
            raise Irrational("a logarithm")
        return guess

    def determinant(self, matrix: Matrix) -> Fraction:
        rows = [[self.value(cell) for cell in row] for row in matrix.rows]
        size = len(rows)
        if any(len(row) != size for row in rows) or size > 8:
            raise Irrational("a determinant")
        result = Fraction(1)
        for column in range(size):
            pivot = next((r for r in range(column, size) if rows[r][column]), None)
            if pivot is None:
                return Fraction(0)
            if pivot != column:
                rows[column], rows[pivot] = rows[pivot], rows[column]
                result = -result
            result = self._small(result * rows[column][column])
            for r in range(column + 1, size):
                factor = rows[r][column] / rows[column][column]
                rows[r] = [self._small(a - factor * b) for a, b in zip(rows[r], rows[column], strict=True)]
        return result

    def big(self, node: BigOp) -> Fraction:
        if node.lower is None or node.upper is None:
            raise Irrational("unbounded")
        low, high = self.value(node.lower), self.value(node.upper)
        if low.denominator != 1 or high.denominator != 1:
            raise Irrational("bounds that are not integers")
        if high - low >= MAX_TERMS:
            raise Irrational("a sum too long to write out")
        if high < low and self._at_a_point():
            raise Irrational("bounds out of order, at a point that was not meant")
        outer = self.env.get(node.var)
        total = Fraction(0 if node.op == "sum" else 1)
        for index in range(low.numerator, high.numerator + 1):
            self.env[node.var] = Fraction(index)
            term = self.value(node.body)
            total = self._small(total + term if node.op == "sum" else total * term)
        if outer is None:
            self.env.pop(node.var, None)
        else:
            self.env[node.var] = outer
        return total


def _log2(value: Fraction) -> float:
    return math.log2(value.numerator) - math.log2(value.denominator)


def residue(node: Node, modulus: int) -> int:
    """Return an integer or rational expression modulo a number, without computing its full value.

    Raises:
        Irrational: The tree is not a rational expression with integer exponents, or contains a division by a
            number that is not invertible modulo `modulus`.
        TooLarge: A factorial has too many factors to multiply.
    """
    spend(2)
    match node:
        case Num(num=num, den=den):
            return num * _inverse(den, modulus) % modulus
        case Add(terms=terms):
            return sum(residue(t, modulus) for t in terms) % modulus
        case Mul(factors=factors):
            product = 1
            for factor in factors:
                product = product * residue(factor, modulus) % modulus
            return product
        case Div(top=top, bottom=bottom):
            return residue(top, modulus) * _inverse(residue(bottom, modulus), modulus) % modulus
        case Pow(base=base, exponent=exponent):
            count = exact(exponent)
            if count.denominator != 1:
                raise Irrational("a root")
            below = residue(base, modulus)
            if count < 0:
                below = _inverse(below, modulus)
                count = -count
            spend(count.numerator.bit_length() // 4)
            return pow(below, count.numerator, modulus)
        case Fn(name="factorial", args=(inner,)):
            value = exact(inner)
            if value.denominator != 1 or value < 0:
                raise Irrational("the factorial of such a number")
            if value > 20 * MAX_FACTORIAL:
                raise TooLarge("a factorial")
            spend(value.numerator // 8)
            product = 1
            for step in range(2, value.numerator + 1):
                product = product * step % modulus
            return product
        case _:
            value = exact(node)
            return value.numerator * _inverse(value.denominator, modulus) % modulus


def _inverse(value: int, modulus: int) -> int:
    if math.gcd(value, modulus) != 1:
        raise Irrational("division by zero modulo the prime")
    return pow(value, -1, modulus)
