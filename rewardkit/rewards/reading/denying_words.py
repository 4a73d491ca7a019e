"""What words of a clause deny the candidate in it, or take back what was said before: lists alone, which
`commitment` reads beside those of `clause_words`."""

from __future__ import annotations

import re

from rewardkit.rewards.reading.clause_words import X, words
from rewardkit.rewards.reading.lazy_regex import lazy_regex
from rewardkit.rewards.reading.wordings import (
    ASSURED,
    DENIED_AFAR,
    HAVE_DOUBTS,
    OVERTAKEN,
    SLIPPED,
    UNSUPPORTED,
    YOURS,
)

NOT = words(
    r"the last (?:thing|option|choice|answer|one|place|letter) (?:i|we|you|anyone|anybody|one"
    r"|that)(?:'d|'ll|'ve)?",
    r"(?:i|we)(?:'d| would|'ll| will) lie", r"withdr[ae]w\w*", r"retract\w*", r"recant\w*", r"revok\w+",
    r"(?:nothing|little|no \w+) (?:supports?|suggests?|says|shows?|proves?|indicates?|confirms?|backs"
    r"|speaks? for)",
    rf"(?:comes (?:right |just )?(?:after|before)|precedes|exceeds|replaces|surpasses|answer (?:follows"
    rf"|beats)) {X}",
    rf"(?:just under|more than|twice|double|square of|root of|cube of) {X}",
    rf"followed by {X}", rf"(?:ahead of|second to) {X}",
    r"(?<!a )(?<!quite a )few", r"(?<!a )little", r"barely", r"scarcely", r"seldom", r"rarely",
    rf"nothing (?:to|for|about|on|at|in|under|near) (?:option )?\W?{X}", r"typos? (?:at|in|on)",
    r"f(?:i|ou)nd (?:it|that|this) (?:\w+ly )?(?:odd|strange|weird|hard|difficult|surprising|puzzling|funny)",
    r"(?:i|we) (?:had )?(?:expected|hoped|meant|tried|wanted|failed) to",
    rf"(?:scratch|strike|erase|nix|axe|cancel|delete) {X}",
    r"(?:sooner|rather) (?:\w+ ){1,3}than (?:say|pick|choose|answer|go)",
    r"(?:answer|choice|option) (?:contains|includes|involves|mentions|resembles)",
    r"(?:derived|copied|taken) from", r"trick",
    r"not", r"\w+n't", r"no", r"never", r"none", r"nor", r"neither", r"cannot", r"wrong\w*",
    r"incorrect\w*", r"falsely", r"false(?! (?:positive|negative|alarm|ceiling|friend|teeth)s?\b)",
    r"mistak\w+", r"errors?", r"fail\w*", r"unlike", r"except\w*", r"(?<!by )exclu\w+", 
    r"(?<!by )(?<!process of )(?<!through )eliminat\w+",
    r"(?:rule[ds]?|ruling|throw\w*|knock\w*|cross\w*|weed\w*|kick\w*|strike|struck|toss\w*|leaves?) out",
    rf"(?:is|are|was|were|be|goes?|voted|sorted|filtered|{X}) (?:\w+ly |also |right )?out(?! of)",
    r"reject\w*", r"dismiss\w*", r"discard\w*", r"distractors?", r"traps?", r"decoys?",
    r"bogus", r"nope", r"nah", r"unrelated", r"irrelevant", r"contradict\w*",
    r"violat\w+", r"misconceptions?", r"myths?", r"rather than", r"instead of", r"other than",
    r"nothing (?:to be said|going|speaking) for", r"cross\w* off", r"sk?ceptical", r"erased?",
    r"resembl\w+", r"nothing to do with", r"not even wrong",
    r"(?:all|every|everything|any|anything|each)\b[^,]{0,20}\s(?:bar|save|minus)", r"au(?:ß|ss)er",
    r"sauf", r"tod[oa]s? menos",
    r"tudo menos", r"salvo", r"tranne", r"descart\w+", r"esclud\w+", r"j'exclus", r"excluy?o",
    r"apart from", r"worse", r"least", r"less", r"hardly", r"far from",
    r"implausible", r"impossible", r"unlikely", r"inconsistent", r"incompatible", r"confus\w+", r"invalid",
    r"untrue", r"off the table", r"short of", r"refut\w+", r"den(?:y|ies|ied)", r"doubt\w*",
    r"bad(?:ly)?", rf"besides? {X}",
    rf"(?:is|are) (?:next to|after|before|near) {X}", r"just as", rf"{X} to {X}",
    r"tempt\w*", r"plausible", r"meh", r"misread\w*", r"lazy", r"sloppy", r"cursory", r"na[iï]ve\w*",
    r"hast[ey]\w*", r"careless\w*",
    r"misle\w+", r"nicht", r"kein\w*", r"pas", r"n'\w+", r"non", r"não", r"не", r"нет",
    r"niet", r"geen", r"ikke", r"inte", r"nie", r"değil\w*", r"tidak", r"bukan", r"không",
    r"incorrect\w{1,2}", r"fals(?:ch\w*|[ao]s?)", r"fau(?:x|sses?)", r"mauvaise?s?",
    r"err(?:ad|at)[ao]s?", r"erróne\w+",
    r"sbagliat\w", r"equivocad\w+", r"błędn\w+", r"yanlış", r"hatalı", r"fout\w?", r"verkeerde?",
    r"salah", r"sai",
    r"forkert\w?", r"неверн\w+", r"неправильн\w+",
    r"nunca", r"jamais", r"niemals", r"nessun\w*", r"ningun\w*", r"half(?! (?:the|of|as)\b)",
    r"close(?! (?:look|reading|inspection)\b)",
    r"(?<!per )second(?! (?:look|thoughts?|reading|check|glance|squared|half|law|person|world|part"
    r"|paragraph|sentence"
    r"|order|one does|and (?:final|last))\b)", r"weak\w*",
    r"converse", r"inverse", r"erroneous\w*", r"absurd\w*", r"unwise", r"fool\w*", r"folly", r"too",
    r"untenable", r"insufficient", r"inadequate", r"superficial\w*",
    rf"falls?(?! (?:in|on|every) (?:the )?(?:month of |year )?{X})",
    r"nearest",
    r"anything but", r"everything but", r"all but", r"misses", r"lacks?", r"red herrings?", r"avoid",
    r"ignore", r"opposite", r"differ\w*", r"refus\w*", r"hate", r"worst", r"poor\w*",
    r"(?:to|of|for|from|in|describes?|is|means|names?|denotes?|concerns?|answers?) another",
    r"another (?:matter|thing|story|question|topic|subject|context|concept|kind|type|way|era|period"
    r"|country|place)",
    r"rhym\w+", r"starts? with", r"begins? with", r"ends? with", r"nobody", r"without", r"disagree\w*",
    r"rubbish", r"nonsens\w*", r"garbage", r"junk", r"silly", r"ridiculous\w*", r"laughable", r"stupid",
    r"stretch", r"near miss", r"off.?base", r"objections?", r"scrap\w*", r"ditch\w*", r"chuck\w*", r"bin",
    r"steer clear", r"stay away", r"keep away", r"beware", r"rookie", r"blunder", r"flaw\w*", r"baseless",
    r"unsupported", r"unsuitable", r"unfit", r"unsound", r"unfounded", r"dubious", r"suspicious",
    r"(?:clearly|way|plainly|just|simply|quite|far) off", r"mix-?ups?", r"off the mark", r"wide of",
    r"off track", r"beside the point", r"nonstarter", r"contra", r"against",
    r"lose[sr]?", r"lost", r"beaten", r"bait", r"lures?", r"allur\w+", r"seduc\w+", r"decept\w+", r"ill-\w+",
    r"drop\w*", r"forget", r"skip\w*", r"abandon\w*", r"set aside", r"goodbye", r"vetoe?d?", r"flunk\w*",
    r"br(?:eaks?|oke) down", r"f[ae]lls? (?:apart|flat)", r"collaps\w+", r"crumbl\w+",
    r"(?:any|every) (?:option|choice|answer) (?:but|except|besides)",
    r"runner.?up", r"aren't", r"nowhere", r"(?:some"
    r"|any)\w+ else", r"only half", r"partial\w*", r"partly", r"not?-?one",
)  # fmt: skip
TWICE_DENIED = lazy_regex(
    r"\b(?:don't|do not|never|no need to|needn't|need not) \w+ "
    r"(?:it|this|that|yourself|me)(?: \w+)?(?=\s?:\s)"
    r"|\b(?:is|are|was)(?:n't| not) (?:\w+ly |so |too |that )?(?:hard|difficult|tricky|tough|complicated)"
    r"(?: to \w+)?|\bi(?:'m| am) not \w+ing(?=\s?:)|"
    r"\b(?:i'd|i would) be (?:lying|dishonest) if i (?:denied|said otherwise)(?: that)?"
    r"|\bthere(?:'s| is) no way (?:that )?it(?:'s not| isn't| is not)\b"
    r"|\b(?:nobody|no one|nothing) (?:will|can|could|would) (?:ever )?(?:convince|persuade"
    r"|tell) me (?:that )?(?:it isn't"
    r"|it's not|it is not|otherwise)"
    r"|\b(?:nobody|no one) (?:can|could|would|will) (?:\w+ )?(?:deny|dispute|doubt|argue against"
    r"|question)(?: that)?\b"
    r"|\bit(?:'s| is) no secret that\b|\bnot (?:un)?surprisingly\b,?|\bit(?:'s"
    r"| is) not that i'm (?:un\w+|not \w+)\b"
    r"|\b(?:it would be |it is |it's )?(?:wrong|a mistake|foolish|an error) not to (?=(?:choose|pick"
    r"|say|answer|select|go with)\b)"
    r"|\bcontrary to (?:what [^,:]{1,50}|\w+ \w+),\s?|\bunless (?:i'm|i am) (?:very much |badly "
    r"|greatly )?mistaken\b,?"
    r"|\bif (?:an?|any|my|you|they|anyone|anybody|someone|somebody) ?(?:(?:student|friend|child|pupil|teacher"
    r"|examiner|user)s? )?(?:asked|asks|ask|were to ask) (?:me|us)"
    r"(?=,?$|,? (?:i|we)(?:'d| would|'ll| will) (?:tell|say|answer|reply)\b)"
    r"|\bif (?:(?:i|we) could only (?:bet|choose|pick|name|give|keep)|(?:i|we) (?:had|have|were|was|am"
    r"|are)(?: forced| pressed| pushed| asked"
    r"| made)? to (?:guess|choose|pick|say"
    r"|decide|answer|bet|stake|commit|put|call|name|give|settle|take)|(?:forced|pressed|pushed|asked) to \w+)"
    r"(?: (?:my|our) \w+)?(?:(?: to| on| with| for)? (?:(?:just|only|a|one|the|single|final|best"
    r"|it)\b ?){1,3}(?:answer|choice"
    r"|option|pick|guess|one|name|number)?)?,?"
    r"|\bi(?:'m| am) not (?:entirely|completely|totally|absolutely|fully|quite|100 ?%"
    r"|a hundred percent)? ?(?:sure|certain|positive)"
    r"(?: (?:about|of) (?:this|it|that))?,? (?=but\b)"
    r"|\b(?:keeping|bearing|with) (?:all )?(?:that|this|it|these|those)(?: \w+)? in mind,?"
    r"|,? (?:and|but|yet) (?:none|not any|no one|not one) of (?:the|its) (?:others?|rest|remaining"
    r"|alternatives)(?: \w+)?"
    r"|\b(?:and )?(?:leaving|setting|putting) aside [^,]{1,60},(?: which [^,]{1,60},)?"
    r"|,? and (?:no other|nothing else)(?: (?:option|choice|answer|one))?"
    r"|\b(?:if i(?:'m| am) (?:being )?|to be )(?:perfectly |quite )?(?:honest|frank|fair),?"
    r"|\bif (?:i must|you ask me|anything|need be|memory serves(?: me)?)\b(?: \w+)?,?"
    r"|\b(?:no|not|without|never|hardly|beyond|zero|nary|any|little)"
    r"\s(?:an?\s|the\s|any\s|much\s|even\s|real\s|further\s|to\s)*"
    r"(?:doubts?|questions?(?: about it)?|hesitat\w+|reservations?|objections?|contest|competition"
    r"|brainer|sweat"
    r"|problem|ifs|second thoughts?|fuss|trouble|ambiguity|debate|argument|dispute|ado|surprises?|match for"
    r"|guess\w*|caveats?|compromise|matter (?:what|how)|close)\b"
    r"(?:,? (?:and |or |no )?(?:ands|buts))*(?: about (?:it|that))?"
    r"|\b(?:the )?long and (?:the )?short of it\b"
    r"|\(?(?:i'm |i am )?(?:100|[5-9]\d) ?% (?:sure|certain"
    r"|confident)\)?"
    r"|\bif you(?:'re| are)? (?:looking for|want|need|like|prefer|would like|after|insist on|must have"
    r"|only want)\b(?=[^,:]*\b(?:answer|letter|choice|option|pick|word|name|one|short|quick|quickly|number"
    r"|figure|me|mine"
    r"|my|it|version|summary|verdict|opinion|guess|line|final|single|response|reply|term|title|details?"
    r"|explanation"
    r"|more|this|that|certainty|commitment|decision|to)\b)[^,:]*"
    r"|\baccording to (?:most|all|the|my|our|every)(?: \w+)? (?:sources?|records?|historians?|experts?"
    r"|textbooks?|articles?"
    r"|passage|text|context|document|data|table|definition|definitions|law|rules?|legend|theorem|notes"
    r"|knowledge|memory|recollection|calculations?|computations?|reasoning|analysis|understanding|arithmetic"
    r"|research|training)\b"
    rf"|(?<={X} is )your (?=(?:best |final |correct )?answer\W*$)"
    r"|\baccording to (?:the )?(?:search )?(?:docs?|results?|wikipedia)\b(?: \(?\d{1,2}\)?)?"
    r"|\baccording to (?:what|everything|all) (?:i|we) (?:know|remember|recall|learn\w*|have(?: (?:learn\w*"
    r"|read"
    r"|seen|found|gathered))?|can \w+|could"
    r" \w+"
    r"|see|read|found)\b"
    r"|\baccording to (?:(?:the |this |that )?(?:\w+ )?(?:documents?|passages?|sources?|contexts?"
    r"|paragraphs?|excerpts?"
    r"|snippets?"
    r"|articles?|search results?|information)(?: (?:\[?\d{1,2}\]?|above|below|given|provided"
    r"|[a-z]))?)(?=\W*$|,)"
    r"|\b(?:as |like )?i (?:always|usually|often|keep|regularly|generally|still)? ?"
    r"(?:tell|teach|remind|telling|reminding|teaching) (?:my|our|all|the|new)? ?(?:\w+ )?"
    r"(?:students?|pupils?|kids?|children|class(?:es)?|people|everyone|friends?|trainees|readers|audience)"
    r"(?: (?:every|each) \w+)?(?: to (?:remember|memori[sz]e|note|keep in mind)(?: (?:this|it"
    r"|that))?(?: one)?)?"
    r"(?: that\b(?= (?:it|the)\b)|(?=\W*$|\s?:))"
    r"|\b(?:see|have|find|saw) no (?:reason|need) to (?:change|doubt|revise|revisit|alter)\w*(?: (?:it"
    r"|that|this|my \w+))?"
    r"|\b(?:fixed|corrected|fixing) (?:an?|the|some|my) (?:typos?|formatting|spelling|grammar)\b|^100 ?%"
    r"|\b(?:do not|don't|cannot|can't|never|no longer) doubt(?: that)?\b"
    r"|\bunless (?:i|we)(?:'m| am|'ve| have)? (?:mis\w+|wrong)\b[^,]*"
    r"|\b(?:first|1st|top|number one) (?:choice|pick)(?=\s?(?::|is\b))"
    r"|,?\s\(?with (?:high|great|full|complete|total|absolute) (?:confidence|certainty)\)?"
    r"|\bno less\b|\bnothing less than\b"
    r"|"
    r"\b(?:cannot|can't|not|no|hardly)\s(?:be\s)?(?:denied|deny\w*|disput\w+|doubted|questioned"
    r"|gainsaid)\b|\bwithout (?:any |a )?(?:hesitation|reservation|further ado)\w*\b|\bor thing\b|"
    r"\b(?:if|unless) (?:i|we)(?:'m| am)? (?:remember|recall|not mistaken|mistaken|not wrong|wrong"
    r"|have it right)\w*(?: right| correctly)?\b|,\s(?:contrary to|despite|unlike|as|of course|in fact"
    r"|however|interestingly|surprisingly)\b[^,]{0,80}(?=,)|"
    rf"{ASSURED}"
    r"|\b(?:none|nothing|no \w+|not\w*|can't be anything|\w+n't (?:possibly )?be (?:anything|anyone"
    r"|any))\s(?:other than|but|except|besides)\b"
    r"|\b(?:not|\w+n't)\s(?!even\b)(?:\w+\s){0,2}(?:wrong|bad|incorrect|mistaken|implausible|unlikely)\b"
    r"|\bno other (?:option|choice|answer|candidate|one)s?\b|\bnot only\b|\bno longer in doubt\b"
    r"|\bnot going to lie\b|\bno surprise\b|\bno need\b"
)
AFAR = lazy_regex(rf"{DENIED_AFAR}|\bno (?:way|sense|respect|reading) (?:in|by)$")
"""What denies the rest of its sentence, though "no question" or "no argument" alone denies nothing."""
TWICE_BY_OTHER = re.compile(
    r"\bcan be (?:nothing|none|no one|no other) (?:but|other than|except|than)\b|\b(?:\w+n't|cannot|not"
    r"|never)\b[^,]{0,40}\b(?:anything|anyone|any|something) (?:other than|but"
    r"|except)\b|\bno (?:reason|grounds?|evidence)\b[^,.]{0,40}\banything (?:other than|but|except)\b"
)
CONTRASTED = re.compile(
    rf"[,(]?\s?(?:and |but )?(?:\bnot\b|\brather than\b|\binstead of\b|\bas opposed to\b|\bover\b"
    rf"|\bunlike\b)\s(?:by\s|with\s|for\s)?(?:option |choice )?{X}(?:(?:\s?,\s?{X})*\s?,?\s?(?:or|nor"
    rf"|and)\s?{X})?\)?"
)
UNFIT = lazy_regex(
    r"\b(?:wrong\w*|incorrect\w*|untrue|mistak\w+|errors?|fail\w*|contradict\w*|violat\w+|inconsistent"
    r"|implausible"
    r"|impossible|unlikely|invalid|reject\w*|eliminat\w*|exclu\w+|dismiss\w*|discard\w*|ruled? out|traps?"
    r"|decoys?"
    r"|distractors?|red herrings?|bogus|nonsens\w*|unrelated|irrelevant|tempt\w*|misconceptions?|myths?"
    r"|a lie|lies$|jokes?|(?:some|any)\w+ else"
    r"|false(?! (?:positive|negative|alarm|ceiling|friend|teeth)s?\b)|plausible|unsupported|refut\w+"
    r"|doubt\w*|absurd"
    r"|different|opposite|(?<!per )second(?! (?:squared|look|half)\b)|guess\w*|withdrawn|retracted"
    r"|weak\w*|half|partial\w*|confus\w+|close"
    r"|bad|worse)\b"
    r"|(?<!checks )(?<!check )(?<!checked )(?<!works )(?<!worked )(?<!turns )(?<!add )(?<!adds )"
    r"(?<!stands )(?<!stand )(?<!sticks )(?<!find )(?<!figure )(?<!figured )\bout$"
    r"|\b(?:not|\w+n't|cannot|never|no longer|hardly|nor|neither|none|no|far from|less|least"
    r"|nowhere near)\s(?:\w+\s){0,2}?"
    r"(?:it|this|that|right|correct|true|fit\w*|match\w*|work|apply|hold|so|(?:an? )?answers?|what|satisfy"
    r"|make sense"
    r"|possible|valid|accurate|agree|follow|good|best|stand|count|qualify|add up|check out|asked|meet"
    r"|relevant"
    r"|plausible|likely|sure|certain|case|convinced|be|sense|(?:the|an?|my|quite|really|even)"
    r"(?= (?:right|correct|answer|one|best|option|choice|case|only|good|valid|real|true)\b))$"
    r"|\b(?:not|\w+n't|cannot|never|no longer|hardly|no|far from)\s(?:\w+\s){0,3}?(?:it|right|correct|true"
    r"|fit\w*|match\w*"
    r"|work|apply|hold|answer\w*|satisfy|make sense|possible|valid|accurate|agree|best|qualify|add up"
    r"|check out|option"
    r"|choice|meet|relevant|plausible|likely|supported|what|the case)\b|\b(?:not|\w+n't|cannot)(?:\s(?:be"
    r"|it|so))?$"
)
"""What is said of an answer that denies it; of a reason, a plain "not" says nothing of that."""
_OWN = (
    r"(?:that|this|it|which|(?:all|most|some|none|much) of (?:that|this|it|the above|what \w+ \w+)"
    r"|everything(?: \w+){0,3}|(?:all )?the above(?: \w+)?|what (?:i|is|was) (?:\w+ ){0,2}\w+"
    r"|(?:the|this|that|my)(?: (?:above|previous|last|first|given))? (?:answer|choice|reply|response"
    r"|statement"
    r"|line|pick|text|claim|conclusion))"
)
"""What a response has said."""
RESETS = lazy_regex(
    r"^(?:but|though|although|yet|albeit) (?:wrongly|incorrectly|falsely|mistakenly|erroneously)\b"
    r"|\bi dissent\b|^(?:both|both of (?:them|these)|all of them|either|any of them)$"
    r"|^or (?:thereabouts|something|whatever|nearby|so|similar)\b|^(?:i'm |i am )?not convinced$"
    r"|\bnot convinced by (?:it|that|this)\b"
    r"|\bthe (?:reality|truth) is"
    r" (?:different|another|otherwise|something else)\b|\b(?:answer|option|choice|one) is (?:another"
    r"|a different one"
    r"|elsewhere)$|(?:\bnot|n't|\bnever) (?:bet|stake|wager|rely|count) (?:\w+ )?(?:on|to|by) (?:it"
    r"|this|that)\b|"
    r"\b(?:strike|delete|erase|remove|skip) (?:the|this|that|my) (?:\w+ ){0,2}(?:lines?|sentences?"
    r"|above|answer|letter"
    r"|reply|response)\b|\b(?:treat|consider|regard|count|take|mark) (?:it|this|that|(?:the|my|this"
    r"|that) (?:\w+ )?"
    r"(?:answer|line|reply|response|sentence|letter)) (?:as )?(?:an? )?(?:blank|empty|void|deleted"
    r"|withdrawn|null"
    r"|unanswered|missing|unsaid)\b|\b(?:no|zero|little) (?:confidence|faith|trust) in (?:it|this|that|my)\b"
    r"|^(?:is )?(?:valid|correct|final|true|confirmed|verified|accepted|sure)\s?: (?:false|no)\b"
    r"|^no answer$|(?:\bnot|n't|\bnever) (?:mean|meant) (?:it|that|this)\b|(?:\bnot|n't|\bnever) mine$"
    r"|^so (?:is|are|do|does) (?:the others?|the rest|all|every|any|each)\b"
    r"|^(?:it|this|that)(?:'s| is| was) (?:only |just )?a (?:test|bluff|dummy)\b"
    r"|^not(?: really| quite| at all| so)?$|\bend of (?:the )?quot\w+|^unquote$"
    r"|^(?:this|that|it)(?:'s| is| was) what (?!(?:the|this) (?:question|text|passage|theorem|law"
    r"|definition|formula"
    r"|rule|data|table|stem)\b|i\b|we\b)[^,]*\b(?:says?|said|claims?|thinks?|writes?|wrote)\b|"
    r"\b(?:let me|allow me to|i(?:'ll| must| should| have to| need to| will)) (?:correct|fix|revise"
    r"|redo|rectify)"
    r" (?:myself|that|this|it|(?:my|the|an?) (?:\w+ )?(?:answer|mistake|error))\b"
    r"|\bnone of (?:these|them|the (?:options|choices|answers|above))(?: \w+)? (?:(?:is|are"
    r"|seems?)(?: \w+ly)?"
    r" (?:right|correct|true|valid|it|suitable|acceptable|(?:an?|the) \w*\s?answer)|fits?|works?|holds?)\b|"
    r"\b(?:would|do|did|can|could|should|will)(?: not|n't) (?:really |actually )?(?:trust|believe|buy"
    r"|vouch for"
    r"|rely on|count on|swear to) (?:it|that|this)\b"
    r"|\b(?:leave|left|leaving) (?:it|this|that|mine|the (?:\w+ )?(?:line|question|field|box|answer"
    r"|matter)) (?:blank|empty"
    r"|open|unanswered)\b"
    r"|\b(?:have|has|had|give|offer|know|propose) no answer\b|\bit(?:'s| is) the (?:former|latter)\b"
    r"|(?:n't|\b(?:not|never|refus\w+ to|declin\w+ to|unwilling to|hesitate to|without))"
    r"(?: (?:want|wish|like|dare|going|prepared|able|ready|willing))?(?: to)? commit(?:ting)? (?:myself )?to"
    r" (?:any|an?|one|either|it|this|that)\b"
    r"|\bno (?:clear |single |overall |outright )?(?:winner|majority|consensus|favou?rite)\b"
    r"|^(?:it ends in |we have |there is )?(?:an? )?(?:tie|draw|dead heat)$"
    r"|\bi (?:have|give|offer) none\b|\bit(?:'s| is) an? (?:\w+ )?(?:tie|draw|toss-?up|dead heat)\b"
    r"|\b(?:don't|do not|won't|will not|can't|cannot) take sides\b"
    r"|\b(?:toss|tossed|flip|flipped|roll|rolled) (?:the|a) (?:coin|die|dice)\b"
    r"|^(?:status|verdict|outcome|evaluation|assessment|grade|review|(?:self-?)?check"
    r"|verification)\s?: (?:refuted|fails|false|rejected|wrong"
    r"|incorrect|failed|denied"
    r"|disproved|falsified)\b|"
    rf"\b{_OWN}(?:'s| is| was| are| were| has been| must be) (?:\w+ ){{0,2}}?(?:wrong|incorrect|false"
    rf"|untrue|lies?|mistakes?"
    r"|mistaken|errors?|nonsense|jokes?|invalid|void|made up|fiction|rubbish|withdrawn|retracted|opposite)\b"
    r"|\bnone of (?:this|that|the above|what i)\b|\b(?:can't|cannot|can not|unable to|won't"
    r"|will not) (?:give|provide|offer"
    r"|reach|name|make) (?:an?|any|you|the)\b.{0,20}\b(?:answer|choice|decision|conclusion)\b"
    r"|\bthe (?:opposite|reverse|contrary) (?:is|of)\b"
    r"|\b(?:please )?(?:ignore|disregard|forget|strike|discard|delete) the (?:\w+ )?(?:above|lines?"
    r"|answer|previous|first|text)\b"
    r"|(?<!they )(?<!who )(?<!you )\bdo not (?:really |actually )?(?:know|trust|buy|believe)\b"
    r"|\bare (?:both|equally) (?:plausible|possible|right|correct|valid|defensible)\b"
    r"|(?:^|(?:they|these|them|those|,) )"
    r"both (?:\w+ )?(?:are|can|could"
    r"|have|work|seem|fit|hold)\b"
    r"|(?<!not )(?<!n't )(?<!never )\bmisread\b|\bmessed up\b|\bmy bad\b|\btypo\b|\boops\b|"
    r"\b(?:i was|i am|i'm|i've been|that was|was) (?:\w+ )?(?:wrong|mistaken|kidding|joking|lying)\b"
    r"|\btake (?:that|it|this|all) back\b|\bscratch (?:that|it|this|both|all)\b|\bno longer\b"
    r"|\bnever ?mind\b"
    r"|\b(?:abandon|recant|revoke|ignore|disregard|forget|strike|withdraw|retract|discard|delete) (?:that"
    r"|this|it|what|all|everything|both|the above|my)\b|\bchanged? my mind\b|\bjust kidding\b|\bjoke\b"
    r"|\b(?:can't|cannot|can not|couldn't|won't|not able to|unable to|impossible to|hard to|too close to"
    r"|not ready to|not going to)\s(?:\w+\s){0,2}(?:say|decide|choose|tell|determine|commit|pick|know|call"
    r"|answer|settle|narrow)\b(?!\s(?:\w+\s)?(?:more|much|anything|further|enough)\b)"
    r"|\b(?:can't|cannot|can not|couldn't|could not|unable to) (?:work|figure) (?:(?:it|this|that) out"
    r"|out (?:what|which) (?:\w+ )?(?:belongs|goes|comes|fits|stands|should))\b"
    r"|^(?:score|grade|marks?|rating|points?)\s?[:=]\s?(?:0|zero)(?![\d%]|[.,]\d)"
    r"|\bno (?:idea|clue|way to know|way of knowing)\b|(?<!they )(?<!who )(?<!you )\bdon't (?:really "
    r"|actually )?(?:know|trust|buy"
    r"|believe|think so|have a)\b|\beither way\b|\bundecided\b|\bwon't commit\b|\brethink\b|\breconsider\b"
    r"|\bwithdrawn\b|\bretracted\b|\bstart over\b|\bi made an? \w*\s?(?:mistake|error)\b"
    r"|\bnot (?:sure|certain|convinced) (?:any ?more|about (?:that|it|this))\b|\bdoubt (?:it|that)\b"
    r"|\bi disagree\b|\bdon't quote me\b|\bon second thought"
    rf"|\b{SLIPPED}|\b{OVERTAKEN}|{HAVE_DOUBTS}|{YOURS}"
)
WITHDRAWN = re.compile(
    r"(?P<oh>(?:(?:wait|no|oh|hmm+|sorry|oops|actually|but|hold on|on reflection)[\s,.!:…-]+)+)?(?:that"
    r"|this|which)"
    r"(?:'s|\s(?:is|(?P<past>was)))(?:\sactually|\sin fact|\scompletely|\stotally)?\s(?:wrong|incorrect"
    r"|false|untrue"
    r"|not (?:right|correct|true|it)|(?:a|the|my) (?:wrong|incorrect) (?:answer|one|choice|option)|(?:a"
    r"|my) mistake"
    r"|an error|a lie)"
)
"""A whole sentence that takes back: "That was wrong", "Wait, that's not right"."""
CORRECTED = re.compile(
    r"^(?:\w+[\s,]+){0,3}?(?:i was (?:\w+ )?(?:wrong|mistaken|kidding|joking)|i (?:take|took) (?:that|it"
    r"|this) back"
    r"|i(?:'ve| have)? changed my mind|i made an? (?:\w+ )?(?:mistake|error)|i misread(?: \w+){0,3}"
    r"|(?:that|this|it)(?:'s| is| was) (?:not (?:right|correct|true|it|quite right)|wrong|incorrect|false"
    r"|a mistake)"
    r"|i (?:disagree|beg to differ|do not agree|don't agree)(?: with (?:that|this|him|her|them|it))?"
    r"|my (?:bad|mistake)|(?:scratch|strike) (?:that|this|it))\s?[:,–—-]\s"
)
"""What takes back all before it and goes on: "I was wrong: B"."""
OTHERWISE = re.compile(r"\b(?:un|im|in|il|ir|mis|dis|non-?)\w+\s(?:answer|choice|option|pick|one)\b")
"""An improper answer, an unintended one."""
DISBELIEVED = lazy_regex(
    r"^(?:of|among|out of) (?:all )?(?:the )?(?:wrong|incorrect|false|bad|rejected|discarded)\b|"
    r"\b(?:not|\w+n't|never|nobody|no one|hardly|doubt\w*|unless|whether)\b[^,]{0,30}"
    r"\b(?:think|thought|believe\w*|say|said|claim\w*|true|clear|certain|sure|case|mean|follow|agree"
    r"|accept|imply|know|clear)\b|^it is not$|\bi doubt\b|\b(?:case|claim|idea|notion|view|suggestion"
    r"|assumption|belief|hypothesis|rumou?r|wrong|incorrect|false|untrue|mistaken|myth|mistake|error|lie"
    r"|fiction) that\b|^(?:yeah,? right|as if|in your dreams)$|\b(?:wrong|incorrect|false|untrue|mistaken?"
    r"|error|refuse\w*) to (?:say|claim|think"
    r"|believe|assume|state|conclude|write|answer)\b|^nobody\b"
    rf"|{UNSUPPORTED}"
)
"""What follows in the sentence is not claimed."""
AFTERTHOUGHT = re.compile(
    rf"(?<={X}),\s(?:of course,? )?(?:and |but )?(?:not|neither|rather than|as opposed to|no|never"
    rf"|nothing|none|nowhere|without"
    rf"|hardly)\s(?!.*\b(?:right|correct|true|it|that|so|answers?"
    rf"|valid|possible|one|options?|choices?|way|chance|thanks|likely|sir|{X})\b)[^{X[1:]}*$"
)
"""What denies something after an answer, and not the answer: "B, not even close"."""
