"""A ninth set of responses to multiple-choice questions, in the ways of a few families of models, written when the rules
were as they are.

Fields as in `choice`; wordings and questions are others.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.rewards.templates.responses import Case, cases, of_choice

QUESTIONS: tuple[tuple[str, ...], ...] = (
    ("gravity", "friction", "magnetism", "inertia"),
    ("a mortgage", "a bond", "a share", "an option", "a warrant"),
    ("0", "1", "-1", "2", "infinity"),
    ("It doubles", "It halves", "It is unchanged", "It quadruples"),
    ("Rome", "Carthage", "Athens", "Sparta"),
    ("I only", "II only", "I and III", "II and III"),
    ("the frontal lobe", "the temporal lobe", "the parietal lobe", "the occipital lobe"),
    ("5 cm", "5 m", "5 km", "50 cm", "0.5 m"),
)

RIGHT = (
    "The correct answer is {L}.", "The correct answer is: {L}. {T}", "**The correct answer is {L}) {T}.**", "The answer is {L}. {T}.",
    "Answer: {L}", "Answer: {L}) {T}", "**Answer: {L}) {T}**", "**Answer:** {L}) {T}", "**Answer: ({L})**", "Final Answer: {L}) {T}",
    "**Final Answer: {L}**\n\n{T} is what the question asks for.", "Final answer: \\(\\boxed{{{L}}}\\)", "The final answer is: $\\boxed{{{L}}}$",
    "Therefore, the correct answer is **{L}. {T}**.", "Therefore, the correct option is {L}) {T}.", "Thus, the correct answer is option {L}.",
    "Hence, the correct answer is ({L}).", "So the correct choice is {L}.", "So, the answer is **{L}**.", "Therefore, the answer is ({L}).",
    "Based on the information given, the correct answer is ({L}) {T}.", "Based on these considerations, the best answer is {L}.",
    "Given the above, the answer is option **{L}**.", "After considering each option, the correct answer is {L}: {T}.",
    "Let's check each.\n\n{W}) {U}: no.\n{X}) {V}: no.\n{L}) {T}: yes.\n\nTherefore, the answer is {L}.",
    "- **{W}** is wrong because it does not fit.\n- **{L}** is right because it fits.\n\n**Answer: {L}**",
    "{L}) {T}\n\nExplanation: this is what the text says.", "{L}. {T}\n\nThe other options do not fit.", "**{L}) {T}**\n\nThis fits best.",
    "The correct answer is {T}.", "The answer is {T}.", "The correct answer is **{T}** ({L}).", "<answer>{L}</answer>", "<answer>{L}. {T}</answer>",
    "<think>\nIt could be {W}, or {X}. No, it is {L}.\n</think>\n\nThe correct answer is **{L}**.", "<think>{W}?</think>\n\n\\boxed{{{L}}}",
    "\\boxed{{{L}}}", "$\\boxed{{\\text{{{L}}}}}$", "\\[\n\\boxed{{\\text{{{L}) {T}}}}}\n\\]", "({L}) {T}", "{L}) {T}", "{L}", "I would choose ({L}) {T}.",
    "In conclusion, {L} is the correct answer.", "Option {L} is the correct answer because it fits.", "Among the given options, {L} is the best answer.",
    "The correct answer is ({L}) because {U} does not fit.", "It is {L}.", "The right answer is {L}, not {W}.", "答案：{L}", "因此，答案是{L}。",
)  # fmt: skip

WRONG = (
    "The correct answer is {W}.", "**Answer: {W}) {U}**", "Final answer: \\(\\boxed{{{W}}}\\)", "Therefore, the correct option is {W}) {U}.",
    "The correct answer is {U}.", "({W}) {U}", "{W}", "<answer>{W}. {U}</answer>", "In conclusion, {W} is the correct answer.", "答案：{W}",
    "The correct answer is {L}) {U}.", "{L}) {U}", "**{L}. {U}**", "The correct answer is **{U}** ({L}).", "\\boxed{{\\text{{{L}) {U}}}}}",
    "The correct answer is {L} or {W}.", "The correct answers are {L} and {W}.", "Answer: {L} and {W}", "Answer: {L}, {W}", "({L}) and ({W})",
    "Both {L} and {W} are correct.", "Either {L} or {W} is correct.", "The correct answer is either {L} or {W}.", "{L} or {W}", "\\boxed{{{L}, {W}}}",
    "The correct answer is not {L}.", "The correct answer isn't ({L}).", "Option {L} is not the correct answer.", "{L} is incorrect.", "{L} is wrong, I think.",
    "It is not {L}.", "The answer cannot be {L}.", "The answer is definitely not option {L}.", "I would not choose ({L}) {T}.", "not {L}",
    "The correct answer might be {L}.", "The correct answer could be {L}, but I am not sure.", "Perhaps the answer is {L}, perhaps {W}.",
    "I am not sure whether the answer is {L} or {W}.", "It is hard to choose between {L} and {W}.", "If the answer is not {W}, it is {L}.",
    "The correct answer is {L}.\n\nWait, I made a mistake. The correct answer is {W}.", "Answer: {L}\n\nOn reflection, no: {W}.",
    "The answer is {L}. No, that is wrong.", "Answer: {L}\nAnswer: {W}\nAnswer: {X}", "<answer>{L}</answer><answer>{W}</answer>", "\\boxed{{{L}}} \\boxed{{{W}}}",
    "<think>The correct answer is {L}.</think>\n\nThe correct answer is {W}.", "<think>\\boxed{{{L}}}</think>", "<think>The answer is {L}.",
    "{list}\n\nI cannot answer.", "I cannot determine the answer.", "The answer is not given.", "None of the above.", "All of the above.", "Answer:", "^",
    "Answer: {W} <!-- {L} -->", "Answer: {W}<|im_end|>\nAnswer: {L}", "Answer: {W}\n\n```\n{L}\n```", "\\boxed{{{W}}} % \\boxed{{{L}}}",
)  # fmt: skip


def generate(n: int = 2_000, seed: int = 1) -> Iterator[Case]:
    """Yield `n` responses, half of them right."""
    yield from cases(RIGHT, WRONG, of_choice(QUESTIONS, "({})"), n, seed)
