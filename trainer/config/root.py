"""All settings of the trainer, typed and with verl's key names. `load.py` reads the settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from omegaconf import MISSING

from rewardkit.errors import ConfigError
from rewardkit.trainer.config.allowed import (
    ABOVE_0,
    ADDRESSES,
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
from rewardkit.trainer.config.workers import ActorRolloutRefConfig, CriticConfig


@dataclass
class DataConfig:
    train_files: Any = MISSING
    """File, or list of files (parquet, jsonl, json or csv), with the training prompts. The files need the
    columns `data_source` and `prompt`, and a ground truth."""
    val_files: Any = None
    """File, or list of files, with the validation prompts. The files need the same columns as
    `train_files`."""
    train_max_samples: int = allowed(-1, COUNT_OR_ALL)
    """Use only the first N training rows. -1 uses all rows."""
    val_max_samples: int = allowed(-1, COUNT_OR_ALL)
    """Use only the first N validation rows. -1 uses all rows."""
    train_batch_size: int = allowed(1024, POSITIVE)
    """Number of prompts per training step, over all processes."""
    max_prompt_length: int = allowed(512, POSITIVE)
    """Maximum number of tokens per prompt. Shorter prompts are padded to this length. `truncation` defines
    what happens to longer prompts."""
    max_response_length: int = allowed(512, POSITIVE)
    """Maximum number of tokens per response. Longer responses are truncated."""
    prompt_key: str = "prompt"
    """Column with the prompts. A prompt is a string or a list of messages."""
    shuffle: bool = True
    """Shuffle the rows in each epoch, using `seed`."""
    seed: int = allowed(1, SEEDS)
    """Random seed for shuffling, for sampling and for the critic. Runs with the same seed give the same
    results."""
    filter_overlong_prompts: bool = False
    """Skip prompts that are longer than `max_prompt_length`. The filter is applied before `truncation`."""
    leave_out: list[str] = field(default_factory=list)
    """Flags of training rows to leave out, such as `[weak_tests]`. `rewardkit audit --flag` writes the
    flags: `weak_tests`, `pays_constant` and `denies_reference`."""
    truncation: str = allowed("error", ("error", "left", "right", "middle"))
    """Treatment of prompts that are longer than `max_prompt_length`. `error` stops the run. `left`, `right`
    and `middle` cut off that part of the prompt."""
    apply_chat_template_kwargs: dict[str, Any] = field(default_factory=dict)
    """Arguments for the tokenizer's chat template, such as `enable_thinking`."""


@dataclass
class KlCtrlConfig:
    type: str = allowed("fixed", ("fixed", "adaptive"))
    """`fixed` uses a constant coefficient. `adaptive` adjusts the coefficient to reach `target_kl`."""
    kl_coef: float = allowed(0.001, NOT_NEGATIVE)
    """Coefficient of the KL in the reward. With `type=adaptive`, this is the initial value."""
    horizon: int = allowed(10000, ABOVE_0)
    """With `type=adaptive`, number of responses over which the coefficient changes. A larger value means
    slower changes."""
    target_kl: float = allowed(0.1, ABOVE_0)
    """With `type=adaptive`, the target KL per token."""


@dataclass
class FilterGroupsConfig:
    enable: bool = False
    """Enable DAPO's dynamic sampling. Prompts whose responses all have the same result are replaced with
    other prompts."""
    metric: str = allowed("reward", ("reward", "acc"))
    """Result that dynamic sampling compares: `reward`, or `acc`, which is whether the response is correct. If
    the reward does not report correctness, `acc` falls back to the reward."""
    max_num_gen_batches: int = allowed(0, NOT_NEGATIVE)
    """Stop the run with an error if a step is not full after this many batches of prompts. With
    `trainer.order=ready`, each process counts its own prompts. 0 means no limit."""


