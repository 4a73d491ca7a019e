"""What stands before an answer and leads to it: attempts and a vote among them, exclusions, claims that are put right,
tables of candidates; what breaks off behind it; right ones, and wrong ones of the same shape.
"""

from __future__ import annotations

import json

import pytest

from rewardkit.rewards import qa
from rewardkit.types import Sample

WAYS: list[tuple[str, list[str], list[str], list[str]]] = [
    ("What is 15% of 140?", ["21"], [
        "Attempt 1: 20\nAttempt 2: 21\nAttempt 3: 21\nMajority: 21", "Attempt 1: 21\nAttempt 2: 421\nAttempt 3: 21\nMajority: 21",
        "Attempt 1: 20. Attempt 2: 21. Attempt 3: 21. Majority: 21", "Sample 1: 21\nSample 2: 24\nSample 3: 21\nConsensus: 21",
        "Run 1: 21. Run 2: 21. Run 3: 12. Majority vote: 21.", "Path 1: 21\nPath 2: 24\nPath 3: 21\n\nThe most frequent answer is 21.",
        "Try 1: 21\nTry 2: 24\nTry 3: 21\n\nBy majority vote, the answer is 21.", "Attempt 1: 24\nAttempt 2: 21\nAttempt 3: 21\n**Majority vote:** 21",
        "Solution 1: 24\nSolution 2: 21\nSolution 3: 21\n\nMost common answer: 21", "1st attempt: 21\n2nd attempt: 24\n3rd attempt: 21\nMajority: 21",
        "Attempt #1 -> 21\nAttempt #2 -> 24\nAttempt #3 -> 21\nMajority -> 21", "- Attempt 1: 21\n- Attempt 2: 24\n- Attempt 3: 21\n- Consensus answer: 21",
        "Sample 1: 0.15 x 140 = 21\nSample 2: 14 + 7 = 21\nSample 3: 15 x 1.4 = 20\nMajority answer: 21",
    ], [
        "Attempt 1: 21\nAttempt 2: 24\nAttempt 3: 24\nMajority: 24", "Attempt 1: 21\nAttempt 2: 24\nNo majority.",
        "Attempt 1: 21\nAttempt 2: 24\nMajority: none", "Attempt 1: 21\nAttempt 2: 24\nMajority: tie", "Attempt 1: 20\nAttempt 2: 21\nAttempt 3: 21",
        "Attempt 1: 24\nAttempt 2: 24\nMajority: 24, not 21", "Attempt 1: 21\nAttempt 2: 21\nMajority: 21. But the majority is wrong: 24.",
        "Attempt 1: 21\nAttempt 2: 21\nMajority: 21\nFinal answer: 24", "Attempt 1: 21\nAttempt 2: 24\nMajority: 21 or 24",
        "The majority of people say 21.", "Most common wrong answer: 21",
        "Sample 1: 24. Sample 2: 21. Sample 3: 24. Majority vote: 24.", "Attempt 1: 21\nAttempt 2: 24\nAttempt 3: 24\n\nThe most frequent answer is 24.",
    ]),
    ("What is the capital of Australia?", ["Canberra"], [
        "It can't be Sydney. That leaves Canberra.", "It isn't Sydney, leaving only Canberra.", "Not Sydney, not Perth. That only leaves Canberra.",
        "Sydney is only the largest city. The only one left is Canberra.", "It can't be Sydney, and it can't be Melbourne. That leaves us with Canberra.",
        "We can rule out Sydney and Perth, so all that remains is Canberra.", "Sydney? No. Perth? No. That leaves just Canberra.",
        "Sydney is out, Melbourne is out. What is left is Canberra.", "It cannot be Perth. It cannot be Hobart. This leaves only Canberra.",
        "The claim \"The capital of Australia is Sydney\" is false. The truth is that it is Canberra.", "The truth is that it is Canberra.",
        "The fact of the matter is that the capital is Canberra.", "It is said to be Sydney. The fact of the matter is that it is Canberra.",
        "\"Sydney is the capital\" is a myth. The reality is that it is Canberra.", "The fact is that it's Canberra.",
        "I always tell my students to remember this one: the answer is Canberra.", "As I always tell my students, the capital is Canberra.",
        "I usually tell people that it is Canberra.", "Like I tell my pupils every year, it's Canberra.", "As I tell my kids: Canberra.",
        "Canberra\n\nQ: What is the name of the", "The capital of Australia is Canberra.\n\nQuestion 2: Which", "Canberra.\n\n2. What is the capital of",
        "The answer is **Canberra**. Here is some additional background:\n\n- The first", "Answer: Canberra\n\nWhat is the capital of New",
        "The capital of Australia is Canberra. Some facts about it:\n\n1. It lies inland.\n2. It has a", "Canberra\n\n### Next question\nWhich",
        "The answer is Canberra. Related facts:\n* It lies on\n*",
        "| City | Capital? |\n|---|---|\n| Sydney | ❌ |\n| Canberra | ✅ |\n| Perth | ❌ |", "| City | Check |\n|---|---|\n| Sydney | ✗ |\n| Canberra | ✓ |",
        "| City | Is it the capital? |\n|---|---|\n| Sydney | no |\n| Canberra | yes |\n| Perth | no |",
    ], [
        "It can't be Canberra. That leaves Sydney.", "It isn't Sydney, leaving Canberra or Perth.", "That leaves Canberra and Perth.",
        "The train leaves Canberra.", "Leaving Canberra aside, it is Sydney.", "It can't be Sydney. That would leave Canberra, but that is wrong, too.",
        "It can't be Sydney. That leaves Canberra and Perth, and I can't tell them apart.", "It can't be Sydney. That leaves Canberra to be looked at.",
        "The only one left is Sydney; Canberra is out.", "The truth is that nobody knows whether it is Canberra.", "The truth is that it is not Canberra.",
        "The claim \"The capital of Australia is Canberra\" is false. The truth is that it is Sydney.", "The fact of the matter is that it isn't Canberra.",
        "The truth is that I don't know. Canberra?", "I always tell my students not to write Canberra.", "My students always tell me that it is Canberra.",
        "I always tell my students that it is not Canberra.", "I used to tell my students that it is Canberra.", "She always tells her students that it is Canberra.",
        "I always tell my students a lie: Canberra.", "My teacher always tells his students that it is Canberra.", "Some tell their students that it is Canberra.",
        "Sydney\n\nQ: Is it Canberra? A: Canberra", "Sydney.\n\n2. What is the capital of the ACT? Canberra", "Canberra or Sydney?\n\nQ: What is",
        "The answer is **Sydney**. Here is some background:\n\n- Canberra",
        "| City | Capital? |\n|---|---|\n| Sydney | ✅ |\n| Canberra | ❌ |\n| Perth | ❌ |", "| City | Capital? |\n|---|---|\n| Sydney | ✅ |\n| Canberra | ✅ |",
        "| City | Capital? |\n|---|---|\n| Sydney | ❌ |\n| Canberra | ❌ |", "| City | Is it the largest? |\n|---|---|\n| Sydney | yes |\n| Canberra | no |",
        "| City | Capital? |\n|---|---|\n| Sydney | ? |\n| Canberra | ? |",
        "| City | Wrong? |\n|---|---|\n| Sydney | no |\n| Canberra | yes |", "| City | Eliminated |\n|---|---|\n| Sydney | ✗ |\n| Canberra | ✓ |",
    ]),
    ("Which mountain range separates France and Spain?", ["Pyrenees", "the Pyrenees"], [
        "The range between France and Spain is the Pyrenees.", "Short answer: the Pyrenees\nLong answer: The range between the two countries is the Pyrenees.",
        "The border between France and Spain is marked by the Pyrenees.", "The mountains between France and Spain are called the Pyrenees. They also",
    ], [
        "It is between the Pyrenees and the Alps.", "I am torn between the Pyrenees and the Alps.", "The range between France and the Pyrenees is the Alps.",
        "The range between France and Spain is not the Pyrenees.", "The Pyrenees? It is between that and the Alps.", "Between the Pyrenees and Spain is France.",
        "The other range between France and Italy is the Pyrenees.",
    ]),
    ("In Greek mythology, who is the king of the gods?", ["Zeus"], [
        "In Greek myth the king of the gods is Zeus.", "The king of the gods is Hades. No, that's wrong: The king of the gods is Zeus.",
        "According to what I have learned, the king is Zeus. (Source: my training data)", "According to document 2, it is Zeus.",
        "According to the passage, Zeus is the king of the gods.", "Based on the provided context, it is Zeus.", "From what I know, it's Zeus.",
        "I get Zeus. Double-checking... yes, Zeus.", "After going through the myths, I arrive at Zeus.", "Answer: __Zeus__",
    ], [
        "It is a myth that the king of the gods is Zeus.", "In Greek myth the king of the gods is Hades, not Zeus.", "According to my brother, it is Zeus.",
        "According to document 2, it is Zeus; according to document 3, it is Hades.", "The king of the gods is Zeus. No, that's wrong: The king of the gods is Hades.",
        "If the provided context is right, it is Zeus.", "It is Zeus provided that Cronus is out.", "I get Zeus. Double-checking... no, Hades.",
        "After going through the myths, I doubt that it is Zeus.", "The god of the sea is often said to be Zeus, but wrongly.",
    ]),
    ("What is the name of Sherlock Holmes's companion?", ["Dr. Watson", "Watson", "John H. Watson"], [
        "Answer: __Dr. Watson__", "The answer is Dr. Watson.", "Answer: **Dr. Watson** (some write it as John H. Watson)", "Watson (also known as Dr. Watson)",
        "<answer>The companion is Dr. Watson.</answer>",
    ], ["Answer: __Dr. Moriarty__", "Answer: Dr. Watson (some write it as Dr. Moriarty)", "Dr. Watson (or Dr. Moriarty)", "Answer: Dr"]),
    ("What is the capital of Canada?", ["Ottawa", "Ottawa, Ontario"], ["<answer>The capital of Canada is Ottawa, Ontario.</answer>", "\\boxed{\\text{The capital is Ottawa, Ontario}}"],
     ["<answer>The capital of Canada is Ottawa, Toronto.</answer>", "<answer>The capital is Toronto, Ontario.</answer>"]),
    ("What is the second most common gas in the atmosphere?", ["oxygen", "O2"], ["O₂", "O₂\nO₂", "It is O₂."], ["O₃", "O", "N₂"]),
    ("How many litres does the car use for 350 km?", ["21"], [
        "| Candidate | Verdict |\n|---|---|\n| 18 litres | ❌ |\n| 21 litres | ✅ |\n| 24 litres | ❌ |", "| Value | OK? |\n|---|---|\n| 21 L | ✓ |\n| 18 L | ✗ |",
        "$\\text{Answer: } \\textbf{21.0}$", "$\\textbf{Answer: } 21$", "$\\text{Answer: 21}$", "$$\\text{Final Answer: } \\mathbf{21}$$",
        "\\[\\text{Answer: } \\boxed{21}\\]", "$\\text{Answer} = \\textbf{21}$", "$\\mathrm{Answer:}\\ 21\\ \\text{litres}$", "The car uses 21.",
        "It uses 21.", "For 350 km, the car uses 21.",
    ], [
        "| Candidate | Verdict |\n|---|---|\n| 18 litres | ✅ |\n| 21 litres | ❌ |", "| Candidate | Verdict |\n|---|---|\n| 21 mL | ✅ |\n| 18 litres | ❌ |",
        "$\\text{Answer: } \\textbf{21.5}$", "$\\text{Not the answer: } \\textbf{21}$", "$\\text{Wrong answer: } \\textbf{21}$", "$\\text{Answer: } \\textbf{21 or 24}$",
        "The car needs 21 for 400 km.", "The car uses more than 21.", "The car does not use 21.",
    ]),
    ("Six players are needed for each of two teams, and seven have come. How many more players does the group need?", ["5"], [
        "The group needs 5.", "The group needs 5 more.", "So the group needs 5 players.", "The group still needs 5.", "They need 5 more players.",
    ], [
        "The group needs 6, not 5.", "The group needs more than 5.", "The group needs 5 or 6.", "The other group needs 5.",
        "The group does not need 5.", "The group lacks 5 of the 12 it needs, no, 6.",
    ]),
    ("Which moon of Saturn has a thick atmosphere?", ["Titan"], ["Titan, a moon of the planet Saturn", "Titan, a moon of the planet Saturn."],
     ["Saturn, the planet of Titan", "Rhea, a moon like Titan"]),
    ("Which planet has the moon Titan?", ["Saturn"], ["Saturn", "the planet Saturn", "It is the planet Saturn."],
     ["Titan, a moon of the planet Saturn", "Titan, a moon of Saturn"]),
    ("Which city is the seat of the government of the state of New York?", ["Albany"], ["Albany, capital of the state of New York", "Albany, the capital of New York"],
     ["New York, the state of Albany"]),
    ("Albany is the capital of which US state?", ["New York", "New York State"], ["the state of New York"],
     ["Albany, capital of the state of New York", "Albany, the capital of New York"]),
]  # fmt: skip
"""A question, its accepted answers, responses that give one, and responses that do not."""
RIGHT = [(question, truth, said) for question, truth, right, _ in WAYS for said in right]
WRONG = [(question, truth, said) for question, truth, _, wrong in WAYS for said in wrong]


