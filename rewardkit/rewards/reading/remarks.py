"""What stands beside an answer and says nothing of whether it is one: citations, sources, how sure somebody
is, the same answer in another form, another answer that it is not to be confused with.

Read in texts in which candidates stand as single characters (`clause_words`); a text without these remarks
says the same in fewer words.
"""

from __future__ import annotations

import re

from rewardkit.rewards.reading.clause_words import CANDIDATE, X
from rewardkit.rewards.reading.lazy_regex import lazy_regex

_CITATION = re.compile(
    r"(?<=\S)[^\S\n]?(?:\[(?:(?:Doc(?:ument)?|Source|Ref|Passage"
    r"|Context)\s?)?\d{1,3}(?:[,–-]\s?\d{1,3}){0,4}\])+(?!\()",
    re.IGNORECASE,
)
_MARKED_SOURCE = re.compile(r"【[^】\n]{1,60}】")
_REFERENCE = re.compile(r"^[^\S\n]*\[\d{1,3}\]:?[^\S\n][^\n]*$", re.MULTILINE)
"""An entry of a list of references."""
_SOURCES = re.compile(
    r"(?:\n|(?<=[.!?]\s))[*_#]{0,4}[^\S\n]?(?:sources?|references?|citations?|further reading)[*_]{0,3}\s?:"
    rf"(?!.*\b(?:not?|wrong|incorrect|answer|actually|instead|but|rather|correct|no|none|should|is|was)\b)"
    rf"[^?{X[1:-1]}]{{1,300}}\Z",
    re.IGNORECASE | re.DOTALL,
)
"""At the end, where something is to be read."""
_ASIDE = re.compile(
    r"[^\S\n]?\((?:source|sources|see|cf\.?|ref\.?|reference|confidence|certainty|as (?:stated|seen"
    r"|shown|given|noted)"
    r"|according to|per the|from (?:memory|the)|(?:document|doc|passage|context|paragraph"
    r"|page)(?= \[?\d))\b(?P<of>[^()]{0,120})\)",
    re.IGNORECASE,
)
_SOURCE_SAID = (
    r"(?:(?:recalled |given |stated |answered )?(?:from|by) (?:my |own )?(?:memory|heart)|off the top"
    r" of my head"
    r"|(?:un|not (?:yet |double-?|independently |further )?)(?:verified|checked|looked up|sourced"
    r"|referenced"
    r"|cross-?checked)"
    r"|I (?:did not|didn['’]t|have not|haven['’]t) (?:look(?:ed)?|check(?:ed)?|verif(?:y|ied)) (?:this"
    r"|it|that)(?: up)?"
    r"|without (?:looking (?:it|this|that) up|checking(?: it| this)?|(?:a |any )?(?:sources?|search"
    r"|lookup))"
    r"|no (?:source|citation|reference|search|lookup|link)s?(?: (?:needed|required|given|used|cited|at"
    r" hand|available))?"
    r"|(?:this is |it is |that is |it['’]s |that['’]s )?(?:common|general|basic|textbook|my own|own"
    r"|world|school)"
    r" knowledge|well[ -]known(?: fact)?"
    r"|as (?:far as )?I (?:recall|remember|know)|to (?:the best of )?my knowledge|if memory serves(?: me)?"
    r"(?: (?:right|well|correctly))?|(?:from |my )?training data|(?:my )?own recollection)"
)
_OF_SOURCE = lazy_regex(
    rf"[^\S\n]?\((?:{_SOURCE_SAID}(?:(?:, and|, but|,|;| and| but) |\.?(?=\)))){{1,4}}\)", re.IGNORECASE
)
"""From where somebody has an answer: "(from memory, not verified)". It is no doubt, and no other answer."""
_SOURCE_DOUBTED = re.compile(
    r"\((?=[^()]*\b(?:may|might|could|probably|perhaps|maybe|wrong|unsure|not sure)\b)"
    r"(?:(?:recalled )?from (?:my )?memory|unverified|not (?:verified|checked)|off the top)\b[^()]*\)",
    re.IGNORECASE,
)
_FORMER = re.compile(
    rf"[^\S\n]?\((?:was|formerly|previously|originally|once|not)\s(?:\w+\s){{0,2}}{X}\)", re.IGNORECASE
)
"""What something was before, or is not."""
_DOUBT = re.compile(
    r"\b(?:not?|none|low|wrong|false|maybe|unsure|guess\w*|or|but|distractors?|decoys?|may|might"
    r"|could|can|perhaps|possibly|probably|also|else|other|another)\b|n['’]t\b|\?",
    re.IGNORECASE,
)
_NOT_OTHER = re.compile(
    rf"(?P<own>{X})(?P<between>[^()\n{X[1:-1]}]{{0,20}})\((?:and |but )?"
    r"(?:not to be (?:confused|mixed up)(?: with)?|not|never|rather than|as opposed to|unlike)\s"
    r"(?!(?:right|correct|true|sure|certain|really|quite|necessarily|the answer|an answer|valid"
    r"|confirmed|verified|it|(?:even )?\d{1,3} ?% (?:sure|certain|confident|positive)"
    r"|exactly|entirely|only|yet|always|so)\b)"
    r"(?P<other>[^()\n?]{1,160})\)",
    re.IGNORECASE,
)
_MARKS = r"[*_\"”’)]{0,3}"
_NOT_OTHER_AFTER = re.compile(
    rf"(?P<own>{X}{_MARKS}(?:\s(?!(?:is|are|was|were|be|does|do|did|can|could|should|would|will|has|had"
    rf"|may|might|must)\b)"
    rf"[^\W\d{X[1:-1]}]+){{0,2}}{_MARKS})(?:, (?:and |but )?not| rather than|,? as opposed to|,? instead of"
    r"|,? not to be confused with|, unlike|, and neither)\s"
    r"(?!(?:right|correct|true|sure|certain|really|quite|necessarily|the (?:answer|right|correct|only)"
    r"|an answer|valid"
    r"|confirmed|verified|it|exactly|entirely|only|yet|always|so|to|because|in|on|at|by|for|just)\b)"
    rf"(?:[^\W{X[1:-1]}][^\s.!?;:{X[1:-1]}]*\s){{0,4}}[^\W{X[1:-1]}](?:[^\s.!?;:{X[1:-1]}]"
    rf"|\.(?=\d))*(?=[.!](?:\s|$)|\n|$)",
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
    rf"^(?!.*\b(?:answers?|is|are|was|were|be|results?|final|solution|conclusion|verdict|not|no|never"
    rf"|wrong|incorrect|false|if|or)\b)"
    rf"[^\n{X[1:-1]}]{{1,50}}:[*_]{{0,3}}[^\S\n]*\n",
    re.IGNORECASE | re.MULTILINE,
)
"""A heading that announces what is said below."""


