"""The answer within a phrase: where its sentence ends, which words are prose, its one formula or number."""

from __future__ import annotations

import re
from fractions import Fraction

from rewardkit.rewards.math.reading.spelled import spelled_number
from rewardkit.rewards.math.reading.words import CONSTANTS, FUNCTIONS
from rewardkit.rewards.reading.behind_units import taken_back_behind_unit
from rewardkit.rewards.reading.counted import UNIT_POWER, changed_in_prose
from rewardkit.rewards.reading.denials import DENIAL, denied

_LEADING = re.compile(
    r"(?:(?:is|are|thus|therefore|simply|just|that|then|the|est|:|：|=|\*|that is)\s{0,3}|[\s*:：,])*",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"\.(?=\s|$|[A-Z][a-z])|[。\n！]|(?<=[!?？])(?=\s|$)|(?<=\$)\s(?=[A-Z][a-z]+ )")
_TRAILING_UNIT = re.compile(
    r"\s{0,2}(?:\\?%|percent(?:age)?\b|pct\b|[°元米度]"
    r"|(?:square |cubic )?[a-zA-Z]{1,12}(?=\s{0,2}[.\n]|\s{0,2}$)|\s(?:or|and)\s.{0,80})"
)
NUMBER = re.compile(
    r"[-+−]?\s?(?:\\?[$€£¥])?\s?(?:\d+\\?[dt]?frac|\\[dt]?frac)\s?\{[^{}]{1,40}\}\s?\{[^{}]{1,40}\}"
    r"|(?<![A-Za-z0-9_.])[-+−]?(?:\\?[$€£¥])?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:[.,]\d+)?(?:[eE][-+]?\d+)?"
    r"(?:\s?/\s?\d+(?![\d/]))?(?:\s?\\?%)?(?![a-zA-Z_]*\d)"
    r"|(?<![A-Za-z0-9_.])[-+−]?\.\d+(?:\s?\\?%)?"
)
_NUMBER_UNIT = re.compile(r"(?:\s?(?:percent|pct|percentage|\\%|%|km|cm|mm|kg|m²|m\^2)(?![a-zA-Z]))?")
WORDS = re.compile(r"[^\W\d_]{2,}")
MATH_SPAN = re.compile(
    r"\$\$(.{1,2000}?)\$\$|\$([^$\n]{1,2000})\$|\\\((.{1,2000}?)\\\)|\\\[(.{1,2000}?)\\\]", re.DOTALL
)
_UNBROKEN = re.compile(
    MATH_SPAN.pattern + r"|\\begin\s?\{[a-z]{1,12}\*?\}.{0,2000}?\\end\s?\{[a-z]{1,12}\*?\}"
    r"|\\(?:text|textbf|mbox|mathrm)\s?\{[^{}]{0,400}\}",
    re.DOTALL,
)
"""Maths with its delimiters, an environment, and words within a formula: none is prose, none is cut."""
_VERB = re.compile(r"\b(?:is|are|equals|be)\b(?:\s(?:equal to|exactly))?|应该是|等于|[是为]")
_CHANGING = re.compile(
    r"\b(?:twice|thrice|half|double|triple|sum|product|difference|quotient|square|squared|cube|cubed|root|power"
    r"|reciprocal|inverse|opposite|negative|factorial|plus|minus|times|divided|multiplied|more|less|fewer|greater"
    r"|between|hundred|thousand|million|billion|trillion|dozen|or)\b",
    re.IGNORECASE,
)
"""Words with which the one number of a sentence is not what the sentence comes to."""
_CONTRAST = re.compile(r"\b(?:but|however|instead|rather|actually)\b", re.IGNORECASE)
_SCALE = re.compile(r"(?:\s{1,3}(?:hundred|thousand|million|billion|trillion)s?\b)+", re.IGNORECASE)
_WITHIN_FORMULA = ")]}^_+=&"
_STANDS_ALONE = re.compile(r"[=(]\s*$")
_COMMAND_NAME = re.compile(r"\\[a-zA-Z]+")


def skip_leading(text: str, position: int) -> int:
    found = _LEADING.match(text, position, position + 60)
    return found.end() if found else position


def sentence_from(text: str, start: int) -> str:
    """The rest of the sentence from `start`: maths is taken whole, whatever it contains."""
    position = start
    limit = min(len(text), start + 2_000)
    while position < limit:
        span = _UNBROKEN.search(text, position, limit)
        end = _SENTENCE_END.search(text, position, limit)
        if span is None or (end is not None and end.start() < span.start()):
            return text[start : end.start() if end else limit]
        position = span.end()
    return text[start:limit]


def prose_words(text: str) -> list[str]:
    """The words of a text that are neither within maths nor names of functions and commands."""
    bare = _COMMAND_NAME.sub(" ", _UNBROKEN.sub(" ", text))
    return [w for w in WORDS.findall(bare) if w not in FUNCTIONS and w not in CONSTANTS]


