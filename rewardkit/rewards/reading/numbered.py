"""Whether a text ends with several numbered answers to one question: "Answer 1: Sydney. Answer 2: Canberra".

What is numbered is a list of guesses, unless all are the same, one is called right, or an answer without a
number follows.
"""

from __future__ import annotations

import re

_CALLED = ("answer", "guess", "solution", "response")
_LABEL = re.compile(
    rf"(?:^|(?<=[.;,!?}}$)]))[\s*_#>-]{{0,6}}(?:(?:{'|'.join(_CALLED)})\s?(?:\#|no\.?\s|number\s)?"
    r"\(?(?P<number>\d{1,2}|[A-J]|one|two|three|four)\)?"
    rf"|(?P<ordinal>first|second|third|fourth|1st|2nd|3rd|4th)\s(?:{'|'.join(_CALLED)}))[*_]{{0,3}}"
    r"\s?(?::|=|\sis\s)",
    re.IGNORECASE | re.MULTILINE,
)
_END = re.compile(r"[.;,!?](?:\s|$)|\n|$")
_RIGHT = re.compile(r"\b(?:right|correct|final|best)\b|[✓✔✅☑]", re.IGNORECASE)
_GOES_ON = re.compile(
    r"\b(?:answer|boxed|choose|pick|therefore|hence|settle|verdict|conclu\w+)\b|####", re.IGNORECASE
)


def numbered_apart(text: str) -> bool:
    """Return whether the last answers of a text are numbered, and differ."""
    if not (
        "B:" in text
        or "cond " in text
        or ("2" in text and ("2:" in text or "2)" in text or "2*" in text or "2nd " in text))
    ):
        return False  # as most texts: the pattern below takes long
    lower = text.lower()
    if not any(word in lower for word in _CALLED):
        return False
    found = list(_LABEL.finditer(text))
    numbers = {(label["number"] or label["ordinal"]).casefold() for label in found}
    if len(numbers) < _TWO:
        return False
    last = _END.search(text, found[-1].end() + 1)
    if _RIGHT.search(text, found[0].end()) or (last and _GOES_ON.search(text, last.start())):
        return False
    return len({_value(text, label.end()) for label in found}) > 1


_TWO = 2


def _value(text: str, start: int) -> str:
    start += len(text[start:]) - len(text[start:].lstrip(" *_\n"))
    end = _END.search(text, start)
    return text[start : end.start() if end else len(text)].strip(" *_()$").casefold()
