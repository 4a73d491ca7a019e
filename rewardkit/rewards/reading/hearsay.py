"""Answers in the mouth of somebody whom the speaker disowns: "according to a fool", "it is widely thought".

Sources that a speaker relies on (the textbook, the table, Wikipedia, most sources) are none of these, and
"even a fool can see" claims what it says.
"""

from __future__ import annotations

import re

from rewardkit.rewards.reading.counted import table
from rewardkit.rewards.reading.lazy_regex import lazy_regex

_SCORNED = (
    r"(?:fool|idiot|moron|liar|imbecile|dunce|dimwit|simpleton|ignoramus(?:es)?|charlatan|quack|crank|clown"
    r"|troll|drunkard|devil|opponent|spambot|propaganda|trickster|hoaxer|flat.earther|know.nothing"
    r"|nitwit|blockhead|ass(?:es)?)s?"
)
_UNLEARNED = (
    r"(?:lay(?:man|men|person|people)|amateur|novice|beginner|dilettante|child(?:ren)?|kid|toddler"
    r"|every(?:one|body)|ancient|conspiracy theor(?:ist|y|ie)|rumou?r|myth|superstition|gossip|hearsay"
    r"|old wives)s?"
    r"|(?:the )?(?:ignorant|uninformed|misinformed|uneducated|gullible|unwary|clueless|general public|masses)"
    r"|(?:people|some(?:one|body)|any(?:one|body)|those|folks|students?|they) who (?:know|understand)s?"
    r" (?:nothing|little|no|not)\b[^,.;:\n]{0,20}"
)
_SCORNFUL = (
    r"(?:careless|foolish|stupid|ignorant|uninformed|misinformed|gullible|clueless|sloppy|drunk(?:en)?"
    r"|crazy|mad"
    r"|unreliable|medieval|blind|older (?=model)|weaker (?=model)|dubious|fake|outdated|silly|dishonest"
    r"|incompetent|inattentive|hasty|lying|bad"
    r"|na[iï]ve(?! bayes))"
)
_KIN = (
    r"(?:my|your|his|her|our|their|some) (?:\w{1,10} )?(?:uncle|aunt|brother|sister|friend|neighbou?r"
    r"|roommate|cousin"
    r"|dog|cat|mother|father|mom|mum|dad|grand\w{2,6}|son|daughter|boss|barber|buddy|mate)s?"
)
_ARTICLE = r"(?:(?:an?|the|some|many|most|all|my|our|your|those|these|other|only|such|certain|one) ){0,2}"
_SPEAKER = (
    rf"(?:{_ARTICLE}(?:[\w-]{{1,12}} )?(?:{_SCORNED}|{_UNLEARNED}"
    rf"|{_SCORNFUL} (?:[\w-]{{1,12}} )?[\w-]{{2,15}})\b|{_KIN}\b)"
)
_VAGUE = (
    r"(?:(?:some|others|many|him|her|them|people)(?=,| (?:the|it|this)\b)|(?:some|many|other"
    r"|few) (?:people|students|folks|users|readers)"
    r"|legend)\b"
)
_SAYS = (
    r"(?:(?:would|will|might|may|could|can|must|always|often|usually|sometimes|still|then|once|also"
    r"|likely|probably"
    r"|have|has|had|did|once) ){0,3}"
    r"(?:sa(?:y|ys|id)|think(?:s|ing)?|thought|t(?:ell|ells|old) (?:me|us|you|everyone)|answer(?:s|ed)?"
    r"|wr(?:ite|ites|ote|itten)|claim(?:s|ed)?"
    r"|believe[sd]?|guess(?:es|ed)?|argue[sd]?|assume[sd]?|insist(?:s|ed)?|sw(?:ear|ears|ore)"
    r"|maintain(?:s|ed)?|holds?|held"
    r"|have it|has it|had it|repl(?:y|ies|ied)|respond(?:s|ed)?|picks?|picked|choose|chooses|chose"
    r"|select(?:s|ed)?"
    r"|g(?:o|oes) (?:with|for)|went (?:with|for)|gives?|gave|get|gets|put|puts|conclude[sd]?|state[sd]?"
    r"|expect(?:s|ed)?)"
)  # fmt: skip
_BELIEVED = r"(?:believed|thought|said|assumed|claimed|supposed|rumou?red|alleged|imagined|presumed|held)"
_BELIEFS = (
    r"(?:belief|opinion|wisdom|view|perception|notion|lore|assumption|idea|myth|misconception|mistake"
    r"|error)s?"
)
TOLD = (
    rf"(?:\b(?:according to|in the (?:opinion|eyes|view|words|mind|judge?ment) of"
    rf"|if (?:you|we) (?:ask|asked|believe|trust|listen to)|as per) (?:{_SPEAKER}|{_VAGUE})"
    rf"|\b(?:by|in) (?:an? |the )?{_SCORNED}['’]s? \w+"
    rf"|\bit (?:used to be|was once|was long) {_BELIEVED}\b"
    rf"|\b(?:to|for) (?:an? |the )?{_SCORNED}\b(?=,| the\b| it\b|$)"
    r"|\b(?:legend|rumou?r|tradition|word|story|lore) has it\b"
    rf"|\b{_SPEAKER}(?: (?:who|like|of|in|from) [^,.;:\n]{{1,40}}?)? {_SAYS}\b"
    r"|\bit (?:is|was|has been) (?:a )?(?:commonly|widely|often|popularly|sometimes|usually|frequently"
    r"|generally"
    rf"|falsely|wrongly|mistakenly|erroneously|traditionally|long) (?:been )?{_BELIEVED}\b"
    rf"|\bit is an? (?:\w{{2,12}} )?(?:common|popular|widespread|frequent|general) {_BELIEFS} that\b"
    r"|\b(?:popular|common|public|general|conventional|received|folk) "
    rf"{_BELIEFS} (?:says?|holds?|has it|have it|claims?|suggests?|goes|maintains?|would have it|is)\b"
    r"|\bthe (?:general public|man in the street|average person|masses) (?:\w{2,8} )?(?:says?|thinks?"
    r"|believes?))"
)
"""Anywhere in a clause: what it says is told of others."""
TOLD_ABROAD = (
    r"\b(?:(?:viele|manche|einige|die meisten|leute)(?: \w+)? (?:denken|glauben|meinen|sagen|behaupten)"
    r"|(?:beaucoup|certains|d'aucuns|la plupart|les gens)(?: \w+)? (?:pensent|croient|disent|prétendent)"
    r"|(?:muchos|algunos|la gente)(?: \w+)? (?:creen?|piensan?|dicen?)"
    r"|(?:molti|alcuni|la gente)(?: \w+)? (?:pensano|credono|dicono|pensa|crede|dice)"
    r"|(?:muitos|alguns)(?: \w+)? (?:pensam|acham|acreditam|dizem)|(?:многие|некоторые) (?:думают"
    r"|считают|говорят)"
    r"|(?:dumm(?:kopf|köpfe)\w*|narr(?:en)?|idiot(?:en)?|lügner|laien?|ignorant\w*) (?:zufolge|nach"
    r"|würden?(?: sagen| antworten| meinen| denken)?,?|sag(?:t|en)|mein(?:t|en)|glaub(?:t|en))"
    r"|(?:selon|d'après) (?:un|une|des|les|certains) (?:\w+ )?(?:imbéciles?|idiots?|fous?|sots?"
    r"|menteurs?|ignorants?|profanes?)"
    r"|(?:un|une|des|les) (?:imbéciles?|idiots?|fous?|sots?|menteurs?|ignorants?) (?:di(?:rai(?:en)?t|t"
    r"|sent)|pens\w+|croi\w+)"
    r"|(?:según|segundo|secondo) (?:un|uno|una|um|uma|unos|los|algunos|alguns|certi) (?:\w+ )?"
    r"(?:tont[oa]s?|idiot[aeio]s?|neci[oa]s?|mentiros[oa]s?|ignorantes?|tol[oa]s?|sciocc\w+|stupid\w"
    r"|bugiard\w|estúpid\w)"
    r"|un[oa]? (?:tonto|idiota|necio|mentiroso|ignorante|sciocco|stupido|bugiardo) (?:d[ií]r[ií]a"
    r"|direbbe|dice|cree|crede|pensa)"
    r"|um[a]? (?:tolo|idiota|mentiroso) (?:diria|diz|pensa)|(?:дурак|глупец|лжец|невежда) (?:скажет"
    r"|сказал|говорит|думает))\b"
    r"|(?:很多|许多|有些|有的|不少|大多数|多数|有|一些)人(?:们)?(?:都|会)?(?:认为|以为|觉得|说|相信)"
    r"|(?:傻瓜|笨蛋|骗子|外行|无知的人|白痴)(?:会|都|们)*(?:认为|以为|觉得|说|相信)|据说"
    r"|(?:多くの人|一部の人|愚か者|馬鹿|素人|嘘つき)(?:は|が|なら|によると|によれば)|(?:많은"
    r"|일부) 사람들?(?:은|이)|바보(?:는|가|라면)"
)
_GOES_ON = (
    r"(?:[\s,:]{0,3}(?:that\s)?(?!.{0,60}\b(?:but|however|yet|though|although|whereas|actually|so|thus|hence"
    r"|therefore|and|because|otherwise)\b)[^,;:.!?\n]{0,60}[:=]?\s{0,2})?$"
)
_TOLD = lazy_regex(TOLD, re.IGNORECASE)
_TOLD_ABROAD = lazy_regex(TOLD_ABROAD, re.IGNORECASE)
_TOLD_NEXT = lazy_regex(
    rf"(?:{TOLD}|{TOLD_ABROAD}){_GOES_ON}"
    rf"|\b(?:{_SCORNED}(?:['’]s?)? (?:answer|choice|guess|pick|solution|result)"
    rf"|answer (?:of|from|by) {_SPEAKER}|(?:answer|choice) (?:that )?{_SPEAKER} (?:would|will"
    rf"|might) (?:give|write|get|choose|pick)"
    rf"|(?:^|[.\n]\s{{0,3}})(?:an? )?{_SCORNED})(?:\s(?:is|was|would be))?\s?:?\s{{0,2}}$",
    re.IGNORECASE,
)
_TOLD_BEHIND = lazy_regex(
    rf"[\s*_)\]$}}]{{0,4}}[,(–—-]?\s{{0,2}}(?:(?:according to|in the (?:opinion|eyes|view|words) of"
    rf"|if (?:you|we) (?:ask|believe|trust|listen to)) (?:{_SPEAKER}|(?:some|others|many|him|her|them"
    rf"|people)(?=[,.)!]|$))"
    rf"|(?:or |at least )?(?:so )?(?:says?|said|claims?|claimed|thinks?|thought|cries|cried) {_SPEAKER}"
    rf"|(?:or so|as|like|or what|is what|is how) {_SPEAKER}(?: (?:who|like|of|in"
    rf"|from) [^,.;:\n]{{1,40}}?)? {_SAYS}\b)",
    re.IGNORECASE,
)
SPEAKERS = table(
    "according public masses wives everyone everybody tradition story lore fool fools idiot idiots "
    "moron morons liar liars imbecile imbeciles dunce dunces dimwit dimwits simpleton "
    "simpletons ignoramus ignoramuses charlatan charlatans quack quacks crank cranks clown clowns troll "
    "trolls drunkard "
    "used once devil devils opponent opponents spambot propaganda trickster ancients medieval older "
    "weaker blind "
    "drunkards nothings nitwit nitwits blockhead blockheads ass asses layman laymen layperson "
    "laypersons laypeople "
    "amateur amateurs novice novices beginner beginners dilettante dilettantes child children kid kids "
    "toddler toddlers "
    "conspiracy rumour rumours rumor rumors myth myths superstition superstitions gossip hearsay legend "
    "ignorant uninformed misinformed uneducated gullible unwary clueless careless foolish stupid "
    "sloppy drunk drunken crazy mad unreliable dubious fake outdated silly dishonest incompetent "
    "inattentive hasty lying "
    "bad naive uncle aunt brother sister friend neighbor neighbour roommate cousin dog cat mother "
    "father mom mum dad son "
    "daughter boss barber buddy mate commonly widely often popularly sometimes usually frequently "
    "generally falsely "
    "wrongly mistakenly erroneously traditionally popular common widespread frequent conventional received "
    "folk street average viele manche einige meisten leute beaucoup certains aucuns plupart gens muchos "
    "algunos "
    "gente molti alcuni muitos alguns dummkopf narr narren idioten laien selon tonto idiota necio "
    "mentiroso ignorante "
    "tolo sciocco stupido bugiardo imb menteur segundo secondo"
)
"""One of these words stands in all that is told of others, but for other scripts."""
_SIGNS = (
    "say", "said", "thin", "thought", "liev", "ccording", "pinion", "eyes of", "has it", "have it", " told ",
    "claim", "would", "isdom", "f you", "hold", "wrote", "writes", "for ", "to a ", "to the ",
    "held", "fool", "used to be", "once", "answers",
)  # fmt: skip
"""One of these stands in all that is told of others in English."""


