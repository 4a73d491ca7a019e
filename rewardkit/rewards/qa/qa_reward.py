"""Reward for short answers: the content of a frame must equal an accepted answer.

The reward is suitable for NQ, TriviaQA, HotpotQA, PopQA, 2WikiMultihopQA, MuSiQue, Bamboogle, SQuAD and DROP.

- The answer is the whole content of the last frame of the response's own text (`answers/place.py`). Without a
  frame, a response of one line is the answer. Answers are not extracted from prose. Use a judge for that.
- `metric="em"` accepts an accepted answer in any notation (`equal.py`). Several answers side by side are
  wrong, unless the ground truth has several spans (DROP). Then all spans are required, in any order.
- `metric="f1"` gives partial credit for shared words. Long answers that name many things get a low score.
- `metric="contains"` gives 1.0 if an accepted answer is anywhere in the response. Use this metric for
  evaluation only, because a policy trained on it learns to list guesses.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import msgspec

from rewardkit.rewards.answers import reasons
from rewardkit.rewards.answers.place import FRAME_KINDS, last_group, own_text
from rewardkit.rewards.qa.compat import verl_score
from rewardkit.rewards.qa.equal import MAX_ANSWER, ComparedForm, f1, form, same, words
from rewardkit.types import Sample, Score, failure

_SHOWN = 200


@dataclass(frozen=True)
class QaOptions:
    """Options of the `qa` reward."""

    metric: Literal["em", "f1", "contains"] = "em"
    """`em` (exact match): the answer must equal an accepted answer. `f1`: partial credit for the words shared
    with the nearest accepted answer, between `wrong_score` and `score`. `contains`: 1.0 if the response
    contains an accepted answer anywhere, otherwise 0.0. Use `contains` only for evaluation, because it also
    accepts a list of guesses."""
    score: float = 1.0
    """Score of a right answer."""
    wrong_score: float = 0.0
    """Score of a wrong answer outside an answer format such as `\\boxed{...}` or `Answer: ...`, and of a
    response without an answer. Set `format_score` too."""
    format_score: float = 0.0
    """With `metric=em`: score of a wrong answer in an answer format such as `\\boxed{...}` or `Answer:
    ...`."""
    compat: Literal["none", "verl"] = "none"
    """Set to `verl` to score in the same way as verl scores `searchR1_*`. All other options are then ignored.
    This rule accepts some wrong answers: `-5` for the ground truth `5`, `3.5` for `35`, and an empty answer
    for `the`."""

    @property
    def evaluation_only(self) -> str:
        """Return the reason why these options are unsuitable for training, or "" if they are suitable."""
        return "metric=contains also scores a list of guesses as right" if self.metric == "contains" else ""


def score(sample: Sample, options: QaOptions) -> Score:
    """Score a response according to the rules in this module's docstring.

    `parts["f1"]` is the F1 between the answer and the nearest accepted answer, the lowest one if the response
    gives several answers. With `metric=contains` or `compat=verl`, it is 0 or 1. The status is `invalid` if
    the ground truth contains no answer that can be compared.
    """
    if options.compat == "verl":
        value, right, found = verl_score(sample.response, sample.ground_truth)
        return Score(value, "ok", right, _shown(found), {"f1": float(right)}, "compat=verl")
    ground_truths = accepted(sample.ground_truth)
    if not ground_truths:
        return failure("invalid", f"the ground truth {sample.ground_truth!r:.80} has no answer to accept")
    text = own_text(sample.response, sample.prompt)
    if options.metric == "contains":
        near = float(_contains(text, ground_truths))
        why = "contains" if near else "the response contains no accepted answer"
        return Score(near, "ok", near == 1.0, None, {"f1": near}, why)
    group = last_group(text, *FRAME_KINDS, holds=_holds_number if _all_numbers(ground_truths) else None)
    if group:
        said = [tidy(frame.text) for frame in group]
    else:
        said = [tidy(text)] if text.strip() and "\n" not in text.strip() else []
    near = min((_nearest(answer, ground_truths) for answer in said), default=0.0)
    correct = near == 1.0
    if options.metric == "f1" and not correct:
        value = options.wrong_score + near * (options.score - options.wrong_score)
    else:
        value = options.score if correct else options.format_score if group else options.wrong_score
    where = reasons.place(group[-1].kind if group else "one line")
    if not said:
        why = reasons.no_answer(text, f"answer {reasons.IN_A_FRAME}, and more than one line")
    elif correct:
        why = where
    else:
        answers, accepts = reasons.quoted(" … ".join(said)), reasons.quoted(_first(sample))
        why = f"{where}: {answers} is no accepted answer, such as {accepts}"
    return Score(value, "ok", correct, _shown(said[-1]) if said else None, {"f1": near}, why)


def _first(sample: Sample) -> str:
    """Return the first accepted answer in a sample, as written."""
    text = sample.ground_truth.strip()
    if text[:1] not in ("[", "{"):
        return text
    try:
        return next((" and ".join(spans) for spans in _answers(msgspec.json.decode(text.encode()))), text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return text


# --- accepted answers in a ground truth ---

Accepted = tuple[ComparedForm, ...]
"""Accepted answer as a tuple of its spans. Most answers have one span."""

_KEYS = (
    "target",
    "answers",
    "aliases",
    "answer",
    "value",
    "text",
    "spans",
    "normalized_aliases",
    "golden_answers",
)
"""Keys in a ground truth's JSON object that may contain accepted answers. All keys present are used."""
_MAX_ACCEPTED = 1_000


