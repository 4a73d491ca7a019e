"""What follows an answer and takes it back, beside what sounds like it and leaves the answer in force."""

from __future__ import annotations

import pytest

from rewardkit.rewards import choice, qa
from rewardkit.rewards.choice import ChoiceOptions
from rewardkit.rewards.qa import QaOptions
from rewardkit.rewards.reading.own_words import stance
from rewardkit.types import Sample

CAPITAL = "What is the capital of Australia?"
CITIES = {"choices": ["Lyon", "Paris", "Nice", "Lille"]}
DISOWN = (
    "I retract this.", "My statement above is false.", "I cannot defend that answer.", "I don't stand by this.",
    "Disregard what I wrote.", "I take all of it back.", "Please ignore that.", "I no longer trust that.",
)  # fmt: skip
UPHOLD = (
    "I will not withdraw that.",
    "I was not mistaken.",
    "I do not take that back.",
    "I cannot retract this.",
)
ANSWERS = (
    "The answer is {}.",
    "{}.",
    "I'd go with {}.",
    "\\boxed{{{}}}",
    "<answer>{}</answer>",
    "{} is correct.",
)


def _chooses(said: str) -> bool:
    return bool(choice.score(Sample("choice", said, "B", extra_info=CITIES), ChoiceOptions()).correct)


def _answers(said: str) -> bool:
    return bool(qa.score(Sample("qa", said, '["Canberra"]', CAPITAL), QaOptions()).correct)


@pytest.mark.parametrize("said", DISOWN)
def test_a_sentence_that_disowns_takes_back_any_form_of_answer(said: str) -> None:
    assert stance(said) == "disowns"
    assert not [answer for answer in ANSWERS if _chooses(answer.format("B") + " " + said)]
    assert not [answer for answer in ANSWERS[:5] if _answers(answer.format("Canberra") + " " + said)]


@pytest.mark.parametrize("said", UPHOLD)
def test_a_sentence_that_denies_taking_back_keeps_any_form_of_answer(said: str) -> None:
    assert stance(said) == "upholds"
    assert all(_chooses(answer.format("B") + " " + said) for answer in ANSWERS)
    assert all(_answers(answer.format("Canberra") + " " + said) for answer in ANSWERS[:5])


@pytest.mark.parametrize(
    "said", ["The question is wrong", "I take that back: it is \ue000", "That is all", "I don't know"]
)
def test_a_sentence_of_anything_else_says_nothing_of_the_answer(said: str) -> None:
    assert stance(said) is None


TAKEN_BACK = [
    "The answer is Paris, which is choice B. I retract this.", "The answer is Paris, which is choice B. That is not correct.",
    "The answer is B, not D.\n\nD", "It's B and not D.\n\n(D)", "I'd pick B instead of D.\n\nLille", "The answer is B rather than D.\n\nD it is.",
    "B (source: Wikipedia).\n\nUpon reflection: Lille.", "B. Though D is possible too.", "B<pad>. I retract this.", "B<|pad|> No, D.",
    "## Analysis\n\nWe look at all.\n\n### Option B\n", "This is debated: some sources favour B, others D. I would not commit to either.",
    '{"selected": "B", "final": "D"}', '{"selected": "B", "note": "that is wrong"}', '{"not_selected": "B"}', '{"selected": "B"} That is wrong.',
]  # fmt: skip
KEPT = [
    "The answer is Paris, which is choice B. That is correct.", "The answer is B, not D.\n\nB", "It's B and not D.\n\n(B)", "The answer is Paris, which is choice B. I checked this.",
    "B (source: Wikipedia).\n\nUpon reflection: Paris.", "B<pad><pad>", "<pad><pad>B", "B[PAD]", "**B** I checked this.",
    "B. I was not mistaken.", '{"selected_option": "B", "selected_text": "Paris"}', "I first said D. But that's wrong: the answer is B.",
    "Some say D, others A, but the answer is B.", "### Option B",
]  # fmt: skip


def test_a_choice_that_is_taken_back_is_none() -> None:
    assert not [said for said in TAKEN_BACK if _chooses(said)]
    assert not [said for said in KEPT if not _chooses(said)]


ANSWER_TAKEN_BACK = [
    "Canberra, not team K. That was wrong.", "Canberra, not to be confused with Sydney. That was wrong.", "It is Canberra rather than Sydney.\n\nIt is Sydney.",
    "Answer: Canberra, not Sydney\n\nSydney it is.", "Canberra [1]. Let me correct that: Sydney.", "Canberra [1].\n\nUpon reflection: Sydney.",
    "Canberra. Sydney could also be right.", "Canberra\nConfidence: 85%\n\nThough Sydney is possible too.", "Canberra. Sydney is an equally good answer.",
    "Canberra. Hmm, Sydney is also plausible.", "Canberra<pad>. I retract this.", "Canberra<unk> Actually Sydney.",
    "There is no agreed answer. Canberra and Sydney have both been proposed.", "| Answer | Canberra |\n| Answer | Sydney |",
]  # fmt: skip
ANSWER_KEPT = [
    "Canberra, not team K. That was easy.", "Answer: Canberra, not Sydney\n\nCanberra it is.", "Canberra [1]. Let me repeat that: Canberra.",
    "Canberra [1].\n\nUpon reflection: Canberra.", "Canberra\nConfidence: 85%\n\nThis is well known.", "Canberra. This is also the generally accepted answer.",
    "| Field | Value |\n|---|---|\n| Answer | Canberra |", "**Final Answer**\n\n\\[ \\boxed{Canberra} \\]",
    "The capital of Australia is Canberra. It is one of those facts that everyone knows.",
    "Canberra<pad><pad>", "Canberra <unk>", "**Canberra** I checked this.",
]  # fmt: skip


def test_an_answer_that_is_taken_back_is_none() -> None:
    assert not [said for said in ANSWER_TAKEN_BACK if _answers(said)]
    assert not [said for said in ANSWER_KEPT if not _answers(said)]


@pytest.mark.parametrize(
    ("said", "accepted"), [("x/2 + C", "x^2 + C"), ("O(n/2)", "O(n^2)"), ("2*3", "2/3"), ("a<b", "a=b")]
)
def test_other_signs_of_arithmetic_are_another_answer(said: str, accepted: str) -> None:
    assert not qa.score(Sample("qa", said, accepted, CAPITAL), QaOptions()).correct


@pytest.mark.parametrize(("said", "accepted"), [("x² + C", "x^2 + C"), ("9-11", "9/11"), ("AC-DC", "AC/DC")])
def test_the_same_signs_in_other_writing_are_the_same_answer(said: str, accepted: str) -> None:
    assert qa.score(Sample("qa", said, accepted, CAPITAL), QaOptions()).correct
