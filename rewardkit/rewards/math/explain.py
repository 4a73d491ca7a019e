"""What a person needs when a verdict surprises them: what was read, how each side was understood, who decided."""

from __future__ import annotations

from dataclasses import dataclass

from rewardkit.rewards.math.extract import Extraction, extract
from rewardkit.rewards.math.grade import Prepared, Verdict, prepare, prepare_answer
from rewardkit.rewards.math.policies import DEFAULT, Options, resolve
from rewardkit.rewards.math.reward import alternatives, best_verdict
from rewardkit.rewards.math.show import show

_LINE = 400


@dataclass(frozen=True)
class Explanation:
    """One judgement, laid open. Every field is text to print."""

    extracted: str | None
    method: str
    gold_text: str
    gold_form: str
    """The gold as it was parsed; several readings are separated by `  or  `."""
    answer_text: str
    answer_form: str
    outcome: str
    tier: str
    reason: str

    def __str__(self) -> str:
        rows = (
            ("answer", f"{self.extracted!r}, found by: {self.method}"),
            ("gold reads", f"{self.gold_text}   as   {self.gold_form}"),
            ("answer reads", f"{self.answer_text}   as   {self.answer_form}"),
            ("verdict", f"{self.outcome}, by the {self.tier} tier: {self.reason}"),
        )
        return "\n".join(f"{name:>13}: {value}" for name, value in rows)


def explain(gold: str, response: str, options: Options = DEFAULT) -> Explanation:
    """Return how a response would be judged, and why."""
    options = resolve(options)
    found = extract(response, options)
    golds = alternatives(gold)
    side = prepare(golds[0]) if golds else Prepared("", "")
    if found.answer is None:
        verdict = Verdict("not_equal", "none", f"no answer in the response: {found.method}")
        return _explanation(found, side, None, verdict)
    return _explanation(found, side, prepare_answer(found), best_verdict(golds, found, options))


def _explanation(found: Extraction, gold: Prepared, answer: Prepared | None, verdict: Verdict) -> Explanation:
    return Explanation(
        extracted=_short(found.answer) if found.answer is not None else None,
        method=found.method,
        gold_text=_short(gold.text),
        gold_form=_form(gold),
        answer_text=_short(answer.text) if answer else "",
        answer_form=_form(answer) if answer else "",
        outcome=verdict.outcome.replace("_", " "),
        tier=verdict.tier,
        reason=verdict.reason,
    )


def _form(side: Prepared) -> str:
    if not side.readings:
        return f"text only ({side.problem or 'nothing there'})"
    return "  or  ".join(_short(show(tree)) for tree in side.readings)


def _short(text: str) -> str:
    return text if len(text) <= _LINE else f"{text[:_LINE]}… ({len(text)} characters)"
