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
    "critic.fsdp.*": Alias("critic.fsdp_config.*"),
    "actor_rollout_ref.actor.fsdp.*": Alias("actor_rollout_ref.actor.fsdp_config.*"),
    "actor_rollout_ref.ref.fsdp.*": Alias("actor_rollout_ref.ref.fsdp_config.*"),
    "actor_rollout_ref.rollout.engine_kwargs.vllm.max_model_len": Alias(
        "actor_rollout_ref.rollout.max_model_len"
    ),
    "reward_model.reward_kwargs.overlong_buffer_cfg.*": Alias("reward_model.overlong_buffer.*"),
    "reward.reward_kwargs.overlong_buffer_cfg.*": Alias("reward_model.overlong_buffer.*"),
    "reward.custom_reward_function.*": Alias("custom_reward_function.*"),
    "reward_model.forward_max_token_len_per_gpu": Alias("reward_model.batch_tokens"),
    "reward.reward_model.enable": Alias("reward_model.enable"),
    "reward.reward_model.model_path": Alias("reward_model.model.path"),
    "actor_rollout_ref.*.use_torch_compile": Alias("actor_rollout_ref.*.fsdp_config.use_torch_compile"),
    "*.fsdp_config.strategy": Alias("*.strategy"),
    "*.fsdp_config.ulysses_sequence_parallel_size": Alias("*.ulysses_sequence_parallel_size"),
    "actor_rollout_ref.actor.policy_loss.tau_*": Alias("actor_rollout_ref.actor.tau_*"),
    "actor_rollout_ref.model.lora.rank": Alias("actor_rollout_ref.model.lora_rank"),
    "actor_rollout_ref.model.lora.alpha": Alias("actor_rollout_ref.model.lora_alpha"),
    "*.optim.clip_grad": Alias("*.grad_clip"),
    "actor_rollout_ref.actor.use_remove_padding": Alias("actor_rollout_ref.model.use_remove_padding"),
    "data.tool_config_path": Alias("actor_rollout_ref.rollout.multi_turn.tool_config_path"),
    "*.ppo_micro_batch_size": Alias("*.ppo_micro_batch_size_per_gpu", over_processes=True),
    "*.log_prob_micro_batch_size": Alias("*.log_prob_micro_batch_size_per_gpu", over_processes=True),
    "critic.forward_micro_batch_size": Alias("critic.forward_micro_batch_size_per_gpu", over_processes=True),
}
"""Glob over verl's keys, with one `*` at most -> our name."""

MANAGERS = ("naive", "dapo", "prime", "rate_limited", "gdpo")
"""verl's managers of rewards that score each response by itself, in whatever order or number at once."""

RANDOM_ORDER = "data.shuffle and data.seed decide the order, as verl's RandomCurriculumSampler would"

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
    "*.calculate_entropy": (ANY, "the entropy is always logged"),
    "*.checkpoint.load_contents": ((["model", "optimizer", "extra"],), ""),
    "*.fsdp_config.forward_only": (ANY, ""),
    "*.fsdp_config.seed": ((42,), ""),
    "*.fsdp_config.wrap_policy.min_num_params": ((0,), ""),
    "*.data_loader_seed": ((42,), ""),
    "*.mtp.enable*": ((False,), "there is no multi-token prediction"),
    "*.mtp.*": (ANY, "mtp.enable switches it on"),
    "*.optim.optimizer": (("AdamW",), "models learn by AdamW"),
    "*.optim.optimizer_impl": (("torch.optim",), "models learn by torch's AdamW"),
    "*.router_replay.mode": (("disabled",), "the routing of experts is not replayed"),
    "actor_rollout_ref.hybrid_engine": ((True,), "training and rollout always share their processes"),
    "actor_rollout_ref.rollout.checkpoint_engine.*": (("naive", 2048, {}), ""),
    "actor_rollout_ref.rollout.data_parallel_size": ((1,), ""),
    "actor_rollout_ref.rollout.expert_parallel_size": ((1,), ""),
    "actor_rollout_ref.rollout.logprobs_mode": (
        ("processed_logprobs",),
        "log-probabilities are those of the distribution that was sampled from",
    ),
    "actor_rollout_ref.rollout.multi_turn.enable": (ANY, "agent_name says which rows have several turns"),
    "actor_rollout_ref.rollout.mode": (("sync", "async"), "each process has one engine of its own"),
    "actor_rollout_ref.rollout.over_sample_rate": ((0, 0.0), ""),
    "actor_rollout_ref.rollout.pipeline_model_parallel_size": (
        (1,),
        "an engine is split by tensor_model_parallel_size alone",
    ),
    "actor_rollout_ref.rollout.scheduling_policy": (("fcfs",), ""),
    "actor_rollout_ref.rollout.skip_dump_dir": (ANY, ""),
    "actor_rollout_ref.rollout.skip_tokenizer_init": (ANY, ""),
    "data.dataloader_num_workers": (ANY, ""),
    "data.filter_overlong_prompts_workers": (ANY, ""),
    "data.image_patch_size": (ANY, ""),
    "model_engine": (("dp", "fsdp", "fsdp2"), "models are sharded by FSDP2 alone"),
    "data.return_full_prompt": ((False,), "responses are scored with the prompt's messages"),
    "data.return_multi_modal_inputs": (ANY, ""),
    "data.return_raw_chat": ((True, False), "the prompt's messages are always kept"),
    "data.return_raw_input_ids": ((False,), "the policy's tokens are the only ones"),
    "data.reward_fn_key": (("data_source",), "the column is always data_source"),
    "data.sampler.class_name": ((None, "RandomCurriculumSampler"), RANDOM_ORDER),
    "data.sampler.class_path": (
        (None, "pkg://tests.utils.dataset.test_create_rl_sampler_on_cpu"),
        RANDOM_ORDER,
    ),
    "data.val_batch_size": (ANY, ""),
    "data.validation_shuffle": (ANY, ""),
    "reward_model.launch_reward_fn_async": (ANY, ""),
    "reward_model.reward_loop_source": (("register",), "the registry of rewards takes its place"),
    "reward_model.reward_manager": (MANAGERS, "the registry of rewards takes their place"),
    "reward_model.use_reward_loop": (ANY, ""),
    "reward*.source": (("register",), "the registry of rewards takes the manager's place"),
    "reward_manager.name": (MANAGERS, "the registry of rewards takes their place"),
    "reward.reward_manager.name": (MANAGERS, "the registry of rewards takes their place"),
    "reward*.module.name": (("custom_reward_manager",), "the registry of rewards takes the manager's place"),
    "trainer.esi_redundant_time": ((0,), ""),
    "trainer.ray_wait_register_center_timeout": (ANY, ""),
    "trainer.use_legacy_worker_impl": (ANY, ""),
}
"""Glob over keys -> the values that describe what happens here, and what does. Of the other values of a key
that `INSTEAD` knows too a line is said; those of another key are refused."""

