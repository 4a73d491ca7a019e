"""Ranking of suspicious ground truths by the evidence from responses and from worked solutions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rewardkit.labels.agreement import Disagreement, Vote, find_disagreements
from rewardkit.labels.graders import Graders
from rewardkit.labels.labelled import Labelled
from rewardkit.labels.solutions import find_contradictions
from rewardkit.scoring.scorer import Scorer


@dataclass(slots=True)
class Suspicion:
    """Ground truth that is likely to be wrong, with the reasons."""

    row: Labelled
    answer: str
    """Answer that may be right instead."""
    why: list[str] = field(default_factory=list)
    votes: tuple[Vote, ...] = ()
    weight: float = 0.0
    """Evidence against the ground truth in units of responses."""

    def as_dict(self) -> dict[str, object]:
        """Return the suspicion as a dictionary that can be written as JSON."""
        item = self.row.item
        return {
            "row": item.row,
            "data_source": item.data_source,
            "ground_truth": item.ground_truth,
            "answer": self.answer,
            "weight": round(self.weight, 3),
            "responses": len(self.row.responses),
            "votes": {v.grader: {"ground_truth": v.ground_truth, "other": v.other} for v in self.votes},
            "why": self.why,
            "question": self.row.question,
        }


def find_suspicions(rows: Sequence[Labelled], scorer: Scorer, *, most: int) -> list[Suspicion]:
    """Return the rows whose ground truth is likely to be wrong, the most suspicious first.

    A solution that contradicts the ground truth weighs as much as all responses to its row together. The
    module `agreement` defines the weight of responses.

    Args:
        rows: Rows with their responses.
        scorer: Scorer for the responses.
        most: Approximate number of rows with responses to return. The additional graders score up to twice as
            many rows.
    """
    with Graders(scorer) as graders:
        disagreements = find_disagreements(rows, scorer, graders, most=most)
    found: dict[int, Suspicion] = {}
    for one in disagreements:
        found[id(one.row)] = _from_responses(one)
    for other in find_contradictions(rows, scorer):
        known = found.setdefault(id(other.row), Suspicion(other.row, other.answer))
        known.why.append(other.why)
        known.weight += max(1, len(other.row.responses))
    return sorted(found.values(), key=lambda s: (-s.weight, s.row.item.row))


def _from_responses(one: Disagreement) -> Suspicion:
    ours = one.votes[0]
    why = (
        f"{ours.other} of {len(one.row.responses)} responses agree on a different answer, and "
        f"{ours.ground_truth} give the ground truth"
    )
    return Suspicion(one.row, one.answer, [why], one.votes, one.weight)
