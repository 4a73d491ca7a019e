"""Detection and weighting of rows whose responses agree on an answer other than the ground truth.

If a ground truth is right, the generators produce it as often as their accuracy predicts, although some
responses may share a mistake. If the ground truth is wrong, the generators produce the right answer with the
same frequency, and hardly ever the ground truth. Both counts are therefore evidence. A response with the
ground truth weighs about as much as two responses with the other answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rewardkit.labels.graders import OURS, Grader, Graders
from rewardkit.labels.labelled import Labelled
from rewardkit.scoring.scorer import Scorer

_PROPOSALS = 3
"""Number of the most frequent wrong answers to a row that are tried as the right answer."""
_GROUND_TRUTH = 2.0
"""Weight of a response with the ground truth. A response with the other answer has the weight 1."""
_ALONE = 3
"""Minimum number of responses to a row, none with the ground truth, for which an answer in only one response
counts."""


@dataclass(frozen=True, slots=True)
class Vote:
    """Numbers of responses to a row that give either of two answers, according to one grader."""

    grader: str
    ground_truth: int
    """Number of responses with the ground truth."""
    other: int
    """Number of responses with the other answer."""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Row whose responses agree on an answer other than its ground truth."""

    row: Labelled
    answer: str
    """Answer other than the ground truth, as written in one of the responses."""
    votes: tuple[Vote, ...]
    """Votes by the graders, beginning with rewardkit's. Graders that find neither answer in the responses are
    left out."""

    @property
    def weight(self) -> float:
        """Evidence against the ground truth in units of responses, averaged over the graders."""
        return sum(vote.other - _GROUND_TRUTH * vote.ground_truth for vote in self.votes) / len(self.votes)

    @property
    def generators(self) -> int:
        """Number of files that contain responses to the row."""
        return len(set(self.row.generators))


def find_disagreements(
    rows: Sequence[Labelled], scorer: Scorer, graders: Graders, *, most: int
) -> list[Disagreement]:
    """Return the rows whose responses agree on another answer, the most suspicious first.

    Args:
        rows: Rows with their responses.
        scorer: Scorer for rewardkit's grader.
        graders: Graders for the data sources.
        most: Approximate number of rows to return. The additional graders score up to twice as many rows.
    """
    ours = [found for found in _by_our_grader(rows, scorer, graders) if found.weight > 0]
    ours.sort(key=_rank)
    confirmed = [_asked(found, graders.of(found.row.item.data_source)) for found in ours[: 2 * most]]
    return sorted((found for found in confirmed if found.weight > 0), key=_rank)


def _rank(found: Disagreement) -> tuple[float, float]:
    share = max(vote.other for vote in found.votes) / len(found.row.responses)
    return -found.weight, -share


def _by_our_grader(rows: Sequence[Labelled], scorer: Scorer, graders: Graders) -> Iterator[Disagreement]:
    grader = {row.item.data_source: graders.of(row.item.data_source)[0] for row in rows}
    samples = (
        grader[row.item.data_source].taken(row.sample(response)) for row in rows for response in row.responses
    )
    scores = scorer.stream(samples)
    for row in rows:
        mine = [next(scores) for _ in row.responses]
        right = sum(score.correct is True for score in mine)
        wrong = Counter(s.extracted for s in mine if s.ok and s.correct is False and s.extracted)
        best: Disagreement | None = None
        for answer, _ in wrong.most_common(_PROPOSALS):
            other = grader[row.item.data_source].right(row.sample(text, answer) for text in row.responses)
            agreed = other > 1 or (other == 1 and not right and len(mine) >= _ALONE)
            if agreed and (best is None or other > best.votes[0].other):
                best = Disagreement(row, answer, (Vote(OURS, right, other),))
        if best is not None:
            yield best


def _asked(found: Disagreement, graders: Iterable[Grader]) -> Disagreement:
    """Return the disagreement with the votes by all graders that find either answer in the responses."""
    votes = list(found.votes)
    for grader in graders:
        if grader.name == OURS:
            continue
        row = found.row
        ground_truth = grader.right(row.sample(text) for text in row.responses)
        other = grader.right(row.sample(text, found.answer) for text in row.responses)
        if ground_truth or other:
            votes.append(Vote(grader.name, ground_truth, other))
    return Disagreement(found.row, found.answer, tuple(votes))
