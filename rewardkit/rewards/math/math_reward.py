"""Reward functions for `math`. `reading` extracts and parses answers, and `comparing` compares them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache

import msgspec

from rewardkit.rewards.answers.place import Prompt, own_text, question_of
from rewardkit.rewards.answers.reasons import no_answer, place, quoted
from rewardkit.rewards.math.comparing.grade import MathVerdict, compare_prepared
from rewardkit.rewards.math.guards import AnswerBudget, budget
from rewardkit.rewards.math.policies import DEFAULT, Compat, MathOptions
from rewardkit.rewards.math.reading import bases
from rewardkit.rewards.math.reading.extraction import Extraction, extract
from rewardkit.rewards.math.reading.phrases import is_prose
from rewardkit.rewards.math.reading.prepared import PreparedAnswer, prepare, prepare_answer
from rewardkit.rewards.math.tree.nodes import Based
from rewardkit.rows import GROUND_TRUTH
from rewardkit.types import UNDECIDED, Sample, Score

_LINE = 200
_COMPATIBLE_CPU_S = 15.0
"""CPU time for another grader's verdicts on one response, in seconds. Math-Verify itself allows five seconds
each for parsing the ground truth, parsing the answer, and comparing them."""


@dataclass(frozen=True)
class DapoOptions(MathOptions):
    """Options of the `math` reward with DAPO's scores: +1 for right and -1 for wrong."""

    wrong_score: float = -1.0
    format_score: float = -1.0


def score(sample: Sample, options: MathOptions = DEFAULT) -> Score:
    """Score a response: 1.0 if its answer equals the ground truth, otherwise 0.0.

    `extra_info["answer_kind"]` may determine whether an answer such as `1,234` is read as a `number`, a
    `list` or `text`. `parts["format"]` is 1.0 if the answer is in a box or answer tags. The status is
    `invalid` if the ground truth is empty or malformed, and `error` if the SymPy process could not be
    reached. An answer that no tier can decide within the limits is scored as wrong.
    """
    ground_truths = alternatives(sample.ground_truth)
    if not ground_truths:
        return Score(0.0, "invalid", detail="the ground truth is empty", parts=_parts(0.0))
    if options.compat != "none":
        return _compatible(sample.response, ground_truths, options)
    if all(map(malformed, ground_truths)):
        return Score(0.0, "invalid", detail=malformed(ground_truths[0]), parts=_parts(0.0))
    options = options.resolved
    found = extract(sample.response, options, sample.prompt)
    if found.method in ("inline", "number", "none") and sample.response.strip() in ground_truths:
        found = Extraction(sample.response.strip(), "whole")
    in_format = float(found.method in ("tags", "boxed") and found.answer is not None)
    if found.answer is None:
        return _score(options, False, None, in_format, _why_missing(found, sample, options))
    kind = str(sample.extra_info.get("answer_kind") or "")
    verdict = best_verdict(ground_truths, found, options, kind, sample.prompt)
    if (
        not verdict.equal
        and not found.beside
        and any(_is_verbatim(found.slot, ground_truth) for ground_truth in ground_truths)
    ):
        verdict = MathVerdict("equal", "string", "identical to the ground truth")
    if verdict.failure:
        return Score(
            0.0, verdict.failure, extracted=found.answer, detail=verdict.reason, parts=_parts(in_format)
        )
    detail = f"{found.method}; {verdict.tier}: {verdict.reason}"
    if not verdict.equal:
        detail = f"{detail}; {quoted(found.answer)} is not {quoted(ground_truths[0])}"
    undecided = verdict.outcome == "undecided"
    if undecided:
        detail = f"{detail} (undecided, scored as wrong)"
    return _score(options, verdict.equal, found.answer, in_format, detail, undecided=undecided)


_PLACES: dict[str, str] = {
    "tags": place("tags"),
    "boxed": place("box"),
    "marker": 'after #### or "Answer:"',
    "display": "in a displayed formula at the end",
    "inline": "in an inline formula at the end",
    "number": "as the last number",
}


