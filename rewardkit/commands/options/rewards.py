"""Options that select and configure rewards."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import msgspec

from rewardkit.commands.options.numbers import ABOVE_0
from rewardkit.commands.options.printing import err
from rewardkit.composition import check, load_compositions
from rewardkit.composition.given import GivenRewards
from rewardkit.errors import InputError, OptionsError, UnknownDataSourceError, reason_of
from rewardkit.foreign import is_spec, load_reward
from rewardkit.foreign.spec import shown_spec
from rewardkit.registry import REGISTRY, Reward
from rewardkit.rewards.judge.file import register_judge
from rewardkit.rewards.model import register_reward_model
from rewardkit.rows import PAIRS
from rewardkit.scoring.scorer import Scorer

_ALL = "every data source"
"""Phrase in messages that stands for the data sources of a reward that scores every data source."""


@dataclass(frozen=True, slots=True)
class RewardOptions:
    """Values of the options that `reward_options` adds to a command, except options for neural rewards."""

    files: tuple[str, ...]
    """Values of `--reward`."""
    words: tuple[str, ...]
    """Values of `--option`."""
    options_file: Path | None
    timeout_s: float | None
    pairs_source: str | None = None
    """Data source of all pairs if a reward model or a judge is given without `--for`, and None otherwise."""

    def read(self, given: Mapping[str, Mapping[str, Any]] | None = None) -> dict[str, dict[str, Any]]:
        """Register the rewards given with `--reward`, and return the reward options by data source.

        Options on the command line override `given`, which overrides the options file.

        Args:
            given: Options from another source, by data source.

        Raises:
            InputError: A file is missing or cannot be read.
            OptionsError: An `--option` is malformed, or the options file has an option or value that the
                reward does not accept.
        """
        load_rewards(self.files)
        held = given_to_run()
        options: dict[str, dict[str, Any]] = {}
        if self.options_file:
            kind = dict[str, dict[str, Any]]
            options = read_mapping(self.options_file, kind, "data sources to options")
            try:
                Scorer(options=options).close()
            except (OptionsError, UnknownDataSourceError) as error:
                raise OptionsError(f"{self.options_file}: {error}") from None
            for source, in_file in options.items():
                held.add_options(f"--options-file {self.options_file}", source, in_file)
        for more in (given or {}, option_words_to_options(self.words, "--option")):
            for source, values in more.items():
                options.setdefault(source, {}).update(values)
        return options


def reward_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--reward`, `--reward-model`, `--judge`, `--for`, `--rewards` and reward options to a command.

    The neural rewards are registered before the command runs. The command receives a `RewardOptions` as
    `rewards`, and must report the data sources of its rows to `given_to_run()`. If no data source uses one of
    the rewards or options, an error is raised when the command ends or earlier.
    """

    @functools.wraps(function)
    def with_neural_rewards(
        *,
        reward_model: str | None,
        judge_file: Path | None,
        sources: tuple[str, ...],
        composition_files: tuple[Path, ...],
        reward_files: tuple[str, ...],
        option_words: tuple[str, ...],
        options_file: Path | None,
        timeout_s: float | None,
        **rest: Any,
    ) -> Any:
        scores_all = bool(rest.get("pairs") and (reward_model or judge_file) and not sources)
        register_neural_rewards(reward_model, judge_file, (PAIRS,) if scores_all else sources)
        if composition_files:  # a composition may contain rewards that `--reward` registers
            load_rewards(filter(is_spec, reward_files))
            register_compositions(composition_files)
        if timeout_s is not None:
            given_to_run().add_timeout(f"--timeout {timeout_s:g}")
        given = RewardOptions(
            reward_files, option_words, options_file, timeout_s, PAIRS if scores_all else None
        )
        done = function(rewards=given, **rest)
        given_to_run().refuse_unused()
        return done

    command: Callable[..., Any] = with_neural_rewards
    for option in (
        click.option(
            "--timeout",
            "timeout_s",
            type=ABOVE_0,
            help="Time limit per response, in seconds.",
        ),
        click.option(
            "--options-file",
            type=click.Path(dir_okay=False, path_type=Path),
            help="YAML or JSON file with reward options: {data source: {option: value}}.",
        ),
        click.option(
            "--option",
            "option_words",
            multiple=True,
            metavar="SOURCE:NAME=VALUE",
            help="Reward option, such as gsm8k:method=flexible. May be repeated.",
        ),
        click.option("--rewards", "composition_files", **COMPOSITIONS),
        click.option(
            "--for",
            "sources",
            multiple=True,
            metavar="SOURCE",
            help="Data source, or glob pattern, to score with --reward-model or --judge. May be repeated.",
        ),
        click.option(
            "--judge",
            "judge_file",
            type=click.Path(dir_okay=False, path_type=Path),
            help="YAML file that configures an LLM judge (docs/judges.md).",
        ),
        click.option(
            "--reward-model",
            metavar="PATH",
            help="Folder or hub ID of a reward model. The model scores the data sources given by --for.",
        ),
        click.option(
            "--reward",
            "reward_files",
            multiple=True,
            metavar="[SOURCE=]SPEC",
            help="Your own reward, or one from another project: FILE.py[:NAME], MODULE:NAME or KIND:TARGET. "
            "May be repeated.",
        ),
    ):
        command = option(command)
    return command


