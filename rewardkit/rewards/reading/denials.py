"""Whether a response denies an answer, in the words before it or after it: "it is not 72", "72 is wrong".

English and Chinese, and a plain "is not" in twenty other languages, one clause at a time; shared by the
rewards that look for an answer in a response.
"""

from __future__ import annotations

import re
from functools import lru_cache

from rewardkit.rewards.reading.counted import table
from rewardkit.rewards.reading.hearsay import SPEAKERS, told_behind, told_next
from rewardkit.rewards.reading.lazy_regex import lazy_regex
from rewardkit.rewards.reading.own_words import disowned
from rewardkit.rewards.reading.wordings import (
    ASSURED,
    DENIED_AFAR,
    FOR_OTHER_QUESTION,
    HAVE_DOUBTS,
    ONCE,
    OTHER_QUESTION,
    OVERTAKEN,
    SLIPPED,
    UNSUPPORTED,
    YOURS,
)


def _pattern(phrases: str) -> re.Pattern[str]:
    """A pattern in which a blank stands for one to three of any white space; case does not matter."""
    return lazy_regex(phrases.replace(" ", r"\s{1,3}"), re.IGNORECASE)


_CLAUSE_END = re.compile(
    r"[.;:,!?。，；！？\n]"
    r"|\b(?:so|thus|hence|therefore|then|because|since|which|(?<!anything )(?<!all )but|and|giving|gives"
    r"|yielding|sondern|sino|mais|maar|utan|bensì|lecz)\b",
    re.IGNORECASE,
)
DENIAL = re.compile(
    r"\b(?:not|never|cannot|neither|nor|impossible|wrong|incorrect|false|untrue|unlikely|doubt|deny|denies"
    r"|refute|exclude|except|mistaken?|decoy|no way|ruled? out|nobody|reject|refuse)\b"
    r"|n['’]t\b|不是|并非|不可能",
    re.IGNORECASE,
)
"""Words that deny something, wherever they stand."""
_DENIED_CLAUSE = _pattern(
    r"\b(?:it|that|this|there)(?:['’]s| (?:is|was|would be|seems|looks|appears|isn['’]t|wasn['’]t)) "
    r"(?:\w{1,12} ){0,2}?"
    r"(?:impossible|false|wrong|incorrect|untrue|unlikely|doubtful|absurd|nonsense|a mistake|no way"
    r"|not (?:true|the case|possible|likely|correct|right) that)\b"
    r"|n['’]t (?:\w{1,12} ){0,2}?(?:true|the case|possible|likely|correct|right) that\b"
    r"|\b(?:doubt|deny|denies|denied|refute|refuted|dispute|no way|nobody|no one)\b"
    r"|\b(?:wrong|incorrect|false|mistaken|decoy|bad) (?:\w{1,12} )?"
    r"(?:answers?|options?|choices?|results?|solutions?|conclusions?|values?)\b|不可能"
    r"|\b(?:refuse to (?:say|answer|write)|a lie that|not in a (?:million|thousand) years|(?:i"
    r"|we) deny that)\b"
    r"|\b(?:least likely|second.best|last thing|naive|trick)\b"
    r"|\b(?:initially|originally|yesterday|at first|once|first) (?:i |we )?(?:thought|answered|said"
    r"|guessed|believed)\b"
    r"|\bat first (?:glance|sight)\b|\bcheck(?:ing)? (?:if|whether)\b"
    r"|\b(?:the user|they|he|she|people|the prompt|the key) (?:claims?|expects?|wants?|thinks?"
    r"|believes?|suggests?)\b[^,;]{0,40}$"
    r"|\byou (?:probably|surely|no doubt|clearly|must) (?:think|believe|expect|say)\b"
    r"|\b(?:suppose|assume|imagine|pretend|if only|naive|naively|tempt(?:ed|ing)|placeholder|distractor)\b"
    r"|\bmight (?:think|guess|say|expect|answer|believe)\b|\b(?:first|initial|wild|random) guess\b"
    r"|\b(?:many|most|some) (?:students|people|solvers) (?:would )?(?:think|say|answer|get|give)\b"
    r"|\b(?:a|an|the) (?:trap|trick|(?:common|typical|usual|easy) (?:mistake|error))\b"
    r"|\b(?:a|an|any) (?:\w{1,12} )?(?:upper|lower) bound\b"
    r"|(?:^|[^\w\s]\s{0,3}|what |but )(?:if|unless|whether|assuming|supposing|check (?:if"
    r"|whether)) (?:that )?"
    r"(?:it|that|this|(?:the|our|my|your) (?:\w{1,12} )?(?:answer|result)) (?:is|was|were|be|equals)\b"
    r"|\b(?:students?|friends?|someone|somebody|anyone|anybody|people|(?:text)?book|chatgpt|gpt|critics"
    r"|others|guy|kid|bot|he|she|they"
    r"|(?-i:[A-Z])[a-z]{1,11}) (?:(?:who|that|might|would|may|could) ){0,2}"
    r"(?:says?|said|claims?|claimed|thinks?|thought|believes?|believed"
    r"|guesse[sd])\s{0,3}[:,]?\s{0,3}"
    r"(?:that )?(?:(?:it|this|(?:the|their|his|her) (?:\w{1,12} )?(?:answer|result|solution))\s{0,3})?"
    r"(?:(?:is|was|be|equals)\s{0,3})?$"
    rf"|{UNSUPPORTED}|{DENIED_AFAR}"
)
"""A clause that denies, asks, supposes, or reports as another's, all of what it goes on to say."""
_DENIED_NEXT = _pattern(
    r"(?:\b(?:not|never|cannot|neither|nor|hardly|except|anything but|all but|far from|other than"
    r"|rather than"
    r"|instead of|rul(?:e|ed|es|ing) out|exclud(?:e|ed|es|ing)|reject(?:ed|s|ing)?|eliminat(?:e|ed|es|ing)"
    r"|discard(?:ed|s|ing)?|fails? to be|avoid(?:s|ed|ing)?|ignor(?:e|es|ed|ing)|forget"
    r"|disregard(?:s|ed|ing)?|beware of"
    r"|in place of|as opposed to|opposite of|negation of|no longer|nowhere near|off from|off by"
    r"|nicht|niet|inte|ikke|nie|non|pas|no (?:es|son|era)|não (?:é|são)|не|bukan|không phải"
    r"|ei ole|nu (?:este|e)|nem|není|nejsou|nije|δεν|δε|ليس|ليست|אינ[הו]|לא)\b|ไม่ใช่"
    r"|n['’]t\b|不是|并非)"
    r"(?:[^\w=]{1,4}(?!(?:is|are|was|were|equals|becomes|gives)\b)[^\W=]{1,20}){0,3}[^\w=]{0,4}$"
)
"""A denial of what comes next. "The number of apples not eaten is" denies nothing: a verb stands between."""
_COMPARED_NEXT = _pattern(
    r"(?:\b(?:less|more|greater|fewer|larger|smaller|bigger|higher|lower) than(?: or equal to)?"
    r"|\bexceed(?:s|ed|ing)?|\bdiff(?:ers?|erent) from|\bunequal to|\bbounded by|\b(?:twice|thrice"
    r"|half(?: of)?)"
    r"|\b(?:answer|result|value|it|that) (?:is|lies|falls|stays|must be|should be|can be) "
    r"(?:at (?:most|least)|up to|no \w{1,10} than|between|over|under|above|below))"
    r"(?: (?:the|our|my|an?)(?: (?:final|correct|right|true|real|actual))? (?:answer|result|value))?"
    r"(?: (?:is|of))?\s{0,3}$"
)
"""What is compared with what comes next is not said to be it."""
_DENYING_LABEL = _pattern(
    r"\b(?:(?<!or\s)false|wrong|incorrect|invalid|untrue|mistaken?|rejected|discarded|not|eliminated"
    r"|crossed out"
    r"|distractors?|avoid|draft|temporary|provisional|placeholder|back-?up|todo|tbd|p\.?\s?s\.?|also"
    r"|alternatively)"
    r"(?: \#?\w{1,12}){0,2}"
    r"\s{0,2}(?:[:=–—→-]>?)\s{0,3}(?:(?:the|my|our) )?(?:final )?"
    r"(?:(?:answer|result)\s{0,2}(?:is|=|:)?\s{0,2})?$"
    r"|\b(?:mistake|error|misconception) (?:gives?|giving|yields?|yielding)\s{0,3}$"
    r"|(?:\b(?:wrong|incorrect|untrue|invalid)[\])]?|[❌✗✘🚫⛔])\s{0,3}$"
    r"|\b(?:(?:examples?|sample|template|format|placeholder|hint|user|human|system|teacher|student|friend"
    r"|professor|classmate|critic|instruction)"
    r"(?: (?:answer|output|response|solution|box))?\s{0,2}(?::|[-=]>|→)"
    r"|(?:old|previous|earlier|their|others?['’]?"
    r"|(?:student|teacher|friend|classmate|professor|tutor)['’]?s?) (?:final )?(?:answer|guess|result"
    r"|solution)s?"
    r"\s{0,2}(?:[:=]|is|was))\s{0,3}$"
    rf"|\b{OTHER_QUESTION}\s{{0,2}}:\s{{0,3}}$"
    rf"|{FOR_OTHER_QUESTION},?(?: the)?\s{{0,3}}$"
    r"|\b(?:e\.\s?g\.|such as|something like|written (?:like|as)|(?:the|this) (?:form|format)"
    r"|as in|your (?:final )?answer (?:as|in)|let(?:['’]s| us) (?:try|test|check|say)"
    r"|(?:to answer,?|(?:asked|told|supposed|instructed|meant|expected) to) (?:write|say|reply|type|put"
    r"|output|answer)"
    r"(?: with)?|(?:someone|somebody|anyone|people|students?|critics|chatgpt|gpt|the user|the key|the bot) "
    r"(?:often |once )?(?:wrote|writes?|answer(?:s|ed)?|repl(?:y|ies|ied)|wants?|expects?|claims?)\s?:?"
    r"|(?:yeah,? right|as if|in your dreams)[,!:.…]*(?: the)?(?: final)?(?: answer (?:is|was|were))?"
    r"|(?:sooner|rather) (?:\w{1,12} ){1,3}than (?:say|answer|write|choose|pick)"
    r"|(?:rhymes|starts|begins|ends) with|at first (?:glance|sight),?|were (?:the|my|our) (?:answer"
    r"|result)|(?:answer|result) (?:contains|depends on|used to be|were)"
    r"|compare (?:it )?(?:with|to|against)|(?:^|[.:] )(?:try|test|check)"
    r"|(?:could|might|would|can) (?:it|that|this|the answer) be)(?: of)?,?\s{0,3}$"
    r"|\b(?:(?:(?:was|were) (?:going|about|tempted)|am tempted) to (?:say|answer|write)|almost (?:said"
    r"|wrote|answered)"
    r"|(?:told|forced|made|ordered|paid|bribed) (?:me )?(?:to )?(?:say|answer|write)"
    r"|(?:as a joke|jokingly|sarcastically|ironically|just to be safe|to please (?:you|them)"
    r"|to fill the blank"
    r"|for the record only|sarcasm\)?)[,:]?"
    r"|would have (?:said|answered|written)|wish (?:it|that|the answer) (?:were|was)"
    r"|lose marks for (?:writing|saying)"
    r"|(?:damned|hanged) if (?:the )?(?:answer )?(?:is)?|(?:my )?dead body is (?:the )?answer|failing that,?"
    r"|(?:answer|result|value) (?:comes (?:right |just )?(?:after|before)|precedes|follows|includes"
    r"|beats|replaces"
    r"|surpasses|is (?:sometimes|rarely|seldom|nearly|almost|somewhere near|near|next to|(?:north|south"
    r"|east|west) of)))"
    r"\s{0,3}$"
    rf"|(?:^|[.:;!\n] ?)(?:but |and )?(?:{ONCE}|once)\b[^.!?;:\n]{{0,60}} (?:the|my"
    rf"|our) (?:\w{{1,12}} )?answer (?:was|used to be|had been)"
    r"\s{0,3}$"
    r"|(?:^|[.:;,!\n] ?)(?:(?:so|and|or) )?(?:(?:just )?(?:for|as an?) (?:example|instance"
    r"|illustration)|like (?:this|so)|say(?=[,:]))"
    r"[,:]?\s{0,3}$"
)
"""A label that denies what it stands before, or says that it is an example: "Wrong: 72", "such as 72"."""
_LEADING_BACK = (
    r"(?:(?:but|however|yet|though|although|ah|which|that|this|it|(?:the|my|this|that"
    r"|our) (?:answer|result|solution|quote|quotation|statement|claim|line|work"
    r"|above)|wait|actually|oh"
    r"|hmm|sorry|no|and|so|i|there)(?:['’](?:s|m))?[\s,.!:;]{1,3}){0,4}"
)
"""With what a sentence begins that takes back the one before it."""
_TAKEN_BACK = _pattern(
    r"(?:</[a-z]{1,10}>)?[\s*_)\]\\%.,;:!?(\[<←\"”–—-]{0,12}(?:or (?:maybe|perhaps|possibly|not|so"
    r"|something|thereabouts|whatever|nearby|it\s)\b"
    r"|for the sake of argument\b|or is (?:it|that)\b"
    r"|or else [$]?\d"
    r"|(?:if|unless|provided(?: that)?|(?:as|so) long as) (?:you|one|they|people) (?:\w{1,12} )?"
    r"(?:like|prefer|love|hate|enjoy|fancy|feel|insist)s?\b"
    r"|(?:give or take|vs|versus|xor|i think not)\b|"
    + _LEADING_BACK
    + rf"(?:(?:a slip|the slip|{SLIPPED}|{OVERTAKEN})|(?:i |we )?(?:still )?{HAVE_DOUBTS}"
    rf"|i doubt it\b|{YOURS})|"
    + _LEADING_BACK
    + r"(?:(?:is|was|are|were|be|seems?|looks?|appears?|would|could|can|may|might|must|has|have|been|to"
    r"|turns"
    r"|out|am|'s) ){0,4}"
    r"(?:definitely|certainly|clearly|simply|also|just|totally|completely|plainly|obviously|only|a"
    r"|an)?\s{0,3}"
    r"(?:(?:wrong|incorrect|false|untrue|invalid|impossible|mistaken|(?:ruled|left) out|rejected|excluded"
    r"|eliminated|discarded|mistake|error|trap|decoy|distractor|kidding|joking"
    r"|(?:not|isn['’]t|wasn['’]t|can(?:not|['’]t) be) (?:the |a )?(?:quite )?"
    r"(?:correct|right|answer|true|it|valid|possible|allowed|result|solution|final)"
    r"|(?:ignore|disregard|forget|scratch|strike|discard) (?:that|this|it|what|(?:the|my) (?:above"
    r"|answer|previous))"
    r"|made an? (?:\w{1,12} )?(?:mistake|error)"
    r"|(?:must |have to |should |want to |will |shall |would |hereby )?(?:retract|withdraw|revoke|recant"
    r"|take back|take (?:it|that|this) back)\b(?=[^\d\n]{0,20}(?:[.!;\n]|$))"
    r"|(?:what (?:we|you|i) (?:want|have|need) to avoid|(?:the )?answer to "
    r"(?:another|a different|some other|part|the (?:wrong|other|previous|first))))\b"
    r"|(?:not(?: (?:this|that))?|can(?:not|['’]t) be)\s{0,3}(?:[!.]|$)))"
    r"|(?:</[a-z]{1,10}>)?[\s$*]{0,3}[,;/(–—-]?\s{0,3}(?:maybe|perhaps|possibly|alternatively)\b"
    r"|(?:</[a-z]{1,10}>)?\s{0,3}(?:错误?|不对|不正确|[❌✗✘🚫⛔])"
    r"|[\s*]{0,3}(?:no es (?:correct|la |el )|es (?:incorrect|fals)|n['’]est pas|est (?:fau|incorrect)"
    r"|ist (?:nicht (?:richtig|korrekt|die)|falsch)|is niet|non è|não é|не(?:верн|правильн| ответ))"
    r"|[\s*]{0,3}(?:değil|नहीं|(?:[이가은는] )?아[니닙]|では(?:な|あり)|じゃ(?:な|あり))"
)
_DOUBTED = _pattern(
    r"(?:</[a-z]{1,10}>)?[\s*_()\[\]\\]{0,8}\?"
    r"|[\s*_)\]$}]{0,6}[,!.…]{1,3}\s?(?:\?|(?:right|no|correct|yes|isn['’]t it|eh|huh)\?)"
    r"|(?:</[a-z]{1,10}>)?[\s*_)\]\\%.,;:!(\[–—…-]{0,12}"
    r"(?:(?:but|however|which|that|this|it|and|so|well|oh|wait|the answer)[\s,.!:;]{1,3}){0,4}(?:"
    r"(?:no|nope|oops|sorry|correction|scratch that|i mean|make that)"
    r"(?=\s{0,3}(?:[,.!;:…—-]|$)| (?:wait|that|it|not|\d))"
    r"|(?:wait|actually|hmm|hold on|rather|or rather|on (?:second thoughts?|reflection))\b"
    r"[^.!?\n]{0,60}?\d"
    r"|(?:(?:does|did|do|can|could|would|will|is|was|has|must|should)(?:\s{0,3}not|n['’]t)|can(?:not"
    r"|['’]t)) "
    r"(?:(?:quite|really|even|be|actually) ){0,2}"
    r"(?:work|satisfy|fit|hold|check|match|right|correct|add|meet|agree|solve|it|what)\b"
    r"|(?:fail(?:s|ed)?|contradicts?|violates?|exceeds?|overshoots?|conflicts?|falls short|misses|disagrees"
    r"|leads? to a contradiction)\b"
    r"|(?:is|was|were|would|could|may|might|seems?|appears?|looks?|has|had)\s[^.!?\n\d]{0,40}?"
    r"(?:\b(?:guess|overestimate|underestimate|naive|tempting|trap|trick|mistake|at first|initially"
    r"|what (?:most|many|some|people|others|students)|too (?:large|small|big|high|low|many|few|much"
    r"|little)|off by|close,? but|nowhere near"
    r"|retracted|withdrawn|revoked|superseded|contradict\w{0,4}|absurd|placeholder|nonsense"
    r"|(?:a|an|any) (?:\w{1,12} )?(?:upper|lower) bound"
    r"|(?:only|just|merely) (?:an?|one|my|our) (?:\w{1,12} )?(?:bound|estimate|approximation|attempt)))\b"
    r"|(?:a|an|the)?\s{0,3}(?:\w{1,12} (?:but|and) )?(?:wrong|incorrect)\b)"
)
"""What asks about the answer before it, corrects it, or says that it is something less than the answer."""
_ASSURED = _pattern(ASSURED)
_WRAPPING = re.compile(
    r"\\(?:text(?:bf|rm|it)?|emph|underline|mbox|mathrm|mathbf|boxed)\s?\{|[{}$*]"
    r"|</?(?!answer)[a-z]{1,10}>|<answer>"
    r"|(?<![a-zA-Z0-9])_{1,3}|_{1,3}(?![a-zA-Z0-9{\\])"
)
_LABEL = re.compile(r"\b[a-zA-Z]\s*=\s*$")
_ASIDE = re.compile(r",\s[^,.;:!?\n]{1,25},\s")
"""Words between two commas: they end no clause."""
_LOOKED_AT = 160


