"""`rewardkit lock`: records the rewards that a project trains with, and later checks them for changes.

This module parses the options and prints the results of `rewardkit.lock`.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import click
import msgspec

from rewardkit.commands.options.files import input_options
from rewardkit.commands.options.given import refuse_given
from rewardkit.commands.options.help import GroupedCommand
from rewardkit.commands.options.mistaken import refuse_overwriting
from rewardkit.commands.options.numbers import COUNT_OR_0
from rewardkit.commands.options.rewards import RewardOptions, given_to_run, reward_options
from rewardkit.commands.options.run_options import note
from rewardkit.errors import OptionsError
from rewardkit.files.publishing import exists_already, require_folder_of
from rewardkit.foreign.spec import shown_spec
from rewardkit.http_addresses import NOT_RECORDED, RequestFields, public_text
from rewardkit.identity.reward_identity import Identity, identities
from rewardkit.identity.run_folders import read_identities
from rewardkit.lock.checking import FORM, NAME, Lock, Moved, check, moved_rewards, read_lock, write_lock
from rewardkit.lock.pins import pins_of
from rewardkit.offline import ReadOptions
from rewardkit.scoring.scorer import Scorer

ScorerArguments = dict[str, Any]


@click.command(add_help_option=False)
@reward_options
def given_rewards(
    rewards: RewardOptions,
) -> ScorerArguments:
    """Register the rewards that the words in a lock file name, and return the arguments of a Scorer."""
    found: ScorerArguments = {"options": rewards.read(), "timeout_s": rewards.timeout_s}
    given_to_run().keep_all()  # the data sources were checked when the lock was written
    return found


@click.command(
    cls=GroupedCommand,
    shown=("reward_files",),
    epilog="Examples: rewardkit lock responses.parquet;  rewardkit lock --check",
)
@click.argument("files", nargs=-1)
@click.option("--check", "checks", is_flag=True, help="Compare with the lock file instead of writing it.")
@click.option(
    "--lock",
    "path",
    type=click.Path(dir_okay=False, path_type=Path),
    default=NAME,
    show_default=True,
    help="Path of the lock file.",
)
@click.option(
    "--pins",
    "n_pins",
    type=COUNT_OR_0,
    default=4,
    show_default=True,
    help="Number of prompts per data source to record with their responses and scores.",
)
@click.option("--force", is_flag=True, help="Overwrite an existing lock file.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@input_options
@reward_options
@click.pass_context
def command(
    context: click.Context,
    files: tuple[str, ...],
    checks: bool,
    path: Path,
    n_pins: int,
    force: bool,
    as_json: bool,
    read_options: ReadOptions,
    rewards: RewardOptions,
) -> int:
    """Write a lock file with the rewards that FILES use and the scores of a sample of rows.

    FILES contain responses, or prepared prompts with reference answers.

    With --check, the command scores the recorded rows again and lists what has changed since the lock file
    was written. The exit code is 1 if there are changes. If you pass no reward options, --check uses the
    options in the lock file. If you pass folders of training runs to --check, it compares the rewards of
    these runs with the lock file.
    """
    words = _words_of(context.params)
    given: ScorerArguments = {"options": rewards.read(), "timeout_s": rewards.timeout_s}
    if checks:
        refuse_given(("n_pins", "force"), "--check writes nothing")
    if checks and files:
        return _check_runs(path, files, as_json)
    if checks:
        return _check(path, words, given, as_json)
    if not files:
        raise click.UsageError(
            "no files given; pass response files or prompt files, or --check to check a lock file"
        )
    if path.exists() and not force:
        raise exists_already(path)
    require_folder_of(path)
    refuse_overwriting(path, files)
    with Scorer(**given) as scorer:
        for word in words:
            if Path(word.partition("=")[2] or word).is_absolute():
                note(f"{word} is outside this folder; `lock --check` needs the file at the same path")
        sources, pins = pins_of(files, read_options, scorer, n_pins, note)
        given_to_run().saw(sources)
        given_to_run().refuse_unused()
        folder = os.path.relpath(Path.cwd(), path.resolve().parent)
        found = identities(scorer, sources)
        _refuse_secrets(words, found, [scorer.options_for(source) for source in sources])
        write_lock(Lock(FORM, words, folder, found, pins), path)
    if as_json:
        click.echo(json.dumps({"lock": str(path), "data_sources": sources, "pins": len(pins)}, indent=2))
    else:
        click.echo(f"{path}: data sources: {len(sources)}, pinned rows: {len(pins)}")
    return 0


def _words_of(given: Mapping[str, Any]) -> list[str]:
    """Return the words of a command line that specify rewards, with paths relative to the current folder."""
    found = []
    for option in given_rewards.params:
        value = given[str(option.name)]
        for one in value if isinstance(value, tuple) else [value] * (value is not None):
            found += [option.opts[0], str(one).replace(f"{Path.cwd()}/", "")]
    return found


def _refuse_secrets(words: Sequence[str], found: Mapping[str, Identity], options: Sequence[Any]) -> None:
    """Check that the command line to store in a lock file contains no secrets.

    Raises:
        OptionsError: A word contains a password, a query, a request field or an option that may be a key.
    """
    fields_of = (getattr(one, f.name) for one in options for f in fields(one))
    fields_of = (value for value in fields_of if isinstance(value, RequestFields))
    texts = {text for one in fields_of for text in one.texts if text}
    unrecorded = NOT_RECORDED in repr(found)
    given = (one.get("options", {}).items() for one in found.values())
    names = [f":{name}=" for one in given for name, value in one if value == NOT_RECORDED]
    for word in words:
        if (
            public_text(word) != word
            or any(t in word for t in texts)
            or (unrecorded and ("?" in word or any(name in word for name in names)))
        ):
            name = shown_spec(word).partition("=")[0]
            raise OptionsError(
                f"{name} holds what a lock file does not record, such as a key; "
                "give it in a file: a judge's (--judge), imported rewards (--rewards) or --options-file"
            )


def _check(path: Path, words: list[str], given: ScorerArguments, as_json: bool) -> int:
    lock = read_lock(path)
    given_to_run().saw(lock.rewards)
    with contextlib.chdir(Path.cwd() if words else path.resolve().parent / lock.folder):
        if not words:
            given = given_rewards.main(args=lock.rewards_from, standalone_mode=False)
        with Scorer(**given) as scorer:
            found = check(lock, scorer)
    return _print(found, lock, as_json)


def _check_runs(path: Path, folders: Sequence[str], as_json: bool) -> int:
    lock = read_lock(path)
    found = {folder: moved_rewards(lock, read_identities(Path(folder))) for folder in folders}
    if as_json:
        click.echo(json.dumps(msgspec.to_builtins(found), indent=2, ensure_ascii=False))
    for folder, moved in () if as_json else found.items():
        for line in map(str, moved) if moved else ["no changes"]:
            click.echo(f"{folder}: {line}")
    return 1 if any(found.values()) else 0


def _print(found: Moved, lock: Lock, as_json: bool) -> int:
    lines = found.lines()
    if as_json:
        click.echo(json.dumps(found.as_dict() | {"moved": lines}, indent=2, ensure_ascii=False))
    elif lines:
        click.echo("\n".join(lines))
        note(f"{found.summary()}; if this is intended, write the lock file again with --force")
    else:
        click.echo(f"no changes (data sources: {len(lock.rewards)}, pinned rows: {len(lock.pins)})")
    return 1 if lines else 0
