"""Rejection of values that are mistakes in any command.

Such mistakes are pasted commands of other trainers, empty values (for example from unset shell variables),
outputs that would overwrite an input, and a second configuration file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from rewardkit.commands.options.outputs import OutputFile
from rewardkit.errors import InputError, OptionsError

_PROGRAM = re.compile(r"(.*/)?(python[\d.]*|torchrun|accelerate|ray|deepspeed)|[^=]+\.(py|sh)")
"""Programs that run other trainers, at the beginning of a pasted command."""
_MAY_BE_EMPTY = ("ground_truth", "response", "prompt", "system", "instruction", "template", "prefix")
"""Parameters whose values are texts and may therefore be empty."""


def refuse_mistaken(context: click.Context, words: Mapping[str, Any]) -> None:
    """Check that a command line has no empty values and no output that is also an input.

    Args:
        context: Context of the parsed command.
        words: Unconverted words of the command line, by parameter.

    Raises:
        OptionsError: A value is empty.
        InputError: An output is also an input.
    """
    for one in context.command.params:
        if one.name not in _MAY_BE_EMPTY and "" in _values(words.get(str(one.name))):
            name = max(one.opts, key=len) if isinstance(one, click.Option) else one.make_metavar(context)
            raise OptionsError(f"{name} is empty; pass a value, or leave {name} out")
    given = {str(one.name): context.params.get(str(one.name)) for one in context.command.params}
    for one in context.command.params:
        out = given.pop(str(one.name)) if isinstance(one.type, OutputFile) else None
        if out is not None:
            refuse_overwriting(out, (word for found in given.values() for word in _values(found)))


def refuse_pasted(command: str, words: Sequence[str]) -> None:
    """Check that the settings of a command do not begin with the program of another trainer.

    Args:
        command: Command whose settings these are, such as `rewardkit train`.
        words: Words of the command line after the command.

    Raises:
        OptionsError: The words contain a module to run (`-m`), a Python program or a script.
    """
    if "-m" in words:
        end = words.index("-m") + 2
    elif words and _PROGRAM.fullmatch(words[0]):
        end = 1 + (len(words) > 1 and words[1].endswith(".py"))
    else:
        return
    raise OptionsError(
        f"leave out '{' '.join(words[:end])}': {command} is the program; put only the settings after it"
    )


def refuse_second_config(order: Sequence[click.Parameter]) -> None:
    """Check that a command line has at most one `--config`, because click would use only the last file.

    Args:
        order: Parameters in the order of the command line, each as often as it was given.

    Raises:
        OptionsError: There are several.
    """
    number = sum("--config" in one.opts for one in order)
    if number > 1:
        raise OptionsError(f"--config was given {number} times; put all settings in one file")


def refuse_overwriting(out: Path, words: Iterable[Any]) -> None:
    """Check that an output is not an existing file among the words of a command line.

    Raises:
        InputError: The output is also an input.
    """
    for word in words:
        if isinstance(word, str | Path) and os.path.isfile(word) and out.resolve() == Path(word).resolve():
            raise InputError(
                f"the output would overwrite the input {word}; choose another name for the output"
            )


def _values(found: Any) -> Iterator[Any]:
    yield from found if isinstance(found, tuple | list) else [found]
