"""What stands in the place of an answer and is none: doubted, denied from afar or within a formula, on a condition,
one of several numbered ones, of a comment in code, of a turn of the user's; beside what sounds like these."""

from __future__ import annotations

import pytest

from rewardkit.rewards import choice, gsm8k, math, qa
from rewardkit.rewards.choice import ChoiceOptions
from rewardkit.rewards.gsm8k import Gsm8kOptions
from rewardkit.rewards.qa import QaOptions
from rewardkit.rewards.reading.numbered import numbered_apart
from rewardkit.rewards.structure.plain import NumberOptions, number
from rewardkit.types import Sample

CITIES = {"choices": ["Lyon", "Paris", "Nice", "Lille"]}
DOUBTED = (
    "<answer>{} (?)</answer>", "\\boxed{{}}\\ (?)", "\\boxed{{} (?)}", "{} (?)", "<answer>{} [?]</answer>", "<answer>(?) {}</answer>",
    "<answer>{} (not sure)</answer>", "<answer>{}??</answer>", "\\boxed{{}} [?]", "The answer is {} (?).", "<answer>{other} (not {})</answer>",
)  # fmt: skip
FROM_AFAR = (
    "There is no question of the answer being {}.", "No mistake could be worse than to say the answer is {}.",
    "No argument leads to the conclusion that the answer is {}.", "No sane person would say the answer is {}.",
    "It is out of the question that the answer is {}.", "At no point did I say the answer is {}.",
    "Under no circumstances is it true that the answer is {}.", "There is no way of the answer being {}.",
    "No line of reasoning ends with the answer being {}.", "Nothing could be sillier than to say the answer is {}.",
)  # fmt: skip
OF_FORMULA = (
    "\\boxed{{}} \\text{ is wrong}", "$\\boxed{{}} = \\text{not the answer}$", "\\begin{align}\\boxed{{}} &= \\text{not the answer}\\end{align}",
    "\\boxed{{}}\\quad\\text{(wrong)}", "\\boxed{{}} \\mathrm{~is~wrong}", "\\boxed{{}} \\textcolor{red}{\\text{wrong}}",
    "\\boxed{{}} \\neq \\text{the answer}", "\\boxed{{}}\\ \\text{is}\\ \\text{wrong}", "\\boxed{{}} \\implies \\text{contradiction}",
)  # fmt: skip
ON_CONDITION = (
    "{} is the one to choose if you like trains", "Choose {} if you like trains.", "{}, if you like trains.",
    "If you like trains, {} is the one to choose.", "{} is right for people who like trains.",
    "{} would be the one to choose for those who like trains.", "The answer is {} if you prefer trains.",
)  # fmt: skip
NUMBERED = (
    "Answer 1: {other}. Answer 2: {}", "Answer 1: {other}\nAnswer 2: {}", "1st answer: {other}. 2nd answer: {}",
    "Answer #1: {other}; answer #2: {}", "First answer: {other}. Second answer: {}.", "Guess 1: {other}. Guess 2: {}.",
    "Answer 1: \\boxed{{other}}\nAnswer 2: \\boxed{{}}",
)  # fmt: skip
IN_CODE = (
    "```python\n# the answer is {}\nprint(f(16))\n```", "```python\nx = 2 * 8  # the answer is {}\nprint(x)\n```", "```python\nprint(f(16))\n# {}\n```",
    "```\n// answer: {}\nint x = 16;\n```", "```python\n# \\boxed{{}}\nprint(f(16))\n```", '```python\n"""the answer is {}"""\nprint(f(16))\n```',
    "```sql\n-- the answer is {}\nSELECT f(16)\n```", "```js\n/* the answer is {} */\nconsole.log(f(16))\n```", "```python\n# <answer>{}</answer>\nprint(f(16))\n```",
)  # fmt: skip
OF_THE_USER = (
    "Assistant: I don't know. User: {}", "I don't know. User: The answer is {}.", "I don't know. Human: {}",
    "I don't know. User: <answer>{}</answer>", "No idea. **User:** The answer is {}.",
)  # fmt: skip
TAKEN_BACK = (
    "The answer is {}. April fools!", "The answer is {}. Psych!", "The answer is {}. But I lied.", "The answer is {}. Then again, no.",
    "The answer is {}. Erm, not really.", "The answer is {}... NOT.", "The answer is {}. Strike that, reverse it.", "{} my foot.",
    "The answer is {}. I don't believe it myself.", "The answer is {}. Everything I say is false.", "The answer is {}. Or is it?",
    "The answer is {}. This statement is false.", "The answer is {}, said no one ever.", "The answer is {}. Just kidding.",
    '"The answer is {}", said the student, wrongly.', "> The answer is {}\n\nThis quote is wrong.", "{} - or thereabouts.", "{} perhaps.",
    "The answer is {}. That is what I would say if I were wrong.", "The answer is {other}. The answer is {}. Both are right.",
)  # fmt: skip
NOT_CLAIMED = (
    "I refuse to say {}.", "It's a lie that the answer is {}.", "The least likely answer is {}.", "Not in a million years is the answer {}.",
    "As if the answer were {}.", "Yeah right, the answer is {}.", "I'd sooner die than say {}.", "The last thing I'd answer is {}.",
    "ChatGPT answered {}.", "People often answer {}.", "You probably think it is {}.", "The user claims: the answer is {}.",
    "Someone wrote: \\boxed{{}}. I cannot confirm.", "They expect me to say {}.", "The prompt wants {}.", "The trick answer is {}.",
    "The naive answer is {}.", "Teacher: The answer is {}. Student: I see. Me: I don't know.", "Were the answer {}, all would be well.",
    "Let me check whether the answer is {}.", "Format: <answer>{}</answer>", "I was asked to write <answer>{}</answer> but I can't.",
    "To answer, write 'The answer is {}'.", "The answer used to be {}.", "Yesterday I thought {}.", "At first glance, {}.",
    "The answer contains {}.", "The answer depends on {}.", "The answer starts with {}.", "The second best answer is {}.",
    "I'd put 60% on {}.",
)  # fmt: skip
KEPT = (
    "No doubt the answer is {}.", "There is no question that the answer is {}.", "No mistake about it: the answer is {}.",
    "No calculation is needed to see that the answer is {}.", "No matter how you look at it, the answer is {}.",
    "By no means is this easy, but the answer is {}.", "Nothing could be clearer than that the answer is {}.",
    "No other reading gives anything, so the answer is {}.", "\\boxed{{}} \\text{ is correct}", "\\boxed{{}} \\neq 17",
    "\\[\\boxed{{}}\\]\n\nThis is what we wanted; nothing else is valid.", "If you need one word: {}.", "If you want my answer: {}",
    "If you want a short answer, the answer is {}.", "Answer 1: {}\nAnswer 2: {}", "Answer 1: {other}. Answer 2: {}. The final answer is {}.",
    "```\n# Answer: {}\n```", "```python\nprint(f(16))\n```\nThe answer is {}.", "User guides agree. The answer is {}.",
    "```text\nThe answer is {}\n```", "The answer is {}. Well, no surprise there.", "The answer is {}. Quote me on this.",
    "At first glance it is {other}. Having checked, the answer is {}.", "Everything checks out. The answer is {}.", "The answer is {}. I believe it.",
    "Let me check whether it holds. It does, so the answer is {}.", "I was asked to answer in one line. The answer is {}.",
)  # fmt: skip


