"""Evaluation of a reward on pairs: scores both answers of each pair, and computes how often it is right."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from rewardkit.composition.given import GivenRewards
from rewardkit.errors import InputError, NoDataSourceError
from rewardkit.evaluation.evaluation import OVERALL
from rewardkit.evaluation.gates import Counted, Gated, GateLimits, GateResult, gate, gate_limits
from rewardkit.evaluation.html.pair_report import write_pair_report
from rewardkit.evaluation.pairs import (
    UNKNOWN,
    PairFigures,
    ScoredPair,
    failures_of,
    figures_by_length,
    figures_by_subset,
    longer_is_better,
)
from rewardkit.evaluation.summary import Summary, SummaryRow, cell
from rewardkit.logs.pairs import Pair, PairNames, pairs_in
from rewardkit.offline.chunk import BadRowPolicy
from rewardkit.rows import PAIRS, RowNames, find_names, has_value, sample_of, value_at
from rewardkit.scoring.scorer import Scorer
from rewardkit.types import Sample, Score, failure

_LISTED = 5
"""Maximum number of unusable rows to list."""
_NAMES = PairNames()
_ROW_NAMES = RowNames()


@dataclass(frozen=True, slots=True)
class PairEvaluation:
    """Figures of pairs, with messages about subsets without figures."""

    figures: dict[str, PairFigures]
    """Figures by subset, with `overall` for several subsets."""
    failures: dict[str, dict[str, int]]
    """Number of pairs that were not judged, by subset and status."""
    by_length: dict[str, PairFigures]
    """Figures by length of the chosen answer relative to the rejected answer."""
    longer_is_better: float | None
    """Accuracy of preferring the longer answer, to which the reward's accuracy can be compared."""
    scorers: tuple[str, ...]
    """Names and versions of the rewards that scored the answers."""
    pairs: tuple[ScoredPair, ...]

    @property
    def whole(self) -> PairFigures:
        """Figures of all pairs."""
        return self.figures.get(OVERALL) or next(iter(self.figures.values()))

    @property
    def problems(self) -> tuple[str, ...]:
        """Message about each subset in which no pair was judged."""
        return tuple(filter(None, map(self._problem, self.figures)))

    def _problem(self, name: str) -> str:
        one = self.figures[name]
        if one.judged or name == OVERALL:
            return ""
        why = next(pair.failure for pair in self.pairs if pair.subset == name)
        said = f": {why.detail}" if why is not None and why.detail else ""
        return f"{name}: none of its {one.pairs:,} pairs was scored ({self.failed(name)}){said}"

    def failed(self, name: str) -> str:
        """Return the failures of a subset as text."""
        return ", ".join(f"{n:,} {status}" for status, n in self.failures[name].items())

    def gates(self, fail_under: GateLimits | None, *, fail_on: Counted = "point") -> list[GateResult]:
        """Return the results of gates that require the accuracy of subsets to be at least the limit.

        The arguments are the same as for `Evaluation.gates`.
        """
        gated = {
            name: Gated(one.accuracy, None, one.pairs, one.judged, PAIRS)
            for name, one in self.figures.items()
        }
        return gate(gated, gate_limits(fail_under), fail_on)

    def as_dict(self) -> dict[str, Any]:
        """Return the evaluation as the dictionary that `rewardkit eval --pairs --json` prints."""
        return {
            "scorers": list(self.scorers),
            "subsets": {
                name: one.as_dict() | {"failures": self.failures[name]} for name, one in self.figures.items()
            },
            "by_length": {name: one.as_dict() for name, one in self.by_length.items()},
            "longer_is_better": self.longer_is_better,
            "problems": list(self.problems),
        }

    def summary(self, gates: tuple[GateResult, ...] = ()) -> Summary:
        """Return the figures as a table, with the problems and the results of the gates."""
        columns = ("subset", "accuracy", "margin", "ties", "pairs", "not scored")
        rows = tuple(
            SummaryRow(
                name,
                (
                    *(cell(one.accuracy), cell(one.margin, "+"), f"{one.ties:,}", f"{one.pairs:,}"),
                    self.failed(name) or "0",
                ),
                self._problem(name),
            )
            for name, one in self.figures.items()
        )
        return Summary("eval --pairs", columns, rows, self.problems, gates)

    def __str__(self) -> str:
        return str(self.summary())


