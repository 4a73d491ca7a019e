"""Consoles, and formatting of scores and figures."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from rich.console import Console

from rewardkit.evaluation.intervals import ends
from rewardkit.types import Score

err = Console(stderr=True)
"""Console for progress and notes. The results of a command go to stdout."""

WITHOUT_TERMINAL = 160
"""Width of the output if it goes to a file or another program instead of a terminal."""


def results_console(*, stderr: bool = False) -> Console:
    """Return the console for results, as wide as the terminal, `COLUMNS` or `WITHOUT_TERMINAL`."""
    console = Console(stderr=stderr, highlight=False)
    if not console.is_terminal and not os.environ.get("COLUMNS"):
        console.width = WITHOUT_TERMINAL
    return console


def score_fields(score: Score) -> dict[str, Any]:
    """Return the fields of a Score as JSON-ready data. `score` is None if scoring failed."""
    return score.as_dict() | ({} if score.ok else {"score": None})


def figure(value: float | None) -> str:
    """Return a mean formatted for a table, or a dash for None."""
    return "-" if value is None else f"{value:.4f}"


def counted(n: int, what: str) -> str:
    """Return a number followed by a noun, with a plural s unless the number is 1."""
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def signed(value: float) -> str:
    """Return a difference with its sign, formatted for a table."""
    return f"{value:+.4f}"


def interval(low: float | None, high: float | None, show: Callable[[float], str] = figure) -> str:
    """Return an interval formatted for a table, or a dash if there is none, as for a single prompt."""
    return ends(low, high, show) or "-"
