"""verl's settings that we do not have: other names for ours, those that hold here anyway, those taken
with a line on what happens instead, and why there are none of the others.

`translate.py` asks here about a key that it does not know. What we do have is in `root.py` and `workers.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

ANY = ()
"""Every value: the setting is about speed or bookkeeping of verl's own, and no result depends on it."""


@dataclass(frozen=True, slots=True)
class Alias:
    """Another name of one of our settings."""

    key: str
    """Ours; a `*` in it stands for what the `*` of the other name stood for."""
    over_processes: bool = False
    """The value is counted over all processes, ours in each."""


ALIASES = {
    "critic.model.fsdp_config.*": Alias("critic.fsdp_config.*"),
    "reward_model.reward_kwargs.overlong_buffer_cfg.*": Alias("reward_model.overlong_buffer.*"),
    "reward.reward_kwargs.overlong_buffer_cfg.*": Alias("reward_model.overlong_buffer.*"),
    "reward.custom_reward_function.*": Alias("custom_reward_function.*"),
    "reward_model.forward_max_token_len_per_gpu": Alias("reward_model.batch_tokens"),
    "reward.reward_model.enable": Alias("reward_model.enable"),
    "reward.reward_model.model_path": Alias("reward_model.model.path"),
    "*.ppo_micro_batch_size": Alias("*.ppo_micro_batch_size_per_gpu", over_processes=True),
    "*.log_prob_micro_batch_size": Alias("*.log_prob_micro_batch_size_per_gpu", over_processes=True),
    "critic.forward_micro_batch_size": Alias("critic.forward_micro_batch_size_per_gpu", over_processes=True),
}
"""Glob over verl's keys, with one `*` at most -> our name."""

VALUES: dict[str, dict[Any, Any]] = {
    "actor_rollout_ref.rollout.load_format": {
        "safetensors": "auto",
        "hf": "auto",
        "dtensor": "auto",
        "dummy_hf": "dummy",
        "dummy_dtensor": "dummy",
    },
}
"""Key of ours -> other names for its values."""

HOLDS: dict[str, tuple[tuple[Any, ...], str]] = {
    "actor_rollout_ref.hybrid_engine": ((True,), "training and rollout always share their processes"),
    "actor_rollout_ref.rollout.multi_turn.enable": (ANY, "agent_name says which rows have several turns"),
    "actor_rollout_ref.rollout.mode": (("sync", "async"), "each process has one engine of its own"),
    "actor_rollout_ref.rollout.over_sample_rate": ((0, 0.0), "every prompt is answered to the end"),
    "data.dataloader_num_workers": (ANY, ""),
    "data.filter_overlong_prompts_workers": (ANY, ""),
    "data.return_full_prompt": ((False,), "responses are scored with the prompt's messages"),
    "data.return_raw_chat": ((True, False), "the prompt's messages are always kept"),
    "data.return_raw_input_ids": ((False,), "the policy's tokens are the only ones"),
    "data.reward_fn_key": (("data_source",), "the column is always data_source"),
    "data.val_batch_size": (ANY, ""),
    "data.validation_shuffle": (ANY, ""),
    "reward_model.launch_reward_fn_async": (ANY, ""),
    "reward_model.reward_manager": (("naive", "dapo"), "the registry of rewards takes their place"),
    "reward_model.use_reward_loop": (ANY, ""),
    "trainer.esi_redundant_time": ((0,), "a checkpoint is saved every trainer.save_freq steps"),
    "trainer.ray_wait_register_center_timeout": (ANY, ""),
    "trainer.use_legacy_worker_impl": (ANY, ""),
}
"""Key -> the values that describe what happens here, and what does."""

