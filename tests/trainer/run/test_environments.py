"""Trainings on environments of other projects: the servers are started by the test, the rewards are theirs."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rewardkit.trainer.distributed import World
from tests.agents.environments.made_verifiers import write_verifiers
from tests.agents.environments.served import game_server
from tests.extras.test_harbor import write_task
from tests.trainer.test_train import run_here

pytestmark = pytest.mark.slow


def write_rows(folder: Path, n: int = 4) -> Path:
    rows = [
        {
            "data_source": "env/digits",
            "prompt": [{"role": "user", "content": "1+2"}],
            "agent_name": "env",
            "reward_model": {"style": "rule", "ground_truth": "-"},
            "extra_info": {"split": "train", "index": i % 10},
        }
        for i in range(n)
    ]
    pq.write_table(pa.Table.from_pylist(rows), folder / "rows.parquet")
    return folder / "rows.parquet"


def train_on(world: World, folder: Path, model: Path, env: str, steps: int) -> list[dict[str, Any]]:
    settings = [
        "data.train_batch_size=4",
        "data.max_response_length=12",
        "data.max_prompt_length=120",
        "actor_rollout_ref.rollout.multi_turn.max_turn_tokens=3",
        "actor_rollout_ref.rollout.multi_turn.max_assistant_turns=2",
        f"actor_rollout_ref.rollout.agent.env='{env}'",
        "trainer.val_before_train=false",
        "trainer.test_freq=-1",
        f"trainer.total_training_steps={steps}",
        "trainer.total_epochs=99",
    ]
    return run_here(world, write_rows(folder), model, folder / "out", *settings)


def test_each_kind_of_environment_is_trained_on(
    world: World, model_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_task(tmp_path / "greeting")
    write_verifiers(tmp_path / "packages")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path / 'packages'}:{os.environ.get('PYTHONPATH', '')}")
    with game_server() as server:
        server.game.plain = True  # an untrained model calls no tools
        specs = {
            "ors": (f"ors:{server.url}?without_reward=0", 10),
            "openenv": (f"openenv:{server.url}?without_reward=0", 2),
            "harbor": (f"harbor:{tmp_path / 'greeting'}", 2),
            "verifiers": ("verifiers:sums:Sums", 2),
        }
        for kind, (spec, steps) in specs.items():
            (tmp_path / kind).mkdir()
            log = train_on(world, tmp_path / kind, model_folder, spec, steps)
            assert [one["training/global_step"] for one in log] == list(range(1, steps + 1)), kind
            assert all(math.isfinite(one["critic/score/mean"]) for one in log), kind
            assert all(one["agent/ended/error"] == 0.0 for one in log), kind
    assert len(server.game.opened) == server.game.closed > 0
