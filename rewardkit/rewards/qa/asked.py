"""The words of a question that would deny, hedge or report, were they the response's own: "at least",
"between", "students", "at first"."""

from __future__ import annotations

import re
from functools import lru_cache

from rewardkit.rewards.reading.clause_words import BEFORE, HEDGE, REPORTED
from rewardkit.rewards.reading.counted import table
from rewardkit.rewards.reading.denying_words import NOT

_KEPT = table(
    "not no never none nor neither cannot without wrong incorrect except or maybe perhaps possibly"
    " might may "
    "could either if unless whether non pas another doubt nobody rather one"
)
"""Words that deny or hedge in a response, whatever the question says."""
_MORE = re.compile(
    r"\b(?:opposite|mythology|first|last|beg[aiu]ns?|beginning|start\w*|original(?:ly)?|once|had|too"
    r"|smallest"
    r"|second|half)\b"
)
_ONCE = ("formerly", "once", "previously", "originally")
_STARTS = "beg[aiu]ns?|start(?:s|ed)?"
_FORMS = {
    **dict.fromkeys(("begin", "begins", "began", "start", "starts", "started", "starting"), _STARTS),
    "mythology": r"mythology|in \w+ myths?",
} | {word: rf"{word}|(?:{'|'.join(_ONCE)})(?= (?:called|known|named))" for word in _ONCE}  # fmt: skip
_LONGEST = 20
_VERBS = table(
    "write/wrote/written throw/threw/thrown win/won beat/beaten make/made sing/sang/sung"
    " speak/spoke/spoken "
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


_RELATED = tuple(
    table(words)
    for words in (
        "write wrote written writer author authored penned novelist playwright poet novel book play poem",
        "found founded founder founders founding cofounder co-founded co-founder establish established"
        " started"
        " start set up created creator company",
        "invent invented inventor invention created creator devised",
        "discover discovered discoverer discovery found credited credit goes",
        "paint painted painter painting artist portrait canvas created",
        "compose composed composer piece music wrote written",
        "direct directed director film movie filmmaker",
        "sing sang sung singer song recorded record artist performed performer",
        "record recorded recorded released album band group made",
        "play played portray portrayed actor actress role part cast starred",
        "design designed designer architect",
        "built build constructed construction erected",
        "lead leads leader head heads headed run runs leading led ceo chief executive officer company",
        "win won winner winners champion champions victor title trophy victory became",
        "capital seat government",
        "lie lies located situated location found separates separated stretches sits",
        "have has contain contains consist consists made comprise comprises divided composed number",
        "last lasts duration length long takes runs goes total",
        "tall high height stands measures rises reaches tower",
        "long length measures stretches",
        "deep depth reaches",
        "wide width",
        "heavy weigh weighs weight",
        "old age aged",
        "fast speed travels moves averages velocity average",
        "far distance away",
        "gift gifted give gave given present presented donate donated donor giver",
        "make makes made manufactured manufacturer maker produce produces produced product company",
        "absorb absorbs absorbed take takes use uses",
        "largest biggest greatest",
        "smallest tiniest",
        "fastest quickest",
        "tallest highest",
        "currency money use uses used pay pays unit",
        "boil boils boiling point temperature",
        "melt melts melting point temperature",
        "freeze freezes freezing point temperature",
        "born birth birthplace",
        "die died death passed away place",
        "end ended ends finish finished concluded conclusion lasted",
        "begin began begins start started starts broke beginning outbreak",
        "symbol stands denotes represents abbreviation element",
        "flow flows empty empties drain drains discharge discharges mouth ends reaches joins river",
        "speak spoken speaks language official inhabitants locals",
        "celebrate celebrated celebrates falls observed occurs held holiday place takes day month",
        "held host hosted hosts took place venue staged",
        "marry married wife husband spouse",
        "call called known named name",
        "country nation state lies located",
        "cost costs price pay paid",
        "many number total amounts totals sums comes count altogether",
    )
)
"""Words of which one in a question lets the others answer it: who wrote something is its author."""


def related(words: frozenset[str]) -> frozenset[str]:
    """Return the words by which an answer may speak of what the words of a question do."""
    return frozenset().union(*(group for group in _RELATED if not group.isdisjoint(words)))


def without_its_words(text: str, question: str) -> str:
    """Return a text in which words of the question leave nothing open."""
    if (phrases := _its_phrases(question)) is not None:
        text = phrases.sub(
            lambda m: _AND.sub(" ", _BETWEEN.sub("in", m[0])) if _BETWEEN.match(m[0]) else "given", text
        )
    pattern = _its_words(question)
    return text if pattern is None else pattern.sub("given", text)


@lru_cache(maxsize=4_096)
def _its_phrases(question: str) -> re.Pattern[str] | None:
    """What a question leaves out, and between what it asks, in its own words."""
    found = [m[0].strip() for m in _PHRASE.finditer(question)]
    if not found:
        return None
    return re.compile("|".join(rf"\b{re.escape(phrase)}\b" for phrase in found), re.IGNORECASE)


_BETWEEN = re.compile("between", re.IGNORECASE)
_AND = re.compile(r"\sand\s")
_PHRASE = re.compile(
    r"\b(?:without|excluding|except(?: for)?|other than|not (?:counting|including)|apart from|besides)"
    r" (?:[\w'’-]+ ?){1,4}(?=[?.,!]|\Z)"
    r"|\bbetween (?:[\w'’-]+ ){1,4}and (?:the )?(?:[A-Z\d][\w'’.,-]*\b ?){1,4}(?=[?.,!]|\Z| [a-z])",
)


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
