"""An eleventh set of responses to multiple-choice questions, as chat models end theirs, written when the rules were as
they are.

Fields as in `choice`; wordings and questions are others.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.rewards.templates.responses import Case, cases, of_choice

QUESTIONS: tuple[tuple[str, ...], ...] = (
    ("mitosis", "meiosis", "osmosis", "diffusion"),
    ("$12", "$15", "$18", "$21", "$24"),
    ("The Magna Carta", "The Bill of Rights", "The Treaty of Paris", "The Edict of Nantes"),
    ("It doubles", "It halves", "It stays the same", "It becomes zero"),
    ("copper", "silver", "gold", "aluminum", "iron"),
    ("2.5 m/s", "5 m/s", "7.5 m/s", "10 m/s"),
    ("puts the dishes away", "eats the dishes", "throws the dishes out", "paints the dishes"),
    ("Lisbon", "Madrid", "Porto", "Seville"),
)

RIGHT = (
    "Therefore, the correct answer is ({L}) {T}.", "Thus, the correct choice is {L}.", "So, the best answer is {L}: {T}.",
    "The best answer here is {L}.", "The most appropriate answer is {L}. {T}", "Based on the above analysis, the answer is {L}.",
    "Given these facts, {L} is the right answer.", "This corresponds to option {L}.", "This matches option {L}, so the answer is {L}.",
    "Looking at each option, only {L} fits.\n\nAnswer: {L}", "Option {L} is the correct one.", "Option {L} ({T}) is correct.",
    "The right option is {L}.", "The right answer is therefore {L}, {T}.", "It follows that the answer is {L}.",
    "In conclusion, the answer is {L}.", "In summary, option {L} is correct.", "### Answer\n\n{L}", "### Final Answer\n\n**{L}. {T}**",
    "## Solution\nWe compare.\n\n**Answer: {L}**", "**Conclusion:** The correct answer is **{L}**.", "**Correct option:** {L}",
    "Final choice: {L}", "Final answer: **({L}) {T}**", "Answer = {L}", "Ans: {L}", "The answer: {L}", "Correct choice: {L}) {T}",
    "Let's go with {L}.", "I would pick {L}.", "I'd say the answer is {L}.", "I will go with option {L}.", "That leaves {L}, so the answer is {L}.",
    "{W} and {X} are ruled out; the answer is {L}.", "A common mistake is {W}, but the correct answer is {L}.",
    "Since {U} does not apply, the answer must be {T}.", "The answer is \"{T}\".", "The answer is \"{L}\".", "The correct answer is `{L}`.",
    "The correct answer is: **{L}**\n\nExplanation: {T} fits the description.", "{L}. {T}\n\nThis is the only option that fits.",
    "{L}\n\nReasoning: the others do not fit.", "Hence $\\boxed{{{L}}}$", "Therefore: \\boxed{{\\textbf{{({L})}}}}", "The final answer is **{L}**",
)  # fmt: skip

WRONG = (
    "Therefore, the correct answer is ({W}) {U}.", "The best answer here is {W}.", "This corresponds to option {W}.", "Option {W} is the correct one.",
    "### Answer\n\n{W}", "Final choice: {W}", "Let's go with {W}.", "Answer = {W}", "{W}. {U}\n\nThis is the only option that fits.", "The answer is \"{U}\".",
    "Therefore: \\boxed{{\\textbf{{({W})}}}}", "In conclusion, the answer is {W}.", "I would pick {W}.",
    "The best answer is not {L}.", "Option {L} is not the correct one.", "Option {L} is incorrect.", "This rules out option {L}.", "{L} can be ruled out.",
    "The correct choice is anything but {L}.", "I would not pick {L}.", "I won't go with {L}.", "None of the options is correct, not even {L}.",
    "The correct choice is {L} or {W}.", "Let's go with {L} or {W}.", "Either {L} or {W} is right.", "Both {L} and {W} fit.", "Answer: {L}, {W}",
    "Final choice: {L} and {W}", "### Answer\n\n{L}\n{W}", "**Correct options:** {L}, {W}", "I'd say {L}, but {W} is better.",
    "I would pick {L} if it were not for {X}. So {W}.", "At first the answer seems to be {L}. However, the correct answer is {W}.",
    "A common mistake is {L}, but the correct answer is {W}.", "Many would say {L}. The answer is {W}.", "The answer is {W}, not {L}.",
    "Since {T} does not apply, the answer must be {U}.", "{L} and {X} are ruled out; the answer is {W}.", "The answer is \"{L}\" or \"{W}\".",
    "Is it {L}? Or {W}?", "I can't decide between {L} and {W}.", "The question does not say enough to choose {L}.", "If I had to guess: {L}? No, {W}.",
    "Final answer: {L}\n\nCorrection: {W}", "The final answer is **{L}** ... no, **{W}**.", "<think>The final answer is {L}.</think>", "{list}\n\nAnswer:",
    "All of the options are correct.", "The answer depends on the context.", "Sorry, I cannot answer that.", "Answer: ?", "The answer is E or none.",
)  # fmt: skip


def generate(n: int = 2_000, seed: int = 1) -> Iterator[Case]:
    """Yield `n` responses, half of them right."""
    yield from cases(RIGHT, WRONG, of_choice(QUESTIONS, "({})"), n, seed)
