"""`rewardkit diff`: compares two scorers on the same responses, and tests that pinned verdicts do not change.

This module parses the options and prints the results of `rewardkit.evaluation.rescoring`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from rewardkit.commands.options.files import input_options
from rewardkit.commands.options.given import refuse_given
from rewardkit.commands.options.help import GroupedCommand
from rewardkit.commands.options.numbers import COUNT, COUNT_OR_0
from rewardkit.commands.options.outputs import OutputFile
from rewardkit.commands.options.printing import results_console
from rewardkit.commands.options.rewards import given_to_run, load_rewards, option_words_to_options
from rewardkit.commands.options.run_options import note
from rewardkit.errors import InputError, OptionsError
from rewardkit.evaluation.rescoring import (
    GroupedSample,
    Rescoring,
    ScoreBatch,
    ScorerFlip,
    moved,
    pick,
    read_grouped,
    read_pins,
    rescore,
    verdict,
    write_pins,
)
from rewardkit.offline import ReadOptions
from rewardkit.scoring.scorer import Scorer
from rewardkit.text import printable

VARIANTS: dict[str, tuple[dict[str, Any], ...]] = {
    "math": (
        {"preset": "strict"},
        {"compat": "verl_math_reward"},
        {"compat": "math_dapo"},
        {"compat": "math_dapo_0_8"},
    ),
    "gsm8k": ({"method": "flexible"}, {"compat": "verl"}),
}
"""Options by reward that make it grade like other graders. Responses on which these graders disagree are most
sensitive to changes, so they are pinned first."""


@click.command(
    cls=GroupedCommand,
    shown=("reward_files",),
    epilog="Examples: rewardkit diff responses.parquet --second math:preset=strict;  "
    "rewardkit diff responses.parquet --pin golden.jsonl;  rewardkit diff --check golden.jsonl",
)
@click.argument("files", nargs=-1)
@input_options
@click.option(
    "--first",
    "first_words",
    multiple=True,
    metavar="SOURCE:NAME=VALUE",
    help="Reward option for the first scorer. May be repeated. Default: the reward's default options.",
)
@click.option(
    "--second",
    "second_words",
    multiple=True,
    metavar="SOURCE:NAME=VALUE",
    help="Reward option for the second scorer, such as math:compat=math_verify. May be repeated.",
)
@click.option(
    "--reward",
    "reward_files",
    multiple=True,
    metavar="[SOURCE=]SPEC",
    help="Your own reward, or one from another project. May be repeated.",
)
@click.option(
    "--pin",
    type=OutputFile(),
    help="Write a regression test that expects the first scorer's verdicts. The test contains the responses "
    "whose verdicts are most likely to change.",
)
@click.option(
    "--pins",
    "n_pins",
    type=COUNT,
    default=500,
    show_default=True,
    help="Number of responses to write with --pin.",
)
@click.option(
    "--check",
    type=click.Path(path_type=Path),
    help="Run a regression test that --pin wrote. The exit code is 1 if a verdict has changed.",
)
@click.option(
    "--examples",
    type=COUNT_OR_0,
    default=10,
    show_default=True,
    help="Maximum number of changed verdicts to show.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    files: tuple[str, ...],
    read_options: ReadOptions,
    first_words: tuple[str, ...],
    second_words: tuple[str, ...],
    reward_files: tuple[str, ...],
    pin: Path | None,
    n_pins: int,
    check: Path | None,
    examples: int,
    as_json: bool,
) -> int:
    """Score the responses in FILES with two scorers, and show where their verdicts differ.

    If prompts have several responses, the command also shows how much GRPO's advantages change. Use --pin to
    write a regression test for rewards, and --check to run the test, for example after an update.
    """
    load_rewards(reward_files)
    with ExitStack() as stack:

        def scorer(options: Mapping[str, Mapping[str, Any]]) -> ScoreBatch:
            return stack.enter_context(Scorer(options=options)).score_batch

        first = scorer(option_words_to_options(first_words, "--first"))
        if check is not None:
            refuse_given(
                ("files", "second_words", "pin", "n_pins", "examples"),
                "--check scores only the pinned responses in its file",
            )
            return _check(check, first, as_json)
        if not files:
            raise click.UsageError(
                "no files given; pass response files, or --check FILE to check pinned responses"
            )
        asked = _told(read_grouped(files, read_options, note))
        if pin is not None:
            refuse_given(("second_words", "examples"), "--pin only writes the verdicts of the first scorer")
            others = [scorer(options) for options in _variants()]
            pins = pick(asked, first, others, n_pins)
            write_pins(pins, pin)
            click.echo(f"{len(pins)} responses pinned: {pin}; later: rewardkit diff --check {pin}")
            given_to_run().refuse_unused()
            return 0
        refuse_given(("n_pins",), "no file is written without --pin")
        if not second_words:
            raise OptionsError(
                "`diff` compares a reward with other options; set options of the second scorer, such as "
                "--second math:preset=strict, or pass --pin FILE. To compare two rewards, score the file "
                "with each (`score --reward SOURCE=SPEC`), and run `rewardkit compare` on the outputs"
            )
        second = scorer(option_words_to_options(second_words, "--second"))
        found = rescore(asked, first, second, examples=examples)
    _print(found, as_json)
    given_to_run().refuse_unused()
    return 0


def _told(asked: Iterable[GroupedSample]) -> Iterator[GroupedSample]:
    """Yield the responses unchanged, and report their data sources to `given_to_run()`."""
    seen: set[str] = set()
    for one in asked:
        if one.sample.data_source not in seen:
            seen.add(one.sample.data_source)
            given_to_run().saw([one.sample.data_source])
        yield one


def _variants() -> Iterator[dict[str, dict[str, Any]]]:
    for i in range(max(map(len, VARIANTS.values()))):
        yield {name: dict(options[i % len(options)]) for name, options in VARIANTS.items()}


def _check(path: Path, scorer: ScoreBatch, as_json: bool) -> int:
    pins = read_pins(path)
    if not pins:
        raise InputError(
            f"{path} contains no pinned responses; write pins with: rewardkit diff FILES --pin {path}"
        )
    given_to_run().saw({pin.data_source for pin in pins})
    given_to_run().refuse_unused()
    found = moved(pins, scorer)
    if as_json:
        lines = [{"line": i, "was": pin.verdict, "is": verdict(score)} for i, pin, score in found]
        click.echo(json.dumps({"pinned": len(pins), "moved": lines}, indent=2))
        return 1 if found else 0
    console = results_console()
    for i, pin, score in found[:20]:
        now = f"{verdict(score)} ({score.score:g})"
        line = f"line {i}: {pin.verdict} ({pin.score:g}) is now {now}: {_short(pin.response)}"
        console.print(Text(line), soft_wrap=True)
    console.print(f"{len(found)} of {len(pins)} pinned verdicts changed")
    return 1 if found else 0


def _print(found: Rescoring, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({name: one.as_dict() for name, one in found.sources.items()}, indent=2))
        return
    console = results_console()
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("data source")
    for column in ("n", "changed", "groups", "with changed advantages", "signs changed", "mean |change|"):
        table.add_column(column, justify="right")
    for name, one in found.sources.items():
        cells = (one.n, one.changed, one.groups, one.groups_changed, one.signs_changed)
        table.add_row(
            name, *(f"{cell:,}" for cell in cells), f"{one.advantage_change:.4f}" if one.groups else "-"
        )
    console.print(table)
    for name, one in found.sources.items():
        for flip, n in one.flips.most_common():
            console.print(f"  {name}: {n:,} {flip}")
    for example in found.examples:
        console.print(Text(_line(example)), soft_wrap=True)


def _line(flip: ScorerFlip) -> str:
    read_as = f"{_short(flip.first.extracted)} and {_short(flip.second.extracted)}"
    return (
        f"row {flip.row}: {verdict(flip.first)} to {verdict(flip.second)}; "
        f"ground truth {_short(flip.ground_truth)}, read as {read_as}"
    )


def _short(text: str | None) -> str:
    shown = printable((text or "-")[-200:]).replace("\n", "\\n")
    return repr(shown[-60:])