INSTEAD = {
    "*.checkpoint.load_contents": "a resume loads all that was saved",
    "*.data_loader_seed": "data.seed decides every order",
    "*.enable_activation_offload": "activations stay where they are; enable_gradient_checkpointing keeps few",
    "*.fsdp_config.full_determinism": "two runs with one seed are always the same run",
    "*.fsdp_config.seed": "data.seed decides every draw",
    "*.fsdp_config.wrap_policy.min_num_params": "each decoder layer is sharded by itself",
    "*.model.lora.merge": "the engine always gets the adapter added to the weights that it adapts",
    "*.rollout_n": "it is actor_rollout_ref.rollout.n",
    "*.sum_pi_squared_checkpointing": "sums of squared probabilities need no gradient and keep nothing",
    "*.tiled_mlp.*": "feed-forward layers are computed whole",
    "actor_rollout_ref.rollout.checkpoint_engine.*": "weights travel within the process, tensor by tensor",
    "actor_rollout_ref.rollout.cudagraph_capture_sizes": "vLLM chooses the sizes of its CUDA graphs",
    "actor_rollout_ref.rollout.data_parallel_size": "each tensor-parallel group has an engine",
    "actor_rollout_ref.rollout.expert_parallel_size": "experts are split by tensor_model_parallel_size",
    "actor_rollout_ref.rollout.engine_kwargs.vllm.compilation_config.*": "see rollout.enforce_eager",
    "actor_rollout_ref.rollout.over_sample_rate": "every prompt is answered to the end",
    "actor_rollout_ref.rollout.prometheus.*": "the engine has no endpoint; metrics.jsonl has its figures",
    "actor_rollout_ref.rollout.scheduling_policy": "requests are served in their order",
    "critic.checkpoint.*": "the critic is saved as actor_rollout_ref.actor.checkpoint says",
    "critic.enable": "algorithm.adv_estimator decides whether there is a critic",
    "critic.model.tokenizer_path": "the critic reads the policy's tokens",
    "data.gen_batch_size": "filter_groups draws data.train_batch_size prompts at a time",
    "reward_model.enable_resource_pool": "the reward model runs beside each training process",
    "reward_model.n_gpus_per_node": "the reward model runs beside each training process",
    "reward_model.nnodes": "the reward model runs beside each training process",
    "reward_model.ulysses_sequence_parallel_size": "each process has the reward model whole",
    "trainer.esi_redundant_time": "a checkpoint is saved every trainer.save_freq steps",
    "*.entropy_from_logits_with_chunking": "logits are always computed chunk by chunk",
    "*.entropy_checkpointing": "the logits of a chunk are always computed again in backward",
    "*.mixed_precision.buffer_dtype": "buffers keep the type they have",
    "*.fsdp_config.forward_prefetch": "FSDP2 gathers the next layer's weights by itself",
    "*.fsdp_config.use_orig_params": "FSDP2 always keeps the original parameters",
    "*.use_prefix_grouper": "in packed sequences the responses of a forward always share their prompts",
    "*.use_torch_compile": "only what makes log-probabilities of logits is compiled",
    "*.use_fused_kernels": "log-probabilities are computed chunk by chunk; see use_liger",
    "*.fused_kernel_options.*": "log-probabilities are computed chunk by chunk; see use_liger",
    "*.model.use_shm": "the model's files are read where they are",
    "*.model.torch_dtype": "weights are kept in fsdp_config.model_dtype, computed in fsdp_config.dtype",
    "*.nccl_timeout": "a collective that takes longer than 30 minutes ends the run",
    "*.calculate_sum_pi_squared": "it is done where algorithm.adv_estimator needs it",
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
    "actor_rollout_ref.rollout.engine_kwargs.vllm.mm_processor_cache_gb": "prompts are text",
    "data.image_key": "prompts are text; rows with images are refused",
    "data.video_key": "prompts are text; rows with videos are refused",
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
    "reward.reward_model.rollout.*": "the reward model runs as reward_model.backend says",
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
    "*.external_lib": "no module is imported by name; a model's code comes with it, model.trust_remote_code",
    "*.optim.override_optimizer_config": "AdamW's settings are lr, betas and weight_decay",
    "*.router_replay.*": "the routing of experts is not replayed",
    "actor_rollout_ref.model.custom_chat_template": "the template is the tokenizer's",
    "actor_rollout_ref.model.hf_config_path": "the model's config is read from model.path",
    "actor_rollout_ref.model.tokenizer_path": "the tokenizer is that of model.path",
    "actor_rollout_ref.rollout.enable_rollout_routing_replay": "the routing of experts is not replayed",
    "actor_rollout_ref.rollout.quantization*": "the engine gets the policy's weights in rollout.dtype",
    "actor_rollout_ref.rollout.skip_rollout": "responses are always the policy's own",
    "hydra.*": "there is no Hydra here; settings are key=value",
    "*.megatron.*": "models are sharded by FSDP2 alone",
    "actor_rollout_ref.rollout.multi_turn.*": "the settings of episodes are listed in docs/training.md",
    "actor_rollout_ref.rollout.agent.*": "an agent is a name: agent_name of the row, or default_agent_loop",
    "actor_rollout_ref.rollout.engine_kwargs.*": "the engine's settings stand in actor_rollout_ref.rollout",
    "actor_rollout_ref.actor.freeze_vision_tower": "prompts are text",
    "data.*image*": "prompts are text",
    "data.*video*": "prompts are text",
    "data.custom_cls.*": "the data is a parquet; `rewardkit prep --help` shows how to make one",
    "data.datagen.*": "the data is a parquet; `rewardkit prep --help` shows how to make one",
    "data.continuous_token.*": "tokens of earlier turns always stay as they were drawn; there is no setting",
    "data.tokenizer": "the tokenizer is that of actor_rollout_ref.model.path",
    "custom_reward_function.reward_kwargs*": "give the function's arguments their defaults in its file",
    "reward_model.model.override_config": "the reward model is loaded as it is",
    "reward_model.reward_loop_*": "give the function as custom_reward_function.path",
    "reward_manager.*": "the registry of rewards takes the manager's place; see `rewardkit list`",
    "reward_model.model.trust_remote_code": "code that comes with a reward model is never run",
    "reward.reward_manager.*": "the registry of rewards takes the manager's place; see `rewardkit list`",
    "*.veomni.*": "models are sharded by FSDP2 alone",
    "*.torchtitan.*": "models are sharded by FSDP2 alone",
    "*.automodel.*": "models are sharded by FSDP2 alone",
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
    found = _held(key)
    if found is None:
        return is_off(value) and why_not(key) is not None
    values, _ = found
    return values == ANY or value is None or value in values


def is_off(value: Any) -> bool:
    """True for what switches a feature off: null, false, an empty value."""
    return value is None or value is False or value in ("", [], {})


def instead(key: str) -> str | None:
    """Say what happens instead of what verl's `key` asks for, where no result depends on it."""
    return _of(INSTEAD, key)


def why_not(key: str) -> str | None:
    """Say why there is no setting `key`, or why it has one value only; None for what verl has not either."""
    if found := _held(key):
        values, reason = found
        return f"it can only be {' or '.join(str(v).lower() for v in values)} here: {reason}"
    return _of(REFUSED, key)


def _held(key: str) -> tuple[tuple[Any, ...], str] | None:
    return HOLDS.get(key) or next((held for glob, held in HOLDS.items() if fnmatchcase(key, glob)), None)


def _of(table: Mapping[str, str], key: str) -> str | None:
    return next((text for glob, text in table.items() if fnmatchcase(key, glob)), None)
