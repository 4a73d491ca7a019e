"""A sixth set of responses to multiple-choice questions: every way to open a sentence, to announce an answer, to name
an option and to go on, drawn together. Written after `choice_held_out_3` had been measured and before what that showed
was mended.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from tests.rewards.templates import choice_held_out, choice_held_out_2
from tests.rewards.templates.responses import REASONING, SIGN_OFFS, Case, of_choice

OPENINGS = (
    "", "", "So ", "So, ", "Thus, ", "Therefore, ", "Hence ", "Consequently, ", "As a result, ", "In conclusion, ", "In summary, ",
    "Based on the above, ", "Based on this analysis, ", "Given the options, ", "After weighing the options, ", "By elimination, ",
    "I think ", "I believe that ", "I am confident that ", "We conclude that ", "It follows that ", "This tells us that ", "Clearly, ",
    "Although {U} is tempting, ", "{W} is not right. ", "{W} and {X} fail. ", "Option {W} is wrong, so ", "It cannot be {W}; ",
)  # fmt: skip
ANNOUNCED = (
    "the answer is ", "the answer is: ", "the correct answer is ", "the right answer is ", "the best answer is ", "the final answer is ",
    "the answer must be ", "the answer should be ", "the answer would be ", "the answer has to be ", "the correct option is ",
    "the correct choice is ", "the right choice is ", "the best option is ", "the most suitable answer is ", "the most accurate answer is ",
    "the answer to this question is ", "the correct answer to the question is ", "the best choice here is ", "my answer is ", "my final answer is ",
    "the answer is clearly ", "the answer is therefore ", "the correct answer must be ", "the correct response is ", "the correct answer would be ",
)  # fmt: skip
HEADED = (
    "Answer: ", "**Answer:** ", "Final answer: ", "**Final Answer:** ", "Final Answer is: ", "Correct answer: ", "Correct option: ", "My answer: ",
    "Answer - ", "Answer: Option ", "### Answer\n", "## Final Answer\n\n", "### Answer: ", "ANSWER: ",
)  # fmt: skip
NAMED = (
    "{L}", "{L}", "({L})", "**{L}**", "**({L})**", "option {L}", "option ({L})", "{L}. {T}", "{L}) {T}", "({L}) {T}", "**{L}. {T}**",
    "**({L}) {T}**", "{L}: {T}", "{L} ({T})", "{T}", "**{T}**", "{T} ({L})", "{T}, option {L}", "\\boxed{{{L}}}", "$\\boxed{{{L}}}$",
    "\\boxed{{\\text{{{L}}}}}", "\\boxed{{\\text{{{T}}}}}",
)  # fmt: skip
GOING_ON = (
    "", "", "", ".", ".", "\n", ".\n", ". The other options do not fit.", ", because it fits.", " since {U} does not fit.", ". This fits best.",
    ".\n\nExplanation: {U} does not fit.", ", not {W}.", " rather than {W}.", ".\n\nLet me know if you need more.", ", as explained above.",
)  # fmt: skip
DENIED = (
    "the answer is not ", "the answer isn't ", "the answer cannot be ", "the answer can't be ", "the answer must not be ", "the answer should not be ",
    "the answer is definitely not ", "the correct answer is not ", "the correct option isn't ", "the wrong answer is ", "the incorrect option is ",
    "the least suitable answer is ", "the worst choice is ", "I would not choose ", "I'd never pick ", "the answer might be ", "the answer could be ",
    "the answer may be ", "it is doubtful that the answer is ", "few believe that the answer is ", "my friend's answer is ", "if the answer is ",
    "Answer: not ", "**Answer:** anything but ", "Final answer: neither ", "Wrong answer: ", "Is the answer perhaps ",
)  # fmt: skip
SEVERAL = (
    "{L} or {W}", "{W} or {L}", "{L} and {W}", "{L}, {W}", "{W}, {L}", "{L}/{W}", "({L}) or ({W})", "**{L}** or **{W}**", "option {L} or option {W}",
    "{L} as well as {W}", "{L}, or maybe {W}", "either {L} or {W}", "both {L} and {W}", "{T} or {U}", "{T} and {U}", "{L}. {T} or {W}. {U}",
    "\\boxed{{{L}}} or \\boxed{{{W}}}", "\\boxed{{{L}, {W}}}", "{L}. {U}", "({L}) {U}", "{U} ({L})", "{U}, option {L}", "{L}, i.e. {U}", "{T}, i.e. {W}",
    "{W}", "({W})", "{W}. {U}", "{U}", "\\boxed{{{W}}}", "**({W}) {U}**", "{W}, not {L}", "{W} rather than {L}", "not {L} but {W}", "between {L} and {W}",
    "one of {L}, {W} and {X}", "{L} or something else", "neither {L} nor {W}", "all but {L}", "{L}; or {W}", "{L} | {W}", "{L} & {W}", "{L} + {W}",
)  # fmt: skip
TAKEN_BACK = (
    ". Wait, no. It is {W}.", ". No, it is {W}.", ". Actually, {W}.", ". Or {W}.", ". Alternatively, {W}.", "? No, {W}.", "? Or {W}?", ", or {W}.",
    " (or {W}).", ". Correction: {W}.", ".\n\nEdit: {W}", ". But that is wrong.", ". That is incorrect.", ", which is wrong.", " is wrong.",
    ". Sorry, {W}.", ". On second thought, {W}.", ", but so is {W}.", " if {W} is not.", ". The answer is also {W}.", " – or {W}.", "... or {W}?",
    ".\nThe answer is {W}.", ".\nAnswer: {W}", "?", "??", ", I guess, or {W}.",
)  # fmt: skip


def generate(n: int = 2_000, seed: int = 1) -> Iterator[Case]:
    """Yield `n` responses, half of them right."""
    draw = random.Random(seed)
    sets = [of_choice(one.QUESTIONS) for one in (choice_held_out, choice_held_out_2)]
    for i in range(n):
        is_right = i % 2 == 0
        template = _right(draw) if is_right else _wrong(draw)
        truth, info, fields = draw.choice(sets)(draw)
        text = draw.choice(REASONING) + template.format_map(fields) + draw.choice(SIGN_OFFS)
        yield Case(text, truth, is_right, template, info)


def _right(draw: random.Random) -> str:
    return _sentence(draw, draw.choice(NAMED)) + draw.choice(GOING_ON)


def _sentence(draw: random.Random, named: str) -> str:
    if draw.random() < 0.3:
        return draw.choice(HEADED) + named
    said = draw.choice(OPENINGS) + draw.choice(ANNOUNCED) + named
    return said[0].upper() + said[1:]


def _wrong(draw: random.Random) -> str:
    kind = draw.randrange(3)
    if kind == 0:
        return (
            draw.choice(OPENINGS[:22])
            + draw.choice(DENIED)
            + draw.choice(NAMED)
            + draw.choice(("", ".", ".\n"))
        )
    if kind == 1:
        return _sentence(draw, draw.choice(SEVERAL)) + draw.choice(("", ".", ".\n"))
    return _sentence(draw, draw.choice(NAMED)) + draw.choice(TAKEN_BACK)
