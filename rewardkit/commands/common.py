"""What several commands share: the options that say which rewards to use, and how, and the consoles."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec
from rich.console import Console

from rewardkit.errors import InputError, OptionsError
from rewardkit.registry import load_reward_file

err = Console(stderr=True)
"""Progress and notes; what a command is for goes to stdout."""

F = TypeVar("F", bound=Callable[..., Any])


def reward_options(function: F) -> F:
    """Add `--reward` and the options of `judging_options` to a command."""
    return click.option(
        "--reward",
        "reward_files",
        multiple=True,
        metavar="[SOURCE=]FILE.py[:FUNCTION]",
        help="Register your own reward from a Python file. May be repeated.",
    )(judging_options(function))


def judging_options(function: F) -> F:
    """Add `--option`, `--options-file` and `--timeout` to a command."""
    for option in (
        click.option("--timeout", "timeout_s", type=float, help="Deadline for one sample, in seconds."),
        click.option(
            "--options-file",
            type=click.Path(dir_okay=False, path_type=Path),
            help="YAML or JSON: {data source: {option: value}}.",
        ),
        click.option(
            "--option",
            "option_words",
            multiple=True,
            metavar="SOURCE:NAME=VALUE",
            help="Set an option of a reward, for example gsm8k:method=flexible. May be repeated.",
        ),
    ):
        function = option(function)
    return function


def read_reward_options(
    reward_files: tuple[str, ...], option_words: tuple[str, ...], options_file: Path | None
) -> dict[str, dict[str, Any]]:
    """Register the reward files and return the options by data source, those of the command line on top.

    Raises:
        InputError: a file that is missing or unreadable.
        OptionsError: a malformed `--option`.
    """
    for spec in reward_files:
        load_reward_file(spec)
    options = _from_file(options_file) if options_file else {}
    for word in option_words:
        head, equals, value = word.partition("=")
        source, colon, name = head.rpartition(":")
        if not (equals and colon and source and name):
            raise OptionsError(
                f"--option {word}: expected SOURCE:NAME=VALUE, for example gsm8k:method=strict"
            )
        options.setdefault(source, {})[name] = value
    return options


def _from_file(path: Path) -> dict[str, dict[str, Any]]:
    try:
        return msgspec.yaml.decode(path.read_bytes(), type=dict[str, dict[str, Any]])
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    except msgspec.DecodeError as error:
        reason = str(error).replace("\n", " ")
        raise InputError(f"{path} is not a YAML mapping of data sources to options: {reason}") from None
