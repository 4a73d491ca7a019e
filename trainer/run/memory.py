"""A rough estimate of the memory that a run needs on each device, before any weight is loaded.

What is known of a model before that is in `models/shape.py`.
"""

from __future__ import annotations

import os
import shutil
import subprocess

from rewardkit.errors import ConfigError
from rewardkit.trainer.algorithms.tables import ESTIMATORS
from rewardkit.trainer.config.root import Config
from rewardkit.trainer.config.workers import DTYPE_NAMES, FsdpConfig, has_adapter
from rewardkit.trainer.models.shape import Shape, read_shape
from rewardkit.trainer.rollout.engines import ENGINES

GIB = 1 << 30
TRAINED_BYTES = 16
"""For each parameter that learns: float32 weight, gradient and Adam's two moments."""
USUAL_RANK = 64
"""Of an adapter that is loaded: small beside the rest, whatever it is."""
ACTIVATION_BYTES = 34
"""For each token, layer and hidden unit in 16 bit, without checkpointing (Korthikanti et al., 2022)."""


def estimate(config: Config) -> dict[str, float] | None:
    """Return bytes a process by what takes them; None where a model is not on this machine yet.

    Keys: `actor`, `critic`, `reference`, `activations` and those of the rollout engine. The optimizer and the
    master weights are float32.
    """
    policy = config.actor_rollout_ref
    critic = config.critic
    shape = read_shape(policy.model.path)
    critic_shape = read_shape(critic.model.path)
    if shape is None or critic_shape is None:
        return None
    processes = config.trainer.nnodes * config.trainer.n_gpus_per_node
    lora_rank = policy.model.lora_rank or (USUAL_RANK if has_adapter(policy.model) else 0)
    needs = {"actor": _trained(shape, policy.actor.fsdp_config, lora_rank) / processes}
    if ESTIMATORS[config.algorithm.adv_estimator].critic:
        needs["critic"] = _trained(critic_shape, critic.fsdp_config, 0) / processes
    if gradients := _whole_gradients(config, shape, critic_shape, lora_rank):
        needs["whole gradients"] = gradients
    has_reference = config.algorithm.use_kl_in_reward or policy.actor.use_kl_loss
    if has_reference and not lora_rank and not policy.ref.fsdp_config.param_offload:
        needs["reference"] = 4.0 * shape.parameters / processes
    if config.reward_model.enable and (scoring := read_shape(str(config.reward_model.model.path))):
        needs["reward model"] = float(_bytes(policy.actor.fsdp_config.dtype) * scoring.parameters)
    needs |= ENGINES[policy.rollout.name].memory(config, shape, processes)
    needs["activations"] = _activations(config, shape, processes)
    return needs


def report(config: Config) -> str:
    """Return one line with the estimate and what the device has.

    Raises:
        ConfigError: weights, gradients and Adam alone are more than the device has.
    """
    needs = estimate(config)
    available = device_bytes(config)
    if needs is None:
        return "memory: not estimated, the model is not on this machine yet"
    certain = sum(v for name, v in needs.items() if name not in ("cache", "activations"))
    parts = ", ".join(f"{name} {value / GIB:.2g}" for name, value in needs.items())
    line = f"memory per process, roughly: {sum(needs.values()) / GIB:.2g} GiB ({parts})"
    if available is None:
        return line
    line += f"; the device has {available / GIB:.3g} GiB"
    if certain > available:
        raise ConfigError(
            f"{line}: too little for the weights alone; use more GPUs, a smaller model, or offload with "
            "actor_rollout_ref.actor.fsdp_config.param_offload=true and .optimizer_offload=true"
        )
    if sum(needs.values()) > available:
        line += f": {_remedy(config, needs)} if it runs out"
    return line


def _remedy(config: Config, needs: dict[str, float]) -> str:
    """Return what to change about the largest of the parts that can be made smaller."""
    actor = "actor_rollout_ref.actor"
    rows = (
        "ppo_max_token_len_per_gpu"
        if config.actor_rollout_ref.actor.use_dynamic_bsz
        else ("ppo_micro_batch_size_per_gpu")
    )
    changes = {
        "activations": f"lower {actor}.{rows}",
        "cache": "lower actor_rollout_ref.rollout.micro_batch_size",
        "whole gradients": f"set {actor}.fsdp_config.no_sync=false",
        "reference": "set actor_rollout_ref.ref.fsdp_config.param_offload=true",
    }
    return changes[max(changes, key=lambda part: needs.get(part, 0.0))]


def device_bytes(config: Config) -> int | None:
    """Return the memory that a process can have: its GPU's, or its share of the machine's."""
    if config.trainer.device != "cpu" and shutil.which("nvidia-smi"):  # asking CUDA would take memory there
        query = ["nvidia-smi", "--query-gpu=memory.total", "--format=csv,noheader,nounits"]
        answer = subprocess.run(query, capture_output=True, text=True, check=False).stdout.split()
        return min(int(mib) for mib in answer) << 20 if answer and all(map(str.isdigit, answer)) else None
    if config.trainer.device == "cuda":
        return None
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // config.trainer.n_gpus_per_node


def _trained(shape: Shape, fsdp: FsdpConfig, lora_rank: int) -> float:
    """Bytes of a model that learns, over all processes."""
    learns = _learning(shape, lora_rank)
    frozen = shape.parameters if lora_rank else 0
    kept = TRAINED_BYTES - 8 * fsdp.optimizer_offload
    if fsdp.param_offload:
        kept -= 8
        frozen = 0
    return float(learns * kept + 4 * frozen)


def _whole_gradients(config: Config, shape: Shape, critic_shape: Shape, lora_rank: int) -> float:
    """Bytes of the gradient that a process holds between micro-batches; models learn one after the other."""
    policy = config.actor_rollout_ref
    found = 0.0
    if policy.actor.fsdp_config.no_sync:
        found = 4.0 * _learning(shape, lora_rank)
    if config.critic.fsdp_config.no_sync and ESTIMATORS[config.algorithm.adv_estimator].critic:
        found = max(found, 4.0 * critic_shape.parameters)
    return found


def _learning(shape: Shape, lora_rank: int) -> int:
    """Numbers that learn: of an adapter, two thin matrices beside each of seven linear layers a block."""
    return shape.layers * 7 * 2 * lora_rank * shape.hidden if lora_rank else shape.parameters


def _activations(config: Config, shape: Shape, processes: int) -> float:
    """Bytes of one micro-batch of the actor's update: what each layer keeps, and the logits."""
    policy = config.actor_rollout_ref
    per_response = policy.rollout.prompt_length + policy.rollout.response_length
    mini = policy.actor.ppo_mini_batch_size * policy.rollout.n // processes
    tokens = min(policy.actor.ppo_micro_batch_size_per_gpu or mini, mini) * per_response
    if policy.actor.use_dynamic_bsz:
        tokens = policy.actor.ppo_max_token_len_per_gpu
    width = _bytes(policy.actor.fsdp_config.dtype)
    layer = ACTIVATION_BYTES / 2 * width * shape.hidden
    checkpointing = policy.model.enable_gradient_checkpointing
    kept = width * shape.hidden * shape.layers + layer if checkpointing else layer * shape.layers
    logits = 3 * 4 * shape.vocabulary * policy.rollout.response_length / per_response
    return float(tokens * (kept + logits))


def _bytes(dtype: str) -> int:
    return 4 if DTYPE_NAMES[dtype] == "float32" else 2
