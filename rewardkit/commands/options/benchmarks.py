"""Options that select the datasets for `rewardkit eval`, by name or from a suite file.

This module only parses options. The options of each dataset are the same as in `rewardkit prep`, and all
other options are the same as in `rewardkit eval`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from rewardkit.commands.options.generation import GENERATION
from rewardkit.commands.options.numbers import COUNT
from rewardkit.commands.options.prep import own_options, settings_options
from rewardkit.commands.options.rewards import read_mapping
from rewardkit.datasets_prep.common.prepare import dataset_named
from rewardkit.errors import InputError, OptionsError, did_you_mean
from rewardkit.evaluating.datasets import Benchmark
from rewardkit.evaluating.evaluate import find_benchmarks
from rewardkit.generation.settings import NAMES

_OWN = (
    click.option("--dataset"),
    click.option("--split"),
    click.option("--limit", type=COUNT),
    click.option("--system", default=""),
)
_OWN_NAMES = ("dataset", "split", "limit", "system")


@dataclass(frozen=True, slots=True)
class BenchmarkOptions:
    """Options of a command that select datasets and rows."""

    suite: Path | None
    prep: tuple[str, ...]
    """Values of `--prep`, as `NAME=VALUE`."""
    split: str | None
    limit: int | None
    system: str


_OPTIONS = (
    click.option(
        "--suite", type=click.Path(path_type=Path), help="YAML file that lists datasets and their settings."
    ),
    click.option(
        "--raw", type=click.Path(), help="Folder with the raw dataset. Default: download from the hub."
    ),
    click.option(
        "--prep",
        multiple=True,
        metavar="NAME=VALUE",
        help="Option for `rewardkit prep DATASET`. May be repeated.",
    ),
    click.option("--split", help="Split to evaluate on. Default: test if it exists, otherwise validation."),
    click.option("--limit", type=COUNT, help="With --model, use only the first N rows."),
    click.option("--system", default="", help="With --model, system prompt for rows without one."),
)


def benchmark_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that select datasets to a command. The command receives them as `asked`."""

    @functools.wraps(function)
    def with_benchmarks(
        *,
        suite: Path | None,
        raw: str | None,
        prep: tuple[str, ...],
        split: str | None,
        limit: int | None,
        system: str,
        **rest: Any,
    ) -> Any:
        words = prep if raw is None else (*prep, f"raw={raw}")
        return function(asked=BenchmarkOptions(suite, words, split, limit, system), **rest)

    command: Callable[..., Any] = with_benchmarks
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def asked_benchmarks(words: Sequence[str], asked: BenchmarkOptions) -> list[Benchmark]:
    """Return the datasets that a command line selects, or an empty list if its words are files.

    Raises:
        OptionsError: The options contradict each other.
        InputError: The suite file cannot be read, or a dataset or option is unknown.
    """
    chosen = bool(asked.prep or asked.split)
    if asked.suite is not None:
        if words or chosen:
            raise OptionsError(
                "--suite cannot be combined with datasets, --raw, --prep or --split; set these in the "
                "suite's file"
            )
        return read_suite(asked.suite)
    given = dict(_pair(word) for word in asked.prep)
    return find_benchmarks(words, lambda name: _prepared_by(name, given), chosen=chosen)


def read_suite(path: Path) -> list[Benchmark]:
    """Return the datasets in a suite file: `NAME: {dataset: ..., prep: {...}, split: ..., n: ..., ...}`.

    Raises:
        InputError: The file cannot be read, or an entry has an unknown dataset or option.
    """
    entries = read_mapping(path, dict[str, dict[str, Any] | None], "names to settings")
    found = []
    for name, entry in entries.items():
        try:
            found.append(_entry(name, dict(entry or {})))
        except InputError as error:
            raise InputError(f"{path}, {name}: {error}") from None
    if not found:
        raise InputError(f"{path} contains no datasets; expected NAME: {{...}} for each dataset")
    return found


def _entry(name: str, entry: dict[str, Any]) -> Benchmark:
    if Path(name).name != name:
        raise InputError("the name of an entry is used as a file name, so it must not contain '/'")
    prep = entry.pop("prep", None) or {}
    asked = str(entry.get("dataset", name))
    if not isinstance(prep, Mapping):
        raise InputError("'prep' must be a mapping of `rewardkit prep` options, such as {level: tiny}")
    values = _parsed([*_OWN, *GENERATION], entry)
    generation = {key: values[key] for key in NAMES & values.keys()}
    own = {key: values[key] for key in _OWN_NAMES if key != "dataset"}
    chosen = {key: value for key, value in generation.items() if value not in (None, ())}
    return replace(_prepared_by(asked, prep), name=name, **own, generation=chosen)


def _prepared_by(name: str, given: Mapping[str, Any]) -> Benchmark:
    dataset = dataset_named(name)
    own = own_options(dataset)
    return Benchmark.named(name, _parsed([*own.values(), *settings_options(set(own))], given))


def _parsed(options: Sequence[Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Parse values by name in the same way as options on the command line.

    Raises:
        InputError: An option is unknown, or a value is not valid.
    """
    command = click.Command(None, params=[one for one in options if isinstance(one, click.Parameter)])
    for decorate in options:
        if not isinstance(decorate, click.Parameter):
            decorate(command)
    flags = {option.name: option for option in command.params}
    words: list[str] = []
    for key, value in given.items():
        option = flags.get(key.replace("-", "_"))
        if not isinstance(option, click.Option):
            names = [name for name in flags if name]
            near = did_you_mean(key, names) or f"; expected one of {', '.join(names)}"
            raise InputError(f"unknown option '{key}'{near}")
        words += _words(option, value)
    try:
        return command.make_context("", words).params
    except click.ClickException as error:
        raise InputError(error.format_message()) from None


def _words(option: click.Option, value: Any) -> list[str]:
    flag = option.opts[-1]
    if option.is_flag:
        return [flag] if value in (True, "true", "True", "") else []
    values = value if isinstance(value, list) else [value]
    return [word for each in values for word in (flag, str(each))]


def _pair(word: str) -> tuple[str, str]:
    key, _, value = word.partition("=")
    return key, value
