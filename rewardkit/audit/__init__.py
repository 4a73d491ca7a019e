"""Audits of a reward together with a dataset: which reward needs no knowledge, and which answers are denied.

This module has the results. `frames` and `answers` make the responses to score, `layers` scores them,
`report` shows the results, and `programs` finds code rows with weak tests.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Layer = Literal["knowing", "constant", "several", "swapped", "wrong", "contract"]
"""Kinds of holes, in the order in which they are shown."""


@dataclass(frozen=True, slots=True)
class Payment:
    """Response that earns reward without solving the task, in one row."""

    text: str
    score: float
    share: float
    """Mean share of the span that the text earns over the rows in which it was tried."""
    row: int
    """Number of a row in the file, from 0, in which the text earns `score`."""
    ground_truth: str
    """Ground truth of that row."""
    what: str = ""
    """Kind of the response, such as `empty response`."""
    parts: Mapping[str, float] = field(default_factory=dict)
    """Parts of the score, if the reward is a composition."""


@dataclass(frozen=True, slots=True)
class Hole:
    """Way to earn reward without solving the task."""

    layer: Layer
    share: float
    """Share of the span that a policy earns in this way."""
    above_chance: float
    """Share of the span by which this way beats chance."""
    what: str
    payments: tuple[Payment, ...] = ()
    """Responses that are paid, the shortest first."""


@dataclass(frozen=True, slots=True)
class WeakRow:
    """Row of code whose tests accept a wrong program."""

    row: int
    """Row number in the file, from 0."""
    change: str
    """Difference between the wrong program and the reference program, in one line."""
    mutant: str
    """Wrong program that passes all tests."""
    witness: str
    """Call on which the wrong program and the reference program differ."""
    expected: str
    """Result of the reference program."""
    got: str
    """Result of the wrong program."""


@dataclass(frozen=True, slots=True)
class SourceAudit:
    """Audit of the reward of one data source. A figure is None if it was not measured."""

    data_source: str
    rows: int
    """Number of rows with which the reward was audited."""
    frame: str = ""
    """Frame of the answers, with `{}` for the answer."""
    chance: float | None = None
    """Share of the rows that have the most frequent answer."""
    constant: float | None = None
    """Share of the span that the best response earns that is the same in every row."""
    several: float | None = None
    """Share of the span that the best list of answers earns."""
    swapped: float | None = None
    """Share of the responses to other rows that are paid."""
    wrong: Mapping[str, float] | None = None
    """Share of wrong answers that are paid, by the kind of change."""
    denied: Mapping[str, float] | None = None
    """Share of right answers that are not paid, by the way in which they are written."""
    holes: tuple[Hole, ...] = ()
    weak_rows: tuple[WeakRow, ...] = ()
    tested_rows: int | None = None
    """Number of rows whose tests were tried with wrong programs, or None for rows without tests."""
    scores: int = 0
    late: bool = False
    """True if the time limit ended before all layers were done."""
    cpu_s: float = 0.0
    problem: str = ""
    """Reason why the reward could not be audited, in one line; empty if it was audited."""

    @property
    def above_chance(self) -> float:
        """Largest share of the span that a policy earns above chance without solving the task."""
        return max((hole.above_chance for hole in self.holes), default=0.0)


@dataclass(frozen=True, slots=True)
class Audit:
    """Audits of all data sources of a dataset."""

    path: str
    sources: tuple[SourceAudit, ...]

    @property
    def above_chance(self) -> float:
        """Largest share of the span that a policy earns above chance in any data source."""
        return max((source.above_chance for source in self.sources), default=0.0)

    def as_dict(self) -> dict[str, Any]:
        """Return the audit as JSON-ready data."""
        return asdict(self)
