"""The words by which a response announces its answer: "the answer should be", "Answer -", "I'd go with".

A marker is what stands before the answer; what the answer is, is read elsewhere. Wordings that hedge ("could
be", "might be") or deny ("cannot be", "the least likely answer is") are none.
"""

from __future__ import annotations

import re

from rewardkit.rewards.reading.lazy_regex import lazy_regex

_ADVERB = (
    r"(?:therefore|thus|then|hence|so|also|here|now|clearly|definitely|indeed|certainly|surely"
    r"|obviously|simply|just"
    r"|undoubtedly|undeniably|consequently|actually|really|most\scertainly|of\scourse|in\sfact"
    r"|without\s(?:a\s|any\s)?doubt"
    r"|I\s(?:am\s(?:sure|certain|confident|convinced)|believe|think))"
)
_ADVERBS = rf"(?:,?\s{_ADVERB}\b,?){{0,2}}"
_COPULA = (
    r"(?:(?:is|are|was)|becomes|(?:turns|comes|works)\sout\s(?:to\sbe|as)|ends\sup\s(?:being|as)"
    r"|proves\sto\sbe|boils\sdown\sto"
    rf"|(?:would|should|must|will|shall|has|have|ought|can(?=\s\w{{0,12}}\s?only\s))(?:,?\s{_ADVERB},?)?"
    r"(?:\s(?:(?:got\s)?to|have\sto|only))?\s(?:be|lie)|must\shave\sbeen)\b(?:\snone\sother\sthan\b)?"
)
_WHOSE = (
    r"(?:\s(?:given|stated|found|named)\s(?:in|by)\s(?:the|this|that|our)\s\w{1,12}|\sto\s(?:this|that"
    r"|it)(?=\s(?:is|was)\b)"
    r"|\s(?:that\s)?you\s(?:want|need|seek|are\slooking\sfor|asked\sfor)"
    r"|\s(?:that\s)?(?:I|we)\s(?:want|get|got|need|seek|obtain|find|found|choose|reach|are\slooking\sfor)"
    r"|\s(?:to|among|of|from|for|out\sof|amongst)\s(?:(?:all|the|this|these|those|our|your)\s){0,2}"
    r"(?:(?:above|given|listed|four|five|following|multiple.choice|possible|original)\s)?"
    r"(?:four|five|three|questions?|problems?|options?|choices?|ones|answers?|task|possibilities)\b"
    r"(?:\s(?:above|given|listed|here|provided|\d{1,3}))?)?"
)
_NOUN = (
    r"(?:answers?|(?:correct|right|best|final|proper|only|remaining|selected|chosen|appropriate"
    r"|accurate|suitable|likely|my"
    r"|required|intended|desired|expected|true)"
    r"\s(?:option|choice|response|letter|selection|pick|statement)"
    r"|(?:options?|choice|statement|one|answer)\sthat\s(?:best\s)?(?:fits?|match(?:es)?|works?|holds?"
    r"|applies|answers|describes"
    r"|satisfies|remains|stands|makes\s(?:the\smost\s)?sense|is\s(?:correct|right|true))"
    r"(?:\s(?!(?:least|less|worst|badly|poorly|not|no|never|neither|only)\b)\w{1,12}){0,4}?)"
)
_WRONG_ABROAD = (
    r"(?:incorrect\w{1,2}|inexacte?|fals(?:ch\w*|[ao])|fau(?:x|sse)|mauvaise|err(?:ad|at)[ao]|erróne[ao]"
    r"|sbagliat[ao]"
    r"|equivocad[ao]|неверн\w+|неправильн\w+|yanlış)"
)
_LABEL_NEXT = r"(?=[\s*_(\[]{0,6}(?:(?:option|choice)\s\(?)?[A-J](?:[)\].:,;*_]|\s*$))"
"""What may be meant otherwise is a marker before a label alone."""
CHOOSING = re.compile(
    r"\b(?:I|we|let['’]?s|let\sus)(?:['’](?:d|ll|m|re)|\s(?:would|will|shall|should|must|am|are|(?:have"
    r"|need|ought)\sto))?"
    rf"(?:\s{_ADVERB})?\s(?:choose|pick|select|answer(?!\s(?:\w{{1,12}}\s){{0,2}}what\b)|opt\sfor"
    rf"|settle\son|go(?:ing)?\s(?:with"
    rf"|for))\b(?!\s(?:the|this|your)\s"
    r"(?:question|problem))[:：]?|\b(?:I|we)(?:['’]d|\swould|\smust|\sshould)\ssay\b[:：]?",
    re.IGNORECASE,
)
"""What a writer does who chooses; of anything else than an option, too: "we choose A to be"."""
MARKER = lazy_regex(
    rf"(?<![^\W_])(?<![^\W_]_){_NOUN}(?![^\W_])[*_`\"”]{{0,3}}{_WHOSE}(?:{_ADVERBS}\s{{0,3}}(?:{_COPULA}{_ADVERBS}(?:\sthat\b|\sas\sfollows\b)?"
    r"|(?::{0,2}=|[:：])(?:-(?=\s))?)|\s{0,3}(?:[-=]>|[→➜➡⇒]))"
    r"|(?:^|(?<=[.!]\s))[\s*_#>-]{0,6}(?:so\s)?the\s(?:final\s|correct\s)?answer\?\s"
    r"|(?<!ould\s)(?<!will\s)(?<!ight\s)(?<!may\s)(?<!people\s)(?<!students\s)(?<!others\s)(?<!they\s)(?<!some\s)(?<!many\s)"
    r"\banswer[^\S\n](?=\(?[A-J]\b)|\bans(?:\s?[.:=]|\s[-–—]\s)"
    rf"|^[\s*_#>-]{{0,6}}(?:final\s?[:：]|(?<=\*\*)(?:final\s)?answer\*\*{_LABEL_NEXT})"
    r"|^[\s*_#>-]{0,6}(?:(?:my|the|final|correct|right)\s){0,3}(?:solution|verdict|decision|pick"
    r"|conclusion|selection|result|correct)"
    rf"[*_`]{{0,3}}\s?(?:[:：=]|is\b){_LABEL_NEXT}|\bthe\ssolution\sis{_LABEL_NEXT}"
    r"|^[\s*_#>-]{0,6}(?:(?:my|the|final|correct|right)\s){0,3}(?:answer|choice"
    r"|option)[*_`]{0,3}\s{1,3}[-–—]{1,2}(?=\s)"
    r"|^\#{4}(?=\s[*(\[]{0,4}[A-J][)\]*.:]{0,4}\s*$)|^\#{4}(?=\s*[-$]?\d[\d,.]*\s*\Z)"
    r"|(?P<quote>[\"'])(?:(?:final|correct|my|corrected|revised|updated|actual|true"
    r"|real)[_\s])?(?:answers?|choice"
    r"|option|letter|prediction)(?P=quote)\s{0,3}:"
    r"|\banswer\s(?=(?:is|was)n['’]t\s)"
    rf"|{CHOOSING.pattern}"
    rf"|\b(?:antwort|réponse|respuesta|risposta|resposta|opción|opção|ответ|yanıt|답)\b"
    rf"(?:\s(?!(?:no|non|não|pas|{_WRONG_ABROAD})\b)\w{{1,20}}){{0,3}}?"
    r"\s?(?:[:：]|\b(?:ist|lautet|est|es|è|é)\b)(?!\s(?:nicht|pas|kein\w?)\b)"
    r"(?:\s(?:donc|alors|also|somit|folglich|daher|portanto|então|pues|entonces|dunque|quindi)\b)?"
    r"|(?<!错误)(?<!错误的)(?<!錯誤的)(?<!不正确的)(?:答案|选项|選項)\s{0,2}(?:应该|應該)?(?:是|为|為"
    r"|选|選|[:：]|】[:：]?)|(?:答え|正解"
    r"|答)\s?(?:は"
    r"|[:：])|정답은|(?<![가-힣])답은"
    r"|(?:故选|应选|應選|选择|選擇|选|選)[:：]?\s?(?=[(（]?[A-JＡ-Ｊ](?![A-Za-z]))",
    re.IGNORECASE | re.MULTILINE,
)
HINTS = (
    *("answer", "option", "choice", "choose", "response", "letter", "selection", "statement", "pick"),
    *("select", "ans.", "ans:", "ans =", "settle on", "opt for", "go with", "going with", "go for"),
    *("one that", "solution:", "solution is", "verdict", "decision:", "conclusion:", "result:", "correct:"),
    *("final:", "correct**:", "ans -"),
    *("going for", "####", "antwort", "réponse", "respuesta", "risposta", "resposta", "opci", "opç"),
    *("ответ", "yanıt", "답", "正解", " say", "答", "选", "選"),
)  # fmt: skip
"""Every marker has one of these in it, in lower case."""
MARKED_OTHERWISE = lazy_regex(
    rf"\b(?:{_WRONG_ABROAD}|wrong|incorrect|worst|least|less|un\w{{3,12}}|false|mistaken|bad|tempting"
    rf"|first|initial|draft|temporary|interim"
    r"|previous|old|original|example|sample|dummy|placeholder|template|trick"
    r"|common|popular|typical|usual|frequent|widespread|improper|impossible|implausible|inappropriate"
    r"|inaccurate|invalid|inferior"
    r"|his|her|their|your|(?!(?:here|it|that|let|what|there|question|problem)['’]s)\w{1,30}['’]s|poor"
    r"|second\sbest|naive|long(?:er)?|detailed"
    r"|no|not|never|isn['’]t)\s(?:[\w'’]{1,14}\s)?$",
    re.IGNORECASE,
)
"""Before a marker: it announces another answer than the response's own."""
UNSURE = lazy_regex(
    r"[\s*_#>,.!?;-]{0,6}(?:(?:so|and|but|then|well|hmm+|sorry|oh|i (?:think|guess"
    r"|suppose))\b,?\s)?(?:maybe|perhaps|yeah,? right|as if|in your dreams|(?:so )?says who"
    r"|possibly"
    r"|conceivably|potentially|what if|could it be that|it (?:could|may|might) (?:\w+ )?be that)\b,?\s",
    re.IGNORECASE,
)
"""What a sentence opens with that does not claim what it goes on to say."""
OF_SOMETHING_ELSE = (
    r"(?:in (?:an?|another|some) (?:\w+ )?(?:world|universe|reality|timeline)"
    r"|(?:for|to) (?:an?|another|some) (?:different |other )?question)"
)
"""What a sentence opens with whose answer is not one to the question."""
_PROVES = (
    r"(?:suggest|think|thought|believ|suppos|say|claim|assum|conclud|indicat|impl[yi]|infer"
    r"|expect|hold|prefer"
    r"|choos|pick|select|answer|accept|show|prov|establish|demonstrat|support|confirm|point"
    r"|tell|argu|maintain"
    r"|assert|favou?r|prompt|back|lead)\w{0,5}"
)
_GROUNDS = (
    r"(?:reason|evidence|proof|grounds?|basis|cause|indication|sign|hint|argument"
    r"|justification|support|warrant"
    r"|case|clue|data|facts?|source|logic|rule|calculation)s?"
)
_NOT_OTHERWISE = (
    r"(?!.{0,60}(?:\bnot\b|n['’]t\b|\bother(?:wise| than)\b|\b(?:any|every)thing (?:but|except)\b|\bwrong\b"
    r"|\belse\b))"
)
UNSUPPORTED = (
    r"\b(?:(?:nothing|little|hardly anything|not (?:much|anything|a thing))\b(?: (?!but\b)\w{1,12}){0,4}"
    rf" (?:to|that|which) {_PROVES}\b(?!\s?:)"
    rf"|(?:nothing|none of \w{{1,12}}(?: \w{{1,12}})?|(?:no|little|not one|no single) {_GROUNDS})"
    rf"(?: (?:here|really|actually|clearly|in \w{{1,12}} \w{{1,12}}|whatsoever|at all)){{0,2}} {_PROVES}\b"
    r"|(?:no|little|scant|(?:hardly|scarcely|never|barely|not) (?:any|an?|one|the slightest|enough|much)"
    rf"|without|zero"
    rf"|insufficient)(?: (?!doubt)\w{{1,12}}){{0,3}}? {_GROUNDS}(?: (?:whatsoever|at all"
    rf"|here|given|yet)){{0,2}}"
    rf" (?:to {_PROVES}|for (?!doubt)\w{{1,12}}ing(?: that)?|that|it is)\b"
    r"|nothing (?:is|was|could be|can be|would be) further from|can(?:not|['’]t) be further from"
    r"|far(?:ther)? from the truth|further from the truth"
    r"|(?:yet|remains?|remained|still) to be (?:\w{1,12}ly )?"
    r"(?:shown|prove[dn]|established|demonstrated|seen|verified|confirmed|decided|determined|settled)\b"
    r"|(?:far from|anything but|by no means|in no way|not at all|nowhere near|not(?: yet"
    r"| really| entirely| so)?)"
    r" (?:prove[dn]|clear|certain|sure|obvious|established|settled|evident|convinced|decided|confirmed)"
    r" (?:that|if|whether)\b"
    r"|(?:an? (?:open|undecided|disputed) question|unclear|uncertain|undecided|unknown|doubtful|debatable"
    r"|questionable|unproven|unconfirmed|disputed) (?:that|if|whether)\b"
    r"|(?:cannot|can['’]t|could not|never|not|nobody has|no one has|n['’]t)(?: (?:be|been|yet|ever)){0,2} "
    rf"(?:shown|prove[dn]|established|demonstrated|confirmed) that\b){_NOT_OTHERWISE}"
)
"""What denies that there are grounds for what a sentence goes on to say: "nothing suggests that"."""
_BEARERS = (
    r"(?:person|one|man|woman|experts?|scholars?|students?|teachers?|readers?|mathematicians?|historians?"
    r"|sources?"
    r"|books?|textbooks?|keys?|graders?|examiners?|reasoning|lines?|paths?|routes?|roads?|steps?|methods?"
    r"|readings?"
    r"|interpretations?|theor(?:y|ies)|chains?|trains?|considerations?|way|derivations?|computations?)"
)
_SURER = (
    r"(?!(?:more )?(?:clear|sur|plain|simpl|eas|certain|obvious|evident|true|truer|safe|better|natural)\w*)"
)
DENIED_AFAR = (
    rf"\b(?:over my dead body|(?:under no (?:circumstances?|conditions?)|in no (?:way|sense|case)"
    rf"|by no means|on no account"
    r"|at no (?:point|time|stage|moment))"
    r"|out of the question that"
    r"|no (?:question|chance|way|possibility|hope|prospect|danger|likelihood|sense) (?:of|in which"
    r"|by which|in saying)"
    r"(?! (?:doubt|error|a mistake|being wrong|confusion|mistak))"
    rf"|(?:no|nothing|few|hardly any)\b(?: \w{{1,12}}){{0,3}} (?:could|would|can|is"
    rf"|was) (?:ever )?(?:possibly )?(?:be )?"
    rf"{_SURER}(?:more \w+|\w+er|worse) than (?:to|that|saying|claiming|thinking|the (?:claim|idea|notion"
    rf"|belief))"
    rf"|no (?:\w{{1,12}} ){{0,2}}?(?:{_GROUNDS}|{_BEARERS})(?: (?:in|of|to|from|with"
    rf"|on) \w{{1,12}}(?: \w{{1,12}})?)?"
    rf" (?:(?:would|could|will|can|should|may|might|ever|possibly|actually|really|seriously) ){{0,2}}"
    rf"(?:{_PROVES}|says?|comes?|ends?|arrives?|gives?|yields?|results?))\b(?!.{{0,80}}[,:;]){_NOT_OTHERWISE}"
)
"""What denies, far before it, what a sentence goes on to say: "no argument leads to the conclusion that"."""
ASSURED = (
    r"\b(?:(?:there(?:['’]s| is| can be| could be) )?"
    r"(?:no|little|hardly any|not (?:an?|any|the (?:slightest|least))|without(?: an?| any)?"
    r"|beyond(?: an?| any| all)?)"
    r" (?:reasonable |possible |shadow of a )?(?:doubt|question|mistake)(?! of\b| (?:could|would|can) be\b)"
    r"(?: that| about it)?"
    r"|(?:no|little) (?:good |real )?(?:reason|cause|grounds?|need|basis) (?:to|for) (?:doubt|dispute"
    r"|question)(?:ing)?(?: that)?)\b"
)
"""What has a word of denial, and denies nothing: "there is no doubt that"."""
_SLIP = (
    r"(?:(?:mere |silly |simple |stupid |little |clerical |small )?(?:slip|blunder|misprint"
    r"|oversight|lapse|gaffe"
    r"|goof|misclick|typo|brain.?(?:fart|freeze))(?:-?ups?)?)"
)
SLIPPED = (
    rf"(?:(?:(?:that|this|it|which)(?:['’]s| was| is)|forgive|excuse|pardon|sorry for)"
    rf" (?:just |only |clearly |simply )?(?:an?|the|my|this|that) {_SLIP}\b(?! (?:by|that|in"
    rf"|for|to|which|when)\b)"
    r"|an? slip of the (?:pen|tongue|keyboard|finger|mind|hand)|an? misprint\b"
    r"|i (?:just |have |must have )?(?:misspoke|misspoken|mistyped|misclicked|misremembered"
    r"|miswrote|slipped)\b"
    r"(?: up| there)?(?! (?:on|into)\b)"
    r"|i (?:just |have |must have )?(?:pressed|hit|clicked|typed|struck|pushed|tapped"
    r"|wrote) the wrong \w{1,12}"
    r"|wrong (?:button|key)\b"
    r"|april fools?\b|psyche?(?=[!.]|$)|gotcha\b|fooled you\b|(?:just|only) kidding\b|but i lied\b"
    r"|i (?:just )?lied\b"
    r"|then again,? (?:no|nope|not)\b|(?:er+m?|u[hm]+|hmm+|well),? (?:no(?:pe)?(?=[.!,;]|$)|not (?:really"
    r"|quite|at all)\b)"
    r"|strike that\b|(?:said|says|cried|shouted) (?:no one|nobody|the|an?|my|some)\b|don['’]t quote me\b"
    r"|my (?:foot|eye|ass)\b"
    r"|(?:that|this)(?:['’]s| is| was) what i(?: would|['’]d) (?:\w{1,12} )?(?:say|answer) if\b"
    r"|in your dreams\b|when (?:pigs fly|hell freezes)|half (?:of )?the time\b|(?:for|in) (?:half|some"
    r"|a few) of the cases\b"
    r"|only on (?!the\b|a\b|this\b)\w{3,9}days?\b|is my lucky (?:pick|guess|number)\b|is what i (?:want"
    r"|wish|hope) it\b"
    r"|(?:earns|scores|gets|deserves|is worth) (?:no|zero) (?:credit|points|marks)\b"
    r"|(?:verdict|status|grade|check)\s?[:=]\s?(?:wrong|incorrect|false|fail(?:ed|s)?|rejected)\b"
    r"|i (?:just )?(?:made|make) (?:this|that|it) up\b|i (?:just )?invented (?:this|that|it)\b"
    r"|or the other (?:one|way round)\b"
    r"|(?:that|this|it)(?:['’]s| is| was) (?:an? |pure |all )?(?:hallucinat\w+|fabricat\w+|made up"
    r"|invented|invention)\b"
    r"|(?:sarcasm|joke|lie|made up|hallucinated|fabricated|invented|not really|unverified)\s?\)"
    r"|citation needed\b|(?:but )?what do i know\b|lol jk\b"
    r"|who knows(?=\s?[.!?…]|$)"
    r"|both (?:of (?:them|these) )?are (?:right|correct|valid|possible|acceptable)\b)"
)
"""What takes an answer back as something that was not meant."""
OVERTAKEN = (
    r"(?:(?:that|this|it|things|the answer) (?:has|have|had) (?:since |now |recently |long )?changed\b"
    r"|(?:but |though )?not any ?more\b"
    r"|(?:mine|my (?:own )?(?:answer|result|solution|value|number|calculation|count|one)) (?:differs?"
    r"|disagrees?"
    r"|(?:is|was) (?:different|another|not the same)|does(?: not|n['’]t) (?:match|agree)|comes out different)"
    r"|i (?:get|got|have|find|found|obtain|obtained) (?:something else|another (?:one|answer|result|value)"
    r"|a different|something different)\b)"
)
"""What says that an answer holds no longer, or is not the response's own."""
ONCE = (
    r"(?:before(?! (?:we|i|you) )|until|till|prior to|up (?:to|until)|back (?:then|when|in)"
    r"|in (?:the )?(?:past|olden|early|earlier|1[0-9]\d\d|20\d\d)\b|(?:in|under|by) the (?:old|former"
    r"|previous)"
    r"|formerly|previously|originally|historically|at (?:the|that) time|in those days"
    r"|(?:years|decades|centuries|long) ago|last (?:year|time|month|week|century)|yesterday"
    r"|for (?:a long|some|a) (?:time|while)"
    r"|after the (?:reform|change|election|war|update|vote|merger)|next (?:year|month|week|century)"
    r"|from 20\d\d"
    r"|in (?:the )?(?:near )?future|tomorrow|one day)\b"
)
"""At a time that is over, or to come."""
ONCE_SO = lazy_regex(
    rf"[\s*_(\[\"']{{0,4}}[^\s,;.\n](?:[^,;.\n]|\.(?=\d)){{0,80}}?,?\s(?:{ONCE}|then\W*\Z)", re.IGNORECASE
)
"""In the place of an answer that was one: when it was."""
BEFORE_NOW = lazy_regex(
    rf"(?:^|[.!?:;\n])[\s*_#>-]{{0,4}}(?:but |and )?(?:{ONCE}|once|in)\b[^.!?;:\n]{{0,60}}$", re.IGNORECASE
)
"""Before an answer that was one: when it was."""
YOURS = (
    r"\b(?:(?:you|the reader|(?:let|leave it to|up to) you(?: to)?) (?:may |can |must |should |could )?"
    r"(?:decide|choose|pick|be the judge)(?=\W*$)|take your pick|pick whichever"
    r"|(?:the )?(?:choice|decision|call|verdict) is (?:yours|up to you)"
    r"|(?:leave|leaving|left) (?:it|this|that|the (?:\w{1,12} )?(?:choice|decision|verdict)) (?:up )?"
    r"to (?:you|the reader|others|someone else|the grader)|it(?:['’]s| is) (?:your (?:call"
    r"|choice|pick)|up to you)\b(?! (?:whether|if|how)))"
)
"""What leaves it to somebody else which answer it is."""
HAVE_DOUBTS = (
    r"\b(?<!you\s)(?:have|having|had|harbou?r|with) (?:(?:my|some|serious|grave|strong|real"
    r"|many|a few|severe|several) ){0,2}"
    r"(?:doubts|misgivings|qualms|reservations)\b"
)
OTHER_QUESTION = (
    r"(?:(?:practice|warm-?up|other|another|different|trial|training|demo|dummy|mock|toy"
    r"|similar|related|easier"
    r"|analogous|previous|earlier|sample|example) (?:question|problem|exercise|item|task|quiz|puzzle)"
    r"|warm-?up|(?:question|problem|exercise) (?:\w{1,12} )?\((?:warm-?up|practice|example|sample)\))"
)
"""A heading under which no answer to the question stands."""
FOR_OTHER_QUESTION = (
    r"\b(?:for|to|in|of|on|with) (?:the|an?|my|your|that) (?:previous|last|earlier|other|prior|preceding"
    r"|former|different|next) (?:question|problem|item|exercise|task|puzzle|one)"
)
LABELLED_OTHERWISE = lazy_regex(
    r"\b(?:to answer,?|(?:asked|told|supposed|instructed|meant|expected) to) (?:write|say|reply|type|put"
    r"|output|answer)"
    r"(?: with)?\W{1,3}(?:\w{1,12}\s){0,3}$|"
    rf"\b{OF_SOMETHING_ELSE}\b[^.!?\n]*$|\b{OTHER_QUESTION}\s?:\s[^.!?\n]*$|"
    rf"{FOR_OTHER_QUESTION},?(?: the)?\s$|"
    r"\b(?:(?:wrong|incorrect|bad|false|sample|model|example)\s(?:answer|response|reply|solution|output)s?"
    r"|example|(?:people|students?|others|everyone|somebody|someone|many|some|friend|teacher|candidates"
    r"|critics"
    r"|he|she|they|you)\s(?:\w{1,12}\s){0,2}(?:says?|write|writes|wrote|said|answers?|answered|thinks?"
    r"|thought|claims?|claimed|guess|guessed|replied|replies|put|argue|argued))\s?:\s(?:\w{1,12}\s){0,3}$",
    re.IGNORECASE,
)
"""Before a marker, on its line: what others answer, or an example."""
ALTERNATIVE = lazy_regex(
    r"\b(?:private|unofficial|back-?up|fall-?back|spare|reserve|secret|joke|second|third|fourth|fifth|2nd"
    r"|3rd|[4-9]th|alternative|another|other|different|further|additional|competing|rival"
    r"|(?<!only\s)(?:possible|potential|plausible)|tentative|provisional)\s(?:\w{1,12}\s)?$",
    re.IGNORECASE,
)
"""Before a marker: it announces one answer of several."""
SECOND_THOUGHT = lazy_regex(
    r"[\s*_.!?,;:)>\]}$\\–—-]{0,12}(?:or\b|alternative(?:ly)?\b|on\ssecond\sthoughts?(?!\?\sNo\b)"
    r"|never\s?mind|actually|maybe"
    r"|perhaps|possibly|rather\b|sorry"
    r"|wait\b(?!\s(?:for|until|and)\b|,?\slet me (?:also |just )?(?:explain|add|clarify|expand|note))"
    r"|hold\son\b|hmm\b|oops|scratch|correction|edit\b|update\b|i\smean|no[,.!:;]|nope|it\s(?:may|might"
    r"|could)\sbe)",
    re.IGNORECASE,
)
"""After an answer: another one follows."""
DENIAL = lazy_regex(
    r"\b(?:not|never|cannot|neither|nor|(?<!no\s)(?<!without\s)(?<!without\sa\s)(?<!any\s)doubt\w*"
    r"|(?:had|were)\s(?:I|we|it|you|this|they)|unlikely|few|nobody|no one|hardly anyone|except"
    r"|rule out|if|whether|unless|suppos(?:e|ing)|(?:as|so) long as|assume|imagine|pretend|refuse"
    r"|wrong answer|no way)\b"
    r"|\A\W*should\s(?:the|it|this|that|we|you|one)\b"
    r"|\b(?:false|untrue|wrong|incorrect|impossible|absurd|(?:a\s)?(?:lie|myth|mistake|error)|den(?:y"
    r"|ies|ied))\s(?:that|to\s\w{1,10})\b"
    r"|\b(?:some|many|most|people|others|students|they)\b[\w\s]{0,25}"
    r"\b(?:say|says|said|think|claim|argue|believe|answer|choose|pick|select|guess|vote|opt)\b"
    r"|n['’]t\b|不",
    re.IGNORECASE,
)
"""In the sentence before a marker: what the marker announces is not claimed."""
_SETTLED = lazy_regex(
    r"[\s*_#>-]{0,6}(?:(?:and|so|but|now|thus|therefore|hence),?\s)?"
    r"(?P<ground>(?:since|as|because|given|seeing|considering|now|with|while|although|though"
    r"|even\sthough|whereas)\b)?"
    r"(?:[^.;!?\n]|\.(?=\d)){1,200}?(?:,\s|(?P<break>\s?[–—]\s?|\s-\s|:\s))"
    r"(?P<then>(?:(?:so|thus|therefore|hence|then|consequently|and|(?:which|this)\s(?:means|implies)"
    r"|meaning)(?:,?\sthat)?,?\s){1,2})?"
    r"(?:(?:the|my|our|only|correct|right|best|final|possible|true|remaining|logical)\s){0,4}",
    re.IGNORECASE,
)
_UNSETTLED = lazy_regex(
    r"\b(?:if|whether|unless|suppos\w{1,4}|assum\w{1,4}|few|nobody|no one|hardly|doubts?|no way"
    r"|sa(?:y|ys|id|ying)|thinks?|thought|believ\w{1,3}|claim\w{0,3}|argu\w{1,3}|agree\w{0,2}"
    r"|accept\w{0,3}|guess\w{0,3}|imply|(?:true|case|clear|certain|sure|follow|mean)\sthat)\b",
    re.IGNORECASE,
)
HEARSAY = lazy_regex(
    r"\b(?!(?:I|we|which|this|that|as|it|passage|text|table|figure|evidence|data|rule|theorem|formula"
    r"|context|document|definition|law)\b)"
    r"[a-z]{1,20}\s(?:says|said|claims|claimed|thinks|thought|believes|believed|argues|argued|insists"
    r"|insisted|guesses|guessed|has\sit)\s"
    r"(?:that\s)?(?:\w{1,12}\s){0,3}$",
    re.IGNORECASE,
)
"""Before a marker: somebody else's answer is told."""
UNCLAIMED = lazy_regex(
    r"\b(?:wrong|incorrect|worst|least \w{1,20}|false|mistaken|his|her|their|your|poor|second best"
    r"|naive|(?!question|problem)\w{1,30}['’]s)(?:\s\w{1,12}){1,2}\s?"
    r"(?:\b(?:is|was|(?:would|must|should) be)|[:=])$"
    r"|\b(?:may|might|could)\s(?:\w{1,12}\s)?be$|\b(?:perhaps|maybe|possibly)$"
    r"|\b(?:few|nobody|some|many|most)\s[\w\s]{0,25}\b(?:say|think|believe|claim|argue)\b[^.;\n]{0,60}$"
    r"|\bdoubt\w{0,3}\b[^.;\n]{0,60}$|\b(?:if|whether|suppose|assume)\b[^.;,\n]{0,60}$",
    re.IGNORECASE,
)
"""Before a box: it holds another answer than the response's own, or one that is not sure."""
CONCLUSION = lazy_regex(
    r"(?:^|(?<=[.!?;:,]\s)|(?<=[.!?;:,]\s\s)|(?<=\n))[\s*_#>-]{0,6}"
    r"(?:(?P<so>so|thus|therefore|hence|consequently|accordingly|clearly|in\s(?:conclusion|summary"
    r"|short))\b[,:]?\s{1,2}|(?:but|and|no)\b,?\s)?"
    r"(?:I\s(?:think|believe|am\ssure|conclude|would\ssay)\s(?:that\s)?)?"
    rf"(?P<it>I(?:\sam|['’]m)\sleft\swith(?:\sonly)?\s|(?:it|this|that|which|the\s(?:correct|right"
    rf"|best)\sone)(?:['’]s{_ADVERBS}|\s{_COPULA}{_ADVERBS})\s"
    rf"|(?:it|this|that|which|we)(?:\s{_ADVERB})?\s(?:leaves?|gives?|match(?:es)?|corresponds?\sto"
    rf"|points?\sto|means?|selects?"
    r"|are\sleft\swith)(?:\sus|\sme)?(?:\swith)?(?:\sonly)?\s)?",
    re.IGNORECASE | re.MULTILINE,
)
"""Before an answer that a last sentence is nothing but: "So it must be", "Therefore," "That leaves"."""
PREDICATE = lazy_regex(
    r"\s(?P<is>is|are|isn['’]t|aren['’]t)\s(?P<not>not\s|in)?"
    r"(?:(?:the|also|both|all|clearly|indeed|thus|therefore|only|definitely|certainly|most|one)\s){0,3}"
    r"(?P<word>correct|right|best|wrong|incorrect|false|answer|appropriate|accurate)\b(?!\s?[?？])"
    r"(?:\s(?:answer|option|choice|one|statement|response))?"
)
"""After an option: whether it is the answer."""
REST_OF_REASON = lazy_regex(
    r"\s*[,;–—-]?\s*\b(?:because|since|(?<!well\s)(?<!much\s)as(?!\s(?:well|much|are|is|do|does|can"
    r"|could|would|also)\b)|which"
    r"|due to|for the)\b.*"
    r"|\s+[–—-]\s.*|(?:\s*[;:.]|^)\s*(?:all\s)?(?:the\s)?(?:others?|rest|remaining)\b.*",
    re.IGNORECASE | re.DOTALL,
)
"""A reason that follows an answer."""
_VERB_LAST = lazy_regex(r"\s?(?:です|である|だ|입니다|이다)[。.]?$")
_CONTRASTS = lazy_regex(r"\b(?:not|pas|nicht|não|niet|than|instead|opposed)\b|n['’]t\b", re.IGNORECASE)
_INSTEAD = lazy_regex(
    r"\s*(?:just\snot|not|isn['’]t|wasn['’]t)\s(?!(?:true|right|correct|the\scase|so|possible|likely)\b)"
    r"(?P<other>[^\n;]{1,200}?)[,;]?\s(?:but|rather|it['’]s"
    r"|it\sis)\s(?:rather\s)?(?P<own>.{1,400})",
    re.I | re.S,
)
_NOT_OTHER = lazy_regex(
    r"(?P<own>.{1,400}?)(?:,|\s|[,\s]\s?\()(?:\s?(?:and|but|et|und|e|en)\s)?\s?(?:not|pas|nicht|não|niet"
    r"|rather\sthan|instead\sof"
    r"|as\sopposed\sto)\s(?!any\s?more\b|any\slonger\b|now\b|today\b|yet\b"
    r"|currently\b)(?!(?:[\w%]{1,12}\s){0,3}(?:sure|certain|confident|positive|convinced|true|right"
    r"|correct|verified|confirmed|checked)\b)"
    r"(?P<other>(?:[^\n.;!?]|\.(?=\S)|(?<=\b[A-Z])\.(?!\s[\w'’]+(?:[:,]|\s[a-z]))){1,200}?)[)\s.]*",
    re.I | re.S,
)


def settled_before(head: str) -> bool:
    """Whether what a sentence denies is settled before it comes to the answer: "As B does not fit, the"."""
    found = _SETTLED.fullmatch(head)
    if found is None or not (found["ground"] or found["then"] or found["break"]):
        return False
    return not _UNSETTLED.search(head)


def before_verb(text: str) -> str:
    """Return an answer without the verb that ends the sentence in Japanese and Korean."""
    return text if text.isascii() else _VERB_LAST.sub("", text)


def contrasted(text: str) -> tuple[str, str] | None:
    """Return the answer and the one denied, of "not A but B" and "B, not A", "B rather than A"."""
    if len(text) > 600 or not _CONTRASTS.search(text):
        return None
    found = _INSTEAD.fullmatch(text) or _NOT_OTHER.fullmatch(text)
    return (found["own"].strip(), found["other"].strip()) if found else None
