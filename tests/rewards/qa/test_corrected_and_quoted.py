"""Answers chosen of two that are named, quoted with the format asked for, corrected in a whole sentence, graded beside
them; names and tables written in other ways: right ones, and wrong ones of the same shape.
"""

from __future__ import annotations

import json

import pytest

from rewardkit.rewards import qa
from rewardkit.types import Sample

CAPITAL = "What is the capital of Australia?"
GUERNICA = "Who painted the mural 'Guernica'?"
CUP = "Which country won the 2018 FIFA World Cup?"
NOVEL = "Which novel opens with the line 'Call me Ishmael'?"
RATIO = "A class has 18 boys and 12 girls. What is the ratio of boys to girls in lowest terms?"
TRAIN = "A train travels at 60 km/h for 2.5 hours. How many kilometres does it cover?"
NIGER = "Niamey is the capital of which country?"
CEYLON = "Which country was formerly called Ceylon?"
CELSIUS = "At which temperature, in degrees, do the Celsius and Fahrenheit scales show the same number?"
CLAY = "What was Muhammad Ali's birth name?"
SAME = "Are Canberra and Perth both in Australia?"
NATIONS = "Are Ed Wood and Scott Derrickson both American?"
UNDER = "How many percent of the people were under the age of 18?"

FORMS: list[tuple[str, list[str], list[str], list[str]]] = [
    (CUP, ["France"], [
        "It's between France and Belgium. The wording settles it: France.", "It is either Croatia or France. The final decides it: France.",
        "I was torn between Belgium and France. The year decides: France.", "France or Croatia? The score tells us: France.",
    ], [
        "It's between France and Belgium. The wording settles it: Belgium.", "It's between Belgium and France. The year decides: Belgium.",
        "It is either Croatia or France. The final decides it: Croatia.", "I was torn between France and Croatia. One detail tips the balance: Croatia.",
        "France or Croatia? The score tells us: Croatia.", "The choice is between France and Croatia. My memory of the final resolves it: Croatia.",
        "Two are left, France and Belgium. The question's wording breaks the tie: Belgium.", "It came down to France and Croatia. The trophy went one way: Croatia.",
    ]),
    (CAPITAL, ["Canberra"], [
        'My reply should look like "The answer is ...". The answer is Canberra.', 'I was told to write "The answer is X", so: The answer is Canberra.',
        "Answer: Canberra. (I double-checked: it isn't Sydney.)", "Canberra. (I checked: it is not Sydney.)", "Answer: Canberra (I made sure that it isn't Sydney).",
        "The answer is Canberra. (I have verified it: it's not Melbourne.)",
        "| Question | Answer |\n|---|---|\n| What is the capital of Australia? | Canberra |",
        "| Question | Answer |\n|---|---|\n| What is the capital of Australia? | **Canberra** |",
        "| **Question** | **Answer** |\n| --- | --- |\n| What is the capital of Australia? | Canberra |",
        "| Question | Final answer |\n|:--|:--|\n| What is the capital of Australia? | *Canberra* |",
        "| Q | A |\n|---|---|\n| What is the capital of Australia? | Canberra |",
        "**Canberra**\n\nLet's make sure we answer exactly what is being asked.", "Let's make sure we answer exactly what is being asked.\n\nCanberra",
        "Canberra\n\nWe have to answer precisely what was asked.", "Short answer: Canberra.\n\nLong answer: Let's make sure we answer exactly what is being asked.",
        '{"reasoning": "Let\'s make sure we answer exactly what is being asked.", "final_answer": "Canberra"}',
        "I want to answer only what the question asks.\n\nAnswer: Canberra", "Canberra. I tried to answer just what you asked.",
        "Australia → Sydney → Canberra", "Canberra (confidence: 95%)", "Canberra (95% confident)", "Canberra\nScore: 10/10",
        "<details>\n<summary>Answer</summary>\n\nCanberra\n\n</details>", "<details>\n<summary><b>Final answer</b></summary>\nCanberra\n</details>",
        "The capital is Sydney. Sorry, scratch that: the capital is Canberra.",
    ], [
        'My reply should look like "The answer is Canberra", but I can\'t work out what belongs there.',
        'I was told to write "The answer is Canberra", but I do not know it.', "I am to reply in the form 'The answer is Canberra', but I can't tell.",
        'The reply has to be something such as "The answer is Canberra"; I cannot work it out.', 'The format is "Answer: Canberra", yet I have no idea what goes there.',
        'I should end with a line such as "The answer is Canberra", but I cannot determine the answer.',
        'I was asked to finish with "The answer is Canberra". Unfortunately, I could not work it out.',
        "Answer: Canberra. (I double-checked: it isn't.)", "Answer: Canberra. (I double-checked: it isn't Canberra.)", "Canberra. (I checked: it isn't right.)",
        "Answer: Canberra. (I double-checked: it isn't Canberra, it's Sydney.)", "Answer: Canberra. (I double-checked: it is Sydney.)",
        "| Question | Answer |\n|---|---|\n| What is the capital of Australia? | Sydney |", "| Question | Answer |\n|---|---|\n| Is it Canberra? | Sydney |",
        "| Question | Answer |\n|---|---|\n| What is the capital of Australia? | Canberra |\n| And really? | Sydney |",
        "| Question | Wrong answer |\n|---|---|\n| What is the capital of Australia? | Canberra |",
        "| Question | Answer |\n|---|---|\n| What is the capital of Australia? | not Canberra |",
        "| Question | Answer |\n|---|---|\n| What is the capital of Australia? | Canberra or Sydney |",
        "Sydney\n\nLet's make sure we answer exactly what is being asked.", "Canberra\n\nI cannot answer exactly what is being asked.",
        "Canberra\n\nThat does not answer exactly what is being asked. Sydney does.",
        "Canberra\nScore: 0/10, wrong", "Canberra\nGrade: 0/5", "Canberra\nScore: 0", "Canberra\nScore: 0 out of 10", "Canberra\nMark: 0/1 (incorrect)",
        "It was Canberra, a guess", "It was Canberra, a wild guess.", "It is Canberra, just a guess", "The capital is Canberra, a random guess.",
        "Canberra (not 5% confident)", "Canberra (not even 10% sure)", "Canberra (I'm not 20% certain)",
        "Canberra (per the distractor)", "Canberra (according to the distractor)", "Canberra (from the list of wrong answers)", "Canberra (as the decoy says)",
        "<details>\n<summary>Answer</summary>\n\nSydney\n\n</details>", "<details>\n<summary>Wrong answer</summary>\n\nCanberra\n\n</details>",
        "<details>\n<summary>A guess</summary>\n\nCanberra\n\n</details>",
        "<details>\n<summary>Answer</summary>\n\nCanberra\n\n</details>\n<details>\n<summary>Answer</summary>\n\nSydney\n\n</details>",
        "The capital of Australia is Canberra. Sorry, scratch that: the capital of Australia is Sydney.",
    ]),
    (GUERNICA, ["Pablo Picasso", "Picasso"], [
        "'Guernica' was painted by Joan Miró. Sorry, scratch that: 'Guernica' was painted by Pablo Picasso.",
        "Joan Miró painted 'Guernica'. Correction: 'Guernica' was painted by Picasso.",
    ], [
        "'Guernica' was painted by Pablo Picasso. Sorry, scratch that: 'Guernica' was painted by Joan Miró.",
        "'Guernica' was painted by Picasso. Scratch that: it was painted by Joan Miró.",
        "Pablo Picasso painted 'Guernica'. Wait, strike that: Joan Miró painted 'Guernica'.",
        "'Guernica' was painted by Picasso. No, sorry: 'Guernica' was painted by Dalí.",
        "'Guernica' was painted by Picasso. Correction: 'Guernica' was painted by Salvador Dalí.",
        "'Guernica' was painted by Picasso. I take that back: 'Guernica' was the work of Joan Miró.",
    ]),
    (NOVEL, ["Moby-Dick", "Moby-Dick; or, The Whale"], [
        "Moby–Dick", "Answer: Moby–Dick", "The answer is Moby—Dick.", "Moby‑Dick", '{"answer": "Moby–Dick"}', "Answer: Moby–Dick. (I double-checked: it isn't Emma.)",
        "The novel is Moby–Dick.", "It is Moby–Dick, not Emma.",
    ], ["Moby–Jane", "Answer: Moby", "Moby – no, Dick", '{"answer": "Moby–Jane"}']),
    (RATIO, ["3:2", "3 to 2"], ["3 : 2", "Answer: 3 : 2", '{"thought": "Not 3:5.", "final_answer": "3 : 2"}', "The ratio is 3 : 2.", "3∶2"],
     ["2 : 3", "3 : 5", "Answer: 3", '{"final_answer": "2 : 3"}']),
    (TRAIN, ["150", "150 km", "150 kilometres"], [
        "The answer is 150 (also accepted: 150 km).", "150 (accepted as well: 150 km)", "Answer: 150 km (150 is accepted, too)", "The answer is 150 km (also acceptable: 150 kilometres).",
        "150 km (also correct: 150)",
    ], [
        "The answer is 150 (also accepted: 160 km).", "150 (accepted as well: 125)", "The answer is 120 (also accepted: 150 km).", "150 (also acceptable: 150 miles)",
    ]),
    (NIGER, ["Niger", "Republic of Niger"], [
        "In conclusion, Niamey is the capital of Republic of Niger.", "Niamey is the capital of the Republic of Niger.", "So Niamey is the capital of Republic of Niger.",
    ], ["Niamey is the capital of Republic of Mali.", "In conclusion, Niamey is not the capital of Republic of Niger.", "Niamey is the capital of the Republic of Benin, not Niger."]),
    (CEYLON, ["Sri Lanka"], [
        "The country once called Ceylon is Sri Lanka.", "The country previously called Ceylon is Sri Lanka.", "The country that was once known as Ceylon is Sri Lanka.",
        "What was previously called Ceylon is Sri Lanka.", "The nation once called Ceylon is Sri Lanka.", "The country originally called Ceylon is Sri Lanka.",
    ], [
        "The country once called Ceylon is Malaysia.", "The country once called Sri Lanka is Ceylon.", "The country once called Burma is Sri Lanka.", "The country formerly called Burma is Sri Lanka.",
        "The country once believed to be Ceylon is Sri Lanka, but it is Burma.", "The country once called Ceylon is not Sri Lanka.",
    ]),
    (CELSIUS, ["-40", "minus 40", "-40 degrees"], [
        "My knowledge has a cutoff date, but this hasn't changed: the two scales meet at minus 40.", "I may be out of date, but this has not changed: the scales meet at -40.",
        "My training data ends at some point, but this never changes: the two scales meet at minus 40.", "The two scales meet at minus 40.",
    ], [
        "My knowledge has a cutoff date, but this hasn't changed: the two scales meet at minus 30.",
        "The two scales do not meet at minus 40.", "My knowledge has a cutoff date, and this may have changed: the two scales meet at minus 40.",
    ]),
    (CLAY, ["Cassius Clay", "Cassius Marcellus Clay Jr.", "Cassius Marcellus Clay"], [
        "Cassius Marcellus Clay, Jr.? Let me check. Yes, that is right: Cassius Marcellus Clay, Jr..", "Cassius Marcellus Clay Jr.? Let me check. Yes, that is right: Cassius Marcellus Clay Jr.",
        "Cassius Clay? Let me check. Yes, that is right: Cassius Clay.", "Cassius Marcellus Clay, Jr.",
    ], [
        "Cassius Marcellus Clay, Jr.? Let me check. No, that is wrong: Joe Louis.", "Joe Louis, Jr.? Let me check. Yes, that is right: Joe Louis, Jr..",
        "Cassius Marcellus Clay, Sr.? Let me check. Yes, that is right: Cassius Marcellus Clay, Sr..", "Cassius Clay? Let me check. Yes, that is right: Joe Louis.",
    ]),
    (SAME, ["yes"], ["Yes, both are in Australia.", "Yes, Perth is, and so is Canberra.", "Yes, Canberra and Perth are in Australia."], [
        "Yes, Perth is, Wellington is in New Zealand.", "Yes, Perth is, Canberra is in New Zealand.", "Yes, one is in Australia and the other is in Peru.", "Yes, Canberra is, while Perth is in New Zealand.",
        "Yes, the first is, the second is in Peru.", "Yes, the former is in Australia, the latter is in Peru.",
    ]),
    (NATIONS, ["yes"], ["Yes, they are both American.", "Yes, both were American.", "Yes, Ed Wood was American and Scott Derrickson is American."], [
        "Yes, one is American and the other is British.", "Yes, one of the two is American, the other is British.", "Yes, Ed Wood is American while Scott Derrickson is British.", "Yes, Ed Wood was American and Scott Derrickson is British.",
        "Yes, the first is American and the second is British.",
    ]),
    (UNDER, ["23.4", "23.4%"], ["23.4% were under the age of 18.", "23.4% were under 18"], ["23.4% were over 18", "23.4% were over the age of 18.", "23.4% of the people were above the age of 18."]),
    ("How many percent of the people were over the age of 65?", ["12.1", "12.1%"], ["12.1% were over 65."], ["12.1% were under 65.", "12.1% were below the age of 65."]),
]  # fmt: skip
"""A question, its accepted answers, responses that give one, and responses that do not."""
RIGHT = [(question, truth, said) for question, truth, right, _ in FORMS for said in right]
WRONG = [(question, truth, said) for question, truth, _, wrong in FORMS for said in wrong]


@pytest.mark.parametrize(("question", "truth", "said"), RIGHT)
def test_an_answer_in_another_form_or_put_right_is_one(question: str, truth: list[str], said: str) -> None:
    assert _answers(question, truth, said)


@pytest.mark.parametrize(("question", "truth", "said"), WRONG)
def test_an_answer_that_is_quoted_corrected_or_graded_wrong_is_none(
    question: str, truth: list[str], said: str
) -> None:
    assert not _answers(question, truth, said)


def _answers(question: str, truth: list[str], said: str) -> bool:
    return bool(qa.score(Sample("qa", said, json.dumps(truth), question), qa.QaOptions()).correct)
