"""A fifth set of responses to questions with short answers: more wordings than any before it, so that one of them that
is misread counts for less than one in a hundred.

Written after `qa_held_out_3` had been mended, and measured once before anything was changed. Fields as in `qa`; wordings
and questions are others.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.rewards.templates.responses import Case, cases, of_qa

QUESTIONS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("Canberra",), ("Sydney", "Melbourne", "Perth")),
    (("Ludwig van Beethoven", "Beethoven"), ("Joseph Haydn", "Franz Schubert", "Johannes Brahms")),
    (("The Great Gatsby", "Great Gatsby"), ("Moby Dick", "Dracula", "Emma")),
    (("12",), ("-12", "120", "1.2")),
    (("3,600", "3600"), ("360", "36000", "3601")),
    (("tungsten", "wolfram"), ("titanium", "tantalum", "chromium")),
    (("9 November 1989", "November 9, 1989"), ("3 October 1990", "9 November 1988", "November 1989")),
    (("yes",), ("no", "rarely", "unclear")),
    (("Lake Baikal", "Baikal"), ("Lake Victoria", "Lake Superior", "Loch Ness")),
    (("Reykjavík", "Reykjavik"), ("Oslo", "Helsinki", "Nuuk")),
    (("0.75",), ("75", "0.57", "7.5")),
    (("Alan Turing",), ("John von Neumann", "Alonzo Church", "Claude Shannon")),
    (("World Health Organization", "WHO"), ("UNICEF", "Red Cross", "World Bank")),
    (("1066",), ("1067", "1166", "966")),
    (("Pride and Prejudice",), ("Sense and Sensibility", "Persuasion", "Middlemarch")),
)

RIGHT = (
    "<answer>{A}</answer>", "<answer>  {A}\n</answer>", "<answer>{A}!</answer>", "<answer>*{A}*</answer>", "<answer>The answer is {A}</answer>",
    "<answer>It is {A}</answer>", "<answer>\"{A}\"</answer>", "<answer>Answer: {A}</answer>", "<answer>\\boxed{{{A}}}</answer>", "<answer>\n**{A}**\n</answer>",
    "Let me check: {W}? No.\n<answer>{A}</answer>", "<think>{W} or {X}?</think><answer>{A}</answer>", "<think>\nNot {W}.\n</think>\nThe answer is {A}.",
    "<search>{W}</search>\n<information>{W} and {X} are mentioned.</information>\n<answer>{A}</answer>", "The answer is {A}.", "The answer is {A}!", "The answer is \"{A}\".",
    "The answer is '{A}'.", "The answer is *{A}*.", "The answer is `{A}`.", "The answer is: \"{A}\"", "The answer is simply {A}.", "The answer is actually {A}.",
    "The answer is therefore {A}.", "The answer is, of course, {A}.", "The answer is most certainly {A}.", "The answer here is {A}.", "The answer to this question is {A}.",
    "The answer to the question is: {A}.", "The answer should be {A}.", "The answer must be {A}.", "The answer would be {A}.", "The answer turns out to be {A}.",
    "The answer we are looking for is {A}.", "The answer I found is {A}.", "The answer, I am sure, is {A}.", "The final answer is: {A}", "The correct answer is **{A}**.",
    "The correct answer is \"{A}\", not \"{W}\".", "The correct response is {A}.", "The right answer must be {A}.", "The short answer is {A}.", "The short answer: {A}",
    "My answer is {A}.", "My final answer is {A}.", "Our answer is {A}.", "So my answer: {A}", "Answer: {A}", "Answer: {A}.", "Answer: \"{A}\"", "Answer: '{A}'",
    "Answer : {A}", "Answer:\n{A}", "Answer:\n\n**{A}**", "Answer - {A}", "Answer = {A}", "Answer → {A}", "answer is {A}", "ANSWER: **{A}**", "A: The answer is {A}.",
    "Final answer - {A}", "Final answer = {A}", "Final Answer\n\nThe answer is {A}.", "**Final answer:** {A}", "**Final Answer: {A}.**", "***Answer: {A}***",
    "*Final answer*: {A}", "__Answer__: {A}", "> The answer is {A}.", "* Answer: {A}", "1. Answer: {A}", "### Final Answer\n\n{A}", "### Answer: {A}", "## Answer\n\n{A}.",
    "#### Answer\n{A}", "\\boxed{{{A}}}", "\\boxed{{\\text{{{A}}}}}.", "\\[\\boxed{{\\text{{{A}}}}}\\]", "$$\\boxed{{{A}}}$$", "The answer is $\\boxed{{\\text{{{A}}}}}$",
    "Thus \\boxed{{\\textbf{{{A}}}}}", "Hence the answer is {A}.", "Hence, the answer: {A}", "Consequently, the answer is {A}.", "In short, the answer is {A}.",
    "All in all, the answer is {A}.", "To conclude: the answer is {A}.", "Based on the passage, the answer is {A}.", "According to the text, the answer is {A}.",
    "From the documents, the answer is {A}.", "Since it is not {W}, the answer is {A}.", "As {W} does not fit, the answer must be {A}.", "While {W} is often named, the answer is {A}.",
    "It is not {W}; the answer is {A}.", "It isn't {W} or {X}. The answer is {A}.", "{W} would be wrong. The answer is {A}.", "Not {W}! The answer is {A}.",
    "The answer is not {W} but {A}.", "The answer is {A} rather than {W}.", "The answer is {A}, not {W}.", "The answer is {A}.\n\n{W} is a common mistake.",
    "Answer: {W}\n\nThat is wrong, let me correct it.\n\nAnswer: {A}", "The answer is {W}. No, that's wrong. The answer is {A}.", '{{"answer": "{A}"}}',
    '{{"thought": "I recall it.", "answer": "{A}"}}', "^{A}", "^{A}.", "^{A}\n", "^\"{A}\"", "^**{A}.**", "^It is {A}.", "^It's {A}.", "^It was {A}.", "^`{A}`",
    "^<think>Is it {W}?</think>\n\n{A}", "^<think></think>{A}.", "答案是：{A}", "答案: {A}。", "La réponse est {A}.", "Die Antwort ist {A}.", "Die Antwort lautet: {A}",
    "La respuesta es {A}.", "La respuesta correcta es: {A}", "La risposta è {A}.", "A resposta é {A}.", "Ответ: {A}", "答えは{A}です。", "정답은 {A}입니다.",
)  # fmt: skip

WRONG = (
    "<answer>{W}!</answer>", "<answer>The answer is {W}</answer>", "<answer>It is {W}</answer>", "<answer>\\boxed{{{W}}}</answer>", "<think>{A}</think><answer>{W}</answer>",
    "<search>{A}</search>\n<information>{A} is mentioned.</information>\n<answer>{W}</answer>", "<information>The answer is {A}.</information><answer>{W}</answer>",
    "The answer is simply {W}.", "The answer here is {W}.", "The short answer is {W}.", "The correct answer is \"{W}\", not \"{A}\".", "The answer is {W} rather than {A}.",
    "The answer is not {A} but {W}.", "It is not {A}; the answer is {W}.", "Since it is not {A}, the answer is {W}.", "As {A} does not fit, the answer must be {W}.",
    "While {A} is often named, the answer is {W}.", "Answer → {W}", "*Final answer*: {W}", "#### Answer\n{W}", "\\[\\boxed{{\\text{{{W}}}}}\\]", '{{"answer": "{W}"}}',
    '{{"answer": "{A} or {W}"}}', '{{"answer": ["{A}", "{W}"]}}', "^It was {W}.", "^\"{W}\"", "La risposta è {W}.", "정답은 {W}입니다.", "Die Antwort lautet: {W}",
    "Die Antwort ist nicht {A}.", "La réponse n'est pas {A}.", "La respuesta no es {A}.", "答案不是{A}", "Ответ: не {A}",
    "<answer>Not {A}</answer>", "<answer>It is not {A}</answer>", "<answer>It isn't {A}.</answer>", "<answer>definitely not {A}</answer>", "<answer>anyone but {A}</answer>",
    "<answer>{A} or {X}</answer>", "<answer>{A} / {W}</answer>", "<answer>{A} | {W}</answer>", "<answer>{A} + {W}</answer>", "<answer>{A}\n{W}</answer>", "<answer>{W} and {A}</answer>",
    "<answer>{A}, or possibly {W}</answer>", "<answer>maybe {A}, maybe {W}</answer>", "<answer>{A}? {W}?</answer>", "<answer>{A}, no: {W}</answer>", "<answer>{W} (formerly {A})</answer>",
    "<answer>{W} {A} {X}</answer>", "<answer>{A}-{W}</answer>", "<answer>from {A} to {W}</answer>", "<answer>between {A} and {W}</answer>", "<answer>{A} is incorrect</answer>",
    "<answer>{A} is not it</answer>", "<answer>not sure, {A} or {W}</answer>", "<answer>the opposite of {A}</answer>", "<answer>{A}x</answer>", "<answer>x{A}x</answer>",
    "<answer>3{A}</answer>", "<answer>un{A}</answer>", "<answer>{A}{W}</answer>", "<answer>N/A</answer>", "<answer>n.a. ({A}?)</answer>", "<answer>I do not know</answer>",
    "<answer>see above</answer>", "<answer>...</answer>", "<answer>-</answer>", "<answer></answer>", "<answer>\n</answer>", "<answer>{A}</answer> <answer>{W}</answer>",
    "<answer>{A}</answer>\nWait, that is wrong.\n<answer>{W}</answer>", "<answer>{W}</answer>\n\nP.S. {A} would be wrong.", "<!-- <answer>{A}</answer> --><answer>{W}</answer>",
    "The answer isn't {A}.", "The answer is never {A}.", "The answer cannot be {A}.", "The answer is far from {A}.", "The answer is anything but {A}.", "The answer is neither {A} nor {W}.",
    "The answer is either {A} or {W}.", "The answer is {A} and {W}.", "The answer is {A}, {W} or {X}.", "The answer is {A}; or {W}.", "The answer is {A}? No, {W}.", "The answer is {A}. Or {W}.",
    "The answer is {A}. Wait, no: {W}.", "The answer is {A}. Sorry, the answer is {W}.", "The answer is {A}. That is incorrect.", "The answer is {A}. Hmm, that can't be right.",
    "The answer is {A}, which is wrong.", "The answer may be {A}.", "The answer could be {A}.", "The answer might be {A} or {W}.", "The wrong answer is {A}.", "The second best answer is {A}.",
    "Your answer is {A}, mine is {W}.", "His answer was {A}.", "If the answer is {A}, I will be surprised.", "Is the answer {A}?", "Perhaps the answer is {A}? No.", "Nobody thinks that the answer is {A}.",
    "I doubt that the answer is {A}.", "I don't think the answer is {A}.", "It is false that the answer is {A}.", "Some say the answer is {A}.", "One could guess {A}. The answer is {W}.",
    "Answer: not {A}", "Answer: {A} or {W}", "Answer: {A}; {W}", "Answer: {A}?", "Answer: {A}, {W}, {X}", "Answer: {W}\n\nNote: {A} is wrong.", "Answer: {A}\n\nNo, wait. Answer: {W}", "Answer: {A} (incorrect)",
    "Incorrect answer: {A}", "Previous answer: {A}\nNew answer: {W}", "Answer A: {A}\nAnswer B: {W}", "### Answer\n- {A}\n- {W}", "\\boxed{{{A} \\text{{ or }} {W}}}", "\\boxed{{{A}}}, \\boxed{{{W}}}",
    "\\boxed{{\\text{{not }} {A}}}", "\\boxed{{\\neq {A}}}", "^{A} or {W}", "^{A} and {W}", "^Not {A}.", "^It is not {A}.", "^{A}? No.", "^Maybe {A}, maybe {W}.", "^{A}\n{W}\n{X}", "^I think of {A}, {W} and {X}.",
    "^", "^\n", "^.", "^the", "^<think>{A}</think>", "^<think>The answer is {A}.", "I cannot answer this question.", "Correct! The answer was given above.", "The answer is left blank.",
)  # fmt: skip


def generate(n: int = 2_000, seed: int = 1) -> Iterator[Case]:
    """Yield `n` responses, half of them right."""
    yield from cases(RIGHT, WRONG, of_qa(QUESTIONS), n, seed)
