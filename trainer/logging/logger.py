"""Destinations for metrics. A `Logger` passes each step's metrics to the configured sinks.

Only the main process logs. `console.py` formats metrics for the console. A sink that fails is disabled with a
one-line warning and never stops a run. `metrics.jsonl` replaces a sink whose package is not installed.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from rich.console import Console

from rewardkit.extensions import FUNCTION, Table
from rewardkit.http_addresses import public_text
from rewardkit.trainer.config.load import as_dict
from rewardkit.trainer.config.root import RunConfig, logger_names
from rewardkit.trainer.logging.console import COLUMNS, ConsoleSink, response_line
from rewardkit.trainer.logging.page import PageSink

LoggedRows = Sequence[Mapping[str, Any]]
"""Scored responses from `steps/dumps.py`."""

TABLE = ("prompt", "response", "ground_truth", "score", "status")
"""Columns of the responses in the tables of trackers."""


class Sink(Protocol):
    """Destination for metrics. By default, a sink ignores responses and needs no closing."""

    def log(self, metrics: dict[str, float], step: int) -> None:
        """Log the metrics for one step."""
        ...

    def generations(self, rows: LoggedRows, step: int) -> None:
        """Log some responses from a validation."""
        return

    def responses(self, rows: LoggedRows, step: int) -> None:
        """Log some responses from a training step."""
        return

    def close(self) -> None:
        """Write any remaining data, and close the sink."""
        return


class Logger:
    """Context manager that passes each step's metrics to all sinks."""

    def __init__(
        self,
        config: RunConfig,
        folder: Path,
        total_steps: int,
        *,
        active: bool = True,
        columns: Mapping[str, str] = COLUMNS,
    ) -> None:
        """Open the sinks that `trainer.logger` names.

        Args:
            folder: Folder for files that sinks write.
            active: If False, open no sinks and print nothing.
            columns: Metrics that the console shows for each step, by heading.
        """
        self._console = Console(quiet=not active)
        self._sinks: dict[str, Sink] = {}
        self._show: ConsoleSink | None = None
        self._page: PageSink | None = None
        # Preflight has already reported trackers that are not installed.
        names = ["jsonl" if missing(name) else name for name in logger_names(config)]
        for name in dict.fromkeys(names) if active else ():
            if name == "console":
                self._show = self._sinks[name] = ConsoleSink(self._console, total_steps, columns)
            else:
                self._guard(name, self._open, name, config, folder)
        if "jsonl" in self._sinks:
            self._page = self._sinks["page"] = PageSink(folder, total_steps)

    def log(self, metrics: dict[str, float], step: int) -> None:
        """Log the metrics for one step."""
        self._each(lambda sink: sink.log(metrics, step))

    def generations(self, rows: LoggedRows, step: int) -> None:
        """Log some responses from a validation in the sinks that support text.

        Without responses, only the reasons are stored for the page.
        """
        if rows:
            self._each(lambda sink: sink.generations(rows, step))
        elif self._page is not None and "page" in self._sinks:
            self._guard("page", self._page.generations, rows, step)

    def responses(self, rows: LoggedRows, step: int) -> None:
        """Log some responses from a training step in the sinks that support text."""
        self._each(lambda sink: sink.responses(rows, step))

    def reasons(self, lines: Sequence[str]) -> None:
        """Store the reasons why responses score nothing.

        The page shows them with the step's next responses.
        """
        if self._page is not None and "page" in self._sinks:
            self._guard("page", self._page.reasons, lines)

    def say(self, line: str) -> None:
        """Print a line if the console is one of the sinks."""
        if self._show is not None:
            self._print(line)

    def warn(self, line: str) -> None:
        """Print a warning, regardless of the configured sinks."""
        self._print(f"warning: {line}", "yellow")

    def alarms(self, begun: Mapping[str, str], step: int) -> None:
        """Print alarm messages, given by rule, regardless of the sinks, and store them for the page."""
        for line in begun.values():
            self._print(f"alarm at step {step}: {line}", "bold red")
        if begun and self._page is not None and "page" in self._sinks:
            self._guard("page", self._page.alarms, begun, step)

    def _print(self, line: str, style: str = "") -> None:
        """Print a line without line breaks, so that a terminal wraps it and a file contains one line."""
        self._console.print(line, style=style, highlight=False, markup=False, soft_wrap=True)

    def _open(self, name: str, config: RunConfig, folder: Path) -> None:
        self._sinks[name] = SINKS[name](config, folder)

    def _each(self, work: Callable[[Sink], None]) -> None:
        for name, sink in list(self._sinks.items()):
            self._guard(name, work, sink)

    def _guard(self, name: str, work: Callable[..., None], *arguments: Any) -> None:
        try:
            work(*arguments)
        except Exception as error:  # An error in a tracking library must not stop training.
            self._sinks.pop(name, None)
            reason = public_text(str(error) or type(error).__name__).partition("\n")[0]
            self.warn(f"logger '{name}' failed and is disabled for the rest of the run: {reason}")

    def __enter__(self) -> Logger:
        return self

    def __exit__(self, *_: object) -> None:
        self._each(lambda sink: sink.close())


