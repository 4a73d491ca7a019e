"""What stands beside an answer and says nothing of whether it is one: citations, sources, how sure somebody
is, the same answer in another form, another answer that it is not to be confused with.

Read in texts in which candidates stand as single characters (`clause_words`); a text without these remarks
says the same in fewer words.
"""

from __future__ import annotations

import re

from rewardkit.rewards.clause_words import X

_CITATION = re.compile(r"(?<=\S)[^\S\n]?(?:\[\d{1,3}(?:[,–-]\s?\d{1,3}){0,4}\])+(?!\()")
_REFERENCE = re.compile(r"^[^\S\n]*\[\d{1,3}\]:?[^\S\n][^\n]*$", re.MULTILINE)
"""An entry of a list of references."""
_ASIDE = re.compile(
    r"[^\S\n]?\((?:source|sources|see|cf\.?|ref\.?|reference|confidence|certainty|as (?:stated|seen"
    r"|shown|given|noted)"
    r"|according to|per the|from (?:memory|the))\b(?P<of>[^()]{0,120})\)",
    re.IGNORECASE,
)
_DOUBT = re.compile(r"\b(?:not?|none|low|wrong|false|maybe|unsure|guess\w*|or|but)\b|\?", re.IGNORECASE)
_NOT_OTHER = re.compile(
    rf"(?P<own>{X})(?P<between>[^()\n{X[1:-1]}]{{0,20}})\((?:and |but )?"
    r"(?:not to be (?:confused|mixed up)(?: with)?|not|never|rather than|as opposed to|unlike)\s"
    r"(?!(?:right|correct|true|sure|certain|really|quite|necessarily|the answer|an answer|valid"
    r"|confirmed|verified|it"
    r"|exactly|entirely|only|yet|always|so)\b)"
    r"(?P<other>[^()\n?]{1,160})\)",
    re.IGNORECASE,
)
_MARKS = r"[*_\"”’)]{0,3}"
_NOT_OTHER_AFTER = re.compile(
    rf"(?P<own>{X}{_MARKS}(?:\s(?!(?:is|are|was|were|be|does|do|did|can|could|should|would|will|has|had|may|might|must)\b)"
    rf"[^\W\d{X[1:-1]}]+){{0,2}}{_MARKS})(?:, (?:and |but )?not| rather than|,? as opposed to|,? instead of"
    r"|,? not to be confused with|, unlike|, and neither)\s"
    r"(?!(?:right|correct|true|sure|certain|really|quite|necessarily|the (?:answer|right|correct|only)"
    r"|an answer|valid"
    r"|confirmed|verified|it|exactly|entirely|only|yet|always|so|to|because|in|on|at|by|for|just)\b)"
    rf"(?:[^\W{X[1:-1]}][^\s.!?;:{X[1:-1]}]*\s){{0,4}}[^\W{X[1:-1]}](?:[^\s.!?;:{X[1:-1]}]|\.(?=\d))*(?=[.!](?:\s|$)|\n|$)",
    re.IGNORECASE,
)
"""At the end of a sentence: what the answer is not."""
_APPOSED = re.compile(
    r"(?P<what>\b(?:answer|option|choice|result|value|solution|name|number|one)),\s[\"'“*_]{0,3}"
    rf"(?:(?:which|that) is |namely |i\.e\.,? )?(?P<own>(?:option |choice )?{X})[\"'”*_]{{0,3}}"
    r"(?:,[\"'”*_]{0,3}|\sand\swhich\s[^,\n.]{1,60},)\s",
    re.IGNORECASE,
)
_RELATED = re.compile(
    rf"(?:(?<=[.!?]\s)|^)There (?:are|is) (?:many|much|several|other|more|numerous|plenty|lots)\b"
    rf"[^.\n{X[1:-1]}]*\.",
    re.MULTILINE,
)
_HEADED = re.compile(
    rf"^(?!.*\b(?:answers?|is|are|was|were|be|results?|final|solution|conclusion|verdict|not|no|never|wrong|incorrect|false|if|or)\b)"
    rf"[^\n{X[1:-1]}]{{1,50}}:[*_]{{0,3}}[^\S\n]*\n",
    re.IGNORECASE | re.MULTILINE,
)
"""A heading that announces what is said below."""


_CONTRASTS = re.compile(r"\b(?:not|rather|opposed|instead|unlike|neither)\b", re.IGNORECASE)


def without_remarks(text: str) -> str:
    """Return a text without what stands beside its answers and says nothing of them."""
    if "[" in text:
        text = _CITATION.sub("", _REFERENCE.sub("", text))
    if "(" in text:
        text = _ASIDE.sub(lambda m: m[0] if _DOUBT.search(m["of"]) else "", text)
        text = _NOT_OTHER.sub(lambda m: m[0] if m["own"] in m["other"] else m["own"] + m["between"], text)
    if _CONTRASTS.search(text):
        text = _NOT_OTHER_AFTER.sub(r"\g<own>", text)
    if "," in text:
        text = _APPOSED.sub(r"\g<what> is \g<own>. It ", text)
    if "There " in text:
        text = _RELATED.sub("", text)
    return _HEADED.sub("\n", text) if ":" in text else text
