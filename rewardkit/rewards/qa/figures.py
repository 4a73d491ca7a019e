"""Years and measures beside an answer that is a name: they explain it, and answer nothing.

Here accepted answers stand as single characters (`clause_words`).
"""

from __future__ import annotations

import re
from functools import lru_cache

from rewardkit.rewards.reading.clause_words import X

_ASKS_NUMBER = re.compile(
    r"\b(?:how|when|year|date|number|century|decade|age|old|many|much|day|period|era)\b", re.IGNORECASE
)
_OF_PAST = re.compile(
    r"\b(?:did|was|were|had|won|wrote|led|built|became|began|sank|\w{3,}ed)\b", re.IGNORECASE
)
_OF_PRESENT = re.compile(r"\b(?:is|are|does|do|has|have|current\w*|now|today)\b", re.IGNORECASE)
_MONTH = r"(?:(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?\s)?"
_YEAR = rf"in\s(?:the\syear\s)?{_MONTH}\d{{4}}"
_LIVED = re.compile(
    rf"(?<={X})[*_]{{0,3}}\s?\(\s?(?:born|b\.|c\.)?\s?\d{{3,4}}(?:\s?[–—-]\s?(?:\d{{2,4}}|present))?\s?\)",
    re.IGNORECASE,
)
_MEASURED = re.compile(
    rf"(?<={X})[*_]{{0,3}}(?:\s?\(\s?(?:about|approximately|approx\.|roughly|around|some"
    rf"|at)?\s?[~≈]?\d[\d,.]*\s?[^\W\d_]{{1,12}}[²³]?"
    rf"(?:\s[^()]{{0,30}})?\)|,?\s(?:at|with|measuring|spanning)?\s?(?:a (?:total )?length of\s)?"
    r"(?:about|approximately|approx\.|roughly|around|some|over|nearly|~|≈)\s?~?\d[\d,.]*\s(?:km|kilomet\w+"
    r"|miles?|m|met(?:re|er)s?|feet|ft)\b"
    r"(?:\s(?:long|high|tall|wide|deep|away|in length))?(?:\s\([^()]{1,30}\))?)",
    re.IGNORECASE,
)
_DATED = re.compile(
    rf"(?:(?<=[.!?]\s)|^){_YEAR},\s|,?\s(?:back\s)?{_YEAR}(?=[.!]|,|\s*$|\s(?:by|at|when|while|and)\b)",
    re.IGNORECASE | re.MULTILINE,
)


def without_figures(text: str, accepted: tuple[str, ...], question: str) -> str:
    """Return a text without years and measures, where a name is asked for.

    Where the question is about the present, a year says that something is over, and stays.
    """
    if _DIGIT.search(text) is None or not _asks_name(accepted, question):
        return text
    text = _MEASURED.sub("", _LIVED.sub("", text))
    return _DATED.sub("", text) if _asks_past(question) else text


_DIGIT = re.compile(r"\d")


@lru_cache(maxsize=4_096)
def _asks_name(accepted: tuple[str, ...], question: str) -> bool:
    """Whether no number answers a question."""
    return bool(question) and not _ASKS_NUMBER.search(question) and not any(map(_DIGIT.search, accepted))


@lru_cache(maxsize=4_096)
def _asks_past(question: str) -> bool:
    """Whether a question is about something that has happened once."""
    return _OF_PAST.search(question) is not None and _OF_PRESENT.search(question) is None
