"""The other ways in which one writes an accepted answer: `-8` and "minus eight", `3/4` and "three quarters",
"July 20, 1969" and "the 20th of July 1969", "9:20 pm" and "9:20 in the evening", "Mt. Everest", "B and A" for
"A and B", "the River Nile" where the question asks for a river.

Only what says the same whatever the question; synonyms, short forms of names and translations are for the
ground truth to list.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import lru_cache

from rewardkit.rewards.qa.currencies import amounts
from rewardkit.rewards.qa.equal import MONTHS, form
from rewardkit.rewards.qa.marking import asked_kind
from rewardkit.rewards.qa.persons import name_variants
from rewardkit.rewards.qa.units import with_asked_unit

_ONES = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
_TENS = ["_", "_", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_PARTS = {2: "half", 3: "third", 4: "quarter", 5: "fifth", 6: "sixth", 7: "seventh", 8: "eighth", 10: "tenth"}
_MONTHS_ABROAD = (
    (
        "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
        "{day}. {month} {year}",
    ),
    (
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        "{day} {month} {year}",
    ),
    (
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
        "{day} de {month} de {year}",
    ),
    (
        "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
        "{day} de {month} de {year}",
    ),
    (
        "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
        "{day} {month} {year}",
    ),
    (
        "января февраля марта апреля мая июня июля августа сентября октября ноября декабря",
        "{day} {month} {year} года",
    ),
)
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_LARGEST_IN_WORDS = 1_000_000
_THOUSAND = 1_000
_LARGEST_PRONOUN = 2
"""One and two stand for much else in a sentence."""
_GROUPED = 4
"""Digits from which on a number may have a comma."""

_INTEGER = re.compile(r"(?P<sign>[-−]?)(?P<digits>\d{1,3}(?:,\d{3})+|\d{1,15})")
_DECIMAL = re.compile(r"(?P<sign>[-−]?)0?(?P<places>\.\d{1,15})")
_DOLLARS = re.compile(r"\$\s?(?P<amount>\d[\d,]*)(?P<cents>\.\d\d)?")
_FRACTION = re.compile(r"(\d{1,2})/(\d{1,2})")
_RANGE = re.compile(r"(?:from )?(\d[\d.,]*)\s?(?:to|until|through|[-–—])\s?(\d[\d.,]*)", re.IGNORECASE)
_TIME = re.compile(r"(?P<clock>(?P<hour>\d{1,2})(?::\d\d)?)\s?(?P<half>[ap])\.?\s?m\.?", re.IGNORECASE)
_TWO = re.compile(r"(?P<one>[^,]{1,60}?) (?:and|&) (?P<other>[^,]{1,60})")
_FORMULA = re.compile(r"(?:[A-Z][a-z]?\d{0,2}|\(|\)\d{0,2}){1,20}")
_SHORT_FORMS = ((re.compile(r"\bMount\b"), "Mt."), (re.compile(r"\bSaint\b"), "St."))
_LONG_FORMS = ((re.compile(r"\bMt\b\.?"), "Mount"), (re.compile(r"\bSt\b\.?(?= [A-Z])"), "Saint"))
_PLACE = re.compile(r"([^\d,()]+), ([A-Z][^\d,()]+)")
_ARTICLE = re.compile(r"(?:the|an?)\s+(?=\S{4,})", re.IGNORECASE)
_CLASS = re.compile(r"\b(?:[Ww]hich|[Ww]hat)\s(?P<noun>[a-z]{4,})\b")
_NO_NOUN = frozenset(("were", "does", "kind", "type", "sort", "name"))
_NO_CLASS = frozenset(
    [
        "were",
        "does",
        "kind",
        "type",
        "sort",
        "name",
        "word",
        "number",
        "letter",
        "team",
        "company",
        "band",
        "film",
        "book",
        "song",
    ]
)
"""Nouns that may be part of a name."""


@lru_cache(maxsize=16_384)
def variants(accepted: tuple[str, ...], question: str) -> tuple[str, ...]:
    """Return the other ways in which to write accepted answers, without these."""
    found: dict[str, None] = {}
    for text in accepted:
        plain = text.strip()
        for write in _WAYS:
            found |= dict.fromkeys(write(plain))
        found |= dict.fromkeys(_with_class(plain, question))
        found |= dict.fromkeys(_of_year(plain, question))
        found |= dict.fromkeys(amounts(plain, question))
        found |= dict.fromkeys(with_asked_unit(plain, question))
        found |= dict.fromkeys(name_variants(plain, question))
    found |= dict.fromkeys(_joined(accepted[:_MOST_JOINED]))
    return tuple(written for written in found if written not in accepted and not form(written).empty)


_MOST_JOINED = 16


def _joined(accepted: tuple[str, ...]) -> Iterator[str]:
    """What is accepted before a name and behind it, with both: King Henry VIII of England."""
    for name in accepted:
        before = [text for text in accepted if text.endswith(f" {name}")]
        behind = [text for text in accepted if text.startswith(f"{name} ")]
        yield from (one + other.removeprefix(name) for one in before for other in behind)


def in_words(number: int) -> str:
    """Return a number below a million in words: "one hundred and five"."""
    if number >= _THOUSAND:
        thousands, rest = divmod(number, _THOUSAND)
        joint = " and " if 0 < rest < 100 else " "
        return f"{in_words(thousands)} thousand" + (joint + in_words(rest) if rest else "")
    if number < len(_ONES):
        return _ONES[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return _TENS[tens] + (f"-{_ONES[ones]}" if ones else "")
    hundreds, rest = divmod(number, 100)
    return f"{_ONES[hundreds]} hundred" + (f" and {in_words(rest)}" if rest else "")


def _of_integer(text: str) -> Iterator[str]:
    found = _INTEGER.fullmatch(text)
    if found is None:
        return
    digits = found["digits"].replace(",", "")
    number = int(digits)
    signs = ("minus ", "negative ") if found["sign"] else ("",)
    for sign in signs:
        if found["sign"]:
            yield sign + digits
        if number < _LARGEST_IN_WORDS and (number > _LARGEST_PRONOUN or sign) and digits == str(number):
            yield from _spelled(sign + in_words(number))
    if found["sign"]:
        yield ("−" if found["sign"] == "-" else "-") + digits
    if len(digits) >= _GROUPED:
        yield found["sign"] + (f"{number:,}" if "," not in found["digits"] else digits)
    if len(digits) > _GROUPED and digits == str(number):
        yield found["sign"] + f"{number:,}".replace(",", " ")
        yield from (found["sign"] + scaled for scaled in _scaled(number))


def _scaled(number: int) -> Iterator[str]:
    """12.6 thousand, 1.5 million: with at most two decimals."""
    for name, scale in (("thousand", 10**3), ("million", 10**6), ("billion", 10**9)):
        if 1 <= number / scale < _THOUSAND and number % (scale // 100) == 0:
            yield f"{number / scale:g} {name}"


def _spelled(words: str) -> Iterator[str]:
    yield words
    if "-" in words:
        yield words.replace("-", " ")
    if " and " in words:
        yield words.replace(" and ", " ")


def _of_decimal(text: str) -> Iterator[str]:
    found = _DECIMAL.fullmatch(text)
    if found is not None:
        yield found["sign"] + found["places"]
        yield found["sign"] + "0" + found["places"]


def _of_dollars(text: str) -> Iterator[str]:
    found = _DOLLARS.fullmatch(text)
    if found is not None:
        yield f"{found['amount']}{found['cents'] or ''} dollars"
        if found["cents"] is None:
            yield f"${found['amount']}.00"


def _of_fraction(text: str) -> Iterator[str]:
    found = _FRACTION.fullmatch(text)
    part = _PARTS.get(int(found[2])) if found else None
    if found is None or part is None or not 0 < int(found[1]) < len(_ONES):
        return
    count = int(found[1])
    for name in (part, "fourth") if part == "quarter" else (part,):
        one = f"{in_words(count)} {name}" if count == 1 else f"{in_words(count)} {name}s"
        yield one
        yield one.replace(" ", "-")


def _of_range(text: str) -> Iterator[str]:
    found = _RANGE.fullmatch(text)
    if found is not None:
        yield from (f"{found[1]}{to}{found[2]}" for to in (" to ", "-", "–", " – ", " until "))
        yield f"from {found[1]} to {found[2]}"


def _of_date(text: str) -> Iterator[str]:
    date = form(text).date
    if date is None or not date[0]:
        return
    year, month, day = date
    name = MONTHS[month - 1]
    if not day:
        for written in (name, name[:_SHORT_MONTH], f"{name[:_SHORT_MONTH]}."):
            yield from (f"{written} {year}", f"{written}, {year}", f"{written} of {year}")
        yield from (f"{year}-{month:02}", f"{month:02}/{year}", f"{month}/{year}", f"{year}年{month}月")
        return
    for number in (str(day), f"{day}{_ending(day)}"):
        yield f"{name} {number}, {year}"
        yield f"{name} {number} {year}"
        yield f"{number} {name} {year}"
        yield f"{number} of {name} {year}"
        yield f"{number} of {name}, {year}"
        yield f"{number} {name}, {year}"
        yield f"{name} the {number}, {year}"
    yield from _of_day(name, date)
    if len(name) > _SHORT_MONTH:
        for short in (name[:_SHORT_MONTH], f"{name[:_SHORT_MONTH]}."):
            yield from (f"{short} {day}, {year}", f"{day} {short} {year}", f"{day} {short}, {year}")
    yield f"{year}-{month:02}-{day:02}"
    yield f"{year}年{month}月{day}日"
    for months, order in _MONTHS_ABROAD:
        yield order.format(day=day, month=months.split()[month - 1], year=year)


def _of_day(name: str, date: tuple[int, int, int]) -> Iterator[str]:
    """A date with its day of the week, with its day in words, in figures alone where only one is meant."""
    year, month, day = date
    spelled = in_order(day)
    yield from (f"{spelled} of {name} {year}", f"{spelled} of {name}, {year}", f"{name} {spelled}, {year}")
    yield from (f"{day}.{month}.{year}", f"{day:02}.{month:02}.{year}", f"{day:02}. {month:02}. {year}")
    if day > len(MONTHS):
        yield from (f"{month}/{day}/{year}", f"{month:02}/{day:02}/{year}")
        yield from (f"{day}/{month}/{year}", f"{day:02}/{month:02}/{year}")
    if year < _GREGORIAN or day > monthrange(year, month)[1]:
        return
    weekday = f"{datetime(year, month, day):%A}"
    yield from (f"{weekday}, {name} {day}, {year}", f"{weekday}, {day} {name} {year}")
    yield f"{name} {day}, {year} ({weekday})"


_SPOKEN_APART = 10
"""From this year of a century on, its two halves are read as two numbers: 1910, but not 1905."""
_TWO_THOUSAND = 20
"""Of this century, years are read whole by most."""
_GREGORIAN = 1753
"""From this year on most countries count their days in the same way."""
_SHORT_MONTH = 3


def _of_year(text: str, question: str) -> Iterator[str]:
    """A year with its era: AD 1945 where a year is asked for; 27 BC, which is not 27."""
    found = _YEAR.fullmatch(text)
    if found is None or (not (found["era"] or found["anno"]) and not _ASKS_WHEN.search(question)):
        return
    year = found["year"]
    if found["era"] and found["era"].upper().startswith("B"):
        yield from (f"{year} {era}" for era in ("BC", "BCE", "B.C.", "B.C.E."))
        return
    yield from (f"{year} {era}" for era in ("AD", "CE", "A.D.", "C.E."))
    yield from (
        f"{year}年",
        f"{year} 年",
        f"im Jahr {year}",
        f"en {year}",
        f"année {year}",
        f"в {year} году",
        f"el año {year}",
        f"{year} год",
        f"{year} году",
    )
    century, rest = divmod(int(year), 100)
    if len(year) == len("1969") and rest >= _SPOKEN_APART and century != _TWO_THOUSAND:
        yield f"{in_words(century)} {in_words(rest)}"
    yield from (f"AD {year}", f"A.D. {year}", f"the year {year}", f"year {year}", f"the year AD {year}")


_YEAR = re.compile(
    r"(?:(?P<anno>AD|A\.D\.)\s)?(?P<year>\d{1,4})(?:\s(?P<era>BCE?|AD|CE|B\.C\.(?:E\.)?|A\.D\.|C\.E\.))?"
)
_ASKS_WHEN = re.compile(r"\b(?:year|when|date)\b", re.IGNORECASE)


def in_order(number: int) -> str:
    """Return the ordinal of a number below a hundred in words: "twenty-first"."""
    tens, ones = divmod(number, 10)
    if number < len(_ONES):
        return _IRREGULAR.get(_ONES[number]) or f"{_ONES[number]}th"
    return f"{_TENS[tens]}-{in_order(ones)}" if ones else _TENS[tens].removesuffix("y") + "ieth"


def _of_ordinal(text: str) -> Iterator[str]:
    """The 18th century and the eighteenth; Henry VIII and Henry the Eighth."""
    if (found := _ORDINAL.search(text)) is not None and int(found[1]) < _MOST_ORDERED:
        yield text[: found.start()] + in_order(int(found[1])) + text[found.end() :]
    if (found := _IN_ORDER.search(text)) is not None:
        number = _ORDERED[found[0].casefold()]
        yield text[: found.start()] + f"{number}{_ending(number)}" + text[found.end() :]
    if (found := _REGNAL.fullmatch(text)) is not None:
        yield f"{found['name']} the {in_order(_ROMAN.index(found['number']) + 1).capitalize()}"
    if (found := _REIGNS.fullmatch(text)) is not None and found["number"].casefold() in _ORDERED:
        number = _ORDERED[found["number"].casefold()]
        yield from (f"{found['name']} {roman}" for roman in _ROMAN[number - 1 : number])


def _ending(number: int) -> str:
    return {1: "st", 2: "nd", 3: "rd"}.get(number % 10 if number not in (11, 12, 13) else 0, "th")


_IRREGULAR = {
    "one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth",
    "twelve": "twelfth",
}  # fmt: skip
_MOST_ORDERED = 32
_ROMAN = (
    "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII", "XIII", "XIV", "XV", "XVI",
    "XVII", "XVIII", "XIX", "XX",
)  # fmt: skip
_ORDERED = {in_order(number): number for number in range(1, _MOST_ORDERED)}
_ORDINAL = re.compile(r"\b(\d{1,2})(?:st|nd|rd|th)\b")
_IN_ORDER = re.compile(
    rf"\b(?:{'|'.join(sorted(_ORDERED, key=len, reverse=True))})\b(?= century)", re.IGNORECASE
)
_REGNAL = re.compile(rf"(?P<name>(?:[A-Z]\w+ )*[A-Z][a-z]{{2,}}) (?P<number>{'|'.join(reversed(_ROMAN))})")
_REIGNS = re.compile(r"(?P<name>(?:[A-Z]\w+ )*[A-Z][a-z]{2,}) the (?P<number>[A-Z][a-z]{2,}(?:-[a-z]+)?)")


def _of_percent(text: str) -> Iterator[str]:
    found = _PERCENT.fullmatch(text)
    if found is not None:
        for number in (found[1], in_words(int(found[1]))):
            yield from (f"{number} percent", f"{number} per cent")


_PERCENT = re.compile(r"(\d{1,3})\s?(?:%|per ?cent)")


def _of_time(text: str) -> Iterator[str]:
    found = _TIME.fullmatch(text)
    if found is None:
        return
    clock, hour = found["clock"], int(found["hour"])
    half = found["half"].lower()
    yield from (f"{clock} {half}m", f"{clock}{half}m", f"{clock} {half}.m.", f"{clock} {half.upper()}M")
    if half == "a":
        yield f"{clock} in the morning"
    elif 1 <= hour <= 5:
        yield f"{clock} in the afternoon"
    elif 6 <= hour <= 11:
        yield f"{clock} in the evening"


def _of_two(text: str) -> Iterator[str]:
    found = _TWO.fullmatch(text)
    if found is not None and " and " not in found["other"] and not re.search(r"\d", text):
        yield f"{found['other']} and {found['one']}"


def _of_names(text: str) -> Iterator[str]:
    for forms in (_SHORT_FORMS, _LONG_FORMS):
        for pattern, other in forms:
            if pattern.search(text):
                yield pattern.sub(other, text)
    if _FORMULA.fullmatch(text) and any(c.isdigit() for c in text):
        yield text.translate(_SUBSCRIPTS)
    if (place := _PLACE.fullmatch(text)) is not None:
        yield f"{place[1]} ({place[2]})"
    bare = _ARTICLE.sub("", text, count=1) if _ARTICLE.match(text) else text
    if bare != text:
        yield bare


def _with_class(text: str, question: str) -> Iterator[str]:
    """With the noun by which the question asks for it, and without: the River Nile, the Nile."""
    found = _CLASS.search(question)
    noun = asked_kind(question) or (found["noun"] if found else "")
    if not noun or not text[-1:].isalpha():
        return
    bare = _ARTICLE.sub("", text, count=1)
    if bare[:1].isupper() and noun not in _NO_NOUN:
        yield from (f"the {noun} {bare}", f"{text} ({noun})", f"{text} (the {noun})")
    if noun in _NO_CLASS or not bare[:1].isupper():
        return
    without = re.sub(rf"^{noun}(?: of)? |\s{noun}$", "", bare, flags=re.IGNORECASE)
    if without != bare:
        yield without
    else:
        yield from (f"{noun} {bare}", f"{bare} {noun}", f"{noun} of {bare}")


_WAYS: tuple[Callable[[str], Iterator[str]], ...] = (
    _of_integer, _of_decimal, _of_dollars, _of_fraction, _of_range, _of_date, _of_time, _of_two, _of_names,
    _of_ordinal, _of_percent,
)  # fmt: skip
