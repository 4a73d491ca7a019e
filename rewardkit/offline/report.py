"""What came of scoring, data source by data source: counts that can be added up chunk by chunk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from rewardkit.types import Sample, Score


@dataclass
class SourceReport:
    """Running totals for one data source. Means are over the samples that were judged (status `ok`)."""

    n: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    score_sum: float = 0.0
    judged_correct: int = 0
    correct: int = 0
    judged_format: int = 0
    format_sum: float = 0.0
    first_failure: str | None = None

    def add(self, score: Score) -> None:
        """Count one score."""
        self.n += 1
        self.statuses[score.status] += 1
        if score.status != "ok":
            self.first_failure = self.first_failure or score.detail
            return
        self.score_sum += score.score
        if score.correct is not None:
            self.judged_correct += 1
            self.correct += score.correct
        if (in_format := score.parts.get("format")) is not None:
            self.judged_format += 1
            self.format_sum += in_format

    @property
    def mean_score(self) -> float | None:
        """Mean score of the judged samples."""
        return _ratio(self.score_sum, self.statuses["ok"])

    @property
    def accuracy(self) -> float | None:
        """Fraction of the judged samples that are correct; None where the reward does not say."""
        return _ratio(self.correct, self.judged_correct)

    @property
    def format_rate(self) -> float | None:
        """Fraction of the judged samples that are in format; None where the reward does not say."""
        return _ratio(self.format_sum, self.judged_format)

    @property
    def failures(self) -> dict[str, int]:
        """Samples that could not be judged, by status."""
        return {status: n for status, n in sorted(self.statuses.items()) if status != "ok"}

    def as_dict(self) -> dict[str, Any]:
        """The figures as plain data."""
        return {
            "n": self.n,
            "mean_score": self.mean_score,
            "accuracy": self.accuracy,
            "format_rate": self.format_rate,
            "failures": self.failures,
            "first_failure": self.first_failure,
        }


@dataclass
class Report:
    """The totals of a whole file."""

    sources: dict[str, SourceReport] = field(default_factory=dict)

    def add(self, samples: Iterable[Sample], scores: Iterable[Score]) -> None:
        """Count the scores of some samples."""
        for sample, score in zip(samples, scores, strict=True):
            source = self.sources.get(sample.data_source)
            if source is None:
                source = self.sources[sample.data_source] = SourceReport()
            source.add(score)

    @property
    def failures(self) -> Counter[str]:
        """Samples that could not be judged, by status, over all data sources."""
        total: Counter[str] = Counter()
        for source in self.sources.values():
            total.update(source.failures)
        return total

    def as_dict(self) -> dict[str, Any]:
        """The figures as plain data, by data source."""
        return {name: source.as_dict() for name, source in sorted(self.sources.items())}


def _ratio(part: float, whole: int) -> float | None:
    return part / whole if whole else None
