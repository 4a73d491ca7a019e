"""Sentences that answer with the words of a related verb or noun, with the source of the answer, with its unit or
its noun, or in another language; and what says so of something else, or only nearly."""

from __future__ import annotations

import json

import pytest

from rewardkit.rewards import choice, qa
from rewardkit.rewards.choice import ChoiceOptions
from rewardkit.rewards.qa import QaOptions
from rewardkit.types import Sample

Question = tuple[str, list[str]]
MATCH: Question = (
    "How many minutes does a football match last without extra time?",
    ["90", "ninety", "90 minutes"],
)
HOLIDAY: Question = ("In which month is Thanksgiving celebrated in the United States?", ["November", "Nov"])
OCEAN: Question = (
    "Which ocean lies between Africa and Australia?",
    ["Indian Ocean", "the Indian Ocean", "Indian"],
)
HEART: Question = ("How many chambers does the human heart have?", ["4", "four"])
SPEED: Question = ("A car travels 150 km in 3 hours. What is its average speed in km/h?", ["50", "50 km/h"])
BAND: Question = ('Which band recorded the album "The Wall"?', ["Pink Floyd"])
AUTHOR: Question = ('Who wrote "The Old Man and the Sea"?', ["Ernest Hemingway", "Hemingway"])
CAPITAL: Question = ("What is the capital of Australia?", ["Canberra"])
COUNT: Question = ("How many students are in the class?", ["42"])
BORN: Question = ("Where was Albert Einstein born?", ["Ulm", "Ulm, Germany"])
TOWER: Question = ("How tall is the Eiffel Tower in metres?", ["330", "330 m"])
MONEY: Question = ("What is the currency of Japan?", ["yen", "Japanese yen"])
SYMBOL: Question = ("Which element has the chemical symbol Au?", ["Gold", "gold"])
BOILS: Question = ("At what temperature does water boil in degrees Celsius?", ["100", "100 °C"])
FILM: Question = ("Who directed the film Jaws?", ["Steven Spielberg", "Spielberg"])
CUP: Question = ("Which country won the 2014 FIFA World Cup?", ["Germany"])
GIFT: Question = ("Which country gifted the Statue of Liberty to the United States?", ["France"])
BOILING: Question = ("What is the boiling point of ethanol in degrees Celsius?", ["78", "78 °C"])
RIVER: Question = ("What is the longest river in South America?", ["Amazon", "the Amazon"])
RIGHT = [
    (FILM, "Spielberg directed it when he was 27."), (FILM, "The film was made by director Steven Spielberg."), (CUP, "Germany won it in the final."), (GIFT, "France gave it to the United States."),
    (RIVER, "The Amazon, which rises in Peru, is the longest river in South America."), (MONEY, "In Japan, people pay with the yen."), (BOILING, "Ethanol has a boiling point of 78 °C."), (HEART, "There are 4 of them."),
    (CAPITAL, "Die Hauptstadt Australiens ist Canberra."), (CAPITAL, "Canberra (in Australia)"), (AUTHOR, "The author of the novella, a classic, is Ernest Hemingway."),
    (MATCH, "Let me think about what I know about this topic. The duration without extra time is 90."), (MATCH, "The length of a match is 90 minutes."),
    (MATCH, "A match runs for 90 minutes, split into two halves."), (HOLIDAY, "In the United States, Thanksgiving falls in November."), (HOLIDAY, "It falls in November, while in Canada it falls in October."),
    (HOLIDAY, "Thanksgiving is always in November, on its fourth Thursday."), (OCEAN, "between Africa and Australia lies Indian."), (OCEAN, "The Indian Ocean stretches between Africa and Australia."),
    (HEART, "<answer>\nfour chambers\n</answer>"), (HEART, "\\boxed{\\text{four chambers}}"), (HEART, "A human heart contains 4 chambers."), (HEART, "It is made up of four chambers: two atria and two ventricles."),
    (SPEED, "정답은 50 kilometers per hour입니다"), (SPEED, "50 kilometers per hour"), (SPEED, "50 км/ч"), (SPEED, "50公里/小时"), (SPEED, "<answer>50 kph</answer>"),
    (TOWER, "330 metros"), (TOWER, "330 м"), (TOWER, "The tower has a height of 330 m."), (TOWER, "It reaches a height of 330 metres."), (BOILS, "100 Grad Celsius"), (BOILS, "It boils at 100 °C at sea level."),
    (BAND, "\\boxed{\\text{the band Pink Floyd}}"), (BAND, "<answer>Pink Floyd (band)</answer>"), (AUTHOR, "Hemingway (from memory, not verified)"), (AUTHOR, "Ernest Hemingway (off the top of my head)"),
    (AUTHOR, "Ernest Hemingway (I did not look this up)"), (AUTHOR, "Ernest Hemingway (no source needed, this is common knowledge)"), (AUTHOR, '"The Old Man and the Sea" is a short novel by Ernest Hemingway, published in 1952.'),
    (CAPITAL, "是Canberra。"), (CAPITAL, "Cevap Canberra."), (CAPITAL, "C'est la ville de Canberra."), (CAPITAL, "Canberra, natürlich."), (CAPITAL, "Australia's seat of government is Canberra."),
    (COUNT, "Es sind 42 Stück"), (COUNT, "Ce sont 42 élèves."), (COUNT, "Son 42 estudiantes."), (BORN, "Er wurde in Ulm geboren."), (BORN, "Il est né à Ulm."), (BORN, "Nació en Ulm."), (BORN, "Он родился в Ulm."),
    (BORN, "Einstein was born in the city of Ulm."), (MONEY, "Japan uses the yen."), (SYMBOL, "Au represents gold."), (SYMBOL, 'Gold, from Latin "aurum".'),
]  # fmt: skip
WRONG = [
    (FILM, "Spielberg watched it when he was 27."), (FILM, "The film was written by director Spielberg; Lucas directed it."), (FILM, "Spielberg did not direct it when he was 27."), (FILM, "The actor admired Spielberg."),
    (CUP, "Germany, beaten in the final by Argentina."), (CUP, "Germany, defeating Brazil, reached the final, which Argentina won."), (GIFT, "The Statue of Liberty was a gift to France."), (GIFT, "It was given to France."),
    (MONEY, "People in Korea use the yen."), (MONEY, "People use the yen in China."), (MATCH, "The duration with extra time is 90."), (OCEAN, "The Indian Ocean lies between Africa and America."), (BOILING, "Ethanol melts at 78 °C."),
    (BORN, "He was born outside the city of Ulm."), (BORN, "The mayor of the city of Ulm."), (AUTHOR, "Hemingway (from memory, but I may be wrong)"), (AUTHOR, "Hemingway (not checked, and probably wrong)"),
    (MATCH, "The duration without extra time is not 90."), (MATCH, "It lasts less than 90 minutes."), (HOLIDAY, "In Canada, Thanksgiving falls in November."), (HOLIDAY, "In the United States, Halloween falls in November."),
    (HOLIDAY, "Thanksgiving falls after November."), (HOLIDAY, "It falls in the month before November."), (OCEAN, "Between the Indian Ocean and Australia lies the Pacific."),
    (OCEAN, "Between Africa and the Indian Ocean lies Madagascar."), (HEART, "<answer>four valves</answer>"), (HEART, "<answer>four more chambers</answer>"), (HEART, "<answer>twenty-four chambers</answer>"),
    (HEART, "<answer>almost four chambers</answer>"), (SPEED, "50 miles per hour"), (SPEED, "50 м/с"), (SPEED, "50 km"), (SPEED, "50 Meilen pro Stunde"), (SPEED, "<answer>50 hours per kilometer</answer>"),
    (TOWER, "330 Fuß"), (TOWER, "330 футов"), (BOILS, "100 Grad Fahrenheit"), (BOILS, "Alcohol boils at 100 °C."), (BAND, "<answer>the band before Pink Floyd</answer>"),
    (AUTHOR, "Hemingway (from memory, may be wrong)"), (AUTHOR, "Hemingway (from memory, could also be Steinbeck)"), (AUTHOR, "Hemingway (a guess)"), (AUTHOR, "Hemingway (not true)"), (AUTHOR, "Hemingway (I don't know)"),
    (AUTHOR, "Hemingway (not verified, probably Steinbeck)"), (AUTHOR, "Hemingway (not sure)"), (AUTHOR, "The author was inspired by Hemingway."), (AUTHOR, "It was penned by Hemingway's friend."),
    (CAPITAL, "是Canberra吗？"), (CAPITAL, "Cevap Canberra değil."), (CAPITAL, "Ce n'est pas Canberra."), (CAPITAL, "C'est près de Canberra."), (CAPITAL, "Das ist Canberra oder Sydney."),
    (CAPITAL, '"The capital is Canberra" is false.'), (COUNT, "Es sind nicht 42."), (COUNT, "Es sind 42 weniger."), (COUNT, "Son 42 o 43."), (BORN, "Er starb in Ulm."), (BORN, "Er wurde nicht in Ulm geboren."), (BORN, "Il est mort à Ulm."),
    (BORN, "His father was born in Ulm."), (BORN, "He was raised in Ulm."), (BORN, "He was born in Princeton, and his sister in Ulm."), (MONEY, "Korea uses the yen."), (SYMBOL, "Ag stands for gold."),
]  # fmt: skip
HEDGED = ["I believe the answer is B, although I'm not 100% sure.", "The answer is B, but I am not sure.", "My answer: B, though I'm not completely certain."]  # fmt: skip
DOUBTED = ["The answer is B, but I am not sure whether it is C.", "The answer is B, although it may be C.", "The answer is not B, though I am not sure."]  # fmt: skip


@pytest.mark.parametrize(("question", "said"), RIGHT)
def test_an_answer_in_related_words_is_paid(question: Question, said: str) -> None:
    assert _answers(said, question)


@pytest.mark.parametrize(("question", "said"), WRONG)
def test_what_is_said_of_something_else_or_left_open_is_not_paid(question: Question, said: str) -> None:
    assert not _answers(said, question)


@pytest.mark.parametrize("said", HEDGED)
def test_a_choice_of_which_one_is_not_quite_sure_is_one(said: str) -> None:
    assert _chooses(said)


@pytest.mark.parametrize("said", DOUBTED)
def test_a_choice_beside_which_another_is_possible_is_none(said: str) -> None:
    assert not _chooses(said)


def _answers(response: str, question: Question) -> bool:
    asked, truths = question
    return qa.score(Sample("qa", response, json.dumps(truths), asked), QaOptions()).correct is True


def _chooses(response: str) -> bool:
    sample = Sample("choice", response, "B", None, {"choices": ["Paris", "Lyon", "Nice"]})
    return choice.score(sample, ChoiceOptions()).correct is True
