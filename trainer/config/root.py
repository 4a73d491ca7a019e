"""Every setting of the trainer, typed, with verl's key names. How it is read is in `load.py`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from omegaconf import MISSING

from rewardkit.errors import ConfigError
from rewardkit.trainer.config.workers import ActorRolloutRefConfig, CriticConfig


@dataclass
class DataConfig:
    train_files: Any = MISSING
    """A parquet file or a list of them, with the columns `data_source`, `prompt` and a ground truth."""
    val_files: Any = None
    """The same, for validation."""
    train_max_samples: int = -1
    """Use only this many of the first rows; -1: all."""
    val_max_samples: int = -1
    """The same, for validation."""
    train_batch_size: int = 1024
    """Prompts per step, over all processes."""
    max_prompt_length: int = 512
    """Maximum tokens of a prompt. Shorter prompts are padded to it; `truncation` decides about longer
    ones."""
    max_response_length: int = 512
    """Maximum tokens of a response. Longer responses are cut off."""
    prompt_key: str = "prompt"
    """Name of the column of prompts, each a list of messages or a string."""
    shuffle: bool = True
    """Shuffle the rows in each epoch, by `seed`."""
    seed: int = 1
    """Seed of shuffling, sampling and the critic. The same seed gives the same run."""
    filter_overlong_prompts: bool = False
    """Skip prompts over `max_prompt_length`. Applies before `truncation`."""
    truncation: str = "error"
    """Treatment of a prompt over `max_prompt_length`: `error`, or the part that is cut off: `left`,
    `right` or `middle`."""
    apply_chat_template_kwargs: dict[str, Any] = field(default_factory=dict)
    """Arguments of the tokenizer's chat template, for example `enable_thinking`."""


@dataclass
class KlCtrlConfig:
    type: str = "fixed"
    """`fixed`, or `adaptive`: the coefficient is adjusted towards `target_kl`."""
    kl_coef: float = 0.001
    """Weight of the KL in the reward."""
    horizon: int = 10000
    """Number of responses over which an adaptive coefficient changes."""
    target_kl: float = 0.1
    """Target KL per token of an adaptive coefficient."""


@dataclass
class FilterGroupsConfig:
    enable: bool = False
    """DAPO's dynamic sampling: replace prompts whose responses all have the same result."""
    metric: str = "reward"
    """The result that is compared: `reward`, or `acc` (whether the response is correct; else the
    reward)."""
    max_num_gen_batches: int = 0
    """End the run with an error if this many batches of prompts do not fill a step; 0: no limit."""


@dataclass
class RolloutCorrectionConfig:
    rollout_is: str | None = None
    """Truncated importance sampling against the rollout engine's distribution: `token` or `sequence`."""
    rollout_is_threshold: Any = 2.0
    """The largest weight; or `"0.5_5.0"`, the smallest and the largest: other weights become 0
    (IcePop)."""
    rollout_is_batch_normalize: bool = False
    """Divide the weights by their mean over the step."""
    rollout_rs: str | None = None
    """Leave tokens or responses out of the loss that are too far from the rollout engine: `token_k1`,
    `token_k2`, `token_k3`, or the same with `seq_sum_`, `seq_mean_` or `seq_max_` (k2 and k3). Separate
    several by commas."""
    rollout_rs_threshold: Any = None
    """One bound for all names in `rollout_rs`, or one for each, separated by commas. k1: `"0.6_1.6"`,
    limits of p_rollout / p_trainer (`1.6`: that and its reciprocal). k2 and k3: an upper limit."""
    bypass_mode: bool = False
    """Use the rollout engine's log-probabilities as the old policy's; see `loss_type`."""
    loss_type: str = "ppo_clip"
    """With `bypass_mode`: `ppo_clip` (the ratio corrects; the weights are only logged), or `reinforce`
    (only the weights correct, without ratio and clipping)."""

    @property
    def on(self) -> bool:
        """Whether anything here asks for the rollout engine's log-probabilities."""
        return bool(self.bypass_mode or self.rollout_is or self.rollout_rs)


@dataclass
class PfPpoConfig:
    reweight_method: str = "pow"
    """Weight of a response: `pow` (|score|^weight_pow), `max_min` (only the best and the worst scores) or
    `max_random` (the best scores, four times as often)."""
    weight_pow: float = 2.0
    """Exponent of `pow`."""


