"""Forms in which short answers come: sections of a reply, environments of LaTeX, corrections, guesses that are marked,
equations; right ones, and wrong ones of the same shape.
"""

from __future__ import annotations

import json

import pytest

from rewardkit.rewards import choice, qa
from rewardkit.types import Sample

FORMS: list[tuple[str, list[str], list[str], list[str]]] = [
    ('What is the capital of Australia?', ["Canberra"], [
        '<|begin_of_thought|>hm<|end_of_thought|>\n<|begin_of_solution|>The capital of Australia is Canberra.<|end_of_solution|>',
        '<|begin_of_solution|>Canberra<|end_of_solution|>',
        '<|begin_of_solution|>\nThe capital of Australia is Canberra, a planned city.\n\n\\boxed{Canberra}\n<|end_of_solution|>',
        '<solution>The capital of Australia is Canberra.</solution>', '<solution>Canberra</solution>',
        '<response>The capital of Australia is Canberra.</response>', '<output>The capital of Australia is Canberra.</output>',
        '<final>The capital of Australia is Canberra.</final>', '<final>Canberra</final>', '<result>Canberra</result>',
        '<conclusion>The capital of Australia is Canberra.</conclusion>', 'Let me think about this.\n<solution>Canberra</solution>',
        'I looked at the cities one by one.\n<response>\nCanberra\n</response>', 'I looked at the cities one by one.\n<output>Canberra</output>',
        '<summary>easy question</summary>\n<conclusion>Canberra</conclusion>', 'Answer: Sydney\nOops, correction: Canberra',
        'Answer: Sydney\nCorrection: Canberra', 'Answer: Sydney\nSorry, that should be Canberra.', 'Answer: Sydney\nWait, no: Canberra',
        'Answer: Sydney. Oops, I meant Canberra.', 'Answer: Sydney\nScratch that. Canberra.',
        "The answer is Sydney.\nSorry, correction: it's Canberra.", 'Answer: Sydney\n\nEDIT: Canberra',
        'Answer: Sydney\nCorrection: the answer is Canberra.', '<answer>Sydney</answer>\nOops, <answer>Canberra</answer>',
        '\\boxed{Sydney}\nCorrection: \\boxed{Canberra}', 'Answer: Sydney (typo)\nCorrected: Canberra',
        'The answer is <|begin_of_box|>Canberra<|end_of_box|>.', '<|begin_of_box|>Canberra', '<|begin_of_box|>\nCanberra\n<|end_of_box|>',
        '<think>hm</think>It is a planned city, so: <|begin_of_box|>Canberra<|end_of_box|>', '<|begin_of_box|>The capital of Australia is Canberra.<|end_of_box|>',
        'The capital of Australia is Canberra.\n\n**Canberra, Australia**', 'Attempt 1: Sydney, wrong.\nAttempt 2: Canberra, right.',
        'Answer: Sydney\nNo, wait: Canberra.', 'Answer: Sydney\nMy mistake: Canberra.', 'Sydney\nOops, correction: Canberra',
    ], [
        '<solution>The capital of Australia is not Canberra.</solution>', '<solution>Canberra or Sydney</solution>',
        '<|begin_of_solution|>Maybe Canberra, maybe Sydney.<|end_of_solution|>',
        '<solution>The capital of Australia is Canberra.</solution>\nNo, it is Sydney.',
        '<solution>Canberra</solution>\n<solution>Sydney</solution>',
        'The answer is not <|begin_of_box|>Canberra<|end_of_box|>.', '<|begin_of_box|>Canberra or Sydney<|end_of_box|>', '<|begin_of_box|>Canberra<|end_of_box|> is wrong.',
        '<|begin_of_box|>Canberra<|end_of_box|>\n<|begin_of_box|>Sydney<|end_of_box|>', '<|begin_of_box|>Canberra<|end_of_box|> Wait, it is Sydney.', '<solution>Canberra</solution> is wrong.',
        'It would be wrong to say: <solution>Canberra</solution>', "<response>I can't tell whether the capital of Australia is Canberra.</response>",
        'The answer is Sydney.\n<output>Canberra</output>\nThat output is wrong.', 'Canberra?\n<response>Sydney</response>',
        "<response>Canberra</response>\n<response>I don't know</response>", 'Answer: Canberra\nOops, correction: Sydney',
        'Answer: Canberra\nCorrection: Sydney', 'Answer: Canberra\nSorry, that should be Sydney.', 'Answer: Canberra\nWait, no: Sydney',
        'Answer: Sydney\nOops, correction: not Canberra', 'Answer: Sydney\nOops, correction: Canberra or Perth',
        'Answer: Sydney\nOops, correction: Canberra. No, Sydney.', 'Answer: Sydney\nCorrection: Canberra\nCorrection: Sydney',
        'Answer: Sydney\nOr Canberra.', 'Answer: Sydney\nMaybe Canberra.', 'Answer: Canberra\nOops.', 'Answer: Sydney\nWait, Canberra?',
        'Answer: Sydney\nSome would say: correction: Canberra', 'Attempt 1: Canberra, wrong.\nAttempt 2: Sydney, right.',
        'Attempt 1: Canberra, right.\nAttempt 2: Sydney, right.', 'First thought: Canberra - no', 'Canberra\nOops, correction: Sydney',
        'Answer: Sydney\nOops, correction: North Canberra', "Answer: Sydney\nNo, Canberra was 1908's answer.",
        'Answer: Canberra. Correction: I meant Sydney, not Canberra.', 'Answer: Sydney. That was wrong. Canberra is wrong, too.',
        'Answer: Sydney. I take that back. I thought of Canberra first.',
    ]),
    ('Compute 38 - 53.', ["-15", "minus 15"], [
        '\\begin{aligned}\n\\text{answer} &= \\boxed{-15}\n\\end{aligned}', '\\begin{align*}\n38 - 53 &= \\boxed{-15}\n\\end{align*}',
        '\\[\n\\begin{aligned}\n38 - 53 &= -15 \\\\\n\\text{answer} &= \\boxed{-15}\n\\end{aligned}\n\\]',
        '\\begin{equation}\n\\boxed{-15}\n\\end{equation}', '$$\\begin{gather}\\boxed{-15}\\end{gather}$$',
        '\\begin{array}{c}\n\\boxed{-15}\n\\end{array}', '\\begin{array}{rl}\nx &= 38 - 53 \\\\\n&= \\boxed{-15}\n\\end{array}',
        '\\begin{center}\\boxed{-15}\\end{center}', '\\[\n\\boxed{-15}\n\\]', '\\begin{equation*}\\text{Answer: } -15\\end{equation*}',
        '\\begin{aligned}\n38 - 53 &= -15\n\\end{aligned}',
    ], [
        '\\begin{aligned}\n\\text{answer} &= \\boxed{15}\n\\end{aligned}',
        '\\begin{aligned}\na &= \\boxed{-15} \\\\\nb &= \\boxed{15}\n\\end{aligned}',
        '\\begin{aligned}\n\\text{answer} &\\neq \\boxed{-15}\n\\end{aligned}',
        '\\begin{aligned}\n\\text{answer} &= \\boxed{-15}\n\\end{aligned}\nNo wait, 15.',
        '\\begin{aligned}\n\\text{wrong answer} &= \\boxed{-15}\n\\end{aligned}',
    ]),
    ('Which month has the fewest days?', ["February", "Feb"], [
        'First guess: November (wrong).\nSecond guess: February (right).', 'Guess 1: November (incorrect)\nGuess 2: February (correct)',
        'Attempt 1: November ❌\nAttempt 2: February ✅', 'First try: November - wrong\nSecond try: February - right',
        '1st guess: November, wrong.\n2nd guess: February, correct.', 'First guess: November. Wrong!\nSecond guess: February. Right!',
    ], [
        'First guess: February (wrong).\nSecond guess: November (right).', 'First guess: February (right).\nSecond guess: November (right).',
        'First guess: November (wrong).\nSecond guess: February (wrong).', 'First guess: February.\nSecond guess: November.',
        'First guess: November.\nSecond guess: February.', 'First guess: February (probably right).\nSecond guess: November (probably right).',
        'First guess: November (right).\nSecond guess: February (wrong).', 'First guess: November (right).\nSecond guess: February.',
        'First guess: November (wrong).\nSecond guess: February (not right).', 'First guess: November (wrong).\nSecond guess: February (right?).',
    ]),
    ('How many players are on a football (soccer) team on the pitch?', ["11", "eleven", "11 players"], [
        'So x = 11', 'n=11', 'n = 11', 'Total = 11', 'Thus, total = 11.', 'Players = 11', '$x = 11$', 'answer = 11', 'So the total = 11',
        'Number of players = 11', '=> 11', '∴ x = 11', 'The size of a team on the pitch is 11.\n\n**11 players**', '11\n\n**11 players**',
        'Thus x = 11.', 'Solving, we get x = 11.',
    ], [
        'So x = 12', 'x = 11 or 12', 'x = 11, y = 12', '2x = 11', 'x + 1 = 11', 'x ≠ 11', 'x != 11', 'x <= 11', 'x >= 11', 'not x = 11', 'x = 11?',
        'if x = 11', 'x = -11', 'x = 11/2', 'x = 11 + 1', 'x^2 = 11', 'wrong = 11', 'half = 11', 'x = 11 = 12', 'x = 12, not x = 11',
        'The size of a team on the pitch is 11.\n\n**12 players**', 'x >= 11', 'x = 10. So x = 11?', 'x = 11\ny = 12', 'x = 11\nx = 12',
    ]),
    ('Solve for y: 2y - 1 = 21. What is y?', ["11"], [
        'y = 11', 'So y = 11.',
    ], [
        'x = 11', 'Solving, we get x = 11.',
    ]),
    ('How many degrees are in a right angle?', ["90", "ninety", "90 degrees", "90\u00b0"], [
        'A right angle measures 90.\n\n**90 degrees**', 'A right angle measures 90.\n\n**90°**', 'It has 90 degrees.\n\n90',
    ], [
        'A right angle measures 90.\n\n**180 degrees**', 'A right angle measures 180.\n\n**90 degrees**',
        'A right angle measures 90.\n\n**90 radians**',
    ]),
]  # fmt: skip
"""A question, its accepted answers, responses that give one, and responses that do not."""
RIGHT = [(question, truth, said) for question, truth, right, _ in FORMS for said in right]
WRONG = [(question, truth, said) for question, truth, _, wrong in FORMS for said in wrong]


