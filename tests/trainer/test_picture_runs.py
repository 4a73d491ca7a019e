"""Runs with pictures: in two processes, resumed, with an adapter, with a critic and on vLLM."""

# ruff: noqa: E402  (torch is optional: nothing that needs it is imported before the skip)

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

torch = pytest.importorskip("torch")

from safetensors.torch import load_file

from rewardkit.datasets_prep import DATASETS
from rewardkit.datasets_prep.common.settings import PrepSettings
from tests.conftest import REFERENCE_DATA
from tests.datasets_prep.raw_forms import FORMS, GEO3K, write
from tests.tiny_vision import COLOURS, picture, prompts_with_pictures
from tests.trainer.forked_runs import run_all

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1_800)]

REWARD = """
def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    return sum(map(ord, solution_str)) % 7 / 7
"""
KINDS = ("idefics3", "qwen2_vl")


def overrides(folder: Path, model: Path) -> tuple[list[str], list[str]]:
    """Return the overrides of GAE and of SFT. The second of two processes has only rows without pictures."""
    table = prompts_with_pictures()
    text = table.slice(2, 1)
    rows = pa.concat_tables([part for i in (0, 1, 3, 4) for part in (table.slice(i, 1), text)])
    pq.write_table(rows.append_column("response", rows["ground_truth"]), folder / "rows.parquet")
    (folder / "reward.py").write_text(REWARD)
    both = [
        f"data.train_files={folder}/rows.parquet",
        "data.train_batch_size=4",
        "data.shuffle=false",
        "trainer.total_training_steps=2",
        "trainer.save_freq=2",
        "trainer.logger=[jsonl]",
    ]
    policy = "actor_rollout_ref"
    gae = [
        f"data.val_files={folder}/rows.parquet",
        "data.max_prompt_length=48",
        "data.max_response_length=3",
        f"custom_reward_function.path={folder}/reward.py",
        "algorithm.adv_estimator=gae",
        f"critic.model.path={model}",
        "critic.ppo_mini_batch_size=2",
        f"{policy}.model.path={model}",
        f"{policy}.actor.ppo_mini_batch_size=2",
        f"{policy}.actor.use_kl_loss=true",
        f"{policy}.rollout.name=hf",
        f"{policy}.rollout.n=4",
        "trainer.test_freq=-1",
        "trainer.val_before_train=false",
        "trainer.critic_warmup=0",
    ]
    return [*both, *gae], [*both, f"model.path={model}", "optim.lr=2e-3", "trainer.device=cpu"]


@pytest.fixture(scope="module", params=KINDS)
def runs(
    request: pytest.FixtureRequest, vision_models: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """Return the folder of the runs of one model type."""
    folder = tmp_path_factory.mktemp("runs")
    ppo, sft = overrides(folder, vision_models[request.param])
    lora = "actor_rollout_ref.model.lora_rank=4"

    def run(name: str, given: list[str], size: int, *more: str, stage: str = "ppo") -> tuple[Any, ...]:
        at = [f"trainer.default_local_dir={folder}/{name}", f"trainer.n_gpus_per_node={size}"]
        return size, [*given, *at, *more], stage

    planned = {"ppo": run("ppo", ppo, 1, lora), "ppo of two": run("ppo of two", ppo, 2, lora)}
    if request.param == "idefics3":  # the only type that vLLM runs on a CPU without torchvision
        grpo = [*ppo, "algorithm.adv_estimator=grpo", "actor_rollout_ref.rollout.gpu_memory_utilization=0.3"]
        served = "actor_rollout_ref.rollout.name=vllm_server", "trainer.mode=one_step_off"
        begun = "trainer.save_freq=1", "trainer.total_training_steps=1"
        planned |= {
            "sft": run("sft", sft, 1, stage="sft"),
            "sft of two": run("sft of two", sft, 2, stage="sft"),
            "whole": run("whole", ppo, 1),
            "begun": run("resumed", ppo, 1, *begun),
            "resumed": run("resumed", ppo, 1),
            "vllm": run("vllm", grpo, 1, "actor_rollout_ref.rollout.name=vllm"),
            "served": run("served", grpo, 1, *served),
        }
    run_all(planned, folder)
    return folder


def log(run: Path) -> list[dict[str, float]]:
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [{k: v for k, v in line.items() if not k.startswith(("timing", "perf"))} for line in lines]


def weights(run: Path) -> dict[str, Any]:
    found: dict[str, Any] = load_file(run / "global_step_2/actor/huggingface/model.safetensors")
    return found


def test_two_processes_compute_what_one_computes(runs: Path) -> None:
    for stage, names in {
        "ppo": ("actor/grad_norm", "actor/pg_loss", "critic/grad_norm", "critic/vf_loss"),
        "sft": ("train/loss", "train/grad_norm"),
    }.items():
        if not (runs / stage).exists():
            continue
        for ours, theirs in zip(log(runs / f"{stage} of two"), log(runs / stage), strict=True):
            for name in names:
                assert ours[name] == pytest.approx(theirs[name], rel=1e-4, abs=1e-6), name
        assert max(line[names[0]] for line in log(runs / stage)) > 0.01


def test_a_resumed_run_equals_a_whole_one_to_the_bit(runs: Path) -> None:
    if not (runs / "whole").exists():
        pytest.skip("one model type is enough")
    whole, resumed = weights(runs / "whole"), weights(runs / "resumed")
    assert whole
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)
    assert log(runs / "resumed")[-1] == log(runs / "whole")[-1]


