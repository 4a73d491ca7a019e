"""A tenth set of responses to multiple-choice questions, in the ways of a few families of models, written when the rules
were as they are.

Fields as in `choice`; wordings and questions are others.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.rewards.templates.responses import Case, cases, of_choice

QUESTIONS: tuple[tuple[str, ...], ...] = (
    ("kidney", "liver", "spleen", "pancreas", "gall bladder"),
    ("a sonnet", "a haiku", "an ode", "an elegy"),
    ("20%", "25%", "40%", "80%"),
    ("Energy is conserved", "Momentum is conserved", "Both are conserved", "Neither is conserved"),
    ("1914", "1918", "1939", "1945", "1941"),
    ("x = 3", "x = -3", "x = 9", "x = 1/3"),
    ("selling tickets", "buying tickets", "losing tickets", "printing tickets"),
    ("Canberra", "Wellington", "Suva", "Apia"),
)

RIGHT = (
    "The correct answer is {L}: {T}.", "The correct answer is {L}, {T}.", "The correct answer is option {L}: **{T}**.", "Correct answer: **{L}. {T}**",
    "The answer is option {L}, {T}.", "The answer is: {L}.", "The answer is:\n\n{L}. {T}", "Answer: {L}. {T}", "Answer: **{L}**", "ANSWER: {L}", "Answer: ({L})",
    "**Answer**: **{L}**", "**{L}**", "**{L}.** {T}", "({L})", "{T}", "Option {L}", "Option {L}: {T}", "Choice {L}.", "{L} - {T}",
    "So the final answer is ({L}).", "So the answer must be {L}.", "Therefore, {L} is correct.", "Therefore, option ({L}) is correct.",
    "Thus, {L} is the answer.", "Hence, the answer is {L}: {T}.", "Consequently, the correct answer is {L}.", "We conclude that {L} is correct.",
    "From the options given, the correct answer is {L}.", "By elimination, the answer is {L}.", "The only option left is {L}.\n\nAnswer: {L}",
    "{W} is incorrect. {X} is incorrect. Therefore the answer is {L}.", "Options {W} and {X} can be eliminated, so the correct answer is {L}.",
    "While {U} seems plausible, {T} is the correct answer.", "Step 1: read.\nStep 2: compare.\nStep 3: conclude.\n\n**Final Answer**: {L}",
    "<think>\nMaybe {W}.\n</think>\n\nFinal Answer: {L}", "<think>Is it {W}? No.</think><answer>{L}</answer>", "<answer>({L})</answer>", "<answer>{T}</answer>",
    "The final answer is \\boxed{{{L}}}.", "Thus the answer is $\\boxed{{{L}}}$.", "$$\\boxed{{\\text{{{L}}}}}$$", "\\boxed{{\\text{{{T}}}}}", "\\(\\boxed{{{L}}}\\)",
    "I think the answer is {L}.", "I'm confident that the correct answer is {L}.", "My answer: {L}", "I choose {L}.", "Let me recheck. Yes, the answer is {L}.",
    "The answer is {L}, because {U} makes no sense.", "The answer is {L} (not {W}).", "正确答案是{L}。", "Die Antwort ist {L}.", "La réponse est {L}.",
)  # fmt: skip

WRONG = (
    "The correct answer is {W}: {U}.", "The answer is option {W}, {U}.", "Answer: **{W}**", "{U}", "Choice {W}.", "Thus, {W} is the answer.", "{W} - {U}",
    "<answer>({W})</answer>", "<answer>{U}</answer>", "\\boxed{{\\text{{{U}}}}}", "I choose {W}.", "The answer is {W} (not {L}).", "Die Antwort ist {W}.",
    "The correct answer is {L}: {U}.", "{L} - {U}", "Option {L}: {U}", "The answer is option {L}, {U}.", "Answer: {L}. {U}", "**{L}.** {U}",
    "The answer is {L} or {W}.", "Answer: {L} or {W}", "Answer: {L} / {W}", "({L}) or ({W})", "{L} and {W}", "Options {L} and {W}", "Option {L} or option {W}",
    "{L} and {W} are both correct.", "Only {L} and {W} are correct.", "Therefore, {L} and {W} are correct.", "The answer is {L}, or perhaps {W}.",
    "\\boxed{{{L}}} and \\boxed{{{W}}}", "<answer>{L} or {W}</answer>", "<answer>{L}</answer>\n<answer>{W}</answer>", "I choose {L} and {W}.",
    "The answer is not {L}.", "The correct answer is not option {L}.", "{L} is not correct.", "Therefore, {L} is not correct.", "We conclude that {L} is wrong.",
    "By elimination, {L} is out.", "Option {L} can be eliminated.", "Not {L}", "It can't be {L}.", "I don't choose {L}.", "The answer is never {L}.", "{T} is wrong.",
    "The answer would be {L} if the text said so.", "If {L} is correct, {W} is not.", "If so, the answer is {L}.", "Unless it is {W}, it is {L}.",
    "The answer may well be {L}, but I can't tell.", "Is the correct answer {L}?", "Should I choose {L}? I do not know.", "Which is it, {L} or {W}?",
    "The answer is {L}. Actually, it is {W}.", "Answer: {L}\n\nHmm, wait. Answer: {W}", "Answer: {L}. Sorry, that was wrong.", "Answer: {L}\n\nThis is incorrect.",
    "Final answer: {L}\n\nFinal answer: {W}", "<think>Answer: {L}</think>", "<think>So the answer is {L}.</think>\n\nThe answer is {W}.", "<think>{L}",
    "Answer: {W}\n<!-- Answer: {L} -->", "{list}", "Answer: one of the above.", "Answer: it depends.", "No answer.", "^\n", "I am not able to choose.",
)  # fmt: skip


def generate(n: int = 2_000, seed: int = 1) -> Iterator[Case]:
    """Yield `n` responses, half of them right."""
    yield from cases(RIGHT, WRONG, of_choice(QUESTIONS, "({})"), n, seed)
