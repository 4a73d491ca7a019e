"""Shapes in which a response puts its choice: under a fold, in quotes, five times, by votes; each beside shapes
that look alike and choose none."""

from __future__ import annotations

import pytest

from rewardkit.rewards.choice import ChoiceOptions, score
from rewardkit.types import Sample

CAPITALS = {"choices": ["Paris", "Lyon", "Nice", "Lille"]}


def paid(response: str) -> bool:
    return bool(score(Sample("choice", response, "B", None, CAPITALS), ChoiceOptions()).correct)


FOLDED = [
    "<details><summary>Answer</summary>\n\nB. Lyon\n\n</details>",
    "It lies on the Rhône.\n\n<details>\n<summary>Final answer</summary>\nB\n</details>",
    "<details><summary><b>Solution</b></summary>\n\nIt lies on the Rhône, so the answer is B.\n\n</details>",
    "<details open>\n<summary>Click to see the answer</summary>\n\n**B**\n</details>",
    "<details><summary>Show solution</summary>Lyon lies on the Rhône. B is correct.</details>",
    "<details><summary>Hint</summary>Not C.</details>\n<details><summary>Answer:</summary>(B)</details>",
    "<details>\n<summary>✅ Answer key</summary>\n\n**B**\n\n</details>",
    "<details><summary>Reasoning</summary>\nMaybe C.\n</details>\n\n<details><summary>Answer</summary>B) Lyon</details>",
]
NOT_FOLDED = [
    "<details><summary>Wrong answer</summary>\n\nB. Lyon\n\n</details>",
    "<details><summary>Common answer of students</summary>\n\nB\n\n</details>",
    "<details><summary>Notes</summary>\n\nB. Lyon\n\n</details>",
    "<details><summary>Answer</summary>\n\nB or C\n\n</details>",
    "<details><summary>Answer</summary>\n\nC. Nice\n\n</details>",
    "The answer is C.\n\n<details><summary>Answer</summary>\n\nB. Lyon\n\n</details>",
    "<details><summary>Answer</summary>B</details><details><summary>Answer</summary>C</details>",
    "<details><summary>Answer</summary>\n\nB. Lyon\n\n</details>\n\nThat was wrong.",
    "<think><details><summary>Answer</summary>\n\nB\n\n</details></think>",
    "<details><summary>Answer</summary>\n\n<details><summary>Old</summary>B</details></details>",
    "<div hidden><details><summary>Answer</summary>\n\nB\n\n</details></div>",
]
CONFIDENT = [
    "I can say with confidence that B is correct.",
    "Having lived there, I can state with full confidence that B is right.",
    "I can tell you with certainty that Lyon is the correct answer.",
    "We can affirm with complete certainty that option B is correct.",
    "As a geographer, I am able to say with absolute confidence that the answer is B.",
    "I can confidently say that B is correct.",
]
NOT_CONFIDENT = [
    "I cannot say with confidence that B is correct.",
    "I can't state with certainty that B is right.",
    "If I had a map, I could say with confidence that B is correct.",
    "I can say with confidence that B is incorrect.",
    "I can say with confidence that B is not correct.",
    "I can say with confidence that either B or C is correct.",
    "I wish I could tell you with certainty that B is correct.",
    "Can I say with confidence that B is correct?",
    "Nobody can say with certainty that B is right.",
    "A liar can say with confidence that B is correct.",
    "I can say with confidence that B is correct only if A is.",
    "I can say with little confidence that B is correct.",
]
EXCLUDED_IN_BRACKETS = [
    "By process of elimination (A and C can't be right, among others), we're left with B.",
    "By elimination (C and D cannot be correct), it must be B.",
    "Going through the list (A, C and D are out), I am left with B.",
    "By exclusion (neither A nor D can be right), B remains.",
    "After ruling out the rest (A is wrong, for instance), we are left with B.",
]
NOT_LEFT = [
    "By process of elimination (B and C can't be right, among others), we're left with A.",
    "By elimination (A and B cannot be correct), it must be C.",
    "Going through the list (B is out), I am left with A or C.",
    "By process of elimination (B can't be right, among others), we're left with nothing.",
    "By exclusion (neither A nor B can be right), D remains.",
    "By process of elimination (A and C can't be right), we're left with B or D.",
]
QUOTED = [
    'In conclusion, the option that answers the question is "Lyon", so I choose B.',
    'The correct option is "Lyon", so my answer is B.',
    "The right choice is “Lyon”, so I pick (B).",
    "The option that fits is 'Lyon', so the answer is B.",
    "The correct answer is Lyon, so I select option B.",
    "The correct answer is **Lyon**, therefore **BBBBB**.",
]
NOT_QUOTED = [
    'The option that answers the question is "Nice", so I choose B.',
    'The option that answers the question is "Lyon", so I choose C.',
    'The option that answers the question is "Lyon", so I would choose B if I could.',
    'The option that answers the question is "Lyon", so I do not choose B.',
    'The option that answers the question is not "Lyon", so I choose C.',
]
FIVE_TIMES = [
    "The correct option is Lyon, so my answer is **BBBBB**.",
    "It lies on the Rhône. BBBBB",
    "It lies on the Rhône.\n\nBBBBB",
    "BBBBB", "**BBBBB**", "The answer is BBBBB.",
]  # fmt: skip
NOT_FIVE_TIMES = [
    "The correct option is Lyon, so my answer is **BBBB**.",
    "BBBBBB", "BBBB", "BB", "AAAAA", "BBBBB or CCCCC", "AAAAA BBBBB", "Not BBBBB.",
    "My answer is not BBBBB.", "The correct option is Nice, so my answer is **BBBBB**.",
    "The rating of such a bond is not even BBBBB", "BBBBB?", "The tail of the strand ends in BBBBB.", "If I knew, I would write BBBBB.",
]  # fmt: skip
FORMAT_QUOTED = [
    'I am supposed to end with a line such as "The answer is (B)", but I cannot determine the answer.',
    'My reply should look like "The answer is B", but I do not know which letter belongs there.',
    'The expected format is "The answer is (B)".',
    "I am to reply in the form 'The answer is (B)', but I cannot tell which letter belongs there.",
    "I was told to write “The answer is B” at the end.",
    'The answer has to be in the form "Answer: B", and I have none.',
    'I should end with something like "B is correct", yet nothing fits.',
    'I was asked to close with the sentence "The correct option is B". I refuse.',
]
FORMAT_KEPT = [
    'I am supposed to end with a line such as "The answer is (C)", and so: The answer is (B).',
    'My reply should look like "The answer is X". The answer is B.',
    'The expected format is "The answer is (A)". I choose B.',
    'The answer is "B".', 'My final answer is "Lyon".',
]  # fmt: skip
EXPLAINED = [
    "It has to be B: only Lyon lies on the Rhône.", "On reflection, it has to be B: it lies where two rivers meet.",
    "So it is B: the second city of the country.", "That must be (B): Lyon lies on the Rhône.",
    "Not the answer:\n- A\n- C\n\nSo it is B.", "It can't be:\n- A\n- C\n\nIt must be:\n- B", "It is not hard:\nB",
]  # fmt: skip
NOT_EXPLAINED = [
    "It has to be B: wrong.", "It is B: false, of course.", "That is B: a trap.", "It is B: no, C.", "It is B: or is it?",
    "He says it is B: it lies on the Rhône.", "It is B: just kidding.", "It has to be C: only Nice lies by the sea.",
    "I'd take the one directly after (B) on the list.", "I choose the option just before B.", "The one next to B is right.",
    "Option A says Paris. Option B says Lyon. We now have to compare them.", 'B says "Lyon", while C says "Nice".',
    "As alternativas B e A estão corretas.", "Here's a hint: look at options B and A more closely. Can you work it out?",
    "Option B and option A each have their merits. Which one is better depends on the context.",
    "Votes over my samples: B 3, C 3, A 2. There is no winner.", "Samples: B 3, C 3 - a tie.",
    "Let's analyze the options one by one.\n\nB) Lyon: This option", "Let's look at each option.\n\nB. Lyon - this city is",
    "The answer is not:\nB", "The answer isn't:\n\n**B**", "It cannot be:\n- A\n- B", "Wrong answers:\n* B", "The correct answer is not:\n> B",
]  # fmt: skip
"""What stands behind a colon; what stands below a line that says it is wrong."""
OF_OTHERS = [
    "Voters chose B 2 times and C 3 times.", "Voters chose B 2 times and C 3 times",
    "The models picked B three times and A twice.", "They selected B 4 times out of 10.",
    "The answer was B until yesterday.", "The answer was B until yesterday", "The correct answer was B till 1990.",
    "According to a fool, the answer is B.",
]  # fmt: skip
LOOKED_AT = [
    "Here's a hint: look at options B and C more closely. Can you work out which one it is?",
    "Here's a tip: study B and C again.", "So far I have looked at (B) and (C) without a decision.",
    "So far I have compared B and C side by side.", "Up to now I have weighed B and C separately.",
]  # fmt: skip
OF_OTHERS_AND_OWN = [
    "Not A, B without a doubt.",
    "A is wrong and B clearly fits.",
    "It cannot be A, and B again proves best.",
    "Voters chose B 2 times and C 3 times. Still, the answer is B.",
    "The models picked B three times and A twice, so the answer is B.",
    "The answer was C until 1990. Today the answer is B.",
    "The answer was C until 1990, but now it is B.",
]


@pytest.mark.parametrize(
    "response",
    [
        *FOLDED, *CONFIDENT, *EXCLUDED_IN_BRACKETS, *QUOTED, *FIVE_TIMES, *FORMAT_KEPT, *OF_OTHERS_AND_OWN, *EXPLAINED
    ],
)  # fmt: skip
def test_the_choice_is_read(response: str) -> None:
    assert paid(response)


@pytest.mark.parametrize(
    "response",
    [
        *NOT_FOLDED, *NOT_CONFIDENT, *NOT_LEFT, *NOT_QUOTED, *NOT_FIVE_TIMES, *FORMAT_QUOTED, *OF_OTHERS, *LOOKED_AT, *NOT_EXPLAINED
    ],
)  # fmt: skip
def test_what_looks_alike_is_none(response: str) -> None:
    assert not paid(response)
