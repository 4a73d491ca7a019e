"""`rewardkit doctor`: what the sandbox holds on this host, shown by trying to break out of it."""

from __future__ import annotations

import json
import platform
import sys
from dataclasses import asdict

import click
from rich.console import Console
from rich.markup import escape

from rewardkit.sandbox import SandboxUnavailable
from rewardkit.sandbox.levels import SECURE, Finding, choose, prove
from rewardkit.sandbox.outcome import Level


@click.command(epilog="Example: rewardkit doctor")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--verbose", "-v", is_flag=True, help="List every escape, not only those that succeeded.")
def command(as_json: bool, verbose: bool) -> None:
    """Run escapes at every isolation level of the sandbox and say which hold here.

    Exits with status 1 when no level holds.
    """
    found = {level: _examine(level) for level in SECURE}
    try:
        chosen, problem = choose(), None
    except SandboxUnavailable as error:
        chosen, problem = None, str(error)
    if as_json:
        levels = {name: f if isinstance(f, str) else [asdict(x) for x in f] for name, f in found.items()}
        click.echo(json.dumps({"chosen": chosen, "problem": problem, "levels": levels}, indent=2))
    else:
        _print(found, chosen, problem, verbose)
    if chosen is None:
        sys.exit(1)


def _examine(level: Level) -> list[Finding] | str:
    try:
        return prove(level)
    except (SandboxUnavailable, OSError) as error:
        return str(error)


def _print(
    found: dict[Level, list[Finding] | str], chosen: Level | None, problem: str | None, verbose: bool
) -> None:
    console = Console(highlight=False)
    machine = f"{platform.system()} {platform.release()}, {platform.machine()}"
    console.print(f"Python {platform.python_version()} on {machine}")
    for level, findings in found.items():
        if isinstance(findings, str):
            console.print(f"[red]{level:6}[/red] not available: {escape(findings)}", soft_wrap=True)
            continue
        escaped = [f for f in findings if not f.held]
        colour = "red" if escaped else "green"
        console.print(
            f"[{colour}]{level:6}[/{colour}] {len(findings) - len(escaped)} of {len(findings)} escapes held"
        )
        for finding in findings if verbose else escaped:
            console.print(
                f"         {'held' if finding.held else 'ESCAPED'}: {finding.escape} ({finding.seen})",
                markup=False,
            )
    if chosen is None:
        console.print(problem or "", soft_wrap=True, markup=False)
    else:
        console.print(f"The sandbox runs at level [bold]{chosen}[/bold].")
