"""Sentences with the question's verb that speak of something else than it asks: of another subject, of
somebody's relatives, of what another verb says.

Here accepted answers stand as single characters (`clause_words`), in clauses of small letters.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from rewardkit.rewards.qa.answer_words import GRAMMAR
from rewardkit.rewards.reading.clause_words import X
from rewardkit.rewards.reading.counted import table

_NO_X = X[1:-1]
_VERBS = table(
    "boils melts freezes falls stands denotes represents uses flows empties drains lies has had won wins"
    " wrote painted founded invented discovered composed directed played portrayed speaks lasts starts"
    " begins began ended ends hosted costs weighs measures contains leads runs heads married designed built"
    " sang recorded"
)
_SUBJECT = re.compile(rf"(?:in [^,]{{2,40}}, )?(?P<subject>[^\W\d_{_NO_X}]+) (?P<verb>[a-z]+) [^\n]*{X}")
_PEOPLE = re.compile(
    r"(?:it|he|she|they|we|i|you|this|that|which|who|what|there|here|people|locals|inhabitants"
    r"|residents|citizens|natives"
    r"|everyone|everybody|one|answer|someone|so|then|also|only|just|and|but|\w+(?:ans|ers|ists|ese|ish"
    r"|ly|ing|ion))"
)
"""Who may stand for those of whom a question speaks."""
_IT = re.compile(r"\b(?:it|this|that|them)\b")
_PLACE = re.compile(rf"in (?:the )?(?P<place>[^,{_NO_X}]{{2,40}}), [^,]*{X}")
_NO_PLACE = table(
    "fact short summary total general conclusion reality truth particular brief addition year years"
    " order case end all"
    " words answer terms film movie book novel text passage question context"
)
_RELATIVE = re.compile(
    rf"(?:^|\band |\bbut )(?:(?:his|her|their|its|[\w.’'-]+'s?) )(?:\w+ )?(?P<who>fathers?|mothers?"
    rf"|parents|brothers?|sisters?"
    r"|sons?|daughters?|wife|husband|children|uncles?|aunts?|cousins?|friends?|assistants?|pupils?"
    r"|students?|teachers?"
    rf"|neighbou?rs?|successors?|predecessors?|mayors?|deput(?:y|ies)|rivals?|famil(?:y|ies)"
    rf"|translators?)\b[^,]*{X}"
)
_PASSIVE = re.compile(
    rf"\b(?:was|is|were|are|been|being) (?:\w+ly )?(?P<verb>\w{{3,}}(?:ed|en)) (?:by|after|from|about) {X}"
)
_TO_ANOTHER = re.compile(
    r"\b(?:admire[sd]?|inspire[sd]?|influence[sd]?|sue[sd]?|competes? with|competed with|reports? to"
    r"|reported to"
    r"|taught|met|knew|hired|fired|succeeded|replaced|preceded|rejected|criticised|criticized|praised"
    rf"|turned down|mention(?:s|ed)|resembles?|opposes?|(?:gift|gifted|given|donated|presented|sold"
    rf"|sent) to) {X}"
)
"""What the one who is asked for did to another."""
_ASKS_WHOM = re.compile(
    r"\b(?:whom|to (?:which|what|who)|who(?:m)? (?:did|does|was)|receiv\w*)\b", re.IGNORECASE
)
_WITHOUT = re.compile(r"\bwithout (?P<what>[a-z]+(?: [a-z]+)?)(?=[?.,]|$)")
_BETWEEN = re.compile(rf"\bbetween (?P<terms>[^,.:;{_NO_X}]+)")
_TERMS = table(
    "two three them these those both continents countries cities places points states numbers bodies lands"
)
_OTHER_ROLES = table(
    "inspired influenced owned edited translated reviewed praised criticised criticized rejected"
    " illustrated"
    " narrated sponsored funded commissioned succeeded replaced preceded admired loved hated mentored"
    " taught"
    " raised married beaten defeated hired fired followed read bought sold adapted copied forged stolen"
    " performed"
)


_OF_ART = table("written produced composed painted designed directed edited")
_ASKS_OF_ART = re.compile(r"\b(?:direct|compos|paint|design)(?:ed|s|or|er)\b")


def of_something_else(clause: str, question: str, given: Callable[[str], bool]) -> bool:
    """Return whether a clause with an accepted answer speaks of another subject than the question, of whose
    words `given` knows."""
    found = _SUBJECT.match(clause)
    if (
        found
        and found["subject"] not in GRAMMAR
        and found["verb"] in _VERBS
        and not _PEOPLE.fullmatch(found["subject"])
        and not given(found["subject"])
        and given(found["verb"])
        and not _IT.search(clause)
    ):
        return True
    if (found := _RELATIVE.search(clause)) and not given(found["who"]):
        return True
    if (found := _PASSIVE.search(clause)) and not given(found["verb"]):
        roles = _OTHER_ROLES | _OF_ART if _ASKS_OF_ART.search(question) else _OTHER_ROLES
        if found["verb"] in roles:
            return True
    found = _TO_ANOTHER.search(clause)
    if found and not given(found[0].split()[0]) and not _ASKS_WHOM.search(question):
        return True
    if found and found[0].split()[1] == "to" and not _ASKS_WHOM.search(question):
        return True
    left_out = _WITHOUT.search(question)
    if left_out and f" with {left_out['what']}" in f" {clause}".replace("without", ""):
        return True
    if "between" in clause and "between" in question and (terms := _BETWEEN.search(clause)):
        said = [word for word in terms["terms"].split() if word not in GRAMMAR and word not in _TERMS]
        return not all(map(given, said))
    found = _PLACE.match(clause)
    words = found["place"].split() if found else []
    return bool(words) and not any(given(word) or word in _NO_PLACE or word.isdigit() for word in words)
