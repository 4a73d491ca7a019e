"""A fifth set of responses to multiple-choice questions, written after `choice_held_out_2` had been measured and before
what that showed was mended.

Fields as in `choice`; wordings and questions are others.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.rewards.templates.responses import Case, cases, of_choice

QUESTIONS: tuple[tuple[str, ...], ...] = (
    ("granite", "basalt", "marble", "slate", "limestone"),
    ("a noun", "a verb", "an adjective", "an adverb"),
    ("3.0 × 10^8", "3.0 × 10^6", "3.0 × 10^5", "1.5 × 10^8"),
    ("The price rises", "The price falls", "The price stays equal", "Nothing can be said"),
    ("Beethoven", "Mozart", "Bach", "Haydn", "Handel"),
    ("1 and 2 only", "2 and 3 only", "1 only", "1, 2 and 3"),
    ("left ventricle", "right ventricle", "left atrium", "right atrium"),
    ("knife", "fork", "spoon", "plate", "table", "kitchen drawer"),
    ("yes", "no", "only sometimes", "it cannot be known"),
)

RIGHT = (
    "The answer: {L}", "The answer is: **{L}**", "The answer is: ({L}).", "The answer is “{L}”.", "The answer is '{L}'.", "ANSWER: ({L})",
    "Answer: {l}", "Answer: ({l})", "Answer: {L},", "Answer: {L}!", "answer={L}", "My Answer: {L}", "Final answer is: {L}", "FINAL ANSWER: {L}",
    "**Final answer: ({L}) {T}**", "**The correct answer is {L}.**", "**The correct answer is ({L}) {T}.**", "__Answer: {L}__",
    "> Answer: {L}", "- Answer: {L}", "* **Answer**: {L}", "# Answer\n\n{L}", "## Final Answer\n\n\\boxed{{{L}}}", "### Answer: ({L}) {T}",
    "Correct Answer: **{L}**", "Correct choice: {L}", "Right answer: {L}", "Best answer: {L}. {T}", "Chosen option: {L}",
    "The correct response is {L}.", "The proper choice is {L}.", "The only correct option is {L}.", "The option that fits best is {L}.",
    "The answer must be ({L}) {T}.", "The answer has to be {L}.", "The answer can only be {L}.", "The answer will be {L}.",
    "The answer to this problem is ({L}).", "The answer to question 3 is {L}.", "The answer is thus option {L}.", "The answer is therefore **{L}**.",
    "The answer is simply {T}.", "The answer is {L}) {T}.", "The answer is [{L}].", "The answer is {L}, i.e. {T}.", "The answer is {L}, which is {T}.",
    "The answer is {L}, that is, {T}.", "The answer is {L} = {T}.", "The answer is {T}, so {L}.", "The answer is {T}, which corresponds to {L}.",
    "This means that the answer is {L}.", "It follows that the answer is {L}.", "From this we get that {L} is correct.", "I conclude that {L} is correct.",
    "So {L} is the correct answer.", "So, {T} is the correct answer.", "Clearly, {L} is correct.", "Thus {L} is the best choice.",
    "Only {L} is correct.", "{L}) {T} is the correct answer.", "Choice {L} is the correct answer.", "Answer {L} is correct.", "Statement: {L} is correct.",
    "I choose option {L}.", "I select ({L}).", "I pick {L}: {T}.", "I'll go with {L}.", "I'll pick {L} because it fits.", "I answer {L}.",
    "We choose {T}.", "I would choose {T}.", "So I choose {L}.", "My selection is {L}.", "So, option {L}.", "Hence ({L}).", "Thus, {T}.",
    "Therefore it is {L}.", "It must be {L}.", "It should be option {L}.", "That would be {L}.", "This is option {L}.", "So it has to be {T}.",
    "Looking at the options, {L} is correct.", "Among these, {L} is the right answer.", "Given this, the answer is {L}. All others fail.",
    "The answer is {L}. {U} is wrong since it does not fit.", "The answer is {L}.\n\n- {W} is wrong.\n- {X} is wrong.",
    "Answer: {L}\n\nReason: {T} fits, whereas {U} does not.", "{W} is not correct, because it fails. So the answer is {L}.",
    "<think>The answer is {W}? No.</think><answer>{L}</answer>", "<answer>({L}) {T}.</answer>", "<answer>{T} ({L})</answer>", "<answer>{L}",
    "\\boxed{{\\mathbf{{{L}}}}}", "$\\boxed{{{L}}}$", "\\boxed{{({L}) \\text{{ {T}}}}}", "\\boxed{{\\text{{{T}}}}}", "The answer is $\\boxed{{\\text{{({L})}}}}$.",
    '{{"answer": "{T}"}}', '{{"choice": "{L}"}}', "```\nAnswer: {L}\n```", "答案是：{L}", "答案为{L}", "应选{L}。", "La respuesta es la {L}.", "Antwort: ({L}) {T}",
)  # fmt: skip

WRONG = (
    "The answer: {W}", "Answer: {w}", "# Answer\n\n{W}", "{W}) {U} is the correct answer.", "We choose {U}.", "Thus, {U}.", "So, option {W}.",
    "<answer>{U} ({W})</answer>", '{{"choice": "{W}"}}', '{{"answer": "{U}"}}', "应选{W}。", "The answer is {U}, so {W}.", "This is option {W}.",
    "The answer is {L} = {U}.", "The answer is {L}, i.e. {U}.", "The answer is {T}, so {W}.", "<answer>{T} ({W})</answer>", "\\boxed{{({L}) \\text{{ {U}}}}}",
    "The answer is {L}, or else {W}.", "The answer is {L} with probability one half.", "The answer is {L}, but {W} is just as good.",
    "The answer is {L}, but it may be {W}.", "The answer is {L} {W}.", "The answer is {L}. The answer is also {W}.", "The answers are {L} and {W}.",
    "The answer is {L} or something else.", "The answer is {L} as well as {W}.", "The answer is {L} plus {W}.", "The answer is {L} then {W}.",
    "The answer is not ({L}) {T}.", "The answer is not option {L}.", "The answer is nowhere near {L}.", "The answer is certainly no {L}.",
    "The answer is anything besides {L}.", "The answer isn't ({L}).", "The answer wasn't {L}.", "The answer can't be {L}.", "The answer won't be {L}.",
    "The answer can never be {L}.", "The answer ought not to be {L}.", "The answer must not be ({L}).", "The answer is false: {L}.",
    "The answer {L} is wrong.", "The answer, {L}, is incorrect.", "Answer {L} is not correct.", "Choice {L} is wrong.", "Option {L} is incorrect.",
    "I did not choose {L}.", "I refuse to choose {L}.", "I hesitate to choose {L}.", "I almost chose {L}, but I choose {W}.", "Never choose {L}.",
    "I choose not {L}.", "I choose neither {L} nor {W}.", "I choose {L} and {W}.", "I choose between {L} and {W}.", "We choose {L} or {W}.",
    "It must not be {L}.", "It should not be {L}.", "It would be {L} if it could.", "That would be {L} or {W}.", "That would not be {L}.",
    "This is not option {L}.", "This is option {L} or {W}.", "Therefore it is not {L}.", "So it is neither {L} nor {W}.", "Thus, not {T}.",
    "Thus, {T} or {U}.", "So {L} is not the correct answer.", "So {L} and {W} are correct.", "Clearly, {L} is incorrect.", "Only {L} is wrong.",
    "Only {L} or {W} is correct.", "From this we get that {L} is not correct.", "I conclude that {L} is false.", "Few think that {L} is correct.",
    "My friend says {L} is correct.", "According to the trap, {L} is correct.", "In no case is {L} correct.", "{L} is correct in form only.",
    "{L} is the answer to another question.", "{L} is the answer I would give if I were careless.", "{L} is correct, or {W} is.", "{L} is correct or wrong.",
    "{L} is correct, but so is {W}.", "{L} is correct. No, {W} is correct.", "{L} is correct? {W} is correct?", "{T} is correct, as is {U}.",
    "{T} and {U} are correct.", "{T} is correct. {U} is correct.", "{T} is the answer? I doubt it.", "{U} is correct, not {T}.",
    "Looking at the options, {L} and {W} are correct.", "Looking at the options, {L} is not correct.", "Among these, {L} is the wrong answer.",
    "Answer: {L}\n\nActually, {W}.", "Answer: {L}\n\nOops, {W}.", "Answer: {L}\n\nSorry, I mean {W}.", "Answer: {L}\n\nNo! {W}!", "Answer: {L}\n\nOr {W}?",
    "Answer: {L}\n\nAlternatively: {W}", "Answer: {L}\n\nSecond answer: {W}", "Answer 1: {L}\nAnswer 2: {W}", "Answer: {L}\nAlternative answer: {W}",
    "Answer: {L}\n\nThis answer is wrong.", "Answer: {L}\n\nThe above is incorrect.", "Answer: {L}\n\nDo not trust this.", "Answer: {W} ({L} for others)",
    "Answer: {L} | {W} | {X}", "Answer: {L} vs {W}", "Answer: {L}=>{W}", "Answer: {L} (or {W})", "Answer: {L}, alternatively {W}", "Answer: <{L}|{W}>",
    "Answer: {L} is false", "Answer: {L} isn't right", "Answer: {L} (false)", "Answer: {L} (not sure, maybe {W})", "Answer: \\sout{{{L}}} {W}",
    "<answer>{L}</answer> <answer>not {L}</answer>", "<answer>{L} {W}</answer>", "<answer>{L}|{W}|{X}</answer>", "<answer>{T}\n{U}</answer>",
    "<answer>{L} or {W}", "\\boxed{{{L} / {W}}}", "\\boxed{{{L}}} \\neq \\boxed{{{W}}}", "\\boxed{{{L} \\vee {W}}}", "\\boxed{{\\text{{{T} or {U}}}}}",
    "```\nAnswer: {L} or {W}\n```", "答案是{L}或{W}", "答案：{L}、{W}", "La respuesta no es la {L}.", "Antwort: nicht {L}", "Answer: (A) (B) (C) (D)", "Answer: A|B|C|D",
)  # fmt: skip


def generate(n: int = 2_000, seed: int = 1) -> Iterator[Case]:
    """Yield `n` responses, half of them right."""
    yield from cases(RIGHT, WRONG, of_choice(QUESTIONS), n, seed)