@dataclass
class RolloutCorrectionConfig:
    rollout_is: str | None = allowed(
        None, NamesOf("rewardkit.trainer.algorithms.correction:LEVELS", none=True)
    )
    """Level of the truncated importance sampling weights, which correct for differences between the policy
    and the rollout engine: `token` or `sequence`. Null disables the weights."""
    rollout_is_threshold: Any = 2.0
    """Upper limit for importance weights; larger weights are truncated. A range such as `"0.5_5.0"` sets
    weights outside of the range to 0, as in IcePop."""
    rollout_is_batch_normalize: bool = False
    """Divide the importance weights by their mean over the step."""
    rollout_rs: str | None = None
    """Criteria to exclude tokens or responses from the loss if the policy and the rollout engine differ too
    much. A name consists of a level (`token`, `seq_sum`, `seq_mean` or `seq_max`) and an estimator of the KL
    (`k1`, `k2` or `k3`), such as `token_k1`. `seq_max_k1` does not exist. Separate several names with
    commas."""
    rollout_rs_threshold: Any = None
    """Threshold for all names in `rollout_rs`, or one threshold per name, separated by commas. For k1, the
    threshold is a range for the ratio p_rollout / p_trainer, such as `"0.6_1.6"`. A single number such as
    `1.6` stands for the range from 1/1.6 to 1.6. For k2 and k3, the threshold is an upper limit."""
    bypass_mode: bool | None = None
    """Use the log probabilities from the rollout engine as those of the old policy. See also `loss_type`.
    Null is true if responses may come from older weights (`trainer.mode`) and neither `rollout_is` nor
    `rollout_rs` is set."""
    loss_type: str = allowed("ppo_clip", ("ppo_clip", "reinforce"))
    """Loss in `bypass_mode`. `ppo_clip` is PPO's clipped loss without importance weights, which are only
    logged. `reinforce` uses the importance weights, without a ratio and without clipping."""


@dataclass
class AlgorithmConfig:
    adv_estimator: str = allowed("gae", NamesOf("rewardkit.trainer.algorithms.advantages:ESTIMATORS"))
    """Advantage estimator. `gae` requires a critic. The others do not: `grpo`, `gdpo`, `grpo_passk`, `rloo`,
    `opo`, `gpg`, `reinforce_plus_plus`, `reinforce_plus_plus_baseline`, `remax`, `optimal_token_baseline` and
    `tir_optimal_token_baseline`."""
    norm_adv_by_std_in_grpo: bool = True
    """Divide advantages by the standard deviation of the group. For Dr.GRPO, set this to false and set
    `loss_agg_mode` to `seq-mean-token-sum-norm`."""
    gdpo_reward_keys: list[str] | None = None
    """GDPO: parts of the score to normalise separately. The names `score` and `acc` are also accepted."""
    gdpo_reward_weights: list[float] | None = allowed(None, FINITE)
    """GDPO: weights of the parts in `gdpo_reward_keys`, in the same order. Null sets all weights to 1."""
    gamma: float = allowed(1.0, SHARE)
    """Discount factor per token."""
    lam: float = allowed(1.0, SHARE)
    """Lambda for GAE. With 0, advantages use only one step of reward and the critic. With 1, they use the
    whole return."""
    use_kl_in_reward: bool = False
    """Subtract the KL to the reference policy from the reward of each token."""
    kl_penalty: str = allowed("kl", NamesOf("rewardkit.trainer.algorithms.kl:PENALTIES"))
    """Estimator of the KL in the reward: `kl` (k1), `abs`, `mse` (k2) or `low_var_kl` (k3)."""
    kl_ctrl: KlCtrlConfig = field(default_factory=KlCtrlConfig)
    filter_groups: FilterGroupsConfig = field(default_factory=FilterGroupsConfig)
    rollout_correction: RolloutCorrectionConfig = field(default_factory=RolloutCorrectionConfig)
    turn_advantages: str = allowed("summed", ("summed", "per_turn"))
    """Use of the rewards of turns by group estimators. `summed` adds up the rewards of an episode. `per_turn`
    compares turns with the same number, and each token gets the sum of the advantages of its own turn and all
    later turns."""
    mask_truncated_completions: bool = False
    """Exclude truncated responses from the loss (DAPO's overlong filtering). Truncated responses still affect
    the advantages of other responses."""


