"""A fourth set of responses to multiple-choice questions, written after `choice_held_out` had been measured and before
what that showed was mended.

Fields as in `choice`; wordings and questions are others.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.rewards.templates.responses import Case, cases, of_choice

QUESTIONS: tuple[tuple[str, ...], ...] = (
    ("copper", "zinc", "tin", "lead"),
    ("an oak", "an elm", "a pine", "a birch", "a willow"),
    ("increase", "decrease", "remain constant", "fluctuate"),
    ("1/2", "1/3", "2/3", "3/4"),
    ("She waters the plants", "She waters the lawn", "She reads a book", "She bakes bread"),
    ("Article I", "Article II", "Article III", "Article V"),
    ("$12", "$120", "$1.20", "$21"),
    ("mitosis", "meiosis", "binary fission", "budding", "all of the above"),
    ("north", "south", "east", "west", "northeast", "southwest"),
)

RIGHT = (
    "The answer is {L}.\n", "**{L}**\n", "**{L}. {T}**", "**({L}) {T}**", "{L}", "({L})", "Option {L}.", "Option {L}: {T}", "Answer {L}",
    "The correct answer is **{L}**.", "The correct answer is **{L}. {T}**.", "The correct answer is ({L}) {T}.",
    "The correct option is {L}: {T}.", "The correct answer is option **({L})**.", "The correct answer is {L} – {T}.",
    "Therefore, the correct answer is **({L}) {T}**.", "Therefore, the answer is \\(\\boxed{{{L}}}\\).", "So the correct answer is {L}: {T}",
    "Thus, the best answer would be {L}.", "Hence, the answer should be **{L}**.", "So, the right choice must be {L}.",
    "Final Answer: \\boxed{{{L}}}", "Final Answer: The final answer is $\\boxed{{{L}}}$", "The final answer is {L}. I hope it is correct.",
    "**Final Answer**\n\n\\[\n\\boxed{{{L}}}\n\\]", "**Final Answer**\n\n**{L}**", "**Answer: {L}**\n\n**Explanation:** {T} fits the question.",
    "**Answer:** {L}. {T}\n\n**Why:** because it fits.", "Answer: {L} ({T})", "Answer: ({L}) – {T}", "Answer is {L}", "answer is ({l})",
    "Correct answer is {L}", "The correct answer is {T}.", "The correct answer is **{T}**.", "The best answer is {T}.",
    "Therefore, the correct answer is {T}, option {L}.", "The answer must therefore be {T}.", "Answer: **{T}**", "<answer>{T}.</answer>",
    "<answer>\\boxed{{{L}}}</answer>", "<answer>The correct answer is {L}.</answer>", "<think>\n{W}? {X}? no.\n</think>\n\nThe correct answer is {L}.",
    "<think>\nI guess {W}.\n</think>\n\n**{L}**", "### Conclusion\nThe correct answer is {L}.", "### Answer\n**{L}) {T}**",
    "### Final answer\nThe answer is {L}.", "**Conclusion:** The correct answer is {L}.", "Conclusion: {L} is correct.", "{L} is therefore correct.",
    "Option {L} is therefore the correct answer.", "Option {L} is the best choice.", "The best option is therefore {L}.",
    "I would say {L}.", "I'd say the answer is {L}.", "My answer would be {L}.", "My final choice is {L}.", "I'd go for {L}.", "We select {L}.",
    "Eliminating {W} and {X}, the answer is {L}.", "{W} and {X} can be ruled out. The correct answer is {L}.",
    "{W}) {U} - incorrect.\n{X}) {V} - incorrect.\n{L}) {T} - correct.\n\nThe answer is {L}.", "Neither {W} nor {X} fits. The answer is {L}.",
    "While {W} may seem plausible, the correct answer is {L}.", "Unlike {W}, option {L} fits. The answer is {L}.",
    "Let me double-check: {T} fits, {U} does not. So the answer is {L}.", "The answer is {L}, since {U} does not fit.",
    "The answer is {L} because {W} is wrong.", "The answer is {L}; the other options do not fit.", "The correct answer isn't {W}; it's {L}.",
    "[[{L}]]", "\\boxed{{{L}}}.", "$\\boxed{{\\textbf{{({L})}}}}$", "\\boxed{{\\text{{{L}. {T}}}}}", "\\(\\boxed{{\\text{{{L}}}}}\\)",
    '{{"reasoning": "it fits", "answer": "{L}"}}', '{{"answer": "{L}) {T}"}}', "因此，正确答案是 **{L}**。", "所以选 {L}。", "正解は{L}です。",
    "Respuesta: {L}", "La respuesta correcta es la opción {L}.", "La bonne réponse est la {L}.", "Die korrekte Antwort ist ({L}).",
)  # fmt: skip

WRONG = (
    "The answer is {W}.\n", "**{W}. {U}**", "Option {W}.", "Answer {W}", "Therefore, the answer is \\(\\boxed{{{W}}}\\).", "Answer is {W}",
    "The correct answer is {U}.", "<answer>The correct answer is {W}.</answer>", "### Conclusion\nThe correct answer is {W}.", "[[{W}]]",
    "{W} is therefore correct.", "I would say {W}.", "所以选 {W}。", "La respuesta correcta es la opción {W}.", "The answer is {W} because {L} is wrong.",
    "The correct answer isn't {L}; it's {W}.", "I would say {L} or {W}.", "I'd go for {L} or {W}.", "I wouldn't say {L}.", "I would not go for {L}.",
    "[[{L}]] [[{W}]]", "[[{L}, {W}]]", "\\boxed{{{L}}}, \\boxed{{{W}}}", "\\boxed{{{L} \\lor {W}}}", "\\boxed{{\\overline{{{L}}}}}",
    "Answer {L} or {W}", "The answer is {L}/{W}.", "The answer is {L} and also {W}.", "The answer is {L}, or possibly {W}.",
    "The answer is {L}, though it could also be {W}.", "The answer is {L} if we ignore {W}.", "The answer is {L} unless it is {W}.",
    "The answer is probably {L} or {W}.", "The answer is {L} and {W} is also correct.", "{L} is correct, and so is {W}.", "{L} is correct. {W} is correct.",
    "{L} is correct if {W} is.", "{L} is correct only when it is raining.", "{L} is not necessarily correct.", "{L} is never correct.",
    "{L} is almost correct, but {W} is better.", "It is wrong to say that {L} is correct.", "Nobody believes that {L} is correct.",
    "I do not think {L} is correct.", "I doubt {L} is correct.", "It is unclear whether {L} is correct.", "Some would argue {L} is correct.",
    "The claim that {L} is correct is false.", "{W} or {L} is correct.", "{W} and {L} are correct.", "One of {W} and {L} is correct.",
    "Between {W} and {L}.", "Suppose the answer is {L}.", "Assume that the answer is {L}.", "Let us see if the answer is {L}.",
    "Whether the answer is {L} is unclear.", "What if the answer is {L}?", "The student's answer is {L}.", "The model's wrong answer: {L}",
    "An incorrect answer would be {L}.", "A bad choice would be {L}.", "The second best answer is {L}; the best is {W}.",
    "The answer used to be {L}.", "The answer will never be {L}.", "The answer has never been {L}.", "The answer is no longer {L}.",
    "The answer was thought to be {L}.", "The answer is less likely {L}.", "The answer is opposite to {L}.", "The answer is next to {L}.",
    "The answer is after {L}.", "The answer is everything but {L}.", "The answer is all except {L}.", "The answer rhymes with {L}.",
    "The answer excludes {L}.", "The answer starts with the letter {L}.", "The answer is {L}... just kidding, {W}.", "Answer: {L}, no: {W}",
    "Answer: {L} → {W}", "Answer: ~~{L}~~ {W}", "Answer: {W} ~~{L}~~", "Answer: {L}\n\nWait. Answer: {W}", "Answer: {L}\n\nHmm, that is wrong.",
    "Answer: {L}\n\nI was wrong.", "Answer: {L}\n\nOn second thought, {W}.", "Answer: {L}\n\nSo the final answer is {W}.", "Answer: {L}. Or {W}.",
    "Answer: {L}. Alternatively, {W}.", "Answer: {L}. Maybe {W}.", "So it's {L} or {W}.", "So it isn't {L}.", "Thus {L} is excluded.",
    "Thus {L} is wrong.", "Therefore {L} can be eliminated.", "Therefore, {L} is not the answer.", "That leaves neither {L} nor {W}.",
    '{{"answer": "not {L}"}}', '{{"answers": ["{L}", "{W}", "{X}"]}}', '{{"answer": "{W}", "rejected": "{L}"}}', '{{"wrong_answer": "{L}"}}',
    "<answer>{L}</answer>\n<answer>{W}</answer>\n<answer>{X}</answer>", "<answer>It is {L} or {W}.</answer>", "<answer>{U}, not {T}</answer>",
    "<wrong>{L}</wrong>", "不选 {L}。", "答案不可能是{L}。", "La respuesta correcta no es {L}.", "Die Antwort lautet nicht {L}.", "Réponse : pas {L}",
    "A: maybe. B: maybe. C: maybe. D: maybe.", "I'd rather not choose.", "I am unable to choose between the options.", "A good question. In short: hard.",
)  # fmt: skip


def generate(n: int = 2_000, seed: int = 1) -> Iterator[Case]:
    """Yield `n` responses, half of them right."""
    yield from cases(RIGHT, WRONG, of_choice(QUESTIONS), n, seed)