_INERT = " \t\r\n.,;:!$*_)]}\\"
"""What may follow an answer and says nothing of it."""
_MAY_DENY = (
    table(
        "guesses "
        "not no nor nobody never neither cannot impossible wrong incorrect false untrue unlikely "
        "unequal doubt "
        "doubtful deny denies denied refute refuted exclude excluded excludes excluding except mistake "
        "mistaken "
        "error decoy misconception rule ruled rules ruling reject rejected rejects rejecting refuse but than "
        "instead far hardly absurd nonsense fail fails dispute discard discarded discards discarding "
        "eliminate "
        "eliminated eliminates eliminating bad suppose assume imagine pretend only naive naively tempted "
        "tempting placeholder distractor might guess many most some trap trick bound exceed exceeds differ "
        "differs different least up between over under above below invalid example examples e sample "
        "template "
        "format form hint previous earlier old their other others student students user human "
        "instruction such "
        "something written your if unless whether assuming supposing friend friends someone somebody anyone "
        "anybody people book textbook chatgpt gpt critics guy kid bot says said claims claimed thinks "
        "thought "
        "believes believed guessed avoid avoids avoided avoiding ignore ignores ignored ignoring forget "
        "disregard disregards disregarded disregarding beware place opposed opposite negation longer "
        "nowhere off "
        "could would can try test check say compare as exceeded exceeding bounded twice thrice half "
        "nicht niet inte ikke nie non pas es son era bukan ei nu nem nije "
        "teacher teachers classmate classmates professor tutor "
        "nothing none little scant scarcely barely without insufficient zero further farther yet remains "
        "remained still unclear uncertain undecided unknown doubtful debatable questionable unproven "
        "unconfirmed disputed open means way another practice warm warmup trial training demo "
        "write wrote writes answered answers replied reply wants expects expected asked told supposed "
        "instructed "
        "think probably surely clearly yeah dreams sooner starts begins rhymes contains depends used "
        "were lie "
        "years likely second best last whether "
        "checking check once first originally yesterday initially according fool liar idiot "
        "few circumstances worse question chance dummy mock toy similar related easier analogous "
        "instance illustration like "
        "joke jokingly sarcastically ironically safe please blank record sarcasm forced made ordered "
        "paid bribed "
        "going about almost wish damned hanged dead marks failing after precedes follows includes beats "
        "replaces "
        "surpasses rarely seldom nearly near next north south east west eliminated crossed distractors draft "
        "temporary provisional backup todo tbd ps s also alternatively "
        "before until till prior past formerly previously originally historically yesterday ago"
    )
    | SPEAKERS
)
"""Without one of these words a clause denies nothing that comes next: most have none."""
_MAY_TAKE_BACK = table(
    "or wrong incorrect false untrue invalid impossible mistaken ruled left rejected excluded eliminated "
    "discarded mistake error trap decoy distractor not cannot no nope oops sorry correction scratch mean "
    "make wait actually hmm hold rather second reflection fail fails failed contradict contradicts "
    "contradicted contradictory contradiction contradicting contradictions violate violates exceed exceeds "
    "overshoot overshoots conflict conflicts falls misses disagrees lead leads guess overestimate "
    "underestimate naive tempting trick first initially too off close nowhere retracted withdrawn revoked "
    "superseded absurd placeholder nonsense bound estimate approximation attempt kidding joking ignore "
    "disregard forget strike discard answer avoid maybe perhaps possibly alternatively give vs versus xor "
    "think what retract withdraw revoke recant take es est ist niet non "
    "slip blunder misprint oversight lapse gaffe goof misclick typo brain misspoke misspoken mistyped "
    "sake foot eye both quote ass believe trust lied fools fool psych psyche gotcha fooled erm um uh err "
    "strike said statement "
    "prefer like love hate enjoy fancy feel insist neq ne misclicked misremembered miswrote slipped "
    "doubts doubt misgivings qualms reservations decide choose "
    "pick judge yours your reader up leave leaving "
    "according fools idiot idiots liar liars says say claims thinks mine differs different disagree "
    "disagrees else "
    "made invented hallucination hallucinated fabricated fabrication sarcasm joke lie knows know jk lol "
    "dreams pigs freezes half cases only lucky want wish hope scores earns gets deserves worth verdict "
    "status grade "
    "another changed more anymore until till before once then prior back old former previous past ago "
    "next future "
    "time tomorrow yesterday formerly originally previously up last reform from"
)
"""Without one of these words, or a question mark, what follows an answer takes nothing back."""
_LETTERS = re.compile(r"[a-z]+")


