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
class KlCtrlConfig:
    type: str = "fixed"
    """`fixed`, or `adaptive`: steers the coefficient towards `target_kl`."""
    kl_coef: float = 0.001
    """Weight of that KL."""
    horizon: int = 10000
    """Responses over which an adaptive coefficient moves."""
    target_kl: float = 0.1
    """KL per token that an adaptive coefficient steers for."""


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
    rollout_is_threshold: Any = 2.0
    """The largest weight; or `"0.5_5.0"`, a smallest and a largest: weights outside are 0 (IcePop)."""
    rollout_is_batch_normalize: bool = False
    """Divide the weights by their mean over the step, so that they are 1 on average."""
    rollout_rs: str | None = None
    """Leave out of the loss what is too far from the rollout engine: names with commas between, `token_k1`,
    `token_k2` or `token_k3`, or the same with `seq_sum_`, `seq_mean_` or `seq_max_` (k2 and k3)."""
    rollout_rs_threshold: Any = None
    """A bound for each of them, with commas, or one for all: of k1 `"0.6_1.6"`, of p_rollout / p_trainer
    (`1.6`: with its reciprocal); of k2 and k3 the largest."""
    bypass_mode: bool = False
    """Take the rollout engine's log-probabilities for those of the policy that acted; see `loss_type`."""
    loss_type: str = "ppo_clip"
    """With `bypass_mode`: `ppo_clip`, whose ratio corrects by itself (the weights are then figures only), or
    `reinforce`: no ratio and no clip, the weights alone correct."""

    @property
    def on(self) -> bool:
        """Whether anything here asks for the rollout engine's log-probabilities."""
        return bool(self.bypass_mode or self.rollout_is or self.rollout_rs)


@dataclass
class PfPpoConfig:
    reweight_method: str = "pow"
    """Weight of a response: `pow` (|score|^weight_pow), `max_min` (those of the best and the worst score
    alone) or `max_random` (those of the best four times as often)."""
    weight_pow: float = 2.0
    """The power of `pow`."""


@dataclass
class AlgorithmConfig:
    adv_estimator: str = "gae"
    """`gae` (with a critic), `grpo`, `gdpo`, `grpo_passk`, `rloo`, `opo`, `gpg`, `reinforce_plus_plus`,
    `reinforce_plus_plus_baseline`, `remax`, `optimal_token_baseline` or `tir_optimal_token_baseline`
    (without)."""
    norm_adv_by_std_in_grpo: bool = True
    """False, with `loss_agg_mode=seq-mean-token-sum-norm`: Dr.GRPO."""
    gdpo_reward_keys: list[str] | None = None
    """GDPO: the parts of the scores that are compared in the group each for itself; `score` and `acc` too."""
    gdpo_reward_weights: list[float] | None = None
    """GDPO: their weights, in the same order; null: 1 each."""
    gamma: float = 1.0
    """Discount of later rewards."""
    lam: float = 1.0
    """GAE's mix of steps: 0 trusts the critic, 1 the returns."""
    use_kl_in_reward: bool = False
    """Take the KL from the reference off the reward, token by token."""
    kl_penalty: str = "kl"
    """`kl` (k1), `abs`, `mse` (k2) or `low_var_kl` (k3)."""
    kl_ctrl: KlCtrlConfig = field(default_factory=KlCtrlConfig)
    filter_groups: FilterGroupsConfig = field(default_factory=FilterGroupsConfig)
    rollout_correction: RolloutCorrectionConfig = field(default_factory=RolloutCorrectionConfig)
    use_pf_ppo: bool = False
    """PF-PPO: learn from as many responses, drawn anew with replacement by weights of their scores."""
    pf_ppo: PfPpoConfig = field(default_factory=PfPpoConfig)
    turn_advantages: str = "summed"
    """How estimators that compare responses use rewards of turns: `summed` over the episode, or `per_turn`:
    each turn is compared with those of its number, and a token gets what its turn and the later ones got."""
    mask_truncated_completions: bool = False
    """DAPO's overlong filtering: a response of full length counts for the advantages, not in the loss."""


@dataclass
class DistillationLossConfig:
    loss_mode: str = "k3"
    """How far the policy is from the teacher at a token: `k1` (log p/q), `abs`, `k2` or `k3`, or with verl's
    other names `kl`, `mse`, `low_var_kl`."""
    use_policy_gradient: bool = False
    """True: its negative is added to the token's advantage (with k1: the reverse KL's gradient). False: it is
    a loss."""
    use_task_rewards: bool = True
    """False: the teacher alone teaches; scores are figures only."""
    distillation_loss_coef: float = 1.0
    """Its weight beside the task's rewards; without them 1."""
    loss_max_clamp: float | None = None
    """Bound of it at each token, on both sides."""


@dataclass
class TeacherModelConfig:
    model_path: str | None = None
    """The teacher: a Hugging Face folder or hub name, of the policy's vocabulary."""


@dataclass
class TeacherModelsConfig:
    teacher_model: TeacherModelConfig = field(default_factory=TeacherModelConfig)


@dataclass
class DistillationConfig:
    """On-policy distillation: a teacher says how likely each token of the policy's responses is."""

    enabled: bool = False
    """Learn from a teacher, with the settings of `actor_rollout_ref.ref`."""
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
    """DAPO's soft punishment: the reward falls linearly over the last `len` tokens of the response length."""
    len: int = 0
    """Last tokens of the response length in which the punishment rises."""
    penalty_factor: float = 1.0
    """The punishment of a response of full length."""
    log: bool = False
    """Log the mean punishment and the share that is punished."""