_OPPOSED = re.compile(
    r"\b(?:even|any|every|no|unlike|contrary to|despite|whatever|regardless|not)\b[^,.;:\n]{0,20}$",
    re.IGNORECASE,
)
"""Before somebody whom one disowns: "even a fool", "unlike what fools say"."""


_LETTERS = re.compile(r"[a-z]+")


def _tells(pattern: re.Pattern[str], text: str) -> bool:
    return any(not _OPPOSED.search(text, 0, found.start()) for found in pattern.finditer(text))


def told(clause: str) -> bool:
    """Return whether a clause, in small letters, tells what others say whom the speaker disowns."""
    return any(map(clause.__contains__, _SIGNS)) and _tells(_TOLD, clause)


def told_abroad(text: str) -> bool:
    """Return whether a text in another language tells what people believe or fools say."""
    return _TOLD_ABROAD.search(text) is not None


def told_next(before: str) -> bool:
    """Return whether what a sentence goes on to say is told of others whom the speaker disowns."""
    if before.isascii() and SPEAKERS.isdisjoint(_LETTERS.findall(before.lower())):
        return False
    return _tells(_TOLD_NEXT, before)


def told_behind(text: str, position: int = 0) -> bool:
    """Return whether what follows a place puts what stands before it into somebody else's mouth."""
    return _TOLD_BEHIND.match(text, position) is not None


def told_within(text: str) -> bool:
    """Return whether an answer is put into somebody else's mouth behind it: "5, according to a fool"."""
    return any(map(text.__contains__, _SIGNS)) and _TOLD_BEHIND.search(text) is not None
