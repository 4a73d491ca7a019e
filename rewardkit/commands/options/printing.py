"""The consoles, and how findings and figures are printed."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from rich.console import Console

from rewardkit.evaluation.intervals import ends
from rewardkit.types import Score

err = Console(stderr=True)
"""Progress and notes; what a command is for goes to stdout."""

WITHOUT_TERMINAL = 160
"""Columns of what goes to a file or another program, where nothing has to be broken to be seen."""


def results_console(*, stderr: bool = False) -> Console:
    """Return the console that results are printed on: a terminal's width, or `COLUMNS`, else a wide one."""
    console = Console(stderr=stderr, highlight=False)
    if not console.is_terminal and not os.environ.get("COLUMNS"):
        console.width = WITHOUT_TERMINAL
    return console


def score_fields(score: Score) -> dict[str, Any]:
    """Return the fields of a score to be printed; where scoring failed there is no score."""
    return score.as_dict() | ({} if score.ok else {"score": None})


def figure(value: float | None) -> str:
    """Return a mean as it stands in a table."""
    return "-" if value is None else f"{value:.4f}"


def counted(n: int, what: str) -> str:
    """Return how many of something there are, in words."""
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def signed(value: float) -> str:
    """Return a difference as it stands in a table."""
    return f"{value:+.4f}"


def interval(low: float | None, high: float | None, show: Callable[[float], str] = figure) -> str:
    """Return the ends of an interval as they stand in a table; a dash where one prompt gives none."""
    return ends(low, high, show) or "-"
