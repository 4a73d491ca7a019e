"""Options of a scoring run, the run itself, and its report, for all commands that score files."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table

from rewardkit.checks import checked_scoring
from rewardkit.checks.checked_scoring import RunOptions
from rewardkit.commands.options.numbers import COUNT
from rewardkit.commands.options.printing import err, figure
from rewardkit.commands.options.rewards import given_to_run
from rewardkit.errors import OptionsError, require
from rewardkit.files.inputs import STDIN
from rewardkit.http_addresses import public_text
from rewardkit.offline import ReadOptions, Report
from rewardkit.offline.on_ray import RaySettings
from rewardkit.offline.report import FileOutcome
from rewardkit.offline.writing import scored_name
from rewardkit.scoring.scorer import Scorer
from rewardkit.types import OVERRULED

_RESUMING = (
    click.option("--resume", is_flag=True, help="Resume an interrupted run."),
    click.option(
        "--restart", is_flag=True, help="Discard the partial output of an interrupted run and start again."
    ),
    click.option("--force", is_flag=True, help="Overwrite existing output."),
)
_RESUMING_NAMES = ("resume", "restart", "force")
_ADDRESS = click.option(
    "--address",
    help="Address of a Ray cluster, for --engine ray. Default: $RAY_ADDRESS if set, otherwise a new local "
    "cluster.",
)
_SCORING = (
    click.option("--prefix", default="", help="Prefix for the names of the score columns."),
    click.option(
        "--bad-rows",
        type=click.Choice(["fail", "mark", "drop"]),
        default="mark",
        show_default=True,
        help="How to handle unusable rows: stop with an error, mark them as invalid, or drop them.",
    ),
    click.option("--workers", type=COUNT, help="Number of scoring processes. Default: one per CPU core."),
    *_RESUMING,
)


def run_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a run to a command. The command receives them as `run`.

    A command with `--engine` must call `on_ray`, which applies the engine to the run.
    """
    return _collected(function, _SCORING, ("prefix", "bad_rows", "workers", *_RESUMING_NAMES))


