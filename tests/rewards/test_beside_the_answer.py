"""What stands beside an answer and leaves it in force: others that are denied together, words to readers who have
another one, brackets of a form, sums, searches in special tokens; and what sounds like these and is no answer."""

from __future__ import annotations

import pytest

from rewardkit.rewards import choice, qa
from rewardkit.rewards.choice import ChoiceOptions
from rewardkit.rewards.qa import QaOptions
from rewardkit.types import Sample

CAPITAL = "What is the capital of Australia?"
CITIES = {"choices": ["Paris", "Lyon", "Nice", "Lille"]}
LEFT_IN_FORCE = [
    "The answer is {}. {other} is wrong and so is {third}.", "The answer is {}. {other} is incorrect, as is {third}.", "{} is right. {other} is out, and so is {third}.",
    "The answer is {}. {other} is clearly wrong, so is {third}.", "{other} is wrong and so is {third}. The answer is {}.", "The answer is {}. {other} is ruled out and so was {third}.",
    "If you answered {other}, check again: the answer is {}.", "If you picked {other}, think again: it's {}.", "If you said {other}, sorry, the answer is {}.",
    "If your guess was {other}, look again - the answer is {}.", "If you went with {other}, that's wrong: it is {}.", "If you put {other}, you are mistaken. The answer is {}.",
    "Therefore the answer is: <{}>", "Answer: <<{}>>", "The answer is 【{}】.", "Answer: 《{}》", "<{}>", "Final answer: < {} >",
    "According to what I know, the answer is {}.", "According to my calculations, it is {}.", "According to everything we know it is {}.", "According to my memory the answer is {}.",
    "<|begin_search_query|>it<|end_search_query|>\n<|begin_search_result|>much<|end_search_result|>\nThe answer is \\boxed{{{}}}.",
    "<|begin_of_query|>it<|end_of_query|>\n<|begin_of_documents|>{other}<|end_of_documents|>\n<answer>{}</answer>",
]  # fmt: skip
NOT_LEFT = [
    "The answer is {}. {other} is right and so is {third}.", "The answer is {}. {other} is wrong and so is {}.",
    "{other} is wrong and so is {}.", "The answer is {}. {other} is correct, as is {third}.", "{} is wrong and so is {other}.",
    "If you answered {}, check again: the answer is {other}.", "If you picked {}, think again: it's {other}.", "If you said {}, look again.", "If you answered {}, the answer is {}.",
    "If you read it again, the answer is {}.", "If you said {other}, sorry, the answer is not {}.", "Answer: <{} or {other}>", "Answer: <not {}>", "<{}> or <{other}>",
    "According to my friend, the answer is {}.", "According to what I know, the answer is not {}.", "According to what some say, it is {}.",
    "<|begin_search_query|>is it {}<|end_search_query|>", "<|begin_search_query|>it<|end_search_query|>\n<|begin_search_result|>The answer is {}.<|end_search_result|>",
    "The answer is {}.\n<|begin_search_query|>it<|end_search_query|>", "<|begin_of_query|>it<|end_of_query|>\n<|begin_of_documents|>The answer is {}.<|end_of_documents|>\nNo idea.",
]  # fmt: skip
OF_OPTIONS = [
    "The answer is B. A does not fit, nor does C.", "The answer is B. D isn't it. Neither is C.", "B is right. A is not on the river, and neither is C (Nice).",
    "The answer is B. D cannot be right, nor can C.", "The answer is **B. Lyon**.\n\n* **B. Lyon:** Without it there is no south.\n* **C. Nice:** Incorrect.",
    "The answer is B. The tune ends on the note C, the chord A and then the next D.",
]  # fmt: skip
OF_OTHER_OPTIONS = [
    "The answer is B. A is not wrong, and neither is C.", "The answer is B. A does not fit, nor does B.",
    "The answer is B.\n\n* **B. Lyon:** Without merit.\n* **C. Nice:** Correct.",
]  # fmt: skip
LEAP = "How many days are there in a leap year?"
SUMS = [
    "365 + 1 = 366",
    "So 365 + 1 = 366 days.",
    "We get (365 + 1) = 366",
    "The sum gives ... = 366 days",
    "It comes to … = 366",
    "$365 + 1 = 366$",
    "4 × 91 + 2 = 366.",
]
NO_SUMS = [
    "365 + 1 = 366?",
    "365 + 1 = 366 or 365",
    "It isn't 365 + 1 = 366",
    "365 + 1 = 366 = 365",
    "366 + 1 = 367",
    "365 + 1 ≠ 366",
    "If 365 + 1 = 366",
    "366 - 1 = 365",
]
TITAN = ("which planet has a moon named titan", "Saturn")
ISAAC = ("Who was the father of Isaac?", "Abraham")
OF_RELATIONS = [
    (*TITAN, "Titan is a moon of Saturn.", True), (*TITAN, "Titan is a moon of the planet Saturn.", True),
    (*TITAN, "You asked: which planet has a moon named titan\nTitan is a moon of Saturn.", True), (*TITAN, "Titan is not a moon of Saturn.", False),
    (*TITAN, "Titan is a moon of Saturn or Jupiter.", False), ("Which country has Oslo as its capital?", "Norway", "Oslo is the capital of Norway.", True),
    ("Which country has Oslo as its capital?", "Norway", "Oslo is the capital of Norway and Sweden.", False),
    (*ISAAC, "Isaac was the father of Abraham.", False), (*ISAAC, "Abraham was the father of Isaac.", True), (*ISAAC, "Isaac was the son of Abraham's father.", False),
]  # fmt: skip


