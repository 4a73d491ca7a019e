"""Where metrics go: the console (a progress bar and a table) and a jsonl file. Only the main process logs."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

LOGGERS = ("console", "jsonl")

_COLUMNS = {
    "step": "training/global_step",
    "score": "critic/score/mean",
    "kl": "actor/reward_kl_penalty",
    "entropy": "actor/entropy",
    "pg_loss": "actor/pg_loss",
    "vf_loss": "critic/vf_loss",
    "length": "response_length/mean",
    "s/step": "timing_s/step",
}


class Logger:
    """Writes each step's metrics; a context manager that leaves the terminal as it was."""

    def __init__(self, loggers: list[str], folder: Path, total_steps: int, *, active: bool = True) -> None:
        """Log to `folder/metrics.jsonl` and the console, as `loggers` says; nowhere unless `active`."""
        self._console = Console() if active and "console" in loggers else None
        self._file: TextIO | None = None
        if active and "jsonl" in loggers:
            self._file = (folder / "metrics.jsonl").open("a", encoding="utf-8")
        self._progress: Progress | None = None
        if self._console is not None:
            self._progress = Progress(
                TextColumn("[bold]{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                console=self._console,
                disable=not sys.stdout.isatty(),
            )
            self._task = self._progress.add_task("train", total=total_steps)
            self._progress.start()

    def log(self, metrics: dict[str, float], step: int) -> None:
        """Write one step's metrics; loud about responses that could not be judged."""
        if self._file is not None:
            finite = {k: v if math.isfinite(v) else None for k, v in metrics.items()}
            self._file.write(json.dumps(finite) + "\n")
            self._file.flush()
        if self._progress is None or self._console is None:
            return
        if "timing_s/step" in metrics:
            if step % 20 == 1:
                self._console.print("".join(f"{name:>10}" for name in _COLUMNS), style="bold")
            cells = [_cell(metrics.get(key)) for key in _COLUMNS.values()]
            self._console.print("".join(cells), highlight=False)
        self._progress.update(self._task, completed=step)
        for name, value in metrics.items():
            if name.startswith("reward/failed/") or name.endswith("skipped_updates"):
                self._console.print(f"step {step}: {name} = {value:g}", style="bold red")
        self._print_validation(metrics, step)

    def _print_validation(self, metrics: dict[str, float], step: int) -> None:
        found = {k: v for k, v in metrics.items() if k.startswith(("val-core/", "val-aux/"))}
        if not found or self._console is None:
            return
        table = Table(title=f"validation at step {step}", title_justify="left", show_header=False)
        for name, value in found.items():
            table.add_row(name, f"{value:.4g}")
        self._console.print(table)

    def say(self, line: str) -> None:
        """Print one line above the progress bar."""
        if self._console is not None:
            self._console.print(line, highlight=False)

    def __enter__(self) -> Logger:
        return self

    def __exit__(self, *_: object) -> None:
        if self._progress is not None:
            self._progress.stop()
        if self._file is not None:
            self._file.close()


def _cell(value: float | None) -> str:
    if value is None:
        return f"{'-':>10}"
    return f"{value:>10.4g}"
