"""Comparison of numbers written as decimals with exact values that round to them.

A decimal with enough digits (option `rounding_digits`) equals a value that rounds to the decimal.
"""

from __future__ import annotations

from fractions import Fraction

from rewardkit.rewards.math.comparing.numeric import Undefined, context, evaluate
from rewardkit.rewards.math.policies import MathOptions
from rewardkit.rewards.math.tree.nodes import Mul, Node, Num, Percent, Pow


def as_decimal(node: Node) -> tuple[Fraction, int] | None:
    """Return the value and decimal places of a decimal such as `0.333` or `1.5 \\times 10^3`, or None."""
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


def rounds(a: Node, x: Fraction, b: Node, y: Fraction, options: MathOptions) -> bool:
    """Return True if one side is a decimal and the other is an exact non-integer that rounds to it."""
    first, second = as_decimal(a), as_decimal(b)
    if (first is None) == (second is None):
        return False
    decimal, other = (first, y) if first is not None else (second, x)
    if decimal is None or other.denominator == 1 or decimal[1] <= 0:
        return False
    return _enough_digits(decimal, options) and abs(decimal[0] - other) <= _tolerance(decimal)


def _enough_digits(decimal: tuple[Fraction, int], options: MathOptions) -> bool:
    """Return True if a decimal has enough significant digits.

    One digit fewer is enough if the number of decimal places is at least the required number of digits.
    """
    wanted = options.rounding_digits or 0
    if wanted <= 0 or decimal[1] > 1_000:
        return False
    digits = len(str(abs(int(decimal[0] * Fraction(10) ** decimal[1]))))
    return digits >= wanted or (decimal[1] >= wanted and digits >= max(wanted - 1, 2))


def rounds_to(decimal: tuple[Fraction, int], other: Node, options: MathOptions) -> bool | None:
    """Return True if the value of an irrational tree rounds to the decimal, or None if it has no value."""
    try:
        value = evaluate(other, {}, max(30, decimal[1] + 15))
    except Undefined:
        return None
    mp = context(max(30, decimal[1] + 15))
    if mp.im(value) != 0:
        return False
    target = mp.mpf(decimal[0].numerator) / decimal[0].denominator
    allowed = _tolerance(decimal)
    return _enough_digits(decimal, options) and bool(
        abs(value - target) <= mp.mpf(allowed.numerator) / allowed.denominator
    )


def _tolerance(decimal: tuple[Fraction, int]) -> Fraction:
    """Return half a unit in the last place.

    For a decimal with as many digits as a double, return the rounding error of a double if that is larger.
    """
    value, places = decimal
    half = Fraction(1, 2 * 10**places)
    double = abs(value) / (1 << 51)
    return max(half, double) if half * 20 <= abs(value) / 10**14 else half