def denied(text: str, position: int) -> bool:
    """Whether the clause that leads up to a place denies what stands there: "it is not", "it cannot be"."""
    start = max(0, position - _LOOKED_AT)
    window = text[start:position].rstrip(_BEFORE_ANSWER)
    while window.endswith(_OPENINGS):
        window = window.rstrip("abcdefghijklmnopqrstuvwxyz>").rstrip("\\<").rstrip(_BEFORE_ANSWER)
    line = window.rpartition("\n")[2]
    if "/" in line and line.lstrip().startswith(_COMMENTS):
        return True
    if not line or (len(line) < _LONGEST_MARKER and _MARKED.fullmatch(line.strip())):
        return left_open(text[: start + len(window) - len(line)])
    window = line.rpartition(". ")[2]
    return bool(window) and _denies_next(window)


_LONGEST_MARKER = 30
_MARKED = _pattern(
    r"(?:\b(?:the|my|our) )?(?:final )?\banswers?\s{0,3}(?:is|are|was|(?P<colon>[:=]))?\s{0,3}$"
)
"""The words that announce an answer: what stands before them is looked at too."""
_COMMENTS = ("//", "/*")
"""With which a line of comment begins, in a fence or not."""
_BEFORE_ANSWER = " \t*_([#${"
_OPENINGS = ("\\boxed", "\\fbox", "\\text", "\\mathrm", "\\displaystyle", "<answer>")
"""What may open an answer, and says nothing of it."""