COMPOSITIONS: dict[str, Any] = {
    "type": click.Path(dir_okay=False, path_type=Path),
    "multiple": True,
    "metavar": "FILE.yaml",
    "help": "YAML file that defines composed or imported rewards (docs/compose.md). May be repeated.",
}
"""Arguments of the option `--rewards`, for commands that do not use `reward_options`."""


def given_to_run() -> GivenRewards:
    """Return the rewards and options given to the running command."""
    context = click.get_current_context(silent=True)
    if context is None:
        return GivenRewards()
    held: GivenRewards = context.meta.setdefault(f"{__name__}.given", GivenRewards())
    return held


def load_rewards(specs: Iterable[str]) -> list[Reward]:
    """Register and return the rewards that the values of `--reward` name.

    Raises:
        InputError: A reward cannot be loaded.
        OptionsError: Two values score the same data source.
    """
    return [_claim(made, f"--reward {shown_spec(spec)}") for spec in specs for made in load_reward(spec)]


def _claim(made: Reward, word: str) -> Reward:
    """Record that a word of the running command names a reward, and return the reward.

    Raises:
        OptionsError: Another word scores one of the data sources, so that one of the two rewards would be
            unused.
    """
    context = click.get_current_context(silent=True)
    claims: dict[str, str] = context.meta.setdefault(__name__, {}) if context is not None else {}
    for source in (_ALL,) if made is REGISTRY.for_all else made.data_sources:
        if (holder := claims.setdefault(source, word)) != word:
            raise OptionsError(f"{holder} and {word} both score {source}; pass only one of the two")
    whole = claims.get(_ALL)
    others = [one for one in claims.values() if whole is not None and one != whole]
    if others:
        raise OptionsError(
            f"{whole} scores {_ALL}, so {others[0]} would never be used; limit the first reward to one data "
            "source with --reward SOURCE=SPEC"
        )
    given_to_run().add_reward(word, made)
    return made


def register_compositions(files: tuple[Path, ...]) -> None:
    """Register the compositions in files, and warn of those that may score wrong answers above right answers.

    Raises:
        InputError: A file cannot be read.
        OptionsError: A composition is not valid.
    """
    for path in files:
        for made in load_compositions(path):
            _claim(made, f"--rewards {path}")
            for warning in check(made):
                line = f"warning: composition '{made.name}': {warning}"
                err.print(line, highlight=False, markup=False, soft_wrap=True)


def register_neural_rewards(
    reward_model: str | None, judge_file: Path | None, sources: tuple[str, ...]
) -> None:
    """Register the reward model and the judge for `sources`. A judge's file may name its own data sources.

    Raises:
        OptionsError: The reward model or the judge has no data source, both have the same data source, or
            `sources` is given without either.
        InputError: The model's folder or the judge's file cannot be used.
    """
    if not reward_model and judge_file is None:
        if sources:
            raise OptionsError(f"--for {sources[0]} needs --reward-model or --judge")
        return
    if reward_model and not sources:
        raise OptionsError("--reward-model needs --for with a data source, for example --for 'Dahoas/*'")
    made = []
    if reward_model:
        made.append(_claim(register_reward_model(reward_model, sources), f"--reward-model {reward_model}"))
    if judge_file is not None:
        judged = register_judge(judge_file, () if reward_model else sources)
        made.append(_claim(judged, f"--judge {judge_file}"))
    for source in sources:
        given_to_run().add_source(f"--for {source}", source, made[0])


def option_words_to_options(words: tuple[str, ...], flag: str) -> dict[str, dict[str, Any]]:
    """Parse `SOURCE:NAME=VALUE` words and return the options by data source.

    Raises:
        OptionsError: A word has a different form.
    """
    options: dict[str, dict[str, Any]] = {}
    for word in words:
        head, equals, value = word.partition("=")
        source, colon, name = head.rpartition(":")
        if not (equals and colon and source and name):
            raise OptionsError(f"{flag} {word}: expected SOURCE:NAME=VALUE, for example gsm8k:method=strict")
        options.setdefault(source, {})[name] = value
        given_to_run().add_options(f"{flag} {word}", source, {name: value})
    return options


def read_mapping(path: Path, kind: Any, what: str) -> Any:
    """Return the mapping in a YAML file.

    Args:
        path: YAML file.
        kind: Type of the mapping.
        what: Description of the mapping in error messages, such as "options to values".

    Raises:
        InputError: The file cannot be read, or does not contain a mapping of this type.
    """
    try:
        return msgspec.yaml.decode(path.read_bytes(), type=kind)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    except msgspec.DecodeError as error:
        raise InputError(f"{path} is not a YAML mapping of {what}: {reason_of(error)}") from None
