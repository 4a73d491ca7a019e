"""`rewardkit doctor`: tests the installation, the sandbox's isolation levels and its languages."""

from __future__ import annotations

import json
import platform
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib import import_module
from pkgutil import resolve_name

import click
from rich.console import Console
from rich.markup import escape

from rewardkit import extensions
from rewardkit.commands.options.help import GroupedCommand
from rewardkit.distribution_name import other_owners
from rewardkit.errors import ExtensionError
from rewardkit.extensions import AddedRow
from rewardkit.sandbox import Sandbox, SandboxUnavailable
from rewardkit.sandbox.languages import RUNNERS
from rewardkit.sandbox.levels import SECURE, Finding, choose, prove
from rewardkit.sandbox.outcome import IsolationLevel
from rewardkit.users_code import raised


@click.command(cls=GroupedCommand, epilog="Example: rewardkit doctor")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--verbose", "-v", is_flag=True, help="List all escape tests, not only those that failed.")
def command(as_json: bool, verbose: bool) -> None:
    """Check that rewardkit and its sandbox work on this machine.

    Checks that no other package installs a module or a command named rewardkit, runs escape tests at each
    isolation level of the sandbox, and runs a program in each supported language. The exit code is 1 if no
    isolation level passes the tests, if another package uses the name, or if an installed package adds a
    kind that cannot be loaded.
    """
    owners = other_owners()
    found = {level: _examine(level) for level in SECURE}
    try:
        chosen = choose()
        problem = None
    except SandboxUnavailable as error:
        chosen = None
        problem = str(error)
    languages = _languages(chosen) if chosen else []
    added = [CheckedRow.of(row) for rows in extensions.installed_rows().values() for row in rows]
    if as_json:
        levels = {name: f if isinstance(f, str) else [asdict(x) for x in f] for name, f in found.items()}
        report = {
            "chosen": chosen,
            "problem": problem,
            "other_owners": [owner.name for owner in owners],
            "levels": levels,
            "languages": list(map(asdict, languages)),
            "extensions": list(map(asdict, added)),
        }
        click.echo(json.dumps(report, indent=2))
    else:
        _print(found, chosen, problem, verbose)
        _print_languages(languages)
        _print_extensions(added)
        for owner in owners:
            Console(highlight=False).print(str(owner), style="red", soft_wrap=True, markup=False)
    if chosen is None or owners or any(row.problem for row in added):
        sys.exit(1)


def _examine(level: IsolationLevel) -> list[Finding] | str:
    try:
        return prove(level)
    except (SandboxUnavailable, OSError) as error:
        return str(error)


@dataclass(frozen=True)
class Standing:
    """Support for a language on this machine."""

    name: str
    title: str
    version: str | None
    problem: str | None
    """Reason why programs in the language cannot run, and how to fix it. None if they can run."""


def _languages(level: IsolationLevel) -> list[Standing]:
    found = []
    with Sandbox(level) as sandbox:
        try:
            names = list(RUNNERS)
        except ExtensionError:  # the names of two rows are equal, which is reported with the kinds
            names = list(RUNNERS.shipped)
        for name in names:
            try:
                language = RUNNERS[name]
            except ExtensionError:
                continue  # the language is from an installed package and is reported with its kinds
            try:
                found.append(Standing(name, language.title, sandbox.prove(name), None))
            except (SandboxUnavailable, ExtensionError) as error:
                found.append(Standing(name, language.title, None, str(error)))
            except Exception as error:
                if name in RUNNERS.shipped:
                    raise
                row = extensions.added_rows("languages")[name]
                problem = str(row.refused(f"cannot be tried: {raised(error).text}"))
                found.append(Standing(name, language.title, None, problem))
    return found


@dataclass(frozen=True)
class CheckedRow:
    """Row that an installed package adds to a table of rewardkit, with the result of loading the row."""

    table: str
    name: str
    package: str
    problem: str | None
    """Reason why the row cannot be loaded, or None if it can be loaded."""

    @classmethod
    def of(cls, row: AddedRow) -> CheckedRow:
        """Load a row that a package adds, and return the row with the result."""
        try:
            _use(row)
        except ExtensionError as error:
            return cls(row.table, row.name, row.package, str(error))
        except Exception as error:  # the code of a package may fail anywhere
            problem = str(row.refused(f"cannot be used: {raised(error).text}"))
            return cls(row.table, row.name, row.package, problem)
        return cls(row.table, row.name, row.package, None)