@dataclass
class DistillationLossConfig:
    loss_mode: str = allowed("k3", NamesOf("rewardkit.trainer.algorithms.divergences:DISTANCES"))
    """Distance between the policy p and the teacher q at each token. `k1`, `abs`, `k2` and `k3` are estimates
    at the sampled token. verl's names `kl`, `mse` and `low_var_kl` are also accepted. `forward_kl`, KL(q||p),
    `reverse_kl`, KL(p||q), and `jsd` compare the whole vocabulary. `forward_kl_topk` compares the teacher's
    `topk` most likely tokens. `forward_kl_topk_tail` also compares the probability of all others."""
    topk: int = allowed(32, POSITIVE)
    """Number of tokens in `forward_kl_topk` and `forward_kl_topk_tail`."""
    jsd_beta: float = allowed(0.5, Interval(0, 1, open_low=True, open_high=True))
    """Weight of the teacher in the mixture of `jsd`. Values near 0 approach the direction of the forward KL,
    values near 1 the reverse KL."""
    log_prob_min_clamp: float | None = allowed(None, FINITE)
    """Lower bound for the log-probabilities in `forward_kl_topk` and `forward_kl_topk_tail`. Lower ones are
    raised to it and have no gradient."""
    use_policy_gradient: bool = False
    """If true, subtract the distance from the advantage of each token. With `k1`, this is the gradient of the
    reverse KL. Only for estimates at the sampled token. If false, use the distance as a loss."""
    use_task_rewards: bool = True
    """If false, train only on the teacher. Scores are still logged."""
    distillation_loss_coef: float = allowed(1.0, NOT_NEGATIVE)
    """Weight of the divergence. Without `use_task_rewards`, the weight is always 1."""
    loss_max_clamp: float | None = allowed(None, POSITIVE)
    """Clamp the divergence at each token to the range from -N to N."""


@dataclass
class TeacherModelConfig:
    model_path: str | None = None
    """Folder or hub name of the teacher model. The teacher must have the same vocabulary as the policy."""


@dataclass
class TeacherModelsConfig:
    teacher_model: TeacherModelConfig = field(default_factory=TeacherModelConfig)


@dataclass
class DistillationConfig:
    """On-policy distillation: a teacher evaluates each token of the policy's responses."""

    enabled: bool = False
    """Train with a teacher model. The teacher uses the settings of `actor_rollout_ref.ref`."""
    distillation_loss: DistillationLossConfig = field(default_factory=DistillationLossConfig)
    teacher_models: TeacherModelsConfig = field(default_factory=TeacherModelsConfig)

    @property
    def rewards_tokens(self) -> bool:
        """True if the teacher changes the advantages."""
        return self.enabled and self.distillation_loss.use_policy_gradient

    @property
    def coef(self) -> float:
        """Weight of the divergence from the teacher."""
        given = self.distillation_loss
        return given.distillation_loss_coef if given.use_task_rewards else 1.0


@dataclass
class OverlongBufferConfig:
    enable: bool = False
    """Enable DAPO's soft overlong penalty. The penalty grows linearly over the last `len` tokens of the
    maximum response length."""
    len: int = allowed(0, NOT_NEGATIVE)
    """Length of the overlong buffer, in tokens."""
    penalty_factor: float = allowed(1.0, NOT_NEGATIVE)
    """Penalty for a response of the maximum length."""
    log: bool = False
    """Log the mean penalty and the share of responses with a penalty."""


@dataclass
class RewardModelPathConfig:
    path: str | None = None
    """Folder or hub name of a sequence classification model. Its logit is the score."""
    head: str = ""
    """Name of the layer whose output is the score, if the model's files contain several heads, such as
    `v_head.summary`. By default, the head is found by its shape."""