class JsonlSink:
    """Sink that writes `metrics.jsonl`, one line per step. When a run resumes, `find.py` trims the file."""

    def __init__(self, config: RunConfig, folder: Path) -> None:
        self._path = folder / "metrics.jsonl"

    def log(self, metrics: dict[str, float], step: int) -> None:
        finite = {k: v if math.isfinite(v) else None for k, v in metrics.items()}
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(finite) + "\n")

    def generations(self, rows: LoggedRows, step: int) -> None: ...

    def responses(self, rows: LoggedRows, step: int) -> None: ...

    def close(self) -> None: ...


class TensorboardSink(Sink):
    """Sink that writes event files to $TENSORBOARD_DIR or `folder/tensorboard`."""

    def __init__(self, config: RunConfig, folder: Path) -> None:
        writer: Any = import_module("torch.utils.tensorboard")
        self._writer = writer.SummaryWriter(os.environ.get("TENSORBOARD_DIR", str(folder / "tensorboard")))

    def log(self, metrics: dict[str, float], step: int) -> None:
        for name, value in metrics.items():
            self._writer.add_scalar(name, value, step)
        self._writer.flush()

    def generations(self, rows: LoggedRows, step: int) -> None:
        for i, row in enumerate(rows):
            self._writer.add_text(f"val/generation_{i}", response_line(row), step)

    def close(self) -> None:
        self._writer.close()


class WandbSink(Sink):
    """Sink for Weights & Biases, which logs offline to `folder` if there is no account or no connection."""

    def __init__(self, config: RunConfig, folder: Path) -> None:
        wandb: Any = import_module("wandb")
        mode = os.environ.get("WANDB_MODE") or ("online" if wandb.api.api_key else "offline")
        about: dict[str, Any] = {"config": as_dict(config), "dir": str(folder)}
        about |= {"project": config.trainer.project_name, "name": config.trainer.experiment_name}
        self._table = wandb.Table
        try:
            self._run = wandb.init(mode=mode, settings=wandb.Settings(init_timeout=30), **about)
        except Exception:
            if mode == "offline":
                raise
            self._run = wandb.init(mode="offline", **about)

    def log(self, metrics: dict[str, float], step: int) -> None:
        self._run.log(metrics, step=step)

    def generations(self, rows: LoggedRows, step: int) -> None:
        table = self._table(list(TABLE), [[_text(row[name]) for name in TABLE] for row in rows])
        self._run.log({"val/generations": table}, step=step)

    def close(self) -> None:
        self._run.finish()


class MlflowSink(Sink):
    """Sink that logs to MLflow at $MLFLOW_TRACKING_URI or in `folder`, to `mlflow.db` and `mlruns`."""

    def __init__(self, config: RunConfig, folder: Path) -> None:
        self._mlflow: Any = import_module("mlflow")
        if "MLFLOW_TRACKING_URI" not in os.environ:
            # MLflow no longer accepts a folder of plain files.
            self._mlflow.set_tracking_uri(f"sqlite:///{folder.absolute() / 'mlflow.db'}")
            if self._mlflow.get_experiment_by_name(config.trainer.project_name) is None:
                place = (folder / "mlruns").absolute().as_uri()
                self._mlflow.create_experiment(config.trainer.project_name, artifact_location=place)
        self._mlflow.set_experiment(config.trainer.project_name)
        self._mlflow.start_run(run_name=config.trainer.experiment_name)
        self._mlflow.log_dict(as_dict(config), "config.json")

    def log(self, metrics: dict[str, float], step: int) -> None:
        # MLflow does not allow @ in metric names.
        self._mlflow.log_metrics({k.replace("@", "_at_"): v for k, v in metrics.items()}, step=step)

    def generations(self, rows: LoggedRows, step: int) -> None:
        table = {name: [_text(row[name]) for row in rows] for name in TABLE}
        self._mlflow.log_table({"step": [step] * len(rows), **table}, "val/generations.json")

    def close(self) -> None:
        self._mlflow.end_run()


class TrackioSink(Sink):
    """Sink that logs to trackio, which stores its data on this machine."""

    def __init__(self, config: RunConfig, folder: Path) -> None:
        self._trackio: Any = import_module("trackio")
        self._trackio.init(
            project=config.trainer.project_name, name=config.trainer.experiment_name, config=as_dict(config)
        )

    def log(self, metrics: dict[str, float], step: int) -> None:
        self._trackio.log(metrics, step=step)

    def close(self) -> None:
        self._trackio.finish()


OpenSink = Callable[[RunConfig, Path], Sink]

SINKS: Table[OpenSink] = Table(
    "trackers",
    FUNCTION,
    {
        "jsonl": JsonlSink,
        "tensorboard": TensorboardSink,
        "wandb": WandbSink,
        "mlflow": MlflowSink,
        "trackio": TrackioSink,
    },
)
"""Trackers by their names in `trainer.logger`. Each is a sink class or a function that opens a sink."""


def logger_choices() -> tuple[str, ...]:
    """Return the names that `trainer.logger` may contain."""
    return ("console", *SINKS)


def missing(name: str) -> bool:
    """Return True if a built-in logger needs the package of the same name and it is not installed."""
    return name in SINKS.shipped and name != "jsonl" and find_spec(name) is None


def _text(value: Any) -> Any:
    return value if isinstance(value, str | float | int | None) else json.dumps(value, ensure_ascii=False)
