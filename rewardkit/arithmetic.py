"""Parser and calculator for arithmetic expressions. Nothing is evaluated as Python code.

Numbers are fractions, so that `0.1 + 0.2` is exactly 0.3. Irrational values (roots, logarithms) are floats.
The length of the text, the depth of nesting and the size of every intermediate value are bounded.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from typing import Any

MAX_CHARS = 1_000
MAX_DEPTH = 50
MAX_BITS = 4_096
_MAX_EXPONENT = 4_096
_MAX_FACTORIAL = 500
_DIGITS = 12
"""Number of significant digits in the text of a value that is not an integer."""

_TOKEN = re.compile(
    r"\s*(?:(\d+(?:\.\d*)?(?:[eE][+-]?\d{1,4})?|\.\d+)|([A-Za-z_]\w*)|(\*\*|//|[-+*/%^()!,]))"
)
_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])")
_WRITTEN = str.maketrans({"×": "*", "·": "*", "÷": "/", "−": "-", "–": "-", "π": " pi ", "√": " sqrt "})
_CONSTANTS: dict[str, Fraction | float] = {"pi": math.pi, "e": math.e}

Number = Fraction | float


class BadExpression(ValueError):
    """Error raised for an expression that cannot be calculated. The message gives the reason."""


Evaluate = Callable[[Mapping[str, Number]], Number]
"""Function that takes values by name and returns the value of one part of an expression."""


def calculate(expression: str) -> str:
    """Return the value of an expression as text: exact for integers, otherwise with 12 significant digits.

    Args:
        expression: Expression with `+ - * / // % ** ^ !`, parentheses, `pi`, `e` and the functions in
            `FUNCTIONS`. `^` means power. Informal notation such as `1,000 × 3 =` is accepted.

    Raises:
        BadExpression: The text is not an expression, or a value in it is too large or undefined.
    """
    text = expression.translate(_WRITTEN).strip()
    if not re.search(r"[A-Za-z]", text):  # commas also separate the arguments of functions
        text = _THOUSANDS.sub(lambda found: found[0].replace(",", ""), text)
    return _shown(Expression(text.removesuffix("=").replace("$", ""), _CONSTANTS).value())


class Expression:
    """A parsed expression that can be calculated repeatedly with different values for its names."""

    def __init__(self, text: str, names: Collection[str] = ()) -> None:
        """Parse an expression.

        Args:
            text: Expression as for `calculate`, but without informal notation.
            names: Names that the expression may contain in addition to functions.

        Raises:
            BadExpression: The text is not an expression.
        """
        if len(text) > MAX_CHARS:
            raise BadExpression(f"the expression is longer than {MAX_CHARS} characters")
        self._evaluate = _Reader(text, names).read()

    def value(self, values: Mapping[str, Number] | None = None) -> Number:
        """Return the value of the expression, exact unless it is irrational or a given value is a float.

        Raises:
            BadExpression: A value in the expression is too large or undefined.
        """
        try:
            return self._evaluate(_CONSTANTS if values is None else values)
        except ZeroDivisionError:
            raise BadExpression("division by zero") from None
        except (OverflowError, RecursionError):
            raise BadExpression("a value is too large") from None


class _Reader:
    """Recursive-descent parser for one expression."""

    def __init__(self, text: str, names: Collection[str]) -> None:
        self._tokens = list(_tokens(text))
        self._names = names
        self._place = 0
        self._depth = 0

    def read(self) -> Evaluate:
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

    @contextmanager
    def _deeper(self) -> Iterator[None]:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise BadExpression(f"the expression is nested more than {MAX_DEPTH} levels deep")
        yield
        self._depth -= 1

    def _sum(self) -> Evaluate:
        with self._deeper():
            return self._chain(self._product, "+", "-")

    def _product(self) -> Evaluate:
        return self._chain(self._signed, "*", "/", "//", "%")

    def _chain(self, read: Callable[[], Evaluate], *signs: str) -> Evaluate:
        """Parse operands joined by these operators. A chain of any length counts as one nesting level."""
        first = read()
        rest: list[tuple[Callable[[Any, Any], Any], Evaluate]] = []
        while sign := self._take(*signs):
            rest.append((_OPERATORS[sign], read()))
        return partial(_chained, first, rest) if rest else first

    def _signed(self) -> Evaluate:
        negative = False
        while sign := self._take("+", "-"):
            negative ^= sign == "-"
        found = self._power()
        return (lambda values: -found(values)) if negative else found

    def _power(self) -> Evaluate:
        with self._deeper():
            base = self._atom()
            while self._take("!"):
                base = partial(_of, _factorial, [base])
            return partial(_of, _power, [base, self._signed()]) if self._take("**", "^") else base

    def _atom(self) -> Evaluate:
        token = self._next()
        self._place += 1
        if token[:1].isdigit() or token[:1] == ".":
            number = _bounded(Fraction(token))
            return lambda values: number
        if token == "(":
            found = self._sum()
            self._close()
            return found
        if token in self._names:
            return lambda values: values[token]
        if token in FUNCTIONS:
            return self._call(token)
        if token[:1].isalpha():
            known = ", ".join([*FUNCTIONS, *sorted(self._names)])
            raise BadExpression(f"'{token}' is unknown; known: {known}")
        raise BadExpression(
            f"a number was expected, not '{token}'"
            if token
            else "the expression ends where a number is expected"
        )

    def _call(self, name: str) -> Evaluate:
        arguments = [self._sum()] if self._take("(") else []
        if not arguments:
            arguments = [self._atom()]
        else:
            while self._take(","):
                arguments.append(self._sum())
            self._close()
        function, most = FUNCTIONS[name]
        if most is not None and len(arguments) > most:
            raise BadExpression(f"{name} does not take {len(arguments)} numbers")
        return partial(_of, partial(_applied, name, function), arguments)

    def _close(self) -> None:
        if not self._take(")"):
            raise BadExpression("a ')' is missing")


def _chained(
    first: Evaluate, rest: list[tuple[Callable[[Any, Any], Any], Evaluate]], values: Mapping[str, Number]
) -> Number:
    found = first(values)
    for operator, operand in rest:
        found = _bounded(operator(found, operand(values)))
    return found


def _of(function: Callable[..., Number], arguments: list[Evaluate], values: Mapping[str, Number]) -> Number:
    return _bounded(function(*(argument(values) for argument in arguments)))


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


FUNCTIONS: dict[str, tuple[Callable[..., Any], int | None]] = {
    "sqrt": (_root, 1),
    "abs": (abs, 1),
    "min": (lambda *numbers: min(numbers), None),
    "max": (lambda *numbers: max(numbers), None),
    "round": (_round, 2),
    "floor": (math.floor, 1),
    "ceil": (math.ceil, 1),
    "exp": (_real(math.exp), 1),
    "log": (_logarithm, 2),
    "ln": (_logarithm, 2),
    "log10": (_real(math.log10), 1),
    "log2": (_real(math.log2), 1),
    "sin": (_real(math.sin), 1),
    "cos": (_real(math.cos), 1),
    "tan": (_real(math.tan), 1),
    "factorial": (_factorial, 1),
}
"""Functions by name, each with its maximum number of arguments, or None if there is no maximum."""
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: Fraction(a // b),
    "%": lambda a, b: a % b,
}


def _applied(name: str, function: Callable[..., Any], *arguments: Number) -> Number:
    try:
        found: Number | int = function(*arguments)
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
    """Format an integer in full, and round any other number to hide floating-point errors."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else f"{value:.{_DIGITS}g}"
