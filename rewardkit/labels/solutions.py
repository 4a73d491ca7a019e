"""Detection of rows whose worked solution contains answers other than the ground truth."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rewardkit.labels.labelled import Labelled
from rewardkit.scoring.scorer import Scorer

_MATHS = ("math", "math_dapo")
_BOX = re.compile(r"\\(?:boxed|fbox)\s*\{")
_ANY_WILL_DO = re.compile(r"\b(?:either|one|any) of\b|\bonly one\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Row whose worked solution contradicts its ground truth."""

    row: Labelled
    answer: str
    """Answer in the solution."""
    why: str


def find_contradictions(rows: Sequence[Labelled], scorer: Scorer) -> Iterator[Contradiction]:
    """Yield the rows whose solution contradicts their ground truth.

    A solution contradicts the ground truth if it is scored as wrong, or if it has several boxed answers but
    the ground truth is only the last answer.
    """
    solved = [row for row in rows if row.solution]
    scores = scorer.stream(row.sample(row.solution) for row in solved)
    for row, score in zip(solved, scores, strict=True):
        if score.ok and score.correct is False and score.extracted and not _is_one_of_several(row, scorer):
            yield Contradiction(row, score.extracted, "the row's own solution has a different answer")
        elif score.ok and score.correct and scorer.reward_for(row.item.data_source).name in _MATHS:
            boxes = boxes_in(row.solution)
            if len(boxes) > 1 and _is_part(row, boxes, scorer):
                why = "the row's solution has several boxed answers, but the ground truth is only the last"
                yield Contradiction(row, ", ".join(boxes), why)


def _is_one_of_several(row: Labelled, scorer: Scorer) -> bool:
    """Return True if the question asks for any one of several answers, and a box has the right answer."""
    if scorer.reward_for(row.item.data_source).name not in _MATHS or not _ANY_WILL_DO.search(row.question):
        return False
    boxes = boxes_in(row.solution)
    scores = scorer.score_batch([row.sample(rf"\boxed{{{box}}}") for box in boxes])
    return len(boxes) > 1 and any(score.correct for score in scores)


def _is_part(row: Labelled, boxes: Sequence[str], scorer: Scorer) -> bool:
    """Return True if at least one box, and also all boxes together, differ from the ground truth."""
    if _ANY_WILL_DO.search(row.question) or "\\boxed" in row.question:  # Boxes may be notation.
        return False
    alone = [row.sample(rf"\boxed{{{box}}}") for box in boxes]
    together = row.sample(rf"\boxed{{{', '.join(boxes)}}}")
    scores = scorer.score_batch([*alone, together])
    return not scores[-1].correct and any(score.correct is False for score in scores[:-1])


def boxes_in(text: str) -> list[str]:
    """Return the contents of all boxes in a text, in order and without duplicates."""
    found: dict[str, None] = {}
    for match in _BOX.finditer(text):
        depth = 1
        end = match.end()
        while end < len(text) and depth:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        content = text[match.end() : end - 1].strip()
        if not depth and content:
            found[content] = None
    return list(found)
