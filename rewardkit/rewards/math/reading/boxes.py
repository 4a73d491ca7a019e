"""Boxes in a response: what stands in one, where it ends, and whether two of them form one list."""

from __future__ import annotations

import re

WINDOW = 20_000
"""Characters of one box, and of the tail that the looser methods read."""
BOX = re.compile(r"\\(?:boxed|fbox)(?![a-zA-Z])")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_BARE_BOX = re.compile(r"\s*([^\s{}$,.]{1,40})")
_BLANK_JOINT = re.compile(r"(?:[^\w.!?]|quad|text|and|or|和|或|与)*")
_BREAKS_JOINT = re.compile(
    r"\b(?:then|wait|no|not|but|actually|hmm|instead|so|thus|therefore|because|hence)\b|\.\s", re.IGNORECASE
)
_LABEL = re.compile(r"[a-zA-Z](?:_\{?\w{1,3}\}?)?\s?=\s?\$?$")


def box_at(text: str, position: int) -> tuple[str | None, int]:
    """Return a box's content and where it ends; None when it never closes."""
    match = BOX.match(text, position)
    if match is None:
        return None, position
    start = match.end()
    while text[start : start + 1] == " ":
        start += 1
    if text[start : start + 1] != "{":
        bare = _BARE_BOX.match(text, start)
        return (bare.group(1), bare.end()) if bare else (None, position)
    depth = 0
    for brace in _BRACE.finditer(text, start, start + WINDOW):
        sign = brace.group()
        depth += (sign == "{") - (sign == "}")
        if depth == 0 and sign == "}":
            return text[start + 1 : brace.start()], brace.end()
    return None, position


def joined(gap: str) -> bool:
    """Whether two boxes with this between them form one list rather than a correction."""
    if len(gap) > 60:
        return False
    if _BLANK_JOINT.fullmatch(gap):
        return True
    return _BREAKS_JOINT.search(gap) is None and _ends_in_connective(gap)


def _ends_in_connective(gap: str) -> bool:
    words = _LABEL.sub("", gap.rstrip()).replace("}", " ").replace("$", " ").replace("\\(", " ").split()
    return bool(words) and words[-1].casefold() in ("and", "or", ",", "和", "或")
