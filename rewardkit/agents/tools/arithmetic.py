"""Calculates an arithmetic expression by a parser of its own: nothing is evaluated as code.

Numbers are fractions, so `0.1 + 0.2` is 0.3. Irrational values (roots, logarithms) are floats. The length of
the text, the depth of nesting and the size of every intermediate value are bounded.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

MAX_CHARS = 1_000
MAX_DEPTH = 50
MAX_BITS = 4_096
_MAX_EXPONENT = 4_096
_MAX_FACTORIAL = 500
_DIGITS = 12
"""Significant digits of a value that is not an integer."""

_TOKEN = re.compile(
    r"\s*(?:(\d+(?:\.\d*)?(?:[eE][+-]?\d{1,4})?|\.\d+)|([A-Za-z_]\w*)|(\*\*|//|[-+*/%^()!,]))"
)
_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])")
_WRITTEN = str.maketrans({"×": "*", "·": "*", "÷": "/", "−": "-", "–": "-", "π": " pi ", "√": " sqrt "})
_CONSTANTS = {"pi": math.pi, "e": math.e}

Number = Fraction | float


class BadExpression(ValueError):
    """An expression cannot be calculated. The message says why."""


def calculate(expression: str) -> str:
    """Return the value of an expression as text: exact for integers, otherwise with 12 significant digits.

    Args:
        expression: With `+ - * / // % ** ^ !`, parentheses, `pi`, `e` and the functions in `FUNCTIONS`; `^`
            is a power.

    Raises:
        BadExpression: the text is no expression, or a value in it is too large or not defined.
    """
    if len(expression) > MAX_CHARS:
        raise BadExpression(f"the expression is longer than {MAX_CHARS} characters")
    try:
        return _shown(_ExpressionReader(expression).value())
    except ZeroDivisionError:
        raise BadExpression("division by zero") from None
    except (OverflowError, RecursionError):
        raise BadExpression("a value is too large") from None


class _ExpressionReader:
    """Reads one expression from left to right, by precedence."""

    def __init__(self, expression: str) -> None:
        text = expression.translate(_WRITTEN).strip()
        if not re.search(r"[A-Za-z]", text):  # between arguments a comma separates
            text = _THOUSANDS.sub(lambda found: found[0].replace(",", ""), text)
        self._tokens = list(_tokens(text.removesuffix("=").replace("$", "")))
        self._place = 0
        self._depth = 0

    def value(self) -> Number:
        if not self._tokens:
            raise BadExpression("the expression is empty")
        found = self._sum()
        if self._place < len(self._tokens):
            raise BadExpression(f"'{self._tokens[self._place]}' was not expected")
        return found

    def _next(self) -> str:
        return self._tokens[self._place] if self._place < len(self._tokens) else ""

    def _take(self, *which: str) -> str:
        if self._next() in which and self._next():
            self._place += 1
            return self._tokens[self._place - 1]
        return ""

    def _sum(self) -> Number:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise BadExpression(f"the expression is nested more than {MAX_DEPTH} levels deep")
        found = self._product()
        while sign := self._take("+", "-"):
            found = _bounded(_OPERATORS[sign](found, self._product()))
        self._depth -= 1
        return found

    def _product(self) -> Number:
        found = self._signed()
        while sign := self._take("*", "/", "//", "%"):
            found = _bounded(_OPERATORS[sign](found, self._signed()))
        return found

    def _signed(self) -> Number:
        negative = False
        while sign := self._take("+", "-"):
            negative ^= sign == "-"
        found = self._power()
        return -found if negative else found

    def _power(self) -> Number:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise BadExpression(f"the expression is nested more than {MAX_DEPTH} levels deep")
        base = self._atom()
        while self._take("!"):
            base = _factorial(base)
        if self._take("**", "^"):
            base = _bounded(_power(base, self._signed()))
        self._depth -= 1
        return base

    def _atom(self) -> Number:
        token = self._next()
        self._place += 1
        if token[:1].isdigit() or token[:1] == ".":
            return _bounded(Fraction(token))
        if token == "(":
            return self._closed(self._sum())
        if token in _CONSTANTS:
            return _CONSTANTS[token]
        if token in FUNCTIONS:
            return _bounded(_apply(token, self._arguments()))
        if token[:1].isalpha():
            raise BadExpression(f"'{token}' is unknown; known: {', '.join([*FUNCTIONS, *_CONSTANTS])}")
        raise BadExpression(
            f"a number was expected, not '{token}'"
            if token
            else "the expression ends where a number is expected"
        )

    def _arguments(self) -> list[Number]:
        if not self._take("("):
            return [self._atom()]
        found = [self._sum()]
        while self._take(","):
            found.append(self._sum())
        self._closed(0.0)
        return found

    def _closed(self, value: Number) -> Number:
        if not self._take(")"):
            raise BadExpression("a ')' is missing")
        return value


def _tokens(text: str) -> Iterator[str]:
    place = 0
    text = text.rstrip()
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            raise BadExpression(f"'{text[place:].strip()[:20]}' cannot be read")
        yield next(filter(None, found.groups()))
        place = found.end()


def _bounded(value: Number) -> Number:
    if isinstance(value, Fraction):
        if max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS:
            raise BadExpression("a value is too large")
        return value
    if not math.isfinite(value):
        raise BadExpression("a value is not finite")
    return value


def _power(base: Number, exponent: Number) -> Number:
    if isinstance(base, Fraction) and isinstance(exponent, Fraction) and exponent.denominator == 1:
        return _whole_power(base, exponent.numerator)
    found: float | complex = float(base) ** float(exponent)
    if isinstance(found, complex):
        raise BadExpression("a root of a negative number is not real")
    return found


def _whole_power(base: Fraction, exponent: int) -> Fraction:
    if abs(base) in (0, 1):
        exponent = max(-1, min(exponent, 2 - exponent % 2))
    bits = max(base.numerator.bit_length(), base.denominator.bit_length())
    if abs(exponent) > _MAX_EXPONENT or bits * abs(exponent) > 2 * MAX_BITS:
        raise BadExpression("a value is too large")
    return Fraction(base**exponent)


def _factorial(value: Number) -> Fraction:
    if value != int(value) or not 0 <= value <= _MAX_FACTORIAL:
        raise BadExpression(f"a factorial needs a whole number from 0 to {_MAX_FACTORIAL}")
    return Fraction(math.factorial(int(value)))


def _real(function: Callable[[float], float]) -> Callable[[Number], float]:
    return lambda value: function(float(value))


def _root(value: Number) -> Number:
    if value < 0:
        raise BadExpression("a root of a negative number is not real")
    if isinstance(value, Fraction):
        above, below = math.isqrt(value.numerator), math.isqrt(value.denominator)
        if above**2 == value.numerator and below**2 == value.denominator:
            return Fraction(above, below)
    return math.sqrt(value)


def _round(value: Number, digits: Number = Fraction(0)) -> Number:
    if digits != int(digits) or not -100 <= digits <= 100:
        raise BadExpression("round takes a whole number of digits, at most 100")
    return Fraction(round(Fraction(value), int(digits)))


def _logarithm(value: Number, base: Number | None = None) -> float:
    return math.log(value) if base is None else math.log(value, base)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sqrt": _root,
    "abs": abs,
    "min": min,
    "max": max,
    "round": _round,
    "floor": lambda value: Fraction(math.floor(value)),
    "ceil": lambda value: Fraction(math.ceil(value)),
    "exp": _real(math.exp),
    "log": _logarithm,
    "ln": _logarithm,
    "log10": _real(math.log10),
    "log2": _real(math.log2),
    "sin": _real(math.sin),
    "cos": _real(math.cos),
    "tan": _real(math.tan),
    "factorial": _factorial,
}
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: Fraction(a // b),
    "%": lambda a, b: a % b,
}


def _apply(name: str, arguments: list[Number]) -> Number:
    given: list[Any] = [arguments] if name in ("min", "max") else arguments
    try:
        found: Number | int = FUNCTIONS[name](*given)
    except TypeError:
        raise BadExpression(f"{name} does not take {len(arguments)} numbers") from None
    except BadExpression:
        raise
    except ValueError:
        raise BadExpression(f"{name} is not defined there") from None
    return Fraction(found) if isinstance(found, int) else found


def _shown(value: Number) -> str:
    if isinstance(value, float):
        return _decimal(value)
    if value.denominator == 1:
        return str(value.numerator)
    return _decimal(float(value))


def _decimal(value: float) -> str:
    """Return an integer as it is, any other number with few enough digits to hide the error of a float."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else f"{value:.{_DIGITS}g}"
