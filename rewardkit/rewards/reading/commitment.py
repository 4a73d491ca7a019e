"""Which candidate a text commits to in the end, where no marker announces it: clause by clause, what is
asserted, denied, left open or taken back. Shared by `choice` and `qa`.

A candidate stands in the text as one character of a private range (`CANDIDATES`): an option, or an accepted
answer. A clause commits to the one candidate in it if it has words of choosing or concluding, or says
hardly anything else, and neither denies, hedges, asks, supposes nor reports. Without such words it leans to
the one that stands after its verb; whatever is said more plainly overrides that. When in doubt it commits
to nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from rewardkit.rewards.reading.clause_words import (
    ADDED,
    AFFIRMS,
    AND,
    ANSWER_ONCE,
    AS_WELL,
    BEFORE,
    BOTH,
    BUT_THIS,
    CANDIDATE,
    CANDIDATES,
    CLAUSE,
    CONCEDED,
    CONFIRMS,
    CONFUSED,
    CONTRAST,
    CUE,
    CUT_OFF,
    DECORATION,
    DISCONFIRMS,
    ENDS,
    FROM_TO,
    FUNCTION,
    HEAD,
    HEADS_NOTHING,
    HEDGE,
    HEDGE_ALONE,
    IN_FAVOUR,
    IS,
    KEEPS,
    NEW_CLAUSE,
    NO,
    OFFER,
    PLAN,
    PROCESS,
    PRONOUN,
    REPORTED,
    SENTENCE,
    SETTING_ASIDE,
    SHAKES,
    SIGNS,
    SPLIT,
    SUM,
    SUPPOSED,
    TURNS,
    YOU_ARE_RIGHT,
    X,
)
from rewardkit.rewards.reading.denying_words import (
    AFAR,
    AFTERTHOUGHT,
    CONTRASTED,
    CORRECTED,
    DISBELIEVED,
    NOT,
    OTHERWISE,
    RESETS,
    TWICE_BY_OTHER,
    TWICE_DENIED,
    UNFIT,
    WITHDRAWN,
)
from rewardkit.rewards.reading.hearsay import told
from rewardkit.rewards.reading.other_languages import in_english
from rewardkit.rewards.reading.own_words import stance
from rewardkit.rewards.reading.remarks import without_remarks
from rewardkit.rewards.reading.steps import OTHER, SHAKEN, Does, Reading, Step

Refine = Callable[[Step, str, str | None], Step]
"""A step, its clause, whether that is `asked`, `supposed`, `reported` or `before`; the step as it counts."""


def committed(text: str, refine: Refine | None = None, state: int | None = None) -> int | None:
    """Return the candidate that a text commits to in the end, None for none; `state`: the one before it.

    `refine` says what a clause does where an answer may be something else than a candidate.
    """
    if _TAKES_BACK.search(text[-_LONGEST_TURN:]):
        return None
    whole = _complete(text)
    reading = Reading(state, turned=state is None)
    for step in _steps(whole, refine):
        reading.take(step)
        if reading.contradicted:
            return None
    if whole is not text and reading.state is None and (_ABOUT_TO.search(whole) or _HEADED.search(whole)):
        return None  # what only stands there may have been about to be discussed
    return reading.result()


_LONGEST_TURN = 60
_TAKES_BACK = re.compile(
    r"[.!\n][\s*_]*(?:(?:no|nope|wait|hmm+|hold on|but|oh|actually)\b[\s,.…—–-]*){1,5}\Z", re.IGNORECASE
)
"""A text that breaks off as it turns against what it has said: "It is 37. No,"."""


def _complete(text: str) -> str:
    """A text without the sentence in which it breaks off."""
    before, _, last = text.rstrip().rpartition("\n")
    above = before.rpartition("\n")[2]
    if "|" in above and last.lstrip().startswith("|") and last.count("|") < above.count("|"):
        return before  # a row of a table of which not all cells have been written
    # What the tail does not hold of a long last line counts as text before it.
    if HEADS_NOTHING.search(text[-_TAIL:]) and _WORD.search(text, 0, max(len(before), len(text) - _TAIL)):
        return before
    if CANDIDATE.search(last) and not CANDIDATE.search(before) and _FIRST_CUT.search(text):
        return before
    if CUT_OFF.search(text[-_TAIL:]) is None and _ENTRY_CUT.search(text[-_TAIL:]) is None:
        return text
    ends = [end.end() for end in SENTENCE.finditer(text)]
    return text[: ends[-1]] if ends else ""


_ENTRY_CUT = re.compile(
    r"[.!:][*_]{0,3}\s*\n(?:[^\n]*\n)*[^\S\n]*(?:[-*•]|\d{1,2}[.)])(?:[^\S\n]+(?:[*_]{0,3}(?:The|A|An|It"
    r"|Its|This|They|There)"
    r"\b(?:[^\S\n]\w+){0,6})?)?[^\S\n]*\Z"
)
"""An entry of a list that has hardly begun, behind whole sentences."""


_FIRST_CUT = re.compile(
    r"\b(?:analy[sz]e|evaluate|examine|consider|check|look at|go (?:through|over)|review|assess|compare"
    rf"|one by one|in turn)\b[^\n{X[1:-1]}]*[.:][*_]{{0,3}}\s*\n"
    rf"[\s*_>(-]*{X}(?:[^\w\n]{{0,4}}{X})?[^\w\n]{{1,6}}\w[^\n.!?{X[1:-1]}]*\Z",
    re.IGNORECASE,
)
"""The first of the options that are about to be gone through."""


def breaks_off(text: str) -> bool:
    """Return whether a text is nothing but a sentence that breaks off."""
    return text.strip() != "" and _complete(text).strip() == ""


_ABOUT_TO = re.compile(rf"\w[^\n]*\s{X}[\s*_:.)\]\"'”’]*\Z")
_HEADED = re.compile(rf"[^\W{X[1:-1]}][^\n]*\n[\s*_#>-]*{X}[\s*_:.)\]\"'”’]*\Z")
"""Under other text, alone on a line: a heading, if what follows breaks off."""
_TAIL = 200
_TWO = 2


def _steps(text: str, refine: Refine | None) -> Iterator[Step]:
    last: frozenset[int] = frozenset()
    confirmed: frozenset[int] = frozenset()
    told = refuted = False
    for sentence, asked in _sentences(text):
        own = None if asked or told else stance(sentence)
        if own is not None:
            yield Step("resets" if own == "disowns" else "nothing")
            continue
        withdrawn = not asked and _withdraws(sentence, told=told, refuted=refuted)
        if withdrawn or SPLIT.search(sentence):
            yield Step("resets")
            continue
        scope: str | None = None
        told = asked
        refuted = False
        within: frozenset[int] | None = last
        if confirmed and not asked and CONFIRMS.match(sentence):
            yield Step("commits", confirmed)
        if not asked and DISCONFIRMS.match(sentence):
            yield Step("denies", confirmed) if confirmed else Step("turns", SHAKEN)
        in_sentence = named = _named(sentence)
        confirmed = named if asked and len(named) == 1 else frozenset()
        named_before = True
        for clause in _clauses(sentence):
            if scope and CONTRAST.match(clause) and not _still(scope, clause):
                scope = None
            if clause.startswith("which ") and within is not None and not named_before:
                within = None
            if TURNS.search(clause):
                yield Step("turns", SHAKEN if SHAKES.match(clause) else frozenset())
            if CORRECTED.match(clause):
                yield Step("resets")
                clause = CORRECTED.sub("", clause)
            if any(map(clause.__contains__, _DENYING_AFAR)) and AFAR.search(clause):
                scope = scope or "reported"
            clause = AFTERTHOUGHT.sub("", TWICE_DENIED.sub(" ", TWICE_BY_OTHER.sub(" must be ", clause)))
            clause = FROM_TO.sub("to", clause)
            step, opened = _read(clause, within, scope, asked)
            if refine is not None:
                step = refine(step, clause, "asked" if asked else opened)
            scope = scope or opened
            told = told or scope is not None
            refuted = (step.does == "denies" and bool(step.to)) or (refuted and not step.to)
            named = _named(clause)
            named_before = bool(named)
            within = named or within or frozenset()
            about_last = named or PRONOUN.match(clause) or clause.startswith("i ") or len(clause.split()) < 3
            mixed_up = not named and CONFUSED.search(clause) is not None
            if (within is last and not about_last) or step.to == {OTHER} or mixed_up:
                within = None
            yield step
        last = (
            frozenset() if asked and not _ABOUT_LAST.search(sentence) and not in_sentence else within or last
        )


_DENYING_AFAR = ("no", "few ", "hardly", "question", "dead body")
"""Every clause that denies from afar has one of these: most have none, and the search takes long."""
_ABOUT_LAST = re.compile(
    r"\b(?:it|that|this|so|they|these|which|right|correct|sure)\b|^\W*(?:why|how|but|and|really)\b"
)
"""In a question without a candidate: it asks of the one before."""


def _still(scope: str, clause: str) -> bool:
    """Whether a clause of contrast is told or supposed like the one before: "not A but B"."""
    return BUT_THIS.match(clause) is not None or (scope == "supposed" and not clause.startswith("but"))


def _withdraws(sentence: str, *, told: bool, refuted: bool) -> bool:
    """Whether a sentence takes back the answer, and not what the sentence before it speaks of: another answer
    that is `told` of, or not yet `refuted`."""
    found = WITHDRAWN.fullmatch(sentence.strip(DECORATION))
    if found is None:
        return False
    return refuted or (not told and (found["past"] or found["oh"]) is not None)


_BLANKS = re.compile(r"[^\S\n]+")


def _sentences(text: str) -> Iterator[tuple[str, bool]]:
    text = without_remarks(in_english(text))
    for pattern, plain in SIGNS:
        text = pattern.sub(plain, text)
    text = _BLANKS.sub(" ", text.casefold()).replace(" ,", ",")
    if "answer was" in text or "answer will be" in text:
        text = ANSWER_ONCE.sub("once the answer was ", text)
    start = 0
    for end in SENTENCE.finditer(text):
        if text[start : end.start()].strip(DECORATION):
            yield text[start : end.start()].strip(), "?" in end[0]
        start = end.end()
    if text[start:].strip(DECORATION):
        yield text[start:].strip(), False


def _clauses(sentence: str) -> list[str]:
    sentence = IN_FAVOUR.sub(r"\1, but in favour", sentence)
    held = CONTRASTED.sub(lambda m: m[0].replace(", ", " "), sentence)
    aside = SETTING_ASIDE.match(held)
    pieces = [aside[0], *CLAUSE.split(held[aside.end() :])] if aside else CLAUSE.split(held)
    parts = [part for clause in pieces if clause for part in _apart(clause)]
    return [clause.strip(DECORATION) for clause in parts if clause.strip(DECORATION)]


def _apart(clause: str) -> list[str]:
    """The halves of "that rules A out and rules B in": each names a candidate and says something of it."""
    if len(_named(clause)) < _TWO or len(clause) > _LONGEST_CLAUSE or BOTH.search(clause):
        return [clause]
    for joint in AND.finditer(clause):
        left, right = clause[: joint.start()], clause[joint.end() :]
        if _speaks(left) and _speaks(right) and NEW_CLAUSE.match(right):
            return [*_apart(left), *_apart(right)]
    return [clause]


_LONGEST_CLAUSE = 400


def _speaks(clause: str) -> bool:
    """Whether a clause names a candidate, and says something of it."""
    return CANDIDATE.search(clause) is not None and _says_more(clause)


def _says_more(clause: str) -> bool:
    """Whether there is more in a clause than candidates and words of grammar."""
    return FUNCTION.sub("", CANDIDATE.sub("", clause)).strip(DECORATION) != ""


def _named(clause: str) -> frozenset[int]:
    return frozenset(ord(c) - 0xE000 for c in CANDIDATE.findall(clause))


def _read(
    clause: str, before: frozenset[int] | None, scope: str | None, asked: bool
) -> tuple[Step, str | None]:
    """What a clause does, and what holds from here to the end of its sentence or to a "but"."""
    plain = NO.sub("", clause)
    own = _after_both(CONTRASTED.sub(" ", plain))
    own = _OR_SAME.sub(r"\1 ", own)
    named = _named(own)
    opened = scope or (None if CONCEDED.match(plain) else _scope(plain))
    if not asked and opened is None and (one := _chosen_from(plain)):
        return Step("commits", one), opened
    if not named:
        if not asked and SHAKES.match(clause) and RESETS.match(clause):
            return Step("resets"), opened
        return _read_without(plain, before, opened, asked, shaken=plain != clause), opened
    if CONCEDED.match(own):
        return (Step("resets", named) if ADDED.search(own) else Step("nothing")), scope
    if asked and OFFER.match(plain):
        return Step("nothing"), opened
    if opened != "reported" and AS_WELL.search(own):
        return Step("resets", named), opened
    if asked or opened == "supposed" or HEDGE.search(own):
        return Step("resets" if CONTRAST.match(clause) else "opens", named), opened
    if opened == "reported":
        return Step("nothing", named), opened
    if (of_item := _ITEM.match(own)) and len(named) == 1 and not UNFIT.search(of_item["said"]):
        return Step("names", named, of_item["said"]), opened
    if NOT.search(own):
        return Step("denies", named), opened
    if opened == "before" and not re.search(r"\b(?:landed|settled|ended|came|went)\b", own):
        return Step("nothing", named), opened
    if len(named) > 1 and SUM.search(own):
        return Step("nothing"), opened
    if len(named) > 1:
        return Step("opens", named), opened
    if OTHERWISE.search(own):
        return Step("denies", named), opened
    if not _says_more(own):
        does: Does = "concludes" if CONCLUDES.match(own) else "stands"
        return Step("commits" if IS.search(own) else does, named), opened
    if PLAN.search(own):
        return Step("nothing", named), opened
    if CUE.search(own):
        return Step("commits", named), opened
    if PROCESS.match(own) and not _SAID_TO_BE.search(own):
        return Step("nothing", named), opened
    if ENDS.search(own):
        return Step("commits", named), opened
    return _of_place(own, named), opened


def _chosen_from(clause: str) -> frozenset[int]:
    """The candidate after the colon that ends a clause in which others were named: "no, not A: B"."""
    found = _OF_SEVERAL.fullmatch(clause)
    if found is None:
        return _named(only["one"]) if (only := _ONLY_ONE.fullmatch(clause)) else frozenset()
    if not _says_more(found["head"]) or not _named(found["head"]) - _named(found["one"]):
        return frozenset()
    label = found["head"][max(m.end() for m in CANDIDATE.finditer(found["head"])) :]
    return frozenset() if NOT.search(label) or HEDGE.search(_CAN_BE.sub("", label)) else _named(found["one"])


_OF_SEVERAL = re.compile(rf"(?P<head>.*{X}.*?)\s?:\s*\(?(?P<one>{X})\W*")
_ITEM = re.compile(
    rf"{X}\s?:\s(?P<said>(?:it|they|this|that)\b.*\b(?:not|\w+n't)\b.*"
    r"|without (?:it|this|that|these|them)\b.*|without [^,]{1,40}\b(?:cannot|\w+n't|not)\b.*)"
)
"""An entry of a list that goes on with a sentence about it: only what is said of answers denies it."""
_ONLY_ONE = re.compile(
    rf"(?:but |and |yet |however )?(?:only|just|exactly) one (?:of (?:them|these|those|the \w+) )?(?:can"
    rf"|could|is|fits|works|holds|remains)\b[^:{X[1:-1]}]*?\s?:\s(?P<one>{X})\W*"
)
_CAN_BE = re.compile(r"\bcan be\b")
_SAID_TO_BE = re.compile(
    rf"^(?!.*\b(?:next|now|first|then|also)\b).*\b(?:is|was|be)\s(?:option |choice )?{X}\W*$"
)
"""At the end of a clause it is what the clause speaks of, whatever that is called."""
CONCLUDES = re.compile(r"(?:and |so )?(?:so|hence|therefore|thus|which leaves|that leaves|leaving)\b")
_OR_SAME = re.compile(rf"({X})[^{X[1:-1]}]{{0,20}}\bor\b[^{X[1:-1]}]{{0,40}}\1")
"""The same answer in other words."""


def _after_both(clause: str) -> str:
    """What is said once all candidates have been named, where that is of one of them: "A or B? B it is"."""
    ends = {m[0]: m.end() for m in reversed(list(CANDIDATE.finditer(clause)))}
    rest = clause[max(ends.values()) :] if len(ends) > 1 else ""
    return rest if len(_named(rest)) == 1 else clause


def _of_place(clause: str, named: frozenset[int]) -> Step:
    """What a clause does that has no words of choosing: what is new in a sentence stands after its verb."""
    head, _, tail = clause.partition(CANDIDATES[next(iter(named))])
    if head.rstrip().endswith(":") and not _WORD.search(tail):
        return Step("labels", named, head)
    if _WORD.search(HEAD.sub("", head)) and len(tail.split()) < _SHORT_TAIL:
        return Step("leans", named, head + "X" + tail)
    return Step("names", named, head + "X" + tail)


_WORD = re.compile(r"\w")
_SHORT_TAIL = 8


def _scope(clause: str) -> str | None:
    if SUPPOSED.search(clause) or HEDGE_ALONE.fullmatch(clause):
        return "supposed"
    if REPORTED.search(clause) or DISBELIEVED.search(clause) or told(clause):
        return "reported"
    return "before" if BEFORE.search(clause) else None


_LEAVES = re.compile(r"(?:which|that|this|it) (?:only |just )?(?:leaves|left)\b")
"""Another one than the one before: "A is ruled out, which leaves B as my answer"."""
SHAKEN_BY_QUESTION = re.compile(
    r"(?:or|but|right|really|wait|hmm)\b|(?:is|was) (?:it|that|this|there)\b"
    r"(?! (?:help\w*|clear|useful|okay?|what you|something|anything|enough|easy)\b)"
)


def _read_without(
    clause: str, before: frozenset[int] | None, scope: str | None, asked: bool, *, shaken: bool
) -> Step:
    """What a clause without a candidate does to the one before it."""
    if asked:
        return Step("resets") if SHAKEN_BY_QUESTION.match(clause) else Step("nothing")
    if before and len(before) == 1 and YOU_ARE_RIGHT.match(clause):
        return Step("commits", before)
    about = PRONOUN.match(clause) is not None
    if about and UNFIT.search(clause):
        if shaken:
            return Step("resets")
        if before is None:
            return Step("nothing")  # of something else in the sentence
        return Step("denies", before) if before else Step("resets")
    affirms = about and scope is None and AFFIRMS.search(clause) is not None and not _LEAVES.match(clause)
    if affirms and before and len(before) == 1 and not HEDGE.search(clause):
        return Step("commits", before)
    if RESETS.search(clause):
        return Step("resets")
    if (
        before
        and len(before) == 1
        and KEEPS.search(clause)
        and not HEDGE.search(clause)
        and not NOT.search(clause)
    ):
        return Step("commits", before)
    return Step("nothing")
