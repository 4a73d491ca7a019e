"""What words and signs of a clause say of the candidate in it: that it is denied, left open, supposed, told
of others, chosen, taken back. Lists alone; `commitment` reads them."""

from __future__ import annotations

import re

CANDIDATES = "".join(chr(0xE000 + i) for i in range(64))
X = f"[{CANDIDATES[0]}-{CANDIDATES[-1]}]"


def _words(*alternatives: str) -> re.Pattern[str]:
    return re.compile(r"(?<![\w'])(?:" + "|".join(alternatives) + r")(?![\w'])")


SIGNS = (
    (re.compile(rf"(?<![\w!?.{CANDIDATES[0]}-{CANDIDATES[-1]}])[!¬~](?=[*_\s(]{{0,3}}{X})"), " not "),
    (re.compile(r"<(\w{1,20})>"), r"\n\1: "),
    (re.compile(r"</\w{1,20}>"), "\n"),
    (re.compile(r"\btl;?dr\b", re.IGNORECASE), "in short"),
    (re.compile(r"[{,]\s*[\"']([\w -]{1,30})[\"']\s*:"), r"\n\1: "),
    (
        re.compile(
            r"\\(?:overline|bar|lnot|neg|x?cancel|sout|st)\b|不选|不選|不是|并非|並非|而非|排除|不能选|不对"
        ),
        " not ",
    ),
    (re.compile(r"[✓✔✅☑]\ufe0f?|\[x\](?=\s)|:white_check_mark:", re.IGNORECASE), " is correct "),
    (re.compile(r"[❌✗✘✖🚫⛔]\ufe0f?|\[ \](?=\s)"), " is wrong "),
    (re.compile(r"\s*(?:<-+|←|<=)\s*"), " is "),
    (re.compile(r"\\(?:Long)?[Rr]ightarrow|\\implies|\\to\b"), "→"),
    (re.compile(r"[^\S\n]*\$?(?:[-=]+>|→|➜|⇒|⟹|∴|\\therefore)\$?\s*"), " : "),
    (re.compile(r"\\neq?\b|≠|!="), " is not "),
    (re.compile(r"\\(?:text|mathrm|mathbf|textbf|operatorname)\s?\{|[{}$]|∎|□|\bQ\.?E\.?D\b\.?"), " "),
    (re.compile(r"[’‘]"), "'"),
    (re.compile(r"[*_`\"“”#>|~^]+"), " "),
    (re.compile(r"[\U0001F300-\U0001FAFF\u2600-\u27BF]"), " "),
)
SENTENCE = re.compile(r"[.!?…]+(?=[\s)]|$)|\n+|;\s|\s[–—-]+\s|…")
CLAUSE = re.compile(
    r"(?<!\ball)(?<!thing)(?<!one)(?<!\bnone)"
    r"(?<!ny option)(?<!ny choice)(?<!ny answer)"
    r"(?<!ery option)(?<!ery choice)(?<!ery answer),?\s(?=(?:but|however|yet|although|though|still|so"
    r"|therefore|thus|hence|while|whereas|because|since|which)\b(?!\s(?:much|far)\b))"
    rf"|,\s(?=(?:(?:scratch that|and|or)[\s,]+)?{X} (?:yes|yep|no|nope|nah|meh)\b)|,\s(?=(?:correct|right"
    rf"|answer|final)\b)"
    r"|,\s(?=(?:it|its|it's|i|i'm|i'd|i'll|we|that|that's|this|there|the|my|then|choose|pick|select|go|make"
    r"|mark|put|hence)\b)"
    rf"|,\s(?=(?:and )?{X}\s(?:is|was|fails)\b)|,\s(?=(?:leaving|giving|making|which|yielding)\b)"
    r"|\s?—\s?|\s(?=and (?:you're|you are|upon|on|after|let|i|it|so|the|that|this|therefore|thus|hence"
    r"|then)\b)"
)
DECORATION = " \t\r\n.,:;!=()[]{}-–—'"
NOT = _words(
    r"not", r"\w+n't", r"no", r"never", r"none", r"nor", r"neither", r"cannot", r"wrong\w*",
    r"incorrect\w*", r"false(?! (?:positive|negative|alarm|ceiling|friend|teeth)s?\b)",
    r"mistak\w+", r"errors?", r"fail\w*", r"unlike", r"except\w*", r"(?<!by )exclu\w+", 
    r"(?<!by )(?<!process of )(?<!through )eliminat\w+",
    r"(?:rule[ds]?|ruling|throw\w*|knock\w*|cross\w*|weed\w*|kick\w*|strike|struck|toss\w*|leaves?) out",
    rf"(?:is|are|was|were|be|goes?|voted|sorted|filtered|{X}) (?:\w+ly |also |right )?out(?! of)",
    r"reject\w*", r"dismiss\w*", r"discard\w*", r"distractors?", r"traps?", r"decoys?",
    r"bogus", r"nope", r"nah", r"unrelated", r"irrelevant", r"contradict\w*",
    r"violat\w+", r"misconceptions?", r"myths?", r"rather than", r"instead of", r"other than",
    r"apart from", r"worse", r"least", r"less", r"hardly", r"far from",
    r"implausible", r"impossible", r"unlikely", r"inconsistent", r"incompatible", r"confus\w+", r"invalid",
    r"untrue", r"off the table", r"short of", r"refut\w+", r"den(?:y|ies|ied)", r"doubt\w*",
    r"bad", rf"besides? {X}", rf"(?:is|are) (?:next to|after|before|near) {X}", r"just as", rf"{X} to {X}",
    r"tempt\w*", r"plausible", r"meh", r"misread\w*", r"na[iï]ve\w*", r"hast[ey]\w*", r"careless\w*",
    r"misle\w+", r"nicht", r"kein\w*", r"pas", r"n'\w+", r"non", r"não", r"не", r"нет",
    r"niet", r"geen", r"ikke", r"inte", r"nie", r"değil", r"tidak", r"bukan",
    r"nunca", r"jamais", r"niemals", r"nessun\w*", r"ningun\w*", r"half(?! (?:the|of|as)\b)",
    r"close", r"second", r"weak\w*",
    r"converse", r"inverse", r"erroneous\w*", r"absurd\w*", r"unwise", r"fool\w*", r"folly", r"too",
    r"untenable", r"insufficient", r"inadequate", r"superficial\w*", r"falls?", r"nearest",
    r"anything but", r"everything but", r"all but", r"misses", r"lacks?", r"red herrings?", r"avoid",
    r"ignore", r"opposite", r"differ\w*", r"refus\w*", r"hate", r"worst", r"poor\w*", r"another",
    r"rhym\w+", r"starts? with", r"begins? with", r"ends? with", r"nobody", r"without", r"disagree\w*",
    r"rubbish", r"nonsens\w*", r"garbage", r"junk", r"silly", r"ridiculous\w*", r"laughable", r"stupid",
    r"stretch", r"near miss", r"off.?base", r"objections?", r"scrap\w*", r"ditch\w*", r"chuck\w*", r"bin",
    r"steer clear", r"stay away", r"keep away", r"beware", r"rookie", r"blunder", r"flaw\w*", r"baseless",
    r"unsupported", r"unsuitable", r"unfit", r"unsound", r"unfounded", r"dubious", r"suspicious",
    r"off the mark", r"wide of", r"off track", r"beside the point", r"nonstarter", r"contra", r"against",
    r"lose[sr]?", r"lost", r"beaten", r"bait", r"lures?", r"allur\w+", r"seduc\w+", r"decept\w+", r"ill-\w+",
    r"drop\w*", r"forget", r"skip\w*", r"abandon\w*", r"set aside", r"goodbye", r"vetoe?d?", r"flunk\w*",
    r"br(?:eaks?|oke) down", r"f[ae]lls? (?:apart|flat)", r"collaps\w+", r"crumbl\w+",
    r"(?:any|every) (?:option|choice|answer) (?:but|except|besides)",
    r"runner.?up", r"aren't", r"nowhere", r"(?:some"
    r"|any)\w+ else", r"only half", r"partial\w*", r"partly", r"not?-?one",
)  # fmt: skip
TWICE_DENIED = re.compile(
    r"\bif (?:i|we) (?:had|have) to (?:guess|choose|pick|say|decide|answer|bet|stake|commit|put|call"
    r"|take)(?: (?:my|our) \w+| one)?(?: on (?:it|one))?,?"
    r"|\bif (?:i must|you ask me|anything|need be|memory serves(?: me)?)\b(?: \w+)?,?"
    r"|\b(?:no|not|without|never|hardly|beyond|zero|nary|any|little)"
    r"\s(?:an?\s|the\s|any\s|much\s|even\s|real\s|further\s|to\s)*"
    r"(?:doubts?|questions?(?: about it)?|hesitat\w+|reservations?|objections?|contest|competition"
    r"|brainer|sweat"
    r"|problem|ifs|second thoughts?|fuss|trouble|ambiguity|debate|argument|dispute|ado|surprises?|match for"
    r"|guess\w*|caveats?|compromise|matter (?:what|how)|close)\b"
    r"(?:,? (?:and |or |no )?(?:ands|buts))*(?: about (?:it|that))?"
    r"|\b(?:the )?long and (?:the )?short of it\b"
    r"|\(?(?:i'm |i am )?\d{1,3} ?% (?:sure|certain"
    r"|confident)\)?"
    r"|\bif you(?:'re| are)? (?:looking for|want|need|like|prefer|would like|after|insist on|must have"
    r"|only want)\b[^,:]*"
    r"|\baccording to (?:most|all|the|my|our|every)(?: \w+)? (?:sources?|records?|historians?|experts?"
    r"|textbooks?|articles?"
    r"|passage|text|context|document|data|table|definition|definitions|law|rules?|legend|theorem|notes"
    r"|knowledge)\b"
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
    r"\b(?:no|without (?:a |any )?|not a |beyond (?:a |any )?|little )(?:shadow of a )?(?:doubt|question"
    r"|mistake)(?: that| about it)?\b"
    r"|\b(?:none|nothing|no \w+|not\w*|can't be anything|\w+n't (?:possibly )?be (?:anything|anyone"
    r"|any))\s(?:other than|but|except|besides)\b"
    r"|\b(?:not|\w+n't)\s(?:\w+\s){0,2}(?:wrong|bad|incorrect|mistaken|implausible|unlikely)\b"
    r"|\bno other (?:option|choice|answer|candidate|one)s?\b|\bnot only\b|\bno longer in doubt\b"
    r"|\bnot going to lie\b|\bno surprise\b|\bno need\b"
)
TWICE_BY_OTHER = re.compile(
    r"\bcan be (?:nothing|none|no one|no other) (?:but|other than|except|than)\b|\b(?:\w+n't|cannot|not"
    r"|never)\b[^,]{0,40}\b(?:anything|anyone|any|something) (?:other than|but"
    r"|except)\b"
)
CONTRASTED = re.compile(
    rf"[,(]?\s?(?:and |but )?(?:\bnot\b|\brather than\b|\binstead of\b|\bas opposed to\b|\bover\b"
    rf"|\bunlike\b)\s(?:by\s|with\s|for\s)?(?:option |choice )?{X}(?:(?:\s?,\s?{X})*\s?,?\s?(?:or|nor"
    rf"|and)\s?{X})?\)?"
)
UNFIT = re.compile(
    r"\b(?:wrong\w*|incorrect\w*|untrue|mistak\w+|errors?|fail\w*|contradict\w*|violat\w+|inconsistent"
    r"|implausible"
    r"|impossible|unlikely|invalid|reject\w*|eliminat\w*|exclu\w+|dismiss\w*|discard\w*|ruled? out|traps?"
    r"|decoys?"
    r"|distractors?|red herrings?|bogus|nonsens\w*|unrelated|irrelevant|tempt\w*|misconceptions?|myths?"
    r"|a lie|lies$|jokes?"
    r"|false(?! (?:positive|negative|alarm|ceiling|friend|teeth)s?\b)|plausible|unsupported|refut\w+"
    r"|doubt\w*|absurd"
    r"|different|opposite|out$|second|guess\w*|withdrawn|retracted|weak\w*|half|partial\w*|confus\w+|close"
    r"|bad|worse)\b"
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
HEDGE = _words(
    r"before \w+ing", r"until", r"till", r"need(?:ed)? (?:to (?:see|know|check|verify|read|think)|more)",
    r"have to (?:see|check|verify)", r"neck and neck", r"ties?", r"tied", r"equal(?:ly)?(?! to)",
    r"or", r"maybe", r"perhaps", r"possibly", r"might", r"may", r"could", r"either", r"between", r"torn",
    r"unsure", r"uncertain\w*", r"undecided", r"unclear",
    r"depend\w*", r"can(?! only)", r"chance", r"odds", r"probability", r"percent",
    r"(?:hard|difficult|tough|impossible) to (?:say|tell|know|choose|decide|pick)",
    r"in (?:other|some|certain) (?:cases|contexts|situations|circumstances)",
    r"(?<!only )one of", r"any of",
    r"and/or", r"only (?:when|if|in|for|because|partly|by)", r"only$", r"whichever", r"possible",
    r"conceivabl\w+", r"candidates?", r"contenders?", r"toss-?up", r"tie", r"vs", r"versus", r"both",
    r"toss", r"coin",
    r"decide", r"sometimes", r"would need", r"tentative\w*", r"arguabl\w+", r"potential\w*",
    r"consider(?:ed|ing)?", r"wonder\w*", r"contemplat\w+",
)  # fmt: skip
SUPPOSED = _words(
    r"if", r"unless", r"whether", r"suppos\w+", r"assum\w+", r"imagine", r"pretend",
    r"had (?:i|we|it|the)", r"were (?:i|it|we|this)", r"would have", r"should you", r"in case",
    r"hypothetical\w*", r"provided",
)  # fmt: skip
BEFORE = _words(
    r"thought", r"first", r"initial\w*", r"at the start", r"original\w*", r"used to", r"previous\w*",
    r"earlier", r"lean\w*", r"almost", r"nearly", r"formerly", r"old", r"former", r"last (?:year|time"
    r"|week|month)(?:'s)?", r"provisional\w*", r"preliminary", r"draft",
    r"i was", r"we were", r"was (?:my|the first|tempted|thinking|going)", r"instinct\w*", r"gut",
    r"knee-?jerk", r"once", r"wanted", r"hesitat\w+", r"started", r"began",
)  # fmt: skip
REPORTED = re.compile(
    r"\baccording to\b|\b(?:i|we)(?:'ve| have| had)? (?:was|were|been|am) (?:told|taught|informed)\b"
    r"|\bled to believe\b|\b(?:some|many"
    r"|most|few|several|other|various|careless|countless)\s(?:\w+\s){0,2}"
    r"(?:say|think|choose|pick|answer|confuse|claim|believe|guess|argue|go|went|mix|select|assume|write|would"
    r"|might|may|will|often|fall|swear|prefer|give|get|put|name|mention)\b"
    r"|\b(?:people|students?|others|everyone|everybody|someone|somebody|anyone|folks|novices?|beginners?"
    r"|learners?|test-?takers?|critics|friends?|teacher|roommate|rumou?r|chatgpt|gpt)\b|\b(?:people"
    r"|students?|others?|they|he|she|everyone|everybody|someone|somebody|anyone|folks"
    r"|you(?!'ll| should| must| ought| need| want| can| have to| are looking)|one(?! (?:should"
    r"|must|ought|has to|can only|to))|textbooks?|key|rumou?r|teacher|friend|roommate|neighbou?r|brother"
    r"|sister|colleague|user|novices?|beginners?|learners?|test-?takers?|candidates|critics?|wikipedia"
    r"|google|forum|internet)"
    r"\b[^,]{0,40}\b(?:sa(?:y|ys|id)|th(?:ink|inks|ought)|cho+ses?|picks?|picked|answers?|answered"
    r"|confuse[sd]?|claim(?:s|ed)?|believe[sd]?|guess(?:es|ed)?|argue[sd]?|mix|select(?:s|ed)?|assume[sd]?"
    r"|wonder|swears?|swore|insist(?:s|ed)?|writes?|wrote|prefers?|suggest(?:s|ed)?|put|marked|circled"
    r"|mention(?:s|ed)?"
    r"|has it|had it|have it|went|goes|go|fall)\b"
    r"|\b(?:common|popular|usual|typical|frequent|widespread)\s(?:\w+\s){0,2}(?:wrong|mistake|guess|answer"
    r"|error|choice|response|distractor|misconception|belief)\b|\b(?:his|her|their|your|(?!(?:it|that|what"
    r"|here|there|let|question|problem|today)'s)\w+'s)\s(?:\w+\s)?(?:answer|choice|pick|guess|response)\b"
    r"|\bcontrary to\b|\bquoted?\b|\bsupposedly\b|\ballegedly\b|\breportedly\b"
    r"|(?<!dear )\b(?:student|reader|beginner|novice|learner)s?\b"
)
CUE = _words(
    r"answer\w*", r"correct\w*", r"(?<!all )right", r"cho(?:ose|sen|ice|osing|se)", r"pick\w*",
    r"select\w*", r"go(?:ing)? (?:with|for)", r"went (?:with|for)", r"settl\w+", r"opt(?:s|ed|ing)?",
    r"land\w*", r"left with", r"leav\w+", r"remain\w*", r"stays?", r"stick\w*", r"vot\w+", r"bet",
    r"conclu\w+", r"therefore", r"thus", r"hence", r"so", r"must", r"has to be",
    r"it is", r"it's", r"its", r"that's", r"that is", r"this is", r"it'?d be", r"would be", r"should be",
    r"verdict", r"results?", r"winner", r"wins", r"fits?", r"match\w*", r"satisf\w+", r"best",
    r"back to", r"back on", r"end(?:ed|ing)? up", r"commit\w*", r"lock\w*", r"convinced", r"confident",
    r"sure", r"certain\w*", r"resolve\w*", r"points? to", r"final\w*", r"definitely", r"clearly",
    r"decision", r"in the end", r"ultimately", r"put me down for", r"say", r"identif\w+", r"i choose",
    r"mark", r"stands?", r"works", r"holds", r"survives?", r"solution", r"response", r"guess",
    r"they're", r"i mean", r"i meant", r"make (?:it|that)", r"switch\w*", r"chang\w+", r"revis\w+",
    r"gotta be", r"is the one", r"the only", r"exactly", r"indeed", r"consistent", r"keep\w*", r"forces?",
    r"gives?", r"yields?", r"outputs?", r"claim", r"definitive", r"yes", r"yep", r"yup", r"found",
    r"verified", r"confirm\w*", r"accept\w*", r"retain\w*",
    r"submit\w*", r"report", r"endorse\w*", r"requir\w+", r"prefer\w*", r"asks? for", r"wants?",
    r"called for", r"demand\w*", r"need\w*", r"key", r"truth", r"take", r"tick", r"arriv\w+", r"led",
    r"leads?", r"adopt\w*", r"easy", r"obviously", r"favou?r\w*", r"better", r"describ\w+", r"denot\w+",
    r"surviv\w+", r"reply", r"stand", r"return\w*", r"superior", r"support\w*", r"warrant\w*",
    r"establish\w*", r"determin\w+", r"deduc\w+", r"infer\w*", r"entails?", r"impl(?:y|ies)",
    r"corresponds?", r"meets?", r"spot on", r"nails?", r"nailed", r"hits", r"ticks", r"checks out", r"golden",
    r"perfect\w*", r"ideal\w*", r"apt", r"sound", r"valid", r"true", r"suitable", r"suits", r"covers",
    r"captures",
    r"explains?", r"address\w*", r"edges", r"beats", r"tops", r"trumps", r"prize", r"outshines", r"only",
    r"no other than", r"none other", r"accurate\w*", r"proper", r"appropriate\w*", r"rings", r"screams",
)  # fmt: skip
FUNCTION = re.compile(
    r"\b(?:the|an?|is|are|was|it|that|this|and|so|well|ok(?:ay)?|yes|yeah|yep|sure|just|definitely|clearly"
    r"|of course|really|simply|obviously|then|here|now|thus|hence|option|answer|hmm|ah|oh|alright|right"
    r"|mean|i|think|believe|guess|be|to|in|fact|actually|probably|likely|pretty|very|much|most|letter|text"
    r"|choice|short)\b"
)
PRONOUN = re.compile(
    r"(?:(?:and|but|so|yet|because|since|however|actually|in fact|well|wait|hmm|oh|sorry|oops"
    r"|unfortunately|honestly|still|now|then|on (?:\w+ )?(?:thought|reflection|inspection))[\s,]+)*"
    r"(?:it|that|this|which|who|these|those|both|the (?:answer|above|latter|former|previous)|my (?:answer"
    r"|previous|first|earlier|choice|pick))(?:'s|\b)"
)
_OWN = (
    r"(?:that|this|it|which|(?:all|most|some|none|much) of (?:that|this|it|the above|what \w+ \w+)"
    r"|everything(?: \w+){0,3}|(?:all )?the above(?: \w+)?|what (?:i|is|was) (?:\w+ ){0,2}\w+"
    r"|(?:the|this|that|my)(?: (?:above|previous|last|first|given))? (?:answer|choice|reply|response"
    r"|statement"
    r"|line|pick|text|claim|conclusion))"
)
"""What a response has said."""
RESETS = re.compile(
    rf"\b{_OWN}(?:'s| is| was| are| were| has been| must be) (?:\w+ ){{0,2}}?(?:wrong|incorrect|false"
    rf"|untrue|lies?|mistakes?"
    r"|mistaken|errors?|nonsense|jokes?|invalid|void|made up|fiction|rubbish|withdrawn|retracted|opposite)\b"
    r"|\bnone of (?:this|that|the above|what i)\b|\b(?:can't|cannot|can not|unable to|won't"
    r"|will not) (?:give|provide|offer"
    r"|reach|name|make) (?:an?|any|you|the)\b.{0,20}\b(?:answer|choice|decision|conclusion)\b"
    r"|\bthe (?:opposite|reverse|contrary) (?:is|of)\b"
    r"|\b(?:please )?(?:ignore|disregard|forget|strike|discard|delete) the (?:\w+ )?(?:above|lines?"
    r"|answer|previous|first|text)\b"
    r"|\bdo not (?:really |actually )?(?:know|trust|buy|believe)\b"
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
    r"|\bno (?:idea|clue|way to know|way of knowing)\b|\bdon't (?:really |actually )?(?:know|trust|buy"
    r"|believe|think so|have a)\b|\beither way\b|\bundecided\b|\bwon't commit\b|\brethink\b|\breconsider\b"
    r"|\bwithdrawn\b|\bretracted\b|\bstart over\b|\bi made an? \w*\s?(?:mistake|error)\b"
    r"|\bnot (?:sure|certain|convinced) (?:any ?more|about (?:that|it|this))\b|\bdoubt (?:it|that)\b"
    r"|\bi disagree\b|\bdon't quote me\b|\bon second thought"
)
CORRECTED = re.compile(
    r"^(?:\w+[\s,]+){0,3}?(?:i was (?:\w+ )?(?:wrong|mistaken|kidding|joking)|i (?:take|took) (?:that|it"
    r"|this) back"
    r"|i(?:'ve| have)? changed my mind|i made an? (?:\w+ )?(?:mistake|error)|i misread(?: \w+){0,3}"
    r"|my (?:bad|mistake))\s?[:,–—-]\s"
)
"""What takes back all before it and goes on: "I was wrong: B"."""
TURNS = re.compile(
    r"\b(?:i meant?|wait|actually|hmm+|hold on|scratch|no|nope|oops|sorry|correction|apolog\w+|instead"
    r"|however|but"
    r"|rather|let me|correct\w*|mistake|reconsider\w*|second|so|therefore|thus|hence|in the end|finally"
    r"|final\w*|conclu\w+|chang\w+|switch\w*|revis\w+|definitive|considered|update|edit|ultimately"
    r"|came back|back|then|after"
    r"|overall|now|better|upon|in fact)\b"
)
CONFIRMS = re.compile(
    r"(?:yes|yep|yeah|yup|correct|exactly|definitely|absolutely|indeed|that's it"
    r"|that's the one)\b(?!.*\b(?:but|not)\b)"
)
"""After a question: it is so."""
SHAKES = re.compile(
    r"(?:on (?:second|reflection|further|closer)|no|nope|nah|wait|actually|scratch|strike that|sorry|oops"
    r"|correction|edit|update|erratum|make that|hold on|jk"
    r"|hmm)\b"
)
CONTRAST = re.compile(
    r"(?:but|however|yet|still|so|therefore|thus|hence|then|though|although|and (?:let|upon|on|after|now"
    r"|then|finally))\b"
)
IS = re.compile(r"\b(?:is|are)\b|\w's\b|\bits\b")
IN_FAVOUR = re.compile(r"\b((?:discard|reject|abandon|drop|dismiss|set aside|withdr)\w*) in favou?r")
SETTING_ASIDE = re.compile(
    r"(?:after |by |having |on )?(?:exclud|eliminat|rul|discard|reject|dismiss|remov|cross|set|throw|weed"
    r"|filter)\w*\b[^,:]{0,200},\s"
)
OTHERWISE = re.compile(r"\b(?:un|im|in|il|ir|mis|dis|non-?)\w+\s(?:answer|choice|option|pick|one)\b")
"""An improper answer, an unintended one."""
NO = re.compile(
    r"^(?:(?:but|and|so|or)\s)?(?:(?:(?:on (?:second thoughts?|(?:further |closer )?(?:reflection"
    r"|inspection))|nope|nah|wait|(?:scratch|strike) (?:that|it)|actually|sorry|hold on|my bad|correction"
    r"|edit|update|erratum|make that"
    r"|i mean|oops|hmm+|jk|just kidding|no)(?:\s?[,:.–—-]+\s*|\s(?=it's|its|i )"
    r"|\s(?=(?:wait|actually|sorry|scratch|oops|jk|hold on)\b)))+)(?:(?:wait|actually|sorry|scratch that"
    r"|oops)\s)?"
)
"""Words that open a correction."""
ENDS = re.compile(
    rf"^(?!(?:\w+ )?(?:next|now|look|consider|check|examine|analy[sz]\w*|regarding|about|start\w*"
    rf"|evaluat\w*|discuss\w*|moving|turn\w*|as for|concerning|remember|note|ask|compare|see|read|recall"
    rf"|let|love|north|south|east|west|like|in|the)\b)(?:[\w']+[\s,]+){{0,5}}{X}(?:[\s,]+(?:lol|lmao|haha"
    rf"|tbh|imo|ngl|obviously|period|easy|duh|all the way|all day|hands down|for sure|of course|then))*$"
)
"""A few words that end in the candidate: "def B", "Tick B"."""
SUM = re.compile(r"[=^×·]|\\cdot|\\times")
CONCEDED = re.compile(
    r"(?:although|though(?!\s?[:,])|while|whereas|even though|even if|granted|admittedly|despite)\b"
)
CONFUSED = re.compile(r"\b(?:confuse[sd]?|mix(?:es|ed)? up|mistaken) (?:it )?(?:with|for)\b")
"""With something else: what is said next is said of that."""
PLAN = re.compile(
    rf"\b(?:to|should|must|would|will|need|let's|us|can|shall)\s(?:(?:now|first|next|then|also)\s)?"
    rf"(?:compare|examine|evaluate|analy[sz]e|assess|investigate|look (?:at|into)"
    rf"|go (?:over|through))\b[^,]*{X}"
)
"""What is still to be done with a candidate."""
AS_WELL = re.compile(
    rf"^(?:my )?(?:second|third|fourth|fifth|2nd|3rd|[4-9]th) (?:choice|pick|place|guess|best)\s?:"
    rf"|\b(?:so|as|nor|neither) (?:is|are|does|do|was|would) {X}|^(?:or|maybe|perhaps|possibly"
    rf"|alternatively|though|but)?[\s,]*(?:it|that|this|the answer)\s(?:\w+\s)?(?:may|might|could"
    rf"|can)\s(?:\w+\s){{0,3}}be\s.*{X}|^(?=(?:it's |it is )?(?:or|maybe|perhaps|possibly"
    rf"|alternative(?:ly)?)\b)(?:(?:or|maybe|perhaps|possibly|alternative(?:ly)?|else|could"
    rf"|might|may|be"
    rf"|it's|it|is)\b[\s,:]*){{1,5}}(?<!^it's )(?<!^it is ){X}|{X}[^,]*\b(?:also|too|as well|equally)\b"
    rf"|\b(?:also(?! (?:explain|show|discuss|go"
    rf"|tell|describe|help|see|check|compare|look)\b)|equally)\b[^,]*{X}"
)
"""Another one is said to be right, too."""
DISBELIEVED = re.compile(
    r"\b(?:not|\w+n't|never|nobody|no one|hardly|doubt\w*|unless|whether)\b[^,]{0,30}"
    r"\b(?:think|thought|believe\w*|say|said|claim\w*|true|clear|certain|sure|case|mean|follow|agree"
    r"|accept|imply|know|clear)\b|^it is not$|\bi doubt\b|\b(?:case|claim|idea|notion|view|suggestion"
    r"|assumption|belief|hypothesis|rumou?r) that\b|^nobody\b"
)
"""What follows in the sentence is not claimed."""
AFFIRMS = re.compile(
    r"\b(?:right|correct|the answer|the one|best"
    r"|my (?:\w+ )?(?:answer|pick|choice|response|reply|decision))\b"
)
KEEPS = re.compile(
    r"\b(?:lock\w*|stick\w*|go|going|submit\w*|keep\w*|settl\w+)(?: with| in| on)? (?:that|it|this)\b"
)
PROCESS = re.compile(
    r"(?:[\w']+[\s,]+){0,3}?(?:look\w*|examin\w*|check\w*|test\w*|try\w*|analy[sz]\w*|evaluat\w*|discuss\w*"
    r"|review\w*|compar\w*|start\w*|begin\w*|turn(?:ing)?|move|moving|next|regarding|concerning|as for"
    r"|(?<!you\'re )think\w* (?:about|of)|heard? of|ask\w*|wonder\w*|recall|note|remember|see|such as"
    r"|like|e\.g|example"
    r"|includ\w+|(?:let me|let's|let us)(?! (?:go|pick|choose|say))|before|until"
    r"|steer clear|beware|second|away)\b|let " + X + r" (?:be|denote|equal)"
)
"""A clause that opens so looks at a candidate, and does not choose it."""
HEAD = re.compile(
    r"(?:(?:and|so|thus|but|then|well|now|here|option|choice|answer|letter|the|an?|only|ok|okay|hence"
    r"|therefore|yes|clearly|obviously|also|first|both|item|number)\b[\s,:]*)+"
)
"""What may stand before a subject."""
CUT_OFF = re.compile(
    r"\b(?:which|the|an?|of|is|to|and|that|this|because|we|it|in|for|as|with|or|but|by|its|are|was|would"
    r"|can|if|than|from|on|at|so|who|when|where|(?:this|that) [a-z]+|need|have|want|i'd|we'd|might|could"
    r"|must|should|not|just|also|they|he|she|you|perhaps|maybe|has|be|refers|means|let|me|i|let's"
    r"|testing|checking)[\s:*_]*$|,\s*$"
    r"|(?<=[.!?])\s+[A-Z(\[][^.!?\n]*[a-z]{2,}\s[a-z]{2,}$",
)
"""The last words of a text that breaks off: after whole sentences, one without an end."""
YOU_ARE_RIGHT = re.compile(
    r"(?:and |so |yes,? )?you(?:'re| are| were) (?:absolutely |quite |totally |completely )?(?:right"
    r"|correct)\b"
)
BOTH = re.compile(r"\b(?:one of|both|either|neither|nor|between|two|all|any of|whether|not|each|none)\b")
FROM_TO = re.compile(rf"\bfrom {X} (?:over |back )?to\b")
AND = re.compile(r",?\s(?:and|but)\s(?:to\s)?|,\s")
NEW_CLAUSE = re.compile(
    rf"(?:(?!(?:for|of|to|the|an?|option|choice|answer|by|with|in|on|as|letter|both|or|and|not|nor|also"
    rf"|even|maybe"
    rf"|perhaps|possibly|are|is|than)\b)[\w']+\s(?:[\w']+\s){{0,3}}{X}|(?:option |choice "
    rf"|answer )?{X}\s(?!(?:and|or|are|were|all"
    rf"|both|as|look|seem"
    r"|have|do|alike|remain|equally|together|at|in|for|on)\b)[\w']+)"
)
"""The second half of a sentence speaks of its own candidate."""
AFTERTHOUGHT = re.compile(
    rf"(?<={X}),\s(?:of course,? )?(?:and |but )?(?:not|no|never|nothing|none|nowhere|without"
    rf"|hardly)\s(?!.*\b(?:right|correct|true|it|that|so|answers?"
    rf"|valid|possible|one|options?|choices?|way|chance|thanks|likely|sir|{X})\b)[^{X[1:]}*$"
)
"""What denies something after an answer, and not the answer: "B, not even close"."""
