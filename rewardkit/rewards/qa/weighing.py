"""Whether a response commits to an accepted answer in a sentence: "The capital of France is Paris".

The words of the question are given; what a sentence adds to them is what it answers. An accepted answer must
be all that it adds where an answer stands, and nothing after it may take it back or answer otherwise.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache, partial

from rewardkit.arithmetic import BadExpression, calculate
from rewardkit.rewards.clause_words import ADDED, CANDIDATES, CONCEDED, CUE, PRONOUN, X
from rewardkit.rewards.commitment import breaks_off, committed
from rewardkit.rewards.counted import table
from rewardkit.rewards.denying_words import CONTRASTED, NOT
from rewardkit.rewards.qa.abroad import answered
from rewardkit.rewards.qa.answer_words import (
    BESIDE,
    COURTESY,
    GRAMMAR,
    IS,
    JOINED,
    LEAD,
    MAY_BE,
    OTHER_ANSWER,
    PREDICATE,
    SENTENCE_WORDS,
    WORD,
)
from rewardkit.rewards.qa.asides import without_asides
from rewardkit.rewards.qa.asked import related, verb_forms, without_its_words
from rewardkit.rewards.qa.beside import is_beside
from rewardkit.rewards.qa.figures import without_figures
from rewardkit.rewards.qa.marking import marked
from rewardkit.rewards.qa.opposites import of_opposite
from rewardkit.rewards.qa.others import of_something_else
from rewardkit.rewards.qa.tables import without_tables
from rewardkit.rewards.steps import OTHER, Does, Step
from rewardkit.rewards.wordings import FOR_OTHER_QUESTION

_MAX_READ = 6_000
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
    of_number = any(map(_NUMBERS.search, accepted))
    if of_number and _STEP.search(text) and not _STEP_ASKED.search(question):
        text = _STEP.sub(r"\1", text)
    refine = partial(_refined, given=given, of_number=of_number, frames=[], labelled=set(), question=question)
    text = _FIRST.sub("", text[-_MAX_READ:])
    text = without_tables(text, lambda word: _stem(word) in given) if "|" in text else text
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
        text = _COMPUTED.sub(partial(_without_true_sum, accepted=accepted), text)
        text = _solved(_LESS.sub(" minus ", text), given)
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


_COMPUTED = re.compile(
    rf"(?<![\w=.,−–-])(?P<sum>(?:(?<!\S)[−–-])?[(\[$€£]{{0,3}}\d[\d\s.,()\[\]+*/×·÷^%$€£−–-]{{0,200}})(?:="
    rf"|equals)\s?(?={X}(?:\s[^\W\d_]+){{0,3}}[\s.!*$)\]]*\Z)"
)
"""Before the answer that ends a response, the sum that gives it: `365 + 1 = 366`."""

_LESS = re.compile(rf"(?<={X})\s[–−-]\s(?=[$€£]?\d[^\n=]{{0,40}}=)|(?<=\d)\s[–−-]\s(?={X}[^\n=]{{0,40}}=)")
"""Between the terms of a sum: no dash that ends a clause."""


def _without_true_sum(found: re.Match[str], accepted: tuple[str, ...]) -> str:
    """Nothing for a sum that gives an accepted answer, rounded as that is; else the sum as it stands."""
    try:
        value = Fraction(calculate(found["sum"].translate(_NO_MONEY)))
    except (BadExpression, ValueError):
        return found[0]
    for number in filter(None, map(_PLAIN_NUMBER.search, accepted)):
        places = len(number["places"] or "")
        if round(value, places) == Fraction(number[0].replace(",", "").replace("−", "-")):
            return ""
    return found[0]


_NO_MONEY = str.maketrans("[]", "()", "$€£")
_PLAIN_NUMBER = re.compile(r"[-−]?\d[\d,]*(?:\.(?P<places>\d+))?")


def _of_relation(text: str, question: str, given: frozenset[str]) -> str:
    """A text in which an answer belongs to a noun of the question, where that asks of what it is one.

    "Titan is a moon of Saturn" says which planet has it, "Isaac was the father of Abraham" not who his was.
    """

    def belonging(found: re.Match[str]) -> str:
        asked = _stem(found["noun"].casefold()) in given and not re.search(
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


def _solved(text: str, given: frozenset[str]) -> str:
    """A text without the one letter that it solves for: `x = 5`; of a question with letters, one of"
    " those."""
    found = list(_UNKNOWN.finditer(text))
    letters = [word for word in given if len(word) == 1 and word.isalpha()]
    if (
        len(found) != 1
        or found[0]["solved"] is None
        or (letters and found[0]["letter"].lower() not in letters)
    ):
        return text
    return text[: found[0].start()] + text[found[0].end() :]


