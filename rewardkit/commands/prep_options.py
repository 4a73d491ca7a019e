"""The options of a dataset's subcommand, read from where they are defined: `PrepSettings`, and its own
`prepare`.
"""

from __future__ import annotations

import dataclasses
import inspect
import types
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from rewardkit.datasets_prep.common.settings import PrepSettings


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
    kind = click.Path(path_type=Path, readable=False) if kind is Path else kind
    return click.Option(
        [flag], type=kind, default=default, show_default=default not in (None, "", ()), help=help_text
    )


def _union_members(hint: Any) -> tuple[Any, ...]:
    return typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
