"""The words of a question that would deny, hedge or report, were they the response's own: "at least",
"between", "students", "at first"."""

from __future__ import annotations

import re
from functools import lru_cache

from rewardkit.rewards.clause_words import BEFORE, HEDGE, REPORTED
from rewardkit.rewards.counted import table
from rewardkit.rewards.denying_words import NOT

_KEPT = table(
    "not no never none nor neither cannot without wrong incorrect except or maybe perhaps possibly might may "
    "could either if unless whether non pas another doubt nobody rather one"
)
"""Words that deny or hedge in a response, whatever the question says."""
_MORE = re.compile(
    r"\b(?:opposite|mythology|first|last|beg[aiu]ns?|beginning|start\w*|original(?:ly)?|once|had|too|smallest"
    r"|second|half)\b"
)
_ONCE = ("formerly", "once", "previously", "originally")
_FORMS = {
    "begin": "beg[aiu]ns?", "begins": "beg[aiu]ns?", "began": "beg[aiu]ns?", "start": "start(?:s|ed)?",
    "mythology": r"mythology|in \w+ myths?",
} | {word: rf"{word}|(?:{'|'.join(_ONCE)})(?= (?:called|known|named))" for word in _ONCE}  # fmt: skip
_LONGEST = 20
_VERBS = table(
    "write/wrote/written throw/threw/thrown win/won beat/beaten make/made sing/sang/sung speak/spoke/spoken "
    "take/took/taken give/gave/given begin/began/begun find/found hold/held lead/led lose/lost run/ran "
    "build/built buy/bought sell/sold teach/taught bring/brought choose/chose/chosen draw/drew/drawn "
    "drive/drove/driven fly/flew/flown grow/grew/grown know/knew/known rise/rose/risen ride/rode/ridden "
    "see/saw/seen shoot/shot spend/spent steal/stole/stolen strike/struck swim/swam sink/sank/sunk "
    "wear/wore/worn fight/fought catch/caught become/became come/came go/went/gone get/got leave/left "
    "meet/met pay/paid send/sent sit/sat stand/stood tell/told think/thought die/died/dies keep/kept "
    "fall/fell/fallen eat/ate/eaten live/lived/lives use/used/uses move/moved/moves name/named/names "
    "play/played serve/served flow/flows"
)
_FORMS_OF = {form: frozenset(forms.split("/")) for forms in _VERBS for form in forms.split("/")}


def verb_forms(word: str) -> frozenset[str]:
    """Return the other forms of an irregular verb, none of other words."""
    return _FORMS_OF.get(word, frozenset())


def without_its_words(text: str, question: str) -> str:
    """Return a text in which words of the question leave nothing open."""
    pattern = _its_words(question)
    return text if pattern is None else pattern.sub("given", text)


@lru_cache(maxsize=4_096)
def _its_words(question: str) -> re.Pattern[str] | None:
    plain = question.casefold()
    found = {m[0] for pattern in (NOT, HEDGE, BEFORE, REPORTED, _MORE) for m in pattern.finditer(plain)}
    words = sorted(word for word in found if len(word) <= _LONGEST and not _denies(word))
    if not words:
        return None
    forms = (_FORMS.get(word) or re.escape(word) for word in sorted(words, key=len, reverse=True))
    return re.compile(rf"\b(?:{'|'.join(forms)})\b", re.IGNORECASE)


def _denies(phrase: str) -> bool:
    return not _KEPT.isdisjoint(phrase.split()) or "n't" in phrase
