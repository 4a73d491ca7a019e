"""What a clause does where there are other answers than the accepted ones: any words may be one."""

from __future__ import annotations

import re

from rewardkit.rewards.qa.answer_words import COURTESY, MAY_BE, OTHER_ANSWER, PREDICATE, WORD
from rewardkit.rewards.qa.beside import is_beside
from rewardkit.rewards.qa.candidates import READ_AGAIN, answers, of_candidate
from rewardkit.rewards.qa.few_words import OF_ANSWER, is_bare
from rewardkit.rewards.qa.opposites import of_opposite
from rewardkit.rewards.qa.others import of_something_else
from rewardkit.rewards.qa.stems import content, stem
from rewardkit.rewards.reading.clause_words import ADDED, CANDIDATES, CONCEDED, CUE, PRONOUN, X
from rewardkit.rewards.reading.counted import table
from rewardkit.rewards.reading.denying_words import CONTRASTED, NOT
from rewardkit.rewards.reading.steps import OTHER, Step
from rewardkit.rewards.reading.wordings import FOR_OTHER_QUESTION


def refined(
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
    """Return what a clause does, given what it would do if the accepted answers were the only ones.

    Args:
        step: what it would do.
        clause: its words, with a sign for each accepted answer.
        scope: what an earlier clause makes of this one, or None.
        given: the stems of the question's words.
        of_number: an answer is a number.
        frames: the words around accepted answers until now; those of this clause are added.
        labelled: whether accepted or other answers, or both, stood under labels that say nothing of answers;
            what stands in this clause is added.
        question: the whole of it.
    """
    if CANDIDATES[0] in clause and (
        of_opposite(clause, question)
        or _once_called_otherwise(clause, given)
        or is_beside(clause, question)
        or (question and of_something_else(clause, question, lambda word: stem(word) in given))
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
    return found is not None and stem(found["name"]) not in given


_ONCE_CALLED = re.compile(
    rf"\bgiven (?:called|known as|named) (?:the )?(?P<name>{X}|\w+)(?: [^\W_]+){{0,3}}? (?:is|are|was)\b"
)


def _gives_number(clause: str, given: frozenset[str]) -> bool:
    """Whether a clause answers with words of the question and one number: "Brady threw 2"."""
    words = content(clause)
    new = [word for word in words if stem(word) not in given]
    return len(new) == 1 and new[0][0].isdigit() and len(words) > len(new) + 1 and NOT.search(clause) is None


def _under_label(clause: str, given: frozenset[str]) -> bool | None:
    """Whether an accepted answer is all that stands under a label, False where a few other words do; None for
    a label that announces an answer or a remark, and where there is none: "Heads: Rome. Tails: Paris"."""
    label, colon, value = clause.partition(":")
    words = content(label)
    if colon and label.strip() in _KINDS:
        return False if CANDIDATES[0] not in value and is_bare(value.strip(" .'()"), given) else None
    if not colon or not words or OF_ANSWER.search(label) or COURTESY.match(label) or NOT.search(label):
        return None
    if len(label.split()) > _LONGEST_LABEL or all(stem(word) in given for word in words):
        return None
    value = value.strip(" .'()")
    if value == CANDIDATES[0]:
        return True
    return False if CANDIDATES[0] not in value and is_bare(value, given) else None


def _of_asked_field(clause: str, given: frozenset[str]) -> bool:
    """Whether another answer stands under a label of the question's words: "Capital: Sydney"."""
    label, colon, value = clause.partition(":")
    words = content(label)
    if not colon or not words or CANDIDATES[0] in value or NOT.search(label) or OF_ANSWER.search(label):
        return False
    return all(stem(word) in given for word in words) and is_bare(value.strip(" .'()"), given)


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
    if here and step.does in READ_AGAIN and scope is None:
        return of_candidate(step, clause, given)
    if step.does in ("denies", "nothing") and not here and _denies_other(clause, given):
        return Step("nothing")
    if here or scope not in (None, "before") or step.does not in ("nothing", "commits"):
        return step
    if MAY_BE.match(clause) or _added(clause, given):
        return Step("resets")
    if _ANOTHER_QUESTION.search(clause):
        return Step("nothing")
    if is_bare(clause, given):
        return Step("stands", frozenset((OTHER,)))
    other = OTHER_ANSWER.match(clause)
    said = other["what"] if other else "right"
    if not (PREDICATE.fullmatch(said) or NOT.search(said)) or answers(clause, given):
        return Step("commits", frozenset((OTHER,)))
    if _may_answer(clause, given):
        return Step("leans", frozenset((OTHER,)), clause)
    return step


def _added(clause: str, given: frozenset[str]) -> bool:
    """Whether a clause says of something else that it is right, too."""
    found = ADDED.search(clause)
    if found is None or _NEGATED.search(found[0]) or PRONOUN.match(clause) or REMARK.search(clause):
        return False
    return any(stem(word) not in given for word in content(ADDED.sub(" ", clause)))


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
    new = [word for word in content(said) if stem(word) not in given]
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
    new = [word for word in content(clause) if stem(word) not in given]
    if any(word[0].isdigit() for word in new):
        return True
    if REMARK.search(clause):
        return False
    return bool(new) and words[-1] == new[-1] and (CUE.search(clause) or _WRITES.search(clause)) is not None


REMARK = re.compile(
    r"\b(?:questions?|wording|quiz\w*|sources?|textbooks?|references?|topics?|explanations?|reasoning"
    r"|documented|documentation"
    r"|verified|verifiable|trivia|school|memory|checks?|checked|confirm\w*|established|well-\w+|details?)\b"
)
"""What is said of the question or of what one knows, and names no answer."""
_WRITES = re.compile(r"\b(?:wr(?:ite|ote|itten)|put|noted)\b")
