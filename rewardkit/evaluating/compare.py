"""`rewardkit.compare`: two scored files or tables over the same prompts, side by side."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rewardkit.composition.given import GivenRewards
from rewardkit.errors import UnscoredError
from rewardkit.evaluation import comparison
from rewardkit.evaluation.comparison import Comparison
from rewardkit.evaluation.gates import GateLimits, GateResult, gate_comparison, gate_limits, require_passed
from rewardkit.evaluation.scored import dumps_in, read_groups
from rewardkit.evaluation.summary import Summary, SummaryRow, cell
from rewardkit.logs.layout import ReadOptions
from rewardkit.logs.reader import PLAIN
from rewardkit.offline.frame import as_file
from rewardkit.scoring.scorer import Scorer

COLUMNS = ("data source", "accuracy", "mean score", "prompts", "not scored")


@dataclass(frozen=True, slots=True)
class ComparedFiles:
    """The differences of two files: the second less the first."""

    found: Comparison

    @property
    def problems(self) -> tuple[str, ...]:
        """Data sources about which nothing can be said, one line each."""
        return self.found.problems

    def gates(self, fail_if_worse: GateLimits | None) -> list[GateResult]:
        """Return whether the second file is not worse than the first, on accuracy or else the mean score.

        A gate fails if even the upper end of the 95 % interval of the paired difference is below the negated
        limit.

        Args:
            fail_if_worse: a limit for every data source, or limits by data source; not below 0.
        """
        return gate_comparison(self.found, gate_limits(fail_if_worse, least=0.0))

    def check(self, fail_if_worse: GateLimits | None = None) -> ComparedFiles:
        """Return the comparison itself if it is complete and every gate passes.

        Raises:
            IncompleteError: a data source has no figure, or for more than 5 % of the prompts of a gate's data
                source one file has no scored response.
            GateError: the second file is worse than a limit allows.
            OptionsError: a limit is no number, or below 0.
        """
        require_passed(self.problems, self.gates(fail_if_worse))
        return self

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data, as `rewardkit compare --json` prints it."""
        return {**self.found.as_dict(), "problems": list(self.problems)}

    def summary(self, gates: tuple[GateResult, ...] = ()) -> Summary:
        """Return the differences as a table, with problems and gates."""
        rows = []
        for name, one in self.found.sources.items():
            cells = (cell(one.accuracy, "+"), cell(one.score, "+"), f"{one.prompts:,}", f"{one.not_scored:,}")
            problem = next((line for line in self.problems if line.startswith(f"{name}: ")), "")
            rows.append(SummaryRow(name, cells, problem))
        return Summary("compare", COLUMNS, tuple(rows), self.problems, gates)

    def __str__(self) -> str:
        return str(self.summary())


def compare(
    first: Any,
    second: Any,
    *,
    scorer: Scorer | None = None,
    options: ReadOptions = PLAIN,
    prefix: str = "",
    allow_missing: bool = False,
    given: GivenRewards | None = None,
    on_note: Callable[[str], None] = lambda line: None,
) -> ComparedFiles:
    """Return the differences between two files, prompt by prompt. Files without scores are scored in memory.

    Args:
        first: a scored file, folder or URL, a `pandas.DataFrame`, or a `pyarrow.Table`.
        second: the same; differences are the second less the first.
        scorer: scores files that have no scores; None: a `Scorer` of its own.
        options: how to read the rows, a `rewardkit.offline.ReadOptions`.
        prefix: the prefix of the score columns.
        allow_missing: compare only the prompts that are in both.
        given: the rewards and options that the run was given for these rows; None: nothing is to be used.
        on_note: called with a line for each file whose log's own scores are used.

    Raises:
        InputError: a file cannot be read, or the prompts differ.
        UnknownDataSourceError: a file has no scores, and its rows no reward.
    """
    with ExitStack() as stack:
        groups = []
        for one in (first, second):
            path = one if isinstance(one, str | Path) else stack.enter_context(as_file(one, on_note))[0]
            paths = [dumps_in(str(path))]
            try:
                found = read_groups(paths, options, prefix, on_note=on_note)
            except UnscoredError:
                if prefix:
                    raise
                scorer = scorer or stack.enter_context(Scorer())
                found = read_groups(paths, options, prefix, scorer, on_note)
                if given is not None:
                    given.saw(found)
            groups.append(found)
        return ComparedFiles(comparison.compare(*groups, allow_missing=allow_missing))