@lru_cache(maxsize=4_096)
def _denies_next(window: str, same_line: bool = True) -> bool:
    """Whether a sentence so far denies what comes next. Kept, since most use the same few words.

    On the line before, "did not eat it" says nothing of what comes next.
    """
    if not _has_any(_MAY_DENY, window.lower()):
        return False
    before = _LABEL.sub(" ", _ASIDE.sub(" ", _ASSURED.sub(" ", _plain(window)))).rstrip(" \t\n*_([\\#")
    if _DENYING_LABEL.search(before) or told_next(before):
        return True
    start = 0
    for end in _CLAUSE_END.finditer(before):
        start = end.end()
    clause = before[start:]
    if _DENIED_CLAUSE.search(clause) or _COMPARED_NEXT.search(clause):
        return True
    if same_line and _DENIED_NEXT.search(clause):
        return True
    marked = _MARKED.search(before)
    if marked is None:
        return False
    announced = before[: marked.start()].rstrip()
    return _denies_next(announced) if marked["colon"] else _DENYING_LABEL.search(announced) is not None


def _has_any(words: frozenset[str], text: str) -> bool:
    """Whether a text in small letters has one of these words, "n't", or a sign of other scripts' denials."""
    if not words.isdisjoint(_LETTERS.findall(text)) or "'t" in text:
        return True
    return not text.isascii() and not _SIGNS.isdisjoint(text)


