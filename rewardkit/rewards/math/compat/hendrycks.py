"""Verdicts of verl's `math_reward` for `compat="verl_math_reward"` (the same in verl 0.8 and 0.9).

This code reproduces the grader exactly, including its errors, and must not be improved. If the grader would
raise an assertion or index error, this module raises `_Fails` and compares the raw strings.
"""

from __future__ import annotations

import re

_BRACE = re.compile(r"[{}]")
_DELETED = ("\n", "\\!")
_CIRCLES = ("^{\\circ}", "^\\circ", "\\$")
_INTEGER = re.compile(r"-?[0-9]+")


class _Fails(Exception):
    """Raised if the reproduced grader would raise an exception."""


def extracted(response: str) -> str | None:
    """Return the content of the last box as `math_reward` extracts it, or None if it finds no box."""
    if "\\boxed " in response:
        return response.rpartition("\\boxed ")[2].partition("$")[0]
    start = response.rfind("\\boxed")
    start = start if start >= 0 else response.rfind("\\fbox")
    if start < 0:
        return None
    depth = 0
    for brace in _BRACE.finditer(response, start):
        depth += 1 if brace.group() == "{" else -1
        if brace.group() == "}" and depth == 0:
            box = response[start : brace.end()]
            return box[7:-1] if box.startswith("\\boxed{") else None
    return None


def correct(response: str, ground_truth: str) -> bool:
    """Return True if `math_reward` accepts a response."""
    answer = extracted(response)
    return answer is not None and equivalent(answer, ground_truth)


def equivalent(a: str, b: str) -> bool:
    """Return True if two answers have the same normal form."""
    try:
        return normal(a) == normal(b)
    except _Fails:
        return a == b


def normal(text: str) -> str:
    """Return the normal form in which `math_reward` compares an answer.

    Raises:
        _Fails: The grader's own code would raise an exception.
    """
    for piece in _DELETED:
        text = text.replace(piece, "")
    text = text.replace("\\\\", "\\").replace("tfrac", "frac").replace("dfrac", "frac")
    text = text.replace("\\left", "").replace("\\right", "")
    for piece in _CIRCLES:
        text = text.replace(piece, "")
    text = _without_unit(text).replace("\\\\%", "").replace("\\%", "")
    text = text.replace(" .", " 0.").replace("{.", "{0.")
    if not text:
        return text
    if text.startswith("."):
        text = "0" + text
    if text.count("=") == 1 and text.index("=") <= 2:
        text = text.partition("=")[2]
    text = _braced_roots(text).replace(" ", "")
    text = _braced_fractions(text)
    return _slash_fraction("\\frac{1}{2}" if text == "0.5" else text)


def _without_unit(text: str) -> str:
    if "\\text{ " not in text:
        return text
    if text.count("\\text{ ") > 1:
        raise _Fails
    return text.partition("\\text{ ")[0]


def _braced_roots(text: str) -> str:
    head, *tails = text.split("\\sqrt")
    for tail in tails:
        if not tail:
            raise _Fails
        head += "\\sqrt" + (tail if tail[0] == "{" else f"{{{tail[0]}}}{tail[1:]}")
    return head


def _braced_fractions(text: str) -> str:
    head, *tails = text.split("\\frac")
    for tail in tails:
        if not tail:
            raise _Fails
        if tail[0] == "{":
            head += "\\frac" + tail
        elif len(tail) < 2:
            return text
        else:
            bottom = tail[1:] if tail[1] == "{" else f"{{{tail[1]}}}{tail[2:]}"
            head += f"\\frac{{{tail[0]}}}{bottom}"
    return head


def _slash_fraction(text: str) -> str:
    """Return `3/4` as a LaTeX fraction. Return `03/4` and `3/-0` unchanged, as they are not canonical."""
    top, slash, bottom = text.partition("/")
    plain = slash and all(
        _INTEGER.fullmatch(part) and len(part) < 4_300 and str(int(part)) == part for part in (top, bottom)
    )
    return f"\\frac{{{top}}}{{{bottom}}}" if plain else text