def _why_missing(found: Extraction, sample: Sample, options: MathOptions) -> str:
    """Return the reason why a response has no answer, and the preset that would find an answer, if any."""
    if found.method not in ("none", "empty"):
        return f"no answer: {found.method}"
    places = ", ".join(_PLACES[method] for method in options.methods or () if method in _PLACES)
    advice = ""
    if options.preset == "strict":
        other = extract(sample.response, DEFAULT, sample.prompt)
        if other.answer is not None:
            advice = f"preset=default reads {quoted(other.answer)} ({other.method})"
    return no_answer(own_text(sample.response, sample.prompt), f"answer {places}", advice)


_AROUND = " \t\r\n$.*"


def _is_verbatim(slot: str, ground_truth: str) -> bool:
    """Return True if the answer's frame contains exactly the ground truth, which may be a whole sentence."""
    return bool(slot) and slot.strip(_AROUND) == ground_truth.strip(_AROUND)


def _in_unasked_base(found: Extraction, ground_truths: tuple[str, ...], kind: str, prompt: Prompt) -> bool:
    """Return True if an answer is in a base other than ten that was not asked for: `12_3` for 12.

    The question asks for a base if it names the answer's base or if a ground truth is in a stated base.
    """
    reading = prepare_answer(found, kind).reading
    if not isinstance(reading, Based) or reading.base == _TEN:
        return False
    if any(isinstance(prepare(ground_truth, kind).reading, Based) for ground_truth in ground_truths):
        return False
    question = question_of(prompt).casefold()
    name = bases.NAMES.get(reading.base)
    return not ((name and name in question) or ("base" in question and str(reading.base) in question))


_TEN = 10


def _parts(in_format: float, undecided: bool = False) -> dict[str, float]:
    return {"format": in_format, UNDECIDED: float(undecided)}


def score_dapo(sample: Sample, options: DapoOptions = DapoOptions()) -> Score:
    """Score a response with DAPO's scores. The part `acc`, which is 1.0 if right, replaces `format`."""
    found = score(sample, options)
    parts = {"acc": float(bool(found.correct)), UNDECIDED: found.parts.get(UNDECIDED, 0.0)}
    return msgspec.structs.replace(found, parts=parts)


def alternatives(ground_truth: str) -> tuple[str, ...]:
    """Return the acceptable answers: the ground truth itself, or the items of a JSON list of strings."""
    if ground_truth.startswith('["') and ground_truth.endswith('"]'):
        try:
            return tuple(g for g in msgspec.json.decode(ground_truth, type=list[str]) if g.strip())
        except msgspec.MsgspecError:
            pass
    return (ground_truth,) if ground_truth and not ground_truth.isspace() else ()


@lru_cache(maxsize=4_096)
def malformed(ground_truth: str) -> str:
    """Return the reason why a ground truth is malformed, or "" if an answer can equal it.

    A ground truth is malformed if it is empty, truncated, or a whole row instead of a field. A text that
    cannot be parsed as maths is not malformed, because an answer may consist of the same text.
    """
    if (field := _field_of_row(ground_truth)) is not None:
        return f"the ground truth {ground_truth!r:.60} is an object; pass the value of the field {field!r}"
    side = prepare(ground_truth)
    if not side.text or (side.reading is None and not side.words):
        return f"the ground truth {ground_truth!r:.60} is empty"
    if side.reading is not None:
        return ""
    plain = _ESCAPED.sub("", side.text)
    cut = (
        plain.count("{") != plain.count("}")
        or sum(map(side.text.count, _OPENINGS)) > sum(map(side.text.count, _CLOSINGS))
        or side.text.count("\\begin") != side.text.count("\\end")
    )
    return f"the ground truth {ground_truth!r:.60} is truncated: {side.problem}" if cut else ""


def _field_of_row(ground_truth: str) -> str | None:
    """Return the name of the ground-truth field if the text is a whole row as JSON, or None."""
    if not ground_truth.lstrip().startswith("{") or '"' not in ground_truth:
        return None
    try:
        row = json.loads(ground_truth)
    except (ValueError, RecursionError):
        return None
    return next((name for name in GROUND_TRUTH if name in row), None)


_OPENINGS = ("(", "[", "\\{")
_CLOSINGS = (")", "]", "\\}")
_ESCAPED = re.compile(r"\\[\\{}]")


