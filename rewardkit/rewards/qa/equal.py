"""When two short answers are the same, and how much of one is in the other. Text in, verdict out.

SQuAD's normalisation (github.com/rajpurkar/SQuAD-explorer, `evaluate-v2.0.py`: letter case, punctuation,
articles and blanks do not matter) without its mistakes: it deletes the sign of `-5`, the point of `3.5`, the
letter of `vitamin A` and the whole of `!`. Here numbers are compared as numbers, dates as dates, an article
is one only before another word, accents may be left out, and nothing equals an answer without letters.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

MAX_ANSWER = 1_000
"""Characters; a longer answer is no short one."""

_QUOTES = {
    0x2018: "'",
    0x2019: "'",
    0x201C: '"',
    0x201D: '"',
    0x2212: "-",
    0x2013: "-",
    0x2014: "-",
    0xB4: "'",
}
_NUMBER = re.compile(
    r"(?P<sign>[-+]?)\s?[$€£¥]?\s?(?P<sign2>[-+]?)(?P<digits>\d{1,3}(?:,\d{3})+|\d{1,40}"
    r"|(?=\.\d))(?P<places>\.\d{1,40})?\s?%?"
)
_TOKEN = re.compile(r"(?<![\w.])[-+]?\d+(?:,\d{3})*(?:\.\d+)?|(?:[^\W_]|[+#])+")
_DROPPED = re.compile(r"['`]|(?<=[^\W\d])\.(?=[^\W\d]\b)|(?<=\b[^\W\d])\.(?=[\s,;)]|$)")
_ARTICLES = frozenset({"a", "an", "the"})
_OPPOSED = frozenset({"not", "or", "neither", "nor", "wrong", "incorrect", "except", "never", "maybe"})
_DECORATION = " \t\r\n*_`\"'.,;:!?“”‘’。，"
_LATEX = re.compile(r"\\(?:text|mathrm|mathbf|textbf|mathit|textit)\s?\{|\\[,;!$%() ]|[{}$]")
MONTHS = ("January", "February", "March", "April", "May", "June", "July",
          "August", "September", "October", "November", "December")  # fmt: skip
_MONTH_NUMBERS = {
    name: number
    for number, month in enumerate(MONTHS, start=1)
    for name in (month.casefold(), month[:3].casefold())
} | {"sept": 9}
_DATE_WORD = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?|(\d{3,4})|([a-z]+)\.?")
_ISO = re.compile(r"(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])")


@dataclass(frozen=True, slots=True)
class ComparedForm:
    """A short answer in the form in which it is compared."""

    number: Decimal | None
    date: tuple[int, int, int] | None
    words: tuple[str, ...]
    joined: str
    """The words without blanks, where deleting punctuation changes nothing else; else empty."""
    signs: str = ""
    """Of arithmetic, beside numbers and single letters: `x/2` is not `x^2`."""

    @property
    def empty(self) -> bool:
        """True when nothing is left to compare."""
        return not self.words


def form(text: str) -> ComparedForm:
    """Return the form of a short answer; long ones are empty."""
    if len(text) > MAX_ANSWER:
        return _EMPTY
    return _form(text)


@lru_cache(maxsize=65_536)
def _form(text: str) -> ComparedForm:
    if not text.isascii():
        text = _RAISED.sub("^", text)
        text = unicodedata.normalize("NFKD", text.translate(_QUOTES))
        text = "".join(c for c in text if not unicodedata.combining(c))
    if "\\" in text or "$" in text:
        text = _LATEX.sub("", text) if "\\" in text else text
    text = text.casefold()
    stripped = text.strip(_DECORATION)
    number = _number(text.strip(" \t\r\n*_`\"'"))
    words = _without_articles(_TOKEN.findall(_DROPPED.sub("", stripped)))
    words = [w.replace(",", "") if w[-1].isdigit() else w for w in words]
    plain = not any(c.isdigit() or c in "+#" for c in stripped)
    signs = "" if _SIGNS.isdisjoint(stripped) else "".join(map(str.strip, _SIGN.findall(stripped)))
    return ComparedForm(number, _date(stripped), tuple(words), "".join(words) if plain else "", signs)


_RAISED = re.compile(r"(?<=[a-zA-Z)])(?=[²³⁴-⁹])")
_SIGNS = frozenset("^/*<>=-")
_SIGN = re.compile(
    r"(?:(?<=[\d()])|(?<=\b[^\W\d_]))\s?(?:[\^/*<>=]|(?<!\d)-|-(?=\s?[^\W\d_]\b))(?=\s?(?:[\d(]|[^\W\d_]\b))"
)
"""A dash between two numbers is none: `9-11` is `9/11`."""


_EMPTY = ComparedForm(None, None, (), "")


def _without_articles(words: list[str]) -> list[str]:
    """Drop an article where a word follows it: `vitamin a` ends in no article."""
    if not words:
        return words
    return [word for word in words[:-1] if word not in _ARTICLES] + words[-1:]


def _number(text: str) -> Decimal | None:
    match = _NUMBER.fullmatch(text.rstrip(".,;!"))
    if match is None or (match["sign"] and match["sign2"]):
        return None
    digits = (match["digits"].replace(",", "") or "0") + (match["places"] or "")
    return Decimal("-" + digits if "-" in (match["sign"] + match["sign2"]) else digits)


def _date(text: str) -> tuple[int, int, int] | None:
    """Year, month and day of a date with at least month and year, or month and day (0: not given)."""
    iso = _ISO.fullmatch(text)
    if iso:
        return int(iso[1]), int(iso[2]), int(iso[3])
    words = text.replace(",", " ").split()
    words = words[1:] if words[:1] == ["the"] else words
    if not 2 <= len(words) <= _LONGEST_DATE:
        return None
    found: dict[str, int] = {}
    for word in words:
        match = _DATE_WORD.fullmatch(word)
        if match is None or (match[3] and match[3] not in _MONTH_NUMBERS and match[3] not in _IN_DATES):
            return None
        if match[3] in _IN_DATES:
            continue
        part = "month" if match[3] else "year" if match[2] else "day"
        if part in found:
            return None  # two days are no date
        found[part] = _MONTH_NUMBERS[match[3]] if match[3] else int(word if match[2] else match[1])
    year, month, day = (found.get(part, 0) for part in ("year", "month", "day"))
    return (year, month, day) if month and (year or day) and len(words) > 1 else None


_IN_DATES = ("of", "the")
_LONGEST_DATE = 5
"""Words: the 5th of May, 1945."""


def same(a: ComparedForm, b: ComparedForm) -> bool:
    """Return True when two answers are the same; an empty one equals none."""
    if not a.words or not b.words:
        return False
    if a.signs and b.signs and a.signs != b.signs:
        return False
    if a.number is not None or b.number is not None:
        return a.number == b.number
    if a.date is not None and b.date is not None:
        return a.date == b.date
    return a.words == b.words or (bool(a.joined) and a.joined == b.joined)


_REORDERED = 0.999
"""The same words in another order are not the same answer: "Wide World Web"."""


def f1(answer: ComparedForm, ground_truth: ComparedForm) -> float:
    """Return the F1 of the words of two answers, 0 to 1.

    0 where one of them is yes or no and they differ (HotpotQA), where the truth has numbers and none of them
    is in the answer (DROP), and where the answer denies or hedges and the truth does not.
    """
    if same(answer, ground_truth):
        return 1.0
    common = sum((Counter(answer.words) & Counter(ground_truth.words)).values())
    if common == 0 or answer.number is not None or ground_truth.number is not None:
        return 0.0
    said, accepted = set(answer.words), set(ground_truth.words)
    if said & _OPPOSED - accepted or (said ^ accepted) & {"yes", "no", "noanswer"}:
        return 0.0
    numbers = {w for w in accepted if w[-1].isdigit()}
    if numbers and not numbers & said:
        return 0.0
    precision, recall = common / len(answer.words), common / len(ground_truth.words)
    return min(2 * precision * recall / (precision + recall), _REORDERED)
