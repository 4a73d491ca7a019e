"""Metrics reach every sink; a tracking library that fails is left out, said once, and ends no run."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("torch")

from rich.console import Console

from rewardkit.errors import ConfigError
from rewardkit.text import printable
from rewardkit.trainer.config.load import load_config
from rewardkit.trainer.logging import logger as logger_module
from rewardkit.trainer.logging.console import CRITIC_ONLY, ConsoleSink
from rewardkit.trainer.logging.logger import Logger
from rewardkit.trainer.run import checks

STEP = {"training/global_step": 1.0, "timing_s/step": 2.0, "critic/score/mean": 0.5}
ROW = {
    "data_source": "gsm8k",
    "prompt": [{"role": "user", "content": "2+2?"}],
    "ground_truth": "4",
    "response": "4\n\x1b[31mred",
    "score": 1.0,
    "status": "ok",
}


def config(*names: str) -> Any:
    needed = ["data.train_files=t.parquet", "actor_rollout_ref.model.path=m"]
    return load_config(None, [*needed, f"trainer.logger=[{','.join(names)}]"])


class FakeRun:
    """Stands for wandb, mlflow or trackio: remembers what it is called with."""

    def __init__(self, **fails: Exception) -> None:
        self.calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
        self.fails = fails
        self.api = SimpleNamespace(api_key="key")

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any, **named: Any) -> FakeRun:
            self.calls.append((name, arguments, named))
            if name in self.fails:
                raise self.fails[name]
            return self

        return call

    def named(self, name: str) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
        return [(arguments, named) for called, arguments, named in self.calls if called == name]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Any:
    for name in ("WANDB_MODE", "MLFLOW_TRACKING_URI", "TENSORBOARD_DIR"):
        monkeypatch.delenv(name, raising=False)

    def install(name: str, **fails: Exception) -> FakeRun:
        fake = FakeRun(**fails)
        monkeypatch.setitem(sys.modules, name, fake)  # type: ignore[arg-type]
        return fake

    return install


@pytest.mark.parametrize(("name", "log"), [("wandb", "log"), ("mlflow", "log_metrics"), ("trackio", "log")])
def test_a_step_reaches_the_tracking_library(install: Any, tmp_path: Path, name: str, log: str) -> None:
    fake = install(name)
    with Logger(config(name), tmp_path, 10) as logger:
        logger.log({"val-core/x/acc/mean@1": 0.5}, 3)
        logger.generations([ROW], 3)
    (logged, named), *_ = fake.named(log)
    assert named == {"step": 3}
    assert list(logged[0].values()) == [0.5]
    assert "@" not in str(logged) or name != "mlflow"
    assert fake.calls[-1][0] in ("finish", "end_run")


def test_wandb_goes_offline_when_the_net_cannot_be_reached(install: Any, tmp_path: Path) -> None:
    class Unreachable(FakeRun):
        def init(self, mode: str, **named: Any) -> FakeRun:
            self.calls.append(("init", (mode,), named))
            if mode == "online":
                raise OSError("no route to host")
            return self

    install("wandb")  # put back afterwards
    sys.modules["wandb"] = fake = Unreachable()  # type: ignore[assignment]
    with Logger(config("wandb"), tmp_path, 10) as logger:
        logger.log(STEP, 1)
    assert [mode for (mode,), _ in fake.named("init")] == ["online", "offline"]
    assert fake.named("log")


def test_wandb_without_an_account_is_offline_from_the_start(install: Any, tmp_path: Path) -> None:
    fake = install("wandb")
    fake.api.api_key = None
    Logger(config("wandb"), tmp_path, 10)
    assert [named["mode"] for _, named in fake.named("init")] == ["offline"]


def test_mlflow_keeps_its_runs_in_the_folder(install: Any, tmp_path: Path) -> None:
    class Empty(FakeRun):
        def get_experiment_by_name(self, name: str) -> None:
            return None

    install("mlflow")  # put back afterwards
    sys.modules["mlflow"] = fake = Empty()  # type: ignore[assignment]
    Logger(config("mlflow"), tmp_path, 10)
    assert fake.named("set_tracking_uri") == [((f"sqlite:///{tmp_path}/mlflow.db",), {})]
    place = {"artifact_location": (tmp_path / "mlruns").as_uri()}
    assert fake.named("create_experiment") == [(("rewardkit",), place)]


def test_the_responses_of_a_validation_are_a_table_of_the_trackers(install: Any, tmp_path: Path) -> None:
    fakes = {name: install(name) for name in ("wandb", "mlflow")}
    with Logger(config("wandb", "mlflow"), tmp_path, 10) as logger:
        logger.generations([ROW, ROW], 3)
    ((columns, rows), _), *_ = fakes["wandb"].named("Table")
    assert columns == ["prompt", "response", "ground_truth", "score", "status"] and len(rows) == 2
    ((table, file), _), *_ = fakes["mlflow"].named("log_table")
    assert file == "val/generations.json" and table["step"] == [3, 3] and table["score"] == [1.0, 1.0]
    assert json.loads(table["prompt"][0]) == ROW["prompt"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["wandb", "mlflow"])
def test_the_real_tracking_library_takes_metrics_and_tables(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip(name, reason="not installed: pip install 'rewardkit[trackers]'")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    with Logger(config(name), tmp_path, 10) as logger:
        for step in (1, 2):
            logger.generations([ROW], step)
            logger.log({"val-core/x/acc/mean@1": 0.5}, step)
    assert "warning" not in capsys.readouterr().out
    assert [*tmp_path.rglob("generations*.json")]


def test_a_logger_that_fails_is_said_once_and_the_others_go_on(
    install: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fake = install("trackio", log=RuntimeError("disk full\nand more"))
    install("mlflow", set_experiment=OSError("no server"))
    with Logger(config("trackio", "mlflow", "jsonl"), tmp_path, 10) as logger:
        for step in (1, 2, 3):
            logger.log({**STEP, "training/global_step": float(step)}, step)
    assert len((tmp_path / "metrics.jsonl").read_text().splitlines()) == 3
    assert len(fake.named("log")) == 1
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2, "a line each, also where it is longer than a terminal is wide"
    for line, name, why in zip(lines, ("mlflow", "trackio"), ("no server", "disk full"), strict=True):
        assert line.startswith(f"warning: logger '{name}' ") and line.endswith(f": {why}")


def test_a_logger_that_is_not_installed_is_said_and_its_metrics_are_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(logger_module, "find_spec", lambda name: None)
    (line,) = checks.check_loggers(config("console", "trackio"))
    assert "rewardkit[trackers]" in line and "metrics.jsonl instead" in line
    assert checks.check_loggers(config("console", "file")) == []
    with Logger(config("trackio", "wandb"), tmp_path, 10) as logger:
        logger.log(STEP, 1)
    assert len((tmp_path / "metrics.jsonl").read_text().splitlines()) == 1
    with pytest.raises(ConfigError, match="'wanb'; did you mean wandb"):
        checks.check_loggers(config("wanb"))


def test_tensorboard_writes_event_files(tmp_path: Path, install: Any) -> None:
    pytest.importorskip("tensorboard", reason="pip install tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    with Logger(config("tensorboard"), tmp_path, 10) as logger:
        logger.log(STEP, 1)
        logger.generations([ROW], 1)
    events = EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    (event,) = events.Scalars("critic/score/mean")
    assert (event.step, event.value) == (1, 0.5)


def test_infinities_are_null_in_json(tmp_path: Path) -> None:
    with Logger(config("jsonl"), tmp_path, 10) as logger:
        logger.log({"training/global_step": 1.0, "x": float("inf")}, 1)
    assert json.loads((tmp_path / "metrics.jsonl").read_text())["x"] is None


def shown(terminal: bool) -> str:
    file = io.StringIO()
    sink = ConsoleSink(Console(file=file, force_terminal=terminal, width=100), 10)
    sink.log({**STEP, "reward/failed/timeout": 2.0, "val-core/gsm8k/acc/mean@1": 0.25}, 1)
    sink.generations([ROW], 1)
    sink.close()
    return file.getvalue()


def test_the_console_has_a_line_a_step_where_there_is_no_terminal() -> None:
    said = shown(terminal=False)
    assert "step 1/10  score 0.5  kl -" in said
    assert "reward/failed/timeout = 2" in said
    assert "val-core/gsm8k/acc/mean@1" in said
    assert "\x1b" not in said


def test_the_console_has_a_live_table_on_a_terminal() -> None:
    said = shown(terminal=True)
    assert "tokens/s" in said
    assert "1/10" in said
    assert "\x1b[31mred" not in said, "a response cannot steer the terminal"


@pytest.mark.parametrize("terminal", [False, True])
def test_a_step_that_trains_only_the_critic_is_marked(terminal: bool) -> None:
    file = io.StringIO()
    sink = ConsoleSink(Console(file=file, force_terminal=terminal, width=120), 10)
    sink.log({**STEP, CRITIC_ONLY: 1.0}, 1)
    sink.close()
    assert "critic only" in file.getvalue() and "critic only" not in shown(terminal)


def test_control_characters_are_shown_as_signs() -> None:
    assert printable("a\x1b[0m\nb\u202e") == "a\\x1b[0m\nb\\x202e"


def test_an_inactive_logger_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Logger(config("console", "jsonl"), tmp_path, 10, active=False) as logger:
        logger.log(STEP, 1)
        logger.say("x")
        logger.warn("y")
    assert not list(tmp_path.iterdir())
    assert capsys.readouterr().out == ""