def resuming_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a run that do not concern scoring to a command."""
    return _collected(function, _RESUMING, _RESUMING_NAMES)


def _collected(
    function: Callable[..., Any], options: Sequence[Any], names: Sequence[str]
) -> Callable[..., Any]:
    @functools.wraps(function)
    def with_run(*, address: str | None, **given: Any) -> Any:
        run = RunOptions(**{name: given.pop(name) for name in names}, ray=RaySettings(address))
        return function(run=run, **given)

    command: Callable[..., Any] = with_run
    for option in reversed([*options, _ADDRESS]):
        command = option(command)
    return command


def on_ray(run: RunOptions, engine: str | None, cluster: RaySettings | None = None) -> RunOptions:
    """Return a run with the settings of the Ray cluster if the engine is Ray, otherwise without them.

    Args:
        run: Run with the options from the command line.
        engine: Value of `--engine`.
        cluster: Cluster settings from a file. Without Ray, `num_cpus` is the number of workers.

    Raises:
        OptionsError: `--address` is given, but the engine is not Ray.
        MissingDependencyError: The engine is Ray, which is not installed.
    """
    cluster = cluster or RaySettings()
    if engine != "ray":
        if run.ray is not None and run.ray.address is not None:
            raise OptionsError("--address needs --engine ray")
        if cluster.timeline is not None:
            note("the setting timeline_json_file is ignored; the setting needs --engine ray")
        return replace(run, ray=None, workers=run.workers or cluster.num_cpus)
    require("--engine ray", "ray", "ray")
    address = run.ray.address if run.ray is not None else None
    return replace(run, ray=replace(cluster, address=address))


def score_files(
    files: Sequence[str | Path],
    out: str,
    run: RunOptions,
    read_options: ReadOptions,
    options: dict[str, dict[str, Any]],
    timeout_s: float | None,
    *,
    kept: bool = True,
    skip_bad_files: bool = False,
) -> Report:
    """Score files with a progress bar, and print notes on the files.

    Args:
        files: Files to score.
        out: Output file or folder.
        run: Options of the run.
        read_options: Settings for reading the files.
        options: Options of rewards by data source.
        timeout_s: Time limit for a sample in seconds, or None for the limit of each reward.
        kept: True if the output is kept after the command, so that an interrupted run can be resumed.
        skip_bad_files: True to skip files that cannot be scored (see `score_file`).
    """
    with (
        Scorer(options=options, workers=run.workers, timeout_s=timeout_s) as scorer,
        StepBar() as bar,
    ):
        return checked_scoring.score_files(
            [(files, out)],
            scorer=scorer,
            options=replace(read_options, reward_options=options),
            run=run,
            kept=kept,
            skip_bad_files=skip_bad_files,
            given=given_to_run(),
            on_progress=lambda done, total: bar("scoring", done, total),
            on_note=note,
        )


def default_output(files: Sequence[str]) -> str:
    """Return the default output, next to the input: a file of the same format, or a folder for a folder.

    Raises:
        OptionsError: The input is a URL, a glob or several files, which require `--out`.
    """
    if list(files) == [STDIN]:
        return STDIN
    if len(files) > 1 or "://" in files[0] or any(c in files[0] for c in "*?["):
        raise OptionsError("several files, a URL or a glob need --out; pass --out with a file or a folder")
    return scored_name(files[0])


def print_report(report: Report, out: str, console: Console) -> None:
    """Print the totals as a table."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("data source")
    for column in ("n", "scored", "mean score", "accuracy", "format rate", "failures"):
        table.add_column(column, justify="right")
    for name, source in sorted(report.sources.items()):
        failures = ", ".join(f"{n} {status}" for status, n in source.failures.items())
        figures = [figure(x) for x in (source.mean_score, source.accuracy, source.format_rate)]
        scored = f"{source.scored:,} of {source.n:,}" if source.failures else "all"
        table.add_row(name or "(none)", f"{source.n:,}", scored, *figures, failures or "0")
    console.print(table)
    for name, source in sorted(report.sources.items()):
        if source.undecided:
            said = f"{name}: answers that could not be read or compared: {source.undecided:,}"
            console.print(f"{said} (scored as wrong; part 'undecided')", highlight=False, soft_wrap=True)
        if source.costs:
            console.print(f"{name}: {_costs(source.costs)}", highlight=False, soft_wrap=True)
    if len(report.files) > 1 or any(file.why_not for file in report.files):
        console.print()
        console.print(_files_table(report.files))
    console.print(f"\nscored rows: {out}", highlight=False, soft_wrap=True)


def _files_table(files: Sequence[FileOutcome]) -> Table:
    """Return a table of the files, with the reason for each file that was not scored."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("file", overflow="fold")
    table.add_column("rows", justify="right")
    table.add_column("data source", overflow="fold")
    table.add_column("mean score", justify="right")
    table.add_column("why not", overflow="fold")
    for one in files:
        said = one.as_dict()
        sources = ", ".join(name or "(none)" for name in said["data_sources"])
        rows = "" if one.why_not else f"{said['rows']:,}"
        mean = "" if one.why_not else figure(said["mean_score"])
        table.add_row(one.path, rows, sources, mean, (one.why_not or "").removeprefix(one.path).lstrip(": "))
    return table


def _costs(costs: Mapping[str, float]) -> str:
    """Return the cost of the requests to models, in one line."""
    tokens = f"{costs['input_tokens']:,.0f} + {costs['output_tokens']:,.0f} tokens"
    usd = f", ${costs['cost_usd']:.4g}" if costs["cost_usd"] else ""
    overruled = f"; models overruled a rule for {costs[OVERRULED]:,.0f} samples" if costs[OVERRULED] else ""
    return (
        f"models rated {costs['asked']:,.0f} samples: {costs['calls']:,.0f} answered requests and "
        f"{costs['cached']:,.0f} cached answers ({costs['asked_again']:,.0f} of both to ask once more), "
        f"{tokens}{usd}{overruled}"
    )


def note(line: str) -> None:
    """Print a note for the user on stderr."""
    err.print(public_text(line), highlight=False, markup=False, soft_wrap=True)


class StepBar:
    """Progress bar on stderr for the current step."""

    def __init__(self) -> None:
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=err,
            transient=True,
            disable=not err.is_terminal,
        )
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> StepBar:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def __call__(self, step: str, done: int, total: int | None) -> None:
        """Show the progress of a step."""
        if step not in self._tasks:
            self._tasks[step] = self._bar.add_task(step, total=total)
        self._bar.update(self._tasks[step], completed=done, total=total)
