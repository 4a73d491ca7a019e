"""`rewardkit prep DATASET`: one subcommand for each dataset in the table, its options read from `prepare`.

Parses, calls `rewardkit.datasets_prep` and prints; nothing is prepared here.
"""

from __future__ import annotations

import inspect
import json
import types
import typing
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from rewardkit.datasets_prep import DATASETS, Dataset
from rewardkit.errors import InputError, did_you_mean

if typing.TYPE_CHECKING:
    from rewardkit.datasets_prep.prepare import Prepared
    from rewardkit.datasets_prep.verify import Verification

_SHOWN_FAILURES = 20


class _DatasetGroup(click.Group):
    """A group made from the table of datasets; a dataset's module is imported when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(DATASETS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return _command_for(DATASETS[cmd_name]) if cmd_name in DATASETS else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Datasets"):
            formatter.write_dl([(d.name, f"{d.summary} ({d.licence})") for d in DATASETS.values()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in DATASETS and not args[0].startswith("-"):
            near = did_you_mean(args[0], DATASETS) or f"; known: {', '.join(DATASETS)}"
            ctx.fail(f"no dataset '{args[0]}'{near}")
        return super().resolve_command(ctx, args)


@click.group(
    cls=_DatasetGroup,
    subcommand_metavar="DATASET [OPTIONS]",
    epilog=f"Example: {DATASETS['arithmetic'].example}",
)
def command() -> None:
    """Turn a raw dataset into train.parquet and test.parquet."""


def _command_for(dataset: Dataset) -> click.Command:
    prepare = dataset.load().prepare
    own = [_option(p, hint) for p, hint in _keyword_options(prepare)]
    common: list[click.Parameter] = [
        click.Option(
            ["--out"],
            type=click.Path(path_type=Path, readable=False),
            default=f"data/{dataset.name}",
            show_default=True,
            help="Folder for the files.",
        ),
        click.Option(
            ["--verify/--no-verify"],
            default=None,
            help="Score every reference solution; by default where the reward is cheap.",
        ),
        click.Option(["--json", "as_json"], is_flag=True, help="Print the result as JSON."),
    ]
    return click.Command(
        dataset.name,
        params=[*own, *common],
        callback=partial(_run, dataset, prepare),
        help=f"{dataset.summary} ({dataset.licence}).",
        epilog=f"Example: {dataset.example}",
    )


def _keyword_options(prepare: Callable[..., Any]) -> list[tuple[inspect.Parameter, Any]]:
    """The keyword arguments of a dataset's `prepare` that a user sets, with their annotated types."""
    hints = typing.get_type_hints(prepare, include_extras=True)
    parameters = inspect.signature(prepare).parameters.values()
    return [(p, hints[p.name]) for p in parameters if p.kind is p.KEYWORD_ONLY and p.name != "progress"]


def _option(parameter: inspect.Parameter, hint: Any) -> click.Option:
    annotated, help_text = typing.get_args(hint)
    kinds = [k for k in _union_members(annotated) if k is not types.NoneType]
    kind = kinds[0]
    name = f"--{parameter.name.replace('_', '-')}"
    if kind is bool:
        return click.Option([name], is_flag=True, default=parameter.default, help=help_text)
    if typing.get_origin(kind) is typing.Literal:
        # Checked by `prepare`, which names the nearest one in a single line.
        choices = "|".join(typing.get_args(kind))
        return click.Option(
            [name], metavar=choices, default=parameter.default, show_default=True, help=help_text
        )
    # Whether a path can be read is checked by `prepare` too.
    kind = click.Path(path_type=Path, readable=False) if kind is Path else kind
    return click.Option(
        [name],
        type=kind,
        default=parameter.default,
        show_default=parameter.default not in (None, ""),
        help=help_text,
    )


def _union_members(hint: Any) -> tuple[Any, ...]:
    return typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)


