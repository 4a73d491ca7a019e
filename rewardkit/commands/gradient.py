"""`rewardkit gradient`: where the learning signal of a file of rollouts comes from.

Parses, calls `rewardkit.evaluation.gradient` and prints.
"""

from __future__ import annotations

import json

import click
from rich.table import Table

from rewardkit.commands.options.files import input_options
from rewardkit.commands.options.printing import results_console
from rewardkit.errors import InputError
from rewardkit.evaluation.gradient import SourceSignal, signal
from rewardkit.evaluation.scored import dumps_in, read_groups
from rewardkit.offline import ReadOptions


@click.command(epilog="Example: rewardkit gradient rollouts/40.jsonl")
@click.argument("files", nargs=-1, required=True)
@input_options
@click.option("--step", type=int, help="Of a folder of dumps: this step. Default: the last.")
@click.option("--prefix", default="", help="What `rewardkit score --prefix` put before the score columns.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    files: tuple[str, ...], read_options: ReadOptions, step: int | None, prefix: str, as_json: bool
) -> None:
    """Show what earns the advantages of the scored responses in FILES, several to each prompt.

    For GRPO, Dr.GRPO, RLOO and REINFORCE++: the share of |advantage| from groups in which nobody, somebody or
    everybody is right, by component of the score, and from the longest quarter of the responses.
    """
    found = signal(read_groups([dumps_in(file, step) for file in files], read_options, prefix))
    if all(source.groups == source.lone for source in found.values()):
        raise InputError(f"{' '.join(files)} has one scored response for each prompt; groups need several")
    if as_json:
        click.echo(json.dumps({name: source.as_dict() for name, source in found.items()}, indent=2))
        return
    console = results_console()
    for name, source in found.items():
        console.print(f"[bold]{name}[/bold]  {_facts(source)}", soft_wrap=True)
        console.print(_table(source))
        for line in source.warnings:
            console.print(f"warning: {line}", style="yellow", soft_wrap=True)
        console.print()


def _facts(source: SourceSignal) -> str:
    left_out = "".join(f", {n} {status} left out" for status, n in source.not_scored.items())
    return f"{source.groups:,} groups, {source.flat:,} with equal scores, {source.lone:,} of one{left_out}"


def _table(source: SourceSignal) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("share of |advantage|")
    for name in source.estimators:
        table.add_column(name, justify="right")
    signals = source.estimators.values()
    rows = {
        "groups with nobody right": [found.nobody_right for found in signals],
        "mixed groups": [found.mixed for found in signals],
        "groups with everybody right": [found.everybody_right for found in signals],
    }
    for part in source.weights:
        rows[f"by {part} (weight {source.weights[part]:.3g})"] = [found.parts[part] for found in signals]
    rows["by the rest of the score"] = [found.parts["rest"] for found in signals]
    rows["longest quarter, weighted by length"] = [found.long_quarter for found in signals]
    for what, shares in rows.items():
        table.add_row(what, *(f"{share:.1%}" for share in shares))
    return table