def best_verdict(
    ground_truths: tuple[str, ...],
    found: Extraction,
    options: MathOptions,
    kind: str = "",
    prompt: Prompt = None,
) -> MathVerdict:
    """Return the verdict for the first ground truth that matches, or else a failure or the last verdict.

    Adjacent boxes are a list unless all of them are equal. Adjacent frames of other kinds must be equal.

    Args:
        kind: `extra_info["answer_kind"]`.
        prompt: Question, which may name the base of the answer.
    """
    verdict = MathVerdict("not_equal", "none", "nothing to compare with")
    if len(ground_truths) == 1 and not (found.slot or found.parts or found.beside):
        verdict = compare_prepared(prepare(ground_truths[0], kind), prepare_answer(found, kind), options)
    else:
        with budget():
            for ground_truth in ground_truths:
                other = _verdict(prepare(ground_truth, kind), found, options, kind)
                verdict = verdict if verdict.failure and not other.equal else other
                if other.equal:
                    break
    answer = found.answer or ""
    based = "_" in answer or "base" in answer
    if verdict.equal and based and _in_unasked_base(found, ground_truths, kind, prompt):
        return MathVerdict("not_equal", "tree", "in a base that the question does not ask for")
    return verdict


def _verdict(ground_truth: PreparedAnswer, found: Extraction, options: MathOptions, kind: str) -> MathVerdict:
    """Return the verdict on the answer, or on the whole frame if its text or words match the ground truth."""

    def compared(text: str) -> MathVerdict:
        return compare_prepared(ground_truth, prepare_answer(Extraction(text, "whole"), kind), options)

    verdict = compare_prepared(ground_truth, prepare_answer(found, kind), options)
    if not verdict.equal and found.parts and all(compared(part).equal for part in found.parts):
        verdict = MathVerdict("equal", "string", "all boxes are equal to the ground truth")
    if not verdict.equal and found.slot and found.slot != found.answer:
        whole = compared(found.slot)
        verdict = whole if whole.equal and whole.tier in ("string", "words") else verdict
    if verdict.equal and not all(is_prose(other) or compared(other).equal for other in found.beside):
        verdict = MathVerdict("not_equal", "none", "adjacent frames contain different answers")
    return verdict


def _score(
    options: MathOptions,
    correct: bool,
    extracted: str | None,
    in_format: float,
    detail: str,
    *,
    undecided: bool = False,
) -> Score:
    value = options.correct_score if correct else options.format_score if in_format else options.wrong_score
    shown = extracted if extracted is None or len(extracted) <= _LINE else extracted[:_LINE] + "…"
    return Score(
        value,
        correct=correct,
        extracted=shown,
        parts=_parts(in_format, undecided),
        detail=detail.replace("\n", " "),
    )


def _compatible(response: str, ground_truths: tuple[str, ...], options: MathOptions) -> Score:
    """Score a response in the same way as another grader."""
    with budget(_COMPATIBLE_CPU_S) as left:
        found = [
            _compatible_one(options.compat, response, ground_truth, left) for ground_truth in ground_truths
        ]
    return next((s for s in found if s.correct), found[-1])


def _compatible_one(compat: Compat, response: str, ground_truth: str, left: AnswerBudget) -> Score:
    if compat == "verl_math_reward":
        from rewardkit.rewards.math.compat import hendrycks

        right = hendrycks.correct(response, ground_truth)
        answer = hendrycks.extracted(response)
        return Score(
            float(right),
            correct=right,
            extracted=answer,
            parts=_parts(float(answer is not None)),
            detail=compat,
        )
    if compat in ("math_dapo", "math_dapo_0_8"):
        from rewardkit.rewards.math.compat import dapo

        verdict = dapo.reproduce(response, ground_truth, box_fallback=compat == "math_dapo")
        right = verdict.correct
        stated = float(verdict.pred != dapo.INVALID)
        return Score(
            1.0 if right else -1.0,
            correct=right,
            extracted=verdict.pred,
            parts=_parts(stated),
            detail=compat,
        )
    from rewardkit.rewards.math.compat import math_verify

    graded = math_verify.reproduce(response, ground_truth, left)
    if graded.failure:
        return Score(0.0, graded.failure, detail=graded.reason, parts=_parts(0.0))
    return Score(float(graded.equal), correct=graded.equal, parts=_parts(0.0), detail=graded.reason)
