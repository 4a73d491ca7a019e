"""The stems of words, by which a sentence is compared with the question that it answers."""

from __future__ import annotations

from functools import lru_cache

from rewardkit.rewards.qa.answer_words import GRAMMAR, WORD
from rewardkit.rewards.qa.asked import related, verb_forms


@lru_cache(maxsize=4_096)
def stems(question: str, accepted: tuple[str, ...]) -> frozenset[str]:
    """Return the stems of the words that a question gives; of one that lists the answers, without those."""
    plain = question.casefold()
    if " or " in plain and any(answer.casefold() in plain for answer in accepted):
        head, _, _ = plain.partition(" or ")
        plain = head.rpartition(",")[0] if "," in head else ""
    words = content(plain)
    others = related(frozenset(WORD.findall(plain)))
    found = frozenset(map(stem, [*words, *others, *(form for word in words for form in verb_forms(word))]))
    return found | _OF_AMOUNTS if accepted and accepted[0][:1].isdigit() else found


_OF_AMOUNTS = frozenset(("needs", "need", "requi", "takes", "take", "consu", "uses", "use", "total", "altog"))
"""Stems of verbs that an amount is the object of, whatever the question says."""


def stem(word: str) -> str:
    """Return what a word has in common with its other forms; a number and a short word stay whole."""
    return word if word[0].isdigit() or len(word) < 4 else word.rstrip("s")[:5]


def content(text: str) -> list[str]:
    """Return the words of a text that are none of grammar."""
    return [word for word in WORD.findall(text) if word.partition("'")[0] not in GRAMMAR]