@lru_cache(maxsize=65_536)
def accepted(ground_truth: str) -> tuple[Accepted, ...]:
    """Return the accepted answers, or an empty tuple if the ground truth contains nothing to compare.

    A ground truth is a text, a JSON list of accepted answers, or a JSON object as in Search-R1 (`target`),
    TriviaQA (`value`, `aliases`) or DROP (`number`, `spans`, `date`). A list within a list is one answer with
    several spans.
    """
    value: Any = ground_truth
    if ground_truth.strip()[:1] in ("[", "{"):
        try:
            value = msgspec.json.decode(ground_truth.encode())
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            value = ground_truth
    found = [tuple(map(form, spans)) for spans in _answers(value)[:_MAX_ACCEPTED]]
    return tuple(spans for spans in found if spans and not any(span.empty for span in spans))


def _answers(value: Any) -> list[tuple[str, ...]]:
    if isinstance(value, Mapping):
        if {"number", "spans"} <= value.keys():
            return _as_drop(value)
        return [answer for key in _KEYS if key in value for answer in _answers(value[key])]
    if not isinstance(value, list):
        return [] if value is None else [(_text(value),)]
    found: list[tuple[str, ...]] = []
    for item in value:
        found += [tuple(map(_text, item))] if isinstance(item, list) else _answers(item)
    return found


def _as_drop(value: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return the accepted answer of an object in DROP's format: the number, else all spans, else the date."""
    if str(value["number"]).strip():
        return [(_text(value["number"]),)]
    if value["spans"]:
        return [tuple(map(str, value["spans"]))]
    date = value.get("date") or {}
    return [(" ".join(str(date.get(k, "")) for k in ("day", "month", "year")).strip(),)]


def _all_numbers(ground_truths: tuple[Accepted, ...]) -> bool:
    return all(span.number is not None or span.date is not None for spans in ground_truths for span in spans)


def _holds_number(text: str) -> bool:
    """Return True if a text has a digit or is a number in words."""
    return _DIGIT.search(text) is not None or form(tidy(text)).number is not None


_DIGIT = re.compile(r"\d")


def _text(value: Any) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


# --- scores of answers ---

_LATEX_TEXT = re.compile(r"\\(?:text|mathrm|mathbf|textbf|textit|underline|emph|mathit)\s?\{([^{}]*)\}")
_LATEX_BLANK = re.compile(r"\\[ ,;:!~](?=\S|\s)|(?<=\d)~(?=\w)")
_DISPLAYED = (("\\[", "\\]"), ("\\(", "\\)"), ("$", "$"))
_BRACKETED = re.compile(r"\([^()\[\]]+\)|\[[^()\[\]]+\]")
_QUOTED = "\"'“”‘’「」"
_SPLIT = re.compile(r"\s*[,;\n]\s*(?:and\s+)?|\s+and\s+")


def tidy(text: str) -> str:
    """Remove LaTeX text commands, delimiters, brackets and quotation marks around an answer."""
    text = text.strip()
    if "\\" in text:
        text = _LATEX_TEXT.sub(r"\1", _LATEX_TEXT.sub(r"\1", text))
        text = _LATEX_BLANK.sub(" ", text)
    for opening, closing in _DISPLAYED:
        if len(text) > 2 and text.startswith(opening) and text.endswith(closing):
            text = text[len(opening) : -len(closing)].strip()
    text = text.strip("*_` \t\r\n…").strip(_QUOTED).strip()
    return text[1:-1].strip().strip(_QUOTED) if _BRACKETED.fullmatch(text) else text


def _nearest(text: str, ground_truths: tuple[Accepted, ...]) -> float:
    given = form(text)
    return max(_nearness(text, given, spans) for spans in ground_truths)


def _nearness(text: str, given: ComparedForm, spans: Accepted) -> float:
    """Return the similarity between an answer and an accepted answer, which is 1.0 if they are equal."""
    if len(spans) == 1:
        return f1(given, spans[0])
    pieces = [form(piece) for piece in _SPLIT.split(text[:MAX_ANSWER]) if piece.strip()]
    met = sum(any(same(piece, span) for piece in pieces) for span in spans)
    return met / max(len(pieces), len(spans))


def _contains(text: str, ground_truths: tuple[Accepted, ...]) -> bool:
    """Return True if a text contains all spans of an accepted answer, word by word."""
    said = f" {' '.join(words(text.casefold()))} "
    return any(all(f" {' '.join(span.words)} " in said for span in spans) for spans in ground_truths)


def _shown(text: str | None) -> str | None:
    return text if text is None or len(text) <= _SHOWN else text[:_SHOWN] + "…"
