"""Command line of rewardkit. This module finds and runs a command, and prints each error on one line.

Each command is a file in `rewardkit/commands/` that is imported only when the command is called.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from keyword import iskeyword
from typing import Any

import click

import rewardkit
from rewardkit.errors import RewardkitError, did_you_mean, reason_of
from rewardkit.extensions import AddedRow, added_rows, package_in
from rewardkit.http_addresses import public_text
from rewardkit.processes import unsearched_imports
from rewardkit.users_code import DEBUG, forget_reports, raised

TASKS = {
    "Score responses": {
        "score": "Score the responses in files.",
        "explain": "Explain how a single response is scored.",
        "import": "Try a reward from another project, and save it for later use.",
        "view": "View scored responses in the terminal or as an HTML page.",
        "list": "List the data sources and their rewards.",
        "serve": "Serve rewards over HTTP.",
    },
    "Prepare data": {
        "prep": "Convert a raw dataset to train.parquet and test.parquet.",
        "check": "Check prompt files for errors before you use them.",
        "audit": "Measure what a reward pays without a solution of the task.",
    },
    "Evaluate models": {
        "generate": "Generate responses to the prompts in a file.",
        "eval": "Evaluate a model on datasets, or evaluate existing responses.",
        "compare": "Compare two scored files prompt by prompt.",
        "diff": "Compare two scorers on the same responses.",
        "replay": "Score a scored file again and report rows that differ.",
    },
    "Train models": {
        "train": "Train a language model with PPO, GRPO and related algorithms.",
        "sft": "Fine-tune a language model on example responses.",
        "rm": "Train a reward model on preferences.",
        "dpo": "Train a language model on preferences with DPO and related losses.",
        "gradient": "Show which responses contribute to the gradient.",
        "lock": "Write a lock file for a project's rewards, or check it.",
        "export": "Convert a checkpoint to a Hugging Face model folder.",
        "demo": "Train a tiny model on arithmetic in a minute or two.",
    },
    "Check the installation": {
        "doctor": "Check that rewardkit and its sandbox work on this machine.",
    },
}
"""Summaries of the shipped commands, grouped by task."""
COMMANDS = {name: summary for commands in TASKS.values() for name, summary in commands.items()}
"""Summaries of the shipped commands, by name. Installed packages add commands to the table `commands`."""


class _ReaderGoneError(Exception):
    """Signal that the program that reads the output (such as `| head`) has exited. This is not an error."""


@contextlib.contextmanager
def _without_reader() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:  # click would exit with status 1 on this error
        raise _ReaderGoneError from None
    except SystemExit as stop:  # rich turns a broken pipe into SystemExit
        if isinstance(stop.__context__, BrokenPipeError):
            raise _ReaderGoneError from None
        raise


def added_command(row: AddedRow) -> click.Command:
    """Load a command that a package adds.

    Raises:
        ExtensionError: The import fails, the row is not a command, or rewardkit has a command of this name.
    """
    if row.name in COMMANDS:
        raise row.refused("has the name of a command of rewardkit")
    return row.load_as(click.Command)


class _LazyGroup(click.Group):
    """Group of commands that imports a command only when it is called."""

    def make_context(self, *arguments: Any, **rest: Any) -> click.Context:
        with _without_reader():  # make_context prints the help text
            return super().make_context(*arguments, **rest)

    def invoke(self, ctx: click.Context) -> Any:
        with _without_reader():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS, *added_rows("commands")]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            added = added_rows("commands").get(cmd_name)
            return None if added is None else added_command(added)
        module = f"rewardkit.commands.{cmd_name}{'_' * iskeyword(cmd_name)}"
        with nullcontext() if module in sys.modules else unsearched_imports():
            command: click.Command = importlib.import_module(module).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for task, commands in TASKS.items():
            with formatter.section(task):
                formatter.write_dl([(f"{name:<8}", summary) for name, summary in commands.items()])
        if added := added_rows("commands"):
            with formatter.section("From installed packages"):
                formatter.write_dl([(f"{row.name:<8}", row.package) for row in added.values()])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from rewardkit.commands.options.help import write_examples

        write_examples(self.epilog, formatter)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            names = self.list_commands(ctx)
            if args[0] not in names:
                ctx.fail(f"no command '{args[0]}'{did_you_mean(args[0], names)}")
        return super().resolve_command(ctx, args)


@click.group(
    cls=_LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Example: rewardkit prep arithmetic --out data && rewardkit check data/train.parquet",
)
# `doctor` must run even if another distribution has overwritten rewardkit's __init__.py.
@click.version_option(getattr(rewardkit, "__version__", "unknown"), prog_name="rewardkit")
@click.option(
    "--debug",
    is_flag=True,
    help="Show tracebacks: of a command that fails, and of rewards, tools and agents that raise.",
)
def cli(debug: bool) -> None:
    """Rewards and evaluation for language models trained with reinforcement learning."""


def main() -> None:
    """Run the command line and exit with its status. The console script calls this function."""
    sys.exit(run(sys.argv[1:]))


def run(args: list[str]) -> int:
    """Run a command with these arguments and return its exit code. Each error is printed on one line."""
    debug = "--debug" in args[:1] or bool(os.environ.get(DEBUG))
    if not debug:
        return _run(args, debug=False)
    before = os.environ.get(DEBUG)
    os.environ[DEBUG] = "1"  # inherited by the processes that the command starts
    try:
        return _run(args, debug=True)
    finally:
        if before is None:
            del os.environ[DEBUG]


def _run(args: list[str], *, debug: bool) -> int:
    forget_reports()
    color = False if os.environ.get("NO_COLOR") else None  # click itself ignores NO_COLOR
    try:
        result: Any = cli.main(args=args, prog_name="rewardkit", standalone_mode=False, color=color)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.Abort as stop:
        if isinstance(stop.__cause__, EOFError):  # not Ctrl-D, since rewardkit never prompts
            raise stop.__cause__ from None
        advice = str(stop.__cause__ or "")
        print(f"interrupted; {advice}" if advice else "interrupted", file=sys.stderr)
        return 130
    except click.ClickException as error:
        if debug:
            raise
        print(f"error: {_public(_one_line(error, args))}", file=sys.stderr)
        return error.exit_code
    except RewardkitError as error:
        if debug:
            raise
        print(f"error: {_public(str(error))}", file=sys.stderr)
        return error.exit_code
    except _ReaderGoneError:
        _discard_output()
        return 0
    except OSError as error:
        if debug:
            raise
        what = _public(str(error.filename or "cannot write the output"))
        print(f"error: {what}: {reason_of(error)}", file=sys.stderr)
        _discard_output()
        return 2
    except Exception as error:
        package = None if debug else package_in(error.__traceback__)
        if package is None:
            raise
        said = _public(raised(error).text)
        print(
            f"error: the package '{package}' failed: {said}; see its traceback with --debug", file=sys.stderr
        )
        return 1
    return result if isinstance(result, int) else 0


def _one_line(error: click.ClickException, args: list[str]) -> str:
    """Return click's message in the form of other messages, and the command whose help is useful."""
    message = error.format_message().rstrip(".")
    if message[1:2].islower():
        message = message[0].lower() + message[1:]
    if isinstance(error, click.NoSuchOption):
        known = error.ctx.command.get_params(error.ctx) if error.ctx else []
        names = [name for one in known for name in one.opts if name.startswith("-")]
        message = f"no option '{error.option_name}'{did_you_mean(error.option_name, names)}"
    if isinstance(error, click.UsageError):
        command = error.ctx.command_path if error.ctx else " ".join(["rewardkit", *args[:1]])
        message += f" (see `{command} --help`)"
    return " ".join(message.splitlines())


def _public(message: str) -> str:
    """Return a message without secrets. Restore the second slash of addresses that were parsed as paths."""
    return public_text(_ONE_SLASH.sub(r"\1://", message))


_ONE_SLASH = re.compile(r"(?<![\w./-])(https?|ftp|s3|gs|gcs|hf|sample):/(?=[^/\s])")


def _discard_output() -> None:
    """Discard buffered output, because flushing the output at exit would raise the same error again."""
    with contextlib.suppress(OSError):  # stdout may have no file descriptor
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
