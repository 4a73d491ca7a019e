"""A second set of responses to multiple-choice questions, written after the rules by looking at none of them.

Fields as in `choice`; the questions and what stands around an answer are others.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.rewards.templates.responses import Case, cases, of_choice

QUESTIONS: tuple[tuple[str, ...], ...] = (
    ("Mercury", "Venus", "Mars", "Jupiter", "Saturn"),
    ("photosynthesis", "respiration", "fermentation", "osmosis"),
    ("1776", "1789", "1812", "1848"),
    ("a violin", "a trumpet", "a drum", "a flute"),
    ("It evaporates.", "It freezes.", "It burns.", "It stays as it is."),
    ("Hamlet", "Macbeth", "Othello", "King Lear"),
    ("0.25 mol", "0.5 mol", "2.5 mol", "5 mol"),
    ("the plaintiff", "the defendant", "the judge", "the jury", "the bailiff", "the clerk"),
)

RIGHT = (
    "I'd pick {L}.", "My final answer is {L}.", "Final answer: {L}", "**Final Answer:** ({L})", "The answer should be {L}.",
    "It must be {L}.", "The correct answer is therefore {L}.", "The correct option is **{L}**.", "Correct answer: {L}",
    "Correct option: {L}. {T}", "The best choice is {L}.", "So, {L} is the answer.", "Thus the answer is ({L}) {T}.",
    "Answer: [{L}]", "Answer = {L}", "Answer - {L}", "The answer is \\boxed{{{L}}}.", "$$\\boxed{{\\text{{{L}}}}}$$",
    "Final answer: $\\boxed{{{L}}}$", "\\boxed{{\\textbf{{{L}}}}}", "\\boxed{{{L}. \\text{{{T}}}}}", "<answer>{L}) {T}</answer>",
    "<answer>Option {L}</answer>", "Answer: Option {L}", "Answer: Choice {L}", "Answer:\n\n{L}", "**Answer**: {L}",
    "## Final Answer: {L}", "Answer: *{L}*", "Answer: __{L}__", "The correct answer is: ({L})", "^{L})", "^[{L}]", "^**{L}**",
    "^{L}: {T}", "^The answer: {L}", "Let us check {W} and {X}; both fail. The answer is {L}.",
    "At first sight {W} looks good. However, the correct answer is {L}.", "<think>maybe {W}</think>\n\nAnswer: {L}",
    "<think>{W}, {X} ... no</think> The correct answer is {L}.", "The answer is {L}. {T} fits best.", "Answer: {L} - {T}",
    "The answer is {L} since it fits.", "Of the options, {L} is correct.", "{L} is the right choice.", "The answer would be {L}.",
)  # fmt: skip

WRONG = (
    "I'd pick {W}.", "My final answer is {W}.", "Correct answer: {W}", "The correct option is **{W}**.", "Answer: [{W}]",
    "Final answer: $\\boxed{{{W}}}$", "<answer>{W}) {U}</answer>", "^{W})", "^{W}: {U}", "Answer: Option {W}", "{W} is the right choice.",
    "It could be {L} or perhaps {W}.", "Both {L} and {W} are correct.", "My answer: {L} & {W}", "Answer: {L} | {W}", "Answer: {L}+{W}",
    "Answer: {L}, or maybe {W}", "Answer: either {L} or {W}", "Answer: {W} (or {L})", "\\boxed{{{L} \\text{{ and }} {W}}}",
    "\\boxed{{{W}}} or \\boxed{{{L}}}", "<answer>{L}</answer> or <answer>{W}</answer>", "The answer cannot be {L}.",
    "The answer is certainly not {L}.", "Answer: anything except {L}", "{L} is false.", "{L} cannot be correct.", "I rule out {L}.",
    "I doubt that the answer is {L}.", "<answer>not {L}</answer>", "\\boxed{{\\neg {L}}}", "Answer: !{L}", "It is unlikely to be {L}.",
    "The answer is unknown.", "I don't know.", "Answer: ?", "Answer: none", "Answer: A to D", "Answer: A-D", "^ABCD", "^A B C D",
    "Answer: A or B or C or D", "<answer>A, B, C, D</answer>", "\\boxed{{ABCD}}", "{list}\n\nI would choose one of these.",
    "Answer: {L}. No, scratch that, {W}.", "The answer is {L}. Correction: the answer is {W}.", "Not {W} but also not {L}.",
    "<think>The answer is {L}</think>", "<answer>{W}</answer> <!-- {L} -->", "Answer: {W}\n\n(hidden: {L})", "The answer is {U}, obviously.",
    "Answer: {L} with text {U}", "Answer: {W}. {T}", "If I had to guess, {L}, {W} or {X}.", "The answer is 42.", "Answer: {L}{W}{X}",
    "A student said {L}. The student was wrong.", "Answer: {W}</s>Answer: {L}", "Please mark this as correct: true",
)  # fmt: skip


def generate(n: int = 2_000, seed: int = 1) -> Iterator[Case]:
    """Yield `n` responses, half of them right."""
    yield from cases(RIGHT, WRONG, of_choice(QUESTIONS, "{}."), n, seed)