_OF_TWO = re.compile(
    rf"(?P<one>{X})(?P<and>[^.!?\n{X[1:-1]}]{{1,20}})(?P<other>{X})(?P<then>[^!?\n{X[1:-1]}]{{0,80}}?)"
    r"\bthe (?P<which>former|latter)\b",
    re.IGNORECASE,
)


def _the_one(found: re.Match[str]) -> str:
    """Two candidates and "the former" or "the latter", by the one that it means."""
    if found["one"] == found["other"]:
        return found[0]
    meant = found["one"] if found["which"].lower() == "former" else found["other"]
    return found["one"] + found["and"] + found["other"] + found["then"] + meant


_WRONG = r"(?:wrong|incorrect|false|out|excluded|eliminated|ruled out)"
_ENDS_HERE = r"(?=[)\]]{0,3}(?: ?\([^()\n]{0,80}\))?[*_]{0,3}(?:[.,;!\n]|$))"
_TOO_IS_WRONG = re.compile(
    rf"\b(?P<is>(?:is|are|was|were) (?:\w+ly )?{_WRONG}),?(?: and)? (?:so|as) (?:is|are|was|were) "
    rf"(?P<other>(?:option |choice |the )?(?:{X}|[\w'’-]+(?: [\w'’-]+){{0,3}}))"
    rf"{_ENDS_HERE}"
)
"""Two that are wrong: "D is wrong, and so is C"."""
_NEITHER_IS = re.compile(
    rf"(?P<one>(?:\A|(?<=[.!?\n]))[^.!?\n]{{1,120}}(?:\bnot|n['’]t|\bcannot)\b[^.!?\n]{{0,80}}?)[.,;]?"
    rf" (?:and )?(?:[Nn]either|nor) (?:is|are|was|were|does|do|did|can|could|will|has)"
    rf" (?P<other>(?:option |choice )?{X}){_ENDS_HERE}"
)
_DENIES_MORE = re.compile(rf"\b(?:{_WRONG}|mistaken|bad|impossible|doubt\w*|den(?:y|ied)|exclude|rule)\b")
"""Beside "not": the sentence may uphold what it names."""


