"""The options that say which rewards to use, and how."""

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
from rewardkit.scoring.scorer import Scorer

_ALL = "every data source"
"""Name of the data source of a reward that scores all of them."""


@dataclass(frozen=True, slots=True)
class RewardOptions:
    """Values of the options that `reward_options` adds to a command, but for those of neural rewards."""

    files: tuple[str, ...]
    """Values of `--reward`."""
    words: tuple[str, ...]
    """Values of `--option`."""
    options_file: Path | None
    timeout_s: float | None

    def read(self, given: Mapping[str, Mapping[str, Any]] | None = None) -> dict[str, dict[str, Any]]:
        """Register the reward files and return the options by data source, those of the command line on top.

        Args:
            given: options that came another way; they stand above those of the options file.

        Raises:
            InputError: a file that is missing or unreadable.
            OptionsError: a malformed `--option`, or an option in the file that its reward does not have or
                take.
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
    """Add `--reward`, `--reward-model`, `--judge`, `--for`, `--rewards` and options of rewards to a command.

    The neural rewards are registered before the command runs; the command gets a `RewardOptions`. It tells
    `given_to_run()` the data sources of its rows. What none of them uses is refused, at the latest when the
    command has ended.
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
        register_neural_rewards(reward_model, judge_file, sources)
        if composition_files:  # they may be made of the files' rewards; `explain` takes names too
            load_rewards(filter(is_spec, reward_files))
            register_compositions(composition_files)
        if timeout_s is not None:
            given_to_run().add_timeout(f"--timeout {timeout_s:g}")
        done = function(rewards=RewardOptions(reward_files, option_words, options_file, timeout_s), **rest)
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
"""The option `--rewards`, for commands that make their options one by one."""


def given_to_run() -> GivenRewards:
    """Return what the running command is given for its rows."""
    context = click.get_current_context(silent=True)
    if context is None:
        return GivenRewards()
    held: GivenRewards = context.meta.setdefault(f"{__name__}.given", GivenRewards())
    return held


def load_rewards(specs: Iterable[str]) -> list[Reward]:
    """Register what the words of `--reward` name, and return it.

    Raises:
        InputError: nothing can be made of one.
        OptionsError: as of `_claim`.
    """
    return [_claim(made, f"--reward {shown_spec(spec)}") for spec in specs for made in load_reward(spec)]


def _claim(made: Reward, word: str) -> Reward:
    """Take the data sources of a reward for the word of the running command that names it.

    Raises:
        OptionsError: another word has one of them, of which only one would be used.
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
    """Register the compositions of some files; warn if one may score a wrong answer above a right one.

    Raises:
        InputError: a file that cannot be read.
        OptionsError: a composition that cannot be.
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
    """Register the reward model and the judge for `sources`; a judge's file may name its own.

    Raises:
        OptionsError: no data source for one of them, the same for both, or sources for nothing.
        InputError: the model's folder or the judge's file cannot be used.
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
    """Return `SOURCE:NAME=VALUE` words as options by data source.

    Raises:
        OptionsError: a word of another form.
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
    """Return a YAML file's mapping of the type `kind`; `what` says in an error what it maps to what.

    Raises:
        InputError: the file cannot be read, or is no such mapping.
    """
    try:
        return msgspec.yaml.decode(path.read_bytes(), type=kind)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    except msgspec.DecodeError as error:
        raise InputError(f"{path} is not a YAML mapping of {what}: {reason_of(error)}") from None
