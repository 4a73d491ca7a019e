"""What sentences say beside their answer, whole sentences with other forms of the question's verb, dates for years,
yes and no with a reason; and what sounds like these and answers otherwise."""

from __future__ import annotations

import pytest

from rewardkit.rewards import choice, qa
from rewardkit.rewards.choice import ChoiceOptions
from rewardkit.rewards.qa import QaOptions
from rewardkit.types import Sample

PAINTER = ("Who painted the fresco The Last Supper?", "Leonardo da Vinci")
YEAR = ("In what year did the Titanic sink?", "1912")
GOALS = ("How many goals did Mia Hamm score in the first half?", "4")
LAKE = ("What is the longest lake in the region in miles?", "118")
SAME = ("Are both bands from the same country?", "yes")
OTHER = ("Are both bands from the same country?", "no")
BORN = ("When was Marie Curie born?", "7 November 1867")
SHIP = ("Which ship did the crew leave in 1915?", "Endurance")
RIGHT = [
    (*PAINTER, "The Last Supper was painted by Leonardo da Vinci around 1495."), (*PAINTER, "It was painted by Leonardo da Vinci, the Italian polymath."),
    (*PAINTER, "Leonardo da Vinci (1452–1519)"), (*PAINTER, "Leonardo da Vinci (Italian artist)"), (*PAINTER, "Leonardo da Vinci (born in 1452)"),
    (*PAINTER, "Leonardo da Vinci painted The Last Supper (1498)."), (*PAINTER, "Leonardo da Vinci. He was born in Vinci in 1452."),
    (*PAINTER, "The Last Supper was painted by Leonardo da Vinci between 1495 and 1498."), (*PAINTER, "According to the search results, The Last Supper was painted by Leonardo da Vinci."),
    (*PAINTER, "Based on the documents provided, it was painted by Leonardo da Vinci."), (*PAINTER, "Not Michelangelo, not Raphael: Leonardo da Vinci."),
    (*PAINTER, "We can conclude that the fresco was painted by Leonardo da Vinci."), (*PAINTER, "Leonardo da Vinci, folks!"),
    (*YEAR, "April 15, 1912"), (*YEAR, "The Titanic sank on 15 April 1912."), (*YEAR, "It sank on April 15, 1912, during the White Star voyage."), (*YEAR, "1912年"), (*YEAR, "im Jahr 1912"),
    (*YEAR, "en 1912"), (*YEAR, "в 1912 году"), (*YEAR, "nineteen twelve"), (*YEAR, "It happened in 1912, when it hit an iceberg."),
    (*GOALS, "She scored 4 goals in the first half."), (*GOALS, "Mia Hamm scored a total of 4 goals."), (*GOALS, "So, 1 + 3 equals 4."), (*GOALS, "Hamm scored four."),
    (*LAKE, "The longest lake is 118 miles long."), (*SHIP, "The crew left the Endurance in 1915."), (*SHIP, "They left the ship Endurance."),
    (*SAME, "Yes, both are from Norway."), (*SAME, "Yes, they are from the same country."),
    (*OTHER, "No, they are not from the same country."), (*OTHER, "No, one is from Norway and the other from Chile."),
    (*BORN, "7. November 1867"), (*BORN, "7 novembre 1867"), (*BORN, "7 de noviembre de 1867"), (*BORN, "1867年11月7日"), (*BORN, "7 ноября 1867 года"), (*BORN, "07.11.1867"),
]  # fmt: skip
WRONG = [
    (*PAINTER, "Leonardo da Vinci (Michelangelo)"), (*PAINTER, "Leonardo da Vinci (or Raphael)"), (*PAINTER, "Leonardo da Vinci (not sure)"), (*PAINTER, "Leonardo da Vinci (maybe another artist)"),
    (*PAINTER, "Although Leonardo da Vinci is better known, the fresco was painted by Raphael."),
    (*PAINTER, "Leonardo da Vinci. It was created by Raphael instead."), (*PAINTER, "According to the search results, it was not painted by Leonardo da Vinci."),
    (*PAINTER, "Provided the text is right, it was painted by Leonardo da Vinci."), (*PAINTER, "Not Leonardo da Vinci, not Raphael: Michelangelo."), (*PAINTER, "Not certain: Leonardo da Vinci or Raphael."),
    (*PAINTER, "We cannot conclude that it was painted by Leonardo da Vinci."), (*PAINTER, "Leonardo da Vinci (a common misconception)"), (*PAINTER, "Leonardo da Vinci (widely believed)"), (*PAINTER, "Leonardo da Vinci (rejected)"),
    (*PAINTER, "Leonardo da Vinci (as some claim)"), (*PAINTER, "It is Leonardo da Vinci, a common mistake."),
    (*PAINTER, "Leonardo da Vinci. It is known that this is a mistake."), (*PAINTER, "Leonardo da Vinci. It is named after Raphael, who painted it."),
    (*PAINTER, "Leonardo da Vinci, as part of a guess."), (*SAME, "Yes, there is doubt about it."),
    (*YEAR, "April 15, 1912 or 1913"), (*YEAR, "not April 15, 1912"), (*YEAR, "before April 1912"),
    (*GOALS, "Hamm scored 3; Lilly scored 4."), (*GOALS, "1 + 4 equals 5."), (*GOALS, "She scored a total of 4 or 5 goals."), (*LAKE, "The shortest lake is 118 miles long."), (*LAKE, "The shortest was 118 miles."),
    (*SAME, "Yes, but only one is from Norway."), (*SAME, "Yes, they are not from the same country."), (*SAME, "Yes, or maybe no."), (*SAME, "No, they are not."), (*SAME, "Yes? They could be."),
    (*OTHER, "No, however they both come from Norway."), (*OTHER, "Yes, both are."), (*OTHER, "No, wait, yes."),
    (*BORN, "8. November 1867"), (*BORN, "7. Dezember 1867"), (*BORN, "07.12.1867"), (*BORN, "11/07/1868"), (*SHIP, "The crew left the Fram, and the Endurance sank later."),
]  # fmt: skip
CHOSEN = [
    "Between A and B, B is better.",
    "Although Paris is related, Lyon is what is asked for.",
    "Eliminating A and C leaves B.",
    "Ruling out A and C leaves us with option B.",
    "We can conclude that B is the answer.",
]
NOT_CHOSEN = [
    "Between A and B, A is better.",
    "Although Lyon is related, Paris is what is asked for.",
    "Eliminating A and B leaves C.",
    "Eliminating C leaves A or B.",
    "We can say B or C.",
    "Lyon is not what is asked for.",
    "Not correct: B",
]


@pytest.mark.parametrize(("question", "truth", "said"), RIGHT)
def test_what_a_sentence_says_beside_its_answer_leaves_it(question: str, truth: str, said: str) -> None:
    assert _answers(said, question, truth)


@pytest.mark.parametrize(("question", "truth", "said"), WRONG)
def test_what_may_be_another_answer_or_answers_otherwise_is_not_passed_over(
    question: str, truth: str, said: str
) -> None:
    assert not _answers(said, question, truth)


@pytest.mark.parametrize("said", CHOSEN)
def test_the_one_of_two_or_what_others_leave_is_chosen(said: str) -> None:
    assert _chooses(said)


@pytest.mark.parametrize("said", NOT_CHOSEN)
def test_the_other_of_two_and_what_is_left_beside_another_is_not_chosen(said: str) -> None:
    assert not _chooses(said)


def _answers(response: str, question: str, truth: str) -> bool:
    return qa.score(Sample("qa", response, f'["{truth}"]', question), QaOptions()).correct is True


def _chooses(response: str) -> bool:
    sample = Sample("choice", response, "B", None, {"choices": ["Paris", "Lyon", "Nice"]})
    return choice.score(sample, ChoiceOptions()).correct is True