_UNKNOWN = re.compile(
    rf"(?<![\d)+*/^(<>-])(?<![\d)+*/^(<>-]\s)\b(?P<letter>[a-zA-Z])\s?=\s?(?P<solved>(?={X}[*$)]{{0,4}}[^\S\n]?(?:[.!](?:\s|$)|$)))?",
    re.MULTILINE,
)


def _one_of_lines(text: str) -> bool:
    """Whether a text is lines of a few words, one of them an accepted answer and another something else."""
    lines = [line.strip(" \t\r.*_#>-") for line in text.splitlines() if line.strip()]
    if not _TWO <= len(lines) <= _MOST_LINES or CANDIDATES[0] not in lines:
        return False
    if breaks_off(lines[-1]):
        lines.pop()
    others = [line.casefold() for line in lines if CANDIDATES[0] not in line]
    return any(_is_bare(line, frozenset()) and not _REMARK.search(line) for line in others)


_TWO = 2
_MOST_LINES = 6


@lru_cache(maxsize=4_096)
def stems(question: str, accepted: tuple[str, ...]) -> frozenset[str]:
    """Return the stems of the words that a question gives; of one that lists the answers, without those."""
    plain = question.casefold()
    if " or " in plain and any(answer.casefold() in plain for answer in accepted):
        head, _, _ = plain.partition(" or ")
        plain = head.rpartition(",")[0] if "," in head else ""
    words = _content(plain)
    others = related(frozenset(WORD.findall(plain)))
    found = frozenset(map(_stem, [*words, *others, *(form for word in words for form in verb_forms(word))]))
    return found | _OF_AMOUNTS if accepted and accepted[0][:1].isdigit() else found


_OF_AMOUNTS = frozenset(("needs", "need", "requi", "takes", "take", "consu", "uses", "use", "total", "altog"))
"""Stems of verbs that an amount is the object of, whatever the question says."""


def _stem(word: str) -> str:
    return word if word[0].isdigit() or len(word) < 4 else word.rstrip("s")[:5]


def _content(text: str) -> list[str]:
    return [word for word in WORD.findall(text) if word.partition("'")[0] not in GRAMMAR]


def _refined(
    step: Step,
    clause: str,
    scope: str | None,
    *,
    given: frozenset[str],
    of_number: bool,
    frames: list[tuple[str, str]],
    labelled: set[bool],
    question: str,
) -> Step:
    """A step where there are other answers than the accepted ones; `of_number`: an answer is a number;
    `frames`: the words around accepted answers; `labelled`: whether accepted or other answers, or both, stood
    under labels that say nothing of answers."""
    if CANDIDATES[0] in clause and (
        of_opposite(clause, question)
        or _once_called_otherwise(clause, given)
        or is_beside(clause, question)
        or (question and of_something_else(clause, question, lambda word: _stem(word) in given))
    ):
        return Step("nothing")
    if CANDIDATES[0] in clause and _FOR_ANOTHER.match(clause):
        return Step("nothing")
    if of_number and scope is None and CANDIDATES[0] not in clause and _gives_number(clause, given):
        return Step("commits", frozenset((OTHER,)))
    read = _read_again(step, clause, scope, given)
    if scope is None and _of_asked_field(clause, given):
        return Step("commits", frozenset((OTHER,)))
    if scope is None and (own := _under_label(clause, given)) is not None:
        labelled.add(own)
        if len(labelled) > 1:
            return Step("opens" if own else "stands", frozenset((0 if own else OTHER,)))
    if CANDIDATES[0] in clause:
        head, _, tail = clause.partition(CANDIDATES[0])
        frames.append((head, tail))
        return read
    if scope is None and _FINALLY.match(clause) and not OTHER_ANSWER.match(clause) and not NOT.search(clause):
        return Step("commits", frozenset((OTHER,)))
    if scope is None and (_SAID_RIGHT.match(clause) or _INVERTED.fullmatch(clause)):
        return Step("commits", frozenset((OTHER,)))
    if scope is None and any(_fills(clause, head, tail) for head, tail in frames):
        return Step("commits", frozenset((OTHER,)))
    return read


