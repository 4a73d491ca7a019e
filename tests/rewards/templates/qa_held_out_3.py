"""A fourth set of responses to questions with short answers, written after `qa_held_out_2` had been measured and before
what that showed was mended.

Fields as in `qa`; wordings and questions are others.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.rewards.templates.responses import Case, cases, of_qa

QUESTIONS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("Nairobi",), ("Mombasa", "Kampala", "Lagos")),
    (("Miguel de Cervantes", "Cervantes"), ("Lope de Vega", "Federico Lorca", "Octavio Paz")),
    (("The Wizard of Oz", "Wizard of Oz"), ("Peter Pan", "Mary Poppins", "Bambi")),
    (("9",), ("6", "-9", "99", "0.9")),
    (("65,000", "65000"), ("6,500", "650000", "65,001")),
    (("helium",), ("hydrogen", "neon", "argon")),
    (("20 July 1969", "July 20, 1969"), ("21 June 1969", "20 July 1968", "July 1969")),
    (("no",), ("yes", "often", "unknown")),
    (("Sahara Desert", "Sahara"), ("Gobi Desert", "Kalahari", "Negev")),
    (("Málaga", "Malaga"), ("Seville", "Granada", "Madrid")),
    (("-40",), ("40", "-4", "-400")),
    (("Rosalind Franklin",), ("James Watson", "Francis Crick", "Maurice Wilkins")),
    (("International Monetary Fund", "IMF"), ("World Trade Organization", "OECD", "European Central Bank")),
)

RIGHT = (
    "<answer>\n\n{A}\n\n</answer>", "<think>\n{W}\n</think>\n\n<answer>\n{A}\n</answer>", "<answer>{A}</answer>\n\nI am sure.", "<answer>'{A}'</answer>",
    "<answer>The answer is: {A}</answer>", "<answer>Final answer: {A}</answer>", "<answer>It was {A}.</answer>", "<answer>\\text{{{A}}}</answer>",
    "<answer> __{A}__ </answer>", "The answer: {A}", "The answer is: **{A}**.", "The answer was {A}.", "The answer will be {A}.", "The answer has to be {A}.",
    "The answer can only be {A}.", "The correct answer would be {A}.", "The right answer is {A}.", "The answer is clearly {A}.", "The answer is indeed {A}.",
    "Thus, the final answer is **{A}**.", "Therefore, the answer must be {A}.", "This means that the answer is {A}.", "answer: {A}", "ANSWER = {A}",
    "Final Answer: The final answer is {A}", "> Answer: {A}", "- **Answer**: {A}", "# Answer\n{A}", "## Final answer\n\n**{A}**", "**Final answer**: {A}",
    "My final answer: {A}", "Right answer: {A}", "The final answer is $\\boxed{{{A}}}$.", "\\boxed{{\\mathrm{{{A}}}}}", "$$\n\\boxed{{\\text{{{A}}}}}\n$$",
    "Many say {W}, but the answer is {A}.", "{W} is wrong; the answer is {A}.", "First I thought of {W}. The correct answer is {A}.",
    "The answer is {A}. {W} is wrong.", "The answer is {A}, not {W}.", "The answer is {A} (not {W}).", "<answer>{A} (not {W})</answer>", "^'{A}'", "^{A}\n",
    "^ **{A}** ", "答案为{A}", "答案是：{A}", "答えは{A}です。", "La respuesta: {A}", "Ответ: {A}.", "Réponse : **{A}**",
)  # fmt: skip

WRONG = (
    "<answer>It was {W}.</answer>", "The answer was {W}.", "The answer can only be {W}.", "> Answer: {W}", "The answer is {W} (not {A}).", "答案为{W}",
    "<answer>{W} (not {A})</answer>", "<answer>It was {A} or {W}.</answer>", "<answer>It was not {A}.</answer>", "<answer>The answer isn't {A}</answer>",
    "<answer>{A} = {A} = {W}</answer>", "<answer>{A}, {A}, {W}</answer>", "<answer>{A} but also {W}</answer>", "<answer>{A} (or {W})</answer>",
    "<answer>{A} [{W}]</answer>", "<answer>{A}: {W}</answer>", "<answer>{W}: {A}</answer>", "<answer>{A} -> {W}</answer>", "<answer>{A}→{W}</answer>",
    "<answer>not {A} but {W}</answer>", "<answer>no {A}</answer>", "<answer>never {A}</answer>", "<answer>hardly {A}</answer>", "<answer>{A}? no</answer>",
    "<answer>{A}, I guess, or {W}</answer>", "<answer>opposite of {A}</answer>", "<answer>before {A}</answer>", "<answer>{A}ish</answer>",
    "<answer>{A}{W}</answer>", "<answer>{W}{A}</answer>", "<answer>2{A}</answer>", "<answer>{A}2</answer>", "<answer>{A}e5</answer>", "<answer>{A}/2</answer>",
    "<answer>{A} million</answer>", "<answer>{A} and a half</answer>", "<answer>half of {A}</answer>", "<answer>~{A} or {W}</answer>",
    "The answer is {A}, or else {W}.", "The answer is {A}, but it may be {W}.", "The answer is {A} as well as {W}.", "The answers are {A} and {W}.",
    "The answer is {A}. The answer is also {W}.", "The answer isn't {A}.", "The answer wasn't {A}.", "The answer can never be {A}.",
    "The answer ought not to be {A}.", "The answer was never {A}.", "Answer: {A}\n\nActually, {W}.", "Answer: {A}\n\nSorry, I mean {W}.", "Answer: {A}\n\nOr {W}?",
    "Answer: {A}\n\nAlternatively: {W}", "Answer 1: {A}\nAnswer 2: {W}", "Answer: {A}\nAlternative answer: {W}", "Answer: {A}\n\nThis answer is wrong.",
    "My friend's answer is {A}. I disagree.", "The old answer: {A}. The new answer: {W}.", "Wrong answer: {A}", "Not the answer: {A}", "The answer is false: {A}.",
    "^{A}. {W}.", "^{A} & {W}", "^{A}\n\n{W}", "^{A}, or maybe {W}", "^I doubt that it is {A}", "^It is not {A}", "^It isn't {A}.", "^{W}, not {A}",
    "^{A}? Hardly.", "La respuesta no puede ser {A}.", "Antwort: nicht {A}", "答案是{A}或{W}", "<answer></answer>{A}", "<answer>{A}</answer><answer></answer><answer>{W}</answer>",
)  # fmt: skip


def generate(n: int = 2_000, seed: int = 1) -> Iterator[Case]:
    """Yield `n` responses, half of them right."""
    yield from cases(RIGHT, WRONG, of_qa(QUESTIONS), n, seed)