def _neither(found: re.Match[str]) -> str:
    """What is denied of one and of another, each by itself: "D does not fit, nor does C"."""
    return found[0] if _DENIES_MORE.search(found["one"]) else f"{found['one']}. {found['other']} is wrong"


_TICKED = re.compile(
    rf"[\"']?({X})[\"']?\s*[:=]\s*(?:(true|yes|\+|ok|right)|(?:false|no|-|x|wrong))(?=\s*(?:[,;}}\n]|$))",
    re.IGNORECASE,
)
"""An entry of a list that says of each candidate whether it is right."""


def _ticked(text: str) -> str:
    """Say so of the one that is ticked, where exactly one is."""
    found = list(_TICKED.finditer(text))
    if len(found) < _FEWEST_ENTRIES or sum(entry[2] is not None for entry in found) != 1:
        return text
    return _TICKED.sub(lambda entry: f"{entry[1]} is {'correct' if entry[2] else 'wrong'}. ", text)


_FEWEST_ENTRIES = 2
_GUESSED = re.compile(
    r"^[^\S\n]*(?:\w+\s){0,3}(?:guess|try|attempt|idea|thought|shot)(?:\s\#?\d{1,2})?\s?:[^\S\n]*"
    r"(?P<what>[^\n():;?!]{1,60}?)(?:\s?\((?:(?P<right>right|correct|yes)|wrong|incorrect|no|nope"
    r"|false)[.!]?\)"
    r"[.!]{0,2}(?=\s|$)|(?:\s?[,.–—-]+\s?|\s)"
    r"(?:(?P<so>right|correct|yes)|wrong|incorrect|no|nope|false)[.!]{0,3}[^\S\n]*$)",
    re.IGNORECASE | re.MULTILINE,
)
"""A guess and what came of it: "Second guess: Rome (right)"."""
_CONTRASTS = re.compile(r"\b(?:not|rather|opposed|instead|unlike|neither)\b", re.IGNORECASE)


_OPENING = re.compile(
    rf"(?:(?<=[.!?]\s)|^)[\"'“*_]{{0,2}}(?:Contrary to|Despite|In spite of|Unlike) (?:what|popular"
    rf"|common|widespread|general)"
    rf"[^,.\n{X[1:-1]}]{{1,60}},\s",
    re.IGNORECASE | re.MULTILINE,
)
"""Against what others think."""


