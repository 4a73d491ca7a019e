"""`rewardkit compare`: compares two scored files with the same prompts.

This module parses the options and prints the results of `rewardkit.compare`.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

import rewardkit
from rewardkit.commands.options.files import SCORE_KEY, input_options
from rewardkit.commands.options.gates import GateOptions, gate_options, gates_as_dicts
from rewardkit.commands.options.given import REWARDS, SCORED, refuse_given
from rewardkit.commands.options.help import GroupedCommand
from rewardkit.commands.options.numbers import COUNT_OR_0
from rewardkit.commands.options.outputs import OutputFile
from rewardkit.commands.options.printing import counted, interval, results_console, signed
from rewardkit.commands.options.rewards import RewardOptions, given_to_run, reward_options
from rewardkit.commands.options.run_options import note
from rewardkit.evaluation.chat import shown_prompt
from rewardkit.evaluation.comparison import Comparison, PromptFlip
from rewardkit.evaluation.intervals import Difference
from rewardkit.evaluation.scored import dumps_in, is_scored
from rewardkit.offline import ReadOptions
from rewardkit.scoring.scorer import Scorer
from rewardkit.text import printable


@click.command(
    cls=GroupedCommand, epilog="Example: rewardkit compare before.scored.parquet after.scored.parquet"
)
@click.argument("first")
@click.argument("second")
@input_options
@SCORE_KEY
@click.option("--prefix", default="", help="Prefix of the score columns, as in `rewardkit score --prefix`.")
@click.option("--allow-missing", is_flag=True, help="Compare only the prompts that are in both files.")
@click.option(
    "--flips",
    type=COUNT_OR_0,
    default=10,
    show_default=True,
    help="Show up to N prompts that got worse, and up to N prompts that got better.",
)
@gate_options(
    "--fail-if-worse",
    "[SOURCE=]N",
    "Fail if SECOND is worse by more than N: if the whole 95 % interval of the difference in accuracy, or "
    "else in score, is below -N. Without SOURCE, for every data source. May be repeated.",
)
@click.option("--report", type=OutputFile(), help="Write an HTML report to this file.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@reward_options
def command(
    first: str,
    second: str,
    read_options: ReadOptions,
    score_key: str | None,
    prefix: str,
    allow_missing: bool,
    flips: int,
    report: Path | None,
    as_json: bool,
    gates: GateOptions,
    rewards: RewardOptions,
) -> int:
    """Compare the scored responses in two files or folders, prompt by prompt.

    Prints the difference SECOND minus FIRST with 95 % intervals. The p-value is from McNemar's test if every
    prompt has exactly one response and each response is marked right or wrong. Otherwise, the p-value is from
    a sign-flip test over prompts. Both files must contain the same prompts, unless you use --allow-missing.
    Files without scores are scored first, in memory.

    The exit code is 1 if a data source cannot be compared, and 3 if a gate fails.
    """
    options = rewards.read()
    files = [dumps_in(first), dumps_in(second)]
    if score_key is not None or is_scored(files, prefix):
        refuse_given(REWARDS, SCORED.format(file=first))
    with Scorer(options=options, timeout_s=rewards.timeout_s) as scorer:
        compared = rewardkit.compare(
            first,
            second,
            scorer=scorer,
            options=replace(read_options, score=score_key, reward_options=options),
            prefix=prefix,
            allow_missing=allow_missing,
            report=report,
            given=given_to_run(),
            on_note=note,
        )
    results = compared.gates(gates.limits)
    if as_json:
        content = compared.as_dict() | {"gates": gates_as_dicts(results)}
        click.echo(json.dumps(content, indent=2))
    else:
        _print(compared.found, flips)
        if report is not None:
            click.echo(f"report: {report}")
    return gates.report(compared.summary(tuple(results)))


def _print(found: Comparison, flips: int) -> None:
    console = results_console()
    console.print(_table(found))
    notes = {
        "prompts only in the first file": found.only_first,
        "prompts only in the second file": found.only_second,
        "prompts without a scored response in one of the files": found.not_scored,
    }
    for what, n in notes.items():
        if n:
            console.print(f"skipped: {n} {what}")
    worse = [flip for flip in found.flips if flip.after < flip.before]
    better = [flip for flip in found.flips if flip.after > flip.before]
    _print_flips(console, "got worse", worse, flips)
    _print_flips(console, "got better", better, flips)


def _table(found: Comparison) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("data source")
    for column in ("prompts", "of", "difference", "95 % interval", "p", "test", "better", "worse"):
        table.add_column(column, justify="left" if column in ("of", "test") else "right")
    for name, source in found.sources.items():
        for what, difference in (("accuracy", source.accuracy), ("score", source.score)):
            if difference is not None:
                table.add_row(name, f"{source.prompts:,}", what, *_cells(difference))
    return table


def _cells(difference: Difference) -> list[str]:
    return [
        signed(difference.mean),
        interval(difference.low, difference.high, signed),
        f"{difference.p_value:.3g}",
        difference.test,
        str(difference.better),
        str(difference.worse),
    ]


def _print_flips(console: Console, what: str, flips: list[PromptFlip], limit: int) -> None:
    if not flips or not limit:
        return
    console.print(
        f"\n[bold]{counted(len(flips), 'prompt')} {what}[/bold]"
        + ("" if len(flips) <= limit else f", {limit} shown")
    )
    for flip in sorted(flips, key=lambda flip: -abs(flip.after - flip.before))[:limit]:
        prompt = printable(shown_prompt(flip.prompt)[:2_000]).replace("\n", " ")
        line = f"  {flip.before:.2f} to {flip.after:.2f}  {flip.data_source}  {prompt}"
        console.print(Text(line), no_wrap=True, overflow="ellipsis")
