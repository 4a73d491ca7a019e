"""`rewardkit serve --config serve.yaml`: reads the command's options from a file; SIGHUP reloads it.

Rewards and models are loaded in the serving processes, never in the supervisor: after a reload, new processes
start from the file alone.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from rewardkit.commands.options.help import GroupedCommand
from rewardkit.commands.options.rewards import read_mapping
from rewardkit.errors import ConfigError, RewardkitError, did_you_mean
from rewardkit.processes import adopts_orphans

if TYPE_CHECKING:
    from fastapi import FastAPI

    from rewardkit.server.serve import Serving

_ONLY_IN_FILES = {"tokens": list[str], "options": dict[str, dict[str, Any]]}
"""Keys that are no option of the command line: secrets do not belong there, and options have words there."""

_NO_EPISODES = "this key was removed; serve environments with tasks: [PATH]"
_GONE = dict.fromkeys(("tools", "interactions", "max-episodes", "episode-idle-s"), _NO_EPISODES)
"""Keys of files that were written for other versions, each with what to do."""

_KEPT = ("host", "port", "workers", "drain_s", "certfile", "keyfile")
"""Options that stay as they were when the file is read anew, since the sockets are open."""

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
    """Return the value in the file of `--config` under a key that is no option of the command line."""
    return click.get_current_context().meta.get(_IN_FILE, {}).get(key, default)


def is_only_tried() -> bool:
    """Return True if the command is called to see if it can serve, by a process that will not."""
    return bool(click.get_current_context().meta.get(_TRIED))


def read_config(path: Path, command: click.Command) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a file's values by parameter of the command, and those that only files have.

    Keys are the names of the options, with `-` or `_`.

    Raises:
        InputError: the file cannot be read, or is no mapping.
        ConfigError: an unknown key, or a value of the wrong kind.
    """
    given = read_mapping(path, dict[str, Any], "options to values")
    names = {
        max(option.opts, key=len).lstrip("-"): option.name
        for option in command.params
        if isinstance(option, click.Option) and option.expose_value  # --config and --help-all are no settings
    }
    defaults: dict[str, Any] = {}
    extras: dict[str, Any] = {}
    for key, value in given.items():
        name = key.replace("_", "-")
        if key in _ONLY_IN_FILES:
            extras[key] = _converted(path, key, value)
        elif name in names:
            defaults[str(names[name])] = value
        elif name in _GONE:
            raise ConfigError(f"{path}: {key}: {_GONE[name]}")
        else:
            raise ConfigError(f"{path}: unknown key '{key}'{did_you_mean(name, [*names, *_ONLY_IN_FILES])}")
    return defaults, extras


def _converted(path: Path, key: str, value: Any) -> Any:
    try:
        return msgspec.convert(value, _ONLY_IN_FILES[key])
    except msgspec.ValidationError as error:
        raise ConfigError(f"{path}: {key}: {error}") from None


def _take_defaults(ctx: click.Context, option: click.Parameter, path: Path | None) -> None:
    """Make the file's values the defaults, over which the command line stands."""
    if path is not None:
        ctx.default_map, ctx.meta[_IN_FILE] = read_config(path, ctx.command)


class ServingCommand(GroupedCommand):
    """A command whose function returns a `Serving`, and which serves it.

    With `--config`, or several processes, it is those that serve who call the function, each anew.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[_ARGS] = list(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> None:
        if _IN_FILE in ctx.meta or ctx.params["workers"] > 1 or adopts_orphans():
            _supervise(self, ctx)
        else:
            _serve(super().invoke(ctx))

    def called(self, args: list[str], *, only_tried: bool = False) -> Serving:
        """Call the function with what the arguments, and the file that they name, say now."""
        with self.make_context("serve", list(args)) as ctx:
            ctx.meta[_TRIED] = only_tried
            made: Serving = super().invoke(ctx)
            return made


def _serve(wanted: Serving) -> None:
    """Serve from this process."""
    from rewardkit.server import serve

    serve.serve(wanted, serve.listen(wanted.host, wanted.port))


def _supervise(command: ServingCommand, ctx: click.Context) -> None:
    """Serve from processes each of which reads the arguments, and the file, anew."""
    from rewardkit.server import serve

    args = ctx.meta[_ARGS]
    _try_once(command, args)
    kept = {name: ctx.params[name] for name in _KEPT}
    assert command.callback is not None
    make_app = functools.partial(application, command.callback.__module__, args)
    wanted = serve.Serving(make_app, **kept)
    if exit_code := serve.supervise(wanted, serve.listen(wanted.host, wanted.port)):
        raise click.exceptions.Exit(exit_code)


@contextlib.contextmanager
def application(module: str, args: list[str]) -> Iterator[FastAPI]:
    """The application that a module's command makes of its arguments; in another process than ours."""
    command: ServingCommand = importlib.import_module(module).command
    with command.called(args).make_app() as app:
        yield app


def _try_once(command: ServingCommand, args: list[str]) -> None:
    """Make sure that this can be served, in a process whose registrations go with it."""
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