def _once_called_otherwise(clause: str, given: frozenset[str]) -> bool:
    """Whether a clause is of what once had another name than the question says; `given` is "once" in it."""
    found = _ONCE_CALLED.search(clause) if "given " in clause else None
    return found is not None and _stem(found["name"]) not in given


_ONCE_CALLED = re.compile(
    rf"\bgiven (?:called|known as|named) (?:the )?(?P<name>{X}|\w+)(?: [^\W_]+){{0,3}}? (?:is|are|was)\b"
)


def _gives_number(clause: str, given: frozenset[str]) -> bool:
    """Whether a clause answers with words of the question and one number: "Brady threw 2"."""
    words = _content(clause)
    new = [word for word in words if _stem(word) not in given]
    return len(new) == 1 and new[0][0].isdigit() and len(words) > len(new) + 1 and NOT.search(clause) is None


def _under_label(clause: str, given: frozenset[str]) -> bool | None:
    """Whether an accepted answer is all that stands under a label, False where a few other words do; None for
    a label that announces an answer or a remark, and where there is none: "Heads: Rome. Tails: Paris"."""
    label, colon, value = clause.partition(":")
    words = _content(label)
    if colon and label.strip() in _KINDS:
        return False if CANDIDATES[0] not in value and _is_bare(value.strip(" .'()"), given) else None
    if not colon or not words or _OF_ANSWER.search(label) or COURTESY.match(label) or NOT.search(label):
        return None
    if len(label.split()) > _LONGEST_LABEL or all(_stem(word) in given for word in words):
        return None
    value = value.strip(" .'()")
    if value == CANDIDATES[0]:
        return True
    return False if CANDIDATES[0] not in value and _is_bare(value, given) else None


def _of_asked_field(clause: str, given: frozenset[str]) -> bool:
    """Whether another answer stands under a label of the question's words: "Capital: Sydney"."""
    label, colon, value = clause.partition(":")
    words = _content(label)
    if not colon or not words or CANDIDATES[0] in value or NOT.search(label) or _OF_ANSWER.search(label):
        return False
    return all(_stem(word) in given for word in words) and _is_bare(value.strip(" .'()"), given)


_LONGEST_LABEL = 5
_KINDS = table("author artist city country man woman person film book song team animal place name")
"""Labels under which anything may be the answer that is asked for."""
_FINALLY = re.compile(r"(?:(?:my|the) )?(?:final|updated|revised|corrected) answer\s?[:=]\s*\w")
_SAID_RIGHT = re.compile(
    r"(?:[a-z' ]{1,20},\s)?"
    r"(?:(?:but|and|so|or|then|however|actually)[\s,]+)*(?!(?:but|and|so|or|then|however|actually|it"
    r"|this|that|which|what|who|there|here"
    r"|the (?:answer|above)|my"
    r"|everything|all|each|one|he|she|they|we|i|you|neither|none|nothing"
    r"|no)\b)[\w'’.-]+(?:\s[\w'’.-]+){0,4}?"
    r"\s(?:(?:is|was|are|were|looks|seems) (?:just|every bit|equally) (?:as )?\w+"
    r"|(?:is|was|are|were)\s(?:also|indeed|really|actually|in fact|equally|just as|\s)*"
    r"(?:the|my|an?)?\s?(?:(?:final|correct|right|real|true|actual)\s)*(?:answer|correct|right)(?! to))\b"
)
"""Something else is said to be the answer."""


_INVERTED = re.compile(
    r"(?!(?:so|there|here|that|this|and|but|what|how|where)\b)[\w'’.-]+(?:\s[\w'’.-]+){0,3}\sit (?:is|was)"
)


def _fills(clause: str, head: str, tail: str) -> bool:
    """Whether a clause says of something else what was said of an answer."""
    clause, head = clause.rpartition(": ")[2].lstrip(_QUOTES), head.lstrip(_QUOTES)
    clause = _IN_FACT.sub("", clause)
    if len((head + tail).split()) < _FRAME or not (clause.startswith(head) and clause.endswith(tail)):
        return False
    return 0 < len(clause[len(head) : len(clause) - len(tail)].split()) <= _FRAME


