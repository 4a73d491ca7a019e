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
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from rewardkit.rewards.clause_words import (
    AFFIRMS,
    AFTERTHOUGHT,
    AND,
    AS_WELL,
    BEFORE,
    BOTH,
    CANDIDATES,
    CLAUSE,
    CONCEDED,
    CONFIRMS,
    CONFUSED,
    CONTRAST,
    CONTRASTED,
    CORRECTED,
    CUE,
    CUT_OFF,
    DECORATION,
    DISBELIEVED,
    ENDS,
    FROM_TO,
    FUNCTION,
    HEAD,
    HEDGE,
    IN_FAVOUR,
    IS,
    KEEPS,
    NEW_CLAUSE,
    NO,
    NOT,
    OTHERWISE,
    PLAN,
    PROCESS,
    PRONOUN,
    REPORTED,
    RESETS,
    SENTENCE,
    SETTING_ASIDE,
    SHAKES,
    SIGNS,
    SUM,
    SUPPOSED,
    TURNS,
    TWICE_BY_OTHER,
    TWICE_DENIED,
    UNFIT,
    YOU_ARE_RIGHT,
    X,
)
from rewardkit.rewards.other_languages import in_english

Does = Literal["commits", "leans", "names", "stands", "denies", "opens", "resets", "turns", "nothing"]


@dataclass(frozen=True, slots=True)
class Step:
    """What a clause does, and to which candidates; -1 is an answer that is no candidate."""

    does: Does
    to: frozenset[int] = frozenset()
    wording: str = ""
    """Of a clause that leans: its words without the candidate."""


Refine = Callable[[Step, str, str | None], Step]
"""A step, its clause, whether that is `asked`, `supposed`, `reported` or `before`; the step as it counts."""
OTHER = -1
_CANDIDATE = re.compile(X)


def committed(text: str, refine: Refine | None = None, state: int | None = None) -> int | None:
    """Return the candidate that a text commits to in the end, None for none; `state`: the one before it.

    `refine` says what a clause does where an answer may be something else than a candidate.
    """
    whole = _complete(text)
    reading = _Reading(state)
    for step in _steps(whole, refine):
        reading.take(step)
        if reading.contradicted:
            return None
    if whole is not text and reading.state is None and (_ABOUT_TO.search(whole) or _HEADED.search(whole)):
        return None  # what only stands there may have been about to be discussed
    return reading.result()


def _complete(text: str) -> str:
    """A text without the sentence in which it breaks off."""
    rows = text.rstrip().rsplit("\n", 2)[-2:]
    if "|" in rows[0] and rows[-1].lstrip().startswith("|") and rows[-1].count("|") < rows[0].count("|"):
        return text.rstrip().rpartition("\n")[0]  # a row of a table of which not all cells have been written
    if CUT_OFF.search(text[-_TAIL:]) is None:
        return text
    ends = [end.end() for end in SENTENCE.finditer(text)]
    return text[: ends[-1]] if ends else ""


def breaks_off(text: str) -> bool:
    """Return whether a text is nothing but a sentence that breaks off."""
    return text.strip() != "" and _complete(text).strip() == ""


_ABOUT_TO = re.compile(rf"\w[^\n]*\s{X}[\s*_:.)\]\"'”’]*\Z")
_HEADED = re.compile(rf"[^\W{X[1:-1]}][^\n]*\n[\s*_#>-]*{X}[\s*_:.)\]\"'”’]*\Z")
"""Under other text, alone on a line: a heading, if what follows breaks off."""
_TAIL = 200
_TWO = 2