@pytest.mark.parametrize("said", LEFT_IN_FORCE)
def test_what_stands_beside_an_answer_leaves_it_in_force(said: str) -> None:
    assert _chooses(said.format("B", other="A", third="C"))
    assert _chooses(said.format("Lyon", other="Paris", third="Nice"))
    assert _answers(said.format("Canberra", other="Sydney", third="Perth"))
    assert not _chooses(said.format("A", other="B", third="C"))
    assert not _answers(said.format("Perth", other="Canberra", third="Sydney"))


@pytest.mark.parametrize("said", NOT_LEFT)
def test_what_sounds_alike_and_commits_to_nothing_or_another_is_not_paid(said: str) -> None:
    assert not _chooses(said.format("B", "B", other="A", third="C"))
    assert not _chooses(said.format("Lyon", "Lyon", other="Paris", third="Nice"))
    assert not _answers(said.format("Canberra", "Canberra", other="Sydney", third="Perth"))


@pytest.mark.parametrize("said", OF_OPTIONS)
def test_options_that_are_denied_or_named_in_passing_leave_the_one_chosen(said: str) -> None:
    assert _chooses(said)


@pytest.mark.parametrize("said", OF_OTHER_OPTIONS)
def test_an_option_beside_which_another_is_upheld_or_itself_denied_is_not_chosen(said: str) -> None:
    assert not _chooses(said)


@pytest.mark.parametrize("said", SUMS)
def test_what_a_sum_at_the_end_gives_is_the_answer(said: str) -> None:
    assert _answers(said, LEAP, "366")


@pytest.mark.parametrize("said", NO_SUMS)
def test_a_sum_that_is_denied_asked_or_gives_something_else_is_none(said: str) -> None:
    assert not _answers(said, LEAP, "366")


@pytest.mark.parametrize(("question", "truth", "said", "right"), OF_RELATIONS)
def test_that_of_which_the_subject_of_a_question_is_one_is_the_answer(
    question: str, truth: str, said: str, right: bool
) -> None:
    assert _answers(said, question, truth) is right


def _chooses(response: str) -> bool:
    return choice.score(Sample("choice", response, "B", None, CITIES), ChoiceOptions()).correct is True


def _answers(response: str, question: str = CAPITAL, truth: str = "Canberra") -> bool:
    return qa.score(Sample("qa", response, f'["{truth}"]', question), QaOptions()).correct is True