@dataclass
class RewardModelConfig:
    overlong_buffer: OverlongBufferConfig = field(default_factory=OverlongBufferConfig)
    enable: bool = False
    """Score responses with a reward model. The run starts one server for all processes. The reward model uses
    its own tokenizer and chat template."""
    url: str | None = allowed(None, ADDRESSES)
    """URL of a running server (`rewardkit serve --reward-model`) to use instead of starting one. The token is
    read from REWARDKIT_TOKEN."""
    model: RewardModelPathConfig = field(default_factory=RewardModelPathConfig)
    scores: str = allowed("all", ("all", "rest"))
    """Data sources that the reward model scores. `all` scores every data source, as in verl. `rest` scores
    only data sources without another reward."""
    backend: str = allowed("transformers", ("transformers", "vllm"))
    """Library that runs the reward model: `transformers` or `vllm`."""
    dtype: str = allowed("auto", ("auto", "float32", "bfloat16", "float16"))
    """Data type of the reward model: `float32`, `bfloat16`, `float16` or `auto`. For vLLM, `auto` is a 16-bit
    type."""
    max_length: int = allowed(0, NOT_NEGATIVE)
    """Maximum number of tokens for a prompt and its response together. 0 uses the limit of the model."""
    batch_tokens: int = allowed(16384, ABOVE_0)
    """Maximum number of tokens per forward pass of the reward model, including padding."""


@dataclass
class RewardConfig:
    url: str | None = allowed(None, ADDRESSES)
    """URL of a reward server. If not set, rewards run in the training process. The token is read from
    REWARDKIT_TOKEN."""
    options: dict[str, Any] = field(default_factory=dict)
    """Reward options by data source, such as `reward.options.gsm8k.method=flexible`. Not used with `url`."""
    compositions: str | None = None
    """YAML file with composed rewards (docs/compose.md). Not used with `url`."""
    lock: str | None = None
    """Lock file (docs/lock.md). The run stops with an error if a reward for its training data has changed.
    Not used with `url`."""
    mode: str = allowed("trajectory", ("trajectory", "turn", "mixed"))
    """Position of the rewards of an episode. `trajectory` places the score of the episode on the last token.
    `turn` places the rewards from tools and interactions on the last token of each turn. `mixed` uses
    both."""
    turn_weight: float = allowed(1.0, FINITE)
    """Weight of the rewards of turns, with `mode=mixed`."""
    trajectory_weight: float = allowed(1.0, FINITE)
    """Weight of the score of the episode, with `mode=mixed`."""
    on_error: str = allowed("mask", ("mask", "raise", "value"))
    """Treatment of responses that could not be scored. `mask` excludes them from the loss, `raise` stops the
    run, and `value` gives them the score `reward.error_value`."""
    error_value: float = allowed(0.0, FINITE)
    """Score for responses that could not be scored, with `on_error=value`."""
    timeout_s: float = allowed(600.0, POSITIVE)
    """Time limit for scoring, in seconds, counted from the end of generation. Responses that are not scored
    in time get the status `timeout`."""
    num_workers: int | None = allowed(None, POSITIVE)
    """Number of scoring workers per process. The default is the process's share of the CPU cores. With `url`,
    this is the number of concurrent requests per process (default: 8)."""


@dataclass
class CustomRewardFunctionConfig:
    path: str | None = None
    """Python file, or `pkg://package.module`, with a function that scores every data source
    (docs/imports.md)."""
    name: str = "compute_score"
    """Name of the function. The function receives (data_source, solution_str, ground_truth, extra_info) and
    can be async."""
    reward_kwargs: dict[str, Any] = field(default_factory=dict)
    """Additional keyword arguments for the function."""