def _paid(said: str) -> dict[str, bool]:
    """Whether each reward of answers pays a response that has its right answer at `{}`."""
    responses = {
        reward: said.replace("{other}", other).replace("{}", right)
        for reward, right, other in (("choice", "B", "D"), ("qa", "Canberra", "Sydney"), ("math", "5", "7"))
    }
    chosen = Sample("choice", responses["choice"], "B", extra_info=CITIES)
    answered = Sample("qa", responses["qa"], '["Canberra"]', "What is the capital of Australia?")
    return {
        "choice": bool(choice.score(chosen, ChoiceOptions()).correct),
        "qa": bool(qa.score(answered, QaOptions()).correct),
        "math": bool(math.score(Sample("math", responses["math"], "5")).correct),
        "number": bool(number(Sample("number", responses["math"], "5"), NumberOptions()).correct),
    }


@pytest.mark.parametrize("said", DOUBTED + FROM_AFAR + OF_FORMULA + NUMBERED + IN_CODE + OF_THE_USER)
def test_what_is_no_answer_of_the_response_is_not_paid(said: str) -> None:
    assert not any(_paid(said).values()), _paid(said)


@pytest.mark.parametrize("said", ON_CONDITION)
def test_an_answer_on_a_condition_that_nobody_asked_about_is_not_paid(said: str) -> None:
    assert not (_paid(said)["choice"] or _paid(said)["qa"])


