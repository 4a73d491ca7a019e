"""Which candidate a text commits to in the end, where no marker announces it: clause by clause, what is
asserted, denied, left open or taken back. Shared by `choice` and `qa`.

A candidate stands in the text as one character of a private range (`CANDIDATES`): an option, or an accepted
answer. A clause commits to the one candidate in it if it has words of choosing or concluding, or says hardly
anything else, and neither denies, hedges, asks, supposes nor reports. When in doubt it commits to nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

CANDIDATES = "".join(chr(0xE000 + i) for i in range(64))
X = f"[{CANDIDATES[0]}-{CANDIDATES[-1]}]"

Does = Literal["commits", "stands", "denies", "opens", "resets", "turns", "nothing"]


@dataclass(frozen=True, slots=True)
class Step:
    """What a clause does, and to which candidates; -1 is an answer that is no candidate."""

    does: Does
    to: frozenset[int] = frozenset()


def _words(*alternatives: str) -> re.Pattern[str]:
    return re.compile(r"(?<![\w'])(?:" + "|".join(alternatives) + r")(?![\w'])")


Refine = Callable[[Step, str, str | None], Step]
"""A step, its clause, whether that is `asked`, `supposed`, `reported` or `before`; the step as it counts."""
OTHER = -1
_CANDIDATE = re.compile(X)
_SIGNS = (
    (re.compile(rf"(?<![\w!?.{CANDIDATES[0]}-{CANDIDATES[-1]}])[!¬~](?=[*_\s(]{{0,3}}{X})"), " not "),
    (re.compile(r"<(\w{1,20})>"), r"\n\1: "),
    (re.compile(r"</\w{1,20}>"), "\n"),
    (re.compile(r"\btl;?dr\b", re.IGNORECASE), "in short"),
    (re.compile(r"[{,]\s*[\"']([\w -]{1,30})[\"']\s*:"), r"\n\1: "),
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
_SENTENCE = re.compile(r"[.!?…]+(?=[\s)]|$)|\n+|;\s|\s[–—-]+\s|…")
_CLAUSE = re.compile(
    r"(?<!\ball)(?<!thing)(?<!one)(?<!\bnone),?\s(?=(?:but|however|yet|although|though|still|so|therefore"
    r"|thus|hence|while|whereas|because|since|which)\b(?!\s(?:much|far)\b))"
    rf"|,\s(?=(?:(?:scratch that|and|or)[\s,]+)?{X} (?:yes|yep|no|nope|nah|meh)\b)|,\s(?=(?:correct|right"
    rf"|answer|final)\b)"
    r"|,\s(?=(?:it|it's|i|i'm|i'd|i'll|we|that|that's|this|there|the|my|then|choose|pick|select|go|make"
    r"|mark|put|hence)\b)"
    rf"|,\s(?=(?:and )?{X}\s(?:is|was|fails)\b)|,\s(?=(?:leaving|giving|making|which|yielding)\b)"
    r"|\s?—\s?|\s(?=and (?:upon|on|after|let|i|it|so|the|that|this|therefore|thus|hence|then)\b)"
)
_DECORATION = " \t\r\n.,:;!=()[]{}-–—'"
_NOT = _words(
    r"not", r"\w+n't", r"no", r"never", r"none", r"nor", r"neither", r"cannot", r"wrong\w*",
    r"incorrect\w*", r"false",
    r"mistak\w+", r"errors?", r"fail\w*", r"unlike", r"except\w*", r"exclu\w+", r"eliminat\w+",
    r"(?:rule[ds]?|ruling|throw\w*|knock\w*|cross\w*|weed\w*|kick\w*|strike|struck|toss\w*|leaves?) out",
    r"out(?! of)", r"reject\w*", r"dismiss\w*", r"discard\w*", r"distractors?", r"traps?", r"decoys?",
    r"bogus", r"nope", r"nah", r"unrelated", r"irrelevant", r"contradict\w*",
    r"violat\w+", r"misconceptions?", r"myths?", r"rather than", r"instead of", r"other than",
    r"apart from", r"worse", r"least", r"less", r"hardly", r"far from",
    r"implausible", r"impossible", r"unlikely", r"inconsistent", r"incompatible", r"confus\w+", r"invalid",
    r"untrue", r"off the table", r"short of", r"refut\w+", r"den(?:y|ies|ied)", r"doubt\w*",
    r"bad", rf"besides? {X}", rf"(?:is|are) (?:next to|after|before|near) {X}", r"just as", rf"{X} to {X}",
    r"tempt\w*", r"plausible", r"meh", r"misread\w*", r"na[iï]ve\w*", r"hast[ey]\w*", r"careless\w*",
    r"misle\w+", r"nicht", r"kein\w*", r"pas", r"n'\w+", r"non", r"não", r"не", r"нет",
    r"niet", r"geen", r"ikke", r"inte", r"nie", r"değil", r"tidak", r"bukan",
    r"nunca", r"jamais", r"niemals", r"nessun\w*", r"ningun\w*", r"half", r"close", r"second", r"weak\w*",
    r"converse", r"inverse", r"erroneous\w*", r"absurd\w*", r"unwise", r"fool\w*", r"folly", r"too",
    r"untenable", r"insufficient", r"inadequate", r"superficial\w*", r"falls?", r"nearest",
    r"anything but", r"everything but", r"all but", r"misses", r"lacks?", r"red herrings?", r"avoid",
    r"ignore", r"opposite", r"differ\w*", r"refus\w*", r"hate", r"worst", r"poor\w*", r"another",
    r"rhym\w+", r"starts? with", r"begins? with", r"ends? with", r"nobody", r"without", r"disagree\w*",
    r"aren't", r"nowhere", r"only half", r"partial\w*", r"partly", r"not?-?one",
)  # fmt: skip
_TWICE_DENIED = re.compile(
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
_TWICE_BY_OTHER = re.compile(
    r"\b(?:\w+n't|cannot|not|never)\b[^,]{0,40}\b(?:anything|anyone|any|something) (?:other than|but"
    r"|except)\b"
)
_CONTRASTED = re.compile(
    rf"[,(]?\s?(?:and |but )?(?:\bnot\b|\brather than\b|\binstead of\b|\bas opposed to\b|\bover\b"
    rf"|\bunlike\b)\s(?:by\s|with\s|for\s)?(?:option |choice )?{X}(?:(?:\s?,\s?{X})*\s?,?\s?(?:or|nor"
    rf"|and)\s?{X})?\)?"
)
_HEDGE = _words(
    r"or", r"maybe", r"perhaps", r"possibly", r"might", r"may", r"could", r"either", r"between", r"torn",
    r"unsure", r"uncertain\w*", r"undecided", r"unclear",
    r"depend\w*", r"can(?! only)", r"chance", r"odds", r"probability", r"percent", r"one of", r"any of",
    r"and/or", r"only (?:when|if|in|for|because|partly|by)", r"only$", r"whichever", r"possible",
    r"conceivabl\w+", r"candidates?", r"contenders?", r"toss-?up", r"tie", r"vs", r"versus", r"both",
    r"toss", r"coin",
    r"decide", r"sometimes", r"would need", r"tentative\w*", r"arguabl\w+", r"potential\w*",
    r"consider(?:ed|ing)?", r"wonder\w*", r"contemplat\w+",
)  # fmt: skip
_SUPPOSED = _words(
    r"if", r"unless", r"whether", r"suppos\w+", r"assum\w+", r"imagine", r"pretend",
    r"had (?:i|we|it|the)", r"were (?:i|it|we|this)", r"would have", r"should you", r"in case",
    r"hypothetical\w*", r"provided",
)  # fmt: skip
_BEFORE = _words(
    r"thought", r"first", r"initial\w*", r"at the start", r"original\w*", r"used to", r"previous\w*",
    r"earlier", r"lean\w*", r"almost", r"nearly", r"formerly",
    r"i was", r"we were", r"was (?:my|the first|tempted|thinking|going)", r"instinct\w*", r"gut",
    r"knee-?jerk", r"once", r"wanted", r"hesitat\w+", r"started", r"began",
)  # fmt: skip
_REPORTED = re.compile(
    r"\baccording to\b|\b(?:some|many|most|few|several|other|various|careless|countless)\s(?:\w+\s){0,2}"
    r"(?:say|think|choose|pick|answer|confuse|claim|believe|guess|argue|go|went|mix|select|assume|would"
    r"|might|may|will|often|fall|swear|prefer|give|get|put|name|mention)\b"
    r"|\b(?:people|students?|others|everyone|everybody|someone|somebody|anyone|folks|novices?|beginners?"
    r"|learners?|test-?takers?|critics|friends?|teacher|roommate|rumou?r|chatgpt|gpt)\b|\b(?:people"
    r"|students?|others?|they|he|she|everyone|everybody|someone|somebody|anyone|folks|you|one(?! (?:should"
    r"|must|ought|has to|can only|to))|textbooks?|key|rumou?r|teacher|friend|roommate|neighbou?r|brother"
    r"|sister|colleague|user|novices?|beginners?|learners?|test-?takers?|candidates|critics?|wikipedia"
    r"|google|forum|internet)"
    r"\b[^,]{0,40}\b(?:sa(?:y|ys|id)|th(?:ink|inks|ought)|cho+ses?|picks?|picked|answers?|answered"
    r"|confuse[sd]?|claim(?:s|ed)?|believe[sd]?|guess(?:es|ed)?|argue[sd]?|mix|select(?:s|ed)?|assume[sd]?"
    r"|wonder|swears?|swore|insist(?:s|ed)?|prefers?|suggest(?:s|ed)?|put|marked|circled|mention(?:s|ed)?"
    r"|has it|had it|have it|went|goes|go|fall)\b"
    r"|\b(?:common|popular|usual|typical|frequent|widespread)\s(?:\w+\s){0,2}(?:wrong|mistake|guess|answer"
    r"|error|choice|response|distractor|misconception|belief)\b|\b(?:his|her|their|your|(?!(?:it|that|what"
    r"|here|there|let|question|problem|today)'s)\w+'s)\s(?:\w+\s)?(?:answer|choice|pick|guess|response)\b"
    r"|\bcontrary to\b|\bquoted?\b|\bsupposedly\b|\ballegedly\b|\breportedly\b"
    r"|\b(?:student|reader|beginner|novice|learner)s?\b"
)
_CUE = _words(
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
    r"corresponds?", r"meets?",
)  # fmt: skip
_FUNCTION = re.compile(
    r"\b(?:the|an?|is|are|was|it|that|this|and|so|well|ok(?:ay)?|yes|yeah|yep|sure|just|definitely|clearly"
    r"|of course|really|simply|obviously|then|here|now|thus|hence|option|answer|hmm|ah|oh|alright|right"
    r"|mean|i|think|believe|guess|be|to|in|fact|actually|probably|likely|pretty|very|much|most|letter|text"
    r"|choice|short)\b"
)
_PRONOUN = re.compile(
    r"(?:(?:and|but|so|yet|because|since|however|actually|in fact|well|wait|hmm|oh|sorry|oops"
    r"|unfortunately|honestly|still|now|then|on (?:\w+ )?(?:thought|reflection|inspection))[\s,]+)*"
    r"(?:it|that|this|which|who|these|those|both|the (?:answer|above|latter|former|previous)|my (?:answer"
    r"|previous|first|earlier|choice|pick))(?:'s|\b)"
)
_RESETS = re.compile(
    r"\bmisread\b|\bmessed up\b|\bmy bad\b|\btypo\b|\boops\b|"
    r"\b(?:i was|i am|i'm|i've been|that was|was) (?:\w+ )?(?:wrong|mistaken|kidding|joking|lying)\b"
    r"|\btake (?:that|it|this|all) back\b|\bscratch (?:that|it|this|both|all)\b|\bno longer\b"
    r"|\bnever ?mind\b"
    r"|\b(?:abandon|recant|revoke|ignore|disregard|forget|strike|withdraw|retract|discard|delete) (?:that"
    r"|this|it|what|all|everything|both|the above|my)\b|\bchanged? my mind\b|\bjust kidding\b|\bjoke\b"
    r"|\b(?:can't|cannot|can not|couldn't|won't|not able to|unable to|impossible to|hard to|too close to"
    r"|not ready to|not going to)\s(?:\w+\s){0,2}(?:say|decide|choose|tell|determine|commit|pick|know|call"
    r"|answer|settle|narrow)\b"
    r"|\bno (?:idea|clue|way to know|way of knowing)\b|\bdon't (?:really |actually )?(?:know|trust|buy"
    r"|believe|think so|have a)\b|\beither way\b|\bundecided\b|\bwon't commit\b|\brethink\b|\breconsider\b"
    r"|\bwithdrawn\b|\bretracted\b|\bstart over\b|\bi made an? \w*\s?(?:mistake|error)\b"
    r"|\b(?:that|this|it|which)(?:'s| is| was| can| could| does| did| would"
    r"| has)?\s?(?:\w+ ){0,2}?(?:isn't|wasn't|can't|cannot|couldn't|doesn't|didn't|not|wrong|incorrect"
    r"|false|mistaken|a mistake|an error|nonsense)\b"
    r"|\bnot (?:sure|certain|convinced) (?:any ?more|about (?:that|it|this))\b|\bdoubt (?:it|that)\b"
    r"|\bi disagree\b|\bdon't quote me\b|\bon second thought"
)
_TURNS = re.compile(
    r"\b(?:wait|actually|hmm+|hold on|scratch|no|nope|oops|sorry|correction|apolog\w+|instead|however|but"
    r"|rather|let me|correct\w*|mistake|reconsider\w*|second|so|therefore|thus|hence|in the end|finally"
    r"|final\w*|conclu\w+|chang\w+|switch\w*|revis\w+|update|edit|ultimately|came back|back|then|after"
    r"|overall|now|better|upon|in fact)\b"
)


def committed(text: str, refine: Refine | None = None, state: int | None = None) -> int | None:
    """Return the candidate that a text commits to in the end, None for none; `state`: the one before it.

    `refine` says what a clause does where an answer may be something else than a candidate.
    """
    turned = True
    shaken = False
    alone: set[int] = set()
    denied: set[int] = set()
    for step in _steps(text, refine):
        if step.does == "stands" and shaken and len(step.to) == 1:
            alone.clear()
            state = next(iter(step.to))
            shaken = False
            continue
        if step.does == "stands":
            alone |= step.to - denied
            if state is not None and state not in step.to:
                return None
            continue
        if step.does == "turns":
            turned = True
            shaken = shaken or step.to == _SHAKEN
        elif step.does in ("denies", "opens"):
            alone -= step.to
            denied |= step.to if step.does == "denies" else set()
        if step.does == "resets" or (step.does in ("denies", "opens") and state in step.to):
            state = None
            turned = True
            if step.does == "resets":
                alone.clear()
        elif step.does == "commits":
            one = next(iter(step.to))
            if state is not None and state != one and not turned:
                return None
            state = one
            turned = False
    if state is None and len(alone) == 1:
        return next(iter(alone))
    return state


def _steps(text: str, refine: Refine | None) -> Iterator[Step]:
    last: frozenset[int] = frozenset()
    confirmed: frozenset[int] = frozenset()
    for sentence, asked in _sentences(text):
        scope: str | None = None
        within: frozenset[int] | None = last
        if confirmed and not asked and _CONFIRMS.match(sentence):
            yield Step("commits", confirmed)
        named = _named(sentence)
        confirmed = named if asked and len(named) == 1 else frozenset()
        for clause in _clauses(sentence):
            if scope and _CONTRAST.match(clause) and (scope != "supposed" or clause.startswith("but")):
                scope = None
            if _TURNS.search(clause):
                yield Step("turns", _SHAKEN if _SHAKES.match(clause) else frozenset())
            step, opened = _read(clause, within, scope, asked)
            if refine is not None:
                step = refine(step, clause, "asked" if asked else opened)
            scope = scope or opened
            named = _named(clause)
            within = named or within or frozenset()
            about_last = named or _PRONOUN.match(clause) or clause.startswith("i ") or len(clause.split()) < 3
            if within is last and not about_last:
                within = None
            yield step
        last = within or last


_CONFIRMS = re.compile(
    r"(?:yes|yep|yeah|yup|correct|exactly|definitely|absolutely|indeed|that's it"
    r"|that's the one)\b(?!.*\b(?:but|not)\b)"
)
"""After a question: it is so."""
_SHAKEN = frozenset((-2,))
_SHAKES = re.compile(r"(?:no|nope|nah|wait|actually|scratch|sorry|oops|correction|hold on|jk|hmm)\b")
_CONTRAST = re.compile(
    r"(?:but|however|yet|still|so|therefore|thus|hence|then|though|although|and (?:let|upon|on|after|now"
    r"|then|finally))\b"
)


_BLANKS = re.compile(r"[^\S\n]+")


def _sentences(text: str) -> Iterator[tuple[str, bool]]:
    for pattern, plain in _SIGNS:
        text = pattern.sub(plain, text)
    text = _BLANKS.sub(" ", text.casefold())
    start = 0
    for end in _SENTENCE.finditer(text):
        if text[start : end.start()].strip(_DECORATION):
            yield text[start : end.start()].strip(), "?" in end[0]
        start = end.end()
    if text[start:].strip(_DECORATION):
        yield text[start:].strip(), False


_IS = re.compile(r"\b(?:is|are)\b|\w's\b|\bits\b")
_IN_FAVOUR = re.compile(r"\b((?:discard|reject|abandon|drop|dismiss|set aside|withdr)\w*) in favou?r")
_SETTING_ASIDE = re.compile(
    r"(?:after |by |having |on )?(?:exclud|eliminat|rul|discard|reject|dismiss|remov|cross|set|throw|weed"
    r"|filter)\w*\b[^,:]{0,200},\s"
)


def _clauses(sentence: str) -> list[str]:
    sentence = _IN_FAVOUR.sub(r"\1, but in favour", sentence)
    held = _CONTRASTED.sub(lambda m: m[0].replace(", ", " "), sentence)
    aside = _SETTING_ASIDE.match(held)
    pieces = [aside[0], *_CLAUSE.split(held[aside.end() :])] if aside else _CLAUSE.split(held)
    return [clause.strip(_DECORATION) for clause in pieces if clause and clause.strip(_DECORATION)]


def _named(clause: str) -> frozenset[int]:
    return frozenset(ord(c) - 0xE000 for c in _CANDIDATE.findall(clause))


def _read(
    clause: str, before: frozenset[int] | None, scope: str | None, asked: bool
) -> tuple[Step, str | None]:
    """What a clause does, and what holds from here to the end of its sentence or to a "but"."""
    plain = _TWICE_BY_OTHER.sub(" must be ", _NO.sub("", clause))
    plain = _TWICE_DENIED.sub(" ", plain)
    own = _CONTRASTED.sub(" ", plain)
    named = _named(own)
    opened = scope or (None if _CONCEDED.match(plain) else _scope(plain))
    if not named:
        return _read_without(plain, before, opened, asked), opened
    if _CONCEDED.match(own):
        return Step("nothing"), scope
    if _AS_WELL.search(own):
        return Step("resets"), opened
    if asked or opened == "supposed" or _HEDGE.search(own):
        return Step("resets" if _CONTRAST.match(clause) else "opens", named), opened
    if opened == "reported":
        return Step("nothing", named), opened
    if _NOT.search(own):
        return Step("denies", named), opened
    if opened == "before" and not re.search(r"\b(?:landed|settled|ended|came|went)\b", own):
        return Step("nothing", named), opened
    if len(named) > 1 and _SUM.search(own):
        return Step("nothing"), opened
    if len(named) > 1:
        return Step("opens", named), opened
    if _OTHERWISE.search(own):
        return Step("denies", named), opened
    if _IS.search(own) and not _FUNCTION.sub("", _CANDIDATE.sub("", own)).strip(_DECORATION):
        return Step("commits", named), opened
    if not _FUNCTION.sub("", _CANDIDATE.sub("", own)).strip(_DECORATION):
        return Step("stands", named), opened
    if _CUE.search(own) or _ENDS.search(own):
        return Step("commits", named), opened
    return Step("nothing", named), opened


_OTHERWISE = re.compile(r"\b(?:un|im|in|il|ir|mis|dis|non-?)\w+\s(?:answer|choice|option|pick|one)\b")
"""An improper answer, an unintended one."""


_NO = re.compile(
    r"^(?:(?:but|and|so|or)\s)?(?:(?:(?:nope|nah|wait|scratch (?:that|it)|actually|sorry|hold on|my bad"
    r"|i mean|oops|hmm+|jk|just kidding|no)(?:\s?[,:.–—-]+\s*|\s(?=it's|its|i )"
    r"|\s(?=(?:wait|actually|sorry|scratch|oops|jk|hold on)\b)))+)(?:(?:wait|actually|sorry|scratch that"
    r"|oops)\s)?"
)
"""Words that open a correction."""


_ENDS = re.compile(
    rf"^(?!(?:\w+ )?(?:next|now|look|consider|check|examine|analy[sz]\w*|regarding|about|start\w*"
    rf"|evaluat\w*|discuss\w*|moving|turn\w*|as for|concerning|remember|note|ask|compare|see|read|recall"
    rf"|let|love|north|south|east|west|like|in|the)\b)(?:[\w']+[\s,]+){{0,5}}{X}(?:[\s,]+(?:lol|lmao|haha"
    rf"|tbh|imo|ngl|obviously|period|easy|duh|all the way|all day|hands down|for sure|of course|then))*$"
)
"""A few words that end in the candidate: "def B", "Tick B"."""
_SUM = re.compile(r"[=^×·]|\\cdot|\\times")
_CONCEDED = re.compile(r"(?:although|though|while|whereas|even though|even if|granted|admittedly|despite)\b")
_AS_WELL = re.compile(
    rf"\b(?:so|as|nor|neither) (?:is|are|does|do|was|would) {X}|^(?:or|maybe|perhaps|possibly"
    rf"|alternatively|though|but)?[\s,]*(?:it|that|this|the answer)\s(?:\w+\s)?(?:may|might|could"
    rf"|can)\s(?:\w+\s)?be\s.*{X}|^(?:or|maybe|perhaps|possibly|alternatively)\b[\s,]*(?:it's\s"
    rf"|it is\s)?{X}|{X}[^,]*\b(?:also|too|as well|equally)\b|\b(?:also|equally)\b[^,]*{X}"
)
"""Another one is said to be right, too."""


_DISBELIEVED = re.compile(
    r"\b(?:not|\w+n't|never|nobody|no one|hardly|doubt\w*|unless|whether)\b[^,]{0,30}"
    r"\b(?:think|thought|believe\w*|say|said|claim\w*|true|clear|certain|sure|case|mean|follow|agree"
    r"|accept|imply|know|clear)\b|^it is not$|\bi doubt\b|\b(?:case|claim|idea|notion|view|suggestion"
    r"|assumption|belief|hypothesis|rumou?r) that\b|^nobody\b"
)
"""What follows in the sentence is not claimed."""


def _scope(clause: str) -> str | None:
    if _SUPPOSED.search(clause):
        return "supposed"
    if _REPORTED.search(clause) or _DISBELIEVED.search(clause):
        return "reported"
    return "before" if _BEFORE.search(clause) else None


def _read_without(clause: str, before: frozenset[int] | None, scope: str | None, asked: bool) -> Step:
    """What a clause without a candidate does to the one before it."""
    if asked:
        return (
            Step("resets")
            if re.match(r"(?:or|is|but|right|really|wait|hmm|was)\b", clause)
            else Step("nothing")
        )
    about = _PRONOUN.match(clause) is not None
    if about and _NOT.search(clause):
        if before is None:
            return Step("nothing")  # of something else in the sentence
        return Step("denies", before) if before else Step("resets")
    affirms = about and scope is None and _AFFIRMS.search(clause) is not None
    if affirms and before and len(before) == 1 and not _HEDGE.search(clause):
        return Step("commits", before)
    if _RESETS.search(clause):
        return Step("resets")
    if (
        before
        and len(before) == 1
        and _KEEPS.search(clause)
        and not _HEDGE.search(clause)
        and not _NOT.search(clause)
    ):
        return Step("commits", before)
    return Step("nothing")


_AFFIRMS = re.compile(
    r"\b(?:right|correct|the answer|the one|best"
    r"|my (?:\w+ )?(?:answer|pick|choice|response|reply|decision))\b"
)
_KEEPS = re.compile(
    r"\b(?:lock\w*|stick\w*|go|going|submit\w*|keep\w*|settl\w+)(?: with| in| on)? (?:that|it|this)\b"
)
