"""Names of persons where somebody is asked for: titles before them, initials for first names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from rewardkit.rewards.reading.counted import table

_ASKS_WHO = re.compile(
    r"\b[Ww]ho(?:se|m)?\b|\b(?:[Ww]hich|[Ww]hat|[Nn]ame of the) (?:[\w'’-]+ ){0,3}?"
    r"(?:president|scientist|author|writer|poet|painter|artist|composer|philosopher|physicist|chemist"
    r"|mathematician|inventor|explorer|actor|actress|singer|director|politician|novelist|playwright"
    r"|astronomer"
    r"|minister|chancellor|senator|governor"
    r"|biologist|naturalist|economist|psychologist|architect|engineer|astronaut|person|man|woman|general)\b"
)
_OF_GROUPS = re.compile(
    r"\b(?:w[io]n|wins|beat|beats|defeat\w*|team|club|band|group|country|nation|company)\b"
)
"""Who won may be a country or a team."""
_NAME = re.compile(
    r"(?P<first>[A-Z][\w'’-]+(?: [A-Z](?:\.|[\w'’-]+)){0,2}) "
    r"(?P<particle>(?:(?:[Vv]an|[Vv]on|[Dd]e|[Dd]a|[Dd]i|[Dd]el|[Dd]er|[Dd]en|[Ll]a) ){0,2})"
    r"(?P<last>(?!(?:Jr|Sr|I{1,3}|IV|VI{0,3})\b)[A-Z][\w'’-]{2,})"
)
_DESCRIBED = re.compile(
    r"(?:\b(?:[Tt]he|[Aa]n?) |(?<=\bby )|(?<=\bwas )|(?<=\bis )|^)"
    r"(?:(?:famous|great|noted|renowned|young|late|legendary|baroque|rock|[A-Z][a-z]+(?:-[A-Z][a-z]+)?(?:ish"
    r"|ian|an|ese|ch|i|ss)) ){0,3}"
    r"(?:[Aa]stronaut|[Cc]ommander|[Cc]aptain|bacteriologist|microbiologist|biologist|botanist|naturalist|scientist|physicist|chemist"
    r"|mathematician|astronomer"
    r"|inventor|engineer|physician|doctor|surgeon|author|writer|poet|novelist|playwright|painter|artist"
    r"|sculptor|architect"
    r"|composer|musician|singer|guitarist|pianist|actor|actress|director|film-?maker|philosopher|economist"
    r"|historian|explorer"
    r"|navigator|politician|statesman|general|astronaut|cosmonaut|tennis player|footballer)"
    r" (?:named |called )?(?=[A-Z])"
)
"""What somebody is, before the name: "the Scottish bacteriologist Alexander Fleming"."""
_NO_FIRST_NAME = table("The A North South East West New Saint San Santa Los Las El Real United Great")
_TITLE = re.compile(
    r"\b(?:Dr|Doctor|Prof|Professor|Sir|Dame|Mr|President|Gen|General|Col|Colonel|Capt|Captain|Adm|Admiral|Lt"
    r"|Maj|Rev|Reverend|Sen|Senator|Gov|Governor|Judge|Justice|Lord|King|Queen|Emperor|Empress|Pope)\b\.?\s"
    r"(?=[A-Z])(?!(?:Jr|Sr|I{1,3}|IV|V)\b)"
)
_OF_WOMEN = re.compile(r"\b(Mrs|Ms|Miss)\b\.?\s(?=[A-Z])", re.IGNORECASE)
_WOMAN = re.compile(
    r"\b(?:lady|woman|female|she|her|actress|baroness|dame|queen|princess|mrs|ms|miss|mother|wife|daughter"
    r"|sister)\b",
    re.IGNORECASE,
)
"""In a question or an accepted answer: who is asked for is a woman."""
_INITIAL = re.compile(r"\b(?P<letter>[A-Z])\.\s(?=[A-Z](?:\.|[\w'’-]{2}))")


@lru_cache(maxsize=16_384)
def asks_who(question: str) -> bool:
    """Return whether a question asks for a person."""
    return _ASKS_WHO.search(question) is not None


def persons_named(response: str, accepted: tuple[str, ...], question: str) -> str:
    """Return a response without titles before names, unless an accepted answer has one and is not accepted
    without it, and with initials right before what they belong to: `R. Roe` is not Roe."""
    if all(_TITLE.sub("", name, count=1) in accepted for name in accepted if _TITLE.match(name)):
        response = _DESCRIBED.sub("", _TITLE.sub("", response))
    if not any(map(_OF_WOMEN.match, accepted)):
        response = _OF_WOMEN.sub("" if _of_woman(question, accepted) else r"\1 ", response)
    return _INITIAL.sub(r"\g<letter>.", response) if ". " in response else response


@lru_cache(maxsize=16_384)
def _of_woman(question: str, accepted: tuple[str, ...]) -> bool:
    return any(map(_WOMAN.search, (question, *accepted)))


def name_variants(text: str, question: str) -> Iterator[str]:
    """Yield the last name of somebody who is asked for, if the question has no part of the name (Lincoln),
    and the name with initials (A. Lincoln)."""
    if not asks_who(question):
        return
    if _INITIAL.search(text):
        yield _INITIAL.sub(r"\g<letter>.", text)
        yield _INITIAL.sub(r"\g<letter> ", text)
    found = _NAME.fullmatch(text)
    if found is None or _OF_GROUPS.search(question):
        return
    first = found["first"].split()
    if first[0] in _NO_FIRST_NAME or found["last"].casefold() in question.casefold():
        return
    last = (found["particle"] or "") + found["last"]
    names = [name for name in first if not _TITLE.match(name + " X")]
    initials = [f"{name[0]}." for name in names]
    yield last
    yield f"{last}, {' '.join(first)}"
    for written in (initials[:1], initials, [*names[:1], *initials[1:]]):
        yield _INITIAL.sub(r"\g<letter>.", " ".join((*written, last)))
    yield " ".join((*(name[0] for name in names[:1]), last))
