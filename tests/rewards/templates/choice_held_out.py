"""A third set of responses to multiple-choice questions, written before the wordings that `choice_fresh` showed to be
missing were mended: the mended rules are measured on it.

Fields as in `choice`; wordings and questions are others, and among the options are some that contain one another.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.rewards.templates.responses import Case, cases, of_choice

QUESTIONS: tuple[tuple[str, ...], ...] = (
    ("vitamin A", "vitamin C", "vitamin D", "vitamin K"),
    ("red", "dark red", "blue", "light blue"),
    ("5%", "10%", "50%", "0.5%", "15%"),
    ("x + 1", "x - 1", "2x", "x^2"),
    ("James buys a car", "James sells a car", "James paints a fence", "James goes home"),
    ("supply falls", "demand falls", "both fall", "none of the above"),
    ("The heart pumps blood.", "The heart stores bile.", "The heart digests food.", "The heart filters air."),
    ("Beijing", "Tokyo", "Seoul", "Hanoi", "Manila", "Bangkok", "Jakarta", "Delhi", "Dhaka", "Kabul"),
    ("a right triangle", "an acute triangle", "an obtuse triangle", "an isosceles triangle"),
    ("Type I error", "Type II error", "sampling error", "no error"),
)

RIGHT = (
    "The answer must be {L}.", "The answer would therefore be {L}.", "The correct answer is thus {L}.", "The correct choice would be ({L}).",
    "The best option here is {L}.", "The most appropriate answer is {L}. {T}", "The most likely answer is {L}.",
    "Based on this, the answer is {L}.", "Answer – {L}", "Answer — {T}", "Answer -> {L}", "Ans: {L}", "Final answer – **{L}**",
    "Final Answer is {L}", "The final choice is {L}.", "Selected option: {L}", "My choice: {L}", "Choice: {L}", "Option: {L}",
    "Therefore, {L}.", "Therefore: {L}", "Hence, option {L}.", "So it's {L}.", "It is {L}.", "It has to be {L}.", "So it must be {T}.",
    "That leaves {L}.", "This leaves us with option {L}.", "This corresponds to option {L}.", "This matches option {L}.",
    "Only option {L} is correct.", "{L} is the best answer.", "{L} is the answer because it fits.", "Option {L} ({T}) is correct.",
    "**{L}. {T}** is the correct answer.", "{T} is the correct answer.", "{T} is correct.", "The correct answer is {T}, which is option {L}.",
    "The answer is {T} ({L}).", "The answer is {T}, option {L}.", "Answer: {T} ({L})", "Answer: {L} because {T} fits.", "I'm going with {L}.",
    "I am confident that the answer is {L}.", "I believe the answer is {L}.", "I think the correct answer is {L}.", "I would answer {L}.",
    "My pick is {L}.", "Let's go with {L}.", "We therefore choose {L}.", "We can conclude that the answer is {L}.",
    "In conclusion, the correct answer is {L}.", "The answer to the question is {L}.", "The correct answer to this question is option {L}.",
    "The correct answer among the options is {L}.", "The answer, then, is {L}.", "The answer is definitely {L}.",
    "The answer is clearly option {L}: {T}.", "The answer is indeed {L}.", "The answer is letter {L}.", "The answer is choice {L}.",
    "The answer is {L} – {T}.", "The answer is {L}: {T}.", "Answer: {L}. {T} is what fits the description.",
    "Answer: {L}\n\n{T} fits because of what was said.", "**Correct Answer: {L}) {T}**", "✅ **{L}. {T}**", "<answer>The answer is {L}</answer>",
    "<answer>**{L}**</answer>", "<answer>{L}: {T}</answer>", "\\boxed{{\\text{{Option }}{L}}}", "\\boxed{{{L}.}}", "\\[\\boxed{{{L}}}\\]",
    '{{"answer": "{L}"}}', '```json\n{{"answer": "{L}"}}\n```', "#### {L}", "### Answer: {L}", "## Answer\n\nThe correct option is {L}.",
    "**Answer**\n\n{L}. {T}", "^{L} - {T}", "^Option {L}: {T}", "^({L}) {T}.", "La réponse correcte est {L}.", "La respuesta es ({L}).",
    "Die richtige Antwort ist {L}.", "Die Antwort lautet {L}.", "正确选项是{L}", "所以答案是 {L}", "答えは{L}です。", "Правильный ответ: {L}",
    "Although {W} is tempting, the answer is {L}.", "{W} is incorrect because it does not fit. {L} is correct because it fits.",
    "A few checks rule out {W}. The answer would have to be {L}.", "The answer cannot be {W}; it must be {L}.", "The answer is not {W} but {L}.",
    "The answer is {L} rather than {W}.", "The answer is {L}, as {W} and {X} do not fit.", "The answer is {L} (not {W}).",
    "{W}: does not fit.\n{X}: does not fit.\n{L}: fits.\n\nAnswer: {L}", "{U} does not fit, nor does {V}. The answer should be {T}.",
)  # fmt: skip

WRONG = (
    "The answer must be {W}.", "The correct answer is thus {W}.", "Answer – {W}", "Answer -> {W}", "Ans: {W}", "Selected option: {W}",
    "Therefore, {W}.", "So it's {W}.", "It has to be {W}.", "That leaves {W}.", "{U} is the correct answer.", "The answer is {U} ({W}).",
    "I'm going with {W}.", '{{"answer": "{W}"}}', "#### {W}", "Die richtige Antwort ist {W}.", "✅ **{W}. {U}**", "The answer should be {U}.",
    "The answer should not be {L}.", "The answer must not be {L}.", "The answer would be {L} if the question were another.",
    "The answer would have been {L}, but {W} fits better.", "The answer should be {L} or {W}.", "The answer could be {L}.",
    "The answer might be {L}.", "The answer may be {L}, I am not sure.", "Maybe {L}.", "Possibly {L}, possibly {W}.",
    "The answer could be {L}, but it is {W}.", "Answer - {L} or {W}", "Answer - not {L}", "Answer – {L}, {W}", "The answer is neither {L} nor {W}.",
    "The answer is {T}, not {U}. No, it is {U}.", "The answer is {U}, option {L}.", "The answer is {T} ({W}).", "{T} is not the answer.",
    "{T} is wrong.", "{T} is not correct.", "{T} isn't the correct answer.", "Both {T} and {U} are correct.", "Only {L} and {W} fit.",
    "That leaves {L} and {W}.", "That leaves {L} out.", "It cannot be {L}.", "It can't be {L}, so it's {W}.", "Not {L}: it must be {W}.",
    "{L} is ruled out, so {W}.", "I'd choose {L} if I had to, otherwise {W}.", '{{"answer": ["{L}", "{W}"]}}', '{{"answer": "{L} or {W}"}}',
    "#### {L} {W}", "Choosing {L} would be a mistake.", "{L} is the wrong answer.", "{L} is the best answer? No.", "Is {L} correct?",
    "If {L} is correct, then pigs fly.", "The wrong answer is {L}.", "The worst choice is {L}.", "The incorrect option is {L}.",
    "The least likely answer is {L}.", "The answer key says {L}, but that is wrong.", "The answer that most students give is {L}. It is {W}.",
    "The answer is {L}? Hmm, more likely {W}.", "Answer: {L} -> {W}", "Answer: {L}\n\nEdit: {W}", "The answer is {L}.\nThe answer is {W}.",
    "Final answer: {W}\nFinal answer: {L}\nFinal answer: {X}", "{L} or {W} is correct.", "{L} and {W} are both right.",
    "Neither {L} nor {W} is correct.", "It is not the case that the answer is {L}.", "There is no way that the answer is {L}.",
    "I would never choose {L}.", "I won't pick {L}.", "We can't choose {L}.", "Don't go with {L}.", "You should not select {L}.",
    "Some say that the answer is {L}; they are wrong.", "All but {L}.", "The opposite of {L}.", "Anything other than {L}.",
    "So it is not {L}.", "Therefore, not {L}.", "Therefore, {L} or {W}.", "It is {L} or {W}.", "It is {L}, {W} or {X}.", "It must be {L} or {W}.",
    "This rules out option {L}.", "This does not match option {L}.", "This corresponds to options {L} and {W}.", "This matches neither {L} nor {W}.",
    "The answer is definitely not {L}.", "The answer is hardly {L}.", "The answer is far from {L}.", "The answer is anything but {L}.",
    "Ans: {L}/{W}", "Choice: {L} | {W}", "Option: not {L}", "My choice: {L}, then {W}, then {X}", "My pick is between {L} and {W}.",
    "<answer>The answer is not {L}</answer>", "<answer>The answer is {L} or {W}</answer>", "\\boxed{{\\text{{Option }}{W}}}",
    "\\boxed{{\\text{{not }}\\text{{{T}}}}}", "The answer is {W} (not {L}).", "The answer is {W} rather than {L}.", "The answer is not {L} but {W}.",
    "{L} is the answer that I would avoid.", "{T} would be correct if it were larger.", "{T} is correct? No: {U} is.", "Die Antwort ist nicht {L}.",
    "La respuesta no es {L}.", "答案不是{L}。", "Ответ не {L}.", "La réponse n'est pas {L}.",
)  # fmt: skip


def generate(n: int = 2_000, seed: int = 1) -> Iterator[Case]:
    """Yield `n` responses, half of them right."""
    yield from cases(RIGHT, WRONG, of_choice(QUESTIONS), n, seed)
