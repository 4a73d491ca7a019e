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
    grad_clip: float = 1.0


@dataclass
class KlCtrlConfig:
    type: str = "fixed"
    """`fixed`, or `adaptive`: steers the coefficient towards `target_kl`."""
    kl_coef: float = 0.001
    horizon: int = 10000
    target_kl: float = 0.1


@dataclass
class AlgorithmConfig:
    adv_estimator: str = "gae"
    gamma: float = 1.0
    lam: float = 1.0
    use_kl_in_reward: bool = False
    kl_penalty: str = "kl"
    """`kl` (k1), `abs`, `mse` (k2) or `low_var_kl` (k3)."""
    kl_ctrl: KlCtrlConfig = field(default_factory=KlCtrlConfig)


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
    """Number of first steps in which only the critic learns."""
    default_local_dir: str = "checkpoints/${trainer.project_name}/${trainer.experiment_name}"
    """Where checkpoints, logs and the resolved config go."""


@dataclass
class Config:
    data: DataConfig = field(default_factory=DataConfig)
    actor_rollout_ref: ActorRolloutRefConfig = field(default_factory=ActorRolloutRefConfig)
    critic: CriticConfig = field(default_factory=CriticConfig)
    algorithm: AlgorithmConfig = field(default_factory=AlgorithmConfig)
    reward: RewardConfig = field(default_factory=RewardConfig)
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
