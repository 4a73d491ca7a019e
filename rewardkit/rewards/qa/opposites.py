"""What a question does not ask: when somebody died, where it asks when he was born; who produced a film,
where it asks who directed it."""

from __future__ import annotations

import re
from functools import cache, lru_cache

_OPPOSED = (
    (r"born|birth\w*", r"dies?|died|death|buried"),
    (r"born|birth\w*", r"raised|grew up|brought up|educated|studied|left|moved|settled|starb|morto?"),
    (r"boil\w*", r"melt\w*|freez\w*"),
    (r"fall|fell|f[ae]ll of|c[oa]me down|torn down", r"built|erected|went up"),
    (r"absorb\w*|take[sn]? (?:in|up)", r"releas\w*|emit\w*|g[ia]ve[ns]? off"),
    (r"ends?|ended|finish\w*", r"starts?|started|begins?|began"),
    (r"opens?|opened", r"close[sd]?"),
    (r"founded|established", r"dissolved|abolished|disbanded"),
    (r"highest|tallest|longest", r"lowest|shortest"),
    (r"largest|biggest", r"smallest"),
    (r"oldest", r"youngest"),
    (r"fastest|quickest", r"slowest"),
    (r"cheapest", r"dearest|most expensive"),
    (r"bought|buys?", r"sold|sells?"),
    (r"won|wins?|winner", r"lost|loses?|loser|runners?-?up"),
    (r"arriv\w+", r"depart\w+"),
    (r"maximum", r"minimum"),
    (
        r"(?:under|below|younger than)(?= (?:the age of )?\d)",
        r"(?:over|above|older than)(?= (?:the age of )?\d)",
    ),
)
_ROLES = (
    (
        r"direct(?:s|ed|or)",
        r"produce[sdr]?|producers?",
        r"screenwriters?|screenplay",
        r"starr(?:ed|ing)|actors?|actress",
    ),
    (
        r"wr(?:ote|ites?|itten|iter)|author(?:ed)?|penned",
        r"illustrat\w+",
        r"translat\w+",
        r"edit(?:ed|or)",
        r"publish(?:ed|er)",
    ),
    (r"compos\w+", r"lyric\w*|librett\w+", r"conduct\w+", r"sang|singer|sung"),
    (r"vocals|sang|singer|sung", r"bass(?:ist)?", r"drum\w*", r"guitar\w*", r"keyboard\w*"),
    (r"(?<!vice )(?<!vice-)president", r"vice.president", r"prime minister", r"chancellor"),
    (r"won|wins?|winner|champion", r"second place|finalist|third place|bronze|silver"),
    (r"invent\w+", r"patent\w+", r"manufactur\w+"),
    (r"paint\w+", r"sculpt\w+", r"model(?:led)?"),
    (r"found(?:ed|er)", r"acquired|bought|purchased", r"ceo"),
    (r"father", r"mother", r"brother", r"sister", r"son", r"daughter", r"uncle", r"wife|husband"),
)
"""Roles of persons, of which a question with "who" asks for one."""
_WHO = re.compile(r"\b(?:who|whom|whose)\b")
_CLAUSE = re.compile(r"[,.;:?!]\s*")


def of_opposite(clause: str, question: str) -> bool:
    """Return whether a clause in small letters says the opposite of what a question asks at its end."""
    return any(other.search(clause) and not asked.search(clause) for asked, other in _asked(question))


@lru_cache(maxsize=4_096)
def _asked(question: str) -> tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]:
    """What a question asks, each with what would be said of something else."""
    last = next((part for part in reversed(_CLAUSE.split(question.casefold())) if part.strip()), "")
    pairs = _pairs() + (_roles() if _WHO.search(last) else ())
    return tuple((asked, other) for asked, other in pairs if asked.search(last) and not other.search(last))


@cache
def _pairs() -> tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]:
    """What may be asked, each with its opposite; compiled when the first question is read."""
    found = [tuple(re.compile(rf"\b(?:{words})\b") for words in pair) for pair in _OPPOSED]
    return tuple(pair for one, other in found for pair in ((one, other), (other, one)))


@cache
def _roles() -> tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]:
    """Each role that may be asked, with each other one of its group."""
    groups = [[re.compile(rf"\b(?:{words})\b") for words in group] for group in _ROLES]
    return tuple((one, other) for group in groups for one in group for other in group if one is not other)
