"""`rewardkit audit`: measures what a reward pays for wrong answers, and which right answers it rejects.

This module parses the options and prints the results of `rewardkit.audit` and `rewardkit.labels`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import click
from rich.table import Table

from rewardkit.audit import Audit
from rewardkit.audit.audit_file import ROWS, audit_file
from rewardkit.audit.flags import find_flags, write_flags
from rewardkit.audit.report import COLUMNS, LATE, lines, table_row, write_html
from rewardkit.commands.options.files import DATA_SOURCE, GROUND_TRUTH_KEY, PROMPT_KEY
from rewardkit.commands.options.given import refuse_given
from rewardkit.commands.options.help import GROUPS, GroupedCommand
from rewardkit.commands.options.numbers import ABOVE_0, COUNT, NOT_NEGATIVE, SEED
from rewardkit.commands.options.outputs import OutputFile
from rewardkit.commands.options.printing import err, results_console
from rewardkit.commands.options.rewards import RewardOptions, given_to_run, reward_options
from rewardkit.errors import InputError, OptionsError
from rewardkit.labels.labelled import Labelled, add_responses, read_labelled
from rewardkit.labels.suspicions import Suspicion, find_suspicions
from rewardkit.offline import ReadOptions, read_join
from rewardkit.rows import RowNames
from rewardkit.scoring.scorer import Scorer


@click.command(
    cls=GroupedCommand,
    shown=("reward_files",),
    groups=GROUPS | {"prompts": "frame"},
    epilog="Examples: rewardkit audit sample://responses.jsonl;  "
    "rewardkit audit data/gsm8k/test.parquet --responses responses.parquet",
)
@click.argument("file", type=click.Path())
@click.option(
    "--responses",
    "response_files",
    multiple=True,
    metavar="GEN",
    help="File with real responses to the prompts in FILE. They are scored against other rows, and show "
    "ground truths that are probably wrong. May be repeated.",
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
    "--frame",
    metavar="TEXT",
    help="Way to write an answer, with {} for the answer, such as 'Answer: {}'. Default: the frame that the "
    "prompts ask for, among those that the reward pays.",
)
@click.option(
    "--seconds",
    type=ABOVE_0,
    default=60.0,
    show_default=True,
    help="Time limit of the audit, in seconds, without the search for wrong ground truths.",
)
@click.option("--seed", type=SEED, default=0, show_default=True, help="Seed of the choice of rows.")
@click.option(
    "--top", type=COUNT, default=50, show_default=True, help="Maximum number of wrong ground truths to list."
)
@click.option(
    "--fail-over",
    type=NOT_NEGATIVE,
    metavar="SHARE",
    help="Exit with code 1 if more than this share can be earned above chance, such as 0.2, or if the audit "
    "is incomplete.",
)
@click.option("--html", "page", type=OutputFile(), help="Write a page with every response that is paid.")
@click.option(
    "--flag",
    type=OutputFile(),
    metavar="OUT.parquet",
    help="Write FILE with flags of its rows: weak_tests, pays_constant and denies_reference. All rows are "
    "examined within --seconds.",
)
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
    frame: str | None,
    seconds: float,
    seed: int,
    top: int,
    fail_over: float | None,
    page: Path | None,
    flag: Path | None,
    as_json: bool,
    rewards: RewardOptions,
) -> int:
    """Measure what the rewards of FILE pay to a policy that does not solve the tasks.

    Without a model, it prints shares of the reward of each data source:

    \b
    chance        rows with the most frequent ground truth
    constant      the best response that is the same in every row
    several       the best list of answers
    swapped       responses to other rows that are paid
    wrong paid    kinds of wrong answers that are paid
    right denied  spellings of right answers that are not paid
    weak tests    rows of code whose tests a wrong program passes

    A hole is marked with `!`. The shortest paid responses are listed below.
    """
    if frame is not None and "{}" not in frame:
        raise OptionsError(f"--frame {frame!r} has no {{}} in place of the answer, as in 'Answer: {{}}'")
    options = rewards.read()
    names = RowNames(None, None, ground_truth_key, prompt_key)
    rows: list[Labelled] = []
    if response_files:
        rows = read_labelled(file, names, data_source)
        joined = read_join([file], on) if on else None
        reading = ReadOptions(RowNames(response=response_key), data_source, joined)
        _, lost = add_responses(rows, response_files, reading)
        if lost:
            err.print(f"{lost:,} responses skipped, because no row of the file matches", highlight=False)
    else:
        refuse_given(("on", "response_key", "top"), "no responses are read without --responses")

    def make_scorer() -> Scorer:
        return Scorer(options=options, timeout_s=rewards.timeout_s)

    audit = audit_file(
        file,
        make_scorer,
        names=names,
        data_source=data_source,
        responses={row.item.row: row.responses for row in rows if row.responses},
        seconds=seconds,
        frame=frame,
        seed=seed,
        most=sys.maxsize if flag is not None else ROWS,
    )
    given_to_run().saw([source.data_source for source in audit.sources])
    given_to_run().refuse_unused()
    suspicions = None
    if response_files:
        with make_scorer() as scorer:
            suspicions = find_suspicions(rows, scorer, most=top)[:top]
    if suspicions is None and all(source.problem for source in audit.sources):
        raise InputError(f"{audit.sources[0].data_source} cannot be audited: {audit.sources[0].problem}")
    if page is not None:
        write_html(audit, page)
    if flag is not None:
        with make_scorer() as scorer:
            flags = find_flags(rows or read_labelled(file, names, data_source), scorer, audit)
        counts = write_flags(file, flag, flags)
        said = ", ".join(f"{count:,} {name}" for name, count in sorted(counts.items())) or "none"
        err.print(f"flagged rows: {said}; written: {flag}", soft_wrap=True, highlight=False)
    if as_json:
        listed = {} if suspicions is None else {"suspicious": [one.as_dict() for one in suspicions]}
        click.echo(json.dumps({"above_chance": audit.above_chance, **audit.as_dict(), **listed}, indent=2))
    else:
        _print(audit, suspicions, page)
    return int(fail_over is not None and not _is_passed(audit, fail_over))


def _is_passed(audit: Audit, fail_over: float) -> bool:
    """Return True if all data sources were measured, and none pays more than `fail_over` above chance."""
    unknown = [source for source in audit.sources if source.problem or source.late]
    for source in unknown:
        line = f"--fail-over: {source.data_source} was not measured: {source.problem or LATE}"
        err.print(line, soft_wrap=True, highlight=False)
    return not unknown and audit.above_chance <= fail_over


def _print(audit: Audit, suspicions: Sequence[Suspicion] | None, page: Path | None) -> None:
    console = results_console()
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in COLUMNS:
        table.add_column(column, justify="left" if column == "data source" else "right")
    for source in audit.sources:
        table.add_row(*(cell.replace("[", r"\[") for cell in table_row(source)))
    console.print(table)
    for source in audit.sources:
        found = list(lines(source))
        if found:
            console.print(f"\n{source.data_source}", markup=False)
        for line in found:
            console.print(line, markup=False, soft_wrap=True)
    if suspicions is not None:
        console.print(f"\n{len(suspicions):,} ground truths are probably wrong")
        if suspicions:
            console.print(_suspicious(suspicions))
    if page is not None:
        console.print(f"written: {page}", soft_wrap=True)


def _suspicious(found: Sequence[Suspicion]) -> Table:
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
