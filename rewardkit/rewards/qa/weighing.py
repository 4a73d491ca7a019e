"""Whether a response commits to an accepted answer in a sentence: "The capital of France is Paris".

The words of the question are given; what a sentence adds to them is what it answers. An accepted answer must
be all that it adds where an answer stands, and nothing after it may take it back or answer otherwise.
"""

from __future__ import annotations

import re
from functools import lru_cache, partial

from rewardkit.rewards.qa.abroad import answered
from rewardkit.rewards.qa.asides import without_asides
from rewardkit.rewards.qa.asked import without_its_words
from rewardkit.rewards.qa.clauses import REMARK, refined
from rewardkit.rewards.qa.few_words import is_bare
from rewardkit.rewards.qa.figures import without_figures
from rewardkit.rewards.qa.marking import marked
from rewardkit.rewards.qa.stems import stem, stems
from rewardkit.rewards.qa.sums import without_sums
from rewardkit.rewards.qa.tables import without_tables
from rewardkit.rewards.reading.clause_words import CANDIDATES, X
from rewardkit.rewards.reading.commitment import breaks_off, committed

_MAX_READ = 6_000
_DIGIT = re.compile(r"\d")
_POLAR = frozenset(("yes", "no", "true", "false", "not", "none", "both", "neither", "all"))
"""Answers that are words of grammar: where they stand in a sentence, they need not answer."""


_FIRST = re.compile(r"^\s*(?:\(?1[.)]|Q1[.:)]|[Aa]ns(?:wer)?\))\s+(?=\S)")
"""The number of the only item of a list."""
_STEP = re.compile(
    r"\b([Ss]tep|STEP|Thought|Action|Observation|Hint)\s#?\d{1,2}(?=[*_]{0,3}\s?(?:[:.)]|\n|\Z))"
)
_STEP_ASKED = re.compile(r"\b(?:steps?|thoughts?|actions?|observations?|hints?)\b", re.IGNORECASE)
_NUMBERED = re.compile(r"\(\d\)(?=\s)")
_LISTED = re.compile(rf"[^.\n]{{1,100}};\s?{X}\W*|{X};[^.\n]{{1,100}}")
"""Several answers side by side."""
_NUMBERS_ALONE = re.compile(
    rf"(?=.*\d)(?=.*{X})[-−+]?(?:{X}|\d[\d.]*)(?:[\s,;/]+[-−+]?(?:{X}|\d[\d.]*))+[\s.!]*"
)
_BARRED = re.compile(rf"(?=.*{X})[^|\n]{{1,80}}(?:\|[^|\n]{{1,80}})+")


def weighed(text: str, accepted: tuple[str, ...], question: str, *, before: bool = False) -> bool:
    """Return whether a text commits to an accepted answer; `before`: whether it did so before this text."""
    if any(answer.strip().casefold() in _POLAR for answer in accepted):
        return before
    given = stems(question, accepted)
    text = without_its_words(text, question)
    of_number = any(map(_DIGIT.search, accepted))
    if of_number and _STEP.search(text) and not _STEP_ASKED.search(question):
        text = _STEP.sub(r"\1", text)
    refine = partial(refined, given=given, of_number=of_number, frames=[], labelled=set(), question=question)
    text = _FIRST.sub("", text[-_MAX_READ:])
    text = without_tables(text, lambda word: stem(word) in given) if "|" in text else text
    if (own := _of_question(accepted, question)) is not None:
        text = own.sub(r"\g<next>", text)
    text = marked(_NUMBERED.sub(" ", text) if "(1)" in text and "(2)" in text else text, accepted, question)
    text = without_asides(answered(text, question), question, of_number=of_number)
    if (
        _one_of_lines(text)
        or _NUMBERS_ALONE.fullmatch(text.strip())
        or _LISTED.fullmatch(text.strip())
        or _BARRED.fullmatch(text.strip())
    ):
        return False
    text = _NEXT_FIELD.sub(";\n", text) if text.count(": ") > 1 else text
    text = without_figures(text, accepted, question)
    if "=" in text or "equals" in text:
        text = without_sums(text, accepted, given)
    text = _of_relation(text, question, given) if " of " in text else text
    text = _APPOSITION.sub("", _NUMERAL.sub("", text) if "\n" in text else text)
    return committed(text, refine, 0 if before else None) == 0


_NEXT_FIELD = re.compile(r"(?:,|\s[/|]|\s[–—-])\s(?=(?:[^\W\d_]+\s){0,3}[^\W\d_]+:\s)")
"""Between the fields of a form: "Capital: Sydney, seat of parliament: Canberra"."""


@lru_cache(maxsize=4_096)
def _of_question(accepted: tuple[str, ...], question: str) -> re.Pattern[str] | None:
    """What the question itself says that begins like an answer: "DNA polymerase", where DNA is the answer."""
    names = "|".join(re.escape(name) for name in accepted if len(name) > 1 and name.isalpha())
    found = names and re.search(rf"\b(?P<name>{names}) (?P<next>[a-z]\w{{3,}})\b", question)
    return re.compile(rf"\b{re.escape(found['name'])} (?P<next>{found['next']})\b") if found else None


def _of_relation(text: str, question: str, given: frozenset[str]) -> str:
    """A text in which an answer belongs to a noun of the question, where that asks of what it is one.

    "Titan is a moon of Saturn" says which planet has it, "Isaac was the father of Abraham" not who his was.
    """

    def belonging(found: re.Match[str]) -> str:
        asked = stem(found["noun"].casefold()) in given and not re.search(
            rf"\b{re.escape(found['noun'])}s? of\s+(?!(?:which|what)\b)\w", question, re.IGNORECASE
        )
        return found[0].replace(" of ", " to ") if asked else found[0]

    return _NOUN_OF.sub(belonging, text)


_NOUN_OF = re.compile(rf"\b(?:is|was|are|were) (?:\w+ ){{0,3}}?(?P<noun>[^\W\d_]+) of (?:the )?{X}")


_NUMERAL = re.compile(rf"^[ \t]*\d{{1,2}}[.)][ \t]+(?=[A-Z][\w']*\s\w+\s[^\n{X[1:-1]}]*$)", re.MULTILINE)
"""Of an entry of a list that says something, and names no answer."""
_APPOSITION = re.compile(
    rf"(?<={X}),\s(?:the |an? )?(?!(?:not|or|and|but|nor|then|rather|instead|formerly|no|maybe|if|unless|as"
    rf"|now|once)\b)"
    rf"(?:[a-z]+\s){{1,3}}of\s(?:[^.;:,!?\n{X[1:-1]}](?!(?:is|was|are"
    rf"|were)\s)){{1,60}}(?=[.,]?\s*(?:\n|\Z))"
)
"""What explains an answer: "Albany, capital of the state"."""


def _one_of_lines(text: str) -> bool:
    """Whether a text is lines of a few words, one of them an accepted answer and another something else."""
    lines = [line.strip(" \t\r.*_#>-") for line in text.splitlines() if line.strip()]
    if not _TWO <= len(lines) <= _MOST_LINES or CANDIDATES[0] not in lines:
        return False
    if breaks_off(lines[-1]):
        lines.pop()
    others = [line.casefold() for line in lines if CANDIDATES[0] not in line]
    return any(is_bare(line, frozenset()) and not REMARK.search(line) for line in others)


_TWO = 2
_MOST_LINES = 6