def refine(segment: str) -> str:
    """Return the answer within a phrase: the whole of a short one, the one formula or number in a long one.

    A phrase that denies anything, or has several numbers, is returned whole: no part may stand for it.
    """
    segment = _contrasted(_figures_alone(segment.strip().strip("*_`").strip()))
    outside = _UNBROKEN.sub(" ", segment)
    verb = _last_verb(segment)
    if verb is not None and segment[verb:].strip(" :：."):
        return segment if denied(segment, verb) else segment[verb:].strip()
    if DENIAL.search(outside) or len(prose_words(segment)) <= 3:
        return segment
    spans = list(MATH_SPAN.finditer(segment))
    numbers = list(NUMBER.finditer(MATH_SPAN.sub(" ", segment)))
    if len(spans) + len(numbers) != 1 or _CHANGING.search(outside):
        return segment
    return span_text(segment, spans[0]) if spans else last_number(segment) or segment


_WORDS_AND_FIGURES = re.compile(r"(?P<words>[a-zA-Z][a-zA-Z -]{1,80}?)\s{0,3}\((?P<figures>\d[\d,]{0,20})\)")


def _figures_alone(segment: str) -> str:
    """A number in words with its figures behind it, by the figures: "five (5) apples"."""
    found = _WORDS_AND_FIGURES.match(segment)
    if found is None or spelled_number(found["words"]) != Fraction(found["figures"].replace(",", "")):
        return segment
    return found["figures"] + segment[found.end() :]


_VALUE = r"\\?[$€£¥]?[-+]?\d[\d.,/]{0,40}(?:\\?%|\$)?"
_CONTRASTED = re.compile(
    rf"not\s{{1,3}}{_VALUE}\s?,?\s(?:but\s)(?:rather\s)?(?P<kept>{_VALUE})|(?P<said>{_VALUE}),?\s(?:and\s)?not\s{{1,3}}{_VALUE}"
)


def _contrasted(segment: str) -> str:
    """The value that is kept of two numbers: "not 20 but 18", "18, not 20"."""
    found = _CONTRASTED.fullmatch(segment.rstrip("."))
    return segment if found is None else found["kept"] or found["said"].rstrip(",")


def _last_verb(segment: str) -> int | None:
    """Where the last verb outside of maths ends: what follows it is what is said of the subject before it."""
    masked = _UNBROKEN.sub(lambda m: " " * len(m.group()), segment)
    found = [m.end() for m in _VERB.finditer(masked)]
    return found[-1] if found else None


def span_text(text: str, span: re.Match[str]) -> str:
    inner = next(group for group in span.groups() if group is not None)
    unit = _TRAILING_UNIT.match(text, span.end())
    return inner.strip() + (unit.group() if unit else "")


_PLAIN = r"[-+−]?\d{1,15}(?:\.\d{1,15}|/\d{1,15})?"
_LISTED = re.compile(
    rf"(?:(?:\b[a-zA-Z]\s?=\s?)?{_PLAIN}(?:,?\s{{1,3}}(?:and|or)|,)\s{{1,3}}){{1,12}}(?:[a-zA-Z]\s?=\s?)?$"
)
"""Numbers before the last one, in a list with it: "1, 2 and 3", "x = 2 or x = 3"."""
_ANNOUNCED = re.compile(
    r"(?:\b(?:are|is|so|thus|hence|therefore|get|gives?|obtain|yields?|have|at)[\s,]|[:=.]\s|^\s*)\s*$"
)
_JOINING = re.compile(r",?\s{1,3}(?:and|or)\s{1,3}|,\s{1,3}")


def _listed(text: str, last: re.Match[str]) -> str | None:
    """The whole list that a last number ends, if words announce it and nothing follows it."""
    before = text[max(0, last.start() - 8) : last.start()].rstrip()
    is_named = before.endswith("=") and before[:-1].rstrip()[-1:].isalpha()
    if not is_named and not before.endswith(("and", "or", ",")):
        return None
    start = max(0, last.start() - 200)
    run = _LISTED.search(text[start : last.start()])
    if run is None or text[last.end() :].strip(" .*$"):
        return None
    at = start + run.start()
    lead = text[max(0, at - 40) : at]
    if not _ANNOUNCED.search(lead) or denied(text, at) or changed_in_prose(text, at, at + 1):
        return None
    return _JOINING.sub(", ", run.group()) + last.group().strip()


def last_number(text: str) -> str | None:
    last = None
    for match in NUMBER.finditer(text):
        last = match
    if last is None:
        return None
    if (listed := _listed(text, last)) is not None:
        return listed
    before = text[max(0, last.start() - 40) : last.start()]
    after = text[last.end() : last.end() + 2].lstrip()
    scale = _SCALE.match(text, last.end())
    end = scale.end() if scale else last.end()
    if denied(text, last.start()) or taken_back_behind_unit(text, end):
        return None
    if changed_in_prose(text, last.start(), end):
        return None
    if after[:1] in _WITHIN_FORMULA and after and not _STANDS_ALONE.search(before):
        return None
    if _CONTRAST.search(text, last.end()):
        return None
    if any(map(str.isdigit, UNIT_POWER.sub("", text[last.end() :]))):
        return None  # a number in another notation follows
    unit = scale or _NUMBER_UNIT.match(text, last.end())
    return last.group().strip() + (unit.group() if unit else "")