_IN_FACT = re.compile(r"(?:(?:in (?:fact|truth|reality)|actually|rather|instead|correctly|really),?\s)+")
_FRAME = 4
_QUOTES = "'\"‘“"


def _read_again(step: Step, clause: str, scope: str | None, given: frozenset[str]) -> Step:
    here = CANDIDATES[0] in clause
    if here and step.does == "nothing" and CONCEDED.match(clause):
        return step
    if here and step.does == "nothing" and CONTRASTED.search(clause):
        return Step("denies", frozenset((0,)))
    if here and step.does in _READ_AGAIN and scope is None:
        return _of_candidate(step, clause, given)
    if step.does in ("denies", "nothing") and not here and _denies_other(clause, given):
        return Step("nothing")
    if here or scope not in (None, "before") or step.does not in ("nothing", "commits"):
        return step
    if MAY_BE.match(clause) or _added(clause, given):
        return Step("resets")
    if _ANOTHER_QUESTION.search(clause):
        return Step("nothing")
    if _is_bare(clause, given):
        return Step("stands", frozenset((OTHER,)))
    other = OTHER_ANSWER.match(clause)
    said = other["what"] if other else "right"
    if not (PREDICATE.fullmatch(said) or NOT.search(said)) or _answers(clause, given):
        return Step("commits", frozenset((OTHER,)))
    if _may_answer(clause, given):
        return Step("leans", frozenset((OTHER,)), clause)
    return step


def _added(clause: str, given: frozenset[str]) -> bool:
    """Whether a clause says of something else that it is right, too."""
    found = ADDED.search(clause)
    if found is None or _NEGATED.search(found[0]) or PRONOUN.match(clause) or _REMARK.search(clause):
        return False
    return any(_stem(word) not in given for word in _content(ADDED.sub(" ", clause)))


_NEGATED = re.compile(r"\b(?:not|\w+n't|cannot|never|no|hardly|neither|nor)\b")
_ANOTHER_QUESTION = re.compile(r"\b(?:previous|earlier|last|different|next) (?:question|one|problem)\b")
_FOR_ANOTHER = re.compile(FOR_OTHER_QUESTION)
_OTHER_DENIED = re.compile(
    r"\b(?:confuse\w*|mix\w* up|mistaken) (?:with|for)\b|(?:\bnot|n't)\s(?:an?\s|the\s)?[-$]?\d"
)
"""It is not 5: another answer is denied, not the one before."""


def _denies_other(clause: str, given: frozenset[str]) -> bool:
    if _OTHER_DENIED.search(clause):
        return True
    found = _IT_IS_NOT.match(clause)
    said = next(filter(None, found.groups())) if found else ""
    new = [word for word in _content(said) if _stem(word) not in given]
    return bool(new) and _OF_TRUTH.isdisjoint(new)


_IT_IS_NOT = re.compile(
    r"(?:it|that|this)(?: is|'s| was) not (?P<what>.+)|(?:it|that|this) (?:is|was)n't (?P<as>.+)"
    r"|(?:it|that|this|which)(?: also| then)? (?:excludes|eliminates|rules out|disqualifies|refutes"
    r"|contradicts|rejects) (?P<excluded>.+)"
)
_OF_TRUTH = table("true valid accurate so possible clear proven known real what how why where one case")


def _may_answer(clause: str, given: frozenset[str]) -> bool:
    """Whether a sentence may name another answer: a number, or a new word at its end."""
    words = WORD.findall(clause)
    new = [word for word in _content(clause) if _stem(word) not in given]
    if any(word[0].isdigit() for word in new):
        return True
    if _REMARK.search(clause):
        return False
    return bool(new) and words[-1] == new[-1] and (CUE.search(clause) or _WRITES.search(clause)) is not None


_REMARK = re.compile(
    r"\b(?:questions?|wording|quiz\w*|sources?|textbooks?|references?|topics?|explanations?|reasoning"
    r"|documented|documentation"
    r"|verified|verifiable|trivia|school|memory|checks?|checked|confirm\w*|established|well-\w+|details?)\b"
)
"""What is said of the question or of what one knows, and names no answer."""
_WRITES = re.compile(r"\b(?:wr(?:ite|ote|itten)|put|noted)\b")


_READ_AGAIN = ("commits", "stands", "concludes", "leans", "labels", "names", "nothing")


