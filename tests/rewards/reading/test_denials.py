"""An answer that a response denies, doubts, asks about or takes back pays in no reward."""

from __future__ import annotations

import pytest

from rewardkit.rewards import gsm8k, math
from rewardkit.types import Sample

DENYING = [
    "%s? No.", "%s?", "%s? No, 75.", "Is it %s?", "%s is only an upper bound.", "%s is just a lower bound.",
    "%s is not the final answer.", "%s was my first guess.", "%s is too large.", "%s is off by one.",
    "%s does not work.", "%s can't work.", "%s fails the check.", "%s. Actually, 75.", "%s, no wait, 75",
    "%s contradicts the premise.", "%s is what I thought at first.", "%s is a trick.",
    "%s (a tempting but wrong choice)", "%s is close, but no.", "The previous answer %s was retracted.",
    "Suppose %s. Then we get a contradiction.", "False: %s", "Incorrect answer: %s", "Wrong: %s",
    "My first guess was %s, though.", "The answer exceeds %s.", "The answer is less than %s.",
    "It's false that it is %s.", "An upper bound is %s.", "A naive solver would say %s.", "One might think %s.",
    "Many students answer %s.", "The trap is %s.", "If only %s were right.", "A common mistake gives %s.",
    "The answer differs from %s.", "It is at most %s.", "Example: %s", "Example answer: %s", "e.g. %s", "Sample output: %s",
    "Template: %s", "Write your answer in the form %s", "Your answer as %s", "An answer such as %s", "Hint: %s", "Placeholder: %s",
    "The previous answer: %s", "Their answer: %s", "The student's answer: %s", "Someone claims %s", "He says the answer is %s",
    "The book says %s but we disagree.", "Bob thinks the answer is %s.", "It exceeds the answer is %s", "It exceeds the answer %s",
    "It is less than the answer is %s.", "If the answer is %s", "Unless it is %s", "Assuming the answer is %s", "Let's try %s",
    "Check whether it is %s", "Could it be %s", "Compare it with %s", "in place of %s", "as opposed to %s", "Avoid %s", "Ignore %s",
    "Beware of %s", "Incorrect -> %s", "(wrong) %s", "❌ %s", "%s ❌", "The answer is _not_ %s", "The answer is <u>not</u> %s",
    "The answer is no longer %s", "The answer is nowhere near %s", "The answer is bounded by %s", "The answer is twice %s",
    "%s. Just kidding.", "%s. Not!", "%s -- not!", "%s is what we want to avoid.", "%s is the answer to another question.",
    "%s. However, that is wrong.", "%s. That's wrong.", "%s. My answer is incorrect.", "%s. The above is incorrect.",
    "%s. Ignore the above.", "%s. Scratch that.", "%s. I made an error.", "%s. Wait, that's not right.", "%s. Hmm, that can't be.",
    "%s <- wrong", "%s is what most would say.", "%s, maybe 75", "%s; alternatively 75", "%s or something else", "%s, I think not",
    "There is no doubt that the answer is not %s.", "There is much doubt that the answer is %s.",
    "Without doubt it is wrong that the answer is %s.", "There is every reason to doubt that it is %s.",
    "My guess was %s; I retract it.", "%s. I take that back.", "%s (I must withdraw this)", "%s. I hereby revoke it.",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("denying", DENYING)
def test_a_denied_or_doubted_answer_pays_in_no_reward(denying: str) -> None:
    for slot in ("\\boxed{72}", "$\\boxed{72}$", "#### 72"):
        response = denying.replace("%s", slot)
        for preset in ("default", "strict"):
            options = math.MathOptions(preset=preset)
            assert math.score(Sample("math", response, "72"), options).score == 0.0, (response, preset)
        for method in ("strict", "flexible"):
            options_of_gsm8k = gsm8k.Gsm8kOptions(method=method)
            assert gsm8k.score(Sample("gsm8k", response, "72"), options_of_gsm8k).score < 1.0, response


@pytest.mark.slow
@pytest.mark.parametrize(
    "denying", ["The answer is not", "Example:", "It is less than", "He says the answer is", "**Wrong:**"]
)
@pytest.mark.parametrize(
    "slot", ["\\boxed{72}", "<answer>72</answer>", "Answer: 72", "#### 72", "$72$", "72"]
)
@pytest.mark.parametrize(
    "between", [" ", "\n", "\n\n", "\n" * 200], ids=["a blank", "a line", "two lines", "many lines"]
)
def test_a_denied_answer_pays_in_no_form_and_on_no_line(denying: str, slot: str, between: str) -> None:
    for presets in ("default", "strict"):
        assert (
            math.score(Sample("math", denying + between + slot, "72"), math.MathOptions(preset=presets)).score
            == 0.0
        )
    for method in ("strict", "flexible"):
        found = gsm8k.score(
            Sample("gsm8k", denying + between + slot, "72"), gsm8k.Gsm8kOptions(method=method)
        )
        assert found.score < 1.0, denying + between + slot


@pytest.mark.parametrize(
    "response",
    [
        "160 do not have pets\n#### 72", "There are 22 more that float than not\n#### 72", "So his friend got 60+12 = 72\n#### 72",
        "Thus 40 people think horse 7 will win. #### 72", "\\boxed{72} (or else $J$ would have more)",
        "\\boxed{72}. Alternatively, we could solve $x+1=73$.", "The answer is about \\boxed{72}", "My guess is \\boxed{72}",
        "So the least upper bound is \\boxed{72}.", "\\boxed{72} is the greatest lower bound.",
        "Thus \\boxed{72} is the number of clips.", "If $x>1$, the answer is \\boxed{72}.", "\\boxed{72} is correct.",
        "I was wrong before. Now it is \\boxed{72}.", "Not 70. The answer: \\boxed{72}", "\\boxed{72}. No other is possible.",
        "\\boxed{72} does not depend on $x$.", "\\boxed{72}. Wait, let me check that. Yes.",
        "There is no doubt that the answer is \\boxed{72}.", "No doubt the answer is \\boxed{72}.",
        "It is beyond any reasonable doubt that the answer is \\boxed{72}.", "There's little doubt that it is \\boxed{72}.",
        "There is no reason to doubt that the answer is \\boxed{72}.", "Without question, it is \\boxed{72}.",
    ],
)  # fmt: skip
def test_an_answer_that_is_stated_is_paid_whatever_else_is_said(response: str) -> None:
    assert math.score(Sample("math", response, "72")).score == 1.0


@pytest.mark.parametrize(
    "response", ["It rose from 5 to 72", "All ages of 72 and above", "It is (9, 72)", "5, 72"]
)
def test_the_last_number_of_a_range_or_a_pair_is_no_answer(response: str) -> None:
    assert gsm8k.score(Sample("gsm8k", response, "72"), gsm8k.Gsm8kOptions(method="flexible")).score == 0.0
