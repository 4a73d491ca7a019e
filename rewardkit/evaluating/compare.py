"""`rewardkit.compare`: comparison of two scored files or tables over the same prompts."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rewardkit.composition.given import GivenRewards
from rewardkit.errors import InputError
from rewardkit.evaluation import comparison
from rewardkit.evaluation.comparison import Comparison
from rewardkit.evaluation.gates import GateLimits, GateResult, gate_comparison, gate_limits, require_passed
from rewardkit.evaluation.html.compare_report import Texts, write_compare_report
from rewardkit.evaluation.scored import Groups, ScoredRow, dumps_in, read_groups
from rewardkit.evaluation.summary import Summary, SummaryRow, cell
from rewardkit.files.inputs import STDIN
from rewardkit.logs.layout import ReadOptions
from rewardkit.logs.reader import PLAIN
from rewardkit.offline.frame import as_file
from rewardkit.offline.origins import Origin, changes_line, head, origin_of, reward_changes
from rewardkit.scoring.scorer import Scorer

COLUMNS = ("data source", "accuracy", "mean score", "prompts", "not scored")


@dataclass(frozen=True, slots=True)
class ComparedFiles:
    """Differences between two files, as values in the second file minus values in the first."""

    found: Comparison

    @property
    def problems(self) -> tuple[str, ...]:
        """One message for each data source that cannot be compared."""
        return self.found.problems

    def gates(self, fail_if_worse: GateLimits | None) -> list[GateResult]:
        """Return the results of gates that limit how much worse the second file may be than the first.

        The gates compare the accuracy, or the mean score if a reward does not report correctness. A gate
        fails if even the upper end of the 95 % interval for the paired difference is below the negated limit.

        Args:
            fail_if_worse: One limit for every data source, or limits by data source. A limit is at least 0.
        """
        return gate_comparison(self.found, gate_limits(fail_if_worse, least=0.0))

    def check(self, fail_if_worse: GateLimits | None = None) -> ComparedFiles:
        """Return this comparison if it is complete and every gate passes.

        Raises:
            IncompleteError: A data source has no figure, or one file has no scored response for more than 5 %
                of the prompts in a gate's data source.
            GateError: The second file is worse than a limit allows.
            OptionsError: A limit is not a finite number, or is below 0.
        """
        require_passed(self.problems, self.gates(fail_if_worse))
        return self

    def as_dict(self) -> dict[str, Any]:
        """Return the comparison as the dictionary that `rewardkit compare --json` prints."""
        return {**self.found.as_dict(), "problems": list(self.problems)}

    def summary(self, gates: tuple[GateResult, ...] = ()) -> Summary:
        """Return the differences as a table, with the problems and the results of the gates."""
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
    report: str | Path | None = None,
    given: GivenRewards | None = None,
    on_note: Callable[[str], None] = lambda line: None,
) -> ComparedFiles:
    """Compare two files prompt by prompt. Files without scores are scored in memory.

    Args:
        first: Scored file, folder or URL, a `pandas.DataFrame`, or a `pyarrow.Table`.
        second: Second input, in any of the forms of `first`. Differences are the second minus the first.
        scorer: Scorer for files without scores. By default, a new `Scorer` is created.
        options: Options for reading the rows, a `rewardkit.offline.ReadOptions`.
        prefix: Prefix of the score columns.
        allow_missing: True to compare only the prompts in both files.
        report: File for an HTML report.
        given: Tracker of the given rewards and options that no row uses, or None.
        on_note: Function called with a line of text for each log whose own scores are used, and about
            files that were scored differently.

    Raises:
        InputError: A file cannot be read, or the prompts differ.
        UnknownDataSourceError: A file has no scores, and no reward exists for its rows.
    """
    with ExitStack() as stack:
        groups: list[Groups] = []
        origins: list[Origin] = []
        texts = Texts(), Texts()
        for one, kept in zip((first, second), texts, strict=True):
            path = one if isinstance(one, str | Path) else stack.enter_context(as_file(one, on_note))[0]
            paths = [dumps_in(str(path))]
            origins.append(Origin() if paths[0] == STDIN else origin_of(paths[0]))
            keep = _keep_nothing if report is None else kept.add
            try:
                found = read_groups(paths, options, prefix, on_note=on_note, on_row=keep)
            except InputError:  # such as a file whose columns only scoring recognises
                if prefix or options.score is not None:
                    raise
                scorer = scorer or stack.enter_context(Scorer())
                found = read_groups(paths, options, prefix, scorer, on_note, keep)
                if given is not None:
                    given.saw(found)
            groups.append(found)
        compared = comparison.compare(groups[0], groups[1], allow_missing=allow_missing)
        names = _name(first, "first table"), _name(second, "second table")
        facts = _facts(origins[0], origins[1])
        if scored := reward_changes(origins):
            on_note(f"warning: {names[0]} and {names[1]} were scored differently: {changes_line(scored)}")
            facts.append(("scored differently", changes_line(scored)))
        if report is not None:
            write_compare_report(compared, (groups[0], groups[1]), texts, names, Path(report), facts)
        return ComparedFiles(compared)


def _facts(first: Origin, second: Origin) -> list[tuple[str, str]]:
    """Return the facts about both files for the head of a report. Equal facts are listed once."""
    heads = head(first), head(second)
    both = [one for one in heads[0] if one in heads[1]]
    own = [
        (f"{name} of {side}", text)
        for side, facts in zip(("first", "second"), heads, strict=True)
        for name, text in facts
        if (name, text) not in both
    ]
    return own + both


def _keep_nothing(row: ScoredRow) -> None:
    pass


def _name(given: Any, otherwise: str) -> str:
    return str(given) if isinstance(given, str | Path) else otherwise
