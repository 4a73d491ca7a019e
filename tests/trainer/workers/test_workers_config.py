"""What the workers cannot do is refused before a model is loaded."""

from __future__ import annotations

from pathlib import Path

import pytest

from rewardkit.errors import ConfigError
from rewardkit.trainer.config.load import load_config
from rewardkit.trainer.run import checks, preflight, rules

ACTOR = "actor_rollout_ref.actor"
SHARED = f"{ACTOR}.ulysses_sequence_parallel_size"
NEEDED = [
    "data.train_files=x",
    "actor_rollout_ref.model.path=y",
    "actor_rollout_ref.rollout.name=hf",
    "trainer.n_gpus_per_node=4",
    "trainer.val_before_train=false",
]


@pytest.mark.parametrize(
    ("override", "message"),
    [
        (f"{ACTOR}.strategy=megatron", f"{ACTOR}.strategy .*fsdp2, fsdp, found 'megatron'"),
        (f"{ACTOR}.fsdp_config.fsdp_size=3", "must divide the 4 processes"),
        ("actor_rollout_ref.model.lora_rank=8", "pip install peft"),
        ("actor_rollout_ref.model.use_liger=true", "pip install liger-kernel"),
    ],
)
def test_a_worker_s_setting_is_refused_before_a_model_is_loaded(
    override: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rules, "find_spec", lambda _: None)
    with pytest.raises(ConfigError, match=message):
        check_settings(override)


@pytest.mark.slow
@pytest.mark.parametrize("key", ["critic.forward", "actor_rollout_ref.ref.log_prob"])
def test_a_token_budget_must_hold_one_sequence(key: str) -> None:
    section = key.rpartition(".")[0]
    dynamic = "log_prob_use_dynamic_bsz" if section.endswith("ref") else "use_dynamic_bsz"
    small = f"{key}_max_token_len_per_gpu=1023"
    with pytest.raises(ConfigError, match=rf"{key}_max_token_len_per_gpu=1023 .*too small"):
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


def check_settings(*overrides: str) -> list[str]:
    """The checks that need no files."""
    config = load_config(None, [*NEEDED, *overrides])
    return checks.run_checks(checks.SETTINGS, config)


def test_what_is_done_otherwise_with_the_same_result_is_said() -> None:
    assert check_settings() == []
    (line,) = check_settings(f"{ACTOR}.strategy=fsdp")
    assert "uses FSDP2" in line


def test_of_fewer_processes_than_asked_as_many_share_a_row_as_divide_both() -> None:
    assert check_settings(f"{SHARED}=2") == []
    lines = check_settings(f"{SHARED}=8")
    assert "actor_rollout_ref.ref.ulysses_sequence_parallel_size=8: 4 of 4 processes" in lines[1]
    (line,) = check_settings("critic.ulysses_sequence_parallel_size=2", "trainer.n_gpus_per_node=1")
    assert line.startswith("critic.ulysses_sequence_parallel_size=2: 1 of 1 process ")


def test_who_shares_rows_counts_as_one_for_a_mini_batch_and_a_token_limit() -> None:
    three = [f"{ACTOR}.ppo_mini_batch_size=2", "data.train_batch_size=8", "critic.ppo_mini_batch_size=8"]
    with pytest.raises(ConfigError, match=r"ppo_mini_batch_size.* the 4 processes"):
        check_settings(*three)
    check_settings(*three, f"{SHARED}=2")
    small = [f"{ACTOR}.use_dynamic_bsz=true", f"{ACTOR}.ppo_max_token_len_per_gpu=512"]
    with pytest.raises(ConfigError, match=r"ppo_max_token_len_per_gpu=512 .*too small"):
        check_settings(*small)
    check_settings(*small, f"{SHARED}=2")
    tiny = f"{ACTOR}.ppo_max_token_len_per_gpu=256"
    with pytest.raises(ConfigError, match=rf"{tiny} .* 2 processes "):
        check_settings(*small, tiny, f"{SHARED}=2")


def test_a_model_whose_sequences_cannot_be_shared_is_refused_by_name(tmp_path: Path) -> None:
    from transformers import Gemma2Config, LlamaConfig, Phi3Config

    def check(*overrides: str) -> None:
        config = load_config(
            None, [*NEEDED, f"actor_rollout_ref.model.path={tmp_path}", f"{SHARED}=2", *overrides]
        )
        preflight._check_shared_models(config)

    LlamaConfig().save_pretrained(tmp_path)
    check()
    Gemma2Config().save_pretrained(tmp_path)
    with pytest.raises(ConfigError, match=r"=2 does not work with gemma2 .*attn_logit_softcapping"):
        check()
    check(f"{SHARED}=1")
    factors = [1.0] * 48
    rope = {"rope_type": "longrope", "rope_theta": 1e4, "short_factor": factors, "long_factor": factors}
    Phi3Config(rope_parameters=rope).save_pretrained(tmp_path)
    with pytest.raises(ConfigError, match=r"phi3 .*longrope"):
        check()
    with pytest.raises(ConfigError, match="set use_remove_padding=true"):
        check_settings(f"{SHARED}=2", "actor_rollout_ref.model.use_remove_padding=false")


def test_an_adapter_needs_no_second_copy_of_the_model(
    parquet: Path, model_folder: Path, tmp_path: Path
) -> None:
    pytest.importorskip("peft")
    from rewardkit.trainer.distributed import open_world
    from rewardkit.trainer.run.build import open_run

    config = load_config(
        "tiny-cpu",
        [
            f"data.train_files={parquet}",
            "data.train_batch_size=8",
            f"actor_rollout_ref.model.path={model_folder}",
            "actor_rollout_ref.model.lora_rank=4",
            "trainer.logger=[jsonl]",
            f"trainer.default_local_dir={tmp_path}",
        ],
    )
    with open_world("cpu") as world, open_run(config, world) as run:
        assert run.reference is not None
        assert run.reference.model is run.actor.model
