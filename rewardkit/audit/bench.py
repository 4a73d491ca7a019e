"""Scores of responses to the rows of an audit, within a time limit and at a price that is measured first."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from statistics import fmean, median

from rewardkit.audit.answers import AuditRow
from rewardkit.scoring.scorer import Scorer
from rewardkit.types import Score

Try = tuple[AuditRow, str]
"""Row and the response that is tried on it."""
_CHUNK_S = 0.5
_SMALLEST_CHUNK, _LARGEST_CHUNK = 64, 2_048
"""Bounds of the number of tries that are scored at once. Judges answer many at once."""
_MEASURING = 0.1
"""Share of the time limit that measuring the price may take."""


class Bench:
    """Scorer of tries for one data source. Each try is scored once.

    Args:
        scorer: Scorer with the reward.
        seconds: Time limit for all scores. Tries that are not scored by then have no score.
        inline: True if the reward runs in this process, so that its price is this process's CPU time.
    """

    def __init__(self, scorer: Scorer, seconds: float, *, inline: bool) -> None:
        self._scorer = scorer
        self._clock = time.process_time if inline else time.monotonic
        self._ends = time.monotonic() + seconds
        self._known: dict[tuple[int, str], Score] = {}
        self.price_s = _CHUNK_S
        """Wall time of one score in a batch, in seconds."""
        self.late = False
        """True if the time limit has ended."""
        self.low, self.span = 0.0, 1.0
        """Score of an idle response, and what a right answer earns above it."""

    @property
    def left_s(self) -> float:
        """Time that is left, in seconds."""
        return max(0.0, self._ends - time.monotonic())

    @property
    def count(self) -> int:
        """Number of scores so far."""
        return len(self._known)

    def measure(self, tries: Sequence[Try]) -> None:
        """Score tries and measure the price of a score. The first try starts a worker and does not count."""
        limit = self.left_s * _MEASURING
        self._score(tries[:1])
        first, each = 1, 0.0
        for last in (4, len(tries)):
            began = self._clock()
            self._score(tries[first:last])
            each = (self._clock() - began) / max(1, last - first)
            first = last
            if each * (len(tries) - last) > limit:
                break
        typical = median(score.seconds for score in self._known.values()) if self._known else each
        self.price_s = max(1e-5, min(each, typical or each))  # first scores import and compile

    @contextlib.contextmanager
    def measured(self) -> Iterator[None]:
        """Measure the price again with the scores of a block, if it is higher than before."""
        began, before = self._clock(), self.count
        yield
        if self.count > before:
            self.price_s = max(self.price_s, (self._clock() - began) / (self.count - before))

    def scores(self, tries: Sequence[Try]) -> list[Score | None]:
        """Return the score of each try, or None if it failed or if the time limit ended before."""
        new = list({(id(row.item), text): (row, text) for row, text in tries}.values())
        new = [(row, text) for row, text in new if (id(row.item), text) not in self._known]
        size = min(_LARGEST_CHUNK, max(_SMALLEST_CHUNK, int(_CHUNK_S / self.price_s)))
        for first in range(0, len(new), size):
            if not self.left_s:
                self.late = True
                break
            self._score(new[first : first + size])
        found = (self._known.get((id(row.item), text)) for row, text in tries)
        return [score if score is not None and score.ok else None for score in found]

    def values(self, tries: Sequence[Try]) -> list[float]:
        """Return the values of the tries that could be scored."""
        return [score.score for score in self.scores(tries) if score is not None]

    def shares(self, tries: Sequence[Try]) -> list[float]:
        """Return the share of the span that each try earns, and 0 for a try without a score."""
        scores = self.scores(tries)
        return [0.0 if score is None else (score.score - self.low) / self.span for score in scores]

    def mean(self, tries: Sequence[Try]) -> float:
        """Return the mean share of the span that tries earn, or 0 if there are none."""
        return fmean(self.shares(tries)) if tries else 0.0

    def why_failed(self) -> str:
        """Return the reason of the first failed score, or an empty text."""
        failed = (score for score in self._known.values() if not score.ok)
        return next((f"{score.status}, {score.detail}" for score in failed), "")

    def again(self, tries: Sequence[Try]) -> list[Score]:
        """Score tries again, without remembering the scores."""
        return self._scorer.submit([row.sample(text) for row, text in tries]).wait(self.left_s)

    def _score(self, tries: Sequence[Try]) -> None:
        for (row, text), score in zip(tries, self.again(tries), strict=True):
            if score.status == "timeout" and not self.left_s:
                self.late = True
            else:
                self._known[id(row.item), text] = score
