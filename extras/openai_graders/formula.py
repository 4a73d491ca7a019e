"""The arithmetic of a `multi` grader: read by this grammar into a tree, and never by `eval`.

sum:     product (("+" | "-") product)*
product: signed (("*" | "/") signed)*
signed:  "-" signed | power
power:   atom ("^" signed)?
atom:    NUMBER | NAME | NAME "(" sum ("," sum)* ")" | "(" sum ")"
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

_LONGEST = 600
"""Characters of a formula: its tree is as deep as it has operations."""
_DEEPEST = 50
"""Parentheses, signs and powers within each other."""
_TOKEN = re.compile(r"\s*(?:(\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+)|([A-Za-z_]\w*)|([-+*/^(),]))")

FUNCTIONS: Mapping[str, tuple[Callable[..., float], int | None]] = {
    "min": (min, None),
    "max": (max, None),
    "abs": (abs, 1),
    "floor": (math.floor, 1),
    "ceil": (math.ceil, 1),
    "exp": (math.exp, 1),
    "sqrt": (math.sqrt, 1),
    "log": (math.log, 1),
}
"""By name: the function, and how many arguments it takes; None: one or more."""
_OPERATIONS: Mapping[str, Callable[[float, float], float]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": lambda left, right: left / right,
    "^": math.pow,
}


class FormulaError(ValueError):
    """A formula that cannot be read, or that has no value for some numbers."""


@dataclass(frozen=True, slots=True)
class FormulaNode:
    """One operation on what its arguments come to. Of a number or a name there are no arguments."""

    does: Callable[..., float] | float | str
    arguments: tuple[FormulaNode, ...] = ()


def parse_formula(text: str, names: frozenset[str]) -> FormulaNode:
    """Return the tree of a formula.

    Args:
        names: What may stand in it.

    Raises:
        FormulaError: it is no formula, or has another name in it.
    """
    if len(text) > _LONGEST:
        raise FormulaError(f"the formula has {len(text)} characters; expected at most {_LONGEST}")
    parser = _FormulaParser(list(_tokens(text)), names)
    found = parser.sum()
    if parser.next:
        raise FormulaError(f"unexpected '{parser.next}' after the formula")
    return found


def evaluate(node: FormulaNode, values: Mapping[str, float]) -> float:
    """Return the value of a formula.

    Raises:
        FormulaError: it has none, such as 1 / 0, or none that is finite.
    """
    try:
        value = _value(node, values)
    except (ArithmeticError, ValueError) as error:
        raise FormulaError(f"the formula has no value: {error}") from None
    if not math.isfinite(value):
        raise FormulaError(f"the formula's value is {value}; expected a finite number")
    return value


def _value(node: FormulaNode, values: Mapping[str, float]) -> float:
    if isinstance(node.does, str):
        return values[node.does]
    if not callable(node.does):
        return node.does
    return float(node.does(*(_value(one, values) for one in node.arguments)))


def _tokens(text: str) -> Iterator[str]:
    at = 0
    text = text.rstrip()
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise FormulaError(f"unexpected {text[at:].strip()[:20]!r} in the formula")
        at = found.end()
        yield found[0].strip()


class _FormulaParser:
    """Reads tokens from left to right; each method reads one rule of the grammar above."""

    def __init__(self, tokens: list[str], names: frozenset[str]) -> None:
        self._tokens = tokens
        self._names = names
        self._at = 0
        self._depth = 0

    @property
    def next(self) -> str:
        """The token that comes next; empty at the end."""
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _take(self, wanted: str = "") -> str:
        token = self.next
        if not token or (wanted and token != wanted):
            found = f"'{token}'" if token else "the end of the formula"
            raise FormulaError(f"expected {wanted or 'a value'} in the formula, found {found}")
        self._at += 1
        return token

    def sum(self) -> FormulaNode:
        found = self._product()
        while self.next in ("+", "-"):
            found = FormulaNode(_OPERATIONS[self._take()], (found, self._product()))
        return found

    def _product(self) -> FormulaNode:
        found = self._signed()
        while self.next in ("*", "/"):
            found = FormulaNode(_OPERATIONS[self._take()], (found, self._signed()))
        return found

    def _signed(self) -> FormulaNode:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise FormulaError(f"the formula is nested more than {_DEEPEST} levels deep")
        if self.next == "-":
            self._take()
            found = FormulaNode(_OPERATIONS["-"], (FormulaNode(0.0), self._signed()))
        else:
            found = self._power()
        self._depth -= 1
        return found

    def _power(self) -> FormulaNode:
        found = self._atom()
        if self.next == "^":
            self._take()
            found = FormulaNode(_OPERATIONS["^"], (found, self._signed()))
        return found

    def _atom(self) -> FormulaNode:
        token = self._take()
        if token == "(":
            found = self.sum()
            self._take(")")
            return found
        if token[0].isdigit() or token[0] == ".":
            return FormulaNode(float(token))
        if token in FUNCTIONS and self.next == "(":
            return self._call(token)
        if token not in self._names:
            known = ", ".join(sorted(self._names))
            raise FormulaError(f"'{token}' in the formula is neither a grader ({known}) nor a function")
        return FormulaNode(token)

    def _call(self, name: str) -> FormulaNode:
        function, count = FUNCTIONS[name]
        self._take("(")
        arguments = [self.sum()]
        while self.next == ",":
            self._take()
            arguments.append(self.sum())
        self._take(")")
        if count is not None and len(arguments) != count:
            raise FormulaError(f"{name} in the formula takes {count} argument, found {len(arguments)}")
        # `min` and `max` of one number are that number; Python's own want a sequence then.
        return FormulaNode(function, tuple(arguments)) if count or len(arguments) > 1 else arguments[0]
