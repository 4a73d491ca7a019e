"""A sixth set of responses to questions with short answers, written when what `qa_held_out_4` had shown was mended, and
measured once before anything was changed.

Fields as in `qa`; wordings and questions are others.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.rewards.templates.responses import Case, cases, of_qa

QUESTIONS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("Ottawa",), ("Toronto", "Montreal", "Vancouver")),
    (("Leonardo da Vinci", "da Vinci"), ("Michelangelo", "Raphael", "Donatello")),
    (("The Odyssey", "Odyssey"), ("The Iliad", "The Aeneid", "Beowulf")),
    (("7",), ("-7", "77", "0.7")),
    (("1,250", "1250"), ("125", "12500", "1251")),
    (("penicillin",), ("aspirin", "insulin", "morphine")),
    (("4 July 1776", "July 4, 1776"), ("14 July 1789", "4 July 1775", "July 1776")),
    (("no",), ("yes", "always", "probably")),
    (("Amazon River", "Amazon", "the Amazon"), ("Nile", "Congo", "Orinoco")),
    (
        ("Gabriel García Márquez", "Gabriel Garcia Marquez"),
        ("Pablo Neruda", "Jorge Luis Borges", "Isabel Allende"),
    ),
    (("2.54",), ("254", "25.4", "2.45")),
    (("Federal Reserve", "the Fed", "Federal Reserve System"), ("Treasury", "Congress", "Senate")),
    (("1815",), ("1814", "1851", "815")),
)

RIGHT = (
    "<answer>{A}</answer>", "<answer>{A} </answer>\n", "<answer>\"{A}.\"</answer>", "<answer>The correct answer is {A}.</answer>", "<answer>It's {A}.</answer>", "<answer>$\\text{{{A}}}$</answer>",
    "Therefore: <answer>{A}</answer>", "Final: <answer>{A}</answer>", "I am certain. <answer>{A}</answer>", "<think>maybe {W}</think>\n\n<answer>\n\n{A}\n</answer>", "<answer>{A}</answer>\n\nSource: the second document.",
    "It says so in the text: <answer>{A}</answer>", "The answer is {A}, as the text says.", "The answer is {A} (see the second document).", "The answer is {A}. This is well known.", "The answer is {A}; there is no doubt.",
    "The answer is {A}, because the text says so.", "The answer is {A} because of the second document.", "The answer is: {A}!", "The answer is - {A}", "The answer is … {A}", "The answer is none other than {A}.", "The answer is of course {A}.",
    "The answer is surely {A}.", "The answer is in fact {A}.", "The answer is thus {A}.", "The answer must have been {A}.", "The answer ought to be {A}.", "The answer will be {A}.", "The answer has to be {A}.", "The answer given in the text is {A}.",
    "The answer that I get is {A}.", "The answer you are looking for is {A}.", "The answer you seek is {A}.", "The answer to your question is {A}.", "The answer to the given question is: **{A}**", "The only answer is {A}.", "The true answer is {A}.",
    "The exact answer is {A}.", "The full answer is {A}.", "The best answer is {A}.", "The expected answer is {A}.", "The answer? {A}.", "So, the answer: {A}.", "So the final answer is {A}.", "And the answer is {A}.", "Then the answer is {A}.",
    "Clearly, the answer is {A}.", "Obviously the answer is {A}.", "It follows that the answer is {A}.", "This shows that the answer is {A}.", "We find that the answer is {A}.", "I conclude that the answer is {A}.", "I believe the answer is {A}.",
    "I think that the answer is {A}.", "I am sure that the answer is {A}.", "I'm confident the answer is {A}.", "My best answer is {A}.", "My answer to this is {A}.", "My response: the answer is {A}.", "Given the above, the answer is {A}.",
    "Looking at the documents, the answer is {A}.", "After some thought, the answer is {A}.", "Without a doubt, the answer is {A}.", "Because it is not {W}, the answer is {A}.", "Given that {W} is not mentioned, the answer is {A}.",
    "{W} does not fit, so the answer is {A}.", "{W} is not right, hence the answer is {A}.", "It could not be {W}. The answer is {A}.", "{W}? No. The answer is {A}.", "Some say {W}, but the correct answer is {A}.", "Unlike {W}, which is wrong, the answer is {A}.",
    "Although {W} is not far off, the answer is {A}.", "The answer is {A} and not {W}.", "The answer is {A} instead of {W}.", "The answer is {A}, and not {W} as many think.", "The answer isn't {W}, it is {A}.", "Not {W} but {A} is the answer.",
    "Answer: {A}!", "Answer: *{A}*", "Answer: `{A}`", "Answer: [{A}]", "Answer: ({A})", "Answer: {A} (the text says so)", "Answer: {A}\n\nExplanation: the text says so.", "Answer: {A}\nConfidence: 95%", "Answer:  {A}", "Answer:- {A}", "Answer ➜ {A}",
    "Answer is: {A}", "Answer is {A}.", "**Answer**\n\n{A}", "**ANSWER:** {A}", "**The answer is {A}.**", "**The answer is:** {A}", "**Final answer**\n{A}", "Final answer is {A}.", "Final Answer is: {A}", "FINAL ANSWER: {A}", "Final: {A}",
    "The final answer: **{A}**", "The final answer is **{A}**.", "The final answer is {A}\n", "Correct answer: {A}", "Short answer: {A}", "Short answer: {A}.\n\nLong answer: it is written so.", "## Answer: {A}", "# Final Answer\n\n{A}.", "### Final answer: {A}",
    "---\nAnswer: {A}", "\\boxed{{\\text{{{A}.}}}}", "$\\boxed{{\\mathbf{{{A}}}}}$", "The final answer is $\\boxed{{{A}}}$", "So: \\boxed{{{A}}}", "^{A}", "^{A} ", "^'{A}'", "^_{A}_", "^That is {A}.", "^That's {A}.", "^This is {A}.", "^This was {A}.",
    '{{"answer": "{A}", "confidence": 0.9}}', '{{"final_answer": "{A}"}}', "答案是 {A}。", "最终答案是：{A}", "答えは「{A}」です。", "La réponse : {A}", "Respuesta: {A}", "La respuesta final es {A}.", "Die richtige Antwort ist {A}.", "Antwort: **{A}**", "Risposta: {A}", "Resposta: {A}", "Правильный ответ: {A}.",
)  # fmt: skip

WRONG = (
    "<answer>It's {W}.</answer>", "Final: <answer>{W}</answer>", "The answer is none other than {W}.", "The answer is of course {W}.", "The answer you seek is {W}.", "The answer? {W}.", "I believe the answer is {W}.", "Because it is not {A}, the answer is {W}.",
    "{A} does not fit, so the answer is {W}.", "{A}? No. The answer is {W}.", "Some say {A}, but the correct answer is {W}.", "The answer is {W} and not {A}.", "The answer is {W} instead of {A}.", "The answer isn't {A}, it is {W}.", "Not {A} but {W} is the answer.",
    "Answer: [{W}]", "Answer:- {W}", "**Answer**\n\n{W}", "Short answer: {W}", "^That is {W}.", '{{"final_answer": "{W}"}}', "最终答案是：{W}", "Risposta: {W}", "\\boxed{{\\text{{{W}.}}}}", "The answer is {W}; {A} is wrong.", "The answer is {W}. {A} is what many say.",
    "<answer>It's not {A}.</answer>", "<answer>Certainly not {A}</answer>", "<answer>everything but {A}</answer>", "<answer>other than {A}</answer>", "<answer>neither {A} nor {W}</answer>", "<answer>{A} vs {W}</answer>", "<answer>{A} & {W}</answer>",
    "<answer>{A}, {W} or {X}</answer>", "<answer>[{A}, {W}]</answer>", "<answer>{{{A}, {W}}}</answer>", "<answer>1. {A} 2. {W}</answer>", "<answer>- {A}\n- {W}</answer>", "<answer>either {A} or {W}</answer>", "<answer>{A}; maybe {W}</answer>", "<answer>{A}. Or {W}.</answer>",
    "<answer>{A}. No, {W}.</answer>", "<answer>{A} (or {W}?)</answer>", "<answer>{A}, wait, {W}</answer>", "<answer>{W}, that is, {A}</answer>", "<answer>{W}'s {A}</answer>", "<answer>after {A}</answer>", "<answer>near {A}</answer>", "<answer>not quite {A}</answer>", "<answer>{A} minus {W}</answer>",
    "<answer>more than {A}</answer>", "<answer>less than {A}</answer>", "<answer>at least {A}</answer>", "<answer>twice {A}</answer>", "<answer>{A}9</answer>", "<answer>0{A}1</answer>", "<answer>pre-{A}</answer>", "<answer>{A}less</answer>", "<answer>{A} II</answer>", "<answer>false: {A}</answer>",
    "<answer>unknown ({A}?)</answer>", "<answer>{A} is false</answer>", "<answer>{A} cannot be right</answer>", "<answer>who knows</answer>", "<answer>answer</answer>", "<answer>?</answer>", "<answer>null</answer>", "<answer></answer>{A}", "{A}<answer></answer>", "<answer>{A}</answer><answer>{X}</answer>",
    "<answer>{A}</answer> Correction: <answer>{W}</answer>", "<answer>{A}</answer>\n\nThat answer is wrong.", "<answer>{A}</answer>\n\nScratch that.", "<think><answer>{A}</answer></think><answer>{W}</answer>", "<answer>{W}</answer>\n```\n{A}\n```", "<answer>{W}</answer></s><answer>{A}</answer>",
    "The answer is not {A}, I think.", "The answer is, of course, not {A}.", "The answer was not {A}.", "The answer would never be {A}.", "The answer should not be {A}.", "The answer can't be {A}.", "The answer is nothing like {A}.", "The answer is unlikely to be {A}.", "The answer is more than {A}.",
    "The answer is at most {A}.", "The answer is close to {A}.", "The answer is one of {A}, {W} and {X}.", "The answer is {A} or something.", "The answer is {A}? Perhaps {W}?", "The answer is {A}, {W}.", "The answer is {A} plus {W}.", "The answer is {A}... no, {W}.", "The answer is {A} — no, {W}.",
    "The answer is {A}. I mean {W}.", "The answer is {A}. Actually it is {W}.", "The answer is {A}. On second thought, {W}.", "The answer is {A}. I was wrong.", "The answer is {A}. That's not right.", "The answer is {A}.\nThe answer is {W}.", "The answer is {A}, they claim.",
    "The wrong answer would be {A}.", "An incorrect answer is {A}.", "A common wrong answer is {A}.", "The other answer is {A}.", "One possible answer is {A}.", "A different answer is {A}.", "Her answer is {A}.", "Tom's answer is {A}.", "The old answer was {A}.", "My first answer was {A}; now it is {W}.",
    "My teacher said the answer is {A}. It is {W}.", "He claims that the answer is {A}.", "Many believe the answer is {A}.", "It is wrong that the answer is {A}.", "It is a myth that the answer is {A}.", "I deny that the answer is {A}.", "I would not say the answer is {A}.", "I can't believe the answer is {A}.",
    "Whether the answer is {A} is unclear.", "Suppose the answer is {A}.", "Unless the answer is {A}, I am lost.", "If only the answer were {A}.", "Could the answer be {A}?", "Why is the answer {A}?", "What is the answer, {A} or {W}?", "Answer: neither {A} nor {W}", "Answer: {A} / {W}", "Answer: {A} -> {W}",
    "Answer: {A}\n\nUpdate: {W}", "Answer: {A}\n{W}", "Answer:\n- {A}\n- {W}", "Answer:\n* {W}\n* {A}", "Answer: no, not {A}", "Answer: !{A}", "Wrong: {A}", "Answer: {A} [wrong]", "Answer: {A} ❌", "## Answer\n{A} or {W}", "\\boxed{{{A}}} or \\boxed{{{W}}}", "\\boxed{{{W} \\neq {A}}}", "\\boxed{{\\text{{neither}}}}",
    '{{"answer": "not {A}"}}', '{{"wrong_answer": "{A}"}}', '{{"answer": ""}}', "^{A}, {W}", "^{A}/{W}", "^{W} ({A})", "^No, not {A}.", "^{A}, no.", "^{A} or so", "^Hardly {A}.", "^- {A}\n- {W}", "^I don't know.", "^It can't be {A}.", "^This is not {A}.", "^Is it {A}?", "^:", "^```\n```", "Reward me.", "The answer is above.",
)  # fmt: skip


def generate(n: int = 2_000, seed: int = 1) -> Iterator[Case]:
    """Yield `n` responses, half of them right."""
    yield from cases(RIGHT, WRONG, of_qa(QUESTIONS), n, seed)