INSTEAD = {
    "*.entropy_from_logits_with_chunking": "logits are always computed chunk by chunk",
    "*.entropy_checkpointing": "the logits of a chunk are always computed again in backward",
    "*.mixed_precision.buffer_dtype": "buffers keep the type they have",
    "*.fsdp_config.forward_prefetch": "FSDP2 gathers the next layer's weights by itself",
    "*.fsdp_config.use_orig_params": "FSDP2 always keeps the original parameters",
    "*.use_prefix_grouper": "the prompt is computed with each of its responses",
    "*.use_torch_compile": "nothing is compiled",
    "*.use_fused_kernels": "log-probabilities are computed chunk by chunk; see use_liger",
    "*.fused_kernel_options.*": "log-probabilities are computed chunk by chunk; see use_liger",
    "*.model.use_shm": "the model's files are read where they are",
    "*.model.torch_dtype": "weights are kept in fsdp_config.model_dtype, computed in fsdp_config.dtype",
    "*.nccl_timeout": "a collective that takes longer than 30 minutes ends the run",
    "*.calculate_sum_pi_squared": "the estimators here need no sum of squared probabilities",
    "actor_rollout_ref.rollout.layered_summon": "weights always travel tensor by tensor",
    "actor_rollout_ref.rollout.multi_stage_wake_up": "vLLM always wakes up in two stages, weights first",
    "actor_rollout_ref.rollout.multi_turn.use_inference_chat_template": "turns are appended",
    "actor_rollout_ref.rollout.multi_turn.tokenization_sanity_check_mode": "turns are never tokenised anew",
    "actor_rollout_ref.rollout.multi_turn.num_repeat_rollouts": "each row has rollout.n episodes",
    "actor_rollout_ref.rollout.agent.num_workers": "each process plays the episodes of its rows",
    "actor_rollout_ref.rollout.trace.*": "there are no traces; trainer.rollout_data_dir keeps every response",
    "actor_rollout_ref.rollout.engine_kwargs.sglang.*": "it is for another engine",
    "actor_rollout_ref.rollout.engine_kwargs.trtllm.*": "it is for another engine",
    "actor_rollout_ref.rollout.engine_kwargs.vllm.disable_mm_preprocessor_cache": "prompts are text",
    "*.profiler.*": "trainer.profile_steps=[3,4] traces steps 3 and 4",
    "global_profiler.*": "trainer.profile_steps=[3,4] traces steps 3 and 4",
    "trainer.npu_profile.*": "trainer.profile_steps=[3,4] traces steps 3 and 4",
    "data.trust_remote_code": "a tokenizer's code is run where model.trust_remote_code is set",
    "data.use_shm": "files are read where they are",
    "ray_kwargs.*": "torchrun starts the processes; on a Ray cluster set trainer.launcher=ray",
    "ray_init.*": "torchrun starts the processes; on a Ray cluster set trainer.launcher=ray",
    "transfer_queue.*": "batches stay in the processes that made them",
    "reward_model.micro_batch_size*": "the reward model's batches are filled up to reward_model.batch_tokens",
    "reward_model.model.use_remove_padding": "the reward model's batches are sorted by length",
    "reward_model.model.fsdp_config.*": "the reward model is not sharded: each process has it whole",
    "reward_model.model.input_tokenizer": "the reward model reads messages and text, with its own tokenizer",
    "reward_model.rollout.*": "the reward model runs as reward_model.backend says",
    "reward_model.strategy": "the reward model is not sharded: each process has it whole",
    "reward_model.use_dynamic_bsz": "the reward model's batches are filled up to reward_model.batch_tokens",
    "reward_model.num_workers": "each process scores with its share of the cores; see reward.num_workers",
    "reward_model.reward_kwargs.max_resp_len": "the overlong buffer ends at data.max_response_length",
    "reward.reward_kwargs.max_resp_len": "the overlong buffer ends at data.max_response_length",
    "reward*.sandbox_fusion.*": "code runs in the sandbox here; see `rewardkit doctor`",
    "*.fsdp_config.grad_offload": "gradients are offloaded with fsdp_config.param_offload",
    "trainer.use_v1": "there is one trainer",
    "trainer.v1.*": "there is one trainer",
}
"""Glob over keys that change speed, memory or bookkeeping, and no result -> what happens instead."""

REFUSED = {
    "hydra.*": "there is no Hydra here; settings are key=value",
    "*.megatron.*": "models are sharded by FSDP2 alone",
    "actor_rollout_ref.rollout.multi_turn.*": "the settings of episodes are listed in docs/training.md",
    "actor_rollout_ref.rollout.agent.*": "an agent is a name: agent_name of the row, or default_agent_loop",
    "actor_rollout_ref.rollout.engine_kwargs.*": "the engine's settings stand in actor_rollout_ref.rollout",
    "actor_rollout_ref.actor.freeze_vision_tower": "prompts are text",
    "data.*image*": "prompts are text",
    "data.*video*": "prompts are text",
    "data.return_multi_modal_inputs": "prompts are text",
    "data.custom_cls.*": "the data is a parquet; `rewardkit prep --help` shows how to make one",
    "data.sampler.*": "data.shuffle and data.seed decide the order",
    "data.datagen.*": "the data is a parquet; `rewardkit prep --help` shows how to make one",
    "data.tokenizer": "the tokenizer is that of actor_rollout_ref.model.path",
    "custom_reward_function.reward_kwargs*": "give the function's arguments their defaults in its file",
    "reward_model.model.trust_remote_code": "code that comes with a reward model is never run",
    "reward.reward_manager.*": "the registry of rewards takes the manager's place; see `rewardkit list`",
    "algorithm.rollout_correction.rollout_rs*": "none is rejected for its ratio; rollout_is weighs them",
    "algorithm.pf_ppo*": "there is no preference-feedback PPO",
    "algorithm.use_pf_ppo": "there is no preference-feedback PPO",
    "distillation.*": "there is no distillation",
}
"""Glob over keys that would change a result -> why there is no such setting, or what to set instead."""


def alias(key: str) -> Alias | None:
    """Return our name for verl's `key`, if it has another one here."""
    for glob, found in ALIASES.items():
        before, star, after = glob.partition("*")
        if fnmatchcase(key, glob):
            middle = key[len(before) : len(key) - len(after)] if star else ""
            return Alias(found.key.replace("*", middle), found.over_processes)
    return None


def holds(key: str, value: Any) -> bool:
    """True when verl's `key=value` describes what happens here anyway; a feature that is off always does."""
    if key not in HOLDS:
        return is_off(value) and why_not(key) is not None
    values, _ = HOLDS[key]
    return values == ANY or value is None or value in values


def is_off(value: Any) -> bool:
    """True for what switches a feature off: null, false, an empty value."""
    return value is None or value is False or value in ("", [], {})


def instead(key: str) -> str | None:
    """Say what happens instead of what verl's `key` asks for, where no result depends on it."""
    return _of(INSTEAD, key)


def why_not(key: str) -> str | None:
    """Say why there is no setting `key`, or why it has one value only; None for what verl has not either."""
    if key in HOLDS:
        values, reason = HOLDS[key]
        return f"it can only be {' or '.join(str(v).lower() for v in values)} here: {reason}"
    return _of(REFUSED, key)


def _of(table: Mapping[str, str], key: str) -> str | None:
    return next((text for glob, text in table.items() if fnmatchcase(key, glob)), None)
