"""The sum before an answer, and the letter that it solves for: neither is another answer."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import partial

from rewardkit.arithmetic import BadExpression, calculate
from rewardkit.rewards.reading.clause_words import X


def without_sums(text: str, accepted: tuple[str, ...], given: frozenset[str]) -> str:
    """Return a text without what its answer is computed from; `given`: the stems of the question's words."""
    text = _COMPUTED.sub(partial(_without_true_sum, accepted=accepted), text)
    return _without_unknown(_LESS.sub(" minus ", text), given)


_COMPUTED = re.compile(
    rf"(?<![\w=.,−–-])(?P<sum>(?:(?<!\S)[−–-])?[(\[$€£]{{0,3}}\d[\d\s.,()\[\]+*/×·÷^%$€£−–-]{{0,200}})(?:="
    rf"|equals)\s?(?={X}(?:\s[^\W\d_]+){{0,3}}[\s.!*$)\]]*\Z)"
)
"""Before the answer that ends a response, the sum that gives it: `365 + 1 = 366`."""

_LESS = re.compile(rf"(?<={X})\s[–−-]\s(?=[$€£]?\d[^\n=]{{0,40}}=)|(?<=\d)\s[–−-]\s(?={X}[^\n=]{{0,40}}=)")
"""Between the terms of a sum: no dash that ends a clause."""


def _without_true_sum(found: re.Match[str], accepted: tuple[str, ...]) -> str:
    """Nothing for a sum that gives an accepted answer, rounded as that is; else the sum as it stands."""
    try:
        value = Fraction(calculate(found["sum"].translate(_NO_MONEY)))
    except (BadExpression, ValueError):
        return found[0]
    for number in filter(None, map(_PLAIN_NUMBER.search, accepted)):
        places = len(number["places"] or "")
        if round(value, places) == Fraction(number[0].replace(",", "").replace("−", "-")):
            return ""
    return found[0]


_NO_MONEY = str.maketrans("[]", "()", "$€£")
_PLAIN_NUMBER = re.compile(r"[-−]?\d[\d,]*(?:\.(?P<places>\d+))?")


def _without_unknown(text: str, given: frozenset[str]) -> str:
    """A text without the one letter that it solves for: `x = 5`; of a question with letters, one of"
    " those."""
    found = list(_UNKNOWN.finditer(text))
    letters = [word for word in given if len(word) == 1 and word.isalpha()]
    if (
        len(found) != 1
        or found[0]["solved"] is None
        or (letters and found[0]["letter"].lower() not in letters)
    ):
        return text
    return text[: found[0].start()] + text[found[0].end() :]


_UNKNOWN = re.compile(
    rf"(?<![\d)+*/^(<>-])(?<![\d)+*/^(<>-]\s)\b(?P<letter>[a-zA-Z])\s?=\s?(?P<solved>(?={X}[*$)]{{0,4}}[^\S\n]?(?:[.!](?:\s|$)|$)))?",
    re.MULTILINE,
)
