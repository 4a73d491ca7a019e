"""What is never paid and what is, by class: in every form of answer, under every preset of ours."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from math_verdicts import NEVER_PAID, NEVER_PAID_RESPONSES, PAID, PAID_RESPONSES

from rewardkit.rewards import gsm8k
from rewardkit.rewards.math import MathOptions, compare, extract, score
from rewardkit.types import Sample
from tests.conftest import needs

PRESETS = (MathOptions(), MathOptions(preset="strict"))
FORMS = (
    "so \\boxed{{{0}}}", "<answer>{0}</answer>", "Answer: {0}", "#### {0}", "The answer is {0}", "The answer is ${0}$.",
)  # fmt: skip
VERBATIM = (*FORMS[:5],)


def paid(response: str, ground_truth: str, options: MathOptions = PRESETS[0], **extra: str) -> bool:
    return score(Sample("math", response, ground_truth, extra_info=extra), options).correct is True


@pytest.mark.slow
@pytest.mark.parametrize("topic", NEVER_PAID)
def test_a_wrong_answer_is_not_paid_in_any_form_or_preset(topic: str) -> None:
    for truth, answer in NEVER_PAID[topic]:
        assert not compare(truth, answer).equal, f"{truth!r} and {answer!r}"
        for form in FORMS:
            assert not paid(form.format(answer), truth), f"{truth!r} <- {form.format(answer)!r}"
        boxed = FORMS[0].format(answer)  # the one form that this preset takes
        assert not paid(boxed, truth, PRESETS[1]), f"{truth!r} <- {boxed!r} strict"


@pytest.mark.parametrize("topic", PAID)
def test_the_right_answer_is_paid_however_it_is_written(topic: str) -> None:
    for truth, answer in PAID[topic]:
        assert compare(truth, answer).equal, f"{truth!r} and {answer!r}"
        for form in FORMS[:3]:
            assert paid(form.format(answer), truth), f"{truth!r} <- {form.format(answer)!r}"


@pytest.mark.parametrize("topic", NEVER_PAID_RESPONSES)
def test_denials_and_decoys_are_not_paid(topic: str) -> None:
    for truth, response in NEVER_PAID_RESPONSES[topic]:
        for options in PRESETS:
            assert not paid(response, truth, options), f"{truth!r} <- {response!r} {options.preset}"


@pytest.mark.parametrize("topic", PAID_RESPONSES)
def test_harmless_company_of_an_answer_costs_nothing(topic: str) -> None:
    for truth, response in PAID_RESPONSES[topic]:
        assert paid(response, truth), f"{truth!r} <- {response!r}"


def test_the_dataset_may_say_what_kind_of_answer_a_ground_truth_is() -> None:
    assert paid("\\boxed{1234}", "1,234")
    assert not paid("\\boxed{1234}", "1,234", answer_kind="list")
    assert paid("\\boxed{234, 1}", "1,234", answer_kind="list")
    assert paid("\\boxed{3.5}", "3,5", answer_kind="number")
    assert not paid("\\boxed{5, 3}", "3,5", answer_kind="number")
    assert not paid("\\boxed{x+1}", "1+x", answer_kind="text")
    assert paid("\\boxed{1+x}", "1+x", answer_kind="text")


def test_ground_truths_of_math_are_paid_verbatim_in_every_form(reference_data: Path) -> None:
    path = needs(reference_data / "math" / "test.jsonl")
    for line in path.read_text(encoding="utf-8").splitlines()[::5]:
        truth = extract(json.loads(line)["solution"], MathOptions(methods=("boxed",))).answer
        assert truth is not None
        for form in VERBATIM:
            assert paid(form.format(truth), truth), form.format(truth)


def test_ground_truths_of_gsm8k_are_paid_verbatim_in_every_form(reference_data: Path) -> None:
    for line in (reference_data / "gsm8k" / "test.jsonl").read_text(encoding="utf-8").splitlines()[::3]:
        truth = json.loads(line)["answer"].rpartition("####")[2].strip()
        for form in VERBATIM:
            assert paid(form.format(truth), truth), form.format(truth)
        assert gsm8k.score(Sample("gsm8k", f"#### {truth}", truth), gsm8k.Gsm8kOptions()).correct, truth
