"""The options of a dataset's subcommand: those read from where they are defined, `PrepSettings` and its own
`prepare`, and those that leave rows out.

Parses and prints; `rewardkit.datasets_prep.quality` does the work of the latter.
"""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import types
import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from rewardkit.commands.options.numbers import NUMBER
from rewardkit.datasets_prep import Dataset
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
SIMILARITY = 0.7
"""From which questions count as nearly the same, unless told otherwise."""
SHOWN_FAILURES = 20
"""Rows that are listed on the console; --json and dropped.jsonl have them all."""


def settings_options(taken: set[str]) -> list[click.Option]:
    """Return the options that all datasets share, but for names that a dataset has itself."""
    hints = typing.get_type_hints(PrepSettings, include_extras=True)
    return [
        option(field.name, hints[field.name], field.default)
        for field in dataclasses.fields(PrepSettings)
        if field.name not in taken and typing.get_origin(hints[field.name]) is typing.Annotated
    ]


def own_options(prepare: Callable[..., Any]) -> dict[str, click.Option]:
    """Return the options of the keyword arguments that a dataset's `prepare` has for itself, by name."""
    hints = typing.get_type_hints(prepare, include_extras=True)
    parameters = inspect.signature(prepare).parameters.values()
    return {
        p.name: option(p.name, hints[p.name], p.default)
        for p in parameters
        if p.kind is p.KEYWORD_ONLY and p.name != "progress"
    }


def option(name: str, hint: Any, default: Any) -> click.Option:
    """Return the option of one annotated name: its type, its default and its help."""
    annotated, help_text = typing.get_args(hint)
    kinds = [k for k in _union_members(annotated) if k is not types.NoneType]
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


def _union_members(hint: Any) -> tuple[Any, ...]:
    return typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)


@dataclass(frozen=True, slots=True)
class QualityOptions:
    """The quality options of a command line."""

    verify: Literal["keep", "drop", "fail", "off"] | None
    """None: `keep` where it is quick, else nothing."""
    dedup: float | None = None
    """From which similarity questions count as the same; None: all rows stay."""
    against: tuple[str, ...] = ()
    """Evaluation sets whose questions are left out of train."""

    @property
    def verifies_later(self) -> bool:
        """Solutions are scored from the published files, and all rows stay."""
        return self.verify in ("keep", None)


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


def take_quality(options: dict[str, Any], dataset: Dataset) -> QualityOptions:
    """Take these options out of a command's.

    Raises:
        InputError: some of them exclude each other, or do not go with the dataset.
    """
    verify, no_verify = options.pop("verify"), options.pop("no_verify")
    if verify and no_verify:
        raise InputError("--verify and --no-verify cannot be combined; drop one of them")
    if verify and not dataset.verifiable:
        raise InputError(f"{dataset.name} has no solutions to verify; drop --verify")
    dedup = _similarity(options.pop("dedup"))
    against = options.pop("against")
    if options["like"]:
        if verify or dedup or against:
            raise InputError("--like cannot be combined with --verify, --dedup or --decontaminate")
        return QualityOptions("off")
    return QualityOptions("off" if no_verify or not dataset.verifiable else verify, dedup, against)


def _similarity(given: str | None) -> float | None:
    if given is None:
        return None
    named = {"near": SIMILARITY, "exact": 1.0}
    try:
        found = named[given] if given in named else float(given)
    except ValueError:
        found = 0.0
    if not 0.5 <= found <= 1.0:
        raise InputError(f"--dedup must be exact, near, or a similarity from 0.5 to 1, not {given}")
    return found


@contextlib.contextmanager
def screening(wanted: QualityOptions) -> Iterator[QualityScreen]:
    """Within this context, apply the requested filters to every row that is written.

    Where nothing is published because solutions fail, they are listed.
    """
    from rewardkit.datasets_prep.common.verification import solutions_scored_by
    from rewardkit.datasets_prep.common.writer import screened
    from rewardkit.datasets_prep.quality.decontaminate import Decontaminate
    from rewardkit.datasets_prep.quality.dedup import Dedup
    from rewardkit.datasets_prep.quality.screen import QualityScreen, Stage
    from rewardkit.datasets_prep.quality.verifying import Unverified, Verifier
    from rewardkit.scoring.scorer import Scorer

    with contextlib.ExitStack() as stack:
        stages: list[Stage] = []
        if wanted.dedup is not None:
            stages.append(Dedup(wanted.dedup))
        if wanted.against:
            stages.append(Decontaminate(wanted.against))
        if wanted.verify in ("keep", "drop", "fail"):
            scorer = stack.enter_context(Scorer())
            stack.enter_context(solutions_scored_by(scorer))
        if wanted.verify in ("drop", "fail"):
            stages.append(Verifier(scorer, fail=wanted.verify == "fail"))
        screen = QualityScreen(stages)
        stack.enter_context(screened(screen if stages else None))
        try:
            yield screen
        except Unverified as error:
            print_rows([f"{f.split}[{f.index}]: {f.detail} | {f.question}" for f in error.rows])
            raise


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
