"""Output of `rewardkit prep`: the table of datasets as text or JSON, and the results of a run."""

from __future__ import annotations

import json
import typing
from dataclasses import asdict
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from rewardkit.commands.options.prep import print_rows
from rewardkit.commands.options.printing import results_console
from rewardkit.datasets_prep import DATASETS

if typing.TYPE_CHECKING:
    from rewardkit.datasets_prep.common.recipe import PrepResult
    from rewardkit.datasets_prep.common.verification import Verification

_SHOWN_UNREAD = 5


def print_list(as_json: bool) -> None:
    """Print the name, source, rows, reward and licence of every dataset."""
    rewards = _rewards()
    if as_json:
        known = [{**asdict(d), "reward": rewards[d.name], "example": d.example} for d in DATASETS.values()]
        click.echo(json.dumps(known, indent=2))
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("name", "source", "rows", "reward", "licence"):
        table.add_column(heading, no_wrap=heading == "name", overflow="fold")
    for dataset in DATASETS.values():
        cells = (dataset.source, dataset.rows, rewards[dataset.name] or "-", dataset.licence)
        table.add_row(dataset.name, *map(Text, cells))
    results_console().print(table)


def _rewards() -> dict[str, str | None]:
    """Return the reward for each dataset, or None if a model must score the dataset's rows."""
    import rewardkit.rewards  # noqa: F401  (registers the shipped rewards)
    from rewardkit.errors import UnknownDataSourceError
    from rewardkit.registry import REGISTRY

    def reward(data_source: str) -> str | None:
        try:
            return REGISTRY.resolve(data_source).name
        except UnknownDataSourceError:
            return None

    return {dataset.name: reward(dataset.data_source) for dataset in DATASETS.values()}


def progress_bar() -> Progress:
    """Return a progress bar on stderr, which is shown only on a terminal."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console, disable=not console.is_terminal)


class Bars:
    """Progress bars for the steps of a run. A bar is added when its step is first reported."""

    def __init__(self, bar: Progress) -> None:
        self._bar = bar
        self._tasks: dict[str, Any] = {}

    def __call__(self, step: str, done: int, total: int | None) -> None:
        """Show the progress of a step."""
        if step not in self._tasks:
            self._tasks[step] = self._bar.add_task(step, total=total)
        self._bar.update(self._tasks[step], completed=done, total=total)


def print_run(prepared: PrepResult, verified: dict[str, Verification]) -> None:
    """Print the files written, the rows left out and the solutions that failed."""
    table = Table(box=None, pad_edge=False)
    for heading in ("split", "rows", "size", "verified", "failed", "file"):
        table.add_column(heading, justify="left" if heading in ("split", "file") else "right", no_wrap=True)
    for split, file in prepared.files.items():
        checked = verified.get(split)
        counts = (f"{checked.rows:,}", f"{len(checked.failures):,}") if checked else ("-", "-")
        size = f"{file.bytes / 1000:,.0f} kB"
        table.add_row(split, f"{file.rows:,}", size, *counts, str(file.path))
    # The table may be wider than the terminal, because a truncated path is useless.
    Console(width=max(80, 60 + max(len(str(f.path)) for f in prepared.files.values()))).print(table)
    if prepared.dropped:
        click.echo(f"dropped {prepared.dropped:,} bad rows; the first: {prepared.first_dropped[0]}")
    for note in prepared.notes:
        click.echo(note)
    for split, odd in prepared.unread_truths.items():
        click.echo(
            f"{split}: ground truths that the reward cannot read as answers: {len(odd.rows):,} (rows "
            f"{odd.shown_rows()}); the first: {odd.what}; correct or drop these rows; `rewardkit check "
            f"{odd.file}` lists all reasons"
        )
    if prepared.unused:
        click.echo(f"columns not used: {', '.join(prepared.unused)}; --keep COLUMN keeps one as metadata")
    _print_unread(prepared.unread)
    for split, checked in verified.items():
        _print_failures(split, checked)


def _print_unread(unread: tuple[str, ...]) -> None:
    for name in unread[:_SHOWN_UNREAD]:
        click.echo(f"not read: {name}")
    if len(unread) > _SHOWN_UNREAD:
        click.echo(f"not read: {len(unread) - _SHOWN_UNREAD:,} more files; --json lists them all")


def _print_failures(split: str, checked: Verification) -> None:
    if checked.without_solution:
        click.echo(f"{split}: {checked.without_solution:,} rows have no solution to verify")
    print_rows([f"{split} row {row.row}: {row.why} | {row.question}" for row in checked.failures])
