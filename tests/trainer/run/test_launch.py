"""Processes that die take the run down with the reason, are started again, and outlive no launcher."""

from __future__ import annotations

import importlib.util
import json
import os
import runpy
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from rewardkit.errors import ConfigError
from rewardkit.trainer.config.root import Config, TrainerConfig
from rewardkit.trainer.run import launch
from rewardkit.trainer.run import main as main_module
from tests.living import alive, descendants, until
from tests.ports import own_port
from tests.trainer.running import Program

KILLS_ITS_PROCESS_ONCE = """
import os, pathlib, signal, psutil

def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    once, saved = (pathlib.Path(__file__).parent / name for name in ("killed", "out/global_step_1"))
    if saved.exists() and not once.exists():
        once.touch()
        trainer = next(p for p in psutil.Process().parents() if "tests.trainer.fork_server" in p.cmdline())
        trainer.kill()
    return 0.5
"""


def start(
    parquet: Path,
    model: Path,
    out: Path,
    *more: str,
    module: str = "tests.trainer.forked_launch",
    before: Sequence[str] = (),
) -> Program:
    return Program(
        module,
        *before,
        *("--config", "tiny-cpu"),
        f"data.train_files={parquet}",
        "data.train_batch_size=4",
        "data.max_response_length=4",
        f"actor_rollout_ref.model.path={model}",
        "actor_rollout_ref.actor.ppo_mini_batch_size=4",
        "trainer.n_gpus_per_node=2",
        "trainer.total_training_steps=2",
        "trainer.save_freq=1",
        "trainer.val_before_train=false",
        "trainer.test_freq=-1",
        "trainer.logger=[jsonl]",
        f"trainer.default_local_dir={out}",
        *more,
    )


def steps(out: Path) -> list[float]:
    log = out / "metrics.jsonl"
    lines = log.read_text().splitlines() if log.exists() else []
    return [json.loads(line)["training/global_step"] for line in lines]


@pytest.mark.slow
def test_a_process_that_dies_is_named_and_the_run_restarts_from_its_checkpoint(
    parquet: Path, model_folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "mine.py").write_text(KILLS_ITS_PROCESS_ONCE)
    reward = f"custom_reward_function.path={tmp_path}/mine.py"
    process = start(parquet, model_folder, tmp_path / "out", reward, "trainer.max_restarts=1")
    _, err = process.communicate(timeout=800)
    assert process.poll() == 0, err
    assert "was killed by SIGKILL" in err
    assert "restart 1 of 1" in err
    assert steps(tmp_path / "out") == [1, 2]


@pytest.mark.slow
def test_a_killed_launcher_leaves_no_process_behind(
    parquet: Path, model_folder: Path, tmp_path: Path
) -> None:
    process = start(
        parquet, model_folder, tmp_path, "trainer.total_training_steps=100000", "trainer.save_freq=-1"
    )
    until(lambda: steps(tmp_path), 600)
    ranks = descendants(process.pid)
    commands = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in ranks if alive(pid)]
    assert sum(b"tests.trainer.fork_server" in command for command in commands) == 2
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=60)
    until(lambda: not any(alive(pid) for pid in ranks))


