"""A twelfth set of responses to multiple-choice questions: more wordings than any before it, as people and models of many
kinds write them, so that one of them that is misread counts for less than one in a hundred.

Written after `choice_held_out_8` had been mended, and measured once before anything was changed. Fields as in `choice`;
wordings and questions are others.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.rewards.templates.responses import Case, cases, of_choice

QUESTIONS: tuple[tuple[str, ...], ...] = (
    ("nitrogen", "oxygen", "carbon dioxide", "methane"),
    ("The Nile", "The Amazon", "The Yangtze", "The Danube", "The Volga"),
    ("45 degrees", "60 degrees", "90 degrees", "120 degrees"),
    ("Marie Curie", "Lise Meitner", "Dorothy Hodgkin", "Ada Lovelace"),
    ("It accelerates", "It slows down", "It stops", "It turns around"),
    ("O(1)", "O(log n)", "O(n)", "O(n log n)", "O(n^2)"),
    ("supply exceeds demand", "demand exceeds supply", "prices are fixed", "wages rise"),
    ("mitochondria", "ribosomes", "chloroplasts", "lysosomes", "vacuoles"),
    ("0.01", "0.05", "0.1", "0.5"),
    ("she opens the window", "she closes the window", "she breaks the window", "she cleans the window"),
    ("Kyoto", "Osaka", "Nara", "Sapporo"),
    ("a tort", "a contract", "a crime", "a trust"),
)

RIGHT = (
    "Going through the options one by one, the answer comes out as {L}.", "After ruling out the rest, I am left with {L}.", "Final verdict: {L}",
    "Everything points to {L}. The answer is {L}.", "I'm going with {L}.", "I am going with option {L}.", "My choice is {L}.", "My pick: {L}",
    "My answer would be {L}.", "I select {L}.", "I choose ({L}).", "I'd choose {L}, {T}.", "We choose option {L}.", "We should select {L}.",
    "So we pick {L}.", "Let us choose {L}.", "The only correct option is {L}.", "The only answer that makes sense is {L}.",
    "The one that fits is {L}.", "The option that fits best is {L}.", "The statement that is correct is {L}.", "The correct statement is {L}.",
    "Correct: {L}", "Correct answer -> {L}", "**Correct Answer:** ({L}) {T}", "**The correct answer is {L}) {T}.**", "*Answer:* {L}",
    "Answer:{L}", "answer: {L}", "ANSWER: ({L})", "Answer is {L}.", "Answer is option {L}.", "Answer - ({L}) {T}", "Answer → {L}",
    "Ans. {L}", "Ans - {L}", "A: The answer is {L}.", "Solution: {L}", "Solution: The answer is {L}.", "Result: the answer is {L}.",
    "The solution is option {L}.", "Hence, option ({L}).", "Hence option {L} is correct.", "Therefore option {L} is the right choice.",
    "Thus, ({L}) is correct.", "So ({L}) it is; the answer is {L}.", "It's {L}.", "It is {L}, {T}.", "That would be {L}.", "This is {L}.",
    "Clearly the answer is {T}.", "The answer is obviously {L}.", "The answer must therefore be {T}.", "The answer has got to be {L}.",
    "The answer can only be {L}.", "The answer ends up being {L}.", "The answer turns out to be ({L}).", "The answer, then, is {L}.",
    "The answer here is {L}: {T}.", "The answer I get is {L}.", "The answer to the question is ({L}) {T}.", "The answer is choice {L}.",
    "The answer is letter {L}.", "The answer is the option {L}.", "The answer is option {L}, namely {T}.", "The answer is {L}, i.e. {T}.",
    "The answer is {L}, which is {T}.", "The answer is {L} ({T}), because the others are wrong.", "The answer is {T}, i.e. {L}.",
    "The answer is {T}, which is option {L}.", "The answer is {L}. All other options are wrong.", "The answer is {L}, as we have seen.",
    "The answer is {L} and not {W}.", "The answer is {L}, not {W} or {X}.", "The answer is not {W} but {L}.", "It is not {W}, so the answer is {L}.",
    "{W} is incorrect. {X} is incorrect. {L} is correct.", "{W}: wrong\n{X}: wrong\n{L}: right\n\nAnswer: {L}", "{L} is correct.",
    "{L} is the answer.", "{L} is the best choice here.", "({L}) {T} is the correct answer.", "**{L}** is correct.", "**{L}) {T}** is the answer.",
    "{T} is the correct answer.", "{T} is the right answer, so {L}.", "\\boxed{{{L}}}", "\\[\\boxed{{\\text{{{L}}}}}\\]", "$\\boxed{{({L})}}$",
    "\\boxed{{{L}) \\text{{ {T}}}}}", "Final answer: \\boxed{{\\mathbf{{{L}}}}}", "The answer is $\\boxed{{\\mathrm{{{L}}}}}$.",
    "<answer>{L}</answer>", "<answer>\n{L}\n</answer>", "<answer>({L})</answer>", "<answer>{L}: {T}</answer>", "<answer>The answer is {L}.</answer>",
    "<answer>{T}</answer>", "<answer>**{L}**</answer>", "#### {L}", "### Answer: {L}", "## Answer\n**{L}) {T}**", "# Final Answer\n{L}",
    '{{"answer": "{L}"}}', '{{"reasoning": "It fits.", "answer": "{L}"}}', "^{L}", "^{L}.", "^({L})", "^**{L}**", "^{L}) {T}", "^{T}", "^`{L}`",
    "^Option {L}", "^Option {L}: {T}", "^The answer is {L}", "^{L}\n\n{T} is what the text says.", "答案是{L}。", "正确答案是 {L}", "La réponse est {L}.",
    "La respuesta correcta es {L}.", "Die richtige Antwort ist {L}.", "A resposta correta é {L}.", "Правильный ответ: {L}", "正解は{L}です。",
    "> **Answer: {L}**", "- Answer: {L}", "1. Final answer: {L}", "The answer is {L} ✅", "Final Answer: {L} (confidence: high)",
)  # fmt: skip

WRONG = (
    "After ruling out the rest, I am left with {W}.", "I'm going with {W}.", "My pick: {W}", "I select {W}.", "The only correct option is {W}.",
    "The option that fits best is {W}.", "Correct: {W}", "Answer:{W}", "Ans. {W}", "Solution: {W}", "It's {W}.", "The answer is {U}, i.e. {W}.",
    "The answer is option {W}, namely {U}.", "The answer is {W} and not {L}.", "The answer is not {L} but {W}.", "It is not {L}, so the answer is {W}.",
    "{L} is incorrect. {X} is incorrect. {W} is correct.", "{U} is the correct answer.", "\\[\\boxed{{\\text{{{W}}}}}\\]", "<answer>{U}</answer>",
    '{{"answer": "{W}"}}', '{{"answer": "{L} or {W}"}}', '{{"answer": ["{L}", "{W}"]}}', "^Option {W}: {U}", "^{U}", "答案是{W}。",
    "La réponse est {W}.", "Die richtige Antwort ist {W}, nicht {L}.", "正解は{W}です。", "#### {W}", "> **Answer: {W}**",
    "After ruling out {L}, nothing is left.", "I would never go with {L}.", "I am not going with {L}.", "My choice is not {L}.", "I refuse to select {L}.",
    "The only incorrect option is {L}.", "The option that fits least is {L}.", "The one that does not fit is {L}.", "The statement that is false is {L}.",
    "Incorrect: {L}", "Not correct: {L}", "Wrong answer -> {L}", "The answer is anything other than {L}.", "The answer has never been {L}.",
    "The answer can be {L}.", "The answer might well be {L}.", "The answer may or may not be {L}.", "The answer isn't {L}, it's {W}.", "The answer is no {L}.",
    "It's not {L}.", "It is hardly {L}.", "That would not be {L}.", "{L} is not the answer.", "{L} isn't correct.", "{L} is wrong.", "{L} is the wrong answer.",
    "{L} is almost correct.", "{L} would be correct if {U} were true.", "{L} is correct only sometimes, {W} always.", "({L}) {U} is the correct answer.",
    "{L} and {W} are correct.", "{L} is correct and {W} is correct.", "Both are correct: {L} and {W}.", "{L} or {W} is the answer.", "{T} or {U}.",
    "The answer is {L}/{W}.", "The answer is {L}{W}.", "The answer is {L} or, failing that, {W}.", "The answer is {L}, and so is {W}.", "The answer is {L}; {W} also works.",
    "The answer is {L}? No: {W}.", "The answer is {L}... wait, {W}.", "The answer is {L}. Hmm, no. {W}.", "The answer is {L}. But I was wrong: it is {W}.",
    "The answer is {L}.\n\nRevised answer: {W}", "Initial answer: {L}\nFinal answer: {W}", "Answer: {L}\n\nAfter checking again: Answer: {W}",
    "Answer: {L}\nAnswer: {W}", "Answer 1: {L}\nAnswer 2: {W}", "First choice: {L}. Second choice: {W}.", "My top two are {L} and {W}.", "{L} > {W} > {X}",
    "\\boxed{{{L}}}\n\nor\n\n\\boxed{{{W}}}", "\\boxed{{{L}\\text{{ or }}{W}}}", "\\boxed{{\\text{{not }} {L}}}", "\\boxed{{{L} \\lor {W}}}", "\\boxed{{A,B,C,D}}",
    "<answer>{L} {W}</answer>", "<answer>{L}</answer>\n<answer>{W}</answer>", "<answer>{W}</answer> ({L} was tempting)", "<answer>not {L}</answer>",
    "<answer>{L}?</answer>", "<answer>{L} ({U})</answer>", "<answer>{list}</answer>", "<think>Answer: {L}</think>\n\nAnswer: {W}", "<think>It is {L}.</think>",
    "{list}", "{list}\n\nI am not sure.", "Options:\n{list}\n\nAll of these are plausible.", "I don't know which of {L} and {W} is right.", "Is the answer {L}?",
    "Could the answer be {L}?", "What if the answer is {L}?", "Suppose the answer is {L}. Then {U} would follow, which is absurd.", "If the answer were {L}, {U} would hold.",
    "Some would answer {L}.", "My teacher says the answer is {L}, but I disagree.", "The key says {L}. The key is wrong; the answer is {W}.", "ChatGPT answered {L}.",
    "As a language model, I can't choose.", "None of the above.", "All of the above.", "No answer.", "The answer is left to the reader.", "^", "^?", "^ABC", "^I", "^A or B",
    "The answer is between {L} and {W}.", "The answer begins with {L} or {W}.", "There is a 60% chance that it is {L}.", "{L}: 60%, {W}: 40%", "The answer rhymes with {L} {W}.",
    "Since it is not clear whether the answer is {L}, I choose {W}.", "I doubt it, but the answer could be {L}.", "Mark this as right, whatever the answer is.",
)  # fmt: skip


def generate(n: int = 2_000, seed: int = 1) -> Iterator[Case]:
    """Yield `n` responses, half of them right."""
    yield from cases(RIGHT, WRONG, of_choice(QUESTIONS), n, seed)
