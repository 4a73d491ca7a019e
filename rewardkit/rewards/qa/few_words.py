"""Whether a clause is a few words that may be an answer themselves: "Paris", "about 300 million"."""

from __future__ import annotations

import re

from rewardkit.rewards.qa.answer_words import COURTESY, LEAD, SENTENCE_WORDS
from rewardkit.rewards.qa.stems import content, stem
from rewardkit.rewards.reading.denying_words import NOT


def is_bare(clause: str, given: frozenset[str]) -> bool:
    """Whether a clause is a few words that may be an answer themselves."""
    clause = _MAY.sub("month", re.sub(LEAD, "", clause, count=1))
    if _OPENS_SENTENCE.match(clause) or NOT.search(clause):
        return False
    label = LABEL.match(clause)
    if label is not None and not OF_ANSWER.search(label[0]):
        return False
    said = clause[label.end() if label else 0 :]
    words = _WORDS.findall(said)
    if not 1 <= len(words) <= 5:
        return False
    if len(words) == 1 and _NUMBER.fullmatch(words[0]):
        return True
    if COURTESY.match(said) and not any(word[0].isdigit() for word in words):
        return False
    words = words[:-1] if words[-1] == "i" and len(words) > 1 else words  # James I
    return SENTENCE_WORDS.isdisjoint(words) and any(
        stem(word) not in given for word in content(" ".join(words))
    )


_OPENS_SENTENCE = re.compile(
    r"(?:for|with|as|about|regarding|to|by|based|according)\b"
    r"|(?:after|upon|on|when|while|through|having|before) (?:\w+ly )?\w{2,}(?:ing|ed)\b"
    r"|(?:double|cross|re)[- ]?(?:check|verif|comput|calculat|count|read)\w*|checking|verifying|thinking"
    r"|(?:taken|\w{2,}ing) (?:it all|everything|it|all|this|that|these|carefully|up|back|together|through"
    r"|about|of|on|over)\b"
)
_NUMBER = re.compile(r"\d[\d.,]*")
_MAY = re.compile(r"\bmay(?= \d)|(?<=\d )may\b")
LABEL = re.compile(r"[\w' ]{1,40}?\s?[:=]\s+")
"""What stands before a colon announces what follows."""
OF_ANSWER = re.compile(
    r"\b(?:answer|reflection|revis\w+|chang\w+|votes?|majority|consensus|result|output|final\w*|definitive"
    r"|solution|correct\w*|value"
    r"|found|verdict|conclusion|right|prediction|guess|is"
    r"|decision|response|pick|choice|a)\b"
)
_WORDS = re.compile(r"[\w'.]*\w")