_SIGNS = frozenset("’不非错❌✗✘🚫⛔ãнğन아でじôíδليאלไ人说はが람보éúüöр")
"""One of these stands in every denial that is not in Latin letters alone."""


def left_open(before: str) -> bool:
    """Whether the line before one that begins with an answer denies it: "The answer is not", "Example:".

    `before` is the text up to the answer, or the end of it.
    """
    line = before.rstrip()[-_LOOKED_AT:].rpartition("\n")[2]
    last = line.rpartition(" ")[2].strip("*_()[]").lower()
    if (
        last.isascii()
        and last[-1:] not in (":", "=", ">")
        and last not in OPEN_ENDS
        and not last.endswith(("n't", "n’t"))
    ):
        return False  # as most lines: the search below would find nothing, and take long
    return _LEFT_OPEN.search(line) is not None or _denies_next(line, same_line=False)


_LEFT_OPEN = _pattern(
    r"(?:\b(?<!than\s)(?<!or\s)(?<!if\s)(?:not|never|cannot be|neither|wrong|incorrect|impossible|false"
    r"|nicht|niet|inte|ikke|no es|n['’]est pas|non è|não é|не)"
    r"|n['’]t(?: be)?)\b"
    r"(?:[^.!?\n]{0,60}\b(?:is|be|are|was|equals|number|answer|result))?[\s*_]*[:=]?\s*$"
)
"""A line that denies what the next one is to say: "The answer is not", "It is impossible that it is"."""
OPEN_ENDS = table(
    "not never be neither nor cannot hardly wrong incorrect impossible untrue invalid false is are was were "
    "equals number answer answers result value than exceed exceeds exceeded exceeding from to by twice "
    "thrice half of most least between over under above below as in like form format try test check say says "
    "said claims claimed thinks thought believes with against gives giving yields "
    "yielding avoid avoids ignore ignores forget disregard rejects excludes eliminates except but assume "
    "suppose write longer near e.g. e.g., nicht niet inte ikke es pas"
)
"""The last words of lines that leave something to be said."""


