"""`rewardkit replay`: scores a scored file again with the options in its receipt, and lists rows that differ.

This module parses the options and prints the results of `rewardkit.lock.replay`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import msgspec

from rewardkit.commands.options.files import input_options
from rewardkit.commands.options.help import GroupedCommand
from rewardkit.commands.options.numbers import COUNT, COUNT_OR_0
from rewardkit.commands.options.printing import counted
from rewardkit.commands.options.rewards import RewardOptions, given_to_run, reward_options
from rewardkit.commands.options.run_options import note
from rewardkit.errors import InputError
from rewardkit.lock.replay import Replay, options_of, replay
from rewardkit.offline import ReadOptions
from rewardkit.offline.receipt import read_receipt
from rewardkit.scoring.scorer import Scorer


@click.command(cls=GroupedCommand, epilog="Example: rewardkit replay scored.parquet")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@input_options
@click.option("--prefix", help="Prefix of the score columns. Default: the prefix in the receipt, if any.")
@click.option("--workers", type=COUNT, help="Number of scoring processes. Default: one per CPU core.")
@click.option(
    "--examples",
    type=COUNT_OR_0,
    default=20,
    show_default=True,
    help="Maximum number of differing rows to show.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@reward_options
def command(
    files: tuple[Path, ...],
    read_options: ReadOptions,
    prefix: str | None,
    workers: int | None,
    examples: int,
    as_json: bool,
    rewards: RewardOptions,
) -> int:
    """Score the scored FILES again and report rows that differ.

    The command uses the options that are recorded in the receipt of each file. If you scored FILES with your
    own rewards, compositions or judges, pass them again. The command lists any changes to rewards. The exit
    code is 1 if a row differs, or if a file was edited after it was scored.
    """
    given = rewards.read()
    found: dict[str, Replay] = {}
    for path in files:
        if not path.is_file():
            raise InputError(f"no such file: {path}")
        receipt = read_receipt(path)
        if receipt is None:
            note(f"{path} has no receipt, so the file is scored with the options of this command line alone")
        options = options_of(receipt) if receipt is not None else {}
        for source, values in given.items():
            options[source] = options.get(source, {}) | values
        with Scorer(options=options, workers=workers, timeout_s=rewards.timeout_s) as scorer:
            found[str(path)] = replay(path, scorer, read_options, prefix)
        given_to_run().saw(found[str(path)].data_sources)
    if as_json:
        content = {path: _as_dict(one, examples) for path, one in found.items()}
        click.echo(json.dumps(content, indent=2, ensure_ascii=False))
    else:
        for name, one in found.items():
            _print(name, one, examples)
    return 1 if any(one.differ or one.edited for one in found.values()) else 0


def _as_dict(found: Replay, examples: int) -> dict[str, Any]:
    content: dict[str, Any] = msgspec.to_builtins(found)
    return content | {"first": content["first"][:examples], "lines": [str(one) for one in found.moved]}


def _print(path: str, found: Replay, examples: int) -> None:
    for change in found.moved:
        click.echo(f"{path}: {change}")
    if found.edited:
        click.echo(f"{path}: the file was edited after it was scored: its content does not match its receipt")
    for row in found.first[:examples]:
        click.echo(f"{path}: {row}")
    rows = counted(found.rows, "row")
    same = "the row gets the same score" if found.rows == 1 else f"all {rows} get the same scores"
    click.echo(f"{path}: {f'{found.differ:,} of {rows} differ' if found.differ else same}")