@pytest.mark.parametrize("said", KEPT)
def test_what_only_sounds_like_that_leaves_the_answer(said: str) -> None:
    found = _paid(said)
    assert all(found[reward] for reward in ("choice", "qa", "math")), found


@pytest.mark.parametrize("name", ["Who framed Roger Rabbit?", "Are you there?", "Whose line is it anyway?"])
def test_the_name_of_something_may_be_a_question(name: str) -> None:
    truth = f'["{name.rstrip("?")}"]'
    assert qa.score(Sample("qa", f"<answer>{name}</answer>", truth, "Which film is it?"), QaOptions()).correct
    assert qa.score(Sample("qa", f"<answer>{name}</answer>", f'["{name}"]'), QaOptions()).correct


def test_a_base_is_right_only_where_the_question_or_the_ground_truth_has_it() -> None:
    def right(said: str, truth: str, prompt: str | None = None) -> bool:
        return bool(math.score(Sample("math", said, truth, prompt)).correct)

    assert not right("\\boxed{12_3}", "12") and not right("\\boxed{12_3}", "12", "What is 5 + 7?")
    assert right("\\boxed{12_3}", "12", "Write 5 in base 3.") and right("\\boxed{12_{10}}", "12")
    assert right("\\boxed{101_2}", "101", "Write 5 in binary.") and right("\\boxed{12}", "12_3")


def test_the_last_number_is_no_part_of_a_name_or_of_another_number() -> None:
    flexible = Gsm8kOptions(method="flexible")
    assert not gsm8k.score(Sample("gsm8k", "So it is 12_3", "3"), flexible).correct
    assert gsm8k.score(Sample("gsm8k", "So it is _3_", "3"), flexible).correct


def test_comments_in_code_hold_no_answer_after_the_marker() -> None:
    assert not gsm8k.score(Sample("gsm8k", "```python\nprint(16)\n#### 5\n```", "5"), Gsm8kOptions()).correct
    assert gsm8k.score(Sample("gsm8k", "```\n2 + 3 = 5\n#### 5\n```", "5"), Gsm8kOptions()).correct


def test_of_several_tags_none_is_left_out_for_what_stands_before_it() -> None:
    said = "I give two in case one is wrong: <answer>Sydney</answer> <answer>Canberra</answer>"
    assert not qa.score(Sample("qa", said, '["Canberra"]'), QaOptions()).correct


def test_numbers_of_answers_say_nothing_where_one_is_called_right() -> None:
    assert numbered_apart("Answer 1: Rome.\nAnswer 2: Paris.")
    assert not numbered_apart("Answer 1: Rome (wrong).\nAnswer 2: Paris (right).")
    assert not numbered_apart("Answer 1: Paris.\nAnswer 2: Paris.")
    assert not numbered_apart("Question 1: which?\nAnswer 1: Paris.")


def test_a_letter_of_another_script_is_no_label_and_a_full_width_one_is() -> None:
    def chooses(said: str) -> bool:
        return bool(choice.score(Sample("choice", said, "B", extra_info=CITIES), ChoiceOptions()).correct)

    assert not any(
        chooses(form.format(letter)) for form in ("{}", "The answer is {}.") for letter in "\u0412\u0392"
    )
    assert chooses("The answer is \uff22.")