def _is_bare(clause: str, given: frozenset[str]) -> bool:
    """Whether a clause is a few words that may be an answer themselves."""
    clause = _MAY.sub("month", re.sub(LEAD, "", clause, count=1))
    if _OPENS_SENTENCE.match(clause) or NOT.search(clause):
        return False
    label = _LABEL.match(clause)
    if label is not None and not _OF_ANSWER.search(label[0]):
        return False
    said = clause[label.end() if label else 0 :]
    words = _WORDS.findall(said)
    if not 1 <= len(words) <= 5:
        return False
    if len(words) == 1 and _NUMBER.fullmatch(words[0]):
        return True
    if COURTESY.match(said) and not any(word[0].isdigit() for word in words):
        return False
    words = words[:-1] if words[-1] == "i" and len(words) > 1 else words  # James I
    return SENTENCE_WORDS.isdisjoint(words) and any(
        _stem(word) not in given for word in _content(" ".join(words))
    )


_OPENS_SENTENCE = re.compile(
    r"(?:for|with|as|about|regarding|to|by|based|according)\b"
    r"|(?:after|upon|on|when|while|through|having|before) (?:\w+ly )?\w{2,}(?:ing|ed)\b"
    r"|(?:double|cross|re)[- ]?(?:check|verif|comput|calculat|count|read)\w*|checking|verifying|thinking"
    r"|(?:taken|\w{2,}ing) (?:it all|everything|it|all|this|that|these|carefully|up|back|together|through"
    r"|about|of|on|over)\b"
)
_NUMBER = re.compile(r"\d[\d.,]*")
_MAY = re.compile(r"\bmay(?= \d)|(?<=\d )may\b")
_NAMELY = re.compile(r".*\bnamely\s")
_LABEL = re.compile(r"[\w' ]{1,40}?\s?[:=]\s+")
"""What stands before a colon announces what follows."""
_OF_ANSWER = re.compile(
    r"\b(?:answer|reflection|revis\w+|chang\w+|votes?|majority|consensus|result|output|final\w*|definitive"
    r"|solution|correct\w*|value"
    r"|found|verdict|conclusion|right|prediction|guess|is"
    r"|decision|response|pick|choice|a)\b"
)
_WORDS = re.compile(r"[\w'.]*\w")


def _of_candidate(step: Step, clause: str, given: frozenset[str]) -> Step:
    place = _IN_PLACE.search(clause)
    if place is not None and all(_stem(word) in given for word in _content(place["place"])):
        clause = clause[: place.start()]
    remark = _IN_PLACE.search(clause)
    if remark and not _content(remark["place"]):
        clause = clause[: remark.start()]
    clause = _APPOSED.sub("", clause)
    clause = _WITH.sub(lambda m: m[1] + " " if _stem(m[1]) in given else m[0], clause)
    if JOINED.search(clause):
        return Step("opens", frozenset((0,)))
    clause = _LEAVES.sub("", re.sub(LEAD, "", clause, count=1))
    label = _LABEL.match(clause)
    if label is not None and (
        "=" not in label[0] or (_OF_ANSWER.search(label[0]) and " is " not in label[0])
    ):
        clause = clause[label.end() :]
    clause = _NAMELY.sub("", clause)
    new = [word for word in _content(clause) if _stem(word) not in given]
    doer = _DOER_OF_IT.match(clause) if step.does in _READ_AGAIN else None
    if doer and all(_stem(word) in given for word in _content(doer["verb"] + " " + doer["object"])):
        return Step("commits", frozenset((0,)))
    if not new:
        does: Does = step.does if step.does in ("stands", "concludes") else "commits"
        return Step(does, frozenset((0,))) if _in_focus(clause, given) else Step("nothing")
    if _mostly_given(clause, new) and _in_focus(clause, given):
        return Step("commits", frozenset((0,)))
    if step.does in ("leans", "labels", "commits") and _stands_apart(clause, given):
        return Step("leans", frozenset((0,)), step.wording)
    if OTHER_ANSWER.match(clause):
        return Step("commits", frozenset((OTHER,)))  # another name that has this one in it
    return Step("stands", frozenset((OTHER,))) if _is_bare(clause, given) else Step("nothing")