@pytest.mark.slow
def test_two_machines_go_on_from_the_checkpoint_when_a_process_of_one_was_killed(
    parquet: Path, model_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two of torchrun's agents, as docs/launch.md starts them, that meet on the loopback."""
    monkeypatch.setenv("TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "1")
    (tmp_path / "mine.py").write_text(KILLS_ITS_PROCESS_ONCE)
    meeting = ["--rdzv-backend", "c10d", "--rdzv-endpoint", f"127.0.0.1:{own_port()}", "--rdzv-id", "run"]
    agent = [
        *(
            "--agent",
            "--nnodes",
            "2",
            "--nproc-per-node",
            "1",
            "--max-restarts",
            "2",
            "--local-addr",
            "127.0.0.1",
        ),
        *(*meeting, "-m", "rewardkit.trainer.run.main"),
    ]
    more = [
        f"custom_reward_function.path={tmp_path}/mine.py",
        "trainer.nnodes=2",
        "trainer.n_gpus_per_node=1",
    ]
    agents = [start(parquet, model_folder, tmp_path / "out", *more, before=agent) for _ in range(2)]
    ends = [one.communicate(timeout=800) for one in agents]
    assert [one.poll() for one in agents] == [0, 0], ends
    assert (tmp_path / "killed").exists()
    assert steps(tmp_path / "out") == [1, 2]


def test_processes_that_do_not_come_are_named() -> None:
    given = {"RANK": "0", "WORLD_SIZE": "3", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(own_port())}
    code = (
        "import datetime\nfrom rewardkit.trainer import distributed\n"
        "distributed.JOIN_TIMEOUT = datetime.timedelta(seconds=1)\n"
        "with distributed.open_world('cpu'):\n    pass\n"
    )
    alone = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | given, capture_output=True, text=True
    )
    assert "(rank 1, 2) after 1 s" in alone.stderr


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs ray: pip install ray")
def test_ray_actors_are_the_same_processes(parquet: Path, model_folder: Path, tmp_path: Path) -> None:
    process = start(
        parquet, model_folder, tmp_path, "trainer.launcher=ray", module="rewardkit.trainer.run.main"
    )
    _, err = process.communicate(timeout=800)
    assert process.poll() == 0, err
    assert steps(tmp_path) == [1, 2]


def test_restarts_are_for_processes_that_died_not_for_wrong_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REWARDKIT_RESTARTED", "")  # so that what the attempts set is undone, too
    monkeypatch.delenv("REWARDKIT_RESTARTED")
    seen: list[str | None] = []

    def attempts(*outcomes: int | Exception) -> int:
        left = list(outcomes)

        def attempt(config: Config, recipe: str | None, overrides: object, stage: str) -> int:
            seen.append(os.environ.get("REWARDKIT_RESTARTED"))
            outcome = left.pop(0)
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

        monkeypatch.setattr(launch, "_with_torchrun", attempt)
        code = launch.launch(Config(trainer=TrainerConfig(max_restarts=2)), None, [])
        assert left == []
        return code

    assert attempts(launch.ProcessDied("process 1 was killed"), launch.CRASHED, 0) == 0
    assert seen == [None, "1", "2"]
    assert attempts(2) == 2, "a wrong setting will not be right the next time"
    assert attempts(launch.INTERRUPTED) == launch.INTERRUPTED
    with pytest.raises(launch.ProcessDied, match="the third"):
        attempts(*(launch.ProcessDied(f"the {n}") for n in ("first", "second", "third")))


def test_an_interrupted_launcher_says_so_whatever_its_processes_did_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Failure:
        exitcode = -signal.SIGINT

    class Killed(launch.ChildFailedError):
        def __init__(self) -> None:
            self.failures = {0: Failure()}  # type: ignore[dict-item]

        def get_first_failure(self) -> Any:
            return 0, Failure()

    for raised in (launch.SignalException("told to end", signal.SIGTERM), Killed()):

        def interrupted(*words: str, raised: Exception = raised) -> None:
            raise raised

        monkeypatch.setattr(launch, "elastic_launch", lambda *_, start=interrupted: start)
        with pytest.raises(KeyboardInterrupt):
            launch.launch(Config(trainer=TrainerConfig(n_gpus_per_node=2)), None, [])


def test_a_process_of_the_launcher_leaves_ctrl_c_to_it_before_it_imports_anything(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found: list[Any] = []
    monkeypatch.setattr(main_module, "main", lambda: found.append(signal.getsignal(signal.SIGINT)))
    before = signal.getsignal(signal.SIGINT)
    try:
        runpy.run_module("rewardkit.trainer.run.rank", run_name="__main__")
    finally:
        signal.signal(signal.SIGINT, before)
    assert found == [signal.SIG_DFL]


def test_several_machines_are_told_how_to_start() -> None:
    config = Config(trainer=TrainerConfig(nnodes=2, n_gpus_per_node=8))
    with pytest.raises(
        ConfigError,
        match=r"TCP_STORE=1 torchrun --nnodes 2 --nproc-per-node 8 .*docs/launch\.md.*launcher=ray",
    ):
        launch.launch(config, None, [])