TABLES: Mapping[str, str] = {
    "agents": "rewardkit.agents.registry:agents_of_row",
    "commands": "rewardkit.cli:added_command",
    "datasets": "rewardkit.datasets_prep:DATASETS",
    "environments": "rewardkit.agents.environments.environment:KINDS",
    "estimators": "rewardkit.trainer.algorithms.advantages:ESTIMATORS",
    "file_formats": "rewardkit.files.formats:OPENERS",
    "foreign_kinds": "rewardkit.foreign.spec:KINDS",
    "generation_engines": "rewardkit.generation.engines:ENGINES",
    "interactions": "rewardkit.extensions:AddedRow.load",
    "judge_presets": "rewardkit.rewards.judge.presets:PRESETS",
    "languages": "rewardkit.sandbox.languages:RUNNERS",
    "log_kinds": "rewardkit.logs.kinds:KINDS",
    "policy_losses": "rewardkit.trainer.algorithms.losses:POLICY_LOSSES",
    "protocols": "rewardkit.server.protocols:ROUTERS",
    "rewards": "rewardkit.registry:rewards_of_row",
    "rollout_engines": "rewardkit.trainer.rollout.engines:ENGINES",
    "row_forms": "rewardkit.datasets_prep.common.row_forms:PROJECTS",
    "tool_call_formats": "rewardkit.tool_calls.formats:FORMATS",
    "tools": "rewardkit.extensions:AddedRow.load",
    "trackers": "rewardkit.trainer.logging.logger:SINKS",
}
"""Tables to which packages can add rows: the location of each Table, or of a function that loads a row."""


def _use(row: AddedRow) -> None:
    """Load a row as the code that uses it does.

    Raises:
        ExtensionError: The row cannot be loaded, has another type or a name that is taken, or there is no
            table of this name.
    """
    if row.table not in TABLES:
        raise row.refused(f"is for an unknown table; tables: {', '.join(TABLES)}")
    extensions.added_rows(row.table)
    try:
        import_module("rewardkit.rewards")  # a package's rewards are registered after rewardkit's, as always
        table = resolve_name(TABLES[row.table])
    except ExtensionError:
        raise
    except ImportError:  # An optional library is missing, or another distribution has overwritten our files.
        row.load()
        return
    if isinstance(table, extensions.Table):
        table.added()
        table[row.name]
    else:
        table(row)


def _print_extensions(rows: list[CheckedRow]) -> None:
    """Print the number of rows that each package adds, and a line for each row that cannot be loaded."""
    console = Console(highlight=False)
    for package, count in Counter(row.package for row in rows).items():
        tables = ", ".join(sorted({row.table for row in rows if row.package == package}))
        console.print(f"{escape(package)} adds {count} kinds: {tables}", soft_wrap=True)
    for problem in dict.fromkeys(row.problem for row in rows if row.problem):
        console.print(problem, style="red", soft_wrap=True, markup=False)


def _print_languages(languages: list[Standing]) -> None:
    console = Console(highlight=False)
    for language in languages:
        if language.problem is None:
            console.print(
                f"[green]{language.name:10}[/green] {escape(language.version or '')}", soft_wrap=True
            )
        else:
            console.print(f"[yellow]{language.name:10}[/yellow] {escape(language.problem)}", soft_wrap=True)


def _print(
    found: dict[IsolationLevel, list[Finding] | str],
    chosen: IsolationLevel | None,
    problem: str | None,
    verbose: bool,
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
            f"[{colour}]{level:6}[/{colour}] "
            f"{len(findings) - len(escaped)} of {len(findings)} escapes blocked"
        )
        for finding in findings if verbose else escaped:
            console.print(
                f"         {'blocked' if finding.held else 'ESCAPED'}: {finding.escape} ({finding.seen})",
                markup=False,
            )
    if chosen is None:
        console.print(problem or "", soft_wrap=True, markup=False)
    else:
        console.print(f"The sandbox runs at level [bold]{chosen}[/bold].")