@dataclass
class AlarmsConfig:
    failures: float | None = allowed(0.2, SHARE)
    """Alarm threshold for the share of responses that could not be scored. Null disables this alarm."""
    equal_rewards: float | None = allowed(1.0, SHARE)
    """Alarm threshold for the share of groups with equal rewards, over three steps. Null disables this
    alarm."""
    correction: float | None = allowed(0.5, SHARE)
    """Alarm threshold for the share of tokens that the rollout correction clips or rejects. Null disables
    this alarm."""
    skipped_updates: float | None = allowed(1.0, SHARE)
    """Alarm threshold for the number of updates per step that are skipped because their gradients are not
    finite, over three steps. Null disables this alarm."""
    truncated: float | None = allowed(0.5, SHARE)
    """Alarm threshold for the share of truncated responses, over three steps. Null disables this alarm."""
    entropy: float | None = allowed(0.02, NOT_NEGATIVE)
    """Alarm threshold for low entropy, in nats per token, over three steps. Null disables this alarm."""
    format: float | None = allowed(0.8, SHARE)
    """Alarm threshold for the share of |advantage| between responses that are equally right, over three
    steps. Null disables this alarm."""
    masked: float | None = allowed(0.05, SHARE)
    """Alarm threshold for the share of tokens that are trained on, but are masked because they are too old
    (`trainer.late=mask`), over three steps. Null disables this alarm."""
    trained_length: float | None = allowed(0.1, SHARE)
    """With `trainer.order=ready`, alarm threshold for the difference between the mean lengths of the
    responses that are trained on and of all responses, as a share, over three steps. Null disables this
    alarm."""
    length: float | None = allowed(0.5, SHARE)
    """Alarm threshold for the share of the variance of advantages that response length explains, among
    responses that are equally right, over three steps. Null disables this alarm."""
    overoptimization: float | None = allowed(0.15, NOT_NEGATIVE)
    """Alarm threshold for a significant fall of the validation while the score of a reward model rises, in
    standard deviations between prompts. Null disables this alarm."""


@dataclass
class StageConfig:
    """Settings in the section `trainer` that all stages share."""

    total_epochs: int = allowed(30, POSITIVE)
    """Number of passes over the training data."""
    total_training_steps: int | None = allowed(None, POSITIVE)
    """Number of training steps. If set, `total_epochs` is ignored."""
    project_name: str = "rewardkit"
    """Name of the project in trackers. It is also part of the default checkpoint folder."""
    experiment_name: str = "ppo"
    """Name of the run in trackers. It is also part of the default checkpoint folder."""
    logger: Any = field(default_factory=lambda: ["console", "jsonl"])
    """Destinations of metrics: one or more of `console`, `jsonl` (verl's `file`), `tensorboard`, `wandb`,
    `mlflow` and `trackio`."""
    nnodes: int = allowed(1, POSITIVE)
    """Number of machines."""
    n_gpus_per_node: int = allowed(1, POSITIVE)
    """Number of processes per machine. Use one per GPU. On CPUs, you can use any number."""
    balance_batch: bool = True
    """Distribute rows so that all processes have about the same number of tokens. This does not change the
    result."""
    device: str = allowed(
        "auto",
        ("auto", "cpu", "cuda"),
        instead="expected {known}; set trainer.device=cuda, or leave trainer.device out",
    )
    """Device to train on: `cuda`, `cpu`, or `auto`, which uses CUDA if it is available."""
    save_freq: int = allowed(-1, COUNT_OR_ALL)
    """Number of steps between checkpoints. The last step is always saved. -1 saves only the last step."""
    test_freq: int = allowed(-1, COUNT_OR_ALL)
    """Number of steps between validations. If `val_files` is set, the last step is always validated. -1
    validates only the last step."""
    val_before_train: bool = True
    """Validate before the first training step."""
    profile_steps: list[int] | None = allowed(None, ABOVE_0)
    """List of steps to trace with the PyTorch profiler. Traces are written to the folder `profile` in
    `default_local_dir`."""
    default_local_dir: str = "checkpoints/${trainer.project_name}/${trainer.experiment_name}"
    """Folder for checkpoints, the config and the log. If you train on several machines, the folder must be
    shared."""
    resume_mode: str = allowed("auto", ("auto", "disable", "resume_path"))
    """`auto` resumes from the last checkpoint in `default_local_dir`, if there is one. `disable` starts a new
    run. `resume_path` resumes from `resume_from_path`."""
    resume_from_path: str | None = None
    """Checkpoint folder `global_step_N` to resume from, with `resume_mode=resume_path`."""
    max_ckpt_to_keep: int | None = allowed(None, POSITIVE)
    """Number of most recent checkpoints to keep. Null keeps all checkpoints."""
    max_actor_ckpt_to_keep: int | None = allowed(None, POSITIVE)
    """verl's name for `max_ckpt_to_keep`. If several of the `max_*ckpt_to_keep` settings are set, the largest
    value is used."""
    max_critic_ckpt_to_keep: int | None = allowed(None, POSITIVE)
    """verl's name for `max_ckpt_to_keep`. If several of the `max_*ckpt_to_keep` settings are set, the largest
    value is used."""
    launcher: str = allowed("torchrun", ("torchrun", "ray"))
    """Program that starts the processes: `torchrun` on this machine, or `ray` on a Ray cluster."""
    max_restarts: int = allowed(0, NOT_NEGATIVE)
    """Maximum number of times that the run is restarted from the last checkpoint after a process has died."""


