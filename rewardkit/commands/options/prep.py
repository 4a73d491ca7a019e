"""The options of a dataset's subcommand: those read from where they are defined, `PrepSettings` and its own
`prepare`, and those that leave rows out.

Parses and prints; `rewardkit.datasets_prep.quality` does the work of the latter.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rewardkit.commands.options.numbers import NUMBER
from rewardkit.datasets_prep import Dataset
from rewardkit.datasets_prep.common.prepare import SIMILARITY, common_hints, own_parameters, union_members
from rewardkit.datasets_prep.common.settings import PrepSettings
from rewardkit.errors import InputError

if TYPE_CHECKING:
    from rewardkit.datasets_prep.quality.screen import QualityScreen

GROUPS = {
    "prompts": "system instruction template agent interaction like",
    "rows": "split_name skip_bad shuffle seed max_prompt_tokens tokenizer",
    "checks": "no_verify against composition_files",
    "output": "val_size shard_rows card num_proc as_json",
}
"""Options of all datasets that `--help` only names, by group."""
SHOWN_FAILURES = 20
"""Rows that are listed on the console; --json and dropped.jsonl have them all."""


def settings_options(taken: set[str]) -> list[click.Option]:
    """Return the options that all datasets share, but for names that a dataset has itself."""
    defaults = {field.name: field.default for field in dataclasses.fields(PrepSettings)}
    return [option(name, hint, defaults[name]) for name, hint in common_hints().items() if name not in taken]


def own_options(dataset: Dataset) -> dict[str, click.Option]:
    """Return the options that a dataset has for itself, by name."""
    return {name: option(name, hint, default) for name, (hint, default) in own_parameters(dataset).items()}


def option(name: str, hint: Any, default: Any) -> click.Option:
    """Return the option of one annotated name: its type, its default and its help."""
    annotated, help_text = typing.get_args(hint)
    kinds = [k for k in union_members(annotated) if k is not types.NoneType]
    kind = kinds[0]
    flag = f"--{name.replace('_', '-')}"
    if kind is bool:
        return click.Option([flag], is_flag=True, default=default, help=help_text)
    if typing.get_origin(kind) is tuple:
        return click.Option([flag], multiple=True, default=default, help=help_text, metavar="TEXT")
    if typing.get_origin(kind) is typing.Literal:
        # Checked by `prepare`, which names the nearest one in a single line.
        choices = "|".join(typing.get_args(kind))
        return click.Option([flag], metavar=choices, default=default, show_default=True, help=help_text)
    # Whether a path can be read is checked by `prepare` too.
    kind = {Path: click.Path(path_type=Path, readable=False), float: NUMBER}.get(kind, kind)
    return click.Option(
        [flag], type=kind, default=default, show_default=default not in (None, "", ()), help=help_text
    )


def quality_options() -> list[click.Parameter]:
    """Return the options."""
    return [
        click.Option(
            ["--verify"],
            is_flag=False,
            flag_value="keep",
            type=click.Choice(["keep", "drop", "fail"]),
            help="Score the reference solutions. If a solution is wrong, keep the row and list it, drop the "
            "row, or fail. Default: keep, but only for splits that take less than a minute to score.",
        ),
        click.Option(["--no-verify"], is_flag=True, help="Do not score the reference solutions."),
        click.Option(
            ["--dedup"],
            is_flag=False,
            flag_value="near",
            metavar="exact|near|0.5..1",
            help="Drop exact duplicates, near-duplicates, or questions with at least this similarity. The "
            f"similarity for near is {SIMILARITY}. near requires rensa. If a question is in several splits, "
            "it is dropped from train.",
        ),
        click.Option(
            ["--decontaminate", "against"],
            multiple=True,
            metavar="EVAL",
            help="Drop train rows that contain a question from this evaluation set. May be repeated.",
        ),
    ]


def take_quality(options: dict[str, Any]) -> dict[str, Any]:
    """Take these options out of a command's, as arguments of `rewardkit.prepare`.

    Raises:
        InputError: some of them exclude each other.
    """
    verify, no_verify = options.pop("verify"), options.pop("no_verify")
    if verify and no_verify:
        raise InputError("--verify and --no-verify cannot be combined; drop one of them")
    return {
        "verify": "off" if no_verify else verify,
        "dedup": options.pop("dedup"),
        "decontaminate": options.pop("against"),
    }


def print_dropped(screen: QualityScreen, out: Path) -> None:
    """Print how many rows were left out and why, and where they are listed."""
    for (split, reason), count in sorted(screen.counts().items()):
        click.echo(f"{split}: {count:,} rows dropped: {reason}")
    if screen.dropped:
        click.echo(f"dropped rows: {out / 'dropped.jsonl'}")


def print_rows(lines: list[str]) -> None:
    """Print the first of some lines, and how many more there are."""
    for line in lines[:SHOWN_FAILURES]:
        click.echo(line)
    if len(lines) > SHOWN_FAILURES:
        click.echo(f"and {len(lines) - SHOWN_FAILURES:,} more rows")
