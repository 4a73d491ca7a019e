"""Every setting of the trainer, typed, with verl's key names; and how YAML and `key=value` become one Config.

No torch here, and no checks across settings or against files: those are in `preflight.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any

from omegaconf import II, MISSING, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from rewardkit.errors import ConfigError, did_you_mean

RECIPES = Path(__file__).parent / "recipes"


@dataclass
class DataConfig:
    train_files: Any = MISSING
    """A parquet file or a list of them, with the columns `data_source`, `prompt` and a ground truth."""
    val_files: Any = None
    train_batch_size: int = 1024
    """Prompts per step, over all processes."""
    max_prompt_length: int = 512
    max_response_length: int = 512
    prompt_key: str = "prompt"
    shuffle: bool = True
    seed: int = 1
    """Seeds the shuffling, the sampling and the critic: two runs with one seed are the same run."""
    filter_overlong_prompts: bool = False
    truncation: str = "error"
    """What happens to a prompt over `max_prompt_length`: `error`, `left` or `right` (the side cut off)."""


@dataclass
class ModelConfig:
    path: str = MISSING
    """A Hugging Face folder or hub name."""


@dataclass
class OptimConfig:
    lr: float = 1e-6
    weight_decay: float = 0.01
    betas: tuple[float, float] = (0.9, 0.999)
    lr_warmup_steps: int = 0
    """Training steps over which the learning rate rises linearly; constant afterwards."""


@dataclass
class FsdpConfig:
    dtype: str = "bfloat16"
    """Forward and backward run in this type. Master weights, gradients and Adam are float32 always."""
    reshard_after_forward: bool = True


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
class ActorConfig:
    ppo_mini_batch_size: int = 256
    """Prompts per optimizer step, over all processes (times `rollout.n` responses)."""
    ppo_micro_batch_size_per_gpu: int | None = None
    """Responses per forward and backward; changes memory and speed, never the result."""
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


@dataclass
class RefConfig:
    log_prob_micro_batch_size_per_gpu: int | None = II(
        "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu"
    )


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
    n: int = 1
    """Responses per prompt."""
    do_sample: bool = True
    temperature: float = 1.0
    top_k: int = -1
    top_p: float = 1.0
    dtype: str = "bfloat16"
    """Type of the copy of the weights that generates."""
    micro_batch_size: int | None = None
    """Responses generated at once by a process."""
    log_prob_micro_batch_size_per_gpu: int | None = None
    prompt_length: int = II("data.max_prompt_length")
    response_length: int = II("data.max_response_length")
    val_kwargs: ValKwargs = field(default_factory=ValKwargs)


@dataclass
class ActorRolloutRefConfig:
    model: ModelConfig = field(default_factory=ModelConfig)
    actor: ActorConfig = field(default_factory=ActorConfig)
    ref: RefConfig = field(default_factory=RefConfig)
    rollout: RolloutConfig = field(default_factory=RolloutConfig)


@dataclass
class CriticConfig:
    model: ModelConfig = field(default_factory=lambda: ModelConfig(II("actor_rollout_ref.model.path")))
    optim: OptimConfig = field(default_factory=lambda: OptimConfig(lr=1e-5))
    fsdp_config: FsdpConfig = field(
        default_factory=lambda: FsdpConfig(
            dtype=II("actor_rollout_ref.actor.fsdp_config.dtype"),
            reshard_after_forward=II("actor_rollout_ref.actor.fsdp_config.reshard_after_forward"),
        )
    )
    ppo_mini_batch_size: int = II("actor_rollout_ref.actor.ppo_mini_batch_size")
    ppo_micro_batch_size_per_gpu: int | None = II("actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu")
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
    """A response that could not be judged is left out of the loss (`mask`) or ends the run (`raise`)."""


@dataclass
class CustomRewardFunctionConfig:
    path: str | None = None
    name: str = "compute_score"


@dataclass
class TrainerConfig:
    total_epochs: int = 30
    total_training_steps: int | None = None
    """Decides alone when set; `total_epochs` is then not used."""
    project_name: str = "rewardkit"
    experiment_name: str = "ppo"
    logger: list[str] = field(default_factory=lambda: ["console", "jsonl"])
    nnodes: int = 1
    n_gpus_per_node: int = 1
    """Processes on each machine: one per GPU, or any number on CPU."""
    device: str = "auto"
    """`auto` (cuda where there is one), `cuda` or `cpu`."""
    save_freq: int = -1
    """Steps between checkpoints; one is always written at the end."""
    test_freq: int = -1
    """Steps between validations; one is always made at the end when there are `val_files`."""
    val_before_train: bool = True
    critic_warmup: int = 0
    """Number of first steps in which only the critic learns, where there is one."""
    default_local_dir: str = "checkpoints/${trainer.project_name}/${trainer.experiment_name}"


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
        overrides: dotted assignments, `actor_rollout_ref.rollout.n=4`; values are YAML.

    Raises:
        ConfigError: no such file, an unknown key (names the nearest known one), a value of the wrong type,
            or a required key that is not set.
    """
    known = list(_leaves(Config()))
    layers = [OmegaConf.structured(Config)]
    try:
        if recipe is not None:
            layers.append(_load_recipe(Path(recipe)))
            _refuse_unknown(_flat_keys(OmegaConf.to_container(layers[-1])), known, str(recipe))
        for override in overrides:
            key, equals, _ = override.partition("=")
            if not equals:
                raise ConfigError(f"expected key=value, found '{override}' on the command line")
            _refuse_unknown([key], known, "the command line")
        layers.append(OmegaConf.from_dotlist(list(overrides)))
        merged = OmegaConf.merge(*layers)
        missing = sorted(OmegaConf.missing_keys(merged))
        if missing:
            raise ConfigError(f"{missing[0]} is not set; pass {missing[0]}=... or set it in the recipe")
        config = OmegaConf.to_object(merged)
    except OmegaConfBaseException as error:
        where = f"{error.full_key}: " if getattr(error, "full_key", None) else ""
        raise ConfigError(where + str(error).splitlines()[0]) from None
    assert isinstance(config, Config)
    return config


def as_yaml(config: Config) -> str:
    """Return the whole resolved config as YAML, as it is written beside a run's checkpoints."""
    return OmegaConf.to_yaml(OmegaConf.structured(config))


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


def _leaves(section: Any, prefix: str = "") -> Iterable[str]:
    for f in fields(section):
        value = getattr(section, f.name)
        if is_dataclass(value):
            yield from _leaves(value, f"{prefix}{f.name}.")
        else:
            yield prefix + f.name


def _flat_keys(values: Any, prefix: str = "") -> Iterable[str]:
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from _flat_keys(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}"


def _refuse_unknown(keys: Iterable[str], known: Sequence[str], where: str) -> None:
    for key in keys:
        if key in known or key.startswith("reward.options.") or any(k.startswith(key + ".") for k in known):
            continue
        raise ConfigError(
            f"unknown setting '{key}' in {where}{did_you_mean(key, known) or _siblings(key, known)}"
        )


def _siblings(key: str, known: Sequence[str]) -> str:
    """The settings of the same section, for a key that resembles none."""
    section = key.rpartition(".")[0] + "."
    same = [k for k in known if k.startswith(section) and "." not in k.removeprefix(section)]
    return f"; {section[:-1]} has: {', '.join(k.removeprefix(section) for k in same)}" if same else ""
