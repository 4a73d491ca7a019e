"""Shortest matches of regular expressions, for the patterns in a reward's source.

A wrong match only costs a few scores, so rare syntax is read roughly. An unreadable pattern has no match.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, field

_PROBES = "a1 A.\n-,:0x_#<>{}[]()$\"'*!é"
"""Characters that are tried for a class of characters, in order of preference."""
_REPEAT = re.compile(r"(?:([*+?])|\{(\d*)(?:(,)\d*)?\})[?+]?")
_GROUP = re.compile(r"\?(?:P?<[A-Za-z_]\w*>|P=\w+\)|P>\w+\)|#[^)]*\)|[a-zA-Z-]*:|[a-zA-Z]+\)|<?[=!]|>)")
_MOST_REPEATS = 2_000
_VARIANTS = 4
_FRAMES = 4
HOLE = "\x00"
"""Character that stands for the answer in a match."""


def is_pattern(text: str) -> bool:
    """Return True if a text can be compiled as a regular expression and does not only match itself."""
    if not any(c in text for c in "\\[(*+?.^$|{"):
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            re.compile(text)
        except (re.error, RecursionError, OverflowError):
            return False
    return True


def shortest_matches(pattern: str) -> list[str]:
    """Return short texts that a regular expression matches, one for each of its first alternatives."""
    found = (_match(pattern, _Choice(branch, least)) for branch in range(_VARIANTS) for least in (0, 1))
    return list(dict.fromkeys(text.replace(HOLE, "") for text in found if text is not None))


def frames_of(pattern: str) -> list[str]:
    """Return frames with `{}` in place of each part of a pattern that matches any text, the last first."""
    choice = _Choice(0, 0)
    _match(pattern, choice)
    frames = []
    for hole in range(choice.holes - 1, max(-1, choice.holes - 1 - _FRAMES), -1):
        text = _match(pattern, _Choice(0, 0, hole))
        if text is not None and HOLE in text:
            before, _, after = text.partition(HOLE)
            frames.append(f"{before}{{}}{after}".replace(HOLE, ""))
    return frames


@dataclass
class _Choice:
    """Decisions of one walk through a pattern."""

    branch: int
    """Index of the alternative to take, modulo the number of alternatives."""
    least: int
    """Number of times that an optional part is taken."""
    hole: int = -1
    """Index of the part that is replaced by `HOLE`."""
    holes: int = 0
    """Number of parts so far that match any text."""
    groups: list[str] = field(default_factory=list)


def _match(pattern: str, choice: _Choice) -> str | None:
    try:
        text, end = _alternatives(pattern, 0, choice)
    except (IndexError, ValueError, RecursionError, re.error):
        return None
    return text if end == len(pattern) and len(text) <= 4 * _MOST_REPEATS else None


def _alternatives(pattern: str, at: int, choice: _Choice) -> tuple[str, int]:
    """Return a match of the alternatives from an offset, and the offset of the bracket that ends them."""
    found = []
    while True:
        text, at = _sequence(pattern, at, choice)
        found.append(text)
        if at >= len(pattern) or pattern[at] == ")":
            return found[choice.branch % len(found)], at
        at += 1


def _sequence(pattern: str, at: int, choice: _Choice) -> tuple[str, int]:
    parts: list[str] = []
    while at < len(pattern) and pattern[at] not in "|)":
        text, any_text, at = _atom(pattern, at, choice)
        repeat = _REPEAT.match(pattern, at)
        if repeat and repeat.group() not in ("{}", "{,}"):
            at = repeat.end()
            text = _repeated(text, repeat, any_text, choice)
        parts.append(text)
    return "".join(parts), at


def _repeated(text: str, repeat: re.Match[str], any_text: bool, choice: _Choice) -> str:
    sign, low, _ = repeat.groups()
    least = int(sign == "+") if sign else int(low or 0)
    if any_text and sign in ("*", "+"):
        choice.holes += 1
        if choice.hole == choice.holes - 1:
            return HOLE
    times = max(least, choice.least if least == 0 else 0)
    return text * min(times, _MOST_REPEATS)


def _atom(pattern: str, at: int, choice: _Choice) -> tuple[str, bool, int]:
    """Return a match of one part, True if the part matches nearly any character, and the offset behind it."""
    sign = pattern[at]
    if sign == "(":
        return _group(pattern, at + 1, choice)
    if sign in "^$":
        return "", False, at + 1
    if sign == "[":
        end = _class_end(pattern, at)
        return *_character(pattern[at:end]), end
    if sign == ".":
        return "a", True, at + 1
    if sign == "\\":
        name = pattern[at + 1]
        if name.isdigit() and name != "0":
            return choice.groups[int(name) - 1], False, at + 2
        if name in "AbBZz":
            return "", False, at + 2
        end = at + {"x": 4, "u": 6, "U": 10}.get(name, 2)
        return *_character(pattern[at:end]), end
    return sign, False, at + 1


def _group(pattern: str, at: int, choice: _Choice) -> tuple[str, bool, int]:
    kind = _GROUP.match(pattern, at)
    head = kind.group() if kind else ""
    start = at + len(head)
    if head.endswith(")"):  # flags, a comment or a named reference
        return choice.groups[-1] if head.startswith("?P=") and choice.groups else "", False, start
    captures = not head or (head.endswith(">") and head != "?>")
    number = len(choice.groups)
    if captures:
        choice.groups.append("")
    before = choice.holes
    text, end = _alternatives(pattern, start, choice)
    if captures:
        choice.groups[number] = text
        if choice.holes == before:  # a group of other characters, such as a number, holds the answer too
            choice.holes += 1
            text = HOLE if choice.hole == before else text
    return "" if head.endswith("!") else text, False, end + 1


def _class_end(pattern: str, at: int) -> int:
    at += 1 + pattern.startswith("[^", at)
    at += pattern.startswith("]", at)
    while pattern[at] != "]":
        at += 1 + (pattern[at] == "\\")
    return at + 1


def _character(one: str) -> tuple[str, bool]:
    """Return a character that a class or an escape matches, and True if it matches nearly any character."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        matching = [c for c in _PROBES if re.fullmatch(one, c)]
        literal = one[1:2] if one[:1] in "\\[" else one
        return (matching or [literal])[0], len(matching) > len(_PROBES) // 2
