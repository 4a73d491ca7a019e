"""What a sentence says beside its answer: when that was, who or what it is, what else is known of it.

Read in texts in which answers stand as single characters; a text without these remarks says the same in fewer
words. Where the answer is a number, numbers beside it may be answers, too.
"""

from __future__ import annotations

import re

from rewardkit.rewards.qa.equal import MONTHS
from rewardkit.rewards.reading.clause_words import CANDIDATE, X
from rewardkit.rewards.reading.lazy_regex import lazy_regex

_NO_X = X[1:-1]
_MONTH = "|".join(MONTHS)
_LEAVES_OPEN = re.compile(
    r"\b(?:not|or|nor|never|no|right|wrong|correct|true|yes|sure|incorrect|false|but|however|instead|other"
    r"|another|second|former|latter"
    r"|answer|one"
    r"|same|maybe|perhaps|possibly|alternative\w*|also|if|rather|actually|formerly|then|today|now"
    r"|previously|until|guess\w*|mistak\w*|myth|misconception|doubt\w*|fake|false\w*|supposed\w*|alleged\w*"
    r"|unlikely|pen name|rejected|excluded|eliminated|many|some|once|first|last|unlike|until|replac\w+"
    r"|succe\w+|whose"
    r"|disput\w+|den(?:y|ied|ies)|beat|defeated|lost|who wrote|who painted|who founded)\b|n['’]t|\?",
    re.IGNORECASE,
)
_WHEN = re.compile(
    rf"(?P<own>\bby {X}),? (?:in|around|circa|c\.|about|during|since|from|between) (?:(?:the|early|late|mid"
    rf"|year"
    rf"|summer|spring|autumn|winter|fall|of|{_MONTH})[ -]){{0,3}}"
    r"\d{3,4}s?(?:(?: (?:and|to) |[–-])\d{2,4})?(?=[.,;!]?(?:\s|$))"
)
_YEARS = re.compile(r" ?\(\d{4}(?:\s?[–-]\s?\d{2,4})?\)")
_KIND = (
    r"(?:[\w-]+ ){0,3}(?:playwright|dramatist|artist|painter|sculptor|polymath|author|novelist|writer|poet"
    r"|composer|singer"
    r"|musician|actor|actress|director|physicist|chemist|scientist|mathematician|philosopher|inventor"
    r"|politician"
    r"|explorer|king|queen|emperor|president|footballer|player|hosts?|city|river|country)(?: of(?:"
    r" \w+){1,3})?"
)
_WHO = re.compile(rf"\b(?P<own>(?:by|is|was) {X}), (?P<said>(?:the|an?) {_KIND})(?=[.!]|\n|$)")
_BRACKETED = re.compile(rf"(?<={X})[*_\"”]{{0,2}} ?\((?P<said>[^()\n{_NO_X}]{{3,60}})\)")
_EXPLAINS = re.compile(
    r"(?:(?:born|founded|established|built|released|published|died)(?: in| on)? |b\. ?|c\. ?|ca\. ?|r\."
    r" ?)?(?:\w+ )?"
    rf"\d{{3,4}}(?:\s?[–-]\s?(?:\d{{2,4}}|present))?|in (?:the )?[A-Z]\w+(?: [A-Z]\w+)?|(?:the |an?"
    rf" )?{_KIND}"
)
_DESCRIBED = re.compile(
    r"(?:(?<=[.!] )|(?<=\n))(?:It|He|She) (?:is|was) (?:located|situated|founded|built|established|born"
    r"|released|published)"
    rf" (?:in|on|at|near|along|around|between)(?: the| early| late)? (?=[A-Z\d])[^.!?\n{_NO_X}]*(?:[.!]|$)"
)
"""What is said of the answer in a sentence of its own, about a place, a time or a name."""
_DIMENSION = re.compile(
    rf"(?<={X}) (?:long|tall|high|wide|deep|old|altogether|of (?:them|these|those)|in (?:length|height"
    rf"|total|all))(?=[.,!]|\s*$)"
)
_BESIDE = lazy_regex(
    rf"(?<={X}),? (?P<said>(?:during the|when|with|from the) (?=[A-Z])[^.!?;()\n{_NO_X}]{{3,80}}"
    rf"|(?:on the|on its|on|opposite|alongside"
    rf"|together with|at"
    rf"|at the|in the)"
    rf" (?=[A-Z])[^.!?;()\n{_NO_X}]{{3,80}}|(?:which|who) (?:is|was|has|had|won|later|also|then)"
    rf" [^.!?;()\n{_NO_X}]{{3,100}}"
    rf"|(?:chosen|split|divided|published|released|written|painted|recorded|born|beating|defeating"
    rf"|winning|held"
    rf"|known for|famous for|from (?:the )?(?:Latin|Greek|French|Arabic)|at sea level|on its|by"
    rf" accident|back then|through an?"
    rf"|(?:built|located|situated|founded|headquartered) in (?=[A-Z\d])"
    rf"|an? (?:[a-z]+ ){{0,3}}(?:country|city|town|gas giant|planet|band|group|river|metal|element|novelist"
    rf"|artist))\b[^.!?;(),\n{_NO_X}]{{0,100}}"
    rf"|nat[uü]rlich|naturellement|claro|bien sûr|por supuesto|natuurlijk|конечно|when it [a-z]+ an? \w+"
    r"|mate|everyone|folks|guys|dear|my friend|buddy|bro|dude|sir|madam)(?=[.!]|\s*$)"
)
_DATE = re.compile(
    rf"\b(?:on )?(?:(?:the )?\d{{1,2}}(?:st|nd|rd|th)?(?: of)? )?(?:{_MONTH})"
    rf"(?: \d{{1,2}}(?:st|nd|rd|th)?)?,? (?={X})"
)
_BETWEEN = re.compile(
    rf"(?:(?<={X})|(?<=[a-z])), (?P<said>(?:which|who|an?|the|commander|captain|author|founder) [^.!?"
    rf";:(),\n{_NO_X}]{{3,80}}),"
    rf" (?=(?:is|was|became) (?:{X}|the )|(?:took|wrote|painted|invented|discovered|founded) )"
)
"""Between a subject and its verb: "The Amazon, which rises in Peru, is the longest"."""
_FOLLOWED = re.compile(
    rf"(?P<own>{X} [^.,!?\n{_NO_X}]{{1,80}}), followed by [^.,!?\n{_NO_X}]{{3,60}}(?=[.!]|\s*$)"
)
_ASKS_CUSTOM = re.compile(
    r"\b(?:currency|money|language|sp(?:oken|eak)|called|known|nickname\w*)\b", re.IGNORECASE
)
_PEOPLE = re.compile(
    r"\b[Pp]eople(?: (?:in|of|from|there|here)(?: (?:the )?(?P<place>[A-Z]\w+(?: [A-Z]\w+)?))?)?"
    rf" (?=(?:use|speak|pay (?:in|with)) {X}(?:[.!,]|\s*$))"
)
_CALLED_FALSE = re.compile(
    rf"[\"“][^\"“”\n{_NO_X}]{{0,200}}{X}[^\"“”\n]{{0,200}}[\"”] is (?:\w+ly )?(?:false|wrong|incorrect"
    rf"|untrue|a lie|a myth|nonsense"
    r"|not (?:true|right|correct))\b"
)
"""A sentence that is quoted to be denied."""
_ASKS_YEAR = re.compile(r"\b(?:what|which) year\b", re.IGNORECASE)


