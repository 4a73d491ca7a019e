"""Recent scoring activity, for the page: rates, score distributions, and the latest responses (`recent`).

In memory. Of several server processes each counts its own share, and the one that is asked adds them up.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rewardkit.server.recent import Recent
from rewardkit.server.scoring import CountedOutcome
from rewardkit.types import Sample, Score

SECONDS = 120
"""How far back the rates go."""
BINS = 20
"""Of the distribution of scores."""
MAX_SOURCES = 50
"""Further data sources are counted together: the names are the callers' to choose."""
OTHERS = "(others)"


@dataclass
class _Source:
    seconds: dict[int, int] = field(default_factory=dict)
    """Samples in each second that had any, none older than SECONDS."""
    total: int = 0
    scored: int = 0
    sum: float = 0.0
    decided: int = 0
    """Of the scored ones those that were called right or wrong: some rewards know neither."""
    correct: int = 0
    failed: int = 0
    scores: dict[float, int] = field(default_factory=dict)
    """How often each score came, rounded to `1 / BINS`."""

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
        if rounded in self.scores or len(self.scores) < 2 * BINS:  # a reward model's are unbounded
            self.scores[rounded] = self.scores.get(rounded, 0) + n

    def take(self, other: Mapping[str, Any]) -> None:
        """Add what another process has counted."""
        for second, n in other["seconds"]:
            self.seconds[second] = self.seconds.get(second, 0) + n
        for value, n in other["scores"]:
            self.scores[value] = self.scores.get(value, 0) + n
        self.total += other["total"]
        self.scored += other["scored"]
        self.sum += other["sum"]
        self.decided += other["decided"]
        self.correct += other["correct"]
        self.failed += other["failed"]

    def counts(self) -> dict[str, Any]:
        """The same as plain data."""
        return {
            "seconds": list(self.seconds.items()),
            "scores": list(self.scores.items()),
            "total": self.total,
            "scored": self.scored,
            "sum": self.sum,
            "decided": self.decided,
            "correct": self.correct,
            "failed": self.failed,
        }

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
    """Counts scored samples. For one thread, the event loop's.

    Args:
        clock: seconds, for tests.
        place: this process's number among the server's.
    """

    def __init__(self, clock: Callable[[], float] = time.time, place: int = 0) -> None:
        self._clock = clock
        self._sources: dict[str, _Source] = {}
        self.recent = Recent(place)

    def record(
        self, outcomes: Mapping[CountedOutcome, int], samples: Sequence[Sample], scores: Sequence[Score]
    ) -> None:
        """Count a scored batch."""
        now = self._clock()
        names: dict[str, str] = {}
        failed = False
        for (data_source, score, correct, status), n in outcomes.items():
            name = names[data_source] = self._name(data_source)
            source = self._sources.get(name)
            if source is None:
                source = self._sources[name] = _Source()
            source.add(score, correct, status, int(now), n)
            failed |= status != "ok"
        if failed or self.recent.wants_more(now):
            self.recent.record(samples, scores, names, now)

    def _name(self, source: str) -> str:
        name = source[:100]
        return name if name in self._sources or len(self._sources) < MAX_SOURCES else OTHERS

    def counts(self) -> dict[str, Any]:
        """Return what this process has counted, for another to add to its own."""
        return {"sources": {name: source.counts() for name, source in self._sources.items()}}

    def snapshot(
        self, others: Sequence[Mapping[str, Any]] = (), reward_of: Callable[[str], str] = str
    ) -> dict[str, Any]:
        """Return rates and distributions by reward and by data source, the busiest first, as plain data.

        Args:
            others: the `counts` of the server's other processes.
            reward_of: the name of the reward that scores a data source.
        """
        now = int(self._clock())
        sources: dict[str, _Source] = {}
        rewards: dict[str, _Source] = {}
        scored_by: dict[str, str] = {}
        for counted in (self.counts(), *others):
            for name, counts in counted["sources"].items():
                reward = scored_by.setdefault(name, reward_of(name))
                sources.setdefault(name, _Source()).take(counts)
                rewards.setdefault(reward, _Source()).take(counts)
        return {
            "seconds": SECONDS,
            "rewards": {name: counted.summary(now) for name, counted in _busiest_first(rewards)},
            "sources": {
                name: {"reward": scored_by[name], **counted.summary(now)}
                for name, counted in _busiest_first(sources)
            },
        }


def _busiest_first(counted: Mapping[str, _Source]) -> list[tuple[str, _Source]]:
    return sorted(counted.items(), key=lambda item: -item[1].total)