def evaluate_pairs(
    files: Sequence[str | Path],
    *,
    scorer: Scorer,
    names: PairNames = _NAMES,
    row_names: RowNames = _ROW_NAMES,
    data_source: str | None = None,
    bad_rows: BadRowPolicy = "mark",
    report: str | Path | None = None,
    given: GivenRewards | None = None,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
    on_note: Callable[[str], None] = lambda line: None,
) -> PairEvaluation:
    """Score the answers of pairs in files, and return how often the chosen answer has the higher score.

    Args:
        files: Files with pairs, in the forms that `rewardkit.logs.pairs` reads.
        scorer: Scorer for the answers.
        names: Names of the columns with the pairs.
        row_names: Names of the other columns. Names that are None are found as in files of responses.
        data_source: Data source of every pair, whatever the files say.
        bad_rows: Policy for unusable rows: `fail`, `drop`, or `mark` as not scored.
        report: File for an HTML report.
        given: Tracker of the given rewards and options that no row uses, or None.
        on_progress: Function called with the number of scored answers and their total.
        on_note: Function called with one line of text for each remark.

    Raises:
        InputError: A file cannot be read, a row is unusable and `bad_rows` is `fail`, or no row is usable.
        UnknownDataSourceError: A data source has no reward.
    """
    read = _usable(files, names, bad_rows, on_note)
    usable = [pair for pair in read if isinstance(pair, Pair)]
    prepared = [_prepare(pair, row_names, data_source) for pair in usable]
    samples = [sample for _, *both in prepared for sample in both]
    sources = {sample.data_source for sample in samples}
    if PAIRS in sources and data_source is None and scorer.find(PAIRS) is None:
        raise NoDataSourceError(
            "the pairs have no data source, so no reward is known; pass --reward-model, --judge or --reward, "
            "or the data source of a reward with --data-source"
        )
    if given:
        given.saw(sources)
        given.refuse_unused()
    scorer.check(sources)
    scorer.warm_up()
    scores = _counted(scorer.stream(samples), len(samples), on_progress)
    subsets = [subset for subset, *_ in prepared]
    unknown = subsets[0] if len(set(subsets)) == 1 else UNKNOWN
    of_usable = iter(subsets)
    scored = [
        _refused(pair, unknown) if isinstance(pair, InputError) else _scored(pair, next(of_usable), scores)
        for pair in read
    ]
    log_odds = all(scorer.reward_for(source).running.runs == "model" for source in sources)
    figures = figures_by_subset(scored, log_odds=log_odds)
    found = PairEvaluation(
        figures,
        {name: failures_of(one for one in scored if name in (one.subset, OVERALL)) for name in figures},
        figures_by_length(scored, log_odds=log_odds),
        longer_is_better(scored),
        tuple(sorted({score.scorer for one in scored for score in one.scores if score.scorer})),
        tuple(scored),
    )
    if report is not None:
        write_pair_report(scored, figures, found.by_length, Path(report), Path(files[0]).name)
    return found


def _usable(
    files: Sequence[str | Path], names: PairNames, bad_rows: BadRowPolicy, on_note: Callable[[str], None]
) -> list[Pair | InputError]:
    """Return the pairs in files and, unless they are dropped, the errors of unusable rows.

    Raises:
        InputError: No row is usable, or a row is unusable and `bad_rows` is `fail`.
    """
    read = [pair for _, pair in pairs_in(files, names)]
    bad = [pair for pair in read if isinstance(pair, InputError)]
    if bad and (bad_rows == "fail" or len(bad) == len(read)):
        others = f" ({len(bad) - 1:,} more of the {len(read):,} rows cannot be used)" if bad[1:] else ""
        raise InputError(f"{bad[0]}{others}")
    for error in bad[:_LISTED]:
        on_note(str(error))
    if bad:
        listed = f" (the first {_LISTED} are listed above)" if len(bad) > _LISTED else ""
        done = "dropped" if bad_rows == "drop" else "counted as not scored"
        on_note(f"rows that could not be used: {len(bad):,}{listed}, {done}")
    return [pair for pair in read if isinstance(pair, Pair)] if bad_rows == "drop" else read


def _prepare(pair: Pair, row_names: RowNames, data_source: str | None) -> tuple[str, Sample, Sample]:
    """Return a pair's subset, and its answers with the ground truth and the other fields of its row."""
    found = find_names(partial(has_value, pair.row))
    fields = replace(
        found,
        data_source=row_names.data_source or found.data_source,
        ground_truth=row_names.ground_truth or found.ground_truth,
    ).read(pair.row)
    source = data_source or fields.data_source or PAIRS
    chosen, rejected = (
        sample_of(source, text, fields.ground_truth, pair.prompt, fields.extra_info)
        for text in (pair.chosen, pair.rejected)
    )
    return pair.subset or str(value_at(pair.row, found.data_source) or PAIRS), chosen, rejected


def _counted(scores: Iterator[Score], total: int, on_progress: Callable[[int, int], None]) -> Iterator[Score]:
    for done, score in enumerate(scores, 1):
        on_progress(done, total)
        yield score


def _refused(error: InputError, subset: str) -> ScoredPair:
    refused = failure("invalid", str(error))
    return ScoredPair(subset, (), "", "", refused, refused)


def _scored(pair: Pair, subset: str, scores: Iterator[Score]) -> ScoredPair:
    return ScoredPair(subset, pair.prompt, pair.chosen, pair.rejected, next(scores), next(scores))
