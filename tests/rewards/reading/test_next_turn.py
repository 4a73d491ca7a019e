"""A response is cut where it asks itself a next question, and nowhere else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.rewards.qa import QaOptions, score
from rewardkit.rewards.reading import next_turn
from rewardkit.rewards.reading.next_turn import before_next_turn, before_users_turn, own_part
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


@pytest.mark.parametrize("turn", ["User:", "HUMAN:", "USER:", "Human:"])
def test_a_turn_of_the_user_s_within_a_line_is_cut_however_it_is_written(turn: str) -> None:
    assert own_part(f"I do not know it. {turn} It is 37.\n#### 37", PROMPT) == "I do not know it."


PIECES = [
    "\n", "\n\n", " ", "> ", "## ", "**", "Next ", "another ", "Question", "q", "Problem 2", "exercise", "Human",
    "USER", "instruction", "Input", "Output", ":", ": How many?", "The following are questions", "Here is another problem",
    "Answer the next question", "#### 4", "The answer is 5.", "\\boxed{3}", "so. ", "<think>", "</think>", " Answer: 7",
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), min_size=3, max_size=14).map("".join))
def test_no_quick_look_keeps_what_would_be_cut(text: str) -> None:
    """`own_part` looks first whether a text may hold another turn at all."""
    said = f"Step by step: {text}"
    users = before_users_turn(said, on_lines=True)
    before = before_next_turn(users, PROMPT)
    cut = before if before != users and next_turn._ANSWERED.search(before) else users
    assert own_part(said, PROMPT) == cut
