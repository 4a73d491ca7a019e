"""Compares printed outputs and returned values with the expected ones.

`tokens` is rewardkit's own rule. The rules `verl`, `livecodebench` and `apps` reproduce the graders of these
projects, including the graders' errors (verl b178a3cd, LiveCodeBench 28fef95e and APPS 362aedc3).
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any, Literal

from rewardkit.sandbox.jail.values import Opaque

Comparator = Literal["tokens", "exact", "verl", "livecodebench", "apps"]

REL_TOL = 1e-6
ABS_TOL = 1e-9
_NEAR_INTEGER = 1e-3
"""Maximum distance of a float from an expected integer, however large the integer is."""

# The quantifiers are possessive, so these patterns never backtrack, even if the text is hostile.
_NUMBER = re.compile(r"[+-]?+(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][+-]?+[0-9]++)?+", re.ASCII)
_INTEGER = re.compile(r"[+-]?+[0-9]++", re.ASCII)
_DIGITS_AS_TEXT = re.compile(r"[+-]?+0[0-9]++", re.ASCII)
"""Pattern for digits with leading zeros, which are significant, as in a time or a binary number."""
_BLANK = " \t\r\v\f"
_SPACES = re.compile(r"[ \t\r\v\f]+")


def tokens(got: str, expected: str) -> bool:
    """Compare two outputs line by line and token by token, floats within 1e-6 and integers exactly.

    Lines are separated by newlines, and tokens by ASCII white space. Blank lines at the end are ignored.
    Different notations of a number are equal (`3.0` or `+3` and `3`, `1e3` and `1000`, `07` and `7`), but an
    expected number with leading zeros must be matched digit by digit.
    """
    if got == expected:
        return True
    ours, theirs = _lines(got), _lines(expected)
    return len(ours) == len(theirs) and all(
        a == b or _same_tokens(a, b) for a, b in zip(ours, theirs, strict=True)
    )


def _lines(text: str) -> list[str]:
    lines = [line.strip(_BLANK) for line in text.split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _same_tokens(got: str, expected: str) -> bool:
    ours, theirs = _SPACES.split(got), _SPACES.split(expected)
    return len(ours) == len(theirs) and all(
        a == b or same_number(a, b) for a, b in zip(ours, theirs, strict=True)
    )


def same_number(got: str, expected: str) -> bool:
    """Return True if two tokens are the same number by the rules of `tokens`."""
    if not _NUMBER.fullmatch(got) or not _NUMBER.fullmatch(expected):
        return False
    if not _INTEGER.fullmatch(expected):
        if math.isinf(float(expected)):
            return _same_decimal(got, expected)
        return math.isclose(float(got), float(expected), rel_tol=REL_TOL, abs_tol=ABS_TOL)
    if _DIGITS_AS_TEXT.fullmatch(expected):
        return False
    if _INTEGER.fullmatch(got):
        return _plain(got) == _plain(expected)
    if len(expected) > 15:  # The number has more digits than a float can represent.
        return _same_decimal(got, expected)
    allowed = min(max(ABS_TOL, REL_TOL * abs(float(expected))), _NEAR_INTEGER)
    return abs(float(got) - float(expected)) <= allowed


def _same_decimal(got: str, expected: str) -> bool:
    try:
        return Decimal(got) == Decimal(expected)
    except InvalidOperation:  # The exponent is too large even for a Decimal.
        return False


def _plain(integer: str) -> str:
    """Remove the plus sign and leading zeros from an integer's text, which may be too long for `int`."""
    digits = integer.lstrip("+-").lstrip("0") or "0"
    return "-" + digits if integer[0] == "-" and digits != "0" else digits


def exact(got: str, expected: str) -> bool:
    """Return True if two outputs are equal, apart from newlines at the end."""
    return got.rstrip("\n") == expected.rstrip("\n")


def verl(got: str, expected: str) -> bool:
    """Return True if the stripped, non-empty lines are equal.

    Numbers that are not all integers may also be close.
    """
    ours, theirs = _filled_lines(got), _filled_lines(expected)
    if ours == theirs:
        return True
    if all(_is_digits(a) and _is_digits(b) for a, b in zip(ours, theirs, strict=False)):
        return False
    return _all_close(ours, theirs)


def livecodebench(got: str, expected: str) -> bool:
    """Return True if the stripped lines are equal, or consist of the same decimal numbers, token by token."""
    ours = [line.strip() for line in got.strip().split("\n")]
    theirs = [line.strip() for line in expected.strip().split("\n")]
    if len(ours) != len(theirs):
        return False
    return all(a == b or _same_decimals(a, b) for a, b in zip(ours, theirs, strict=True))


