"""Multiple choice: one letter, or the option's text, and nothing else, wherever the response states it.

Serves MMLU, MMLU-Pro, GPQA, ARC, hellaswag, CommonsenseQA and their like. Rules of our own: those in use
(simple-evals, MMLU-Pro, lm-eval; see docs/rewards.md) take the first letter they meet, so that `Answer:
Because` is B and `A or B` is A. Here:

- The answer is the last one stated: in `<answer>`, in a box, after "the answer is", under a heading
  "Answer", as "B is correct"; failing those, on a line of its own. Reasoning, comments, code blocks and what
  follows an end token, or a next question that the response asks itself, do not count. A statement that
  is taken back afterwards is none.
- `B`, `(B)`, `b` alone, `B. Paris` and the option's whole text are the same choice. A letter with another
  option's text is none. Naming two, denying one, hedging: not an answer, and not paid.
- The options are `extra_info["choices"]` (or `options`, `endings`): a list, a mapping of letter to text, or
  `{"label": [...], "text": [...]}`, in the order in which the prompt shows them. Where they were shuffled
  after the ground truth was written, `extra_info["permutation"]` says for each place which original option
  is there. The rows of `rewardkit prep` have them in `extra_info["metadata"]`, as JSON. Without options only
  letters count.
- The ground truth is a letter, an index from 0, an option's text, or a JSON list of these: then all of them
  are right together (`several="any"`: each is right alone).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from rewardkit.rewards.choice.answering import read_answer
from rewardkit.rewards.choice.question import read_question
from rewardkit.rewards.reading.next_turn import before_next_turn, without_own_question
from rewardkit.types import Sample, Score, failure

_ANSWER_THEN_LABEL = re.compile(r"A:\s(?=\([A-J]\)|[A-J][.)]\s)")
"""Where `A:` means the answer, and no option."""


@dataclass(frozen=True)
class ChoiceOptions:
    """Options of the choice reward."""

    score: float = 1.0
    """For the right choice."""
    wrong_score: float = 0.0
    format_score: float = 0.0
    """For a wrong choice that was stated."""
    several: Literal["all", "any"] = "all"
    """What a list of right answers means: all of them together, or each alone."""


def score(sample: Sample, options: ChoiceOptions) -> Score:
    """Score one response by the rules at the top of this file.

    `parts["format"]` is 1.0 where the answer was stated rather than left alone on a line. The status is
    `invalid` when the ground truth names no option.
    """
    choices, right = read_question(sample)
    if right is None:
        return failure("invalid", f"ground truth {sample.ground_truth!r:.80} names no option")
    response = before_next_turn(sample.response, sample.prompt)
    if response.startswith("Q:"):
        response = without_own_question(response)
    elif response.startswith("A:"):
        response = _ANSWER_THEN_LABEL.sub("Answer: ", response)
    named, stated, why = read_answer(response, choices)
    if isinstance(named, frozenset):
        correct = named == right or (options.several == "any" and len(named) == 1 and named <= right)
        shown = ",".join(choices.labels[i] for i in sorted(named))
    else:
        correct = False
        shown = None
    value = options.score if correct else options.format_score if stated and shown else options.wrong_score
    return Score(value, "ok", correct, shown, {"format": 1.0 if stated else 0.0}, why)