@dataclass
class AlgorithmConfig:
    adv_estimator: str = "gae"
    """`gae` (needs a critic), or without a critic: `grpo`, `gdpo`, `grpo_passk`, `rloo`, `opo`, `gpg`,
    `reinforce_plus_plus`, `reinforce_plus_plus_baseline`, `remax`, `optimal_token_baseline` or
    `tir_optimal_token_baseline`."""
    norm_adv_by_std_in_grpo: bool = True
    """Divide by the group's standard deviation. For Dr.GRPO set false and
    `loss_agg_mode=seq-mean-token-sum-norm`."""
    gdpo_reward_keys: list[str] | None = None
    """GDPO: the parts of the score that are normalised separately; `score` and `acc` are allowed."""
    gdpo_reward_weights: list[float] | None = None
    """GDPO: the weights of these parts, in the same order; null: 1 each."""
    gamma: float = 1.0
    """Discount factor, per token."""
    lam: float = 1.0
    """Lambda of GAE: 0 uses only the critic, 1 only the returns."""
    use_kl_in_reward: bool = False
    """Subtract the KL to the reference from the reward of each token."""
    kl_penalty: str = "kl"
    """`kl` (k1), `abs`, `mse` (k2) or `low_var_kl` (k3)."""
    kl_ctrl: KlCtrlConfig = field(default_factory=KlCtrlConfig)
    filter_groups: FilterGroupsConfig = field(default_factory=FilterGroupsConfig)
    rollout_correction: RolloutCorrectionConfig = field(default_factory=RolloutCorrectionConfig)
    use_pf_ppo: bool = False
    """PF-PPO: resample the responses of a step with replacement, by weights of their scores."""
    pf_ppo: PfPpoConfig = field(default_factory=PfPpoConfig)
    turn_advantages: str = "summed"
    """How group estimators use rewards of turns: `summed` over the episode, or `per_turn` (turns with the
    same number are compared; a token gets the advantages of its turn and all later ones)."""
    mask_truncated_completions: bool = False
    """DAPO's overlong filtering: leave truncated responses out of the loss. They still count for the
    advantages of the others."""


@dataclass
class DistillationLossConfig:
    loss_mode: str = "k3"
    """Distance of the policy from the teacher at a token: `k1` (log p/q), `abs`, `k2` or `k3`; verl's
    names `kl`, `mse` and `low_var_kl` also work."""
    use_policy_gradient: bool = False
    """True: subtract the distance from the token's advantage (with k1 this is the gradient of the reverse
    KL). False: use it as a loss."""
    use_task_rewards: bool = True
    """False: train only on the teacher; scores are only logged."""
    distillation_loss_coef: float = 1.0
    """Weight of the distance, with `use_task_rewards`; otherwise 1."""
    loss_max_clamp: float | None = None
    """Clamp the distance of a token to +- this value."""


@dataclass
class TeacherModelConfig:
    model_path: str | None = None
    """The teacher: a Hugging Face folder or hub name. It needs the policy's vocabulary."""


@dataclass
class TeacherModelsConfig:
    teacher_model: TeacherModelConfig = field(default_factory=TeacherModelConfig)


@dataclass
class DistillationConfig:
    """On-policy distillation: a teacher says how likely each token of the policy's responses is."""

    enabled: bool = False
    """Train with a teacher, loaded with the settings of `actor_rollout_ref.ref`."""
    distillation_loss: DistillationLossConfig = field(default_factory=DistillationLossConfig)
    teacher_models: TeacherModelsConfig = field(default_factory=TeacherModelsConfig)

    @property
    def rewards_tokens(self) -> bool:
        """Whether the teacher changes the advantages."""
        return self.enabled and self.distillation_loss.use_policy_gradient

    @property
    def coef(self) -> float:
        """The weight of what the teacher says."""
        given = self.distillation_loss
        return given.distillation_loss_coef if given.use_task_rewards else 1.0


@dataclass
class OverlongBufferConfig:
    enable: bool = False
    """DAPO's soft overlong penalty: the reward falls linearly over the last `len` tokens of the response
    length."""
    len: int = 0
    """Length of the buffer in tokens."""
    penalty_factor: float = 1.0
    """Penalty of a response of the full length."""
    log: bool = False
    """Log the mean penalty and the share of penalised responses."""


@dataclass
class RewardModelPathConfig:
    path: str | None = None
    """Folder or hub name of a sequence classifier. Its logit is the score."""


@dataclass
class RewardModelConfig:
    overlong_buffer: OverlongBufferConfig = field(default_factory=OverlongBufferConfig)
    enable: bool = False
    """Score the responses with a reward model. The run starts one server for all processes; the model
    uses its own tokenizer and chat template."""
    url: str | None = None
    """Address of a running server (`rewardkit serve --reward-model`), instead of starting one. Token:
    $REWARDKIT_TOKEN."""
    model: RewardModelPathConfig = field(default_factory=RewardModelPathConfig)
    scores: str = "all"
    """Which data sources the model scores: `all`, as in verl, or `rest`: those without another reward."""
    backend: str = "transformers"
    """`transformers` or `vllm`."""
    dtype: str = "auto"
    """`float32`, `bfloat16`, `float16` or `auto` (for vLLM a 16-bit type)."""
    max_length: int = 0
    """Maximum tokens of prompt and response; 0: the model's limit."""
    batch_tokens: int = 16384
    """Tokens in one forward of the reward model, with padding."""


@dataclass
class RewardConfig:
    url: str | None = None
    """Address of a reward server; without it the rewards run in this process. Token: $REWARDKIT_TOKEN."""
    options: dict[str, Any] = field(default_factory=dict)
    """Options by data source: `reward.options.gsm8k.method=flexible`. Only for local rewards."""
    compositions: str | None = None
    """YAML file of composed rewards (docs/compose.md). Only for local rewards."""
    lock: str | None = None
    """Lock file (docs/lock.md). The run is refused if a reward of its training data has changed. Only for
    local rewards."""
    mode: str = "trajectory"
    """Rewards of an episode: `trajectory` (its score, on the last token), `turn` (the rewards of tools
    and interactions, on the last token of each turn) or `mixed` (both)."""
    turn_weight: float = 1.0
    """Weight of the rewards of turns, with `mode=mixed`."""
    trajectory_weight: float = 1.0
    """Weight of the episode's score, with `mode=mixed`."""
    on_error: str = "mask"
    """If a response cannot be scored: `mask` leaves it out of the loss, `raise` ends the run, `value`
    gives it `reward.error_value`."""
    error_value: float = 0.0
    """Score of a response that cannot be scored, with `on_error=value`."""
    timeout_s: float = 600.0
    """Time limit for the scores, from the end of generation. Later scores have the status `timeout`."""
    num_workers: int | None = None
    """Per process: the number of scoring workers (default: its share of the cores), or with `url` the
    number of concurrent requests (default: 8)."""


@dataclass
class CustomRewardFunctionConfig:
    path: str | None = None
    """A Python file, or `pkg://package.module`, whose function scores every data source (docs/imports.md)."""
    name: str = "compute_score"
    """Name of the function. It takes (data_source, solution_str, ground_truth, extra_info) and may be
    async."""
    reward_kwargs: dict[str, Any] = field(default_factory=dict)
    """Further arguments of every call."""


@dataclass
class AlarmsConfig:
    failures: float | None = 0.2
    """Threshold of the share of responses that could not be scored. Null disables a rule, here and
    below."""
    equal_rewards: float | None = 1.0
    """Threshold of the share of groups with equal rewards, over three steps."""
    correction: float | None = 0.5
    """Threshold of the share of tokens that the rollout correction clips or rejects."""
    truncated: float | None = 0.5
    """Threshold of the share of truncated responses, over three steps."""
    entropy: float | None = 0.02
    """Lower limit of the entropy in nats per token, over three steps."""
    format: float | None = 0.8
    """Threshold of the share of |advantage| between equally right responses, over three steps."""
    length: float | None = 0.5
    """Threshold of the share of the advantages' variance that length predicts among equally right
    responses, over three steps."""


@dataclass
class StageConfig:
    """`trainer` of any stage: how long, where, with what."""

    total_epochs: int = 30
    """Passes over the training prompts."""
    total_training_steps: int | None = None
    """Number of training steps. If set, `total_epochs` is ignored."""
    project_name: str = "rewardkit"
    """Part of the name of the checkpoint folder, and the project in trackers."""
    experiment_name: str = "ppo"
    """Part of the name of the checkpoint folder, and the run in trackers."""
    logger: Any = field(default_factory=lambda: ["console", "jsonl"])
    """One or a list of `console`, `jsonl` (verl's `file`), `tensorboard`, `wandb`, `mlflow`, `trackio`."""
    nnodes: int = 1
    """Number of machines."""
    n_gpus_per_node: int = 1
    """Number of processes per machine: one per GPU, or any number on a CPU."""
    balance_batch: bool = True
    """Distribute the rows so that each process has about as many tokens. The result does not change."""
    device: str = "auto"
    """`auto` (cuda if available), `cuda` or `cpu`."""
    save_freq: int = -1
    """Steps between checkpoints; -1: only the last step. The last step is always saved."""
    test_freq: int = -1
    """Steps between validations; -1: only the last step. With `val_files` the last step is always
    validated."""
    val_before_train: bool = True
    """Validate before the first step."""
    profile_steps: Any = None
    """List of steps to trace with torch's profiler. The traces are written to
    `default_local_dir`/profile."""
    default_local_dir: str = "checkpoints/${trainer.project_name}/${trainer.experiment_name}"
    """Folder of checkpoints, config and log. Several machines must share it."""
    default_hdfs_dir: str | None = None
    """Not supported: mount the store, or copy from `default_local_dir`."""
    resume_mode: str = "auto"
    """`auto`: resume from the last checkpoint in `default_local_dir`, if there is one; `disable`: start
    over; `resume_path`: resume from `resume_from_path`."""
    resume_from_path: str | None = None
    """Checkpoint folder `global_step_N`."""
    max_ckpt_to_keep: int | None = None
    """Number of checkpoints to keep, the newest; null: all."""
    max_actor_ckpt_to_keep: int | None = None
    """verl's name for `max_ckpt_to_keep`. Of these three settings the largest is used."""
    max_critic_ckpt_to_keep: int | None = None
    """See `max_actor_ckpt_to_keep`."""
    del_local_ckpt_after_load: bool = False
    """Must be false: without the checkpoint the run could not be resumed again."""
    launcher: str = "torchrun"
    """How the processes are started: `torchrun` on this machine, or `ray` on a cluster."""
    max_restarts: int = 0
    """How often all processes are restarted from the last checkpoint after one died."""


