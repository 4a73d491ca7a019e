"""A vote among a response's own attempts: what it tried is the way to the answer, the vote is the answer."""

from __future__ import annotations

import re

_SIGNS = ("ajority", "onsensus", "lurality", "ost common", "ost frequent")
"""In each of the words for a vote, looked for first."""
_VOTE = re.compile(
    r"(?:(?:by|with|the)\s)?(?:\b(?:majority|consensus|plurality)(?:[\s-](?:vote|voting|answer|result"
    r"|opinion))?"
    r"|\bmost (?:common|frequent)(?:ly given)? (?:answer|result|value|outcome)"
    r"(?: (?:among|of|in|over|across) (?:these|them|the|all|my)(?: \w+)?)?)"
    r"[*_]{0,3}\s?(?:[:：=][*_]{0,3}|[-=]>|→|\bis\b|\bwas\b|\bgives\b)[^\S\n]*",
    re.IGNORECASE,
)
_ATTEMPT = re.compile(
    r"(?:(?<=[.;,]\s)|^)[ \t>*_-]{0,6}(?:(?:attempt|sample|run|try|trial|path|solution|chain|rollout|draft"
    r"|method|vote)"
    r"\s?\#?\d{1,2}|(?:\d(?:st|nd|rd|th)|first|second|third|fourth|fifth) (?:attempt|sample|run|try|trial"
    r"|path|solution))"
    r"[*_]{0,3}\s?(?:[:：=]|[-=]>|→)",
    re.IGNORECASE | re.MULTILINE,
)
_TWO = 2


def voted(text: str) -> str:
    """Return a text from its last vote on, as its answer, where at least two attempts stand before it."""
    if not any(map(text.__contains__, _SIGNS)):
        return text
    votes = list(_VOTE.finditer(text))
    if not votes or sum(1 for _ in _ATTEMPT.finditer(text, 0, votes[-1].start())) < _TWO:
        return text
    return "Answer: " + text[votes[-1].end() :]
