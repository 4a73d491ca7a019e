"""What several commands share: the options that say which rewards to use, and how, and the consoles."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec
from rich.console import Console

from rewardkit.errors import InputError, OptionsError
from rewardkit.registry import load_reward_file
from rewardkit.rewards.judge import register_judge
from rewardkit.rewards.model import register_reward_model

err = Console(stderr=True)
"""Progress and notes; what a command is for goes to stdout."""

F = TypeVar("F", bound=Callable[..., Any])


def reward_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--reward`, `--reward-model`, `--judge`, `--for` and the options of `judging_options` to a command.

    The neural rewards are registered before the command runs; it sees nothing of their options.
    """

    @functools.wraps(function)
    def with_neural_rewards(
        *, reward_model: str | None, judge_file: Path | None, sources: tuple[str, ...], **rest: Any
    ) -> Any:
        register_neural_rewards(reward_model, judge_file, sources)
        return function(**rest)

    command = judging_options(with_neural_rewards)
    for option in (
        click.option(
            "--for",
            "sources",
            multiple=True,
            metavar="SOURCE",
            help="Data source, or a glob of them, that the reward model or judge scores. May be repeated.",
        ),
        click.option(
            "--judge",
            "judge_file",
            type=click.Path(dir_okay=False, path_type=Path),
            help="YAML file of a generative judge behind an OpenAI-compatible endpoint.",
        ),
        click.option(
            "--reward-model",
            metavar="PATH",
            help="Sequence-classification model, a folder or a hub id, that scores the sources of --for.",
        ),
        click.option(
            "--reward",
            "reward_files",
            multiple=True,
            metavar="[SOURCE=]FILE.py[:FUNCTION]",
            help="Register your own reward from a Python file. May be repeated.",
        ),
    ):
        command = option(command)
    return command


def register_neural_rewards(
    reward_model: str | None, judge_file: Path | None, sources: tuple[str, ...]
) -> None:
    """Register the reward model and the judge for `sources`; a judge's file may name its own.

    Raises:
        OptionsError: no data source for one of them, the same for both, or sources for nothing.
        InputError: the model's folder or the judge's file cannot be used.
    """
    if not reward_model and judge_file is None:
        if sources:
            raise OptionsError(f"--for {sources[0]}: say what scores it with --reward-model or --judge")
        return
    if reward_model and not sources:
        raise OptionsError("--reward-model needs --for, for example --for 'Dahoas/*'")
    if reward_model:
        register_reward_model(reward_model, sources)
    if judge_file is not None:
        register_judge(judge_file, () if reward_model else sources)


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