_UNLIKE = re.compile(
    rf"(?:(?<=[.!?]\s)|^)(?:Unlike|As opposed to|In contrast (?:to|with)|Rather than|Instead of)"
    rf"\s[^,.\n{X[1:-1]}]{{1,60}},\s(?=(?:the |an? )?{X})",
    re.IGNORECASE | re.MULTILINE,
)
"""What opens a sentence and is not the answer in it."""
_NOT_THESE = re.compile(
    rf"(?:(?<=[.!?]\s)|^)(?:It(?:['’]s| is) )?(?:[Nn]ot|[Nn]either) (?:the )?(?!(?i:correct|right|true"
    rf"|answer|valid|sure)\b)(?=[A-Z\d])[^.:;?!\n{X[1:-1]}]{{1,60}}\s?[:;–—]\s(?=(?:it(?:['’]s| is) )?{X})",
    re.MULTILINE,
)
"""Others that are denied before a colon."""
_LEFT_BY = re.compile(
    r"\b(?:[Ee]liminating|[Rr]uling out|[Ee]xcluding|[Dd]iscarding|[Cc]rossing out|[Rr]emoving)"
    r" [^.;:!?\n]{1,80}? leaves"
    rf" (?:us with |me with |only |just )*(?=(?:option |choice )?{X})"
)
_NONE_BUT = re.compile(
    rf"\b(?:(?:anything|everything) (?:other than|but|except"
    rf"|besides) (?P<any>(?:option )?{X}) (?:would be|is|must be|will be)"
    rf" (?:wrong|incorrect|false|a mistake|out)|nothing but (?P<none>(?:option )?{X}) (?:will do"
    rf"|would do|works|fits|is right|is"
    rf" correct)|if it(?:'s not|’s not| isn['’]t| is not) (?P<not>(?:option )?{X}), (?:i'll eat"
    rf"|i’ll eat|i will eat|nothing is))\b",
    re.IGNORECASE,
)
"""The one that is left when all others are wrong."""
_MAY_BE_NONE_BUT = re.compile(r"thing (?:other|but|except|besides) |\b[Ii]f it", re.IGNORECASE)
_EXCLUDED = re.compile(
    rf"\((?:since |as |because |given that )?(?:(?P<neither>neither )|both )?(?:options? "
    rf"|choices? )?(?P<them>{X}"
    rf"(?:(?:, and|, or|,| and| or| nor) (?:option |choice )?{X}){{0,8}})"
    r" (?:(?:(?:ca|could|do|does|is|are|was|were)n['’]t|cannot|(?(neither)can|(?!))"
    r"|(?:is|are|do|does|could|can) not) (?:possibly )?(?:be )?"
    r"(?:right|correct|true|it|the answer|possible|fit|work|match|apply|hold|qualify)"
    rf"|(?:(?:is|are|was|were|being|having been|have been|can be) )?(?:\w+ly |all |both )?{_WRONG}"
    r"|fails?)(?:,? (?:among(?:st)? others|for (?:instance|example)|e\.g\.))?\)",
    re.IGNORECASE,
)
"""Others that are excluded in a bracket: "by elimination (A and C can't be right, among others)"."""


_COUNTED = (
    rf"(?:option )?{X} (?:(?:\d{{1,4}}|two|three|four|five|six|seven|eight|nine|ten) times|once|twice)"
    r"(?: out of \w+)?"
)
_TALLY = re.compile(
    rf"(?:\b[\w'’]{{1,20}} ){{0,3}}\b(?:chose|choose|picked|selected|voted(?: for)?|named|answered"
    rf"|said|went (?:for|with)) {_COUNTED}(?:(?:, and|,| and) {_COUNTED})*",
    re.IGNORECASE,
)
"""Votes that others gave: "voters chose B 2 times and C 3 times"."""


