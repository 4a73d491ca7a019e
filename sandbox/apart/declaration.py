"""Parses a function declaration from a dataset, in a language with braces. The dataset is trusted."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

_NOT_CODE = re.compile(
    r"//[^\n]*|/\*.*?(?:\*/|\Z)|\"(?:\\.|[^\"\\\n])*\"?|`[^`]*`?|'(?:\\[^\n][^'\n]{0,8}|[^\\'\n])'", re.DOTALL
)
_PIECE = re.compile(r"[;{}]|^[ \t]*#[^\n]*", re.MULTILINE)
_CALL = re.compile(r"(?P<name>[A-Za-z_$]\w*)\s*(?:<[^()]*>\s*)?\(")
_OPENING = "([{<"
_CLOSING = ")]}>"

ENDED_STATUS = 97
"""Exit status of tests whose program has ended before it answered."""


class UnusableDeclaration(ValueError):
    """Raised if a stand-in cannot be made from a declaration. The message describes the reason."""


@dataclass(frozen=True, slots=True)
class ApartSources:
    """A program that answers calls and the tests that make them, as two sources."""

    program: str
    tests: str
    runner: str
    """Name of the language or runner of the tests, which is a key of `languages.RUNNERS`."""


def code_only(source: str) -> str:
    """Replace comments and literals in a source by spaces, so that all positions stay the same."""
    return _NOT_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), source)


def depth(source: str) -> int:
    """Return the number of unclosed braces in a source."""
    code = code_only(source)
    return code.count("{") - code.count("}")


def closed(source: str) -> str:
    """Append the missing closing braces to a source."""
    return source + "\n}" * max(depth(source), 0) + "\n"


@dataclass(frozen=True)
class Declaration:
    """A text that ends with the header of a function, such as `int f(int x) {` after includes and helpers."""

    text: str
    starts: str = ""
    """Pattern for the start of a header in a language whose statements do not end with semicolons."""

    @cached_property
    def head(self) -> str:
        """Return the text before the header: imports, helper functions and the header of a class."""
        return self._parts[0]

    @cached_property
    def header(self) -> str:
        """Return the header without its brace, as `int f(int x)`."""
        return self._parts[1]

    @cached_property
    def name(self) -> str:
        """Return the name of the function.

        Raises:
            UnusableDeclaration: The text does not end with the header of a function.
        """
        found = _CALL.search(code_only(self.header))
        if found is None:
            raise UnusableDeclaration(f"no function in {self.header.strip()[-80:]!r}")
        return found["name"]

    @cached_property
    def before_name(self) -> str:
        """Return the part of the header before the name, such as the type of the result."""
        return code_only(self.header)[: _position(self.header, self.name)]

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """Return the parameters, each with its type."""
        code = code_only(self.header)
        opening = code.index("(", _position(self.header, self.name))
        inside = code[opening + 1 : _closing(code, opening)]
        return tuple(part for piece in _split(inside) if (part := " ".join(piece.split())))

    @cached_property
    def _parts(self) -> tuple[str, str]:
        text = self.text.rstrip()
        if text.endswith((";", "{")):
            text = text[:-1]
        else:
            raise UnusableDeclaration("a declaration must end with the header of a function and '{'")
        code = code_only(text)
        if self.starts:
            places = [found.start() for found in re.finditer(self.starts, code, re.MULTILINE)]
        else:
            places = [found.end() for found in _PIECE.finditer(code)]
        start = places[-1] if places else 0
        return text[:start], text[start:]

    def completed(self, body: str) -> str:
        """Return a complete program, given a response that contains only the body of the function."""
        return closed(f"{self.text}\n{body}")

    def with_stand_in(self, body: str, tests: str) -> str:
        """Return the declaration with `body` as the body of its function, followed by the tests.

        The tests may close the braces that the declaration opens.
        """
        text = f"{self.head}{self.header} {{ {body}"
        return f"{text}{'}' * max(depth(f'{text}{tests}'), 0)}\n{tests}\n"


def _position(header: str, name: str) -> int:
    found = re.search(rf"\b{re.escape(name)}\s*(?:<[^()]*>\s*)?\(", code_only(header))
    return found.start() if found else 0


def _closing(text: str, opening: int) -> int:
    level = 0
    for place in range(opening, len(text)):
        level += {"(": 1, ")": -1}.get(text[place], 0)
        if level == 0:
            return place
    raise UnusableDeclaration(f"unbalanced parentheses in {text.strip()[-80:]!r}")


def _split(text: str) -> list[str]:
    """Split parameters at the commas that are not within brackets."""
    parts = [""]
    level = 0
    for place, character in enumerate(text):
        arrow = character == ">" and text[place - 1 : place] in ("-", "=")
        level += (character in _OPENING) - (character in _CLOSING and not arrow)
        if character == "," and level == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts
