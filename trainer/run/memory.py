"""Roughly estimates the memory that a run needs on each device, before any weights are loaded.

`rewardkit/model_shapes.py` reads the sizes of the models.
"""

from __future__ import annotations

import shutil
import subprocess

from rewardkit.errors import ConfigError
from rewardkit.host_memory import total_bytes
from rewardkit.model_shapes import Shape, read_shape
from rewardkit.trainer.algorithms.advantages import ESTIMATORS
from rewardkit.trainer.algorithms.divergences import DIVERGENCES
from rewardkit.trainer.config.root import Config, needs_reference, world_size
from rewardkit.trainer.config.workers import (
    DTYPE_NAMES,
    ActorConfig,
    CriticConfig,
    FsdpConfig,
    ModelConfig,
    computing_dtype,
    has_adapter,
    may_stay_whole,
    offloads,
)
from rewardkit.trainer.models import CHUNK_ELEMENTS
from rewardkit.trainer.rollout.engines import ENGINES

GIB = 1 << 30
KEPT_BYTES = 12
"""Bytes per trained parameter: the float32 weight and Adam's two moments."""
QUANTISED_BYTES = 0.5 + 4 / 64
"""Bytes per weight in 4 bits, with a float32 scale for each 64 weights."""
USUAL_RANK = 64
"""Rank assumed for an adapter that is loaded from a folder. Adapters need little memory at any rank."""
LEFT_WIDTHS = (8, 3, 4)
"""Number of values per token that a decoder layer keeps for its backward pass, as multiples of the hidden
width, the width of keys and values, and the feed-forward width. The multiples were measured for five model
shapes (benchmarks/RESULTS.md)."""
LAYER_WIDTHS = (14, 3, 6)
"""The same multiples, including the values that the backward pass itself computes."""
TOKEN_BYTES = 3 * 8
"""Bytes per token in a step's batch, for `input_ids`, `attention_mask` and `position_ids`."""
RESPONSE_BYTES = 8 + 5 * 4
"""Additional bytes per response token, for its id, its mask and four float32 values used in every run."""
LOGIT_COPIES = 3
"""Number of float32 tensors of the logits' size: the logits, their log-softmax and its gradient."""


def estimate(config: Config) -> dict[str, float] | None:
    """Return the peak memory of a process, in bytes by component.

    The components `actor`, `critic`, `reference`, `teacher`, `reward model` and `rollout`, if the run has
    them, are in memory during the whole run. The other components belong to the phase that needs the most
    memory: `cache` for generation, or `gradients`, `gathered` weights and `activations` for an update. The
    optimizer and the master weights use float32. The result is None if the model of the policy, the critic or
    the teacher is not on this machine.
    """
    policy = config.actor_rollout_ref
    critic = config.critic
    shape = read_shape(policy.model.path)
    has_critic = ESTIMATORS[config.algorithm.adv_estimator].critic
    critic_shape = read_shape(critic.model.path) if has_critic else shape
    if shape is None or critic_shape is None:
        return None
    processes = world_size(config)
    rank = _rank(policy.model)
    engine = ENGINES[policy.rollout.name].memory(config, shape, processes)
    phases = [{name: engine.pop(name) for name in ("cache",) if name in engine}]
    phases.append(_update(config, policy.actor, policy.model, shape, rank, processes))
    needs = {"actor": _trained(shape, policy.model, policy.actor.fsdp_config, rank) / processes}
    if has_critic:
        critic_rank = _rank(critic.model)
        needs["critic"] = _trained(critic_shape, critic.model, critic.fsdp_config, critic_rank) / processes
        phases.append(_update(config, critic, critic.model, critic_shape, critic_rank, processes))
    if needs_reference(config) and not rank and not offloads(policy.ref.fsdp_config):
        needs["reference"] = 4.0 * shape.parameters / processes
    if config.distillation.enabled:
        teacher = read_shape(str(config.distillation.teacher_models.teacher_model.model_path))
        if teacher is None:
            return None
        if not offloads(policy.ref.fsdp_config):
            needs["teacher"] = 4.0 * teacher.parameters / processes
        needs["teacher's distributions"] = _stored_bytes(config, teacher, processes)
    if config.reward_model.enable and (scoring := read_shape(str(config.reward_model.model.path))):
        needs["reward model"] = float(_bytes(policy.actor.fsdp_config.dtype) * scoring.parameters)
    needs = {name: size for name, size in needs.items() if size}
    return needs | engine | max(phases, key=lambda parts: sum(parts.values()))


def _stored_bytes(config: Config, teacher: Shape, processes: int) -> float:
    """Return the bytes of the teacher's tensors in a process's batch. See `workers/distillation.py`."""
    given = config.distillation.distillation_loss
    divergence = DIVERGENCES.get(given.loss_mode)
    if divergence is None:
        return 0.0
    width = _bytes(computing_dtype(config.actor_rollout_ref.ref.fsdp_config)) * teacher.hidden
    rollout = config.actor_rollout_ref.rollout
    tokens = config.data.train_batch_size * rollout.n // processes * rollout.response_length
    return float(tokens * (8 * given.topk if divergence.top else width))


def report(config: Config) -> str:
    """Return a line with the estimate and the device's memory.

    Raises:
        ConfigError: The device's memory is too small for the batch of a step, or for weights, gradients and
            the optimizer, even without activations.
    """
    needs = estimate(config)
    available = device_bytes(config)
    if available is not None:
        _check_batch(config, available)
    if needs is None:
        return "memory: not estimated, because a model is not on this machine yet"
    certain = sum(v for name, v in needs.items() if name not in ("cache", "activations"))
    parts = ", ".join(f"{name} {value / GIB:.2g}" for name, value in needs.items())
    line = f"memory per process, roughly: {sum(needs.values()) / GIB:.2g} GiB ({parts})"
    if available is None:
        return line
    line += f"; the device has {available / GIB:.3g} GiB"
    if certain > available:
        raise ConfigError(
            f"{line}, which is not enough even without activations; use more GPUs or a smaller model, or "
            "offload with actor_rollout_ref.actor.fsdp_config.param_offload=true and .optimizer_offload=true"
        )
    if sum(needs.values()) > available:
        line += f"; if the memory runs out, {_remedy(config, needs)}"
    return line


def _check_batch(config: Config, available: int) -> None:
    """Refuse a batch whose tokens alone exceed the memory. Responses are padded to `response_length`."""
    rollout = config.actor_rollout_ref.rollout
    rows = config.data.train_batch_size * rollout.n // world_size(config)
    row = rollout.prompt_length + rollout.response_length
    tokens = rows * (TOKEN_BYTES * row + RESPONSE_BYTES * rollout.response_length)
    if tokens > available:
        raise ConfigError(
            f"{rows:,} responses, each padded to {row:,} tokens (prompt_length + response_length of "
            f"actor_rollout_ref.rollout), need {tokens / GIB:,.3g} GiB per process for token ids, masks and "
            f"scores, but the device has only {available / GIB:.3g} GiB; lower data.max_response_length"
        )


def _remedy(config: Config, needs: dict[str, float]) -> str:
    """Return advice for the largest component whose size a setting can reduce."""
    actor = "actor_rollout_ref.actor"
    rows = (
        "ppo_max_token_len_per_gpu"
        if config.actor_rollout_ref.actor.use_dynamic_bsz
        else ("ppo_micro_batch_size_per_gpu")
    )
    changes = {
        "activations": f"lower {actor}.{rows}",
        "cache": "lower actor_rollout_ref.rollout.micro_batch_size",
        "reference": "set actor_rollout_ref.ref.fsdp_config.param_offload=true",
    }
    if config.actor_rollout_ref.actor.fsdp_config.no_sync:
        changes["gradients"] = f"set {actor}.fsdp_config.no_sync=false"
    return changes[max(changes, key=lambda part: needs.get(part, 0.0))]


def device_bytes(config: Config) -> int | None:
    """Return the bytes of GPU memory, or of a process's share of host memory, or None if unknown."""
    # A query through CUDA would itself use GPU memory.
    if config.trainer.device != "cpu" and shutil.which("nvidia-smi"):
        query = ["nvidia-smi", "--query-gpu=memory.total", "--format=csv,noheader,nounits"]
        answer = subprocess.run(query, capture_output=True, text=True, check=False).stdout.split()
        return min(int(mib) for mib in answer) << 20 if answer and all(map(str.isdigit, answer)) else None
    if config.trainer.device == "cuda":
        return None
    return total_bytes() // config.trainer.n_gpus_per_node


def _rank(model: ModelConfig) -> int:
    """Return the rank of the model's adapter, or 0 if it has none."""
    return model.lora_rank or (USUAL_RANK if has_adapter(model) else 0)


def _trained(shape: Shape, model: ModelConfig, fsdp: FsdpConfig, lora_rank: int) -> float:
    """Return the bytes that a trained model needs during the whole run, summed over all processes."""
    kept = KEPT_BYTES - 8 * fsdp.optimizer_offload - 4 * offloads(fsdp)
    frozen = _frozen(shape, model, fsdp) if lora_rank and not offloads(fsdp) else 0
    return float(_learning(shape, lora_rank) * kept + frozen)


def _frozen(shape: Shape, model: ModelConfig, fsdp: FsdpConfig) -> float:
    """Return the bytes of frozen weights. Embedding and output layer are not quantised."""
    if not model.quantization_config:
        return 4.0 * shape.parameters
    ends = (1 if shape.tied else 2) * shape.vocabulary * shape.hidden
    return QUANTISED_BYTES * (shape.parameters - ends) + _bytes(computing_dtype(fsdp)) * ends


def _learning(shape: Shape, lora_rank: int) -> int:
    """Return the number of trained parameters.

    An adapter has two thin matrices for each of the seven linear layers in a block.
    """
    return shape.layers * 7 * 2 * lora_rank * shape.hidden if lora_rank else shape.parameters


def _update(
    config: Config,
    worker: ActorConfig | CriticConfig,
    model: ModelConfig,
    shape: Shape,
    lora_rank: int,
    processes: int,
) -> dict[str, float]:
    """Return the peak memory of an update, in bytes by component.

    The backward pass frees each layer's activations as it computes the layer's gradients. The peak is
    therefore either at the beginning, with all kept activations and the logits, or at the end, with all
    gradients except the embedding's, plus one recomputed layer or the gradient of the embedding
    (`_of_embedding`). From the second micro-batch on, all gradients already exist at the beginning.
    """
    fsdp = worker.fsdp_config
    learning = _learning(shape, lora_rank)
    whole = fsdp.no_sync and processes > 1
    gradients = 0.0 if offloads(fsdp) and not whole else 4.0 * learning / (1 if whole else processes)
    embedding = 0.0 if lora_rank else 4.0 * shape.vocabulary * shape.hidden
    of_policy = isinstance(worker, ActorConfig)
    tokens, responses, several = _micro_batch(config, worker, processes)
    width = _bytes(computing_dtype(fsdp))
    layer = width * tokens * _numbers(LAYER_WIDTHS, shape)
    kept = width * tokens * _numbers(LEFT_WIDTHS, shape) * shape.layers
    if model.enable_gradient_checkpointing:
        kept = width * tokens * shape.hidden * shape.layers + layer
    logits = 4.0 * LOGIT_COPIES * min(responses * shape.vocabulary, CHUNK_ELEMENTS) if of_policy else 0.0
    begin = kept + logits
    alone = bool(model.quantization_config) or may_stay_whole(fsdp, processes)
    last = 0.0 if lora_rank else _of_embedding(shape, width, of_policy=of_policy, alone=alone)
    end = max(layer - embedding / processes, last)
    parts = {"gradients": gradients, "activations": max(begin, end) if several else end}
    if not several and begin > gradients + end:
        parts = {"activations": begin}
    gathered = 0.0 if alone else _gathered(shape, width)
    return parts | ({"gathered": gathered} if gathered else {})


def _of_embedding(shape: Shape, width: int, *, of_policy: bool, alone: bool) -> float:
    """Return the bytes of the unsharded embedding and output gradients at the end of a backward pass.

    If the weights are tied, memory contains both gradients and their sum. FSDP2 gathers and reduces the two
    layers as a unit, so it keeps the output layer's gradient and the gathered weights until the embedding's
    gradient is computed. The gradients of the shards are created afterwards. With 16-bit gradients, the sum
    over processes is a float32 copy. A process that has the whole model (`alone`) accumulates gradients in
    place, except for tied weights.
    """
    tied = of_policy and shape.tied
    if alone:
        return float(width * 2 * shape.vocabulary * shape.hidden * tied)
    gradients = 3 if tied else 1 + of_policy
    return float(max(width * gradients, 4) * shape.vocabulary * shape.hidden)


def _numbers(widths: tuple[int, int, int], shape: Shape) -> int:
    hidden, keys, feed = widths
    return hidden * shape.hidden + keys * shape.kv_width + feed * shape.intermediate


def _gathered(shape: Shape, width: int) -> float:
    """Return the bytes of gathered weights: embedding, output layer and two decoder layers."""
    ends = 2 * shape.vocabulary * shape.hidden
    return width * min(ends + 2 * max(shape.parameters - ends, 0) / shape.layers, shape.parameters)


def _micro_batch(config: Config, worker: ActorConfig | CriticConfig, processes: int) -> tuple[int, int, bool]:
    """Return the size of a micro-batch.

    Returns:
        Maximum number of tokens in a micro-batch, number of response tokens among them, and True if a
        mini-batch has several micro-batches.
    """
    rollout = config.actor_rollout_ref.rollout
    row = rollout.prompt_length + rollout.response_length
    mini = max(worker.ppo_mini_batch_size * rollout.n // processes, 1)
    rows = min(worker.ppo_micro_batch_size_per_gpu or mini, mini)
    tokens = rows * row
    if worker.use_dynamic_bsz:
        tokens = min(worker.ppo_max_token_len_per_gpu, mini * row)
    return tokens, tokens * rollout.response_length // row, tokens < mini * row


def _bytes(dtype: str) -> int:
    return 4 if DTYPE_NAMES[dtype] == "float32" else 2
