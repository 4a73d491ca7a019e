"""Output of `rewardkit eval`: a table of all figures for files, or one line for each dataset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from rich.table import Table

from rewardkit.commands.options.printing import figure, interval, results_console, signed
from rewardkit.evaluating.pairs import PairEvaluation
from rewardkit.evaluating.result import DatasetRun, Evaluation
from rewardkit.evaluation.evaluation import Figures
from rewardkit.evaluation.intervals import Estimate
from rewardkit.evaluation.pairs import PairFigures


def print_evaluation(found: Evaluation, report: Path | None) -> None:
    """Print the figures and the locations of the files written."""
    console = results_console()
    if found.datasets:
        console.print(_datasets_table(found))
        console.print(
            f"\nall metrics of a dataset: rewardkit eval {found.out}/NAME.scored.parquet", soft_wrap=True
        )
        return
    console.print(_table(found.figures | found.by_flag))
    if found.out is not None:
        console.print(f"\nscored rows: {found.out}", soft_wrap=True)
    if report is not None:
        console.print(f"report: {report}", soft_wrap=True)


def print_pairs(found: PairEvaluation, report: Path | None) -> None:
    """Print the figures of pairs by subset and by length, and the location of the report."""
    console = results_console()
    console.print(_pairs_table("subset", found.figures))
    if any(one.judged for one in found.by_length.values()):
        console.print()
        console.print(_pairs_table("chosen answer is", found.by_length))
    whole, longer = found.whole, found.longer_is_better
    lines = [f"scored by {', '.join(found.scorers)}"]
    if longer is not None:
        lines.append(f"accuracy of preferring the longer answer: {figure(longer)}")
    if whole.loss is not None:
        lines.append(f"loss: {figure(whole.loss)} (0.6931 for equal scores)")
    console.print(f"\n{'; '.join(lines)}", soft_wrap=True)
    if report is not None:
        console.print(f"report: {report}", soft_wrap=True)


def _pairs_table(what: str, found: Mapping[str, PairFigures]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column(what, overflow="fold")
    for heading in ("pairs", "accuracy", "95 % interval", "margin", "ties", "ECE", "not scored"):
        table.add_column(heading, justify="right")
    for name, one in found.items():
        accuracy = _estimate(one.accuracy) if one.accuracy is not None else ("-", "-")
        margin = "-" if one.margin is None else signed(one.margin.mean)
        table.add_row(
            *(name, f"{one.pairs:,}", *accuracy, margin, f"{one.ties:,}", figure(one.ece), f"{one.failed:,}")
        )
    return table


def _table(found: dict[str, Figures]) -> Table:
    """Return a table with one line for each figure of a data source, because intervals are wide."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("data source", overflow="fold")
    table.add_column("")
    table.add_column("", justify="right")
    table.add_column("95 % interval", justify="right")
    table.add_column("of", overflow="fold")
    for name, one in found.items():
        for i, line in enumerate(_lines(one)):
            table.add_row("" if i else name, *line)
    return table


def _lines(one: Figures) -> Iterator[tuple[str, str, str, str]]:
    scored = f"{one.scored:,} of {one.responses:,} responses scored, to {one.prompts:,} prompts"
    shares = {"accuracy": one.accuracy, "mean score": one.score, "format rate": one.format_rate}
    for what, estimate in shares.items():
        if estimate is not None:
            yield (what, *_estimate(estimate), scored)
            scored = ""
    for what, of_k in one.at_k.items():
        for at in of_k:
            left_out = f"{at.left_out:,} prompts with fewer responses skipped" if at.left_out else ""
            yield (what.replace("k", str(at.k)), *_estimate(at.estimate), left_out)
    if one.undecided:
        yield "undecided", f"{one.undecided:,}", "", "unreadable answers, which count as wrong"
    if one.mean_length is not None:
        cut = "" if one.truncated is None else f"{one.truncated:.1%} cut off"
        yield "mean length", f"{one.mean_length:,.0f}", "", cut
    failures = ", ".join(f"{n:,} {status}" for status, n in one.failures.items())
    if failures:
        yield "not scored", f"{one.responses - one.scored:,}", "", failures


def _estimate(estimate: Estimate) -> tuple[str, str]:
    return figure(estimate.mean), interval(estimate.low, estimate.high, _short)


def _short(value: float) -> str:
    return f"{value:.3f}"


def _datasets_table(found: Evaluation) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("dataset", overflow="fold")
    for heading in ("accuracy", "95 % interval", "n", "not scored", "tokens", "cut off", "seconds"):
        table.add_column(heading, justify="right")
    for name, place in found.datasets.items():
        table.add_row(name, *_cells(place, found.figures[name]))
    return table


def _cells(place: DatasetRun, one: Figures) -> Iterator[str]:
    best = one.accuracy or one.score  # the mean score if rewards do not decide correctness
    yield from (figure(best.mean), interval(best.low, best.high)) if best else ("-", "-")
    yield f"{one.responses:,}"
    yield ", ".join(f"{n:,} {status}" for status, n in one.failures.items()) or "0"
    yield f"{place.response_tokens:,}"
    yield "-" if one.truncated is None else f"{one.truncated:.1%}"
    yield f"{sum(place.seconds.values()):,.1f}"