_DOER_OF_IT = re.compile(
    rf"{X} (?:has |had |originally |actually |first )?(?P<verb>[a-z]+) (?P<object>it|this(?: [a-z]+)?"
    rf"|these(?: [a-z]+){{1,2}})(?: (?:in|on|at|when|while|around|from|to|for|during|by|with)"
    rf" [^,{X[1:-1]}]*)?$"
)
"""Who did what is asked, and when: "Spielberg directed it when he was 27"."""
_LEAVES = re.compile(
    r"(?:that|this|it|which)(?: only| just| therefore| then)? leaves(?: us| me| you)?(?: with)?(?: only"
    r"| just)?\s"
)
"""What is left when others are excluded."""


def _stands_apart(clause: str, given: frozenset[str]) -> bool:
    """Whether the candidate is a whole phrase, in a sentence of new words: "let Rome stand as my reply"."""
    before, _, after = clause.partition(CANDIDATES[0])
    if CANDIDATES[0] in after or _NUMBERS.search(before + after):
        return False
    left = WORD.findall(before)
    said = _content(before)
    if any(w not in _AFTER and not w.endswith("ly") and _stem(w) not in given for w in _content(after)):
        return False
    if _OF.match(after):
        return False
    if left and left[-1] in _COPULA and 0 < sum(_stem(w) in given for w in said) < len(said):
        return False  # of something beside what is asked: "the largest city near the capital is"
    if left and len(said) == len(left) and not before.rstrip().endswith(":"):
        return False  # names alone: a list
    if before.rstrip().endswith(",") and left[-1] not in BESIDE and left[-1] not in GRAMMAR:
        return False  # after another name
    if not left or _BREAK.search(before) or left[-1] in BESIDE or left[-1] in GRAMMAR:
        return True
    return len(left) > 1 and left[-2] in _DOER


_OF = re.compile(r"\W*(?:of|and|or|to|into|=|:|/|->)")
_COPULA = ("is", "are", "was", "were", "be")
_NUMBERS = re.compile(r"\d")
_BREAK = re.compile(r"[,:;()]\s*$")
_AFTER = table("stand stands on on the down here there as in sir please madam folks for every time everyone")
_DOER = table("i we to should must will would 'll 'd i'll i'd we'll we'd can let's and then just please")
"""Before a verb: what it takes is no part of a name."""


_WITH = re.compile(rf"([^\W\d_]+) and (?={X})")
"""Beside somebody whom the question names."""
_IN_PLACE = re.compile(rf"(?<={X}),\s(?P<place>[^,]+)$")
_APPOSED = re.compile(
    rf"(?<={X}),\s(?!.*\b(?:wrong|lie|guess|mistake|myth|misconception|error|pen name|alias)\b)"
    r"(?:an?|the|which|who|located|founded|known)\s[^,]*$"
)
"""What explains an answer: "Canberra, a planned city"."""


def _mostly_given(clause: str, new: list[str]) -> bool:
    words = _content(clause)
    return len(new) <= len(words) / 2 and not any(word[0].isdigit() or word in _ELSE for word in new)


_ELSE = table("other others another else former latter previous next opposite second third rival")
"""Of something else than what is asked: "the other group needs"."""


def _in_focus(clause: str, given: frozenset[str]) -> bool:
    """Whether the candidate stands where the answer does: nothing new beside it, alone beside the verb."""
    before, _, after = clause.partition(CANDIDATES[0])
    beside = [*WORD.findall(before)[-1:], *WORD.findall(after)[:1]]
    if any(
        w not in BESIDE and w not in GRAMMAR and _stem(w) not in given and not w.endswith("ed")
        for w in beside
    ):
        return False
    verb = IS.search(clause)
    if verb is None:
        return True
    if verb.start() > len(before):  # the answer stands first
        between = _content(clause[len(before) + 1 : verb.start()])
        return not _content(before) and all(_stem(word) in given for word in between)
    within = [w for w in _content(clause[verb.end() : len(before)]) if _stem(w) not in given]
    if within and (beside[0] == "of" or not (beside[0] in GRAMMAR or beside[0].endswith("ed"))):
        return False
    return not any(word[0].isdigit() for word in (*within, *_content(after)))


def _answers(clause: str, given: frozenset[str]) -> bool:
    """Whether a sentence without the candidate answers the question: with its words and others."""
    words = _content(clause)
    known = [word for word in words if _stem(word) in given]
    new = [word for word in words if _stem(word) not in given]
    says = IS.search(clause) or any(word[0].isdigit() for word in new)
    return bool(says and new) and len(known) >= 2 and len(known) >= len(new)