def test_an_adapter_is_only_in_the_language_part(runs: Path) -> None:
    (file,) = runs.glob("ppo/global_step_2/actor/**/adapter_model.safetensors")
    names = load_file(file)
    assert names
    assert all(".text_model." in name or ".language_model." in name for name in names)


def test_engines_agree_with_the_policy_after_each_sync(runs: Path) -> None:
    for run in ("ppo", "ppo of two", "vllm", "served"):
        if (runs / run).exists():
            assert [line["training/rollout_actor_diff_max"] < 1e-4 for line in log(runs / run)] == [True] * 2


SCRIPTS = REFERENCE_DATA / "verl_scripts.jsonl"
VERLS = ("run_qwen2_5_vl-7b.sh", "run_qwen2_5_vl-7b_freeze_vision.sh", "run_qwen2_5_vl-7b_lora.sh")
SMALLER = (
    "data.train_batch_size=4",
    "data.max_prompt_length=200",
    "data.max_response_length=4",
    "actor_rollout_ref.actor.ppo_mini_batch_size=2",
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1",
    "actor_rollout_ref.rollout.tensor_model_parallel_size=1",
    "actor_rollout_ref.rollout.name=hf",
    "trainer.logger=[jsonl]",
    "trainer.n_gpus_per_node=1",
    "trainer.save_freq=-1",
    "trainer.test_freq=-1",
    "trainer.total_training_steps=2",
)
"""What makes a command of verl fit a tiny model and a CPU."""


@pytest.mark.skipif(not SCRIPTS.exists(), reason="the words of verl's scripts are not on this machine")
def test_verls_commands_train_on_prepared_geo3k(vision_models: dict[str, Path], tmp_path: Path) -> None:
    problems = [
        {**GEO3K, "images": [{"bytes": picture(colour, (32 + 16 * i, 32)), "path": None}]}
        for i, colour in enumerate(COLOURS)
    ]
    form = dict.fromkeys(FORMS["geo3k"][0], problems)
    DATASETS["geo3k"].load()(tmp_path / "data", PrepSettings(raw=write(form, tmp_path / "raw")))
    found = (json.loads(line) for line in SCRIPTS.read_text().splitlines())
    words = {Path(one["script"]).name: one["words"] for one in found}
    runs = {}
    for name in VERLS:
        given = [word.replace("$HOME/data/geo3k", str(tmp_path / "data")) for word in words[name]]
        own = [
            f"actor_rollout_ref.model.path={vision_models['qwen2_5_vl']}",
            f"trainer.default_local_dir={tmp_path}/{name}",
        ]
        runs[name] = (1, [*given, *SMALLER, *own])
    run_all(runs, tmp_path)
    for name in VERLS:
        steps = [
            line["training/rollout_actor_diff_max"] for line in log(tmp_path / name) if "actor/lr" in line
        ]
        assert len(steps) == 2
        assert max(steps) < 1e-4
