"""`rewardkit serve --config serve.yaml`: reads the command's options from a file, which SIGHUP reloads.

Only the serving processes load rewards and models; the supervisor never does. After a reload, the new
processes therefore depend only on the file.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from rewardkit.commands.options.help import GroupedCommand
from rewardkit.commands.options.rewards import read_mapping
from rewardkit.errors import ConfigError, RewardkitError, did_you_mean
from rewardkit.processes import adopts_orphans
from rewardkit.run_folder import name_run_folder

if TYPE_CHECKING:
    from fastapi import FastAPI

    from rewardkit.server.serve import Serving

_ONLY_IN_FILES = {"tokens": list[str], "options": dict[str, dict[str, Any]]}
"""Types of the keys that exist only in files. Tokens are secrets, so they have no command-line option. Reward
options are set with `--option` on the command line."""

_NO_EPISODES = "this key was removed; serve environments with tasks: [PATH]"
_GONE = {
    **dict.fromkeys(("tools", "interactions", "max-episodes", "episode-idle-s"), _NO_EPISODES),
    "max-memory-mb": "this limit of all request bodies is now called max-bodies-mb; scorer-memory-mb limits "
    "the scoring processes",
}
"""Advice for each key or option that other versions support but this version does not."""

_KEPT = ("host", "port", "workers", "drain_s", "certfile", "keyfile")
"""Options that a reload does not change, because the sockets are already open."""

_IN_FILE = "rewardkit.serve.file"
_ARGS = "rewardkit.serve.args"
_TRIED = "rewardkit.serve.tried"


def config_option(function: Any) -> Any:
    """Add `--config` to a command."""
    return click.option(
        "--config",
        "config_file",
        type=click.Path(dir_okay=False, path_type=Path),
        is_eager=True,
        expose_value=False,
        callback=_take_defaults,
        help="YAML file that sets these options, the tokens and reward options. Send SIGHUP to reload it.",
    )(function)


def in_file(key: str, default: Any) -> Any:
    """Return the value of a key in the `--config` file, for keys that have no command-line option."""
    return click.get_current_context().meta.get(_IN_FILE, {}).get(key, default)


def is_only_tried() -> bool:
    """Return True if the command is called only to check that it can serve."""
    return bool(click.get_current_context().meta.get(_TRIED))


def read_config(path: Path, command: click.Command) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the values in a file by parameter of the command, and the values that only files can have.

    Keys are the names of the options, with `-` or `_`.

    Raises:
        InputError: The file cannot be read, or is not a mapping.
        ConfigError: A key is unknown, or a value has the wrong type.
    """
    given = read_mapping(path, dict[str, Any], "options to values")
    options = {
        max(option.opts, key=len).lstrip("-"): option
        for option in command.params
        if isinstance(option, click.Option) and option.expose_value  # neither --config nor --help-all
    }
    defaults: dict[str, Any] = {}
    extras: dict[str, Any] = {}
    for key, value in given.items():
        name = key.replace("_", "-")
        if key in _ONLY_IN_FILES:
            extras[key] = _converted(path, key, value)
        elif name in options:
            defaults[str(options[name].name)] = _as_option(path, key, value, options[name])
        elif name in _GONE:
            raise ConfigError(f"{path}: {key}: {_GONE[name]}")
        else:
            raise ConfigError(f"{path}: unknown key '{key}'{did_you_mean(name, [*options, *_ONLY_IN_FILES])}")
    return defaults, extras


def _as_option(path: Path, key: str, value: Any, option: click.Option) -> Any:
    """Return the value of an option. Options that may be repeated take one value or a list."""
    if option.multiple and isinstance(value, str | int | float):
        return [value]
    if isinstance(value, dict) or (isinstance(value, list) and not option.multiple):
        expected = "one value or a list of values" if option.multiple else "one value"
        raise ConfigError(f"{path}: {key}: expected {expected}, found {value!r:.60}")
    return value


def _converted(path: Path, key: str, value: Any) -> Any:
    try:
        return msgspec.convert(value, _ONLY_IN_FILES[key])
    except msgspec.ValidationError as error:
        raise ConfigError(f"{path}: {key}: {error}") from None


def _take_defaults(ctx: click.Context, option: click.Parameter, path: Path | None) -> None:
    """Use the values in the file as defaults, which the command line overrides."""
    if path is not None:
        ctx.default_map, ctx.meta[_IN_FILE] = read_config(path, ctx.command)


class ServingCommand(GroupedCommand):
    """Command whose function returns a `Serving`, which the command then serves.

    With `--config` or several processes, each serving process calls the function itself.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[_ARGS] = list(args)
        for word in args:
            name = word.removeprefix("--").partition("=")[0]
            if word.startswith("--") and name in _GONE:
                raise ConfigError(f"--{name}: {_GONE[name]}")
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> None:
        if _IN_FILE in ctx.meta or ctx.params["workers"] > 1 or adopts_orphans():
            _supervise(self, ctx)
        else:
            _serve(super().invoke(ctx))

    def called(self, args: list[str], *, only_tried: bool = False) -> Serving:
        """Call the function with the arguments, and with the current contents of the file that the arguments
        name."""
        with self.make_context("serve", list(args)) as ctx:
            ctx.meta[_TRIED] = only_tried
            made: Serving = super().invoke(ctx)
            return made


def _serve(wanted: Serving) -> None:
    """Serve in this process."""
    from rewardkit.server import serve

    serve.serve(wanted, serve.listen(wanted.host, wanted.port))


def _supervise(command: ServingCommand, ctx: click.Context) -> None:
    """Serve in child processes, each of which reads the arguments and the file itself."""
    from rewardkit.server import serve

    name_run_folder()  # shared by the server processes and by those that replace them
    args = ctx.meta[_ARGS]
    _try_once(command, args)
    kept = {name: ctx.params[name] for name in _KEPT}
    assert command.callback is not None
    make_app = functools.partial(application, command.callback.__module__, args)
    ignored = functools.partial(ignored_by_reload, command, args, kept)
    wanted = serve.Serving(make_app, **kept, ignored_by_reload=ignored)
    if exit_code := serve.supervise(wanted, serve.listen(wanted.host, wanted.port)):
        raise click.exceptions.Exit(exit_code)


def ignored_by_reload(command: click.Command, args: list[str], kept: Mapping[str, Any]) -> str:
    """Return a line about settings in the file that a reload does not apply, or an empty string.

    Args:
        command: Command that serves.
        args: Arguments of the command.
        kept: Settings that remain in effect, by parameter of the command.
    """
    try:
        with command.make_context("serve", list(args)) as ctx:
            now = {name: ctx.params[name] for name in kept}
    except (RewardkitError, click.ClickException):  # the new processes report what is wrong with the file
        return ""
    changed = [
        f"{name.replace('_', '-')} stays {kept[name]} (the file has {now[name]})"
        for name in kept
        if now[name] != kept[name]
    ]
    return f"needs a restart, not a reload: {', '.join(changed)}" if changed else ""


@contextlib.contextmanager
def application(module: str, args: list[str]) -> Iterator[FastAPI]:
    """Create the application of a module's command in a serving process, and yield it for the block."""
    command: ServingCommand = importlib.import_module(module).command
    with command.called(args).make_app() as app:
        yield app


def _try_once(command: ServingCommand, args: list[str]) -> None:
    """Check in a child process that the command can serve, so that this process registers no rewards."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            command.called(args, only_tried=True)
            code = 0
        except RewardkitError as error:
            print(f"error: {error}", file=sys.stderr, flush=True)
            code = error.exit_code
        finally:
            os._exit(code)
    if code := os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
        raise click.exceptions.Exit(code)
