"""Builds a model without weights to find loading and sharding errors early.

Every process runs these checks before it loads any weights. A dry run runs the same checks and reports the
same messages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import nn
from transformers import AutoModel, AutoModelForSequenceClassification

from rewardkit.errors import ConfigError, reason_of
from rewardkit.model_folders import model_folder, read_config
from rewardkit.trainer.config.workers import FsdpConfig, ModelConfig, has_adapter, may_stay_whole
from rewardkit.trainer.models.heads import PolicyModel, ValueModel
from rewardkit.trainer.models.load import language_model_class, load_model_config, load_tokenizer
from rewardkit.trainer.models.prepare import decoder_layers, prepare
from rewardkit.trainer.models.shards import converts, match

NAMED = 3
"""Maximum number of tensors named in an error message."""
PLACES = ("wpe", "embed_positions", "position_embeddings")
"""Names of learned position embeddings in various models."""


@dataclass(frozen=True, slots=True, eq=False)
class TrialModel:
    """Model to check, with the run's settings for it."""

    key: str
    """Name of the setting that contains `options`: `actor_rollout_ref.model` or `critic.model`."""
    options: ModelConfig
    fsdp: FsdpConfig
    device: torch.device
    processes: int
    tokens: int
    """Exclusive upper bound of the token ids."""
    longest: int
    """Number of tokens in the longest sequence."""
    limit: str = "prompt_length + response_length are"
    """Names of the settings that determine `longest`, and a verb, for messages about `longest`."""
    value: bool = False
    """True for a value model, False for a language model."""
    sequence_parallel: int = 1


@dataclass(frozen=True, slots=True)
class TriedModel:
    """Model that passed all checks."""

    model: PolicyModel | ValueModel
    """Model without weights, including its adapter if it has one."""
    notes: list[str]
    """Messages for the user."""


def try_model(asked: TrialModel) -> TriedModel | None:
    """Build a model without weights and check it, or return None if it has not been downloaded yet.

    Raises:
        ConfigError: The run would fail. The message names the setting and describes the first problem.
    """
    folder = model_folder(asked.options.path)
    if folder is None:  # the run downloads the model later
        return None
    try:
        config = load_model_config(asked.options.path, asked.options)
        kind = AutoModel if asked.value else language_model_class(config)
        model = _built(kind, asked.options)
        _check_weights(model, kind, asked.options, folder)
        _check_sizes(model, asked)
        made = _prepared(model, asked)
    except ConfigError as error:
        raise ConfigError(f"{asked.key}: {error}") from None
    notes = [
        f"{asked.key}.target_modules: the model has no layer {name}" for name in _unmet(model, asked.options)
    ]
    limit = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    if limit and limit < asked.longest:
        notes.append(
            f"{asked.options.path} was made for {limit} tokens (max_position_embeddings), but {asked.limit} "
            f"{asked.longest}"
        )
    return TriedModel(made, notes)


def try_classifier(key: str, path: str) -> None:
    """Build a reward model without weights, and load its tokenizer. `check_path` checks its head.

    Raises:
        ConfigError: Loading would fail. The message names the setting and describes the first problem.
    """
    folder = model_folder(path)
    if folder is None:
        return
    options = ModelConfig(path)
    try:
        named = str((read_config(path) or {}).get("architectures"))
        kind = AutoModelForSequenceClassification if "SequenceClassification" in named else AutoModel
        _check_weights(_built(kind, options), kind, options, folder)
        load_tokenizer(path)
    except ConfigError as error:
        raise ConfigError(f"{key}: {error}") from None


def _built(kind: Any, options: ModelConfig) -> Any:
    config = load_model_config(options.path, options)
    try:
        with torch.device("meta"):
            return kind.from_config(config, trust_remote_code=options.trust_remote_code).eval()
    except Exception as error:  # a model's own code may raise any exception for inconsistent sizes
        changed = f" with override_config={options.override_config}" if options.override_config else ""
        raise ConfigError(
            f"cannot build a model from '{options.path}'{changed}: {reason_of(error)}"
        ) from None


