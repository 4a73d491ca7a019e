"""What the workers cannot do is refused before a model is loaded."""

from __future__ import annotations

from pathlib import Path

import pytest

from rewardkit.errors import ConfigError
from rewardkit.trainer import preflight
from rewardkit.trainer.settings import load_config

ACTOR = "actor_rollout_ref.actor"
NEEDED = ["data.train_files=x", "actor_rollout_ref.model.path=y", "trainer.n_gpus_per_node=4"]


@pytest.mark.parametrize(
    ("override", "message"),
    [
        (f"{ACTOR}.strategy=megatron", f"{ACTOR}.strategy must be one of fsdp2, fsdp, found 'megatron'"),
        (f"{ACTOR}.ulysses_sequence_parallel_size=2", "sequences are not split over processes here"),
        (f"{ACTOR}.fsdp_config.fsdp_size=3", "must divide the 4 processes"),
        (f"{ACTOR}.fsdp_config.model_dtype=fp8", "model_dtype must be one of float32"),
        (f"{ACTOR}.optim.warmup_style=linear", "warmup_style must be one of None, constant, cosine"),
        ("actor_rollout_ref.model.lora_rank=8", "lora_rank is set, but peft is not installed"),
        ("actor_rollout_ref.model.use_liger=true", "use_liger is set, but liger-kernel is not installed"),
        ("critic.model.use_liger=true", "critic.model.use_liger"),
    ],
)
def test_a_worker_s_setting_is_refused_in_preflight(
    override: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preflight, "find_spec", lambda _: None)
    with pytest.raises(ConfigError, match=message):
        check_settings(override)


@pytest.mark.parametrize(
    "key", [f"{ACTOR}.ppo", "critic.ppo", "critic.forward", "actor_rollout_ref.ref.log_prob"]
)
def test_a_token_budget_must_hold_one_sequence(key: str) -> None:
    section = key.rpartition(".")[0]
    dynamic = "log_prob_use_dynamic_bsz" if section.endswith("ref") else "use_dynamic_bsz"
    small = f"{key}_max_token_len_per_gpu=1023"
    with pytest.raises(ConfigError, match="does not hold one sequence"):
        check_settings(f"{section}.{dynamic}=true", small)
    check_settings(f"{section}.{dynamic}=true", small.replace("1023", "1024"))
    check_settings(small)


def test_the_reference_and_the_critic_follow_the_actor_s_types_but_not_its_offloading() -> None:
    changed = ["dtype=float16", "fsdp_size=2", "mixed_precision.reduce_dtype=bf16", "param_offload=true"]
    config = load_config(None, [*NEEDED, *(f"{ACTOR}.fsdp_config.{c}" for c in changed)])
    for follower in (config.actor_rollout_ref.ref.fsdp_config, config.critic.fsdp_config):
        assert (follower.dtype, follower.fsdp_size, follower.param_offload) == ("float16", 2, False)
        assert follower.mixed_precision.reduce_dtype == "bf16"


def test_the_model_s_own_config_may_be_changed() -> None:
    config = load_config(None, [*NEEDED, "actor_rollout_ref.model.override_config.rope_theta=5"])
    assert config.actor_rollout_ref.model.override_config == {"rope_theta": 5}


def check_settings(*overrides: str) -> None:
    """The part of preflight that needs no files."""
    config = load_config(None, [*NEEDED, *overrides])
    preflight._check_choices(config)
    preflight._check_workers(config)


def test_fsdp_is_said_to_be_fsdp2(
    parquet: Path, model_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("peft")
    from rewardkit.trainer.distributed import open_world
    from rewardkit.trainer.setup import open_parts

    config = load_config(
        "tiny-cpu",
        [
            f"data.train_files={parquet}",
            "data.train_batch_size=8",
            f"actor_rollout_ref.model.path={model_folder}",
            f"{ACTOR}.strategy=fsdp",
            "actor_rollout_ref.model.lora_rank=4",
            "trainer.logger=[jsonl]",
            f"trainer.default_local_dir={tmp_path}",
        ],
    )
    with open_world("cpu") as world, open_parts(config, world) as parts:
        assert "sharding is done by FSDP2" in capsys.readouterr().out
        assert parts.reference is not None
        assert parts.reference.model is parts.actor.model, "no second copy beside an adapter"