@pytest.mark.parametrize(("question", "truth", "said"), RIGHT)
def test_an_answer_that_something_leads_to_is_one(question: str, truth: list[str], said: str) -> None:
    assert _answers(question, truth, said)


@pytest.mark.parametrize(("question", "truth", "said"), WRONG)
def test_what_leads_elsewhere_or_nowhere_is_none(question: str, truth: list[str], said: str) -> None:
    assert not _answers(question, truth, said)


def _answers(question: str, truth: list[str], said: str) -> bool | None:
    return qa.score(Sample("qa", said, json.dumps(truth), question), qa.QaOptions()).correct


@pytest.mark.parametrize(
    "response",
    ["10/3 = 3.33", "We share it: 10 / 3 = 3.33", "Putting the numbers in, we obtain 3.33.", "3.33 = 3.33"],
)
def test_a_sum_that_gives_the_answer_leads_to_it(response: str) -> None:
    assert qa.score(Sample("qa", response, '["3.33"]'), qa.QaOptions()).correct


@pytest.mark.parametrize(
    "response",
    [
        "10/4 = 3.33",
        "-3.33 = 3.33",
        "5 = 3.33",
        "3.33 = 5",
        "10/0 = 3.33",
        "9" * 150 + " = 3.33",
        "10 - (3 = 3.33",
    ],
)
def test_a_sum_that_gives_something_else_leads_to_no_answer(response: str) -> None:
    assert not qa.score(Sample("qa", response, '["3.33"]'), qa.QaOptions()).correct
