"""Explanation of a verdict: the extracted answer, its parsed form, and the tier that decided."""

from __future__ import annotations

from dataclasses import dataclass

from rewardkit.rewards.math.comparing.grade import MathVerdict
from rewardkit.rewards.math.math_reward import alternatives, best_verdict
from rewardkit.rewards.math.policies import DEFAULT, MathOptions
from rewardkit.rewards.math.reading.extraction import Extraction, extract
from rewardkit.rewards.math.reading.prepared import PreparedAnswer, prepare, prepare_answer
from rewardkit.rewards.math.tree.show import show

_LINE = 400


@dataclass(frozen=True)
class MathExplanation:
    """Reasons why an answer is right or wrong, as printable strings."""

    extracted: str | None
    method: str
    ground_truth_text: str
    ground_truth_form: str
    """Parsed form of the ground truth as text."""
    answer_text: str
    answer_form: str
    outcome: str
    tier: str
    reason: str

    def __str__(self) -> str:
        rows = (
            ("answer", f"{self.extracted!r}, extracted by: {self.method}"),
            ("ground truth", f"{self.ground_truth_text}   parsed as   {self.ground_truth_form}"),
            ("parsed answer", f"{self.answer_text}   parsed as   {self.answer_form}"),
            ("verdict", f"{self.outcome}, by the {self.tier} tier: {self.reason}"),
        )
        return "\n".join(f"{name:>18}: {value}" for name, value in rows)


def explain(ground_truth: str, response: str, options: MathOptions = DEFAULT) -> MathExplanation:
    """Score a response and return the verdict with the reasons for it."""
    options = options.resolved
    found = extract(response, options)
    ground_truths = alternatives(ground_truth)
    side = prepare(ground_truths[0]) if ground_truths else PreparedAnswer("", "")
    if found.answer is None:
        verdict = MathVerdict("not_equal", "none", f"no answer in the response: {found.method}")
        return _explanation(found, side, None, verdict)
    return _explanation(found, side, prepare_answer(found), best_verdict(ground_truths, found, options))


def _explanation(
    found: Extraction, side: PreparedAnswer, answer: PreparedAnswer | None, verdict: MathVerdict
) -> MathExplanation:
    return MathExplanation(
        extracted=_short(found.answer) if found.answer is not None else None,
        method=found.method,
        ground_truth_text=_short(side.text),
        ground_truth_form=_form(side),
        answer_text=_short(answer.text) if answer else "",
        answer_form=_form(answer) if answer else "",
        outcome=verdict.outcome.replace("_", " "),
        tier=verdict.tier,
        reason=verdict.reason,
    )


def _form(side: PreparedAnswer) -> str:
    if side.reading is None:
        return f"plain text ({side.problem or 'empty'})"
    return _short(show(side.reading))


def _short(text: str) -> str:
    return text if len(text) <= _LINE else f"{text[:_LINE]}… ({len(text)} characters)"
