"""Builds a model without weights, to find errors of loading and sharding early.

Every process does this before it loads a weight, and so does a dry run: the same checks with the same
messages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import nn
from transformers import AutoModel, AutoModelForCausalLM, AutoModelForSequenceClassification

from rewardkit.errors import ConfigError, reason_of
from rewardkit.model_folders import model_folder
from rewardkit.trainer.config.workers import FsdpConfig, ModelConfig, has_adapter, may_stay_whole
from rewardkit.trainer.models.heads import PolicyModel, ValueModel
from rewardkit.trainer.models.load import load_model_config, load_tokenizer
from rewardkit.trainer.models.prepare import decoder_layers, prepare
from rewardkit.trainer.models.shards import converts, match

NAMED = 3
"""So many tensors are named where more are wrong."""
PLACES = ("wpe", "embed_positions", "position_embeddings")
"""Names that models give to the embeddings of places, where these are learned."""


@dataclass(frozen=True, slots=True, eq=False)
class TrialModel:
    """One model of a run, as the settings ask for it."""

    key: str
    """The setting of its `options`: `actor_rollout_ref.model` or `critic.model`."""
    options: ModelConfig
    fsdp: FsdpConfig
    device: torch.device
    processes: int
    tokens: int
    """Token ids are below this."""
    longest: int
    """Tokens of the longest sequence."""
    limit: str = "prompt_length + response_length are"
    """Words for the settings that say how long that is."""
    value: bool = False
    """A value model, not a language model."""
    sequence_parallel: int = 1


@dataclass(frozen=True, slots=True)
class TriedModel:
    """A model that could be trained."""

    model: PolicyModel | ValueModel
    """Model without weights; an adapter is on it where there is one."""
    notes: list[str]
    """Lines that are worth saying."""


def try_model(asked: TrialModel) -> TriedModel | None:
    """Build a model without weights and do to it what a run does; None: it is not on this machine yet.

    Raises:
        ConfigError: the first thing that would end the run there; its message begins with the setting.
    """
    folder = model_folder(asked.options.path)
    if folder is None:  # it is downloaded when it is loaded
        return None
    try:
        kind = AutoModel if asked.value else AutoModelForCausalLM
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
    """Build a reward model without weights, and load its tokenizer.

    Raises:
        ConfigError: the first thing that keeps it from loading; its message begins with the setting.
    """
    folder = model_folder(path)
    if folder is None:
        return
    options = ModelConfig(path)
    try:
        model = _built(AutoModelForSequenceClassification, options)
        _check_weights(model, AutoModelForSequenceClassification, options, folder)
        load_tokenizer(path)
    except ConfigError as error:
        raise ConfigError(f"{key}: {error}") from None


def _built(kind: Any, options: ModelConfig) -> Any:
    config = load_model_config(options.path, options)
    try:
        with torch.device("meta"):
            return kind.from_config(config, trust_remote_code=options.trust_remote_code).eval()
    except Exception as error:  # whatever a model's code raises at sizes that do not go together
        changed = f" with override_config={options.override_config}" if options.override_config else ""
        raise ConfigError(
            f"cannot build a model from '{options.path}'{changed}: {reason_of(error)}"
        ) from None


def _check_weights(model: Any, kind: Any, options: ModelConfig, folder: Path) -> None:
    """The files hold every tensor of the model, in its shape; a missing one would be drawn at random."""
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
    """Return the loader's own report on names and shapes; it brings no tensor into memory for long."""
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
    """A download that broke off leaves a file without its end."""
    try:
        with safe_open(file, framework="pt"):
            pass
    except SafetensorError as error:
        raise ConfigError(
            f"{file} is truncated or not a safetensors file: {reason_of(error)}; download the file again"
        ) from None


def _check_sizes(model: Any, asked: TrialModel) -> None:
    """Each token has an embedding, and each place too where places are learned."""
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
    """Do what `prepare` and `shard` do before weights are there."""
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
    """Names of `target_modules` that no layer has, where others have some."""
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
