"""Yes or no with a sentence behind it that keeps to it: "Yes, both are cities."."""

from __future__ import annotations

import re

from rewardkit.rewards.reading.stated import retracted

_POLAR = re.compile(
    r"\s*[*_\"“]{0,3}(?P<word>yes|no)\b[*_\"”]{0,3}(?:[,.!]\s|\s[–—-]\s)[*_]{0,3}\s*(?P<rest>.+)",
    re.IGNORECASE | re.DOTALL,
)
_SAYS = re.compile(
    r"\w\s.*\b(?:is|are|was|were|does|do|did|has|have|had|can|will|would)\b|\b(?:they|it|he|she|that|this)\b"
    r"\s\w|\b(?:is|are|was|were|do|does|did|has|have)(?:\snot|n['’]t)?\W*$"
)
"""What follows is a sentence, no other answer."""
_LEAVES_OPEN = re.compile(
    r"\b(?:but|however|maybe|perhaps|possibly|probably|or|unless|if|wait|actually|although|though|unsure"
    r"|unclear"
    r"|depends|sorry|correction|oops|scratch|yet|technically|partly|partially|might|could|sometimes|often"
    r"|usually|not (?:sure|certain)|other hand|guess|doubt\w*|answer|claim\w*|says?|said|thinks?|believed?"
    r"|argued?|insists?)\b|[?？:;]|->|→",
    re.IGNORECASE,
)
_AGAINST = {
    "yes": re.compile(
        r"\b(?:no|not|neither|nor|never|none|cannot|false|wrong|incorrect|different|only"
        r"|one of|half|either|while|whereas|one (?:is|was|has)|the other"
        r"|(?:first|former)\b.*\b(?:second|latter))\b"
        r"|n['’]t\b|\b(?:is|was|are|were|does|did|has), "
        r"(?!(?:and|so|as|since|because|which|who|it|they|both|he|she|that|this)\b)(?:[\w'’.-]+\s){1,4}(?:is|was|are|were|does|did|has)\b",
        re.IGNORECASE,
    ),
    "no": re.compile(r"\byes\b", re.IGNORECASE),
}

_OF_TWO = re.compile(
    r"[^,.;]+ (?:is|was) (?:an? )?(?P<one>[\w-]+),? and [^,.;]+ (?:is|was) (?:an? )?(?P<other>[\w-]+)[.!]?\s*"
)
"""Each of two by itself: where they differ, not both are what is asked."""


def polar(text: str) -> str | None:
    """Return the yes or no that a text begins with; None where no sentence follows, or one that is against it
    or leaves it open."""
    found = _POLAR.fullmatch(text)
    if found is None:
        return None
    word, rest = found["word"].casefold(), found["rest"]
    if (
        not _SAYS.search(rest)
        or _LEAVES_OPEN.search(rest)
        or _AGAINST[word].search(rest)
        or retracted(rest, 0)
        or (word == "yes" and (two := _OF_TWO.fullmatch(rest)) and two["one"] != two["other"])
    ):
        return None
    return word