@pytest.mark.parametrize(("question", "truth", "said"), RIGHT)
def test_an_answer_in_a_form_of_its_own_is_one(question: str, truth: list[str], said: str) -> None:
    assert _answers(question, truth, said)


@pytest.mark.parametrize(("question", "truth", "said"), WRONG)
def test_a_wrong_answer_of_the_same_form_is_none(question: str, truth: list[str], said: str) -> None:
    assert not _answers(question, truth, said)


def _answers(question: str, truth: list[str], said: str) -> bool | None:
    return qa.score(Sample("qa", said, json.dumps(truth), question), qa.QaOptions()).correct


CHOSEN = [
    '<|begin_of_solution|>It has no coast, so the answer is B.<|end_of_solution|>', '<solution>B</solution>', 'The correct option is <|begin_of_box|>B<|end_of_box|>.', '<|begin_of_box|>(B) Lyon<|end_of_box|>', 'Thinking about it.\n<solution>B</solution>', '<response>Lyon is the city that fits.</response>', '<output>(B) Lyon</output>', '\\begin{aligned}\n\\text{answer} &= \\boxed{B}\n\\end{aligned}', 'First guess: A (wrong).\nSecond guess: B (right).',
]  # fmt: skip
NOT_CHOSEN = [
    '<solution>A or B</solution>', '<|begin_of_box|>A or B<|end_of_box|>', 'The answer is not <|begin_of_box|>B<|end_of_box|>.', '<|begin_of_box|>B<|end_of_box|> is wrong; <|begin_of_box|>C<|end_of_box|>', '<solution>not B</solution>', '<solution>B</solution><solution>C</solution>', '\\begin{aligned}\n\\text{answer} &\\neq \\boxed{B}\n\\end{aligned}', 'First guess: B (wrong).\nSecond guess: A (right).', 'First guess: B (right).\nSecond guess: A (right).',
]  # fmt: skip


@pytest.mark.parametrize("said", CHOSEN)
def test_an_option_in_a_form_of_its_own_is_chosen(said: str) -> None:
    assert _chooses(said)


@pytest.mark.parametrize("said", NOT_CHOSEN)
def test_an_option_that_is_one_of_several_or_denied_is_not_chosen(said: str) -> None:
    assert not _chooses(said)


def _chooses(said: str) -> bool | None:
    info = {"choices": ["Paris", "Lyon", "Nice", "Lille"]}
    return choice.score(Sample("choice", said, "B", "Which city?", info), choice.ChoiceOptions()).correct
