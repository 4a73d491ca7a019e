"""Compares two short answers for equality and by the overlap of their words (F1).

As in SQuAD's normalisation (github.com/rajpurkar/SQuAD-explorer, `evaluate-v2.0.py`), letter case,
punctuation, articles and whitespace do not matter. SQuAD also deletes the sign of `-5`, the point of `3.5`,
the letter of `vitamin A` and the whole answer `!`. This module keeps all of these. Numbers in figures or
words are compared by value and unit, and dates as dates. An article is deleted only before another word.
Accents may be omitted, and an answer without letters or digits equals no other answer.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from rewardkit.rewards.answers.number import Value
from rewardkit.rewards.answers.same_value import is_mathematics, measured, same_value

MAX_ANSWER = 1_000
"""Maximum length of a short answer, in characters."""

ComparedDate = tuple[int, int, int]
"""Year, month and day. A missing part is 0."""

_QUOTES = dict.fromkeys((0x2018, 0x2019, 0xB4), "'") | dict.fromkeys((0x201C, 0x201D), '"')
_QUOTES |= dict.fromkeys((0x2212, 0x2013, 0x2014), "-")
_TOKEN = re.compile(r"(?<![\w.])[-+]?\d+(?:,\d{3})*(?:\.\d+)?|(?:[^\W_]|[+#])+")
_DROPPED = re.compile(r"['`]|(?<=[^\W\d])\.(?=[^\W\d]\b)|(?<=\b[^\W\d])\.(?=[\s,;)]|$)")
_ARTICLES = frozenset({"a", "an", "the"})
_SHORT_FORMS = {"mt": "mount", "st": "saint"}
_DECORATION = " \t\r\n*_`\"'.,;:!?“”‘’。，"
_LATEX = re.compile(r"\\(?:text|mathrm|mathbf|textbf|textit|mathit|emph)\s?\{|\\[,;!$%() ]|[{}$]")
_RAISED = re.compile(r"(?<=[a-zA-Z)])(?=[²³⁴-⁹])")
_BETWEEN_NUMBERS = re.compile(r"(?<=\d)\s?[-/]\s?(?=\d)")
"""Pattern of a dash or slash between numbers, which is not arithmetic: `9-11` is the same as `9/11`."""


@dataclass(frozen=True, slots=True)
class ComparedForm:
    """Short answer in the form used for comparison."""

    number: Value | None
    unit: str
    """Dimensions of the unit after the number, code of a currency, other text as words, or empty."""
    date: ComparedDate | None
    words: tuple[str, ...]
    joined: str
    """Words joined without spaces, or empty if the text contains a digit, `+` or `#`."""
    mathematics: str = ""
    """Original text if it is mathematics, or empty. It is compared as mathematics: `x/2` is not `x^2`."""

    @property
    def empty(self) -> bool:
        """Return True if the answer contains nothing to compare."""
        return not self.words


_EMPTY = ComparedForm(None, "", None, (), "")


def form(text: str) -> ComparedForm:
    """Return the form of a short answer, or an empty form if the text is too long."""
    if len(text) > MAX_ANSWER:
        return _EMPTY
    return _form(text)


@lru_cache(maxsize=65_536)
def _form(text: str) -> ComparedForm:
    mathematics = text.strip() if is_mathematics(_BETWEEN_NUMBERS.sub(" ", text)) else ""
    if not text.isascii():
        text = _RAISED.sub("^", text)
        text = unicodedata.normalize("NFKD", text.translate(_QUOTES))
        text = "".join(c for c in text if not unicodedata.combining(c))
    number, unit = measured(text.strip(" \t\r\n*_`\"'"))
    text = (_LATEX.sub("", text) if "\\" in text else text).casefold()
    stripped = text.strip(_DECORATION)
    plain = not any(c.isdigit() or c in "+#" for c in stripped)
    found = words(stripped)
    return ComparedForm(number, unit, _date(stripped), found, "".join(found) if plain else "", mathematics)


def words(text: str) -> tuple[str, ...]:
    """Return the words of a lower-case text without articles and with short forms expanded."""
    found = _TOKEN.findall(_DROPPED.sub("", text))
    found = [word for word in found[:-1] if word not in _ARTICLES] + found[-1:]
    return tuple(
        word.replace(",", "") if word[-1].isdigit() else _SHORT_FORMS.get(word, word) for word in found
    )


# --- dates ---

MONTHS = ("January", "February", "March", "April", "May", "June", "July",
          "August", "September", "October", "November", "December")  # fmt: skip
_MONTH_NUMBERS = {
    name: number
    for number, month in enumerate(MONTHS, start=1)
    for name in (month.casefold(), month[:3].casefold())
} | {"sept": 9}
_WEEKDAYS = frozenset(f"{date(2001, 1, day):%A}".casefold() for day in range(1, 8))
_DATE_WORD = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?|(\d{3,4})|([a-z]+)\.?")
_IN_FIGURES = re.compile(
    r"(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])|(\d{4})\s?年\s?(1[0-2]|[1-9])\s?月\s?(3[01]|[12]\d|[1-9])\s?日"
)
_IN_DATES = ("of", "the")
_LONGEST_DATE = 6
"""Maximum number of words in a date, such as "Tuesday the 5th of May, 1945"."""


def _date(text: str) -> ComparedDate | None:
    """Return a date with at least month and year or month and day, or None for any other text."""
    figures = _IN_FIGURES.fullmatch(text)
    if figures:
        year, month, day = (int(part) for part in figures.groups() if part)
        return year, month, day
    parts = text.replace(",", " ").split()
    if not 2 <= len(parts) <= _LONGEST_DATE:
        return None
    found: dict[str, int] = {}
    for part in parts:
        match = _DATE_WORD.fullmatch(part)
        if match is None:
            return None
        if match[3] in _IN_DATES or match[3] in _WEEKDAYS:
            continue
        if match[3] and match[3] not in _MONTH_NUMBERS:
            return None
        kind = "month" if match[3] else "year" if match[2] else "day"
        if kind in found:
            return None  # Two days are not one date.
        found[kind] = _MONTH_NUMBERS[match[3]] if match[3] else int(part if match[2] else match[1])
    year, month, day = (found.get(kind, 0) for kind in ("year", "month", "day"))
    return (year, month, day) if month and (year or day) else None


# --- comparison ---


def same(answer: ComparedForm, ground_truth: ComparedForm) -> bool:
    """Return True if an answer equals the ground truth. An empty answer equals no ground truth.

    A number may have a unit that the ground truth omits. If both have a unit, the units must be the same.
    """
    if not answer.words or not ground_truth.words:
        return False
    if answer.number is not None and ground_truth.number is not None:
        return answer.number == ground_truth.number and ground_truth.unit in ("", answer.unit)
    if answer.date is not None and ground_truth.date is not None:
        return answer.date == ground_truth.date
    if answer.number is not None or ground_truth.number is not None:
        return False
    if answer.mathematics and ground_truth.mathematics:
        return same_value(answer.mathematics, ground_truth.mathematics)
    return answer.words == ground_truth.words or (
        bool(answer.joined) and answer.joined == ground_truth.joined
    )


_REORDERED = 0.999
"""Maximum F1 of different answers, such as the same words in another order ("Wide World Web")."""


def f1(answer: ComparedForm, ground_truth: ComparedForm) -> float:
    """Return the F1 for the words in two answers, from 0 to 1.

    The F1 is 0 if "yes", "no" or "noanswer" is in only one answer (as in HotpotQA), if numbers differ, or if
    the answer contains none of the ground truth's numbers (as in DROP).
    """
    if same(answer, ground_truth):
        return 1.0
    if answer.number is not None and ground_truth.number is not None:
        if answer.number != ground_truth.number:
            return 0.0
    elif answer.number is not None or ground_truth.number is not None:
        return 0.0
    common = sum((Counter(answer.words) & Counter(ground_truth.words)).values())
    if common == 0:
        return 0.0
    said, accepted = set(answer.words), set(ground_truth.words)
    if (said ^ accepted) & {"yes", "no", "noanswer"}:
        return 0.0
    numbers = {w for w in accepted if w[-1].isdigit()}
    if numbers and not numbers & said:
        return 0.0
    precision, recall = common / len(answer.words), common / len(ground_truth.words)
    return min(2 * precision * recall / (precision + recall), _REORDERED)