@dataclass
class RewardModelPathConfig:
    path: str | None = None
    """A folder or hub name of a sequence classifier, whose logit is the score."""


@dataclass
class RewardModelConfig:
    overlong_buffer: OverlongBufferConfig = field(default_factory=OverlongBufferConfig)
    enable: bool = False
    """A reward model scores the responses, with its own tokenizer and chat template, in one server for all
    processes, which the run starts."""
    url: str | None = None
    """Address of a server that has it (`rewardkit serve --reward-model`), instead; $REWARDKIT_TOKEN is its
    token."""
    model: RewardModelPathConfig = field(default_factory=RewardModelPathConfig)
    scores: str = "all"
    """`all` data sources, as in verl, or `rest`: those that no other reward scores."""
    backend: str = "transformers"
    """`transformers` or `vllm`."""
    dtype: str = "auto"
    """`float32`, `bfloat16`, `float16` or `auto`, which for vLLM is one of 16 bit."""
    max_length: int = 0
    """Tokens of prompt and response that the reward model is shown; 0: as many as it reads."""
    batch_tokens: int = 16384
    """Tokens of one forward of the reward model, padding included."""


@dataclass
class RewardConfig:
    url: str | None = None
    """Address of a reward server; without one the rewards run here. Its token: $REWARDKIT_TOKEN."""
    options: dict[str, Any] = field(default_factory=dict)
    """Options per data source: `reward.options.gsm8k.method=flexible`. Local rewards only."""
    compositions: str | None = None
    """A YAML file of rewards made of rewards (docs/compose.md). Local rewards only."""
    lock: str | None = None
    """A lock file (docs/lock.md). The run does not begin where a reward of its training data moved since.
    Local rewards only."""
    mode: str = "trajectory"
    """What of an episode is rewarded: `trajectory`, its score, on the last token; `turn`, what tools and
    interactions gave for each turn, on the last token of that turn; or `mixed`, both."""
    turn_weight: float = 1.0
    """Weight of the rewards of turns, where `mode` is `mixed`."""
    trajectory_weight: float = 1.0
    """Weight of the score of the episode, where `mode` is `mixed`."""
    on_error: str = "mask"
    """A response that could not be scored is left out of the loss (`mask`), ends the run (`raise`) or gets
    `reward.error_value` (`value`)."""
    error_value: float = 0.0
    """Score of a response that could not be scored, where `on_error` is `value`."""
    timeout_s: float = 600.0
    """From the end of generation: what is not scored by then counts as not scored, status `timeout`."""
    num_workers: int | None = None
    """Per process: worker processes that score, by default its share of the cores; or requests in flight to
    the server, by default 8."""


@dataclass
class CustomRewardFunctionConfig:
    path: str | None = None
    """A Python file, or `pkg://package.module`, whose function scores every data source (docs/imports.md)."""
    name: str = "compute_score"
    """The function: (data_source, solution_str, ground_truth, extra_info), sync or async."""
    reward_kwargs: dict[str, Any] = field(default_factory=dict)
    """Goes to the function with every call."""


@dataclass
class AlarmsConfig:
    failures: float | None = 0.2
    """Of a step's responses: so many that could not be scored. Null here and below: without this rule."""
    equal_rewards: float | None = 1.0
    """Of the groups of responses to one prompt: so many with equal rewards, for three steps."""
    correction: float | None = 0.5
    """Of the tokens: so many that the rollout correction clips or rejects."""
    truncated: float | None = 0.5
    """Of the responses: so many of full length, for three steps."""
    entropy: float | None = 0.02
    """Nats a token: so few, for three steps."""
    format: float | None = 0.8
    """Of |advantage|: so much between responses that are equally right, for three steps."""
    length: float | None = 0.5
    """Of the advantages' variance: so much that length predicts among responses that are equally right, for
    three steps."""


@dataclass
class StageConfig:
    """`trainer` of any stage: how long, where, with what."""

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
    profile_steps: Any = None
    """List of the steps to trace with torch's profiler, into `default_local_dir`/profile."""
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
class TrainerConfig(StageConfig):
    log_val_generations: int = 0
    """Responses of each validation to show on the console and where else there is a place for text."""
    rollout_data_dir: str | None = None
    """Folder for every training response with its score, a file per step; `rewardkit view` shows it."""
    validation_data_dir: str | None = None
    """The same for the responses of each validation."""
    data_dir_format: str = "jsonl"
    """Of these files: `jsonl` or `parquet`."""
    val_only: bool = False
    """Validate, and end without training."""
    mode: str = "sync"
    """`sync`: responses to a step's prompts are drawn with the weights that learn from them. `one_step_off`:
    while the policy learns from the responses before. `async`: up to `max_staleness` steps before, going on
    while weights change. The last two need `rollout.name=vllm_server` (docs/async.md)."""
    max_staleness: int = 1
    """In mode `async`: how many steps older than the policy the weights may be that drew a response's first
    token; 0 gives the results of `sync`."""
    alarm: str = "warn"
    """What an alarm does, a line each: `warn`, `stop` (the step is saved, and the run ends) or `off`."""
    alarms: AlarmsConfig = field(default_factory=AlarmsConfig)
    """From where on each rule holds (docs/watching.md)."""
    critic_warmup: int = 0
    """Number of first steps in which only the critic learns, where there is one."""


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
