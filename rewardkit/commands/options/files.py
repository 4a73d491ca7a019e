"""Options that describe the contents of response files, for all commands that read these files."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import click

from rewardkit.errors import OptionsError
from rewardkit.offline import ReadOptions, read_join
from rewardkit.rows import RowNames
from rewardkit.verl_keys import config_file, is_setting

DATA_SOURCE = click.option("--data-source", help="Data source for all rows, whatever the files say.")
DATA_SOURCE_KEY = click.option(
    "--data-source-key",
    help="Column with the data source. Default: the column is detected by name (docs/files.md).",
)
GROUND_TRUTH_KEY = click.option(
    "--ground-truth-key",
    help="Column with the ground truth. Default: the column is detected by name (docs/files.md).",
)
PROMPT_KEY = click.option(
    "--prompt-key",
    help="Column with the prompt. Default: the column is detected by name (docs/files.md).",
)
SCORE_KEY = click.option(
    "--score-key",
    help="Column with scores from another tool, which are used as they are. Default: only scores from "
    "rewardkit, or the scores in logs of a known format.",
)
_SHOWN = click.option(
    "--data-source",
    help="Show only rows from this data source. Rows without a data source are always shown.",
)
_OPTIONS = (
    DATA_SOURCE_KEY,
    click.option(
        "--response-key",
        help="Column with the responses. Default: the column is detected by name (docs/files.md).",
    ),
    GROUND_TRUTH_KEY,
    PROMPT_KEY,
    click.option(
        "--join",
        "join_file",
        type=click.Path(),
        help="File that contains the ground truths, if FILES do not. Requires --on.",
    ),
    click.option(
        "--on",
        metavar="KEY[=OTHER]",
        help="Column to join on. Add =OTHER if the column has a different name in the --join file.",
    ),
)


def input_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for reading files to a command. The command receives them as `read_options`.

    Raises:
        OptionsError: Only one of `--join` and `--on` is given, or `--data-source-key` has no effect.
        InputError: The joined file cannot be used.
    """

    @functools.wraps(function)
    def with_data_source(*, read_options: ReadOptions, **rest: Any) -> Any:
        refuse_both(read_options.data_source, read_options.names.data_source)
        return function(read_options=read_options, **rest)

    return DATA_SOURCE(_collected(with_data_source))


def refuse_both(data_source: str | None, data_source_key: str | None) -> None:
    """Check that the data source is given for all rows or as a column, but not both.

    Raises:
        OptionsError: Both are given.
    """
    if data_source is not None and data_source_key is not None:
        raise OptionsError(
            "--data-source-key has no effect: --data-source is the data source of every row; pass one of the "
            "two"
        )


def looking_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for reading files to a command that shows rows. `--data-source` filters the rows."""
    return _SHOWN(_collected(function))


def _collected(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def with_read_options(
        *,
        data_source: str | None,
        data_source_key: str | None,
        response_key: str | None,
        ground_truth_key: str | None,
        prompt_key: str | None,
        join_file: str | None,
        on: str | None,
        **rest: Any,
    ) -> Any:
        if (join_file is None) != (on is None):
            missing, given = ("--join", "--on") if join_file is None else ("--on", "--join")
            raise OptionsError(f"{given} needs {missing}; pass both options")
        names = RowNames(data_source_key, response_key, ground_truth_key, prompt_key)
        joined = read_join([join_file], on) if join_file is not None and on is not None else None
        return function(read_options=ReadOptions(names, data_source, joined), **rest)

    command: Callable[..., Any] = with_read_options
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def files_and_settings(words: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Split the words of a command line into files and `key=value` settings."""
    settings = tuple(word for word in words if is_setting(word))
    return tuple(word for word in words if word not in settings), settings


def hydra_options(built_in: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds Hydra's options for a config file to a command with `--config`.

    Args:
        built_in: Name of verl's configuration whose defaults apply if there is no file.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def with_config(*, config: Any, config_path: str | None, config_name: str | None, **rest: Any) -> Any:
            if config_path or config_name:
                if config:
                    raise click.UsageError("--config cannot be combined with --config-path or --config-name")
                config = config_file(config_path, config_name, built_in)
            return function(config=config, **rest)

        name = click.option(
            "--config-name", "-cn", metavar="NAME", help="YAML file in --config-path, as in Hydra."
        )
        folder = click.option(
            "--config-path",
            "-cp",
            metavar="FOLDER",
            help="Folder that contains the --config-name file, as in Hydra.",
        )
        return folder(name(with_config))

    return decorate
