"""Totals of scoring by data source, which can be summed over chunks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

import msgspec

from rewardkit.types import COST_PARTS, COSTS, OVERRULED, UNDECIDED, Sample, Score


class SourceReport(msgspec.Struct):
    """Running totals for one data source. Means are over the scored samples (status `ok`)."""

    n: int = 0
    statuses: dict[str, int] = msgspec.field(default_factory=dict)
    score_sum: float = 0.0
    scored_correct: int = 0
    correct: int = 0
    scored_format: int = 0
    format_sum: float = 0.0
    undecided: int = 0
    """Number of samples whose answer could not be read or compared, and which were scored as wrong."""
    first_failure: str | None = None
    costs: dict[str, float] = msgspec.field(default_factory=dict)
    """Cost of requests to models: the sums of `COST_PARTS` and of `overruled`, and the number of samples for
    which a model was called (`asked`). Empty if no reward calls a model."""

    def add(self, scores: Sequence[Score], times_of: Counter[int]) -> None:
        """Add scores to the totals.

        Args:
            scores: Distinct score objects, some of which may have equal values.
            times_of: Number of occurrences of each score, by index in `scores`.
        """
        statuses: Counter[str] = Counter()
        values: Counter[float] = Counter()
        formats: Counter[float] = Counter()
        for place, times in times_of.items():
            score = scores[place]
            self.n += times
            statuses[score.status] += times
            if score.status != "ok":
                self.first_failure = self.first_failure or score.detail
            else:
                values[score.score] += times
                if score.correct is not None:
                    self.scored_correct += times
                    self.correct += times * score.correct
                if (in_format := score.parts.get("format")) is not None:
                    formats[in_format] += times
                self.undecided += times * int(score.parts.get(UNDECIDED, 0.0))
            if len(score.parts) >= len(COSTS) and score.parts.keys() >= COSTS:
                self._add_costs(score.parts, times)
        for status, times in statuses.items():
            self._count(status, times)
        self.score_sum += sum(value * times for value, times in sorted(values.items()))
        self.scored_format += formats.total()
        self.format_sum += sum(value * times for value, times in sorted(formats.items()))

    def _add_costs(self, parts: dict[str, float], times: int) -> None:
        more = {name: times * parts.get(name, 0.0) for name in (*COST_PARTS, OVERRULED)}
        self._count_costs({**more, "asked": times * float(more["calls"] + more["cached"] > 0)})

    def _count_costs(self, more: dict[str, float]) -> None:
        for name, value in more.items():
            self.costs[name] = self.costs.get(name, 0.0) + value

    def _count(self, status: str, n: int) -> None:
        if n:
            self.statuses[status] = self.statuses.get(status, 0) + n

    def merge(self, other: SourceReport) -> None:
        """Add the totals for another chunk."""
        self.n += other.n
        for status, n in other.statuses.items():
            self._count(status, n)
        self.score_sum += other.score_sum
        self.scored_correct += other.scored_correct
        self.correct += other.correct
        self.scored_format += other.scored_format
        self.format_sum += other.format_sum
        self.undecided += other.undecided
        self.first_failure = self.first_failure or other.first_failure
        self._count_costs(other.costs)

    @property
    def scored(self) -> int:
        """Number of samples that were scored."""
        return self.statuses.get("ok", 0)

    @property
    def mean_score(self) -> float | None:
        """Mean score of the scored samples."""
        return _ratio(self.score_sum, self.scored)

    @property
    def accuracy(self) -> float | None:
        """Fraction of scored samples that are correct, or None if the reward does not report it for all."""
        return _ratio(self.correct, self.scored_correct) if self.scored_correct == self.scored else None

    @property
    def format_rate(self) -> float | None:
        """Fraction of scored samples with the correct format, or None if the reward does not report it."""
        return _ratio(self.format_sum, self.scored_format)

    @property
    def failures(self) -> dict[str, int]:
        """Number of samples that could not be scored, by status."""
        return {status: n for status, n in sorted(self.statuses.items()) if status != "ok"}

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as a dictionary."""
        return {
            "n": self.n,
            "scored": self.scored,
            "mean_score": self.mean_score,
            "accuracy": self.accuracy,
            "format_rate": self.format_rate,
            "undecided": self.undecided,
            "failures": self.failures,
            "first_failure": self.first_failure,
            **({"costs": self.costs} if self.costs else {}),
        }


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """Result for one input file in a run that writes to a folder."""

    path: str
    out: str
    sources: dict[str, SourceReport] = field(default_factory=dict)
    why_not: str | None = None
    """Reason why the file was not scored, or None if it was scored."""

    def as_dict(self) -> dict[str, Any]:
        """Return the result as a dictionary."""
        rows = sum(source.n for source in self.sources.values())
        scored = sum(source.scored for source in self.sources.values())
        total = sum(source.score_sum for source in self.sources.values())
        return {
            "file": self.path,
            "rows": rows,
            "data_sources": sorted(self.sources),
            "mean_score": _ratio(total, scored),
            "why_not": self.why_not,
        }


@dataclass
class Report:
    """Totals for a whole run."""

    sources: dict[str, SourceReport] = field(default_factory=dict)
    bad_rows: list[str] = field(default_factory=list)
    """File, row and reason for the first unusable rows."""
    bad_count: int = 0
    """Number of unusable rows, including dropped rows."""
    files: list[FileOutcome] = field(default_factory=list)
    """Results for the input files in order, including files that could not be scored. Empty unless the run
    writes to a folder."""

    def add(
        self, samples: Sequence[Sample], scores: Sequence[Score], places: Sequence[int] | None = None
    ) -> None:
        """Add the scores of samples to the totals.

        Args:
            samples: Samples with scores.
            scores: Distinct scores.
            places: Index of each sample's score in `scores`, or None if sample i has score i.
        """
        places = range(len(scores)) if places is None else places
        names = list(map(attrgetter("data_source"), samples))
        by_source: dict[str, Counter[int]] = {name: Counter() for name in dict.fromkeys(names)}
        if len(by_source) == 1:
            by_source[names[0]].update(places)
        else:
            for name, place in zip(names, places, strict=True):
                by_source[name][place] += 1
        for name, times_of in by_source.items():
            self.sources.setdefault(name, SourceReport()).add(scores, times_of)

    def merge(self, sources: dict[str, SourceReport]) -> None:
        """Add the totals for another chunk, given by data source."""
        for name, source in sources.items():
            self.sources.setdefault(name, SourceReport()).merge(source)

    @property
    def scored(self) -> int:
        """Number of samples that were scored, over all data sources."""
        return sum(source.scored for source in self.sources.values())

    @property
    def failures(self) -> Counter[str]:
        """Number of samples that could not be scored, by status, over all data sources."""
        total: Counter[str] = Counter()
        for source in self.sources.values():
            total.update(source.failures)
        return total

    def as_dict(self) -> dict[str, Any]:
        """Return the figures by data source as a dictionary."""
        return {name: source.as_dict() for name, source in sorted(self.sources.items())}


def _ratio(part: float, whole: int) -> float | None:
    return part / whole if whole else None
