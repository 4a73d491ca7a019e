"""`rewardkit score`: a parquet of responses in, the same rows with their scores out."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from rewardkit.commands.common import err, read_reward_options, reward_options
from rewardkit.offline import Columns, Report, score_file
from rewardkit.scorer import Scorer


@click.command(epilog="Example: rewardkit score responses.parquet --out scored.parquet")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(path_type=Path), help="Where to write. Default: FILE with .scored.parquet."
)
@click.option(
    "--data-source-key", default="data_source", show_default=True, help="Column of the data source."
)
@click.option("--response-key", help="Column of the response(s). Default: response or responses.")
@click.option(
    "--ground-truth-key",
    help="Column of the ground truth. Default: ground_truth or reward_model.ground_truth.",
)
@click.option("--prefix", default="", help="Put this in front of the names of the score columns.")
@click.option(
    "--bad-rows",
    type=click.Choice(["fail", "mark"]),
    default="fail",
    show_default=True,
    help="A null response or ground truth: stop, or score the rest and mark it invalid.",
)
@click.option("--workers", type=click.IntRange(min=1), help="Processes to score with. Default: one per core.")
@click.option("--resume", is_flag=True, help="Go on with what an interrupted run has left.")
@click.option("--restart", is_flag=True, help="Throw away what an interrupted run has left.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
@reward_options
def command(
    file: Path,
    out: Path | None,
    data_source_key: str,
    response_key: str | None,
    ground_truth_key: str | None,
    prefix: str,
    bad_rows: str,
    workers: int | None,
    resume: bool,
    restart: bool,
    as_json: bool,
    reward_files: tuple[str, ...],
    option_words: tuple[str, ...],
    options_file: Path | None,
    timeout_s: float | None,
) -> int:
    """Score the responses in FILE, a parquet with data_source, response(s) and ground truth.

    Writes the same rows with the columns score, status, correct, extracted, detail, scorer and parts, and
    prints a table per data source. Memory stays bounded however large the file. A killed run goes on with
    --resume, and its output is the same to the byte. Exits with 1 when a sample was invalid.
    """
    options = read_reward_options(reward_files, option_words, options_file)
    out = out or file.with_suffix(".scored.parquet")
    columns = Columns(data_source_key, response_key, ground_truth_key, prefix=prefix)
    with (
        Scorer(options=options, workers=workers, timeout_s=timeout_s, inline_in_workers=True) as scorer,
        _progress() as progress,
    ):
        scorer.warm_up()
        task = progress.add_task("scoring", total=None)
        report = score_file(
            file,
            out,
            scorer=scorer,
            columns=columns,
            mark_bad=bad_rows == "mark",
            resume=resume,
            restart=restart,
            on_progress=lambda done, total: progress.update(task, completed=done, total=total),
        )
    if as_json:
        click.echo(json.dumps({"out": str(out), "data_sources": report.as_dict()}, indent=2))
    else:
        print_report(report, out)
    return _exit_code(report, bad_rows)


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("rows"),
        TimeRemainingColumn(),
        console=err,
        transient=True,
        disable=not err.is_terminal,
    )


def print_report(report: Report, out: Path) -> None:
    """Print the totals as a table."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("data source")
    for column in ("n", "mean score", "accuracy", "format rate", "failures"):
        table.add_column(column, justify="right")
    for name, source in sorted(report.sources.items()):
        failures = ", ".join(f"{n} {status}" for status, n in source.failures.items())
        figures = [_figure(x) for x in (source.mean_score, source.accuracy, source.format_rate)]
        table.add_row(name, f"{source.n:,}", *figures, failures or "0")
    console = Console()
    console.print(table)
    console.print(f"\nscored rows: {out}", highlight=False, soft_wrap=True)


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _exit_code(report: Report, bad_rows: str) -> int:
    failures = report.failures
    if failures:
        first = next(s.first_failure for s in report.sources.values() if s.failures)
        counts = ", ".join(f"{n} {status}" for status, n in sorted(failures.items()))
        err.print(
            f"not judged: {counts} (first: {first}); see the status column", highlight=False, markup=False
        )
    return 1 if failures["invalid"] and bad_rows == "fail" else 0
