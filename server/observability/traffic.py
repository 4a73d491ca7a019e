"""Recent scoring activity, for the page: rates, score distributions, and the latest responses (`recent`).

The data is kept in memory, and covers only this server process.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rewardkit.server.observability.recent import Recent
from rewardkit.server.tally import OTHERS, Tally

SECONDS = 120
"""Number of past seconds for which rates are kept."""
BINS = 20
"""Number of bins per unit in the distribution of scores."""
MAX_SOURCES = 50
"""Maximum number of data sources that are counted separately, since clients can choose any names."""


@dataclass
class _Source:
    seconds: dict[int, int] = field(default_factory=dict)
    """Number of samples by second. Only the latest seconds with samples are kept."""
    total: int = 0
    scored: int = 0
    sum: float = 0.0
    decided: int = 0
    """Number of scored samples with a right or wrong verdict. Some rewards give no such verdict."""
    correct: int = 0
    failed: int = 0
    scores: dict[float, int] = field(default_factory=dict)
    """Number of samples by score, rounded to a multiple of `1 / BINS`."""

    def add(self, score: float, correct: bool | None, status: str, second: int, n: int) -> None:
        self.seconds[second] = self.seconds.get(second, 0) + n
        if len(self.seconds) > SECONDS:
            del self.seconds[min(self.seconds)]
        self.total += n
        if status != "ok":
            self.failed += n
            return
        self.scored += n
        self.sum += score * n
        self.decided += n * (correct is not None)
        self.correct += n * bool(correct)
        rounded = round(score * BINS) / BINS
        # The number of bins is limited, because scores may be unbounded.
        if rounded in self.scores or len(self.scores) < 2 * BINS:
            self.scores[rounded] = self.scores.get(rounded, 0) + n

    def take(self, other: _Source) -> None:
        """Add the counts of another data source with the same reward."""
        for second, n in other.seconds.items():
            self.seconds[second] = self.seconds.get(second, 0) + n
        for value, n in other.scores.items():
            self.scores[value] = self.scores.get(value, 0) + n
        self.total += other.total
        self.scored += other.scored
        self.sum += other.sum
        self.decided += other.decided
        self.correct += other.correct
        self.failed += other.failed

    def summary(self, now: int) -> dict[str, Any]:
        return {
            "total": self.total,
            "failed": self.failed,
            "mean": self.sum / self.scored if self.scored else None,
            "correct": self.correct / self.decided if self.decided else None,
            "per_second": [self.seconds.get(second, 0) for second in range(now - SECONDS, now)],
            "scores": sorted(self.scores.items()),
        }


class Traffic:
    """Counters of scored samples, for use only in the event loop's thread.

    Args:
        clock: Function that returns the current time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._sources: dict[str, _Source] = {}
        self.recent = Recent()

    def observe(self, tally: Tally, seconds: float) -> None:
        """Count a scored batch."""
        now = self._clock()
        failed = False
        for outcome in tally.outcomes:
            name = self._name(outcome.source)
            source = self._sources.get(name)
            if source is None:
                source = self._sources[name] = _Source()
            source.add(outcome.score, outcome.correct, outcome.status, int(now), outcome.n)
            failed |= outcome.status != "ok"
        if failed or self.recent.wants_more(now):
            self.recent.record(tally.samples, tally.scores, self._name, now)

    def _name(self, source: str) -> str:
        name = source[:100]
        return name if name in self._sources or len(self._sources) < MAX_SOURCES else OTHERS

    def snapshot(self, reward_of: Callable[[str], str] = str) -> dict[str, Any]:
        """Return rates and distributions by reward and by data source, busiest first, as plain data.

        Args:
            reward_of: Function that returns the name of the reward for a data source.
        """
        now = int(self._clock())
        rewards: dict[str, _Source] = {}
        scored_by = {name: reward_of(name) for name in self._sources}
        for name, counted in self._sources.items():
            rewards.setdefault(scored_by[name], _Source()).take(counted)
        return {
            "seconds": SECONDS,
            "rewards": {name: counted.summary(now) for name, counted in _busiest_first(rewards)},
            "sources": {
                name: {"reward": scored_by[name], **counted.summary(now)}
                for name, counted in _busiest_first(self._sources)
            },
        }


def _busiest_first(counted: Mapping[str, _Source]) -> list[tuple[str, _Source]]:
    return sorted(counted.items(), key=lambda item: -item[1].total)
