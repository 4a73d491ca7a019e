"""`rewardkit`: finds the command, runs it, and prints errors as one line.

One file per command stands in `rewardkit/commands/`; none is imported until it is called.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from contextlib import nullcontext
from typing import Any

import click

import rewardkit
from rewardkit.errors import RewardkitError, did_you_mean, reason_of
from rewardkit.processes import unsearched_imports

COMMANDS = {
    "list": "Show the registered data sources and their rewards.",
    "prep": "Turn a raw dataset into train.parquet and test.parquet.",
    "check": "Look files of prompts over: schema, rewards, lengths, duplicates, leakage.",
    "labels": "List ground truths that are likely to be wrong.",
    "generate": "Generate responses of a model to the prompts in a file.",
    "score": "Score the responses in files of any kind.",
    "doctor": "Show what holds on this machine: the installation, and the sandbox's levels.",
    "explain": "Show how one response is scored, and why.",
    "view": "Look at scored responses: a table, or one in full.",
    "eval": "Generate if there is a model, score, and report with intervals and pass@k.",
    "compare": "Compare two scored files over the same prompts.",
    "diff": "Show what another scorer says of the same responses; pin verdicts.",
    "lock": "Write down which rewards a project trains against; check in CI what moved.",
    "replay": "Score a scored file again as its receipt says, and show the rows that differ.",
    "gradient": "Show where the learning signal of a file of rollouts comes from.",
    "serve": "Serve the rewards over HTTP.",
    "sft": "Train a language model on given responses.",
    "train": "Train a language model with PPO.",
    "export": "Write a checkpoint's model as a Hugging Face folder.",
    "demo": "Train a tiny model on word problems and show that it learns.",
}


class _ReaderGoneError(Exception):
    """Whoever read our output (`| head`) has gone; that is no error of ours."""


class _LazyGroup(click.Group):
    """A group whose commands are imported only when one of them is called."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # click would end the process with status 1
            raise _ReaderGoneError from None
        except SystemExit as stop:  # as rich does
            if isinstance(stop.__context__, BrokenPipeError):
                raise _ReaderGoneError from None
            raise

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = f"rewardkit.commands.{cmd_name}"
        with nullcontext() if module in sys.modules else unsearched_imports():
            command: click.Command = importlib.import_module(module).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            ctx.fail(f"no command '{args[0]}'{did_you_mean(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)


@click.group(
    cls=_LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Example: rewardkit prep arithmetic --out data && rewardkit check data/train.parquet",
)
# Another distribution's __init__.py may have replaced ours; `doctor` must run all the same, and tells.
@click.version_option(getattr(rewardkit, "__version__", "unknown"), prog_name="rewardkit")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def cli(debug: bool) -> None:
    """Rewards and evaluation for language models trained with reinforcement learning."""


def main() -> None:
    """Run the command line; the console script."""
    sys.exit(run(sys.argv[1:]))


def run(args: list[str]) -> int:
    """Run one command line and return its exit code, printing errors as one line each."""
    debug = "--debug" in args[:1] or bool(os.environ.get("REWARDKIT_DEBUG"))
    try:
        result: Any = cli.main(args=args, prog_name="rewardkit", standalone_mode=False)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.Abort:
        print("interrupted", file=sys.stderr)
        return 130
    except click.ClickException as error:
        if debug:
            raise
        error.show()
        return error.exit_code
    except RewardkitError as error:
        if debug:
            raise
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except _ReaderGoneError:
        _discard_output()
        return 0
    except OSError as error:
        if debug:
            raise
        print(f"error: {error.filename or 'cannot write the output'}: {reason_of(error)}", file=sys.stderr)
        _discard_output()
        return 2
    return result if isinstance(result, int) else 0


def _discard_output() -> None:
    """Let what is still to be written go nowhere, as Python would fail on it once more at its end."""
    with contextlib.suppress(OSError):  # it may be no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
