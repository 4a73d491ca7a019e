"""`rewardkit labels`: ranks ground truths that are probably wrong, and shows the evidence.

This module parses the options and prints the results of `rewardkit.labels`.
"""

from __future__ import annotations

import json
from pathlib import Path

import click
import msgspec
from rich.table import Table

from rewardkit.commands.options.files import DATA_SOURCE, GROUND_TRUTH_KEY, PROMPT_KEY
from rewardkit.commands.options.given import refuse_given
from rewardkit.commands.options.help import GroupedCommand
from rewardkit.commands.options.numbers import COUNT
from rewardkit.commands.options.outputs import OutputFile
from rewardkit.commands.options.printing import err, results_console
from rewardkit.commands.options.rewards import RewardOptions, given_to_run, reward_options
from rewardkit.errors import InputError
from rewardkit.files.publishing import published
from rewardkit.labels.labelled import Labelled, add_responses, read_labelled
from rewardkit.labels.suspicions import Suspicion, find_suspicions
from rewardkit.offline import ReadOptions, read_join
from rewardkit.rows import RowNames
from rewardkit.scoring.scorer import Scorer

_WIDTH = 160


@click.command(
    cls=GroupedCommand,
    epilog="Examples: rewardkit labels data/gsm8k/train.parquet --responses a.parquet --responses b.jsonl;  "
    "rewardkit labels data/math/test.parquet",
)
@click.argument("file", type=click.Path())
@click.option(
    "--responses",
    "response_files",
    multiple=True,
    metavar="GEN",
    help="File with responses to the prompts in FILE. May be repeated. Responses from several models give "
    "better evidence.",
)
@click.option(
    "--on",
    metavar="KEY[=OTHER]",
    help="Column that matches rows in GEN to rows in FILE. Add =OTHER if the column has a different name in "
    "FILE. Default: the prompt.",
)
@DATA_SOURCE
@GROUND_TRUTH_KEY
@PROMPT_KEY
@click.option("--response-key", help="Column with the response or responses in GEN.")
@click.option(
    "--top", type=COUNT, default=50, show_default=True, help="Maximum number of ground truths to list."
)
@click.option("--out", type=OutputFile(), help="Also write the list to this JSONL file.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@reward_options
def command(
    file: str,
    response_files: tuple[str, ...],
    on: str | None,
    data_source: str | None,
    ground_truth_key: str | None,
    prompt_key: str | None,
    response_key: str | None,
    top: int,
    out: Path | None,
    as_json: bool,
    rewards: RewardOptions,
) -> int:
    """List the ground truths in FILE that are probably wrong, with the most suspicious first.

    A ground truth is suspicious if independent responses agree on a different answer, or if the row's worked
    solution (`extra_info.answer` or `solution`) contains a different answer or several answers. Maths
    answers are also checked with verl's grader, and with Math-Verify if it is installed. Row numbers start
    at 0.
    """
    options = rewards.read()
    rows = read_labelled(file, RowNames(None, None, ground_truth_key, prompt_key), data_source)
    given = lost = 0
    if response_files:
        joined = read_join([file], on) if on else None
        reading = ReadOptions(RowNames(response=response_key), data_source, joined)
        given, lost = add_responses(rows, response_files, reading)
    else:
        refuse_given(("on", "response_key"), "no responses are read without --responses")
    if not response_files and not any(row.solution for row in rows):
        raise InputError(
            f"{file} has no worked solutions; pass responses to the same prompts with --responses"
        )
    with Scorer(options=options, timeout_s=rewards.timeout_s) as scorer:
        scorer.check(sources := {row.item.data_source for row in rows})
        given_to_run().saw(sources)
        given_to_run().refuse_unused()
        found = find_suspicions(rows, scorer, most=top)[:top]
    if out is not None:
        with published(out) as written:
            written.writelines(msgspec.json.encode(one.as_dict()) + b"\n" for one in found)
    if as_json:
        click.echo(json.dumps([one.as_dict() for one in found], indent=2))
    else:
        _print(rows, found, given, lost, out)
    return 0


def _print(rows: list[Labelled], found: list[Suspicion], given: int, lost: int, out: Path | None) -> None:
    console = results_console()
    if not console.is_terminal:
        console.width = _WIDTH
    if lost:
        err.print(f"{lost:,} responses skipped, because no row of the file matches", highlight=False)
    if found:
        console.print(_table(found))
    with_responses = sum(bool(row.responses) for row in rows)
    console.print(
        f"{len(found):,} of {len(rows):,} rows are suspicious; "
        f"{with_responses:,} rows have {given:,} responses"
    )
    if out is not None:
        console.print(f"written: {out}", soft_wrap=True)


def _table(found: list[Suspicion]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("row", justify="right")
    for heading in ("ground truth", "other answer", "responses (other:ground truth)", "why", "question"):
        table.add_column(heading, overflow="fold")
    for one in found:
        votes = ", ".join(f"{v.grader} {v.other}:{v.ground_truth}" for v in one.votes)
        cells = (
            one.row.item.ground_truth[:60],
            one.answer[:60],
            votes,
            "; ".join(one.why)[:120],
            one.row.question[:60],
        )
        table.add_row(str(one.row.item.row), *(cell.replace("[", r"\[") for cell in cells))
    return table