@dataclass(slots=True)
class _Reading:
    """What a text has committed to so far."""

    state: int | None
    leaning: bool = False
    """Whether the state is only where an answer stands: a plainer word overrides it."""
    turned: bool = True
    """Whether something since then lets another one take its place."""
    shaken: bool = False
    contradicted: bool = False
    alone: set[int] = field(default_factory=set)
    denied: set[int] = field(default_factory=set)
    named: dict[int, str] = field(default_factory=dict)
    """Of which something is said that neither commits nor denies, and what."""
    wordings: set[str] = field(default_factory=set)
    """In which it leant: the same words for another one are a list."""

    def take(self, step: Step) -> None:
        if step.does == "stands":
            self._stands(step.to)
        elif step.does == "turns":
            self.turned = True
            self.shaken = self.shaken or step.to == _SHAKEN
        elif step.does == "resets" and step.to != {self.state}:
            self.state = None
            self.turned = True
            self.alone.clear()
        elif step.does in ("denies", "opens"):
            self._loses(step)
        elif step.does == "commits":
            self._commits(next(iter(step.to)))
        elif step.does == "leans":
            self._leans(next(iter(step.to)), step.wording)
        elif step.does == "names":
            self.named |= dict.fromkeys(step.to, step.wording)

    def _stands(self, to: frozenset[int]) -> None:
        if self.shaken and len(to) == 1:
            self.alone.clear()
            self.state = next(iter(to))
            self.leaning = False
            self.shaken = False
            return
        self.alone |= to - self.denied
        if self.leaning and self.state not in to:
            self.state = None
        self.contradicted = self.state is not None and self.state not in to

    def _loses(self, step: Step) -> None:
        self.alone -= step.to
        if step.does == "denies":
            self.denied |= step.to
        if self.state in step.to:
            self.state = None
            self.turned = True

    def _commits(self, one: int) -> None:
        self.contradicted = self.state not in (None, one) and not self.turned and not self.leaning
        self.state = one
        self.leaning = False
        self.turned = False
        self.shaken = False

    def _leans(self, one: int, wording: str) -> None:
        listed = wording in self.wordings
        self.wordings.add(wording)
        if self.state == one:
            return
        if self.leaning and listed:
            self.state = None
        elif self.shaken or ((self.state is None or self.leaning) and not listed and self.alone <= {one}):
            if self.shaken:
                self.alone.clear()
                self.shaken = False
            self.state = one
            self.leaning = True
            self.turned = False

    def result(self) -> int | None:
        """The one candidate that is left."""
        if self.state is None and len(self.alone) == 1:
            return next(iter(self.alone))
        if self.state is None and not self.alone:
            return self._set_apart()
        return self.state

    def _set_apart(self) -> int | None:
        """The one of which something else is said than of the others: "A is odd, B is odd, C is right"."""
        left = {one: said for one, said in self.named.items() if one not in self.denied}
        if len(left) == 1:
            return next(iter(left)) if self.denied else None
        said = Counter(left.values())
        apart = [one for one in left if said[left[one]] == 1]
        return apart[0] if len(apart) == 1 and len(said) == _TWO else None


def _steps(text: str, refine: Refine | None) -> Iterator[Step]:
    last: frozenset[int] = frozenset()
    confirmed: frozenset[int] = frozenset()
    for sentence, asked in _sentences(text):
        scope: str | None = None
        within: frozenset[int] | None = last
        if confirmed and not asked and CONFIRMS.match(sentence):
            yield Step("commits", confirmed)
        named = _named(sentence)
        confirmed = named if asked and len(named) == 1 else frozenset()
        named_before = True
        for clause in _clauses(sentence):
            if scope and CONTRAST.match(clause) and (scope != "supposed" or clause.startswith("but")):
                scope = None
            if clause.startswith("which ") and within is not None and not named_before:
                within = None
            if TURNS.search(clause):
                yield Step("turns", _SHAKEN if SHAKES.match(clause) else frozenset())
            if CORRECTED.match(clause):
                yield Step("resets")
                clause = CORRECTED.sub("", clause)
            clause = AFTERTHOUGHT.sub("", TWICE_DENIED.sub(" ", TWICE_BY_OTHER.sub(" must be ", clause)))
            clause = FROM_TO.sub("to", clause)
            step, opened = _read(clause, within, scope, asked)
            if refine is not None:
                step = refine(step, clause, "asked" if asked else opened)
            scope = scope or opened
            named = _named(clause)
            named_before = bool(named)
            within = named or within or frozenset()
            about_last = named or PRONOUN.match(clause) or clause.startswith("i ") or len(clause.split()) < 3
            mixed_up = not named and CONFUSED.search(clause) is not None
            if (within is last and not about_last) or step.to == {OTHER} or mixed_up:
                within = None
            yield step
        last = within or last


_SHAKEN = frozenset((-2,))
_BLANKS = re.compile(r"[^\S\n]+")


