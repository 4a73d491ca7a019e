"""Reads numbers in English and Chinese words: `seventy-two`, `two hundred and five`, `three quarters`."""

from __future__ import annotations

import re
from fractions import Fraction

from rewardkit.rewards.math.reading.nouns import SCALES

_UNITS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SMALL = {word: value for value, word in enumerate(_UNITS)}
_ROUND = {word: 10 * value for value, word in enumerate(_TENS, 2)}
_TIMES = {"once": 1, "twice": 2}
_PARTS = {
    "half": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8,
    "ninth": 9, "tenth": 10, "twelfth": 12, "hundredth": 100, "thousandth": 1000,
}  # fmt: skip
_PARTS = _PARTS | {f"{name}s": value for name, value in _PARTS.items()} | {"halves": 2}
_WORD = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*[.,]?")
_MOST_WORDS = 14
_CHINESE_DIGITS = {c: i for i, c in enumerate("零一二三四五六七八九")} | {"两": 2, "〇": 0}


def spelled_number(text: str) -> Fraction | None:
    """Return the value of a number in words, or None if the text is anything else."""
    words = text.casefold().replace("-", " ").split()
    if not words:
        return None
    negative = words[0] in ("negative", "minus")
    found = _english(words[negative:]) if words[negative:] and len(words) <= _MOST_WORDS else None
    if found is not None:
        return -found if negative else found
    return _chinese(text.strip())


def leading_number(text: str) -> tuple[Fraction, str] | None:
    """Return the value of the number that begins a phrase, such as `five apples`, and the words after it.

    Return None if the phrase does not begin with a number.
    """
    words = text.split()
    if not words or not all(_WORD.fullmatch(word) for word in words) or words[0].casefold() in _TIMES:
        return None  # An example is `twice 2`.
    for count in range(min(len(words) - 1, _MOST_WORDS), 0, -1):
        if (found := spelled_number(" ".join(words[:count]))) is not None:
            return found, " ".join(words[count:])
    return None


def _english(words: list[str]) -> Fraction | None:
    if len(words) == 1 and words[0] in _TIMES:
        return Fraction(_TIMES[words[0]])
    if words[-1] == "dozen":
        count = 1 if words[:-1] in ([], ["a"]) else _whole(words[:-1])
        return None if count is None else Fraction(12 * count)
    if words[-1] in _PARTS:
        return _mixed(words)
    whole = _whole(words)
    return None if whole is None else Fraction(whole)


def _mixed(words: list[str]) -> Fraction | None:
    """Return the value of a fraction or mixed number: `half`, `two thirds`, `two and a half`."""
    whole = 0
    top = words[:-1]
    if "and" in top:
        place = len(top) - 1 - top[::-1].index("and")
        before = _whole(top[:place])
        if before is None:
            return None
        whole = before
        top = top[place + 1 :]
    count = 1 if top == ["a"] or (not top and words == ["half"]) else _whole(top)
    bottom = _PARTS[words[-1]]
    if count is None or (words[-1].endswith("s") and count == 1) or not 0 < count < max(bottom, 20):
        return None
    return whole + Fraction(count, bottom)


def _whole(words: list[str]) -> int | None:
    """Return the value of a whole number, such as `two hundred and five thousand`.

    Each scale multiplies the words before it and must be smaller than the previous scale.
    """
    total = 0
    last = 10**18
    group: int | None = None  # This is the value of the words since the last scale above a hundred.
    open_to = 100  # Only a number below this limit may be added to the group.
    for place, word in enumerate(words):
        if word == "and":
            if (group is None and not total) or place == len(words) - 1:
                return None
        elif word == "a" and place == 0 and len(words) > 1:
            group = 1
            open_to = 0
        elif word in _ROUND or word in _SMALL:
            value = _ROUND.get(word, _SMALL.get(word, 0))
            if value >= open_to or (value == 0 and len(words) > 1):
                return None
            group = (group or 0) + value
            open_to = 10 if word in _ROUND else 0
        elif word == "hundred":
            if group is None or not 0 < group < 100:
                return None
            group *= 100
            open_to = 100
        elif word in SCALES and not word.endswith("s"):
            if not group or SCALES[word] >= last:
                return None
            total += group * SCALES[word]
            last = SCALES[word]
            group = None
            open_to = 100
        else:
            return None
    return None if group is None and not total else total + (group or 0)


def _chinese(text: str) -> Fraction | None:
    bottom, parted, top = text.partition("分之")
    values = [_chinese_number(part) for part in ((bottom, top) if parted else (text,))]
    if None in values or (values[0] == 0 and parted):
        return None
    return Fraction(values[1] or 0, values[0] or 1) if parted else Fraction(values[0] or 0)


def _chinese_number(text: str) -> int | None:
    if not text or len(text) > 4 or any(c not in _CHINESE_DIGITS and c not in "十百" for c in text):
        return None
    total = 0
    digit = 0
    for char in text:
        if char in "十百":
            total += (digit or 1) * (10 if char == "十" else 100)
            digit = 0
        else:
            digit = _CHINESE_DIGITS[char]
    return total + digit
