"""Sentences with the question's verb that speak of something else than it asks: of another subject, of
somebody's relatives, of what another verb says.

Here accepted answers stand as single characters (`clause_words`), in clauses of small letters.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from rewardkit.rewards.clause_words import X
from rewardkit.rewards.counted import table
from rewardkit.rewards.qa.answer_words import GRAMMAR

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
_OTHER_ROLES = table(
    "inspired influenced owned edited translated reviewed praised criticised criticized rejected illustrated"
    " narrated sponsored funded commissioned succeeded replaced preceded admired loved hated mentored taught"
    " raised married beaten defeated hired fired followed read bought sold adapted copied forged stolen"
)


def of_something_else(clause: str, given: Callable[[str], bool]) -> bool:
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
    if (found := _PASSIVE.search(clause)) and found["verb"] in _OTHER_ROLES and not given(found["verb"]):
        return True
    found = _PLACE.match(clause)
    words = found["place"].split() if found else []
    return bool(words) and not any(given(word) or word in _NO_PLACE or word.isdigit() for word in words)
