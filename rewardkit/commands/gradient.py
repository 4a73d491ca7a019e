"""`rewardkit gradient`: shows the origin of the learning signal in rollout files or in a run's steps.

This module parses the options, scores responses without scores, and prints the results of
`rewardkit.evaluation.gradient` and `ledger`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import click
from rich.table import Table

from rewardkit.commands.options.files import SCORE_KEY, input_options
from rewardkit.commands.options.given import REWARDS, SCORED, refuse_given
from rewardkit.commands.options.help import GroupedCommand
from rewardkit.commands.options.printing import figure, results_console
from rewardkit.commands.options.rewards import RewardOptions, given_to_run, reward_options
from rewardkit.commands.options.run_options import note
from rewardkit.errors import InputError, OptionsError
from rewardkit.evaluation.gradient import CORRECT, SourceSignal, signal
from rewardkit.evaluation.ledger import Ledger, ledger
from rewardkit.evaluation.overoptimization import SCORE, Fall, TruthCurves, measurement, truth_of
from rewardkit.evaluation.scored import Groups, dumps_in, find_dumps, is_scored, read_groups, scored_again
from rewardkit.offline import ReadOptions
from rewardkit.scoring.scorer import Scorer

_COLUMNS = {
    "responses": "responses",
    "failed": "failed",
    "right": "right",
    "equal": "groups with equal scores",
    "failures": "failures as zeros",
    "nobody_right": "nobody right",
    "format": "equally right",
    "length": "length",
}


@click.command(
    cls=GroupedCommand, epilog="Examples: rewardkit gradient rollouts/40.jsonl;  rewardkit gradient rollouts"
)
@click.argument("files", nargs=-1, required=True)
@input_options
@click.option(
    "--step", type=int, help="Training step to show from a folder of dumps. Default: a table of all steps."
)
@click.option(
    "--truth",
    "with_truth",
    is_flag=True,
    help="For a folder of dumps: score the responses again with the given rewards, and report the step from "
    "which the scores in the dumps rise but these scores do not (docs/gradient.md).",
)
@SCORE_KEY
@click.option("--prefix", default="", help="Prefix of the score columns, as in `rewardkit score --prefix`.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@reward_options
def command(
    files: tuple[str, ...],
    read_options: ReadOptions,
    step: int | None,
    with_truth: bool,
    score_key: str | None,
    prefix: str,
    as_json: bool,
    rewards: RewardOptions,
) -> None:
    """Show which responses in FILES contribute to the gradient.

    FILES must contain several responses per prompt. For GRPO, Dr.GRPO, RLOO and REINFORCE++, the command
    prints the share of |advantage| that comes from:

    \b
    - groups with only wrong, with mixed, and with only right responses
    - each component of the score
    - the longest quarter of the responses

    For a folder of training dumps (1.jsonl, ...), the command prints one line per step, for GRPO only.
    Responses without scores are scored first.
    """
    options = rewards.read()
    read_options = replace(read_options, score=score_key)
    dumps = find_dumps(files[0]) if len(files) == 1 and step is None else {}
    paths = [str(path) for path in dumps.values()] or [dumps_in(file, step) for file in files]
    if with_truth and len(dumps) < 2:
        raise OptionsError("--truth needs a folder with the dumps of several steps (1.jsonl, ...)")
    if not with_truth and (score_key is not None or is_scored(paths, prefix)):
        refuse_given(REWARDS, SCORED.format(file=paths[0]))
    with Scorer(options=options, timeout_s=rewards.timeout_s) as scorer:

        def read(some: Sequence[str]) -> Groups:
            try:
                return read_groups(some, read_options, prefix, on_note=note)
            except InputError:  # such as a file whose columns only scoring recognises
                if prefix or score_key is not None:
                    raise
                groups = read_groups(some, read_options, prefix, scorer, note)
                given_to_run().saw(groups)
                return groups

        if with_truth:
            curves = TruthCurves()
            measured = {}
            for at, path in dumps.items():
                again = scored_again([path], read_options, scorer)
                given_to_run().saw(again)
                scored = read_groups([path], replace(read_options, data_source=None), prefix, on_note=note)
                measured[at] = measurement(at, scored, again)
                curves.add(measured[at])
            _print_truth(measured, curves.fall, as_json)
            return
        if len(dumps) > 1:
            _print_steps({at: ledger(read([str(path)])) for at, path in dumps.items()}, as_json)
            return
        groups = read(paths)
    found = signal(groups)
    if all(source.groups == source.lone for source in found.values()):
        raise InputError(
            f"each prompt in {' '.join(files)} has only one scored response; group advantages (GRPO) need at "
            "least two responses to a prompt"
        )
    _print_signal(found, as_json)


def _print_steps(found: Mapping[int, Ledger], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({step: asdict(one) for step, one in found.items()}, indent=2))
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("step", *_COLUMNS.values()):
        table.add_column(column, justify="right")
    for step, one in found.items():
        table.add_row(str(step), *(_cell(getattr(one, name)) for name in _COLUMNS))
    console = results_console()
    console.print(table)
    if all(one.right is None for one in found.values()):
        console.print(
            "\nwarning: these scores have no `correct`, so `length` compares all responses to a prompt; "
            "wrong responses are often longer",
            style="yellow",
            soft_wrap=True,
        )
    console.print(
        "\nthe columns from `failures as zeros` on are shares of GRPO's gradient; "
        "--step N shows one step by component of the score",
        highlight=False,
        soft_wrap=True,
    )


def _print_truth(measured: Mapping[int, Mapping[str, float]], fall: Fall | None, as_json: bool) -> None:
    rows = {step: (found[SCORE], *truth_of(found)) for step, found in measured.items()}
    if as_json:
        steps = {
            step: dict(zip(("score", "truth", "prompts"), row, strict=True)) for step, row in rows.items()
        }
        said = None if fall is None else asdict(fall)
        click.echo(json.dumps({"steps": steps, "overoptimization": said}, indent=2))
        return
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("step", "score", "truth", "prompts"):
        table.add_column(column, justify="right")
    for step, (score, truth, prompts) in rows.items():
        table.add_row(str(step), figure(score), figure(truth), f"{prompts:,.0f}")
    console = results_console()
    console.print(table)
    console.print(f"\n{_fall_line(fall)}", style=None if fall is None else "yellow", soft_wrap=True)


def _fall_line(fall: Fall | None) -> str:
    if fall is None:
        return "at the last step, the truth is not significantly below earlier steps with lower scores"
    return (
        f"over-optimisation after step {fall.since}: the score rose from {figure(fall.score_before)} to "
        f"{figure(fall.score_now)}, but the truth fell from {figure(fall.truth_before)} to "
        f"{figure(fall.truth_now)}, by {fall.size:.2g} standard deviations between prompts"
    )


def _cell(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else "-" if value is None else f"{value:.1%}"


def _print_signal(found: Mapping[str, SourceSignal], as_json: bool) -> None:
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
    left_out = "".join(f", {n} {status} skipped" for status, n in source.not_scored.items())
    return f"{source.groups:,} groups, {source.flat:,} with equal scores, {source.lone:,} of one{left_out}"


def _table(source: SourceSignal) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("share of |advantage|")
    for name in source.estimators:
        table.add_column(name, justify="right")
    signals = source.estimators.values()
    rows = {}
    if CORRECT in source.weights:
        rows["groups without a right response"] = [found.nobody_right for found in signals]
        rows["mixed groups"] = [found.mixed for found in signals]
        rows["groups with only right responses"] = [found.everybody_right for found in signals]
    for part in source.weights:
        rows[f"by {part} (weight {source.weights[part]:.3g})"] = [found.parts[part] for found in signals]
    rows["by the rest of the score"] = [found.parts["rest"] for found in signals]
    rows["longest quarter, weighted by length"] = [found.long_quarter for found in signals]
    for what, shares in rows.items():
        table.add_row(what, *(f"{share:.1%}" for share in shares))
    return table
