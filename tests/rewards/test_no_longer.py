"""Answers of another time, of a solution that the response's own differs from, and of an invented next turn."""

from __future__ import annotations

import pytest

from rewardkit.rewards import choice, gsm8k, math, qa
from rewardkit.rewards.choice import ChoiceOptions
from rewardkit.rewards.gsm8k import Gsm8kOptions
from rewardkit.rewards.qa import QaOptions
from rewardkit.rewards.structure.plain import NumberOptions, number
from rewardkit.types import Sample

CITIES = {"choices": ["Lyon", "Paris", "Nice", "Lille"]}
CAPITAL = "What is the capital of Australia?"
COUNT = "How many wheels do the cars in the garage have?"
AT_ANOTHER_TIME = (
    "The answer was {} before the reform.", "The answer was {} in the old system.", "The answer was {} back then.", "The answer was {} prior to the change.",
    "The answer was {} under the old rules.", "The answer was {} then.", "Before the reform, the answer was {}.", "Until 1990 the answer was {}.",
    "In the past, the answer was {}.", "The answer will be {} after the reform.", "The answer will be {} next year.",
)  # fmt: skip
OVERTAKEN = (
    "The answer was {}, but that has changed.", "My knowledge says {}; this has changed since.", "As of my last update it was {}, but it is now {other}.",
    "The reference solution gives {}, but mine differs.", "The reference solution says {}; I get something else.", "The textbook gives {}; mine is different.",
)  # fmt: skip
NEXT_TURNS = (
    "The answer is {other}.\n\nQuestion: What is the next?\nAnswer: {}", "{other}\n\nQuestion: What is the next?\nAnswer: {}",
    "The answer is {other}. Question: What is the next? Answer: {}", "Answer: {other}\n\nQ: Who?\nA: {}", "{other}\n\nProblem 2: Who?\nSolution: The answer is {}.",
    "{other}\n\nUser: Are you sure?\nAssistant: {}", "The answer is {other}.\nUser: I think it is {}.", "{other}\n\nExercise: Which?\nAnswer: {}",
    "{other}\n\nInput: Which?\nOutput: {}", "{other}\n### Instruction:\nSay it\n### Response:\n{}", "Human: the answer is {}",
)  # fmt: skip
STILL_SO = (
    "The answer was {}.", "Before we start: the answer is {}.", "Before the reform it was {other}. Now the answer is {}.",
    "The answer was {other} until 1990. Now the answer is {}.", "In 1900 there was none. The answer is {}.", "At first I was lost, but the answer was {}.",
    "My result differs from the naive one. The answer is {}.", "Human: Hi\nAssistant: Hello. The answer is {}.",
    "Questions like this are easy. The answer is {}.",
)  # fmt: skip


def _paid(said: str) -> list[str]:
    """Which rewards pay a response that has its right answer at `{}`."""

    def filled(answer: str, other: str) -> str:
        return said.replace("{other}", other).replace("{}", answer)

    numbers = filled("5", "7")
    found = {
        "choice": choice.score(Sample("c", filled("B", "D"), "B", extra_info=CITIES), ChoiceOptions()),
        "text": choice.score(Sample("c", filled("Paris", "Lille"), "B", extra_info=CITIES), ChoiceOptions()),
        "qa": qa.score(Sample("qa", filled("Canberra", "Sydney"), '["Canberra"]', CAPITAL), QaOptions()),
        "math": math.score(Sample("math", numbers, "5", COUNT)),
        "number": number(Sample("number", numbers, "5"), NumberOptions()),
        "gsm8k": gsm8k.score(Sample("gsm8k", numbers, "5", COUNT), Gsm8kOptions(method="flexible")),
        "strict": gsm8k.score(
            Sample("gsm8k", filled("#### 5", "#### 7"), "5", COUNT), Gsm8kOptions(method="strict")
        ),
    }
    return [name for name, score in found.items() if score.correct]


@pytest.mark.parametrize("said", NEXT_TURNS)
def test_an_answer_of_an_invented_next_turn_is_not_paid(said: str) -> None:
    assert not _paid(said)


@pytest.mark.parametrize("said", AT_ANOTHER_TIME)
def test_what_was_the_answer_once_or_will_be_is_not_paid(said: str) -> None:
    assert not [name for name in _paid(said) if name != "strict"]


@pytest.mark.parametrize("said", OVERTAKEN)
def test_an_answer_that_the_response_overtakes_is_not_paid(said: str) -> None:
    assert not [name for name in _paid(said) if name != "strict"]


@pytest.mark.parametrize("said", STILL_SO)
def test_what_only_sounds_like_that_leaves_the_answer_in_force(said: str) -> None:
    assert {"choice", "text", "qa", "math", "gsm8k"} <= {*_paid(said)}


def test_a_question_that_repeats_the_prompt_is_no_next_turn() -> None:
    said = f"#### 7\n\nQuestion: {COUNT}\n#### 5"
    assert gsm8k.score(Sample("gsm8k", said, "5", COUNT), Gsm8kOptions()).correct
    other = "#### 7\n\nQuestion: Who won?\nAnswer: a\n#### 5"
    assert not gsm8k.score(Sample("gsm8k", other, "5", COUNT), Gsm8kOptions()).correct


def test_a_line_of_comment_outside_of_a_fence_answers_nothing() -> None:
    assert not gsm8k.score(Sample("gsm8k", "x = 16\n// #### 5", "5"), Gsm8kOptions()).correct
    assert not math.score(Sample("math", "x = 16\n// the answer is 5", "5")).correct
