"""A second set of responses to questions with short answers, written without trying the rules of `qa` on it.

Fields as in `qa`; wordings and questions are others.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.rewards.templates.responses import Case, cases, of_qa

QUESTIONS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("Canberra",), ("Sydney", "Melbourne", "Perth")),
    (("Ludwig van Beethoven", "Beethoven"), ("Franz Schubert", "Joseph Haydn", "Johannes Brahms")),
    (("The Godfather",), ("Casablanca", "Vertigo", "Jaws")),
    (("42",), ("24", "4.2", "420", "-42")),
    (("8,848", "8848"), ("8,611", "884", "88480")),
    (("potassium",), ("sodium", "calcium", "magnesium")),
    (("4 July 1776", "July 4, 1776"), ("4 June 1776", "14 July 1789", "1776")),
    (("no",), ("yes", "sometimes", "both")),
    (("Lake Baikal", "Baikal"), ("Lake Victoria", "Lake Superior", "Lake Tanganyika")),
    (("Zürich", "Zurich"), ("Bern", "Geneva", "Basel")),
    (("World Health Organization", "WHO"), ("World Bank", "UNICEF", "Red Cross")),
    (("0.05",), ("0.5", "0.005", "5")),
    (("an octopus", "octopus"), ("a squid", "a crab", "a whale")),
    (("Neil Armstrong",), ("Buzz Aldrin", "Michael Collins", "Yuri Gagarin")),
    (("1989",), ("1889", "1988", "1991")),
)

RIGHT = (
    "The answer should be {A}.", "The answer must be {A}.", "The answer would be {A}.", "The answer is therefore {A}.",
    "The correct answer is thus {A}.", "Answer - {A}", "Answer – {A}", "Answer = {A}", "**Final answer** – {A}", "My final answer is {A}.",
    "The final answer is: **{A}**", "I believe that the answer is {A}.", "I think the answer is {A}.", "In conclusion, the answer is {A}.",
    "Based on the search results, the answer is {A}.", "The answer to the question is {A}.", "Hence the answer is {A}.",
    "<answer>The answer is {A}.</answer>", "<answer>{A}</answer>.", "<answer>  **{A}**  </answer>", "<answer>\\boxed{{{A}}}</answer>",
    "<think>{W}? {X}?</think><answer>{A}</answer>", "<think>I recall {W}.</think>\n\nFinal answer: {A}",
    "<search>q</search>\n<information>{W}, {X}</information>\n<think>so</think>\n<answer>{A}</answer>", "Not {W}. <answer>{A}</answer>",
    "$$\\boxed{{\\text{{{A}}}}}$$", "\\boxed{{\\textbf{{{A}}}}}", "Thus: \\boxed{{{A}}}.", "### Final Answer\n{A}", "## Answer\n\n**{A}**",
    "### Answer: {A}", "^*{A}*", "^`{A}`", "^- {A}", "^{A}!", "^“{A}”", "La respuesta es {A}.", "La réponse est {A}.", "Die Antwort ist {A}.",
    "答案是{A}。", "The answer is not {W} but {A}.", "The answer is {A}, not {W}.", "The answer is {W}. Sorry, I was wrong. The answer is {A}.",
    "Some sources say {W}, but the answer is {A}.", "**Answer:**\n\n{A}", "Short answer: {A}", "**Answer: {A}.**",
)  # fmt: skip

WRONG = (
    "The answer should be {W}.", "The answer must be {W}.", "Answer - {W}", "Answer – {W}", "The answer is therefore {W}.",
    "<answer>The answer is {W}.</answer>", "^*{W}*", "### Answer: {W}", "La respuesta es {W}.", "$$\\boxed{{\\text{{{W}}}}}$$",
    "The answer should not be {A}.", "The answer must not be {A}.", "The answer cannot be {A}.", "The answer might be {A} or {W}.",
    "The answer would be {A} if it were asked otherwise.", "The answer would have been {A}, but it is {W}.", "Answer - {A} or {W}",
    "Answer – not {A}", "Answer = {A} = {W}", "The answer is definitely not {A}.", "The answer is neither {A} nor {W}.",
    "The answer is anything but {A}.", "It is not the case that the answer is {A}.", "There is no way that the answer is {A}.",
    "<answer>The answer is not {A}.</answer>", "<answer>{A}, or {W}</answer>", "<answer>{A} | {W}</answer>", "<answer>{A} & {W}</answer>",
    "<answer>{W} ({A})</answer>", "<answer>maybe {A}, maybe {W}</answer>", "<answer>it is not {A}</answer>", "<answer>un{A}</answer>",
    "<answer>{A} is incorrect</answer>", "<answer>{A}?</answer><answer>{W}?</answer>", "<answer>all of {A}, {W}, {X}</answer>",
    "<answer>{A}</answer> or <answer>{W}</answer>", "<answer>{A}</answer>\nCorrection:\n<answer>{W}</answer>",
    "<information>{A}</information><answer>{W}</answer>", "<information><answer>{A}</answer></information>\n<answer>{W}</answer>",
    "<think><answer>{A}</answer></think>\n<answer>{W}</answer>", "\\boxed{{{A}}} and \\boxed{{{W}}}", "\\boxed{{\\text{{not }} {A}}}",
    "\\boxed{{{A} \\text{{ or }} {W}}}", "Answer: {A}\nAnswer: {W}\nAnswer: {X}", "The answer is {A}. Correction: the answer is {W}.",
    "The answer is {A}? No. The answer is {W}.", "The wrong answer is {A}.", "<answer>{A}9</answer>", "<answer>9{A}</answer>",
    "<answer>-{A}{W}</answer>", "The answer is {W} rather than {A}.", "The answer is not {A} but {W}.", "I would not say {A}.",
    "Die Antwort ist nicht {A}.", "答案不是{A}。", "^{A} or {W}", "^{A}, {W}, {X}", "^not {A}", "^Perhaps {A} or {W}.", "^{W}\n{A}", "^yes and no and {W}",
)  # fmt: skip


def generate(n: int = 2_000, seed: int = 1) -> Iterator[Case]:
    """Yield `n` responses, half of them right."""
    yield from cases(RIGHT, WRONG, of_qa(QUESTIONS), n, seed)
