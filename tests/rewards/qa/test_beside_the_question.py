"""True sentences, fields and roles that answer another question than the one that is asked."""

from __future__ import annotations

import pytest

from rewardkit.rewards import qa
from rewardkit.rewards.qa import QaOptions
from rewardkit.types import Sample

CAPITAL = "What is the capital of Australia?"
AUTHOR = "Who is the author of the book?"


def _answers(said: str, truth: str, question: str) -> bool:
    return bool(qa.score(Sample("qa", said, f'["{truth}"]', question), QaOptions()).correct)


@pytest.mark.parametrize(
    "said",
    [
        "Capital: Sydney; seat of parliament: Canberra", "Capital: Sydney, seat of parliament: Canberra", "Seat of parliament: Canberra\nCapital: Sydney",
        "Canberra is a city in Australia.", "Canberra is in Australia.", "Canberra is an Australian city.", "Canberra has a parliament.",
        "There is a city called Canberra in Australia.", "Australia has Canberra.", "In Australia there is Canberra.", "I have been to Canberra.",
    ],
)  # fmt: skip
def test_what_is_true_of_an_answer_does_not_answer(said: str) -> None:
    assert not _answers(said, "Canberra", CAPITAL)


@pytest.mark.parametrize(
    "said",
    [
        "Canberra", "Canberra is the capital.", "Canberra is the capital city of Australia.", "Capital: Canberra; largest city: Sydney",
        "Largest city: Sydney, capital: Canberra", "Country: Australia\nCapital: Canberra", "City: Canberra",
        "I know that it is Canberra.", "Canberra, a city in Australia",
    ],
)  # fmt: skip
def test_what_speaks_of_what_is_asked_answers(said: str) -> None:
    assert _answers(said, "Canberra", CAPITAL)


@pytest.mark.parametrize(
    ("said", "question"),
    [
        ("Author: Rowling; illustrator: Taylor", AUTHOR), ("Author: Rowling\nIllustrator: Taylor", AUTHOR), ("Illustrator: Taylor", AUTHOR),
        ("Director: Nolan / Producer: Taylor", "Who directed the film?"), ("Produced by Taylor.", "Who directed the film?"),
        ("The film was produced by Taylor.", "Who directed the film?"), ("Runner-up: Taylor", "Who won the final?"),
    ],
)  # fmt: skip
def test_another_role_is_not_the_one_that_is_asked(said: str, question: str) -> None:
    assert not _answers(said, "Taylor", question)


def test_the_role_that_is_asked_is_answered() -> None:
    assert _answers("Author: Rowling; illustrator: Taylor", "Taylor", "Who is the illustrator of the book?")
    assert _answers("Author: Rowling; illustrator: Taylor", "Rowling", AUTHOR)
    assert _answers("It was directed and produced by Nolan.", "Nolan", "Who directed the film?")
