"""Result of `rewardkit.evaluate`: figures with intervals, messages about missing rows, and gates."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from rewardkit.evaluation.evaluation import OVERALL, Figures
from rewardkit.evaluation.gates import (
    Counted,
    GateLimits,
    GateResult,
    gate_figures,
    gate_limits,
    require_passed,
)
from rewardkit.evaluation.summary import Summary, SummaryRow, cell

COLUMNS = ("data source", "accuracy", "mean score", "responses", "not scored")


@dataclass(slots=True)
class DatasetRun:
    """Record of a run on one dataset, stored as `NAME.json` beside its responses and scores."""

    asked: dict[str, Any]
    """All settings that affect the responses. The key of the prepared dataset identifies the prompts."""
    prompts: str
    """Path of the file with the prompts."""
    responses: str
    """Path of the file with the responses."""
    scored: str
    """Path of the file with the scored responses."""
    prompt_tokens: int = 0
    response_tokens: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    """Duration of the steps `generate` (the sum over all calls) and `score`, in seconds."""
    figures: dict[str, Any] | None = None
    """Figures by data source, as in `rewardkit eval FILE --json`, or None before scoring."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Figures of an evaluation, with messages about missing rows."""

    figures: dict[str, Figures]
    """Figures by data source, with `overall` for several data sources, or by dataset name."""
    out: str | None
    """Path of the scored file, or of the folder for datasets, or None if the scores were not kept."""
    problems: tuple[str, ...] = ()
    """Messages about rows and data sources in the input that are missing from the figures."""
    datasets: dict[str, DatasetRun] = field(default_factory=dict)
    """Runs of datasets by name; empty for files."""
    by_flag: dict[str, Figures] = field(default_factory=dict)
    """Figures by data source and flag of an audit (`mbpp: weak_tests`); empty if no row has flags. Gates
    ignore them."""

    def gates(self, fail_under: GateLimits | None, *, fail_on: Counted = "point") -> list[GateResult]:
        """Return the results of gates that require figures to be at least the limit.

        The gates use the accuracy, or the mean score if a reward does not report correctness.

        Args:
            fail_under: One limit for every data source, or limits by data source.
            fail_on: Value to compare. `point` is the mean, and `interval` the lower end of the 95 % interval.
        """
        return gate_figures(self.figures, gate_limits(fail_under), fail_on)

    def check(self, fail_under: GateLimits | None = None, *, fail_on: Counted = "point") -> Evaluation:
        """Return this evaluation if it is complete and every gate passes.

        The arguments are the same as for `gates`.

        Raises:
            IncompleteError: Rows or data sources are missing, a data source has no figure, or more than 5 %
                of the responses in a gate's data source were not scored.
            GateError: A figure is below its limit.
            OptionsError: A limit is not a finite number.
        """
        require_passed(self.problems, self.gates(fail_under, fail_on=fail_on))
        return self

    def as_dict(self) -> dict[str, Any]:
        """Return the evaluation as the dictionary that `rewardkit eval --json` prints."""
        if self.datasets:
            found: dict[str, Any] = {"datasets": {name: asdict(one) for name, one in self.datasets.items()}}
        else:
            found = {"data_sources": {name: one.as_dict() for name, one in self.figures.items()}}
            if self.by_flag:
                found["flags"] = {name: one.as_dict() for name, one in self.by_flag.items()}
        return {"out": self.out, **found, "problems": list(self.problems)}

    def summary(self, gates: tuple[GateResult, ...] = ()) -> Summary:
        """Return the figures as a table, with the problems and the results of the gates."""
        rows = tuple(_row(name, one) for name, one in self.figures.items())
        return Summary("eval", COLUMNS, rows, self.problems, gates)

    def __str__(self) -> str:
        return str(self.summary())


def unscored_problem(name: str, one: Figures) -> str:
    """Return a message if the data source has no scored response, or "" otherwise."""
    if one.scored or name == OVERALL:
        return ""
    counts = ", ".join(f"{n:,} {status}" for status, n in one.failures.items())
    return f"{name}: none of its {one.responses:,} responses was scored ({counts})"


def _row(name: str, one: Figures) -> SummaryRow:
    failures = ", ".join(f"{n:,} {status}" for status, n in one.failures.items()) or "0"
    cells = (cell(one.accuracy), cell(one.score), f"{one.responses:,}", failures)
    return SummaryRow(name, cells, unscored_problem(name, one))
