"""Options for gates and for summaries in CI, for commands whose results a pipeline may depend on."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from rewardkit.commands.options.outputs import OutputFile
from rewardkit.commands.options.run_options import note
from rewardkit.errors import OptionsError
from rewardkit.evaluation.gates import GateResult, exit_code
from rewardkit.evaluation.summary import Summary, append_markdown, write_junit


@dataclass(frozen=True, slots=True)
class GateOptions:
    """Limits of a command's gates, and output files for CI."""

    limits: dict[str, float]
    """Limits by data source. The key "" applies to all other data sources."""
    junit: Path | None
    markdown: Path | None

    def report(self, summary: Summary) -> int:
        """Print a result's problems and gates, write the files for CI, and return the exit code."""
        for problem in summary.problems:
            note(f"error: {problem}")
        for gate in summary.gates:
            note(f"{gate.status}: {gate.line}")
        if self.junit is not None:
            write_junit(summary, self.junit)
        if self.markdown is not None:
            append_markdown(summary, self.markdown)
        return exit_code(summary.problems, summary.gates)


def gates_as_dicts(gates: Sequence[GateResult]) -> list[dict[str, Any]]:
    """Return the results of gates as JSON-ready data."""
    return [gate.as_dict() for gate in gates]


def gate_options(
    flag: str, metavar: str, help_text: str
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds the options for gates to a command, which receives them as `gates`.

    Args:
        flag: Option that sets a limit.
        metavar: Placeholder for the option's value in the help text.
        help_text: Help text of the option.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def with_gates(
            *, limit_words: tuple[str, ...], junit: Path | None, markdown: Path | None, **rest: Any
        ) -> Any:
            return function(gates=GateOptions(_limits(flag, limit_words), junit, markdown), **rest)

        command: Callable[..., Any] = with_gates
        for option in (
            click.option(
                "--summary",
                "markdown",
                type=OutputFile(),
                help="Append a summary in Markdown to this file, such as $GITHUB_STEP_SUMMARY.",
            ),
            click.option("--junit", type=OutputFile(), help="Write a JUnit XML report to this file."),
            click.option(flag, "limit_words", multiple=True, metavar=metavar, help=help_text),
        ):
            command = option(command)
        return command

    return decorate


def _limits(flag: str, words: Sequence[str]) -> dict[str, float]:
    limits: dict[str, float] = {}
    for word in words:
        name, equals, number = word.rpartition("=")
        if equals and not name:
            raise OptionsError(f"{flag} {word}: expected NUMBER or SOURCE=NUMBER")
        try:
            limit = float(number)
        except ValueError:
            raise OptionsError(f"{flag} {word}: {number!r:.40} is not a number such as 0.8") from None
        if name in limits:
            whose = f"the data source {name}" if name else "every data source"
            raise OptionsError(f"{flag} {word}: there is already a limit for {whose}")
        limits[name] = limit
    return limits