@dataclass
class TrainerConfig(StageConfig):
    log_val_generations: int = allowed(0, NOT_NEGATIVE)
    """Number of responses from each validation to show on the console and in trackers."""
    rollout_data_dir: str | None = None
    """Folder for the training responses and their scores, with one file per step. Use `rewardkit view` to
    view the files."""
    validation_data_dir: str | None = None
    """Folder for the responses of each validation and their scores."""
    data_dir_format: str = allowed("jsonl", ("jsonl", "parquet"))
    """Format of the files in `rollout_data_dir` and `validation_data_dir`: `jsonl` or `parquet`."""
    val_only: bool = False
    """Only validate, without training."""
    mode: str = allowed(
        "sync",
        ("sync", "one_step_off", "async"),
        instead="expected {known}; instead of verl's colocate_async, use async, which generates on its own "
        "servers",
    )
    """Time at which responses are generated. `sync` generates with the current weights. `one_step_off`
    generates while the policy trains on the previous step. `async` generates several steps ahead,
    even while weights are updated. `one_step_off` and `async` require `rollout.name=vllm_server`
    (docs/async.md)."""
    max_staleness: int = allowed(4, NOT_NEGATIVE)
    """With `mode=async`, the maximum number of steps by which the weights for the first token of a response
    can be older than the policy. 0 gives the same results as `mode=sync`."""
    pipeline_depth: int | None = allowed(None, NOT_NEGATIVE)
    """With `order=ready`, number of steps whose responses are generated in addition to those of the current
    step. Null is 2, but at most `max_staleness`. With `order=strict`, it is always `max_staleness`."""
    weight_sync_steps: int = allowed(1, POSITIVE)
    """With `mode=async`, number of steps after which the weights are sent to the servers. The weights in
    between count towards `max_staleness`."""
    order: str | None = allowed(None, NamesOf("rewardkit.trainer.group_queue:ORDERS", none=True))
    """With `mode=async`, the prompts that a step trains on. `ready` uses prompts whose responses are
    complete, so that most responses are newer and a slow response delays fewer steps. `strict` uses the next
    prompts, so that the prompts have the same order as with `mode=sync`. Null is `ready`, and with
    `max_staleness=0` `strict` (docs/async.md)."""
    late: str = allowed("wait", NamesOf("rewardkit.trainer.group_queue:LATE"))
    """With `order=ready`, treatment of a prompt whose responses would exceed `max_staleness` after this step.
    `wait` waits for the responses. `mask` does not wait and uses them later, but excludes tokens that are too
    old from the policy loss. `drop` discards the responses and generates new ones after the epoch. It trains
    on fewer long responses than the policy generates."""
    alarm: str = allowed("warn", ("warn", "stop", "off", "False"))
    """Action when an alarm is raised. `warn` prints a warning, `stop` saves a checkpoint and ends the run,
    and `off` disables alarms."""
    alarms: AlarmsConfig = field(default_factory=AlarmsConfig)
    """Thresholds of the alarms (docs/watching.md)."""
    critic_warmup: int = allowed(0, NOT_NEGATIVE)
    """Number of initial steps in which only the critic is trained. Has no effect without a critic."""


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
    """Common interface of the settings of all stages."""

    @property
    def trainer(self) -> StageConfig:
        """Settings in the section `trainer`."""
        ...