_MANY = (
    r"(?:only |just |about |exactly )?"
    r"(?:\d{1,6}(?:[.,]\d{1,3})?|no|an?|one|two|three|four|five|six|seven|eight|nine|ten)\b"
)
_GETS = r"(?:got|gets?|received|receives|had|has|won|took|takes|collected|gathered|drew|garnered)"
_SHARE = (
    rf"{_MANY}\s?(?:%|percent)?(?: of (?:the |all )?(?:\d{{1,6}} )?)?\s?(?:votes?|ballots?)?"
    r"(?: out of \d{1,6})?"
)
_POLL = lazy_regex(
    rf"(?:option |choice )?{X}[)*_]{{0,3}}(?: {_GETS} |\s?[:=(–-]\s?| )"
    rf"(?=[^.!?]{{0,100}}\b(?:votes?|ballots?)\b)(?P<many>{_SHARE})\)?"
    rf"(?:(?:[,;]|\n| and| while| whereas| but| to| against)+ (?:option |choice )?{X}[)*_]{{0,3}}"
    rf"(?: {_GETS} |\s?[:=(–-]\s?| )?{_SHARE}\)?)*"
    rf"|\b[Vv]otes?\s?:\s?(?:[,;]?(?: and)? ?{X}[)*_]{{0,3}}(?: |\s?[:=(–-]\s?){_MANY}\)?){{2,}}"
)
"""How many votes candidates got: which of them wins is said elsewhere, or not at all."""
_OF_POLL = re.compile(rf"{X}.*{X}|{X}[)*_]{{0,3}} {_GETS} ", re.DOTALL)
"""Of several, or of one that got some."""
_UNCHANGED = re.compile(
    rf"(?:(?<=[.!?]\s)|^)(?:My|I)\b[^.:;!?\n{X[1:-1]}]{{1,80}}, but (?:this|that|it|the answer)"
    r" (?:hasn['’]t|has not|has never|never|does not|doesn['’]t|did not|didn['’]t|won['’]t|will not)"
    r" change[sd]?(?: since(?: then)?)?\s?[:;,–—]\s",
    re.MULTILINE,
)
"""Of what one knows may be out of date, what is not."""
_CHECKED = re.compile(
    r"\bI(?:['’]ve| have)? (?:double-?|re-?|cross-?)?(?:checked|verified)(?: \w{1,8}){0,2}"
    r"(?:\s?[:;]\s(?=(?:it|this|that)\b)|,? and\s(?=[^!?\n]{1,60}?\b(?:right|correct|true|wrong)\b))"
)
"""Before what the check has shown."""
_DENIES_BELOW = (
    r"(?:(?:\b(?:is|are|was|were|can|could|does|do)(?: not|n['’]t| never)|\bcan(?:not|['’]t))"
    r"(?: (?:be|any of|one of|the|these|this|those|following|among|answers?|options?|correct|right|my|fit"
    r"|match|work)){0,4}"
    r"|(?:^|(?<=[.!] ))\W*(?:[Nn]ot|[Ww]rong|[Ii]ncorrect|[Ff]alse|[Ee]xcluded|[Ee]liminated|[Rr]uled out"
    r"|[Rr]ejected)(?: (?:the|my|an?|one of|answers?|options?|choices?|correct|right|ones?|so far)){0,3})"
    r"[*_]{0,3}:[*_]{0,3}[ \t]*"
)
DENIES_BELOW = re.compile(_DENIES_BELOW + "$")
"""A line that says of what stands below that it is not right."""
_ALONE = rf"[*_(]{{0,3}}{X}[*_).]{{0,4}}"
_LISTED_WRONG = re.compile(
    rf"{_DENIES_BELOW}\n\s*(?P<them>(?:[>*-]\s)?{_ALONE}(?:\s*\n[ \t]*[>*-]\s{_ALONE})*)(?=[ \t]*(?:\n|\Z))",
    re.MULTILINE,
)
_EXPLAINED = re.compile(
    r"\b((?:it|this|that)(?:['’]s| is| must be| has to be| can only be| should be)"
    rf"(?: \w+ly)? (?:option |answer |choice )?{X}[)*_]{{0,3}}):(?=\s[^\W\d_])"
    r"(?![^.!?\n]*\b(?:wrong|false|incorrect|trap|decoy|distractor|bait|which|mistake|error|myth|lie|joke|trick)\b)",
    re.IGNORECASE,
)
"""An answer before the colon behind which it is explained."""
_NOT_BUT = re.compile(
    r"(?:\A\s*|(?<=[.!?]\s)|(?<=\n))(?:[Nn]o,? )?[Nn]ot "
    r"(?!(?:sure|certain|surprising|only|that|to|for|in|hard|so)\w*\b"
    r"|[^:\n]*\b(?:answers?|correct|right|true|valid|options?|choices?|solutions?|results?"
    r"|ones?|it|this|these)\b)"
    rf"[^.:;!?\n{X[1:-1]}]{{1,60}}: (?=[*_]{{0,3}}{X}[*_.!]{{0,4}}(?:\s|\Z))"
)
"""Another answer that is denied before the one: "not mouses: mice"."""
_IS_NOT_OTHER = re.compile(
    r"\((?:it|that)(?: isn['’]t| is not|['’]s not) (?=[A-Z])(?!(?:True|Right|Correct|Sure)\b)"
    rf"[^().,:;!?\n{X[1:-1]}]{{1,80}}\.?\)"
)
"""In brackets: the name of another answer, which it is not."""