def apps(got: str, expected: str) -> bool:
    """Compare like `verl`, but treat integers as floats.

    The outputs may also be equal as sets of lines, with each line a set of rounded tokens.
    """
    ours, theirs = _filled_lines(got), _filled_lines(expected)
    if ours == theirs or _all_close(ours, theirs):
        return True
    if {frozenset(line.split()) for line in ours} == {frozenset(line.split()) for line in theirs}:
        return True
    try:
        return _rounded(ours) == _rounded(theirs)
    except ValueError:
        return False


TEXT: dict[str, Callable[[str, str], bool]] = {
    "tokens": tokens,
    "exact": exact,
    "verl": verl,
    "livecodebench": livecodebench,
    "apps": apps,
}
"""Comparators for printed output, by name."""


def _filled_lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _is_digits(text: str) -> bool:
    return text.removeprefix("-").isdigit()


def _all_close(ours: list[str], theirs: list[str]) -> bool:
    """Compare line by line like `numpy.allclose` with its default tolerances (rtol 1e-5, atol 1e-8)."""
    if len(ours) != len(theirs):
        return False
    try:
        pairs = [(float(a), float(b)) for a, b in zip(ours, theirs, strict=True)]
    except ValueError:
        return False
    return all(a == b or (math.isfinite(b) and abs(a - b) <= 1e-8 + 1e-5 * abs(b)) for a, b in pairs)


def _same_decimals(got: str, expected: str) -> bool:
    try:
        ours = [Decimal(token) for token in got.split()]
        theirs = [Decimal(token) for token in expected.split()]
        return ours == theirs
    except InvalidOperation:  # The text is not a number, or it is a signalling NaN.
        return False


def _rounded(lines: list[str]) -> set[frozenset[float]]:
    return {frozenset(round(float(token), 3) for token in line.split()) for line in lines}


# --- values returned by a function ---


def same_value(got: Any, expected: Any) -> bool:
    """Return True if a returned value equals the expected value, with floats within 1e-6.

    JSON has neither tuples nor integer keys, so a tuple equals a list, and the key 1 equals "1".
    """
    if isinstance(expected, Opaque) or isinstance(got, Opaque):
        return False
    if isinstance(expected, float) or isinstance(got, float):
        return _is_number(got) and _is_number(expected) and _close(got, expected)
    if isinstance(expected, list | tuple) and isinstance(got, list | tuple | deque):
        return len(got) == len(expected) and all(map(same_value, got, expected))
    if isinstance(expected, dict) and isinstance(got, dict):
        return _same_dict(got, expected)
    return bool(got == expected)


def _same_dict(got: dict[Any, Any], expected: dict[Any, Any]) -> bool:
    if got.keys() != expected.keys():
        got = {_json_key(key): value for key, value in got.items()}
        expected = {_json_key(key): value for key, value in expected.items()}
    return got.keys() == expected.keys() and all(
        same_value(got[key], value) for key, value in expected.items()
    )


def _json_key(key: Any) -> Any:
    if isinstance(key, bool) or key is None:
        return {True: "true", False: "false", None: "null"}[key]
    return str(key) if isinstance(key, int) and abs(key) < 1 << 63 else key


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)


def _close(got: float, expected: float) -> bool:
    try:
        if isinstance(expected, int):
            return abs(got - expected) <= min(max(ABS_TOL, REL_TOL * abs(expected)), _NEAR_INTEGER)
        return math.isclose(got, expected, rel_tol=REL_TOL, abs_tol=ABS_TOL) or (
            got != got and expected != expected
        )
    except OverflowError:  # The integer is too large for a float.
        return False


def same_as_asserted(got: Any, expected: Any) -> bool:
    """Return True if `got == expected`, as in the original assertion."""
    return not isinstance(got, Opaque) and bool(got == expected)


def same_value_verl(got: Any, expected: Any) -> bool:
    """Compare with `==` after converting the outer tuple to a list. Only values of JSON types can match.

    The first item of an expected list is also accepted.
    """
    if not _is_json(got):
        return False
    got = list(got) if isinstance(got, tuple) else got
    first = expected[0] if isinstance(expected, list) and expected else None
    if got == expected or (isinstance(expected, list) and expected and got == first):
        return True
    rows = isinstance(got, list) and got and isinstance(got[0], tuple)
    return bool(rows and [list(x) if isinstance(x, tuple) else x for x in got] == first)


def same_value_livecodebench(got: Any, expected: Any) -> bool:
    """Compare with `==` after converting the outer tuple to a list."""
    if isinstance(got, Opaque):
        return False
    return bool((list(got) if isinstance(got, tuple) else got) == expected)


def _is_json(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_json, value))
    if isinstance(value, dict):
        return all(_is_json(v) and (k is None or isinstance(k, str | int | float)) for k, v in value.items())
    return value is None or isinstance(value, str | int | float)