def _check_weights(model: Any, kind: Any, options: ModelConfig, folder: Path) -> None:
    """Check that the files contain every tensor in the right shape. Missing weights would be random."""
    if not any(folder.glob("*.safetensors")):
        if not any(folder.glob("pytorch_model*.bin")):
            raise ConfigError(f"{options.path} has no weights: neither *.safetensors nor pytorch_model.bin")
        return
    for file in sorted(folder.glob("*.safetensors")):
        _check_whole(file)
    if getattr(model.config, "quantization_config", None) or converts(model):
        return
    if match(model, folder) is not None:
        return
    found = _loading_info(kind, model.config, options)
    changed = sorted(name for name, *_ in found["mismatched_keys"])
    if changed:
        name, saved, built = next(one for one in found["mismatched_keys"] if one[0] == changed[0])
        raise ConfigError(
            f"the weights in {options.path} do not match the config: {name} has the shape {tuple(saved)} in "
            f"the file, but {tuple(built)} according to config.json and override_config"
        )
    if missing := sorted(found["missing_keys"]):
        raise ConfigError(
            f"the weight files of {options.path} have no {_some(missing)}, so these weights would be random"
        )


def _loading_info(kind: Any, config: Any, options: ModelConfig) -> dict[str, Any]:
    """Return transformers' own report on missing and mismatched tensors.

    Each tensor is in memory only briefly.
    """
    _, found = kind.from_pretrained(
        options.path,
        config=config,
        device_map="meta",
        trust_remote_code=options.trust_remote_code,
        output_loading_info=True,
        ignore_mismatched_sizes=True,
    )
    return dict(found)


def _check_whole(file: Path) -> None:
    """Check that a file is complete. An interrupted download leaves a truncated file."""
    try:
        with safe_open(file, framework="pt"):
            pass
    except SafetensorError as error:
        raise ConfigError(
            f"{file} is truncated or not a safetensors file: {reason_of(error)}; download the file again"
        ) from None


def _check_sizes(model: Any, asked: TrialModel) -> None:
    """Check that the embeddings cover all tokens and, if position embeddings are learned, all positions."""
    table = model.get_input_embeddings()
    if isinstance(table, nn.Embedding) and table.num_embeddings < asked.tokens:
        raise ConfigError(
            f"{asked.options.path} has embeddings for {table.num_embeddings} tokens, but the tokenizer "
            f"produces token ids up to {asked.tokens - 1}; use a model and a tokenizer from the same folder"
        )
    for name, module in model.named_modules():
        if not (isinstance(module, nn.Embedding) and name.rpartition(".")[2] in PLACES):
            continue
        if module.num_embeddings < asked.longest:
            raise ConfigError(
                f"{asked.options.path} supports at most {module.num_embeddings} tokens, but {asked.limit} "
                f"{asked.longest}"
            )


def _prepared(model: Any, asked: TrialModel) -> PolicyModel | ValueModel:
    """Run the steps of `prepare` and `shard` that need no weights."""
    of_values = asked.value
    with torch.device("meta"):
        whole = ValueModel(model, model.config.get_text_config().hidden_size) if of_values else model
        made = prepare(
            whole, asked.options, asked.device, asked.fsdp, sequence_parallel=asked.sequence_parallel
        )
    if asked.fsdp.wrap_policy.transformer_layer_cls_to_wrap or not may_stay_whole(
        asked.fsdp, asked.processes
    ):
        decoder_layers(made, asked.fsdp)
    return made


def _unmet(model: nn.Module, options: ModelConfig) -> Iterator[str]:
    """Yield the names in `target_modules` that match no layer."""
    given = options.target_modules
    if not has_adapter(options) or options.lora_adapter_path is not None or isinstance(given, str):
        return
    names = [name for name, _ in model.named_modules()]
    for wanted in given:
        if not any(name == wanted or name.endswith(f".{wanted}") for name in names):
            yield wanted


def _some(names: Sequence[str]) -> str:
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else "")