@dataclass
class TrainerConfig(StageConfig):
    log_val_generations: int = 0
    """Number of responses of each validation to show on the console and in trackers."""
    rollout_data_dir: str | None = None
    """Folder for all training responses and their scores, one file per step. `rewardkit view` shows
    it."""
    validation_data_dir: str | None = None
    """The same for the responses of each validation."""
    data_dir_format: str = "jsonl"
    """Format of these files: `jsonl` or `parquet`."""
    val_only: bool = False
    """Only validate, without training."""
    mode: str = "sync"
    """When responses are generated: `sync`, with the current weights; `one_step_off`, while the policy
    trains on the previous step; `async`, up to `max_staleness` steps ahead, also while weights change.
    The last two need `rollout.name=vllm_server` (docs/async.md)."""
    max_staleness: int = 1
    """With `mode=async`: how many steps older than the policy the weights of a response's first token may
    be; 0 gives the results of `sync`."""
    alarm: str = "warn"
    """What an alarm does: `warn` (print a line), `stop` (save the step and end the run) or `off`."""
    alarms: AlarmsConfig = field(default_factory=AlarmsConfig)
    """Thresholds of the alarms (docs/watching.md)."""
    critic_warmup: int = 0
    """Number of first steps in which only the critic is trained, if there is one."""


@dataclass
class Config:
    data: DataConfig = field(default_factory=DataConfig)
    actor_rollout_ref: ActorRolloutRefConfig = field(default_factory=ActorRolloutRefConfig)
    critic: CriticConfig = field(default_factory=CriticConfig)
    algorithm: AlgorithmConfig = field(default_factory=AlgorithmConfig)
    distillation: DistillationConfig = field(default_factory=DistillationConfig)
    reward: RewardConfig = field(default_factory=RewardConfig)
    reward_model: RewardModelConfig = field(default_factory=RewardModelConfig)
    custom_reward_function: CustomRewardFunctionConfig = field(default_factory=CustomRewardFunctionConfig)
    trainer: TrainerConfig = field(default_factory=TrainerConfig)


class RunConfig(Protocol):
    """The settings of any stage."""

    @property
    def trainer(self) -> StageConfig:
        """Where it runs, and how long."""
        ...


def world_size(config: RunConfig) -> int:
    """Return the number of processes the config asks for."""
    return config.trainer.nnodes * config.trainer.n_gpus_per_node


def steps_ahead(config: TrainerConfig) -> int:
    """Return how many steps before its own a batch is begun."""
    return {"sync": 0, "one_step_off": 1, "async": config.max_staleness}[config.mode]


def loss_mode(config: Config) -> str:
    """Return the name of the policy loss: `policy_loss.loss_mode`, unless the correction has its own."""
    correction = config.algorithm.rollout_correction
    if correction.bypass_mode and correction.loss_type == "reinforce":
        return "gpg"  # plain REINFORCE: -A log p
    return config.actor_rollout_ref.actor.policy_loss.loss_mode


def logger_names(config: RunConfig) -> list[str]:
    """Return the names in `trainer.logger`, ours for verl's."""
    given = config.trainer.logger
    if not isinstance(given, str | list | tuple | None):
        raise ConfigError(f"trainer.logger must be a name or a list of names, found {given!r}")
    names = [given] if isinstance(given, str) else list(given or [])
    return ["jsonl" if name == "file" else str(name) for name in names]
