"""Sentences that are true and answer something else: "Canberra is a city" for what the capital is.

Where a question asks what the capital is, a sentence of the shapes below has to speak of a capital.
"""

from __future__ import annotations

import re
from functools import lru_cache

from rewardkit.rewards.reading.clause_words import X

_SHAPE = re.compile(
    r"(?:(?:well|so|yes|and|but|i (?:think|believe|know)(?: that)?),? )*"
    rf"(?:{X} (?:is|was|are|were) (?:an?|some|one of)\s(?!\w+ answer\b)"
    rf"|{X} (?:is|was|lies|stands) (?:in|near|on|at|close to|by|not far|located|situated|found)\b"
    rf"|{X} (?:has|had|exists?)\b"
    rf"|(?:in [^,]{{1,30}},? )?there (?:is|are|was|were) (?:[^:]{{1,40}} (?:called|named) )?{X}"
    rf"|[\w ]{{1,30}} (?:has|have|had) {X}"
    rf"|i(?:'ve| have)? (?:been|lived|travell?ed|like|love|visited|seen|heard)\b[^:]{{0,12}}{X})"
)
"""Of a candidate: what it is one of, where it is, that it is."""
_HEAD = re.compile(
    r"\b(?:what|which|who)(?:(?:['’]s| is| was| are| were)| \w+ (?:is|was|are|were)) (?:the|an?) "
    r"(?P<head>[^?,]{1,40}?)(?= (?:of|in|for|to|on|at|by|from|that|who|which|during|used)\b|\?|$)",
    re.IGNORECASE,
)
"""What a question asks for by a noun: "What is the capital of"."""


@lru_cache(maxsize=16_384)
def head_of(question: str) -> str:
    """Return the beginning of the noun by which a question asks, "" where it asks otherwise."""
    found = _HEAD.search(question)
    words = found["head"].casefold().split() if found else []
    return words[-1].rstrip("s")[:5] if words and words[-1].isalpha() else ""


def is_beside(clause: str, question: str) -> bool:
    """Return whether a clause says of its candidate something else than the question asks for."""
    head = head_of(question)
    return head != "" and head not in clause and _SHAPE.match(clause) is not None
