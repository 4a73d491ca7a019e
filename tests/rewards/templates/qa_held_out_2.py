"""A third set of responses to questions with short answers, written after `qa_held_out` had been measured and before
what that showed was mended.

Fields as in `qa`; wordings and questions are others.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.rewards.templates.responses import Case, cases, of_qa

QUESTIONS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("Ottawa",), ("Toronto", "Montreal", "Vancouver")),
    (("Leo Tolstoy", "Tolstoy"), ("Anton Chekhov", "Fyodor Dostoevsky", "Nikolai Gogol")),
    (("The Great Gatsby", "Great Gatsby"), ("Tender Is the Night", "Ulysses", "Dracula")),
    (("7",), ("8", "-7", "77", "0.7")),
    (("12,500", "12500"), ("1,250", "125000", "12,501")),
    (("iron",), ("copper", "zinc", "steel")),
    (("3 October 1990", "October 3, 1990"), ("3 November 1990", "13 October 1990", "October 1990")),
    (("yes",), ("no", "perhaps", "neither")),
    (("River Thames", "Thames"), ("River Severn", "Seine", "Danube")),
    (("Reykjavík", "Reykjavik"), ("Oslo", "Bergen", "Helsinki")),
    (("2.5",), ("25", "-2.5", "2.05")),
    (("Ada Lovelace",), ("Grace Hopper", "Mary Somerville", "Emmy Noether")),
    (("North Atlantic Treaty Organization", "NATO"), ("Warsaw Pact", "SEATO", "European Union")),
)

RIGHT = (
    "<answer>{A}</answer>\n", "<think>{W}</think>\n<answer> {A} </answer>", "<answer>It is {A}.</answer>", "<answer>The correct answer is {A}.</answer>",
    "<answer>Answer: {A}</answer>", "<answer>*{A}*</answer>", "<answer>{A}!</answer>", "The answer is thus {A}.", "The correct answer is **{A}**.",
    "The final answer is {A}.", "Final answer: **{A}**.", "**Final Answer:** {A}", "Therefore, the answer should be **{A}**.", "So the answer is: {A}",
    "Answer: “{A}”", "Answer — {A}", "The answer here is {A}.", "The correct answer to this question is {A}.", "I would answer {A}.",
    "My answer is {A}.", "\\(\\boxed{{\\text{{{A}}}}}\\)", "The answer is $\\boxed{{\\text{{{A}}}}}$.", "### Answer\n\n{A}\n", "### Final answer: {A}",
    "Although one might think of {W}, the answer is {A}.", "It cannot be {W}, so the answer is {A}.", "Some claim {W}. However, the answer is {A}.",
    "<information>{W} and {X}</information>\nThe answer is {A}.", "<answer>{A}, not {W}</answer>", "The answer isn't {W} but {A}.",
    "The answer is {A} rather than {W}.", "The answer is {A}, and not {W}.", "^{A}.\n", "^**{A}.**", "^<answer>{A}", "^“{A}.”", "正确答案是 {A}。",
    "La bonne réponse est {A}.", "La respuesta correcta es {A}.", "Die Antwort lautet {A}.", '{{"answer": "{A}"}}',
)  # fmt: skip

WRONG = (
    "<answer>It is {W}.</answer>", "<answer>Answer: {W}</answer>", "The answer is thus {W}.", "Answer — {W}", "I would answer {W}.", "^**{W}.**",
    '{{"answer": "{W}"}}', "<answer>{W}, not {A}</answer>", "The answer isn't {A} but {W}.", "The answer is {W}, and not {A}.",
    "<answer>It is not {A}.</answer>", "<answer>It is {A} or {W}.</answer>", "<answer>The answer is {A}, maybe {W}.</answer>",
    "<answer>{A}</answer> <answer>{W}</answer> <answer>{X}</answer>", "<answer>{A}; {W}; {X}</answer>", "<answer>{A} / {W}</answer>",
    "<answer>{A} vs {W}</answer>", "<answer>{W} {A}</answer>", "<answer>{A} {W}</answer>", "<answer>{A}\n{W}</answer>", "<answer>{W}\n{A}</answer>",
    "<answer>{A} is not the answer</answer>", "<answer>definitely not {A}</answer>", "<answer>non-{A}</answer>", "<answer>anti{A}</answer>",
    "<answer>{A}00</answer>", "<answer>0{A}1</answer>", "<answer>{A}.5</answer>", "<answer>${W}$ {A}</answer>", "I would not answer {A}.",
    "Suppose the answer is {A}.", "The answer could be {A}.", "The answer may be {A} or {W}.", "The answer was once {A}, now it is {W}.",
    "The answer is not necessarily {A}.", "The answer is everything but {A}.", "The answer is no longer {A}.", "An incorrect answer is {A}.",
    "His answer was {A}. Mine is {W}.", "The least likely answer is {A}.", "Whether the answer is {A} is unclear.", "What if the answer is {A}?",
    "Answer: {A}, no, {W}", "Answer: {A}\n\nI was wrong.", "Answer: {A}\n\nWait, no. Answer: {W}", "Answer: {A}. Or {W}.", "Answer: {A} → {W}",
    "^{A} {W}", "^{A}? {W}?", "^neither", "^{A}, or else {W}", "^un{A}", "^{W}; {A}", "^Not {A}, {W}.", "答案不可能是{A}。", "La respuesta no es {A}.",
    "Die Antwort lautet nicht {A}.", "<think>{A}</think><answer>{W}</answer>", "<!-- {A} --><answer>{W}</answer>", '{{"answers": ["{A}", "{W}"]}}',
)  # fmt: skip


def generate(n: int = 2_000, seed: int = 1) -> Iterator[Case]:
    """Yield `n` responses, half of them right."""
    yield from cases(RIGHT, WRONG, of_qa(QUESTIONS), n, seed)