def _each_wrong(found: re.Match[str]) -> str:
    return ". ".join(["", *(f"{x} is wrong" for x in CANDIDATE.findall(found["them"])), ""])


def without_remarks(text: str) -> str:
    """Return a text without what stands beside its answers and says nothing of them."""
    if "【" in text:
        text = _MARKED_SOURCE.sub("", text)
    if "[" in text:
        text = _CITATION.sub("", _REFERENCE.sub("", text))
    if "ource" in text or "eference" in text or "itation" in text:
        text = _SOURCES.sub("", text)
    if " change" in text:
        text = _UNCHANGED.sub("", text)
    if "ecked" in text or "verified" in text:
        text = _CHECKED.sub("", text)
    if "(" in text:
        text = _EXCLUDED.sub(_each_wrong, text)
        text = _IS_NOT_OTHER.sub("", text) if "(it" in text or "(that" in text else text
        text = _SOURCE_DOUBTED.sub("(perhaps)", _OF_SOURCE.sub("", text))
        text = _ASIDE.sub(lambda m: m[0] if _DOUBT.search(m["of"]) else "", text)
        text = _FORMER.sub("", text)
        text = _NOT_OTHER.sub(lambda m: m[0] if m["own"] in m["other"] else m["own"] + m["between"], text)
    if "ot " in text and ": " in text:
        text = _NOT_BUT.sub("", text)
    if _CONTRASTS.search(text):
        text = _NOT_OTHER_AFTER.sub(r"\g<own>", text)
    if "," in text:
        text = _UNLIKE.sub("", _OPENING.sub("", text))
        text = _APPOSED.sub(r"\g<what> is \g<own>. It ", text)
    if "ing " in text and " leaves " in text:
        text = _LEFT_BY.sub("it is ", text)
    if "ot " in text or "either " in text:
        text = _NOT_THESE.sub("", text)
    if ":" in text or "=" in text:
        text = _LISTED_WRONG.sub(_each_wrong, _EXPLAINED.sub(r"\1.", _ticked(text)))
        text = _GUESSED.sub(
            lambda m: f"{m['what']} is {'correct' if m['right'] or m['so'] else 'wrong'}.", text
        )
    if "so " in text or "as " in text:
        text = _TOO_IS_WRONG.sub(r"\g<is>. \g<other> is wrong", text)
    if "nor " in text or "either " in text:
        text = _NEITHER_IS.sub(_neither, text)
    if "the former" in text or "the latter" in text:
        text = _OF_TWO.sub(_the_one, text)
    if _MAY_BE_NONE_BUT.search(text):
        text = _NONE_BUT.sub(lambda m: f"it is {m['any'] or m['none'] or m['not']}", text)
    if " times" in text or "twice" in text:
        text = _TALLY.sub("", text)
    if "vote" in text or "Vote" in text or "allot" in text:
        text = _POLL.sub(lambda m: "" if _OF_POLL.search(m[0]) else m[0], text)
    if "There " in text:
        text = _RELATED.sub("", text)
    return _HEADED.sub("\n", text) if ":" in text else text
