"""The reward functions: a Sample in, a Score out. Extraction and judgement are next door."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from rewardkit.rewards.math.extract import Extraction, extract
from rewardkit.rewards.math.grade import Verdict, judge, prepare, prepare_answer
from rewardkit.rewards.math.policies import DEFAULT, Compat, Method, Options, resolve
from rewardkit.types import Sample, Score

_LINE = 200


@dataclass(frozen=True)
class DapoOptions(Options):
    """The same judgement in DAPO's terms: +1 right, -1 wrong, an `Answer:` line before a box."""

    methods: tuple[Method, ...] = ("tags", "boxed", "marker", "display", "inline", "number")
    wrong_score: float = -1.0
    format_score: float = -1.0


def score(sample: Sample, options: Options = DEFAULT) -> Score:
    """Score a response: 1.0 when its answer equals the gold, 0.0 when it does not.

    `parts["format"]` is 1.0 when the answer stood in a box or answer tags. A gold that is empty is
    `invalid`; an answer that a worker could not be asked about in time is `timeout` or `error`. What no tier
    can decide is wrong: nobody has shown it to be right.
    """
    golds = alternatives(sample.ground_truth)
    if not golds:
        return Score(0.0, "invalid", detail="the ground truth is empty", parts={"format": 0.0})
    if options.compat != "none":
        return _compatible(sample.response, golds, options)
    options = resolve(options)
    found = extract(sample.response, options)
    in_format = float(found.method in ("tags", "boxed") and found.answer is not None)
    if found.answer is None:
        return _score(options, False, None, in_format, f"no answer: {found.method}")
    verdict = best_verdict(golds, found, options)
    if verdict.failure:
        return Score(
            0.0, verdict.failure, extracted=found.answer, detail=verdict.reason, parts={"format": in_format}
        )
    detail = f"{found.method}; {verdict.tier}: {verdict.reason}"
    if verdict.outcome == "undecided":
        detail = f"{detail} (undecided, counted as wrong)"
    return _score(options, verdict.equal, found.answer, in_format, detail)


def score_dapo(sample: Sample, options: DapoOptions = DapoOptions()) -> Score:  # noqa: B008 (frozen)
    """Score a response +1.0 or -1.0, with `acc` as a part and the prediction as what was extracted."""
    found = score(sample, options)
    return msgspec.structs.replace(found, parts={"acc": float(bool(found.correct))})


def alternatives(ground_truth: str) -> tuple[str, ...]:
    """Return the acceptable answers: the ground truth itself, or each of a JSON list of strings."""
    if ground_truth.startswith('["') and ground_truth.endswith('"]'):
        try:
            return tuple(g for g in msgspec.json.decode(ground_truth, type=list[str]) if g.strip())
        except msgspec.MsgspecError:
            pass
    return (ground_truth,) if ground_truth and not ground_truth.isspace() else ()


def best_verdict(golds: tuple[str, ...], found: Extraction, options: Options) -> Verdict:
    """Return the verdict against the first acceptable answer that matches, else the last verdict."""
    answer = prepare_answer(found)
    verdict = Verdict("not_equal", "none", "nothing to compare with")
    for gold in golds:
        prepared = prepare(gold)
        verdict = judge(prepared, answer, options)
        if not verdict.equal and len(found.parts) > 1:
            verdict = _same_answer_twice(prepared.source, found, options, verdict)
        if verdict.equal:
            break
    return verdict


def _same_answer_twice(gold: str, found: Extraction, options: Options, otherwise: Verdict) -> Verdict:
    """Boxes side by side may hold one answer in several forms: then each must equal the gold."""
    for part in found.parts:
        if not judge(prepare(gold), prepare(part), options).equal:
            return otherwise
    return Verdict("equal", "tree", "every box holds the answer")


def _score(options: Options, correct: bool, extracted: str | None, in_format: float, detail: str) -> Score:
    value = options.correct_score if correct else options.format_score if in_format else options.wrong_score
    shown = extracted if extracted is None or len(extracted) <= _LINE else extracted[:_LINE] + "…"
    return Score(
        value, correct=correct, extracted=shown, parts={"format": in_format}, detail=detail.replace("\n", " ")
    )


def _compatible(response: str, golds: tuple[str, ...], options: Options) -> Score:
    """Answer as another grader does, in its own scores."""
    found = [_compatible_one(options.compat, response, gold) for gold in golds]
    return next((s for s in found if s.correct), found[-1])


def _compatible_one(compat: Compat, response: str, gold: str) -> Score:
    if compat == "verl_math_reward":
        from rewardkit.rewards.math import compat_hendrycks

        right = compat_hendrycks.correct(response, gold)
        answer = compat_hendrycks.extracted(response)
        return Score(
            float(right), correct=right, extracted=answer, parts={"format": float(answer is not None)}, detail=compat
        )
    if compat in ("math_dapo", "math_dapo_0_8"):
        from rewardkit.rewards.math import compat_dapo

        verdict = compat_dapo.judge(response, gold, box_fallback=compat == "math_dapo")
        right = verdict.correct
        stated = float(verdict.pred != compat_dapo.INVALID)
        return Score(
            1.0 if right else -1.0, correct=right, extracted=verdict.pred, parts={"format": stated}, detail=compat
        )
    from rewardkit.rewards.math import compat_math_verify

    judged = compat_math_verify.judge(response, gold)
    if judged.failure:
        return Score(0.0, judged.failure, detail=judged.reason, parts={"format": 0.0})
    return Score(float(judged.equal), correct=judged.equal, parts={"format": 0.0}, detail=judged.reason)
