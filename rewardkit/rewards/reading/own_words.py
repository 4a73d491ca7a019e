"""What a sentence says of the response's own answer, by its polarity: "my statement above is false" disowns
it, "I will not withdraw that" upholds it.

A sentence is read only if all of its words speak of the response itself, judge, or belong to the grammar. It
disowns where an odd number of its words deny or take back, so that a denial of a denial keeps the answer.
"""

from __future__ import annotations

import re
from typing import Literal

from rewardkit.rewards.reading.clause_words import CANDIDATE
from rewardkit.rewards.reading.counted import table

Stance = Literal["disowns", "upholds"]

_LEAD = re.compile(
    r"\A(?:(?:and|but|so|well|no|yes|wait|sorry|oh|hmm+|actually|in fact|honestly|however|still|oops|then"
    r"|(?:up)?on (?:second thoughts?|(?:further |closer )?reflection)|come to think of it)[\s,:.–—-]+)+"
)
_PHRASES = (
    (re.compile(r"\b(?:tak(?:e|ing)|took) (?:(?!back\b)\w+ ){0,3}back\b"), "retract"),
    (re.compile(r"\b(?:chang(?:e|ed|ing) my mind|had a change of heart)\b"), "retract"),
    (re.compile(r"\b(?:stand|stick|stood|stuck)(?:ing)? (?:by|behind|to|with)\b"), "maintain"),
    (re.compile(r"\bno longer\b|(?<=n)['’]t\b"), " not"),
)
_OWN = table(
    "i my me mine this that it these so what all everything above answer statement reply response choice "
    "claim pick wrote said say says did do does don didn doesn isn wasn won couldn wouldn shouldn is was are "
    "am be been will shall the a an of to at here have has had haven just given gave made make previous last "
    "very really completely totally clearly simply hereby must should want need please now can ca cannot by "
    "s m ve ll d option text conclusion any more anymore which written entirely myself everything whatever"
)
"""Words of a sentence about the response itself; those that deny are counted apart."""
_DENY = table("not no never cannot nor neither hardly")
_DISOWN = table(
    "wrong false untrue incorrect mistaken mistake mistakes error errors invalid void nonsense rubbish lie "
    "lies retract withdraw recant revoke disown disavow repudiate reject deny doubt dispute regret abandon "
    "ignore disregard forget discard renounce rescind retracted withdrawn recanted revoked disowned rejected "
    "retracting withdrawing recanting disowning disregarding lied"
)
_AFFIRM = table(
    "right correct true maintain defend believe trust valid accurate endorse support confirm think vouch mean"
)
_STRONG = table(
    "above my statement wrote said reply response claim mistaken retract withdraw recant revoke disown "
    "disavow repudiate renounce rescind ignore disregard forget maintain defend believe trust endorse "
    "retracting withdrawing recanting disowning vouch regret lied believe everything"
)
"""Words that make it one about the response, whatever was spoken of last."""
_WORDS = re.compile(r"[^\W_]+")
_TWO = 2
_LONGEST = 120


def stance(sentence: str) -> Stance | None:
    """Return what a sentence does to the answer before it, None where it speaks of something else."""
    if len(sentence) > _LONGEST or CANDIDATE.search(sentence):
        return None
    plain = _LEAD.sub("", sentence.casefold().strip(" \t\r\n*_>\"'"), count=1)
    for pattern, word in _PHRASES:
        plain = pattern.sub(word, plain)
    said = _WORDS.findall(plain)
    left = [word for word in said if word not in _OWN or word == "cannot"]
    if not said or not all(word in _DENY or word in _DISOWN or word in _AFFIRM for word in left):
        return None
    if _STRONG.isdisjoint(said) or all(word in _DENY for word in left):
        return None
    denials = sum(word in _DENY or word in _DISOWN for word in left)
    if denials % _TWO:
        return "disowns"
    return "upholds" if denials else None


_SENTENCES = re.compile(r"[^.!?\n]+[.!?]*")


def disowned(rest: str) -> bool:
    """Return whether a sentence of what follows an answer disowns it."""
    return any(stance(found[0].rstrip(".!")) == "disowns" for found in _SENTENCES.finditer(rest))


def without_upheld(rest: str) -> str:
    """Return what follows an answer without sentences that uphold it."""
    if not any(map(rest.__contains__, _DENYING)):
        return rest
    return _SENTENCES.sub(lambda m: " " if stance(m[0].rstrip(".!")) == "upholds" else m[0], rest)


_DENYING = ("not", "n't", "n’t", "never", "cannot", "no longer", "nor")
