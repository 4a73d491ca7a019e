"""The result of `rewardkit.evaluate`: figures with intervals, what is missing from them, and gates."""

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
    """The run of one dataset; kept as `NAME.json` beside its responses and scores."""

    asked: dict[str, Any]
    """All that the responses depend on; the prompts by the key of the prepared dataset."""
    prompts: str
    responses: str
    scored: str
    """The files of the run."""
    prompt_tokens: int = 0
    response_tokens: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    """Seconds by step: `generate`, of all runs together, and `score`."""
    figures: dict[str, Any] | None = None
    """Figures by data source, as `rewardkit eval FILE --json` has them; None: not scored yet."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The figures of an evaluation."""

    figures: dict[str, Figures]
    """Figures by data source, and `overall` where there are several; of datasets by their name."""
    out: str | None
    """The scored file, or the folder of datasets; None: the scores were not kept."""
    problems: tuple[str, ...] = ()
    """Rows and data sources of the input that the figures lack, one line each."""
    datasets: dict[str, DatasetRun] = field(default_factory=dict)
    """The runs of datasets by name; empty for files."""

    def gates(self, fail_under: GateLimits | None, *, fail_on: Counted = "point") -> list[GateResult]:
        """Return whether the accuracy, or else the mean score, of data sources is at least a limit.

        Args:
            fail_under: a limit for every data source, or limits by data source.
            fail_on: `point`: the mean counts; `interval`: the lower end of its 95 % interval.
        """
        return gate_figures(self.figures, gate_limits(fail_under), fail_on)

    def check(self, fail_under: GateLimits | None = None, *, fail_on: Counted = "point") -> Evaluation:
        """Return the evaluation itself if it is complete and every gate passes; arguments as of `gates`.

        Raises:
            IncompleteError: rows or data sources are missing, a data source has no figure, or more than 5 %
                of the responses of a gate's data source were not scored.
            GateError: a figure is under its limit.
            OptionsError: a limit is no finite number.
        """
        require_passed(self.problems, self.gates(fail_under, fail_on=fail_on))
        return self

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data, as `rewardkit eval --json` prints it."""
        if self.datasets:
            found: dict[str, Any] = {"datasets": {name: asdict(one) for name, one in self.datasets.items()}}
        else:
            found = {"data_sources": {name: one.as_dict() for name, one in self.figures.items()}}
        return {"out": self.out, **found, "problems": list(self.problems)}

    def summary(self, gates: tuple[GateResult, ...] = ()) -> Summary:
        """Return the figures as a table, with problems and gates."""
        rows = tuple(_row(name, one) for name, one in self.figures.items())
        return Summary("eval", COLUMNS, rows, self.problems, gates)

    def __str__(self) -> str:
        return str(self.summary())


def unscored_problem(name: str, one: Figures) -> str:
    """Return why a data source has no figures; empty if it has."""
    if one.scored or name == OVERALL:
        return ""
    counts = ", ".join(f"{n:,} {status}" for status, n in one.failures.items())
    return f"{name}: none of its {one.responses:,} responses was scored ({counts})"


def _row(name: str, one: Figures) -> SummaryRow:
    failures = ", ".join(f"{n:,} {status}" for status, n in one.failures.items()) or "0"
    cells = (cell(one.accuracy), cell(one.score), f"{one.responses:,}", failures)
    return SummaryRow(name, cells, unscored_problem(name, one))
