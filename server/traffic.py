"""What has been judged lately, for the page: rates, score distributions, the latest failures.

In memory, and of the server process that answers; with several, each knows its own share.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from rewardkit.types import Sample, Score

SECONDS = 120
"""How far back the rates go."""
BINS = 20
"""Of the distribution of scores."""
MAX_SOURCES = 50
"""Further data sources are counted together: the names are the callers' to choose."""
OTHERS = "(others)"
MAX_FAILURES = 50
_SHOWN = 300


@dataclass
class _Source:
    seconds: dict[int, int] = field(default_factory=dict)
    """Samples in each second that had any, none older than SECONDS."""
    total: int = 0
    judged: int = 0
    sum: float = 0.0
    correct: int = 0
    failed: int = 0
    scores: dict[float, int] = field(default_factory=dict)
    """How often each score came, rounded to `1 / BINS`."""

    def add(self, score: Score, second: int) -> None:
        self.seconds[second] = self.seconds.get(second, 0) + 1
        if len(self.seconds) > SECONDS:
            del self.seconds[min(self.seconds)]
        self.total += 1
        if not score.ok:
            self.failed += 1
            return
        self.judged += 1
        self.sum += score.score
        self.correct += bool(score.correct)
        rounded = round(score.score * BINS) / BINS
        if rounded in self.scores or len(self.scores) < 2 * BINS:  # a reward model's are unbounded
            self.scores[rounded] = self.scores.get(rounded, 0) + 1

    def summary(self, now: int) -> dict[str, Any]:
        return {
            "total": self.total,
            "failed": self.failed,
            "mean": self.sum / self.judged if self.judged else None,
            "correct": self.correct / self.judged if self.judged else None,
            "per_second": [self.seconds.get(second, 0) for second in range(now - SECONDS, now)],
            "scores": sorted(self.scores.items()),
        }


class Traffic:
    """Counts judged samples. For one thread, the event loop's.

    Args:
        clock: seconds, for tests.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._sources: dict[str, _Source] = {}
        self._failures: deque[dict[str, Any]] = deque(maxlen=MAX_FAILURES)

    def record(self, samples: Sequence[Sample], scores: Sequence[Score], seconds: float) -> None:
        """Count a judged batch; `seconds` is what it took."""
        now = self._clock()
        for sample, score in zip(samples, scores, strict=True):
            name = sample.data_source[:100]
            if name not in self._sources and len(self._sources) >= MAX_SOURCES:
                name = OTHERS
            self._sources.setdefault(name, _Source()).add(score, int(now))
            if not score.ok:
                self._failures.appendleft(
                    {
                        "time": now,
                        "data_source": name,
                        "status": score.status,
                        "detail": (score.detail or "")[:_SHOWN],
                        "response": sample.response[:_SHOWN],
                    }
                )

    def snapshot(self) -> dict[str, Any]:
        """Return everything the page shows, as plain data."""
        now = int(self._clock())
        sources = sorted(self._sources.items(), key=lambda item: -item[1].total)
        return {
            "seconds": SECONDS,
            "sources": {name: source.summary(now) for name, source in sources},
            "failures": list(self._failures),
        }
