"""`rewardkit prep DATASET`: prepares a dataset, with a subcommand for each dataset in the table.

This module calls `rewardkit.prepare`. `options.prep` creates the options from their definitions in the
datasets, and `options.prep_output` prints the results.
"""

from __future__ import annotations

import json
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import click
import pyarrow.parquet as pq

import rewardkit
from rewardkit.commands.options.help import GroupedCommand, named_lines, write_examples
from rewardkit.commands.options.prep import (
    GROUPS,
    RARE,
    own_options,
    print_dropped,
    print_rows,
    quality_options,
    settings_options,
    take_quality,
)
from rewardkit.commands.options.prep_output import Bars, print_list, print_run, progress_bar
from rewardkit.commands.options.rewards import COMPOSITIONS, given_to_run, register_compositions
from rewardkit.datasets_prep import DATASETS, Dataset, find_dataset
from rewardkit.datasets_prep.common.prepare import Prepared
from rewardkit.datasets_prep.quality.verifying import Unverified
from rewardkit.datasets_prep.tables.code import CODE
from rewardkit.datasets_prep.tables.maths import MATHS
from rewardkit.errors import did_you_mean


class _DatasetGroup(click.Group):
    """Group with one command for each dataset in the table. It imports the module of a dataset when
    needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(DATASETS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        dataset = find_dataset(cmd_name)
        return None if dataset is None else _command_for(dataset)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        kinds = {"maths": MATHS, "code": CODE}
        names = {kind: [one.name for one in found] for kind, found in kinds.items()}
        names["others"] = [name for name in DATASETS if name not in chain(*names.values())]
        with formatter.section("Datasets (described by --list)"):
            for kind, found in names.items():
                formatter.write(named_lines(kind, found, formatter))

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_examples(self.epilog, formatter)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and find_dataset(args[0]) is None and not args[0].startswith("-"):
            near = did_you_mean(args[0], DATASETS) or "; `rewardkit prep --list` shows all datasets"
            ctx.fail(f"no dataset '{args[0]}'{near}")
        return super().resolve_command(ctx, args)


@click.group(
    cls=_DatasetGroup,
    subcommand_metavar="DATASET [OPTIONS]",
    invoke_without_command=True,
    epilog=f"Example: {DATASETS['math'].example}",
)
@click.option(
    "--list", "show_list", is_flag=True, help="List all datasets with source, size, reward and licence."
)
@click.option("--json", "as_json", is_flag=True, help="With --list, print JSON.")
@click.pass_context
def command(context: click.Context, show_list: bool, as_json: bool) -> None:
    """Convert a raw dataset to train.parquet and test.parquet.

    Run `rewardkit prep DATASET --help` to see the options for a dataset.
    """
    if show_list:
        print_list(as_json)
        context.exit(0)
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
        context.exit(2)


def _command_for(dataset: Dataset) -> click.Command:
    own = own_options(dataset)
    common: list[click.Parameter] = [
        click.Option(
            ["--out"],
            type=click.Path(path_type=Path, readable=False),
            default=f"data/{dataset.name}",
            show_default=True,
            help="Output folder.",
        ),
        click.Option(["--force"], is_flag=True, help="Overwrite existing output."),
        *quality_options(),
        click.Option(["--json", "as_json"], is_flag=True, help="Print JSON."),
        click.Option(["--rewards", "composition_files"], **COMPOSITIONS),
    ]
    first, _, rest = dataset.describe().partition("\n\n")
    return GroupedCommand(
        dataset.name,
        groups=GROUPS,
        shown=tuple(set(own) - RARE),
        params=[*own.values(), *settings_options(set(own)), *common],
        callback=partial(_run, dataset),
        help=f"{dataset.summary}. Licence: {dataset.licence}.\n\n{first}",
        more=_unwrapped(rest),
        epilog=f"Example: {dataset.example}",
    )


def _unwrapped(text: str) -> str:
    """Return a text in which indented paragraphs, such as tables, are marked so that click does not wrap
    them."""
    paragraphs = text.split("\n\n")
    return "\n\n".join(f"\b\n{part}" if part.startswith("    ") else part for part in paragraphs)


def _run(
    dataset: Dataset,
    *,
    out: Path,
    force: bool,
    as_json: bool,
    composition_files: tuple[Path, ...],
    **options: Any,
) -> int:
    register_compositions(composition_files)
    quality = take_quality(options)
    try:
        with progress_bar() as bar:
            prepared = rewardkit.prepare(
                dataset.name, out, force=force, on_progress=Bars(bar), **quality, **options
            )
    except Unverified as error:
        print_rows([f"{f.split}[{f.index}]: {f.detail} | {f.question}" for f in error.rows])
        raise
    if as_json:
        click.echo(json.dumps(prepared.as_dict(), indent=2))
    else:
        print_run(prepared.result, prepared.verified)
        print_dropped(prepared.screen, out)
    given_to_run().saw(_data_sources(prepared) if given_to_run() else ())
    given_to_run().refuse_unused()
    return 1 if prepared.failures else 0


def _data_sources(prepared: Prepared) -> set[str]:
    found: set[str] = set()
    for part in (part for file in prepared.result.files.values() for part in file.parts):
        if "data_source" in pq.read_schema(part).names:
            column = pq.read_table(part, columns=["data_source"]).column("data_source")
            found |= set(column.unique().to_pylist())
    return found
