"""Options of a dataset's subcommand, created from `PrepSettings` and from the dataset's own `prepare`.

Further options filter rows (see `rewardkit.datasets_prep.quality`).
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
    "source": "hub config hub_splits licence revision",
    "columns": "context_key choices_key images_key keep ability reward_of",
    "prompts": "system instruction template agent interaction like",
    "rows": "split_name skip_bad shuffle seed max_prompt_tokens tokenizer",
    "checks": "no_verify against composition_files",
    "output": "val_size shard_rows card num_proc as_json",
}
"""Options that `--help` lists without an explanation, by group."""
RARE = frozenset(f"{GROUPS['source']} {GROUPS['columns']}".split())
"""Rare options that `--help` does not explain. It explains all other options of a dataset."""
SHOWN_FAILURES = 20
"""Maximum number of rows listed on the console. --json and dropped.jsonl contain all rows."""


def settings_options(taken: set[str]) -> list[click.Option]:
    """Return the options that all datasets share, except those in `taken`, which a dataset defines itself."""
    defaults = {field.name: field.default for field in dataclasses.fields(PrepSettings)}
    return [option(name, hint, defaults[name]) for name, hint in common_hints().items() if name not in taken]


def own_options(dataset: Dataset) -> dict[str, click.Option]:
    """Return the options that only this dataset has, by name."""
    return {name: option(name, hint, default) for name, (hint, default) in own_parameters(dataset).items()}


def option(name: str, hint: Any, default: Any) -> click.Option:
    """Return the option for a setting. `hint` is the annotated type, which contains the help text."""
    annotated, help_text = typing.get_args(hint)
    kinds = [k for k in union_members(annotated) if k is not types.NoneType]
    kind = kinds[0]
    flag = f"--{name.replace('_', '-')}"
    if kind is bool:
        return click.Option([flag], is_flag=True, default=default, help=help_text)
    if typing.get_origin(kind) is tuple:
        return click.Option([flag], multiple=True, default=default, help=help_text, metavar="TEXT")
    if typing.get_origin(kind) is typing.Literal:
        # `prepare` checks the value, and suggests the nearest choice in a one-line message.
        choices = "|".join(typing.get_args(kind))
        return click.Option([flag], metavar=choices, default=default, show_default=True, help=help_text)
    # `prepare` also checks that a path can be read.
    kind = {Path: click.Path(path_type=Path, readable=False), float: NUMBER}.get(kind, kind)
    return click.Option(
        [flag], type=kind, default=default, show_default=default not in (None, "", ()), help=help_text
    )


def quality_options() -> list[click.Parameter]:
    """Return the options that leave out rows and verify solutions."""
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
    """Remove the values of `quality_options` from `options`, and return them for `rewardkit.prepare`.

    Raises:
        InputError: Two of the options exclude each other.
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
    """Print the number of rows left out for each reason, and the file that lists them."""
    for (split, reason), count in sorted(screen.counts().items()):
        click.echo(f"{split}: {count:,} rows dropped: {reason}")
    if screen.dropped:
        click.echo(f"dropped rows: {out / 'dropped.jsonl'}")


def print_rows(lines: list[str]) -> None:
    """Print the first `SHOWN_FAILURES` lines, and the number of further lines."""
    for line in lines[:SHOWN_FAILURES]:
        click.echo(line)
    if len(lines) > SHOWN_FAILURES:
        click.echo(f"and {len(lines) - SHOWN_FAILURES:,} more rows")
