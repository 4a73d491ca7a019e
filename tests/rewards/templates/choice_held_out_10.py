"""A thirteenth set of responses to multiple-choice questions, written when what `choice_held_out_9` had shown was mended,
and measured once before anything was changed.

Fields as in `choice`; wordings and questions are others.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.rewards.templates.responses import Case, cases, of_choice

QUESTIONS: tuple[tuple[str, ...], ...] = (
    ("sodium", "potassium", "calcium", "lithium"),
    ("1492", "1498", "1519", "1522", "1534"),
    ("the left ventricle", "the right ventricle", "the left atrium", "the right atrium"),
    ("He ties his shoes.", "He loses his shoes.", "He polishes his shoes.", "He sells his shoes."),
    ("3x + 2", "3x - 2", "2x + 3", "2x - 3"),
    ("Brazil", "Peru", "Chile", "Bolivia", "Ecuador", "Uruguay"),
    ("a stack", "a queue", "a heap", "a tree"),
    ("positive reinforcement", "negative reinforcement", "punishment", "extinction"),
    ("15 N", "30 N", "45 N", "60 N"),
)

RIGHT = (
    "Having weighed all the options, I conclude that the answer is {L}.", "With that, the answer becomes {L}.", "Which gives us the answer: {L}",
    "This leads to the answer {L}.", "This brings us to answer {L}.", "From this we see that {L} is correct.", "We can see that the correct option is {L}.",
    "Therefore, we choose {L}.", "Therefore, I choose option {L}.", "Therefore {L}.", "Thus {L}", "Hence, {L}.", "So {L}.", "So it's {L}.", "So it has to be {L}.",
    "So the best option would be {L}.", "So, the correct answer must be option {L}.", "The answer is definitely {L}.", "The answer is likely to be found in the text: the answer is {L}.",
    "The answer is {L}: \"{T}\".", "The answer is {L} — {T}.", "The answer is {L} – {T}.", "The answer is {L}, {T}, as shown above.", "The answer is \"{L}. {T}\".",
    "The answer is **\"{T}\"**.", "The answer is *{L}*.", "The answer is <b>{L}</b>.", "The answer is [{L}].", "The answer is {L})", "The correct answer: {L}. {T}",
    "The correct option is therefore ({L}).", "The correct option here would be {L}.", "The correct letter is {L}.", "The right choice: {L}", "The best answer: ({L})",
    "The best answer among the choices is {L}.", "The best answer of the four is {L}.", "The most accurate choice is {L}.", "The most likely answer is {L}.",
    "The most reasonable answer is {L}.", "The proper answer is {L}.", "The intended answer is {L}.", "The desired answer is {L}.", "The required option is {L}.",
    "Of the given options, {L} is the best.", "Among these, {L} is correct.", "Out of these, only {L} is correct.", "Only {L} is correct.", "Only option {L} is right.",
    "Option {L} is the best answer.", "Option {L} is right.", "Option {L}, {T}, is correct.", "Choice {L} is correct.", "Answer choice {L} is correct.", "Answer {L} is right.",
    "{L} is correct because it fits.", "{L} is correct; the others are not.", "{L} is the only correct option.", "{T} is correct.", "{T} is the answer.", "\"{T}\" is the correct answer.",
    "{W} is wrong, {X} is wrong, so the answer is {L}.", "{W} can be ruled out, and so can {X}. The answer is {L}.", "Not {W}, not {X}. Answer: {L}",
    "I was torn between {W} and {L}, but the answer is {L}.", "At first I thought {W}, but the correct answer is {L}.", "One might choose {W}, but the correct answer is {L}.",
    "Though {W} is close, the correct answer is {L}.", "{W} is close but not right, so I choose {L}.", "Because {W} and {X} are not relevant, the correct answer is {L}.",
    "Answer: **{L}**.", "Answer: **{L}. {T}**", "Answer: `{L}`", "Answer: \"{L}\"", "Answer: {L} ({T})", "Answer: {T} ({L})", "Answer: the correct option is {L}", "Answer :: {L}",
    "**Answer** {L}", "**Answer - {L}**", "**Final Answer**: {L}", "**Final Answer**\n\n{L}", "Final Answer is {L}", "FINAL ANSWER: {L}", "Final Answer: Option {L}", "Final: {L}",
    "### Final Answer\n**{L}**", "### Final Answer: **{L}**", "### Conclusion\nThe answer is **{L}**.", "### Conclusion\n\nThus, option **{L}** is correct.",
    "---\n\n**Answer: {L}**", "$\\boxed{{{L}}}$.", "Answer: $\\boxed{{\\text{{{L}}}}}$", "The correct choice is $\\boxed{{{L}}}$", "\\boxed{{\\text{{{L}. {T}}}}}", "\\boxed{{\\text{{Option {L}}}}}",
    "<answer> {L} </answer>", "<answer>{L}.</answer>", "<answer>Answer: {L}</answer>", "<answer>\\boxed{{{L}}}</answer>", "<answer>{L}. {T}</answer>", "^({L}).", "^{L} ", "^\"{L}\"", "^Answer {L}",
    "^{L} - {T}", "^{L}. {T}.", "^{T}.", "^The correct answer is {L}. {T}.", "^I think it's {L}.", "^It's {L}.", "选{L}。", "答案：{L}。", "故选：{L}", "La bonne réponse est {L}.", "Respuesta: {L}", "Antwort: {L}",
)  # fmt: skip

WRONG = (
    "With that, the answer becomes {W}.", "This brings us to answer {W}.", "Therefore, we choose {W}.", "Hence, {W}.", "So it has to be {W}.", "The correct letter is {W}.", "Only {W} is correct.",
    "Option {W}, {U}, is correct.", "\"{U}\" is the correct answer.", "At first I thought {L}, but the correct answer is {W}.", "One might choose {L}, but the correct answer is {W}.", "^({W}).", "选{W}。",
    "I was torn between {L} and {W}, but the answer is {W}.", "{L} is close but not right, so I choose {W}.", "Because {L} is not relevant, the correct answer is {W}.", "Final: {W}", "^I think it's {W}.",
    "Not {L}, not {X}. Answer: {W}", "\\boxed{{\\text{{Option {W}}}}}", "<answer>\\boxed{{{W}}}</answer>", "### Conclusion\n\nThus, option **{W}** is correct.",
    "I conclude that the answer is not {L}.", "From this we see that {L} is not correct.", "From this we see that {L} is incorrect.", "Therefore, we do not choose {L}.", "Therefore not {L}.", "So it cannot be {L}.", "So it isn't {L}.",
    "So {L} is out.", "So {L} is eliminated.", "The answer is definitely not {L}.", "The answer is likely not {L}.", "The least likely answer is {L}.", "The least accurate choice is {L}.", "The improper answer is {L}.", "The unintended answer is {L}.",
    "Of the given options, {L} is the worst.", "Among these, {L} is incorrect.", "Only {L} is incorrect.", "All but {L} are correct.", "Every option except {L} is correct.", "Option {L} is not right.", "Choice {L} is false.", "Answer {L} is wrong.",
    "{L} is not correct because it does not fit.", "{L} is correct, or is it {W}?", "{L} is correct; {W} is correct too.", "{L} is as correct as {W}.", "{L} is the only incorrect option.", "{T} is incorrect.", "{T} is not the answer.", "\"{T}\" is false.",
    "Many choose {L}.", "Most students pick {L}.", "Someone may select {L}.", "A careless reader would choose {L}.", "A friend of mine chose {L}.", "He thinks the answer is {L}.", "They said the answer is {L}.", "Everyone believes the answer is {L}, wrongly.",
    "The book claims that the answer is {L}, which is false.", "The rumor that the answer is {L} is false.", "It is a mistake to think that the answer is {L}.", "It would be wrong to say the answer is {L}.", "It's impossible that the answer is {L}.",
    "You would be wrong if you chose {L}.", "If you choose {L}, you are wrong.", "Had I not read the text, I would choose {L}.", "I would choose {L} over {X}, but {W} over both.", "I could choose {L}.", "I might pick {L}.", "I may go with {L}.",
    "I hesitate to choose {L}.", "I don't want to choose {L}.", "Shall I choose {L}?", "Should we pick {L} or {W}?", "Choose {L} or {W}.", "Pick any of {L}, {W} and {X}.", "The answer lies between {L} and {W}.", "The answer is one of {L} and {W}.",
    "The answer is {L} plus {W}.", "The answer is {L} and/or {W}.", "The answer is {L} alternatively {W}.", "The answer is {L}, {W}.", "The answer is {L} (or maybe {W}).", "The answer is {L} [{W}].", "The answer is {L} = {W}.", "The answer is {L} unless {U}.",
    "The answer is {L} if I am not mistaken, else {W}.", "The answer is {L}, no, {W}.", "The answer is {L} - no, {W}.", "The answer is {L}. Let me correct that: {W}.", "The answer is {L}. I take that back.", "The answer is {L}. Just kidding, it is {W}.",
    "The answer is {L}. That was a joke.", "The answer is {L}.\n\n**Correction:** the answer is {W}.", "The answer is {L}.\n\nOn second thought, {W}.", "The answer is {L}.\n\nThe answer is {W}.", "Answer: {L}\n\nAlternative: {W}", "Answer: {L} (wrong)",
    "Answer: {L} ❌", "Answer: ~{L}", "Answer: -{L}", "Answer: ≠{L}", "Answer: {L}→{W}", "Answer: {W} ← {L}", "Answer: {L}\n{W}", "Answer:\n- {L}\n- {W}", "Answer:\n1. {L}\n2. {W}", "Answer:\n{list}", "### Final Answer\n{L} / {W}",
    "<answer>{L}/{W}</answer>", "<answer>{L}, {X}</answer>", "<answer>{L} or not</answer>", "<answer>no {L}</answer>", "<answer>{L}\n{W}</answer>", "<answer>{T} and {U}</answer>", "<answer>{T} ({W})</answer>", "<answer>{W}) {T}</answer>", "<answer></answer>",
    "<answer>{W}</answer><!-- {L} -->", "<think>{L}</think><answer>{W}</answer>", "<think>Final answer: {L}</think>", "\\boxed{{{L}}} \\text{{ is wrong, }} \\boxed{{{W}}}", "\\boxed{{{L} / {W}}}", "\\boxed{{\\sim {L}}}", "\\boxed{{}}",
    "^{L} {W}", "^{L}/{W}", "^not {L}", "^{L}?", "^{L}? {W}?", "^{L} or {W}", "^{T} or {U}", "^{list}", "^...", "^A-D", "^all", "^none", "^Answer:", "Please choose an option.", "Your answer: {L}", "User: {L}\nAssistant: {W}",
)  # fmt: skip


def generate(n: int = 2_000, seed: int = 1) -> Iterator[Case]:
    """Yield `n` responses, half of them right."""
    yield from cases(RIGHT, WRONG, of_choice(QUESTIONS, "{}."), n, seed)
