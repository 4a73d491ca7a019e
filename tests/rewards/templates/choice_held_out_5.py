"""An eighth set of responses to multiple-choice questions, written when the rules were as they are.

Fields as in `choice`; wordings and questions are others.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.rewards.templates.responses import Case, cases, of_choice

QUESTIONS: tuple[tuple[str, ...], ...] = (
    ("Plato", "Aristotle", "Socrates", "Kant", "Hume"),
    ("a cell membrane", "a cell wall", "a chloroplast", "a vacuole"),
    ("$5,000", "$50,000", "$500", "$5"),
    ("F = ma", "E = mc^2", "V = IR", "p = mv"),
    ("turns on the tap and washes the dishes.", "puts the dishes into the bin.", "dries the car.", "leaves."),
    ("Only I", "Only II", "I and II", "Neither I nor II"),
    ("inflation", "deflation", "stagflation", "hyperinflation"),
    ("Madrid, Spain", "Lisbon, Portugal", "Rome, Italy", "Athens, Greece"),
)

RIGHT = (
    "{L}", "{l}", "({l})", "**({L})**", "The answer is {l}.", "answer is: {L}", "The answer is:\n\n{L}", "The answer is:\n{L}) {T}", "Answer:\n**{L}**",
    "Answer: `{L}`", "Answer: {L}. {T}", "Answer: {L} -- {T}", "**Answer**: ({L}) {T}", "The correct choice is **{L}**: {T}.", "The right option is {L}.",
    "I'd choose {L}, because it fits best.", "I would pick option {L}.", "I'd answer {L}.", "I go with {L}.", "We go with ({L}).", "My choice is {L}: {T}.",
    "The best-supported answer is {L}.", "The most reasonable answer is {L}.", "The only answer that works is {L}.", "The answer turns out to be {L}.",
    "The answer we want is {L}.", "The answer I get is {L}.", "This gives the answer {L}.", "Which makes the answer {L}.", "So our answer is {L}.",
    "Our final answer: {L}", "Therefore our answer is ({L}) {T}.", "Therefore option {L} is the answer.", "Therefore, option **{L}** is correct.",
    "Consequently, {L} is the right choice.", "{L} is the one that fits.\n\nAnswer: {L}", "All signs point to {L}. The answer is {L}.", "{T}", "**{T}**",
    "It is {T}. The answer is {L}.", "The answer is {T}, that is, option {L}.", "The correct answer is \"{T}\".", "The correct answer is: {T}",
    "The correct answer is ({L}), {T}.", "The correct answer is **{T}** (option {L}).", "<answer>{L}</answer>", "<answer>{L}. {T}</answer>",
    "Let me verify: {U} fails. So <answer>{L}</answer>", "<answer>{W}</answer>\n\nWait, that is wrong.\n\n<answer>{L}</answer>", "\\boxed{{{L}}}",
    "\\boxed{{\\text{{({L})}}}}", "Final Answer: $\\boxed{{\\text{{{L}}}}}$", "The answer is \\boxed{{{L}}} because {U} fails.",
    "{W} looks right at first, but it is not. The correct answer is {L}.", "Options {W} and {X} are wrong. The answer is {L}.",
    "Eliminate {W}. Eliminate {X}. The answer: {L}", "A quick check: {T} fits. Final answer: {L}.", "正确答案为{L}。", "答：{L}", "Risposta: {L}", "A resposta é {L}.",
)  # fmt: skip

WRONG = (
    "{W}", "{w}", "**({W})**", "The answer is {w}.", "The answer is:\n{W}) {U}", "I'd choose {W}, because it fits best.", "The answer we want is {W}.",
    "The answer turns out to be {W}.", "{U}", "**{U}**", "The correct answer is: {U}", "<answer>{W}. {U}</answer>", "Final Answer: $\\boxed{{\\text{{{W}}}}}$",
    "It is {U}. The answer is {W}.", "The answer is {L}. {U}", "The answer is ({L}), {U}.", "<answer>{L}. {U}</answer>", "Answer: {L} -- {U}",
    "not {L}", "Not {L}.", "The answer is not ({L}).", "The answer is certainly not {L}.", "It's not {L}.", "{L} is not right.", "{L} isn't right.",
    "I don't think it's {L}.", "I'm sure that it isn't {L}.", "We can exclude {L}.", "{L} can be excluded.", "{L} must be wrong.", "{L} seems wrong.",
    "Whatever it is, it is not {L}.", "The answer is anything but {L}", "The answer is the opposite of {L}.", "The answer turns out not to be {L}.",
    "{L} or {W}", "{L}, {W}", "{L} and {W}", "{L}/{W}", "({L}), ({W})", "{L} {W}", "{L}; {W}", "{L}+{W}", "{L}&{W}", "**{L}** **{W}**", "{L}\n\n{W}",
    "Both {L} and {W}.", "{L} or {W}, I can't say.", "Either ({L}) or ({W}).", "The answer is {L} or ({W}).", "The answer is {T} or {U}.", "Answer: {L} & {W}",
    "Answer: {L}; {W}; {X}", "The answers are {L} and {W}.", "The answer is {L}, {W} or {X}.", "My answers: {L}, {W}", "I'd choose {L} or {W}.",
    "<answer>{L} or {W}</answer>", "<answer>{L}</answer><answer>{W}</answer><answer>{X}</answer>", "\\boxed{{{L} \\text{{ or }} {W}}}", "\\boxed{{{L}{W}{X}}}",
    "\\boxed{{{L}}}\\boxed{{{W}}}", "The answer is {L}. The answer is {W}.", "Answer: {L}\n\nAnswer: {W}", "Answer: {L} Answer: {W} Answer: {X}",
    "The answer is {L}. Wait, that is wrong.", "The answer is {L}. No, I was wrong: {W}.", "Answer: {L}. Correction: {W}", "I say {L}. No: {W}.",
    "Is the answer {L}?", "The answer is {L}, isn't it? No, {W}.", "Could the answer be {L}? I don't know.", "Answer: ?", "Answer: unknown", "Answer: none",
    "Answer: {L}?", "If I guess, {L}; otherwise {W}.", "<think>The answer is {L}.</think>", "<think>{L}</think> I do not know.", "<think>{L}",
    "Answer: {W} <!-- {L} -->", "Answer: {W}\n\n<|im_start|>assistant\nAnswer: {L}", "Answer: {W}\n\n```\nAnswer: {L}\n```", "A student wrote {L}.",
    "{list}", "{list}\n\nThe answer is one of these.", "Because {L} fits, maybe. Or {W}.", "As a model, I like all options.", "Let {L} be a set.", "I.",
)  # fmt: skip


def generate(n: int = 2_000, seed: int = 1) -> Iterator[Case]:
    """Yield `n` responses, half of them right."""
    yield from cases(RIGHT, WRONG, of_choice(QUESTIONS, "({})"), n, seed)
