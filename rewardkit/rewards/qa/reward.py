"""Short answers: the response's answer is one of the accepted ones, or (`metric="f1"`) shares their words.

Serves NQ, TriviaQA, HotpotQA, PopQA, 2WikiMultihopQA, MuSiQue, Bamboogle, SQuAD and DROP. The answer is the
last one stated (`<answer>`, a box, "the answer is", a heading), or the whole of a short response; what
equals what is in `equal`. Answers listed side by side are no answer, unless the ground truth has several
spans (DROP): then all of them, in any order, are asked for.

`metric="f1"` pays a part for shared words, as the field does; it is a metric rather than a reward, for long
answers that name much are paid a little. Denials and hedges ("not Paris", "Paris or Rome") are not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from rewardkit.rewards.qa.compat import verl_score
from rewardkit.rewards.qa.currencies import in_other_currency
from rewardkit.rewards.qa.equal import ComparedForm, f1, form, same
from rewardkit.rewards.qa.marking import marked
from rewardkit.rewards.qa.persons import asks_who, persons_named
from rewardkit.rewards.qa.polar import polar
from rewardkit.rewards.qa.reading import (
    Accepted,
    QaAnswer,
    accepted,
    answer,
    spans_of,
    without_latex_numbers,
    without_unit,
    wordings,
)
from rewardkit.rewards.qa.tables import answer_of_table
from rewardkit.rewards.qa.units import in_other_unit, without_asked_unit
from rewardkit.rewards.qa.variants import variants
from rewardkit.rewards.qa.weighing import weighed
from rewardkit.rewards.reading.next_turn import before_next_turn, without_own_question
from rewardkit.rewards.reading.stated import visible
from rewardkit.rewards.reading.visible import question_of, without_question
from rewardkit.types import Sample, Score, failure

_SHOWN = 200


@dataclass(frozen=True)
class QaOptions:
    """Options of the qa reward."""

    metric: Literal["em", "f1"] = "em"
    """What is paid: 1 for an accepted answer and 0 for any other, or the share of words that agree."""
    score: float = 1.0
    wrong_score: float = 0.0
    format_score: float = 0.0
    """For a wrong answer that was stated."""
    compat: Literal["none", "verl"] = "none"
    """verl's rule for `searchR1_*`, which pays `-5` for `5`, `3.5` for `35` and an empty answer for `the`."""


def score(sample: Sample, options: QaOptions) -> Score:
    """Score one response by the rules at the top of this file.

    `parts["f1"]` is the F1 of the words with the accepted answer that comes nearest. The status is
    `invalid` when the ground truth accepts nothing that can be compared.
    """
    if options.compat == "verl":
        value, right, found = verl_score(sample.response, sample.ground_truth)
        return Score(value, "ok", right, _shown(found), {"f1": float(right)}, "compat=verl")
    ground_truths = accepted(sample.ground_truth)
    if not ground_truths:
        return failure("invalid", f"ground truth {sample.ground_truth!r:.80} accepts no answer")
    response = before_next_turn(sample.response, sample.prompt)
    if response.startswith("Q:"):
        response = without_own_question(response)
    question = question_of(sample.prompt)
    if question and "|" in response:
        response = answer_of_table(response, question)
    if question and asks_who(question):
        response = persons_named(response, wordings(sample.ground_truth), question)
    if "frac" in response or "{,}" in response or "\\!" in response:
        response = without_latex_numbers(response, wordings(sample.ground_truth))
    said = answer(response)
    if said.text is None and said.why not in _UNDECIDED:
        return _score(options, 0.0, None, said.stated, said.why)
    near = _near(said, sample, ground_truths)
    if near == 1.0 and said.text and in_other_currency(said.text, wordings(sample.ground_truth), question):
        return _score(options, 0.0, said.text, said.stated, "another currency")
    if near == 1.0 and said.text and in_other_unit(said.text, wordings(sample.ground_truth), question):
        return _score(options, 0.0, said.text, said.stated, "another unit")
    if near == 1.0 and _is_asked(said, sample):
        return _score(options, 0.0, None, said.stated, "a question")
    if near == 1.0 and said.rest.strip() and not _kept(said.rest, sample):
        return _score(options, 0.0, None, said.stated, "taken back afterwards")
    if near < 1.0 and _says_so_within(said, sample):
        return _score(options, 1.0, said.text, said.stated, "the sentence within")
    if near < 1.0 and said.why in _UNDECIDED and _committed(sample, said.since or visible(response)[0]):
        return _score(options, 1.0, said.text, said.stated, "what is committed to in the end")
    return _score(options, near, said.text, said.stated, said.why)


def _near(said: QaAnswer, sample: Sample, ground_truths: tuple[Accepted, ...]) -> float:
    """How near the answer is to an accepted one, 1.0 where it is the same, however it is written."""
    near = 0.0 if said.text is None else _nearest(said.text, ground_truths)
    if near < 1.0 and (bare := said.bare):
        near = max(near, _nearest(bare, ground_truths))
    if near < 1.0 and said.text and (number := without_unit(said.text, question_of(sample.prompt))):
        near = max(near, _nearest(number, ground_truths))
    if near < 1.0 and said.text and (both := _WITH_ANOTHER.fullmatch(said.text)):
        near = max(near, min(_nearest(wording, ground_truths) for wording in both.groups()))
    if near < 1.0 and said.text and (number := without_asked_unit(said.text, question_of(sample.prompt))):
        near = max(near, _nearest(number, ground_truths))
    if near < 1.0 and said.text and (word := polar(said.text)):
        near = max(near, _nearest(word, ground_truths))
    return 1.0 if near < 1.0 and _written_otherwise(said, sample) else near