def _sentences(text: str) -> Iterator[tuple[str, bool]]:
    text = in_english(text)
    for pattern, plain in SIGNS:
        text = pattern.sub(plain, text)
    text = _BLANKS.sub(" ", text.casefold())
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
    return _CANDIDATE.search(clause) is not None and _says_more(clause)


def _says_more(clause: str) -> bool:
    """Whether there is more in a clause than candidates and words of grammar."""
    return FUNCTION.sub("", _CANDIDATE.sub("", clause)).strip(DECORATION) != ""


def _named(clause: str) -> frozenset[int]:
    return frozenset(ord(c) - 0xE000 for c in _CANDIDATE.findall(clause))


def _read(
    clause: str, before: frozenset[int] | None, scope: str | None, asked: bool
) -> tuple[Step, str | None]:
    """What a clause does, and what holds from here to the end of its sentence or to a "but"."""
    plain = NO.sub("", clause)
    own = _after_both(CONTRASTED.sub(" ", plain))
    own = _OR_SAME.sub(r"\1 ", own)
    named = _named(own)
    opened = scope or (None if CONCEDED.match(plain) else _scope(plain))
    if not named:
        if SHAKES.match(clause) and RESETS.match(clause):
            return Step("resets"), opened
        return _read_without(plain, before, opened, asked, shaken=plain != clause), opened
    if CONCEDED.match(own):
        return Step("nothing"), scope
    if opened != "reported" and AS_WELL.search(own):
        return Step("resets", named), opened
    if asked or opened == "supposed" or HEDGE.search(own):
        return Step("resets" if CONTRAST.match(clause) else "opens", named), opened
    if opened == "reported":
        return Step("nothing", named), opened
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
        return Step("commits" if IS.search(own) else "stands", named), opened
    if PLAN.search(own):
        return Step("nothing", named), opened
    if CUE.search(own):
        return Step("commits", named), opened
    if PROCESS.match(own):
        return Step("nothing", named), opened
    if ENDS.search(own):
        return Step("commits", named), opened
    return _of_place(own, named), opened


_OR_SAME = re.compile(rf"({X})[^{X[1:-1]}]{{0,20}}\bor\b[^{X[1:-1]}]{{0,40}}\1")
"""The same answer in other words."""


def _after_both(clause: str) -> str:
    """What is said once all candidates have been named, where that is of one of them: "A or B? B it is"."""
    ends = {m[0]: m.end() for m in reversed(list(_CANDIDATE.finditer(clause)))}
    rest = clause[max(ends.values()) :] if len(ends) > 1 else ""
    return rest if len(_named(rest)) == 1 else clause


def _of_place(clause: str, named: frozenset[int]) -> Step:
    """What a clause does that has no words of choosing: what is new in a sentence stands after its verb."""
    head, _, tail = clause.partition(CANDIDATES[next(iter(named))])
    if _WORD.search(HEAD.sub("", head)) and len(tail.split()) < _SHORT_TAIL:
        return Step("leans", named, head + "X" + tail)
    return Step("names", named, head + "X" + tail)


_WORD = re.compile(r"\w")
_SHORT_TAIL = 8


def _scope(clause: str) -> str | None:
    if SUPPOSED.search(clause):
        return "supposed"
    if REPORTED.search(clause) or DISBELIEVED.search(clause):
        return "reported"
    return "before" if BEFORE.search(clause) else None


_SHAKEN_BY_QUESTION = re.compile(
    r"(?:or|but|right|really|wait|hmm)\b|(?:is|was) (?:it|that|this|there)\b"
    r"(?! (?:help\w*|clear|useful|okay?|what you|something|anything|enough|easy)\b)"
)


def _read_without(
    clause: str, before: frozenset[int] | None, scope: str | None, asked: bool, *, shaken: bool
) -> Step:
    """What a clause without a candidate does to the one before it."""
    if asked:
        return Step("resets") if _SHAKEN_BY_QUESTION.match(clause) else Step("nothing")
    if before and len(before) == 1 and YOU_ARE_RIGHT.match(clause):
        return Step("commits", before)
    about = PRONOUN.match(clause) is not None
    if about and UNFIT.search(clause):
        if shaken:
            return Step("resets")
        if before is None:
            return Step("nothing")  # of something else in the sentence
        return Step("denies", before) if before else Step("resets")
    affirms = about and scope is None and AFFIRMS.search(clause) is not None
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
