"""Words and signs by which a sentence answers a question, beside an answer or in place of one. Lists alone;
`weighing` reads them."""

from __future__ import annotations

import re

from rewardkit.rewards.reading.clause_words import X
from rewardkit.rewards.reading.counted import table
from rewardkit.rewards.reading.lazy_regex import lazy_regex

WORD = re.compile(r"\d[\d,.]*\d|\d|[^\W\d_]+(?:'(?!s\b)[^\W\d_]+)?")
GRAMMAR = table(
    "the a an is are was were be been it its this that these those and so well ok okay yes yeah yep sure "
    "just of in on at to by for from with as has have had does do did s t i we my our me you your then "
    "here now thus hence therefore there he she they his her their one two both which who whom whose what "
    "when where how why because since named called known also really simply definitely clearly certainly "
    "indeed probably likely think believe guess would should must will can hmm ah oh alright right mean "
    "sum conclusion short summary fact actually course final finally answer answers correct correctly "
    "result conclude go going choose pick say said q ll d m re ve note about into out up all own happy "
    "help confident quite fairly pretty very overall thoughts based information given above question "
    "response ultimately end exactly precisely specifically particular case still even looking option get "
    "gives full only thing value name term solution output left remains statement wanted requested asked "
    "needed required consistent fits matches search key verdict expression total figure found definitive "
    "verified corrected confirmed return report submit give provide state enter write equals yields step "
    "confidence high certainty afaik iirc simply put guessing mate am cannot or period properly rightly"
    " strictly admits single sole reply obtain obtains "
    "replies after answering comfortable brief memory best stand let read hesitation without reservation "
    "survivor erratum corrigendum thought denied kind truly meant simple basic basics classic quick "
    "recall common general knowledge trivia quiz school obvious textbook stuff piece cake lol lmao haha "
    "tbh imo ngl btw fyi obviously undoubtedly unquestionably easy duh totally gotta def prob bet reality "
    "truth though but yet however nor nah nope no serves serve acts evidence city country year man woman "
    "author artist film book song team animal it'd that'd would'd undeniably surely certain quantity rather "
    "same most stays unchanged entity person place item word desired sought candidate hands down "
)
"""Words that answer nothing."""
BESIDE = table(
    "the a an is are was were be been it it's that's its this that in on at to by for from with as has "
    "have had called named being exactly precisely simply just namely definitely clearly certainly "
    "actually indeed probably likely surely say says answer answers think thus so therefore hence choose "
    "pick go then and i'd i'll still really course result conclusion thoughts here there of question both "
    "a: since because answering equals means gives yields output reads remains left submit report return "
    "enter write makes make made rather measures totals costs weighs lasts spans "
)
"""Words that may stand next to an answer and are no part of it."""
IS = re.compile(r"\b(?:is|are|was|were|be|means?|equals?|becomes?)\b|'s\b|=")
JOINED = lazy_regex(
    r"(?:\b(?:and|or|nor|plus|minus|times|versus|vs|(?<!other )than|over|under|above|below|about|around"
    r"|nearly|almost"
    r"|roughly"
    r"|approximately|before|(?<!empty )(?<!full )(?<!over )(?<!done )(?<!ready )(?<!finished )after|near|half"
    r"|twice|between|least|most|up to|like"
    r"|(?<!total )(?<!sum )(?<!made )(?<!consists )(?<!composed )(?<!out )(?<!up )"
    r"(?<!height )(?<!length )(?<!depth )(?<!width )(?<!weight )(?<!age )(?<!speed )(?<!average )"
    r"(?<!distance )"
    r"(?<!autumn )(?<!summer )(?<!spring )(?<!winter )(?<!fall )(?<!year )(?<!point )(?<!product )"
    r"(?<!nickname )"
    r"(?<!temperature )(?<!duration )(?<!population )(?<!area )(?<!work )(?<!in the city )(?<!is the city )"
    r"(?<!in the town )of)"
    r"|[&/+×<>≈~-])\s?(?:the |an? )?"
    + X
    + "|"
    + X
    + r"\s?(?:(?:and(?! (?:is|was|are|were|has|had|became|releases?|gives? off|produces?"
    r"|\w+ed (?:in|on|at|by) )\b)|or|nor|plus|minus|times|versus|vs|but|'s|jr|sr|ii|iii"
    r"|hundred|thousand|million|billion|dozen)\b|[&/+×<>≈^-])|"
    + X
    + r"\s(?:the|an)\s[a-z]|"
    + X
    + r",\s(?:the |an? )?[^,.;:]{1,30},?\s(?:or|nor)\s|"
    + X
    + r",\s(?!(?:an?|the|which|who|not|because|since|as|of course|located|founded|known|in|no|obviously"
    r"|hands|for|duh|lol|final)\b)\w|\bfrom " + X + r" (?:to|into)\b"
)
"""The answer is one of several, or less or more than an answer."""
LEAD = (
    r"(?:(?:so|no(?=\s?[,.:–—-]|\s(?:wait|sorry|it|that|the)\b)|nope|(?:scratch|strike) that|edit|update"
    r"|wait|actually|well|hmm+|although|though|come to think of it|never ?mind|then|therefore|thus|hence"
    r"|and|but|sorry|oops|correction"
    r"|rather|or|oh|ah|now"
    r"|yes|instead|in fact|i think|i believe|i'd say|i mean|i meant|on \w+ thought)(?:[\s,:.–—-]+|$))*"
)
OTHER_ANSWER = re.compile(
    LEAD + r"(?:(?:it|that|this)(?:'s|\s(?:is|was|must be|should be|would be|has to be))"
    r"|(?:the|my|an?)\s(?:\w+\s){0,2}(?:answer|choice|result|winner|verdict|pick)(?:\s(?:to"
    r"|for)\s(?:\w+\s){0,3}\w+)?\s?(?:is|was|:|=|should be|must be)"
    r"|i(?:'m|'ll| am| will| would|'d)?\s(?:(?!cannot|can|never|not|hardly|could|might"
    r"|may)\w+\s)?(?:go(?:ing)? with|choos\w+|pick\w*|say|get|obtain|chang\w+ (?:it"
    r"|that|my answer) to"
    r"|switch\w* to|settl\w+ on|meant|mean)|make (?:it|that)|(?:answer|option|candidate"
    r"|choice)(?:\s\w)?\s?[:=])\s*(?P<what>.+)"
)
MAY_BE = re.compile(
    r"(?:\w+[\s,]+){0,3}(?:it|that|this|answer)\s(?:\w+\s)?(?:may|might|could|can)\s(?:\w+\s)?be\b"
    r"(?!\s(?:verified|checked|confirmed|found|seen|shown|looked|read|derived|prove[dn]|computed"
    r"|explained)\b)"
)
PREDICATE = re.compile(
    r"\W*(?:(?:the|an?|not|very|quite|all|well|widely|really|just|also|so|rather|too|one|my|common"
    r"|generally|indeed|still|of course|(?:definite|certain|absolute|clear|sure|complete|total|entire"
    r"|undoubted|perfect|precise|exact|actual)ly)\s)*"
    r"(?:documented|known|commonly|correct|right|true|clear|wrong|answer|final answer|why|how|because|in"
    r"|from|by|for|about|consistent"
    r"|interesting|famous|good|great|obvious|certain|easy|classic|standard|fact|what|where|when|sometimes"
    r"|often|said|all|it|mentioned|given|considered|based|\w+ly \w+ed|(?:well|widely|long|much)-\w+"
    r"|(?:[\w-]+ )*"
    r"(?:facts?|questions?|topics?|one|matter|answer|examples?|details?|points?|distinction|subject|trivia"
    r"|knowledge)(?:(?: \w+){0,4}|,? (?:that|which|you|people|everyone|we|every)"
    r" (?!.*\b(?:false|wrong|not|no|never|myths?|untrue|incorrect|disputed)\b).*)$)\b.*"
)
"""What is said of an answer that names none."""
SENTENCE_WORDS = table(
    "is are was were be been it i you we they he she let hope am do does did have has had can could will "
    "would should may might if because since as think know see that which this these let's i'm it's "
    "that's don't thanks thank please seem seems look looks appear appears matters helps works says means "
    "depends same "
)
"""A few words without any of these are no sentence."""
COURTESY = re.compile(
    r"(?:feel free|sure|great|good|happy|glad|hi|hello|hey|ok|okay|note|thank|thanks|certainly|of course"
    r"|absolutely"
    r"|no problem|no|yes|wait"
    r"|hmm+|well|alright|q|question|explanation|reason\w*|background|source|answer|result|conclusion"
    r"|final\w*|hope|cheers|easy|so|actually"
    r"|oh|ah|right|nope|short|in short|done|solution|context|because|interesting|fun fact|best|quick|let"
    r"|step|first|enjoy|better luck|good luck|have a|take care|nice|well done|congrat\w*|confidence"
    r"|sources?|cf|see)\b"
)