def _run(
    dataset: Dataset,
    prepare: Callable[..., Prepared],
    *,
    out: Path,
    verify: bool | None,
    as_json: bool,
    **options: Any,
) -> int:
    with _progress_bar() as bar:
        prepared = prepare(out, **options, progress=_Bars(bar, "writing", totals={}))
        verified = _verify(dataset, prepared, verify, bar)
    if as_json:
        click.echo(json.dumps(_as_dict(dataset, prepared, verified), indent=2))
    else:
        _print(prepared, verified)
    return 1 if any(v.failures for v in verified.values()) else 0


def _verify(
    dataset: Dataset, prepared: Prepared, wanted: bool | None, bar: Progress
) -> dict[str, Verification]:
    from rewardkit.datasets_prep.verify import is_cheap, verify_file
    from rewardkit.scorer import Scorer

    if wanted is False or (wanted is None and not dataset.verifiable):
        return {}
    if not dataset.verifiable:
        raise InputError(f"{dataset.name} has no solutions to verify; leave out --verify")
    files = {split: file for split, file in prepared.files.items() if wanted or is_cheap(file.path)}
    bars = _Bars(bar, "verifying", totals={split: file.rows for split, file in files.items()})
    with Scorer() as scorer:
        return {split: verify_file(file.path, scorer, partial(bars, split)) for split, file in files.items()}


def _progress_bar() -> Progress:
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console, disable=not console.is_terminal)


class _Bars:
    """One bar for each split, made when the split is first heard of."""

    def __init__(self, bar: Progress, verb: str, totals: dict[str, int]) -> None:
        self._bar = bar
        self._verb = verb
        self._totals = totals
        self._tasks: dict[str, Any] = {}

    def __call__(self, split: str, rows: int) -> None:
        if split not in self._tasks:
            total = self._totals.get(split)
            self._tasks[split] = self._bar.add_task(f"{self._verb} {split}", total=total)
        self._bar.update(self._tasks[split], completed=rows)


def _as_dict(dataset: Dataset, prepared: Prepared, verified: dict[str, Verification]) -> dict[str, object]:
    splits: dict[str, object] = {}
    for split, file in prepared.files.items():
        checked = verified.get(split)
        splits[split] = {
            "path": str(file.path),
            "rows": file.rows,
            "bytes": file.bytes,
            "verified": checked.rows if checked else None,
            "failed": len(checked.failures) if checked else None,
            "without_solution": checked.without_solution if checked else None,
            "failures": [failure.as_dict() for failure in checked.failures] if checked else [],
        }
    return {
        "dataset": dataset.name,
        "splits": splits,
        "dropped": prepared.dropped,
        "first_dropped": list(prepared.first_dropped),
    }


def _print(prepared: Prepared, verified: dict[str, Verification]) -> None:
    table = Table(box=None, pad_edge=False)
    for heading in ("split", "rows", "size", "verified", "failed", "file"):
        table.add_column(heading, justify="left" if heading in ("split", "file") else "right", no_wrap=True)
    for split, file in prepared.files.items():
        checked = verified.get(split)
        counts = (f"{checked.rows:,}", f"{len(checked.failures):,}") if checked else ("-", "-")
        size = f"{file.bytes / 1000:,.0f} kB"
        table.add_row(split, f"{file.rows:,}", size, *counts, str(file.path))
    # As wide as it needs: a cut-off path is of no use.
    Console(width=max(80, 60 + max(len(str(f.path)) for f in prepared.files.values()))).print(table)
    if prepared.dropped:
        click.echo(f"dropped {prepared.dropped:,} bad rows; the first: {prepared.first_dropped[0]}")
    for split, checked in verified.items():
        if checked.without_solution:
            click.echo(f"{split}: {checked.without_solution:,} rows have no solution to verify")
        for failure in checked.failures[:_SHOWN_FAILURES]:
            click.echo(f"{split} row {failure.row}: {failure.why} | {failure.question}")
        if len(checked.failures) > _SHOWN_FAILURES:
            more = len(checked.failures) - _SHOWN_FAILURES
            click.echo(f"{split}: {more:,} more rows failed; --json lists them all")