def taken_back(text: str, position: int) -> bool:
    """Whether what follows a place takes the answer back: "is wrong", "(incorrect)", "was ruled out", "?"."""
    window = text[position : position + _LOOKED_AT]
    if not window.strip(_INERT) or not ("?" in window or _has_any(_MAY_TAKE_BACK, window.lower())):
        return False
    if disowned(window) or (_ONCE_BEHIND.match(window) and _was_answer(text, position)):
        return True
    shown = _plain(
        _of_formula(window) if "\\" in window or window[:3].strip(" $\n")[:1] in ("&", "=") else window
    )
    return _TAKEN_BACK.match(shown) is not None or _DOUBTED.match(shown) is not None or told_behind(shown)


_ONCE_BEHIND = _pattern(rf"[\s)}}$*_\]]{{0,6}},? ?(?:\w{{1,12}} )?(?:{ONCE}|then(?=\W*$))")


def _was_answer(text: str, position: int) -> bool:
    """Whether what ends at a place is what the answer was, or will be."""
    before = text[max(0, position - _LOOKED_AT) : position].rpartition("\n")[2]
    return _ANSWER_ONCE.search(before) is not None


_ANSWER_ONCE = _pattern(
    r"\banswers? (?:was|were|used to be|had been|will be"
    r"|shall be)\s[^.!?;:]{0,40}(?:\.\d{1,20}[^.!?;:]{0,10})?$"
)


def _of_formula(text: str) -> str:
    """What follows an answer within a formula, in words: `\\quad\\text{(wrong)}`, `&= \\text{not it}`."""
    text = _UNEQUAL.sub(" is not ", _LEADS_TO.sub(" leads to a contradiction", text))
    return _BLANKS.sub(" ", _RELATION.sub(" ", text))


_LEADS_TO = re.compile(
    r"\\(?:implies|Rightarrow|Longrightarrow|to)\s*(?:\\\w{1,10}\s?\{\s*)?(?:a )?contradiction", re.I
)
_UNEQUAL = re.compile(r"\\neq?(?![a-zA-Z])|\\not\s?=|≠")
_RELATION = re.compile(
    r"\A[\s$]*&?\s?=?|\\(?:implies|Rightarrow|Longrightarrow|to|xrightarrow\s?\{[^{}]*\})(?![a-zA-Z])"
)
_BLANKS = re.compile(
    r"\\(?:q?quad(?![a-zA-Z])|[,;:! ])|~|&|\\(?:textcolor|color)\s?\{\w{1,12}\}|\\(?:small|large|bf|it|rm"
    r"|sf)(?![a-zA-Z])"
)


def _plain(text: str) -> str:
    return _WRAPPING.sub(" ", text)