def without_asides(text: str, question: str, *, of_number: bool) -> str:
    """Return a text without what its sentences say beside the answer; `of_number`: it has a digit."""
    if CANDIDATE.search(text) is None:
        return text
    if '" is ' in text or "” is " in text:
        text = _CALLED_FALSE.sub(" ", text)
    if ", " in text:
        text = _BETWEEN.sub(lambda m: m[0] if _LEAVES_OPEN.search(m["said"]) else " ", text)
        text = _FOLLOWED.sub(r"\g<own>", text)
    if "eople" in text and _ASKS_CUSTOM.search(question):
        text = _PEOPLE.sub(lambda m: "They " if (m["place"] or "") in question else m[0], text)
    text = _BESIDE.sub(lambda m: m[0] if _LEAVES_OPEN.search(m["said"]) else "", text)
    if of_number:
        text = _DIMENSION.sub("", text)
        return _DATE.sub("in ", text) if _ASKS_YEAR.search(question) else text
    text = _YEARS.sub("", _WHEN.sub(r"\g<own>", text))
    text = _WHO.sub(lambda m: m[0] if _LEAVES_OPEN.search(m["said"]) else m["own"], text)
    if "(" in text:
        text = _BRACKETED.sub(
            lambda m: m[0] if _LEAVES_OPEN.search(m["said"]) or not _EXPLAINS.fullmatch(m["said"]) else "",
            text,
        )
    return _DESCRIBED.sub(lambda m: m[0] if _LEAVES_OPEN.search(m[0]) else "", text)