_WITH_ANOTHER = re.compile(
    r"([^()]{1,200}?) ?\((?:(?:also|sometimes|often|some|many|most|sources|texts|people|or|aka|i\.e\."
    r"|that is|known|written"
    r"|spelled|spelt|called|given|write|spell|call|it|as|well|equivalently|accepted|acceptable|correct"
    r"|allowed|valid)[,:]?\s)*([^()]{1,200}?)"
    r"(?: is (?:also )?(?:accepted|acceptable|correct|allowed|valid)(?:,? (?:too|as well))?)?\)"
)
"""An answer and, in brackets, another wording of it: "Pacific Ocean (the Pacific)"."""


def _is_asked(said: QaAnswer, sample: Sample) -> bool:
    """Whether a response asks about the right answer or doubts it: "Paris?", "Paris (?)".

    The name of something may be a question itself: "Who framed Roger Rabbit?".
    """
    if not said.text or ("?" not in said.text and "？" not in said.text):
        return False
    if any("?" in text for text in wordings(sample.ground_truth)):
        return False
    return not said.stated or _QUESTION.match(said.text) is None


_QUESTION = re.compile(
    r"(?:who|whom|whose|what|where|when|why|how|which|are|is|am|do|does|did|can|could|will|would|have|has"
    r"|shall|should)"
    r"(?:['’]\w+)?\s",
    re.IGNORECASE,
)


_SENTENCE_WITHIN = ("tags", "boxed")


def _says_so_within(said: QaAnswer, sample: Sample) -> bool:
    """Whether a tag or box holds a sentence that commits to an accepted answer."""
    if said.why not in _SENTENCE_WITHIN or not said.text:
        return False
    question = question_of(sample.prompt)
    if not _is_sentence(said.text, marked(said.text, _all_wordings(sample.ground_truth, question), question)):
        return False
    return _committed(sample, said.text) and (not said.rest.strip() or _kept(said.rest, sample))


def _is_sentence(text: str, marked_text: str) -> bool:
    """Whether what stands in a tag or box is a sentence, and no list; an accepted answer may be one."""
    return (_VERB.search(text) or _WHOLE.fullmatch(text)) is not None and _LISTING.search(marked_text) is None


_VERB = re.compile(r"\w\s(?:is|are|was|were|has|had|equals|means|won|died)\s\w", re.IGNORECASE)
_WHOLE = re.compile(r"\s*[A-Z][^.!]*(?:\s[^\s.!]+){3,}\.\s*")
_LISTING = re.compile(r"[,;:()=/\n?]|\b(?:or|and)\b", re.IGNORECASE)
_UNDECIDED = (
    "marker",
    "choosing",
    "heading",
    "the whole response",
    "no answer stated",
    "denied by a sign",
    "taken back afterwards",
)
"""What may have been read too narrowly."""


def _committed(sample: Sample, text: str) -> bool:
    """Whether a response commits to an accepted answer in a sentence of its own; where it states an answer,
    the text is that sentence and what follows it."""
    question = question_of(sample.prompt)
    accepted = _all_wordings(sample.ground_truth, question)
    listed = wordings(sample.ground_truth)
    if in_other_currency(text, listed, question) or in_other_unit(text, listed, question):
        return False
    return bool(accepted) and weighed(without_question(text, sample.prompt), accepted, question)


def _kept(rest: str, sample: Sample) -> bool:
    """Whether what follows an accepted answer leaves it in force."""
    question = question_of(sample.prompt)
    accepted = _all_wordings(sample.ground_truth, question)
    return not accepted or weighed(rest, accepted, question, before=True)


@lru_cache(maxsize=16_384)
def _all_wordings(ground_truth: str, question: str) -> tuple[str, ...]:
    listed = wordings(ground_truth)
    return listed + variants(listed, question)


def _written_otherwise(said: QaAnswer, sample: Sample) -> bool:
    """Whether the answer is an accepted one in other writing: "minus eight" for -8."""
    if not said.text or len(said.text) > _LONGEST_VARIANT:
        return False
    others = _forms(wordings(sample.ground_truth), question_of(sample.prompt))
    given = [form(text) for text in (said.text, said.bare) if text]
    return any(same(one, other) for one in given for other in others)


@lru_cache(maxsize=16_384)
def _forms(accepted: tuple[str, ...], question: str) -> tuple[ComparedForm, ...]:
    return tuple(map(form, variants(accepted, question)))


_LONGEST_VARIANT = 100


def _nearest(text: str, ground_truths: tuple[Accepted, ...]) -> float:
    given = form(text)
    return max(_nearness(text, given, ground_truth) for ground_truth in ground_truths)


def _nearness(text: str, given: ComparedForm, ground_truth: Accepted) -> float:
    """1.0 when the answer is the accepted one, less the fewer words agree."""
    if len(ground_truth.spans) == 1:
        return f1(given, ground_truth.spans[0])
    pieces = [form(piece) for piece in spans_of(text)]
    met = sum(any(same(piece, span) for piece in pieces) for span in ground_truth.spans)
    return met / max(len(pieces), len(ground_truth.spans))


def _score(options: QaOptions, near: float, text: str | None, stated: bool, why: str) -> Score:
    correct = near == 1.0
    if options.metric == "f1" and not correct:
        value = options.wrong_score + near * (options.score - options.wrong_score)
    else:
        value = options.score if correct else options.format_score if stated and text else options.wrong_score
    return Score(value, "ok", correct, _shown(text), {"f1": near}, why)


def _shown(text: str | None) -> str | None:
    return text if text is None or len(text) <= _SHOWN else text[:_SHOWN] + "…"
