"""Comparison of two trees by their values at one point.

The values are computed first in floats, then with 30 digits, and then with more digits.

A clear difference decides at once. Equality is accepted only at a precision that would reveal any difference
that the intermediate values allow: `e^{-500}` is not 0, and `1+e^{-100}` is not 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from rewardkit.rewards.math.comparing.numeric import (
    Pole,
    Undefined,
    Unreal,
    Value,
    context,
    evaluate,
    log2_range,
    plainly_differ,
)
from rewardkit.rewards.math.tree.nodes import Node

DIGITS = 30
_SURE_DIGITS = 250
_MOST_DIGITS = 10_000
_PLAIN_BITS = 300
"""Number of bits by which a difference may be smaller than the largest value. A smaller difference may be a
rounding error."""

Env = Mapping[str, Fraction]


def close(a: Node, b: Node, env: Env, real: bool = False) -> bool | str | None:
    """Compare two trees at one point, with enough precision to tell different functions apart.

    Returns:
        True if the values agree and False if they differ. `pole` or `unreal` if exactly one tree certainly
            has no finite value or no real value. None if the comparison is undecided.
    """
    if real and plainly_differ(a, b, env):
        return False
    x, y = value_or_kind(a, env, real), value_or_kind(b, env, real)
    if isinstance(x, str) != isinstance(y, str):  # `x + \\sqrt{x^2+1}` rounds to 0 for a large negative x
        x, y = (value_or_kind(node, env, real, _SURE_DIGITS) for node in (a, b))
    if isinstance(x, str) or isinstance(y, str):
        return _one_sided(x, y)
    gap = abs(x - y)
    size = max(abs(x), abs(y))
    if gap <= size * context(DIGITS).mpf(10) ** -(DIGITS * 2 // 3):
        return True
    return surely(a, b, env, real)


def _one_sided(x: Value | str, y: Value | str) -> str | None:
    """Return the reason why one side has no value, or None if both have none or the reason is unknown."""
    if isinstance(x, str) and isinstance(y, str):
        return None
    return (x if isinstance(x, str) else y) or None


def value_or_kind(node: Node, env: Env, real: bool, digits: int = DIGITS) -> Value | str:
    """Return the value of a tree, or the reason why there is no value: `pole`, `unreal`, or "" if unknown."""
    try:
        return evaluate(node, env, digits, real)
    except Unreal:
        return "unreal"
    except Pole:
        return "pole"
    except Undefined:
        return ""


def surely(a: Node, b: Node, env: Env, real: bool = False) -> bool | None:
    """Return True if two values agree at a precision that would show a difference despite cancellation.

    If the comparison needs more digits than the maximum, return False for a difference as large as the values
    (`5^{65536}` is not 1), or None otherwise.
    """
    try:
        low, high = log2_range((a, b), env, DIGITS)
        # A small value may have an effect only through its square. 302/1000 approximates log10(2).
        digits = _SURE_DIGITS + (4 * high - 9 * low) * 302 // 3000
        unsure = digits > _MOST_DIGITS
        digits = _SURE_DIGITS if unsure else digits
        x, y = evaluate(a, env, digits, real), evaluate(b, env, digits, real)
    except Undefined:
        return None
    mp = context(digits)
    if unsure:
        return None if abs(x - y) <= mp.ldexp(1, high - _PLAIN_BITS) else False
    size = max(abs(x), abs(y))
    return bool(abs(x - y) <= max(size, mp.ldexp(1, high)) * mp.mpf(10) ** -(digits * 4 // 5))
