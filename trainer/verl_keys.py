"""verl's settings that we do not have: those that hold here anyway, and why there are none of the others.

`config.py` asks here about a key that it does not know, so that a verl command line either runs unchanged
or is told what to change. The settings we do have are in `config.py`.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

ANY = ()
"""Every value: the setting is about speed or bookkeeping of verl's own, and no result depends on it."""

HOLDS: dict[str, tuple[tuple[Any, ...], str]] = {
    "actor_rollout_ref.hybrid_engine": ((True,), "training and rollout always share their processes"),
    "actor_rollout_ref.rollout.mode": (("sync", "async"), "each process has one engine of its own"),
    "data.dataloader_num_workers": (ANY, ""),
    "data.filter_overlong_prompts_workers": (ANY, ""),
    "data.return_full_prompt": ((False,), "responses are judged with the prompt's messages"),
    "data.return_raw_chat": ((True, False), "the prompt's messages are always kept"),
    "data.return_raw_input_ids": ((False,), "the policy's tokens are the only ones"),
    "data.reward_fn_key": (("data_source",), "the column is always data_source"),
    "data.trust_remote_code": ((False,), "a tokenizer's code is not run"),
    "data.use_shm": ((False,), "files are read where they are"),
    "data.val_batch_size": (ANY, ""),
    "data.validation_shuffle": (ANY, ""),
    "reward_model.enable": (
        (False,),
        "a reward model is served: `rewardkit serve`, then reward.url=http://HOST:PORT",
    ),
    "reward_model.launch_reward_fn_async": (ANY, ""),
    "reward_model.reward_manager": (("naive", "dapo"), "the registry of rewards takes their place"),
    "reward_model.use_reward_loop": (ANY, ""),
    "trainer.esi_redundant_time": ((0,), "a checkpoint is saved every trainer.save_freq steps"),
    "trainer.ray_wait_register_center_timeout": (ANY, ""),
    "trainer.use_legacy_worker_impl": (ANY, ""),
}
"""Key -> the values that describe what happens here, and what does."""

ABSENT = {
    "hydra.*": "there is no Hydra here; settings are key=value",
    "ray_kwargs.*": "torchrun starts the processes; on a Ray cluster set trainer.launcher=ray",
    "ray_init.*": "torchrun starts the processes; on a Ray cluster set trainer.launcher=ray",
    "transfer_queue.*": "batches stay in the processes that made them",
    "global_profiler.*": "trainer.profile_steps=[3,4] traces steps 3 and 4",
    "trainer.npu_profile.*": "trainer.profile_steps=[3,4] traces steps 3 and 4",
    "*.profiler.*": "trainer.profile_steps=[3,4] traces steps 3 and 4",
    "*.megatron.*": "models are sharded by FSDP2 alone",
    "*.ppo_micro_batch_size": "verl has dropped it too; set ppo_micro_batch_size_per_gpu",
    "*.log_prob_micro_batch_size": "verl has dropped it too; set log_prob_micro_batch_size_per_gpu",
    "*.fsdp_config.grad_offload": "gradients are offloaded with fsdp_config.param_offload",
    "actor_rollout_ref.rollout.multi_turn.*": "a response is one turn",
    "actor_rollout_ref.rollout.agent.*": "a response is one turn",
    "actor_rollout_ref.rollout.engine_kwargs.*": "the engine's settings stand in actor_rollout_ref.rollout",
    "*.use_fused_kernels": "set use_liger where Liger kernels are installed",
    "data.*image*": "prompts are text",
    "data.*video*": "prompts are text",
    "data.return_multi_modal_inputs": "prompts are text",
    "data.custom_cls.*": "the data is a parquet; `rewardkit prep --help` shows how to make one",
    "data.sampler.*": "data.shuffle and data.seed decide the order",
    "data.datagen.*": "the data is a parquet; `rewardkit prep --help` shows how to make one",
    "data.tokenizer": "the tokenizer is that of actor_rollout_ref.model.path",
    "custom_reward_function.reward_kwargs*": "give the function's arguments their defaults in its file",
    "reward.custom_reward_function.*": "it is custom_reward_function.path and .name here",
    "reward.reward_model.*": "serve the model: `rewardkit serve`, then reward.url=http://HOST:PORT",
    "reward*.sandbox_fusion.*": "code runs in the sandbox here; see `rewardkit doctor`",
    "reward.reward_manager.*": "the registry of rewards takes the manager's place; see `rewardkit list`",
    "reward_model.reward_kwargs.overlong_buffer_cfg.*": "set reward_model.overlong_buffer",
    "reward_model.*": "serve the model: `rewardkit serve`, then reward.url=http://HOST:PORT",
    "algorithm.pf_ppo*": "there is no preference-feedback PPO",
    "algorithm.use_pf_ppo": "there is no preference-feedback PPO",
    "distillation.*": "there is no distillation",
    "trainer.use_v1": "there is one trainer",
    "trainer.v1.*": "there is one trainer",
}
"""Glob over keys -> why there is no such setting, or what to set instead."""


def holds(key: str, value: Any) -> bool:
    """True when verl's `key=value` describes what happens here anyway."""
    if key not in HOLDS:
        return False
    values, _ = HOLDS[key]
    return values == ANY or value is None or value in values


def why_not(key: str) -> str | None:
    """Say why there is no setting `key`, or why it has one value only; None for what verl has not either."""
    if key in HOLDS:
        values, reason = HOLDS[key]
        return f"it can only be {' or '.join(str(v).lower() for v in values)} here: {reason}"
    return next((reason for glob, reason in ABSENT.items() if fnmatchcase(key, glob)), None)