def world_size(config: RunConfig) -> int:
    """Return the configured number of processes."""
    return config.trainer.nnodes * config.trainer.n_gpus_per_node


def steps_ahead(config: TrainerConfig) -> int:
    """Return the number of steps by which generation of a batch may start in advance."""
    return {"sync": 0, "one_step_off": 1, "async": config.max_staleness}[config.mode]


def pipeline_depth(config: TrainerConfig) -> int:
    """Return the number of steps whose responses are generated in addition to those of the current step."""
    ahead = max_depth(config)
    if step_order(config) == "strict":
        return ahead
    return min(2, ahead) if config.pipeline_depth is None else config.pipeline_depth


def step_order(config: TrainerConfig) -> str:
    """Return the order in which steps train on prompts: `strict` or `ready`."""
    if config.mode != "async":
        return "strict"
    return config.order or ("ready" if config.max_staleness else "strict")


def max_depth(config: TrainerConfig) -> int:
    """Return the largest `pipeline_depth` that `max_staleness` allows."""
    return steps_ahead(config) - (config.weight_sync_steps - 1)


def trains_on_old(config: TrainerConfig) -> bool:
    """Return True if responses may come from weights that are older than the policy."""
    return pipeline_depth(config) > 0 or config.weight_sync_steps > 1


def needs_reference(config: Config) -> bool:
    """Return True if the reward or the loss has a KL to the reference policy."""
    return config.algorithm.use_kl_in_reward or config.actor_rollout_ref.actor.use_kl_loss


def masks_late(config: Config) -> bool:
    """Return True if tokens that are older than `max_staleness` are excluded from the policy loss."""
    return step_order(config.trainer) == "ready" and config.trainer.late == "mask"


def bypasses(config: Config) -> bool:
    """Return True if the rollout engine's log-probabilities are used as those of the old policy."""
    asked = config.algorithm.rollout_correction
    if asked.bypass_mode is None:
        return trains_on_old(config.trainer) and not (asked.rollout_is or asked.rollout_rs)
    return asked.bypass_mode


def corrects_rollouts(config: Config) -> bool:
    """Return True if a rollout correction is enabled, which needs the rollout engine's log-probabilities."""
    asked = config.algorithm.rollout_correction
    return bool(bypasses(config) or asked.rollout_is or asked.rollout_rs)


def loss_mode(config: Config) -> str:
    """Return the name of the policy loss: `policy_loss.loss_mode`, unless rollout correction replaces it."""
    asked = config.algorithm.rollout_correction
    if bypasses(config) and asked.loss_type == "reinforce":
        return "gpg"  # plain REINFORCE: -A log p
    by_default = "dppo_tv" if bypasses(config) and asked.bypass_mode is None else "vanilla"
    return config.actor_rollout_ref.actor.policy_loss.loss_mode or by_default


def logger_names(config: RunConfig) -> list[str]:
    """Return the names in `trainer.logger`, with verl's names replaced by rewardkit's."""
    given = config.trainer.logger
    if not isinstance(given, str | list | tuple | None):
        raise ConfigError(f"trainer.logger must be a name or a list of names, found {given!r}")
    names = [given] if isinstance(given, str) else list(given or [])
    return ["jsonl" if name == "file" else str(name) for name in names]
