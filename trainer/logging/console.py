"""Shows metrics as a live table with a progress bar on a terminal, and as one line per step elsewhere."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from rewardkit.text import printable

COLUMNS: Mapping[str, str] = {
    "step": "training/global_step",
    "score": "critic/score/mean",
    "kl": "actor/reward_kl_penalty",
    "entropy": "actor/entropy",
    "pg_loss": "actor/pg_loss",
    "vf_loss": "critic/vf_loss",
    "length": "response_length/mean",
    "tokens/s": "perf/throughput",
    "s/step": "timing_s/step",
}
CRITIC_ONLY = "training/critic_warmup"
"""Metric that a step has if it trained only the critic, because of `trainer.critic_warmup`."""
SHOWN_STEPS = 15


class ConsoleSink:
    """Sink that prints each step, and highlights skipped updates and responses that could not be scored."""

    def __init__(self, console: Console, total_steps: int, columns: Mapping[str, str] = COLUMNS) -> None:
        self._console = console
        self._total = total_steps
        self._columns = columns
        self._recent: deque[dict[str, float]] = deque(maxlen=SHOWN_STEPS)
        self._progress = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=console,
        )
        self._task = self._progress.add_task("train", total=total_steps)
        self._live = Live(self._view(), console=console) if console.is_terminal else None
        if self._live is not None:
            self._live.start()

    def log(self, metrics: dict[str, float], step: int) -> None:
        """Show the metrics for one step."""
        for name, value in metrics.items():
            if name.startswith("reward/failed/") or name.endswith("skipped_updates"):
                self._console.print(f"step {step}: {name} = {value:g}", style="bold red", soft_wrap=True)
        if "timing_s/step" in metrics:
            self._recent.append(metrics)
            if self._live is None:
                shown = (f"{name} {_cell(metrics.get(key))}" for name, key in list(self._columns.items())[1:])
                only = "  (critic only: trainer.critic_warmup)" if CRITIC_ONLY in metrics else ""
                line = f"step {step}/{self._total}  {'  '.join(shown)}{only}"
                self._console.print(line, highlight=False, soft_wrap=True)
        self._print_validation(metrics, step)
        self._progress.update(self._task, completed=step)
        if self._live is not None:
            self._live.update(self._view())

    def generations(self, rows: Sequence[Mapping[str, Any]], step: int) -> None:
        """Show some responses from a validation, one line each."""
        for row in rows:
            line = f"step {step}: {response_line(row)}"
            self._console.print(line, highlight=False, markup=False, overflow="ellipsis", no_wrap=True)

    def responses(self, rows: Sequence[Mapping[str, Any]], step: int) -> None:
        """Ignore responses from training, which only the page shows."""

    def close(self) -> None:
        """Restore the terminal, and leave the last table visible."""
        if self._live is not None:
            self._live.stop()

    def _view(self) -> Group:
        table = Table(box=None, header_style="bold", pad_edge=False)
        for name in self._columns:
            table.add_column(name, justify="right", min_width=8)
        for metrics in self._recent:
            step, *cells = (_cell(metrics.get(key)) for key in self._columns.values())
            table.add_row(f"{step} critic only" if CRITIC_ONLY in metrics else step, *cells)
        return Group(table, self._progress) if self._recent else Group(self._progress)

    def _print_validation(self, metrics: dict[str, float], step: int) -> None:
        found = {k: v for k, v in metrics.items() if k.startswith(("val-core/", "val-aux/", "val/"))}
        if not found:
            return
        title = f"validation at step {step}"
        table = Table(title=title, title_justify="left", show_header=False, box=None, min_width=len(title))
        for name, value in found.items():
            table.add_row(name, f"{value:.4g}")
        self._console.print(table)


def response_line(row: Mapping[str, Any]) -> str:
    """Return a scored response as one line with its score or status, data source and text."""
    verdict = f"{row['score']:g}" if row["status"] == "ok" else row["status"]
    text = printable(row["response"]).replace("\n", "\\n")
    return f"[{verdict}] {row['data_source']}: {text}"


def _cell(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"
