"""What words and signs of a clause say of the candidate in it: that it is left open, supposed, told of
others, chosen. Lists alone; `commitment` reads them; those that deny or take back are in `denying_words`."""

from __future__ import annotations

import re

from rewardkit.rewards.reading.lazy_regex import lazy_regex
from rewardkit.rewards.reading.wordings import OF_SOMETHING_ELSE, ONCE, OTHER_QUESTION

CANDIDATES = "".join(chr(0xE000 + i) for i in range(64))
X = f"[{CANDIDATES[0]}-{CANDIDATES[-1]}]"
CANDIDATE = re.compile(X)


def words(*alternatives: str) -> re.Pattern[str]:
    """Return a pattern of whole words, of which an apostrophe may be a part."""
    return lazy_regex(r"(?<![\w'])(?:" + "|".join(alternatives) + r")(?![\w'])")


SIGNS = (
    (lazy_regex(r"\b[Nn]o\.\s?(?=\d)"), "number "),
    (lazy_regex(r"\b[Ee]\.\s?g\.,?\s"), "for example "),
    (lazy_regex(r"[^\S\n]?(?:\.{3}|…)\s?(?==)"), " "),
    (lazy_regex(rf"(?<![^.!?\n\s])\b[Ss]hould (?:read|be|say):?\s(?={X})"), "Actually, "),
    (
        lazy_regex(
            r"(?<![^.!?\n\s])\b(?:(?:[Uu]p)?[Oo]n )?(?:[Rr]e-?read|[Rr]ead|[Ll]ook|[Tt]hink|[Cc]heck)ing"
            r"(?: \w+){0,5} (?:again|once more|over|twice),?\s"
        ),
        "Actually, ",
    ),
    (
        lazy_regex(
            r"(?<![^\n.])[^\n.]*?(?:(?<![-=])[-=]+>|→)\s*([^\n]{1,80}?)\s*"
            r"\((?:corrected|revised|updated|fixed|final)\)"
        ),
        r"\1",
    ),
    (
        lazy_regex(
            r"(?:(?<![-=])[-=]+>|→)\s*(?=(?:corrected|revised|updated|final|fixed|correction)\b)",
            re.IGNORECASE,
        ),
        ". ",
    ),
    (lazy_regex(rf"({X}\s?[✓✔✅☑❌✗✘✖]\ufe0f?)\s+[/|]\s+(?={X})"), r"\1. "),
    (
        lazy_regex(
            rf"(?<={X})[^\S\n]*(?:,[^\S\n]*)?\b(?:ofc|full stop|period|what else|any day)\b[.?!]*\s*\Z",
            re.IGNORECASE,
        ),
        ".",
    ),
    (lazy_regex(rf"(?<={X})[^\S\n]+100 ?%\s*\Z"), "."),
    (lazy_regex(rf"(?<![\w!?.{CANDIDATES[0]}-{CANDIDATES[-1]}])[!¬~](?=[*_\s(]{{0,3}}{X})"), " not "),
    (lazy_regex(r"^(\*\*[^*\n]{0,79}[^*\n:.]\*\*)[^\S\n]+(?=[A-Z][a-z]*\s[a-z])", re.MULTILINE), r"\1. "),
    (lazy_regex(r"(\\(?:boxed|fbox)\s?\{[^{}\n]{1,80}\}\$?)[^\S\n]+(?=[A-Z][a-z]*\s[a-z])"), r"\1. "),
    (lazy_regex(r"(?<=\w)([:,]?[^\S\n])<\w{1,20}>|</\w{1,20}>(?=[^\S\n]+[a-z])"), r"\1"),
    (lazy_regex(r"<(\w{1,20})>"), r"\n\1: "),
    (lazy_regex(r"</\w{1,20}>"), "\n"),
    (lazy_regex(r"\btl;?dr\b", re.IGNORECASE), "in short"),
    (lazy_regex(r"[{,]\s*[\"']([\w -]{1,30})[\"']\s*:"), r"\n\1: "),
    (
        lazy_regex(
            r"\\(?:overline|bar|lnot|neg|x?cancel|sout|st)\b|不选|不選|不是|并非|並非|而非|排除|不能选|不对"
        ),
        " not ",
    ),
    (
        lazy_regex(
            rf"^([^\S\n]*(?:[-*•]|\d+[.)])[^\S\n][^\w{X[1:-1]}\n]*{X}[^\s\w]{{0,4}})\s[–—-]+\s", re.MULTILINE
        ),
        r"\1: ",
    ),
    (lazy_regex(r"(\b[Nn]either [^.:\n]{1,60} nor [^.:\n]{1,60}):\s"), r"\1. "),
    (lazy_regex(r"\b100\s?%\s(?=correct|right|accurate|true|certain|sure)"), ""),
    (
        lazy_regex(
            r"[✓✔✅☑]\ufe0f?|[(\[]x[)\]](?=\s{1,3}[^\w\s]{0,4}[\ue000-\ue03f])|:white_check_mark:",
            re.IGNORECASE,
        ),
        " is correct ",
    ),
    (lazy_regex(r"[(\[]x[)\]](?=\s)", re.IGNORECASE), " "),
    (lazy_regex(r"[❌✗✘✖🚫⛔👎]\ufe0f?|(?:\[ \]|\( \))(?=\s)"), " is wrong "),
    (lazy_regex(rf"\b([a-z])\s?(?:<=|>=)\s?(?={X})"), r"\1 is about "),
    (lazy_regex(r"\s{0,8}(?:<-+|←|<=)\s*"), " is "),
    (lazy_regex(r"\\(?:Long)?[Rr]ightarrow|\\implies|\\to\b"), "→"),
    (lazy_regex(r"[^\S\n]{0,8}\$?(?:(?<![-=])[-=]+>|→|➜|⇒|⟹|∴|\\therefore)\$?\s*"), " : "),
    (lazy_regex(r"\\neq?\b|≠|!="), " is not "),
    (lazy_regex(r"\\(?:text|mathrm|mathbf|textbf|operatorname)\s?\{|[{}$]|∎|□|\bQ\.?E\.?D\b\.?"), " "),
    (lazy_regex(r"[’‘]"), "'"),
    (lazy_regex(r"[*_`\"“”#>|~^]+"), " "),
    (lazy_regex(r"[\U0001F300-\U0001FAFF\u2600-\u27BF]"), " "),
)
SENTENCE = lazy_regex(r"[.!?…]+(?=[\s)\]]|$)|\n+|;\s|\s[–—-]+\s|…")
CLAUSE = lazy_regex(
    r"(?<!\ball)(?<!thing)(?<!one)(?<!\bnone)"
    r"(?<!ny option)(?<!ny choice)(?<!ny answer)"
    r"(?<!ery option)(?<!ery choice)(?<!ery answer),?\s(?=(?:but|however|yet|although|though|still|so"
    r"|therefore|thus|hence|while|whereas|because|since|which)\b(?!\s(?:much|far)\b))"
    rf"|,\s(?=(?:(?:scratch that|and|or)[\s,]+)?{X} (?:yes|yep|no|nope|nah|meh)\b)|,\s(?=(?:correct|right"
    rf"|answer|final)\b)"
    r"|,\s(?=a (?:second|closer|careful|quick|short|brief) \w+\s)"
    r"|,\s(?=(?:it|its|it's|i|i'm|i'd|i'll|we|that|that's|this|there|the|my|then|choose|pick|select|go|make"
    r"|mark|put|hence)\b)"
    r"|(?<=n't)\s?:\s(?=i(?:'ll|'d)?\s)|,\s(?=(?:yes|no) to\b)"
    rf"|,\s(?=(?:and )?{X}\s(?:is|was|fails)\b)|,\s(?=(?:leaving|giving|making|which|yielding)\b)"
    r"|\s?—\s?|\s(?=and (?:you're|you are|upon|on|after|let|i|it|so|the|that|this|therefore|thus|hence"
    r"|then)\b)"
)
DECORATION = " \t\r\n.,:;!=()[]{}-–—'"
HEDGE = words(
    r"^(?:todo|tbd|fixme)", r"on the face of it", r"at face value", r"for now", r"for the time being",
    r"for the sake of argument", r"pencil\w* in", r"hints? at",
    r"short-?list\w*", r"still (?:alive|in the (?:race|running|game))",
    r"(?:remains?|left|still|yet|has|have) to be \w+ed",
    rf"^confidence(?: in \W?{X}\W?)?\s?:", r"wish\w*", r"hop(?:e|es|ed|ing)",
    r"i want to (?:say|pick|answer)",
    r"(?:would|i'd) (?:love|like) (?:it|this|that)", r"(?:ought to|should) have been",
    r"(?:put|give|assign|bet|stake) (?:\w+ )?\d{1,2} ?%",
    r"before (?:i|we) \w+",
    r"peut-être", r"talvez", r"tal vez", r"forse", r"quizás?", r"vielleicht", r"возможно", r"может",
    r"mungkin",
    r"belki", r"kanske", r"misschien", r"如果", r"可能", r"也许", r"before \w+ing",
    r"(?<!(?:..hours|seconds|minutes|...days|..weeks|.months|..years|...time) )(?:until|till)",
    r"need(?:ed)? (?:to (?:see|know|check|verify|read|think)|more)",
    r"have to (?:see|check|verify)", r"neck and neck", r"ties?", r"tied", r"equal(?:ly)?(?! to)",
    r"or", r"maybe", r"perhaps", r"possibly", r"might", r"(?<!in )may(?! \d)", r"could",
    r"either",
    r"between (?:it|that|this|these|those|the two)\b(?! \w+ (?:is|are|was|were)\b)",
    rf"between(?! (?:them\b|(?:the two|these|those|both) \w+ (?:is|are|was|were)\b"
    rf"|[^{X[1:-1]},:]{{1,40}} and [^{X[1:-1]},:]{{1,40}}? (?:is|are|was|were|be"
    rf"|called)\b))(?=.*{X})",
    r"torn", r"an? (?:wild|random|blind|mere|pure|total|complete|lucky) guess",
    r"(?<=, )(?:just |only )?a guess", r"(?<=\()(?:just |only |merely |but )?(?:a |my )?(?:best )?guess",
    r"unsure", r"uncertain\w*", r"undecided", r"unclear",
    r"depend\w*", r"can(?! (?:only|conclude|(?:now|thus|therefore|safely|confidently) conclude|infer|deduce"
    r"|see that|say that|be sure)\b)", r"chance", r"odds", r"probability", r"percent",
    r"(?:hard|difficult|tough|impossible) to (?:say|tell|know|choose|decide|pick)",
    r"in (?:other|some|certain) (?:cases|contexts|situations|circumstances)",
    r"(?<!only )one of", r"any of",
    r"and/or", r"only (?:when|if|in|for|because|partly|by)", r"only$", r"whichever", r"possible",
    r"conceivabl\w+", r"candidates?", r"contenders?", r"toss-?up", r"tie", r"vs", r"versus", r"both",
    r"toss", r"coin",
    r"decide", r"sometimes", r"would need", r"tentative\w*", r"arguabl\w+", r"potential\w*",
    r"consider(?:ed|ing)?", r"wonder\w*", r"contemplat\w+",
    r"(?:half|part|side) of me", r"(?:an)?other (?:half|part|side)", r"(?:i'd|i would|could) accept",
)  # fmt: skip
SUPPOSED = words(
    r"were the", r"(?:as|so) long as", r"^should (?:the|it|this|that|we|you|one)", r"when in doubt",
    r"wenn", r"если", r"jika", r"se a", r"si (?:la|le|el)", r"serait", r"sería", r"seria", r"sarebbe",
    r"wäre",
    r"if", r"unless", r"whether", r"suppos\w+", r"assum\w+", r"imagine", r"pretend",
    r"had (?:i|we|it|the)", r"were (?:i|it|we|this)", r"would have", r"should you", r"in case",
    r"hypothetical\w*", r"hypothes[ie]s",
    r"(?<!the )(?<!you )(?<!'ve )(?<!your )(?<!is )(?<!was )(?<!are )(?<!were )(?<!been )(?<!information"
    r" )(?<!context )"
    r"(?<!text )(?<!passage )(?<!documents )(?<!options )(?<!choices )(?<!results )(?<!data )(?<!snippets )"
    r"(?<!sources )"
    r"provided(?! (?:by|in|with|text|context|information|document|documents|passage|options|choices|results"
    r"|data)\b)",
    r"devil's advocate",
    r"for (?:people|those|anyone|anybody|someone|somebody|folks|everyone|readers|him|her) (?:who|that|with)",
    OF_SOMETHING_ELSE,
)  # fmt: skip
BUT_THIS = lazy_regex(rf"but (?:rather |instead )?(?:by |with |on )?(?:option |choice )?{X}\W*$")
"""The second half of "not A but B"."""
HEDGE_ALONE = lazy_regex(
    r"(?:(?:so|and|but|or|then|well) )?(?:maybe|perhaps|possibly|conceivably|potentially)"
)
"""A clause of its own that leaves open the rest of the sentence."""
ANSWER_ONCE = lazy_regex(
    rf"(?:{ONCE}|once|in \d{{4}})\b[^.!?;:\n{X[1:-1]}]{{0,60}}? (?:the|my|our) (?:\w+ )?answer (?:was"
    rf"|will be)\s"
    rf"|(?:the|my|our) (?:\w+ )?answer (?:was|will be)\s(?=(?:option )?{X}[^.!?;:\n]{{0,20}}? (?:{ONCE}"
    rf"|then\W*(?:$|\n)))"
)
"""Before an answer that was one, or will be."""
BEFORE = words(
    r"(?<!of )(?<!some )(?<!further )(?<!much )(?<!careful )(?<!more )"
    r"(?<!having )(?<!now have )(?<!i have )(?<!i've )thought",
    r"first", r"initial\w*", r"at the start", r"original\w*", r"used to", r"previous\w*",
    r"earlier", r"lean\w*", r"almost", r"nearly", r"formerly", r"old", r"former", r"last (?:year|time"
    r"|week|month)(?:'s)?", r"provisional\w*", r"preliminary", r"temporary", r"interim", r"draft",
    r"i was", r"we were", r"was (?:my|the first|tempted|thinking|going)", r"instinct\w*", r"gut",
    r"knee-?jerk", r"once", r"wanted", r"hesitat\w+", r"started", r"began",
)  # fmt: skip
REPORTED = lazy_regex(
    r"\b(?:metadata|file|prompt|system|hint|label|database)\b[^,]{0,20}\b(?:names|lists|marks|says"
    r"|gives|shows|has|wants|expects|demands)\b|\bto answer,? (?:write|say|reply|type)\b"
    r"|^(?:for |as )?(?:an? )?(?:examples?|instance|illustration|hint|format|sample|template"
    rf"|placeholder|e\.g)\b|^{OTHER_QUESTION}\s?:"
    r"|\baccording to\b|\b(?:i|we)(?:'ve| have| had)? (?:was|were|been|am) (?:told|taught|informed)\b"
    r"|\bled to believe\b|\b(?:some|many"
    r"|most|few|several|other|various|careless|countless)\s(?:\w+\s){0,2}"
    r"(?:say|think|choose|pick|answer|confuse|claim|believe|guess|argue|go|went|mix|select|assume|write|would"
    r"|might|may|will|often|fall|swear|prefer|give|get|put|name|mention)\b"
    r"|\b(?:people|students?|others|everyone|everybody|someone|somebody|anyone|folks|novices?|beginners?"
    r"|learners?|test-?takers?|critics|friends?|teacher|roommate|rumou?r|chatgpt|gpt)\b|\b(?:people"
    r"|students?|others?|they|he|she|everyone|everybody|someone|somebody|anyone|folks"
    r"|you(?!'ll| should| must| ought| need| want| can| have to| are looking)|one(?! (?:should"
    r"|must|ought|has to|can only|to|answers?|options?|choice|candidate|thing|arrives|gets|obtains"
    r"|finds|concludes"
    r"|sees|ends|is left|finally|that|which|settles|decides))|textbooks?|key|rumou?r|teacher"
    r"|friend|roommate|neighbou?r|brother"
    r"|sister|colleague|user|novices?|beginners?|learners?|test-?takers?|candidates|critics?|wikipedia"
    r"|google|forum|internet)"
    r"\b[^,]{0,40}\b(?:sa(?:y|ys|id)|th(?:ink|inks|ought)|cho+ses?|picks?|picked|answers?|answered"
    r"|confuse[sd]?|claim(?:s|ed)?|believe[sd]?|guess(?:es|ed)?|argue[sd]?|mix|select(?:s|ed)?|assume[sd]?"
    r"|wonder|swears?|swore|insist(?:s|ed)?|writes?|wrote|prefers?|suggest(?:s|ed)?|put|marked|circled"
    r"|mention(?:s|ed)?|settle[sd]?|decide[sd]?"
    r"|has it|had it|have it|went|goes|go|fall)\b"
    r"|\b(?:common|popular|usual|typical|frequent|widespread)\s(?:\w+\s){0,2}(?:wrong|mistake|guess|answer"
    r"|error|choice|response|distractor|misconception|belief)\b|\b(?:his|her|their|your|(?!(?:it|that|what"
    r"|here|there|let|question|problem|today)'s)\w+'s)\s(?:\w+\s)?(?:answer|choice|pick|guess|response)\b"
    r"|\bcontrary to\b|\bquoted?\b|\bsupposedly\b|\ballegedly\b|\breportedly\b"
    r"|(?<!dear )\b(?:student|reader|grader|examiner|beginner|novice|learner)s?\b"
    r"|\bwhat you(?: \w+)? (?:want|wish|like|hope|expect) to (?:hear|see|read)\b"
    r"|\b(?:internet|online \w+|quiz|website|blog|forum|reddit|film|movie|hero|assistant|chatbot|wikipedia)\b"
    r"[^,]{0,20}\b(?:says?|said|gives?|gave|has|had|claims?|claimed|answers?|answered|replie[sd]|puts?"
    r"|shows?)\b"
    r"|\b(?:he|she) (?:wants|wanted|likes|expects|prefers|gave)\b"
    r"|\b(?:he|she|they|somebody|someone) (?:shout|cr[iy]|whisper|call|repl|murmur)\w+\b|\b(?:it"
    r"|this) says\b[^,]*\bon\b"
    r"|\b(?:said|held|believed|thought|claimed|reported|supposed|rumou?red|alleged) to be (?:the )?(?:\w+ )?"
    r"(?:answer|option|choice|correct|right)\b|\bit (?:has been|is|was) (?:\w+ )?(?:suggested|said"
    r"|claimed|rumou?red"
    r"|alleged|proposed) that\b|\b(?:legend|rumou?r|tradition|hearsay) has it\b|\bso be it\b"
    r"|\b(?:forced|bribed|ordered|paid) to (?:say|answer|write|choose)\b"
    r"|^(?:as a joke|jokingly|sarcastically|ironically|sarcasm|just to be safe|to please (?:you|them)"
    r"|to fill the blank|for the record only)\b"
)
CUE = words(
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
    r"called for", r"what(?:'s| is| was) asked for", r"demand\w*", r"need\w*", r"key", r"truth", r"take",
    r"tick", r"arriv\w+", r"led",
    r"leads?", r"adopt\w*", r"easy", r"obviously", r"favou?r\w*", r"better", r"describ\w+", r"denot\w+",
    r"surviv\w+", r"reply", r"stand", r"return\w*", r"superior", r"support\w*", r"warrant\w*",
    r"establish\w*", r"determin\w+", r"deduc\w+", r"infer\w*", r"entails?", r"impl(?:y|ies)",
    r"corresponds?", r"meets?", r"spot on", r"nails?", r"nailed", r"hits", r"ticks", r"checks out", r"golden",
    r"perfect\w*", r"ideal\w*", r"apt", r"sound", r"valid", r"true", r"suitable", r"suits", r"covers",
    r"captures",
    r"explains?", r"address\w*", r"edges", r"beats", r"tops", r"trumps", r"prize", r"outshines", r"only",
    r"(?:is|was) (?:meant|intended)", r"no other than", r"none other", r"accurate\w*", r"proper",
    r"appropriate\w*", r"rings", r"screams",
)  # fmt: skip
FUNCTION = lazy_regex(
    r"\b(?:the|an?|is|are|was|it|that|this|and|so|well|ok(?:ay)?|yes|yeah|yep|sure|just|definitely|clearly"
    r"|of course|really|simply|obviously|then|here|now|thus|hence|option|answer|hmm|ah|oh|alright|right"
    r"|mean|i|think|believe|guess|be|to|in|fact|actually|probably|likely|pretty|very|much|most|letter|text"
    r"|choice|short)\b"
)
PRONOUN = lazy_regex(
    r"(?:but|yet|and) (?=(?:is|are|was|were|does|do|did|has)(?:n't| not)\b)|"
    r"(?:(?:and|but|so|yet|because|since|however|actually|in fact|well|wait|hmm|oh|sorry|oops"
    r"|unfortunately|honestly|still|now|then|on (?:\w+ )?(?:thought|reflection|inspection))[\s,]+)*"
    r"(?:it|that|this|which|who|these|those|both|the (?:answer|above|latter|former|previous)|my (?:answer"
    r"|previous|first|earlier|choice|pick))(?:'s|\b)"
)
TURNS = lazy_regex(
    r"\b(?:i meant?|wait|actually|hmm+|hold on|scratch|no|nope|oops|sorry|correction|apolog\w+|instead"
    r"|however|but"
    r"|rather|let me|correct\w*|mistake|reconsider\w*|second|so|therefore|thus|hence|in the end|finally"
    r"|final\w*|conclu\w+|chang\w+|switch\w*|revis\w+|definitive|considered|update|typo|whoops|edit"
    r"|ultimately"
    r"|came back|back|then|after|reali[sz]ed?"
    r"|overall|now|better|upon|in fact)\b"
)
CONFIRMS = lazy_regex(
    r"(?:\w{1,10}\s?:\s)?(?:yes|yep|yeah|yup|correct|exactly|definitely|absolutely|indeed|that's it"
    r"|that's the one)\b(?!.*\b(?:but|not)\b)"
)
"""After a question: it is so."""
DISCONFIRMS = lazy_regex(
    r"(?:\w{1,10}\s?:\s)?(?:no|nope|nah|wrong|never|certainly not|of course not|not at all)\W*$"
)
"""After a question: it is not so."""
SHAKES = lazy_regex(
    r"(?:(?:up)?on (?:second|reflection|further|closer)|no|nope|nah|wait|actually|scratch (?:that|it)"
    r"|strike that|sorry|oops"
    r"|never ?mind|(?:(?:al)?though|but),? come to think of it|come to think of it"
    r"|correction|edit|update|erratum|typo|whoops|make that|hold on|jk"
    r"|hmm)\b"
)
CONTRAST = lazy_regex(
    r"(?:but|however|yet|still|so|therefore|thus|hence|then|though|although|finally|and (?:let|upon|on|after"
    r"|now|then|finally))\b"
)
IS = lazy_regex(r"\b(?:is|are)\b|\w's\b|\bits\b")
IN_FAVOUR = lazy_regex(r"\b((?:discard|reject|abandon|drop|dismiss|set aside|withdr)\w*) in favou?r")
SETTING_ASIDE = lazy_regex(
    r"(?:after |by |having |on )?(?:exclud|eliminat|rul|discard|reject|dismiss|remov|cross|set|throw|weed"
    r"|filter)\w*\b[^,:]{0,200},\s"
)
NO = lazy_regex(
    r"^(?:(?:but|and|so|or|although|though),?\s)?"
    r"(?:(?:(?:(?:up)?on (?:second thoughts?|(?:further |closer )?(?:reflection"
    r"|inspection))|nope|nah|wait|(?:scratch|strike) (?:that|it)|actually|sorry|hold on|my bad|correction"
    r"|edit|update|erratum|typo|whoops|make that|never ?mind|ah,? no|oh,? no|come to think of it"
    r"|i mean|oops|hmm+|jk|just kidding|no)(?:\s?[,:.–—-]+\s*|\s(?=it's|its|i )"
    r"|\s(?=(?:wait|actually|sorry|scratch|oops|jk|hold on)\b)))+)(?:(?:wait|actually|sorry|scratch that"
    r"|oops)\s)?"
)
"""Words that open a correction."""
ENDS = lazy_regex(
    rf"^(?!(?:\w+ )?(?:next|now|look|consider|check|examine|analy[sz]\w*|regarding|about|start\w*"
    rf"|evaluat\w*|discuss\w*|moving|turn\w*|as for|concerning|remember|note|ask|compare|see|read|recall"
    rf"|let|love|north|south|east|west|like|in|the)\b)(?:[\w']+[\s,]+){{0,5}}{X}(?:[\s,]+(?:lol|lmao|haha"
    rf"|bro|obvs?|dude"
    rf"|tbh|imo|ngl|obviously|period|easy|duh|all the way|all day|hands down|for sure|of course|then))*$"
)
"""A few words that end in the candidate: "def B", "Tick B"."""
SUM = lazy_regex(r"[=^×·]|\\cdot|\\times")
CONCEDED = lazy_regex(
    r"(?:although|though|while|whereas|even though|even if|granted|admittedly|despite)\b(?!\s?[:,])"
)
CONFUSED = lazy_regex(r"\b(?:confuse[sd]?|mix(?:es|ed)? up|mistaken) (?:it )?(?:with|for)\b")
"""With something else: what is said next is said of that."""
PLAN = lazy_regex(
    rf"\b(?:to|should|must|would|will|need|let's|us|can|shall)\s(?:(?:now|first|next|then|also)\s)?"
    rf"(?:compare|examine|evaluate|analy[sz]e|assess|investigate|look (?:at|into)|check|test"
    rf"|go (?:over|through)|rule out|be (?:looked|checked|examined|tested|discussed))\b[^,]*{X}"
    rf"|{X}[^,]*\b(?:one|option|choice) to (?:look at|check|examine|test|discuss|avoid)\b"
)
"""What is still to be done with a candidate."""
AS_WELL = lazy_regex(
    rf"^(?:my )?(?:second|third|fourth|fifth|2nd|3rd|[4-9]th) (?:choice|pick|place|guess|best)\s?:"
    r"|^(?:my )?(?:back-?up|fall-?back|spare)(?: answer| choice| option| guess| pick)?\s?:"
    rf"|\b(?:so|as) (?:is|are|does|do) (?:the others?|the rest|every|all|any|each)\b|{X} included\b"
    r"|\blike (?:every|all|any) (?:of )?(?:the )?others?\b|^(?:all|both|each|every)(?: \w+){0,3} (?:is"
    r"|are) (?:right|correct"
    r"|fine|valid|true)\b"
    rf"|{X} is another (?:\w+ )?(?:one|answer|option|choice|candidate|possibility)\b"
    rf"|\b(?:so|as|nor|neither) (?:is|are|does|do|was|would) {X}|^(?:or|maybe|perhaps|possibly"
    rf"|alternatively|though|but)?[\s,]*(?:it|that|this|the answer)\s(?:\w+\s)?(?:may|might|could"
    rf"|can)\s(?:\w+\s){{0,3}}be\s.*{X}|^(?=(?:it's |it is )?(?:or|maybe|perhaps|possibly"
    rf"|alternative(?:ly)?)\b)(?:(?:or|maybe|perhaps|possibly|alternative(?:ly)?|else|could"
    rf"|might|may|be"
    rf"|it's|it|is)\b[\s,:]*){{1,5}}(?<!^it's )(?<!^it is ){X}|{X}[^,]*"
    r"\b(?:also|too(?! [a-z])|as well|equally|(?:just|every bit) as \w+)\b"
    rf"|^(?:and |but )?{X},? (?:(?:is|was|does|would|works|fits"
    rf"|counts)(?: \w+){{0,3}},? )?(?:too|as well|likewise|also|ditto)$"
    rf"|\b(?:ditto|the same (?:goes|holds|is true|applies|is the case))(?: (?:for|of|to|with))? {X}"
    rf"|{X}[^,]*\b(?:deserves?|gets?|earns?) (?:the same|equal|as much) "
    rf"|\b(?:also(?! (?:explain|show|discuss|go"
    rf"|tell|describe|help|see|check|compare|look)\b)|equally)\b[^,]*{X}"
)
"""Another one is said to be right, too."""
_FAVOURED = (
    r"(?:possible|plausible|likely|probable|conceivable|right|correct|valid|defensible|acceptable|accept"
    r"|good|fine|(?:an? |the )?(?:\w+ )?(?:answer|option|choice|candidate|reading))"
)
_ADDING = r"(?:also|too|as well|likewise|equally|(?:just|every bit) as)"
ADDED = lazy_regex(
    rf"\b(?:is|are|was|be|seems?|looks?|remains?|would|could|can|might|may)\s(?:\w+\s){{0,2}}?"
    rf"{_ADDING}\s(?:be )?{_FAVOURED}\b"
    rf"|\b{_FAVOURED}\b[^,]{{0,20}},?\s{_ADDING}\W*$|\b{_ADDING}\s(?:\w+\s)?accept\b"
    rf"|\baccept\b[^,]{{1,40}}\s{_ADDING}\W*$| (?:is|was|does|would be),? {_ADDING}\W*$"
    rf"|^(?:and )?(?:so (?:is|was|does)|the same (?:goes|holds|is true|applies) (?:for|of"
    rf"|to)|ditto)(?= (?!it|that|this)\w)"
    r"|\b(?:deserves?|earns?) (?:the same|equal|as much) credit\b|\b(?:could|may|might"
    r"|can)\s(?:(?:\w+)\s)?be\s{_FAVOURED}"
)
"""What is said of another answer beside one."""
_NO_X = f"[^{X[1:-1]}]"
SPLIT = lazy_regex(
    rf"\b(?:some|one|many|half|most|several)\b{_NO_X}{{0,60}}{X}{_NO_X}{{1,60}}"
    rf"\b(?:others?|another|the rest|(?:an)?other half)\b{_NO_X}{{0,40}}{X}"
    r"|\bboth (?:have )?been (?:proposed|suggested|argued|named|claimed|defended)\b"
    r"|\bno (?:agreed|accepted|settled|single|clear|definitive|universal) (?:\w+ )?"
    r"(?:answer|consensus|winner)\b|\bno consensus\b"
    r"|\b(?:not|\w+n't|never|cannot) (?:\w+ ){1,3}(?:to|with|for|between) "
    r"(?:either|any of them|one over the other)$"
)
"""Others are divided, or nothing is settled."""
AFFIRMS = lazy_regex(
    r"\b(?:right|correct|the answer|the one|best"
    r"|my (?:\w+ )?(?:answer|pick|choice|response|reply|decision))\b"
)
KEEPS = lazy_regex(
    r"\b(?:lock\w*|stick\w*|go|going|submit\w*|keep\w*|settl\w+)(?: with| in| on)? (?:that|it|this)\b"
    r"(?!\s?:\s\w)"
)
PROCESS = lazy_regex(
    r"(?:step \d{1,2}\s?:\s)?(?:[\w']+[\s,]+){0,3}?(?:look\w*|examin\w*|check\w*|test\w*|try\w*"
    r"|analy[sz]\w*|evaluat\w*|discuss\w*"
    r"|review\w*|compar\w*|start\w*|begin\w*|turn(?:ing)?|move|moving|next|regarding|concerning|as for"
    r"|(?<!you\'re )think\w* (?:about|of)|heard? of|ask\w*|wonder\w*|recall|note|remember|see|such as"
    r"|like|e\.g|example"
    r"|includ\w+|(?:let me|let's|let us)(?! (?:go|pick|choose|say))|before|until"
    r"|steer clear|beware|second|away)\b|let " + X + r" (?:be|denote|equal)"
)
"""A clause that opens so looks at a candidate, and does not choose it."""
HEAD = lazy_regex(
    r"(?:(?:and|so|thus|but|then|well|now|here|option|choice|answer|letter|the|an?|only|ok|okay|hence"
    r"|therefore|yes|clearly|obviously|also|first|both|item|number)\b[\s,:]*)+"
)
"""What may stand before a subject."""
HEADS_NOTHING = lazy_regex(
    r"(?:^|\n)\s{0,3}#{1,6}\s[*_]*(?:(?:analysis of|considering|evaluating)\s)?"
    r"(?:the )?(?:option|choice|step|case)\b[^\n]*\s*\Z",
    re.I,
)
"""At the end: what it announces has not been written."""
CUT_OFF = lazy_regex(
    r"\b(?:which|the|an?|of|is|to|and|that|this|because|we|it|in|for|as|with|or|but|by|its|are|was|would"
    r"|can|if|than|from|on|at|so|who|when|where|(?:this|that) [a-z]+|need|have|want|i'd|we'd|might|could"
    r"|must|should|not|just|also|they|he|she|you|perhaps|maybe|has|be|refers|means|let|me|i|let's"
    r"|testing|checking)[\s:*_]*$|,\s*$"
    r"|(?<=[.!?])\s+[A-Z(\[][^.!?\n]*[a-z]{2,}\s[a-z]{2,}$",
)
"""The last words of a text that breaks off: after whole sentences, one without an end."""
YOU_ARE_RIGHT = lazy_regex(
    r"(?:and |so |yes,? )?you(?:'re| are| were) (?:absolutely |quite |totally |completely )?(?:right"
    r"|correct)\b(?! (?:to|in|about)\b)"
)
BOTH = lazy_regex(r"\b(?:one of|both|either|neither|nor|between|two|all|any of|whether|not|each|none)\b")
FROM_TO = lazy_regex(rf"\bfrom {X} (?:over |back )?to\b")
AND = lazy_regex(r",?\s(?:and|but)\s(?:to\s)?|,\s")
OFFER = lazy_regex(
    r"(?:so |now |and |or |also,? )?(?:(?:do|would|did) you (?:want|like|need|wish|prefer)|want me"
    r"|need me|shall i|should i"
    r"|can i|may i|could i|is there anything|are you interested|interested in)\b"
)
"""A question that offers something."""
NEW_CLAUSE = lazy_regex(
    rf"(?:(?!(?:for|of|to|the|an?|option|choice|answer|by|with|in|on|as|letter|both|or|and|not|nor|also"
    rf"|even|maybe"
    rf"|perhaps|possibly|are|is|than)\b)[\w']+\s(?:[\w']+\s){{0,3}}{X}|(?:option |choice "
    rf"|answer )?{X}\s(?!(?:and|or|are|were|all"
    rf"|both|as|look|seem"
    r"|have|do|alike|remain|equally|together|at|in|for|on|side|(?:again|further)\W*$"
    r"|without(?! (?:a |any )?(?:doubt|question|hesitation|fail))"
    r"|(?:(?:more|very|quite|so|rather) )?(?:close|careful|thorough|separate|individual|independent|brief"
    r"|repeated|serious|respective|proper)ly)\b)[\w']+)"
)
"""The second half of a sentence speaks of its own candidate."""
