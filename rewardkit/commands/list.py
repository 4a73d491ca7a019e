"""`rewardkit list`: lists the rewards with their data sources."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import click
from rich.table import Table
from rich.text import Text

import rewardkit.rewards  # noqa: F401  (registers the shipped rewards)
from rewardkit import extensions
from rewardkit.commands.options.help import GroupedCommand
from rewardkit.commands.options.printing import results_console
from rewardkit.commands.options.rewards import load_rewards
from rewardkit.extensions import AddedRow
from rewardkit.registry import REGISTRY, Reward


@click.command(
    cls=GroupedCommand,
    shown=("reward_files",),
    epilog="Examples: rewardkit list;  rewardkit list gsm8k think_format",
)
@click.argument("names", nargs=-1)
@click.option(
    "--reward",
    "reward_files",
    multiple=True,
    metavar="[SOURCE=]SPEC",
    help="Also list your own reward, or one from another project. May be repeated.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(names: tuple[str, ...], reward_files: tuple[str, ...], as_json: bool) -> None:
    """List all rewards with their data sources, aliases and options.

    Below them it lists the kinds (languages, protocols, estimators and others) that installed packages add.

    If you pass NAMES of rewards or data sources, the command lists only these rewards and explains their
    options.
    """
    load_rewards(reward_files)
    chosen = {REGISTRY.by_name(name) or REGISTRY.resolve(name) for name in names} or REGISTRY
    rewards = sorted(chosen, key=lambda reward: reward.name)
    if as_json:
        click.echo(json.dumps([_described(reward) for reward in rewards], indent=2))
        return
    console = results_console()
    for reward in rewards:
        console.print(f"[bold]{reward.name}[/bold]  {reward.summary}", soft_wrap=True)
        options = reward.describe_options()
        console.print(_facts(reward, {} if names else options, named=bool(names)))
        if names and options:
            console.print(_options(reward, options))
    if not names and (added := extensions.installed_rows()):
        console.print("[bold]Kinds from packages[/bold]")
        console.print(_kinds(added))


def _described(reward: Reward) -> dict[str, Any]:
    return reward.describe() | {"package": REGISTRY.packages.get(reward.name)}


def _facts(reward: Reward, options: Mapping[str, Any], *, named: bool) -> Table:
    table = Table.grid(padding=(0, 2), pad_edge=True)
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    facts = {
        "data sources": ", ".join(reward.data_sources),
        "aliases": ", ".join(reward.aliases),
        "runs": _place(reward),
        "on_exception": reward.running.on_exception
        if named or reward.running.on_exception != "error"
        else "",
        "options": ", ".join(f"{name}={value}" for name, value in options.items()),
        "scorer": reward.scorer,
        "package": REGISTRY.packages.get(reward.name, ""),
    }
    for name, value in facts.items():
        if value:
            table.add_row(name, Text(value))
    return table


def _kinds(added: Mapping[str, Sequence[AddedRow]]) -> Table:
    """Return a grid with one line for each table and package, which lists the rows that the package adds."""
    lines = Table.grid(padding=(0, 2), pad_edge=True)
    lines.add_column(style="dim")
    lines.add_column(overflow="fold")
    lines.add_column(style="dim")
    for table in sorted(added):
        for package in sorted({row.package for row in added[table]}):
            names = ", ".join(row.name for row in added[table] if row.package == package)
            lines.add_row(table, Text(names), Text(package))
    return lines


def _options(reward: Reward, options: Mapping[str, Any]) -> Table:
    docs = reward.option_docs()
    table = Table(box=None, padding=(0, 2), header_style="dim")
    for column in ("option", "default", "meaning"):
        table.add_column(column, overflow="fold")
    for name, value in options.items():
        table.add_row(name, Text(str(value)), Text(docs.get(name, "")))
    return table


def _place(reward: Reward) -> str:
    running = reward.running
    return (
        running.runs if running.runs == "inline" else f"{running.runs}, killed after {running.timeout_s:g} s"
    )
