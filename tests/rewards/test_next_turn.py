"""A response is cut where it asks itself a next question, and nowhere else."""

from __future__ import annotations

import pytest

from rewardkit.rewards.next_turn import before_next_turn
from rewardkit.rewards.qa import QaOptions, score
from rewardkit.types import Sample

PROMPT = "What is the capital of Australia?"


@pytest.mark.parametrize(
    "after",
    ["Question: What is the capital of Italy?\nAnswer: Rome", "Q: What do dogs eat?\nA: meat", "Human: Thanks!",
     "**Question 2:** How many legs has an ant?\n6", "### User:\nNext", "### Instruction\nWrite a poem.",
     "User: Which is the largest?\nAssistant: Sydney"],
)  # fmt: skip
def test_what_follows_a_next_question_or_turn_is_cut(after: str) -> None:
    assert before_next_turn(f"Canberra\n\n{after}", PROMPT).strip() == "Canberra"


@pytest.mark.parametrize(
    "said",
    ["Question: What is the capital of Italy?\nAnswer: Rome", f"Sure.\n\nQuestion: {PROMPT}\nAnswer: Canberra",
     "It is asked:\nthe question is what the capital is.\nCanberra", "Users like it.\nUser friendly.\nCanberra",
     "<think>\nHm.\nQuestion: what of Sydney?\n</think>Canberra", "Questions:\nnone\nCanberra",
     "<think>\nHm.\nQuestion: what of Sydney?"],
)  # fmt: skip
def test_a_restated_question_and_other_words_cut_nothing(said: str) -> None:
    assert before_next_turn(said, PROMPT) == said


def test_a_response_that_opens_with_another_question_answers_that_one() -> None:
    assert before_next_turn("Question: How much is 2 + 2?\nAnswer: 4", PROMPT) == ""


def test_a_wrong_answer_before_a_next_question_is_the_answer_and_one_under_the_same_question_is_the_last() -> (
    None
):
    def right(said: str) -> bool | None:
        return score(Sample("qa", said, '["Canberra"]', PROMPT), QaOptions()).correct

    assert right("Sydney\n\nQuestion: Which city has the parliament?\nAnswer: Canberra") is False
    assert right(f"Canberra\n\nQuestion: {PROMPT}\nAnswer: Sydney") is False
    assert right("Canberra\n\nQuestion: Which city has the opera?\nAnswer: Sydney")


def test_a_long_response_of_turns_is_cut_in_a_moment() -> None:
    assert before_next_turn("x\n" + "> * _" * 50_000 + "\nQ: y\n" * 20_000, "y").startswith("x")
