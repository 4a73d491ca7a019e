r"""Extracts values from columns with expressions such as `answer|after('####')|last_number`.

Each step converts a string to another string, or to None if it finds nothing:

    last_number    the last number, such as -5, 0.25 or 1,234, without thousands separators
    after('####')  the text after the last occurrence of a mark, without surrounding whitespace
    boxed          the content of the last \boxed{} or \fbox{}
    letter         the last isolated capital letter from A to J, as in "(B)" or "Answer: C"
    json('a.b.0')  a value in JSON text, a Python literal or an object, by keys and indices
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from rewardkit.errors import InputError, did_you_mean
from rewardkit.json_objects import NOT_JSON
from rewardkit.rewards.math import MathOptions, extract
from rewardkit.rows import ground_truth_text

ExtractStep = Callable[[str], str | None]

_NUMBER = re.compile(
    r"(?:(?<![\w.)\]])-)?(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?|(?<![0-9])\.[0-9]+)"
)
_DIGITS = re.compile(r"[0-9][0-9.,]*")
_AT_END = re.compile(r"[\s=$](-?(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?)[\s.]*\Z")
_TAIL = 40
_LETTER = re.compile(r"(?<![A-Za-z])[A-J](?![A-Za-z'])")
_IN_A_BOX = MathOptions(methods=("boxed",))
_STEP = re.compile(r"([a-z_]+)\s*(?:\(\s*(?:'([^']*)'|\"([^\"]*)\")\s*\))?")
_SPLIT = re.compile(r"\|(?=(?:[^'\"]|'[^']*'|\"[^\"]*\")*$)")


@dataclass(frozen=True, slots=True)
class Expression:
    """Column with extraction steps."""

    text: str
    """Expression as written."""
    column: str
    steps: tuple[ExtractStep, ...]

    def values(self, texts: list[str | None]) -> list[str | None]:
        """Apply the steps to the strings in a column. A result is None if a step finds nothing."""
        for step in self.steps:
            texts = [None if text is None else step(text) for text in texts]
        return texts


def parse(text: str) -> Expression:
    """Parse an expression of the form `column|step|step`.

    Raises:
        InputError: The column is missing, a step is unknown, or a step has a wrong argument.
    """
    column, *steps = (part.strip() for part in _SPLIT.split(text))
    if not column:
        raise InputError(
            f"'{text}' does not start with a column; expected COLUMN|STEP|..., for example answer|last_number"
        )
    return Expression(text, column, tuple(_step(step, text) for step in steps))


def _step(written: str, text: str) -> ExtractStep:
    match = _STEP.fullmatch(written)
    name = match[1] if match else written
    if match is None or name not in _STEPS:
        near = did_you_mean(name, _STEPS)
        raise InputError(f"unknown step '{name}' in '{text}'; expected one of {', '.join(_STEPS)}{near}")
    argument = match[2] if match[2] is not None else match[3]
    make = _STEPS[name]
    if name in _WITH_ARGUMENT and not argument:
        raise InputError(
            f"the step '{name}' in '{text}' requires a quoted argument, such as {_WITH_ARGUMENT[name]}"
        )
    if name not in _WITH_ARGUMENT and argument is not None:
        raise InputError(f"the step '{name}' in '{text}' does not accept an argument")
    return make(argument or "")


def last_number(text: str) -> str | None:
    """Return the last number in a text without thousands separators, or None if there is no number."""
    # The last number is usually near the end of the text, and searching the end first is many times faster.
    if at_end := _AT_END.search(text[-_TAIL:]):
        return at_end[1].replace(",", "")
    for start in (max(0, len(text) - _TAIL), 0):
        digits = list(_DIGITS.finditer(text, start))
        if digits and (digits[-1].start() > start or not start):
            break
    if not digits:
        return None
    found = list(_NUMBER.finditer(text, max(0, digits[-1].start() - 2)))
    return found[-1][0].replace(",", "") if found else None


def boxed(text: str) -> str | None:
    """Return the content of the last box in a text, or None if there is no box."""
    return extract(text, _IN_A_BOX).answer


def letter(text: str) -> str | None:
    """Return the last isolated letter from A to J, or None if there is no such letter."""
    found = _LETTER.findall(text)
    return found[-1] if found else None


def _after(mark: str) -> ExtractStep:
    def step(text: str) -> str | None:
        _, found, rest = text.rpartition(mark)
        return rest.strip() or None if found else None

    return step


def _json(path: str) -> ExtractStep:
    keys = [int(key) if key.lstrip("-").isdigit() else key for key in path.split(".")]

    def step(text: str) -> str | None:
        try:
            value = _decoded(text)
            for key in keys:
                value = value[key]
        except (ValueError, SyntaxError, RecursionError, MemoryError, KeyError, IndexError, TypeError):
            return None
        return ground_truth_text(value)

    return step


def _decoded(text: str) -> Any:
    """Decode JSON text, or a Python literal, which some datasets contain instead."""
    try:
        return msgspec.json.decode(text)
    except NOT_JSON:
        return ast.literal_eval(text)


_STEPS: dict[str, Callable[[str], ExtractStep]] = {
    "last_number": lambda _: last_number,
    "after": _after,
    "boxed": lambda _: boxed,
    "letter": lambda _: letter,
    "json": _json,
}
_WITH_ARGUMENT = {"after": "after('####')", "json": "json('answer.value')"}
