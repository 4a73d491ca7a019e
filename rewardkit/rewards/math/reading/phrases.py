"""Finds the answer within a phrase: the text after its verb, or its only formula or number."""

from __future__ import annotations

import re

from rewardkit.rewards.math.reading.words import CONSTANTS, FUNCTIONS

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
    r"\$\$(.{1,2000}?)\$\$|\$([^$\n]{1,2000})\$|(?<!\\)\\\((.{1,2000}?)\\\)|(?<!\\)\\\[(.{1,2000}?)\\\]",
    re.DOTALL,
)
_UNBROKEN = re.compile(
    MATH_SPAN.pattern + r"|\\begin\s?\{[a-z]{1,12}\*?\}.{0,2000}?\\end\s?\{[a-z]{1,12}\*?\}"
    r"|\\(?:text|textbf|mbox|mathrm)\s?\{[^{}]{0,400}\}",
    re.DOTALL,
)
"""Pattern of text that is not prose: maths with its delimiters, an environment, or words in a formula."""
_VERB = re.compile(r"\b(?:is|are|equals|be)\b(?:\s(?:equal to|exactly))?|应该是|等于|[是为]")
_SCALE = re.compile(r"(?:\s{1,3}(?:hundred|thousand|million|billion|trillion)s?\b)+", re.IGNORECASE)
_WITHIN_FORMULA = ")]}^_+=&"
_BOUND = re.compile(
    r"(?:(?<![<\w/])[a-zA-Z]\s?[<>]|[≤≥≠]|[<>!]=|\d:(?=\Z)|\\(?:leq?|geq?|neq?|lt|gt|sqrt))\s*\$?\{?\Z"
)
"""Pattern of the signs before a number that is a bound or part of a ratio or root."""
_STANDS_ALONE = re.compile(r"[=(]\s*$")
_COMMAND_NAME = re.compile(r"\\[a-zA-Z]+")


def prose_words(text: str) -> list[str]:
    """Return the words of a text that are neither in maths nor names of functions, constants or commands."""
    bare = _COMMAND_NAME.sub(" ", _UNBROKEN.sub(" ", text))
    return [w for w in WORDS.findall(bare) if w not in FUNCTIONS and w not in CONSTANTS]


def is_prose(text: str) -> bool:
    """Return True if a text is a phrase or a sentence, judging by its number of words."""
    return len(prose_words(text)) > _FEW_WORDS


def refine(segment: str) -> str:
    """Return the answer within a phrase.

    The answer is the text after the last verb, the whole of a short phrase, or the only formula or number in
    a long phrase. If a long phrase has none or several of them, return the whole phrase.
    """
    segment = segment.strip().strip("*_`").strip()
    if not _UNDECIDED.isdisjoint(prose_words(segment)):
        return segment
    verb = _last_verb(segment)
    if verb is not None and segment[verb:].strip(" :：."):
        return segment if NUMBER.search(segment[:verb]) else segment[verb:].strip()
    if not is_prose(segment):
        return segment
    spans = list(MATH_SPAN.finditer(segment))
    numbers = list(NUMBER.finditer(MATH_SPAN.sub(" ", segment)))
    if len(spans) + len(numbers) != 1:
        return segment
    return span_text(segment, spans[0]) if spans else last_number(segment) or segment


_FEW_WORDS = 3
_UNDECIDED = frozenset(("or", "not", "if"))


def _last_verb(segment: str) -> int | None:
    """Return the position after the last verb outside maths, or None if there is no verb."""
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
"""Pattern of the numbers before the last number in a list, such as "1, 2 and 3" or "x = 2 or x = 3"."""
_JOINING = re.compile(r",?\s{1,3}(?:and|or)\s{1,3}|,\s{1,3}")


def _listed(text: str, last: re.Match[str]) -> str | None:
    """Return the whole list that ends with a number, or None if there is no list or text follows it."""
    before = text[max(0, last.start() - 8) : last.start()].rstrip()
    is_named = before.endswith("=") and before[:-1].rstrip()[-1:].isalpha()
    if not is_named and not before.endswith(("and", "or", ",")):
        return None
    start = max(0, last.start() - 200)
    run = _LISTED.search(text[start : last.start()])
    if run is None or text[last.end() :].strip(" .*$"):
        return None
    return _JOINING.sub(", ", run.group()) + last.group().strip()


def last_number(text: str) -> str | None:
    """Return the last number in a text, or the list that ends with this number.

    Return None if the text has no number or the last number is part of a formula.
    """
    last = None
    for match in NUMBER.finditer(text):
        last = match
    if last is None:
        return None
    if (listed := _listed(text, last)) is not None:
        return listed
    before = text[max(0, last.start() - 40) : last.start()]
    after = text[last.end() : last.end() + 2].lstrip()
    if after[:1] in _WITHIN_FORMULA and after and not _STANDS_ALONE.search(before):
        return None
    if _BOUND.search(before):
        return None
    if any(map(str.isdecimal, text[last.end() :])):
        return None  # A number in another notation follows.
    unit = _SCALE.match(text, last.end()) or _NUMBER_UNIT.match(text, last.end())
    return last.group().strip() + (unit.group() if unit else "")
