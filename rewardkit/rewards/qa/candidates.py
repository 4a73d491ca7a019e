"""What a clause says of an accepted answer in it: whether that is all that it adds to the question."""

from __future__ import annotations

import re

from rewardkit.rewards.qa.answer_words import BESIDE, GRAMMAR, IS, JOINED, LEAD, OTHER_ANSWER, WORD
from rewardkit.rewards.qa.few_words import LABEL, OF_ANSWER, is_bare
from rewardkit.rewards.qa.stems import content, stem
from rewardkit.rewards.reading.clause_words import CANDIDATES, X
from rewardkit.rewards.reading.counted import table
from rewardkit.rewards.reading.steps import OTHER, Does, Step

READ_AGAIN = ("commits", "stands", "concludes", "leans", "labels", "names", "nothing")
"""What the words around an accepted answer are said to do, and may not."""
_NAMELY = re.compile(r".*\bnamely\s")


def of_candidate(step: Step, clause: str, given: frozenset[str]) -> Step:
    """Return what a clause does to the accepted answer in it, given what its words are said to do alone."""
    place = _IN_PLACE.search(clause)
    if place is not None and all(stem(word) in given for word in content(place["place"])):
        clause = clause[: place.start()]
    remark = _IN_PLACE.search(clause)
    if remark and not content(remark["place"]):
        clause = clause[: remark.start()]
    clause = _APPOSED.sub("", clause)
    clause = _WITH.sub(lambda m: m[1] + " " if stem(m[1]) in given else m[0], clause)
    if JOINED.search(clause):
        return Step("opens", frozenset((0,)))
    clause = _LEAVES.sub("", re.sub(LEAD, "", clause, count=1))
    label = LABEL.match(clause)
    if label is not None and ("=" not in label[0] or (OF_ANSWER.search(label[0]) and " is " not in label[0])):
        clause = clause[label.end() :]
    clause = _NAMELY.sub("", clause)
    new = [word for word in content(clause) if stem(word) not in given]
    doer = _DOER_OF_IT.match(clause) if step.does in READ_AGAIN else None
    if doer and all(stem(word) in given for word in content(doer["verb"] + " " + doer["object"])):
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
    return Step("stands", frozenset((OTHER,))) if is_bare(clause, given) else Step("nothing")


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
    said = content(before)
    if any(w not in _AFTER and not w.endswith("ly") and stem(w) not in given for w in content(after)):
        return False
    if _OF.match(after):
        return False
    if left and left[-1] in _COPULA and 0 < sum(stem(w) in given for w in said) < len(said):
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
    words = content(clause)
    return len(new) <= len(words) / 2 and not any(word[0].isdigit() or word in _ELSE for word in new)


_ELSE = table("other others another else former latter previous next opposite second third rival")
"""Of something else than what is asked: "the other group needs"."""


def _in_focus(clause: str, given: frozenset[str]) -> bool:
    """Whether the candidate stands where the answer does: nothing new beside it, alone beside the verb."""
    before, _, after = clause.partition(CANDIDATES[0])
    beside = [*WORD.findall(before)[-1:], *WORD.findall(after)[:1]]
    if any(
        w not in BESIDE and w not in GRAMMAR and stem(w) not in given and not w.endswith("ed") for w in beside
    ):
        return False
    verb = IS.search(clause)
    if verb is None:
        return True
    if verb.start() > len(before):  # the answer stands first
        between = content(clause[len(before) + 1 : verb.start()])
        return not content(before) and all(stem(word) in given for word in between)
    within = [w for w in content(clause[verb.end() : len(before)]) if stem(w) not in given]
    if within and (beside[0] == "of" or not (beside[0] in GRAMMAR or beside[0].endswith("ed"))):
        return False
    return not any(word[0].isdigit() for word in (*within, *content(after)))


def answers(clause: str, given: frozenset[str]) -> bool:
    """Whether a sentence without the candidate answers the question: with its words and others."""
    words = content(clause)
    known = [word for word in words if stem(word) in given]
    new = [word for word in words if stem(word) not in given]
    says = IS.search(clause) or any(word[0].isdigit() for word in new)
    return bool(says and new) and len(known) >= 2 and len(known) >= len(new)
