"""The trainer on one CUDA device: both engines in bfloat16, packing, resume, offloading. Skipped without one."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("needs a CUDA device", allow_module_level=True)

from rewardkit.demo.model import make_model, make_tokenizer, save
from rewardkit.trainer.config.load import load_config
from rewardkit.trainer.config.workers import FsdpConfig, ModelConfig
from rewardkit.trainer.distributed import World, open_world
from rewardkit.trainer.loop import train
from rewardkit.trainer.models.load import outline_causal_lm
from rewardkit.trainer.models.prepare import prepare
from rewardkit.trainer.models.sharding import shard
from rewardkit.trainer.run.build import open_run
from tests.trainer.conftest import QUESTIONS, write_parquet

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with open_world("cuda") as opened:
        yield opened


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model, made here: nothing is downloaded."""
    tokenizer = make_tokenizer([*QUESTIONS, "1+2=3\n#### 3"], vocab_size=320)
    path = tmp_path_factory.mktemp("tiny") / "model"
    save(make_model(tokenizer, seed=0), tokenizer, path)
    return path


def settings(engine: str, folder: Path, out: Path, *more: str) -> Any:
    words = [
        f"data.train_files={write_parquet(out.parent)}",
        "data.train_batch_size=8",
        "data.max_response_length=8",
        f"actor_rollout_ref.model.path={folder}",
        f"actor_rollout_ref.rollout.name={engine}",
        "actor_rollout_ref.rollout.gpu_memory_utilization=0.2",
        "actor_rollout_ref.rollout.dtype=bfloat16",
        "actor_rollout_ref.actor.fsdp_config.dtype=bfloat16",
        "actor_rollout_ref.actor.ppo_mini_batch_size=4",
        "actor_rollout_ref.actor.entropy_coeff=0.1",
        "trainer.device=cuda",
        "trainer.total_training_steps=4",
        "trainer.critic_warmup=0",
        "trainer.test_freq=-1",
        "trainer.val_before_train=false",
        "trainer.logger=[jsonl]",
        f"trainer.default_local_dir={out}",
    ]
    return load_config("tiny-cpu", [*words, *more])


def run_and_read(config: Any, world: World) -> list[dict[str, float]]:
    with open_run(config, world) as run:
        train(run)
    log = Path(config.trainer.default_local_dir) / "metrics.jsonl"
    return [json.loads(line) for line in log.read_text().splitlines()]


LORA = ["actor_rollout_ref.model.lora_rank=4"]
OFFLOAD = [
    "actor_rollout_ref.actor.fsdp_config.param_offload=true",
    "actor_rollout_ref.ref.fsdp_config.param_offload=true",
]


@pytest.mark.parametrize("more", [[], LORA, OFFLOAD], ids=["plain", "lora", "offload"])
@pytest.mark.parametrize("engine", ["hf", "vllm"])
def test_engine_and_policy_agree_in_bfloat16_over_sleep_and_wake(
    engine: str, more: list[str], folder: Path, world: World, tmp_path: Path
) -> None:
    if engine == "vllm" and find_spec("vllm") is None:
        pytest.skip("vLLM is not installed: pip install 'rewardkit[vllm]'")
    steps = run_and_read(settings(engine, folder, tmp_path / "out", *more), world)
    assert len(steps) == 4
    # Every sync is into an engine that gave its memory back; a stale weight would have ended the run.
    assert all(metrics["training/rollout_actor_kl"] < 1e-2 for metrics in steps)
    assert all(metrics["perf/max_memory_allocated_gb"] > 0 for metrics in steps)


def test_a_resumed_run_goes_on_as_if_it_had_never_stopped(folder: Path, world: World, tmp_path: Path) -> None:
    whole = run_and_read(settings("hf", folder, tmp_path / "whole"), world)
    halves = [
        settings("hf", folder, tmp_path / "halves", f"trainer.total_training_steps={n}") for n in (2, 4)
    ]
    run_and_read(halves[0], world)
    resumed = run_and_read(halves[1], world)
    for name in ("actor/pg_loss", "actor/grad_norm", "critic/vf_loss", "actor/entropy"):
        assert resumed[-1][name] == pytest.approx(whole[-1][name], rel=1e-3, abs=1e-6), name


def test_packed_sequences_score_as_they_do_one_by_one(folder: Path, world: World) -> None:
    options, fsdp = ModelConfig(str(folder)), FsdpConfig("float32")
    model, places = outline_causal_lm(str(folder), torch.float32, options)
    policy: Any = shard(prepare(model, options, world.device, fsdp), world, fsdp, places)
    sequences = [[5, 6, 7, 8], [9, 10, 11]]

    def scores(rows: list[list[int]], positions: list[list[int]], places: list[int]) -> Any:
        ids, where, at = (torch.tensor(values, device=world.device) for values in (rows, positions, places))
        with torch.no_grad():
            return policy(ids, where, at, ids.flatten()[at + 1], 1.0, "no")[0]

    alone = [scores([s], [list(range(len(s)))], list(range(len(s) - 1))) for s in sequences]
    packed = scores([[*sequences[0], *sequences[1]]], [[0, 1, 2, 3, 0, 1, 2]], [0, 1, 2, 4, 5])
    torch.testing.assert_close(packed, torch.cat(alone), atol=2e-3, rtol=0)  # float32 matrices may be TF32
