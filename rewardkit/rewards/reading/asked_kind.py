"""Whether a number is said of another kind than a question counts: "3 %" for how many there are, and
"36 students" for a percentage."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from functools import lru_cache

_HOW_MANY = re.compile(r"\bhow many (?!per\s?cent\b|percentage)", re.IGNORECASE)
_OF_SHARES = re.compile(
    r"per\s?cent|%|\b(?:rate|proportion|share|fraction|probability|chance|likel\w+|interest|discount"
    r"|tax|grade"
    r"|score)\b",
    re.IGNORECASE,
)
_PERCENTAGE = re.compile(
    r"\b(?:what|which|how many|how much|as an?|in|the) (?:\w+ )?per\s?cent", re.IGNORECASE
)
_NUMBER = re.compile(r"(?<![\w.,])\d[\d,]*(?:\.\d+)?")
_PERCENT = re.compile(r"[\s{}$~]{0,3}(?:\\?%|(?:\\text\s?\{\s?)?(?:per\s?cent\b|pct\b|\\?%))")
_COUNTED = re.compile(r"\s(?P<noun>[a-z]{3,}s|people|men|women|children)\b", re.IGNORECASE)


def of_other_kind(text: str, accepted: tuple[str, ...], question: str) -> bool:
    """Return whether every accepted number in a text is a percentage where the question counts, or counts
    something that the question names where it asks for a percentage."""
    asks = _kind(question)
    if asks is None or not any(answer[:1].isdigit() for answer in accepted):
        return False
    if asks == "count" and any("%" in answer or "percent" in answer for answer in accepted):
        return False
    right = {_value(found[0]) for answer in accepted for found in _NUMBER.finditer(answer)}
    found = [number for number in _NUMBER.finditer(text) if _value(number[0]) in right]
    if asks == "count":
        return bool(found) and all(_PERCENT.match(text, number.end()) for number in found)
    return bool(found) and all(_counts(text, number.end(), question) for number in found)


def _counts(text: str, end: int, question: str) -> bool:
    counted = _COUNTED.match(text, end)
    return counted is not None and counted["noun"].casefold() in question.casefold()


@lru_cache(maxsize=16_384)
def _kind(question: str) -> str | None:
    """`count` for a question of how many, `percentage` for one of a percentage, None for others."""
    if _HOW_MANY.search(question):
        return None if _OF_SHARES.search(question) else "count"
    return "percentage" if _PERCENTAGE.search(question) else None


def _value(number: str) -> Decimal | None:
    try:
        return Decimal(number.replace(",", ""))
    except InvalidOperation:
        return None
