"""Exports the trained model from a run or a checkpoint to a Hugging Face folder for transformers and vLLM."""

from __future__ import annotations

import copy
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.distributed.checkpoint.filesystem import FileSystemReader
from torch.distributed.checkpoint.metadata import TensorStorageMetadata
from torch.distributed.checkpoint.state_dict_loader import load
from transformers import (
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForImageTextToText,
    AutoModelForSequenceClassification,
)

from rewardkit.errors import ConfigError, reason_of
from rewardkit.files.publishing import sync
from rewardkit.trainer.checkpoint.card import write_card
from rewardkit.trainer.checkpoint.damage import reading
from rewardkit.trainer.checkpoint.find import read_facts, to_export
from rewardkit.trainer.config.workers import ModelConfig, has_adapter
from rewardkit.trainer.models.heads import ValueModel
from rewardkit.trainer.models.load import DTYPES, language_model_class, load_model_config, load_tokenizer
from rewardkit.trainer.models.lora import AdapterParts, add_lora
from rewardkit.trainer.models.sharding import full_tensors
from rewardkit.trainer.models.vision import Vision


def dtype_of(model_config: Any) -> torch.dtype:
    """Return the dtype of the original model according to its config, or float32 by default."""
    found = model_config.dtype or torch.float32
    return found if isinstance(found, torch.dtype) else DTYPES[found]


CARD = "reward_model.json"
"""File beside the weights of a reward model: its data, chat template, end token, and held-out scores."""


PIPELINES = {
    AutoModelForCausalLM: "text-generation",
    AutoModelForImageTextToText: "image-text-to-text",
    AutoModelForSequenceClassification: "text-classification",
}
"""Pipelines of transformers that run a model, by the class that loads it."""


def write_weights(
    state: dict[str, Tensor], model_config: Any, folder: Path, dtype: torch.dtype, *, scores: bool = False
) -> None:
    """Write `config.json` and safetensors weights. `config.json` names `dtype` as the dtype for loading.

    Args:
        scores: If True, `state` belongs to a `ValueModel` and is written as a sequence classifier.
    """
    if scores:
        name = classifier_names(model_config)
        state = {name(key): tensor for key, tensor in state.items()}
    kind = _model_class(model_config, scores=scores)
    with torch.device("meta"):
        skeleton = kind.from_config(model_config, dtype=dtype)
    skeleton.save_pretrained(folder, state_dict=state)


def _model_class(model_config: Any, *, scores: bool) -> Any:
    """Return the class that loads a reward model or a language model with this config."""
    return AutoModelForSequenceClassification if scores else language_model_class(model_config)


def classifier_names(model_config: Any) -> Callable[[str], str]:
    """Return a function that translates names in a `ValueModel` to those in a sequence classifier.

    Raises:
        ConfigError: transformers has no sequence classifier for this model, or the classifier's head is more
            than a linear layer without a bias.
    """
    try:
        with torch.device("meta"):
            skeleton = AutoModelForSequenceClassification.from_config(model_config)
    except ValueError as error:
        raise ConfigError(f"a reward model needs a sequence classifier: {reason_of(error)}") from None
    body = f"{skeleton.base_model_prefix}."
    head = [name for name in skeleton.state_dict() if not name.startswith(body)]
    if len(head) != 1:
        raise ConfigError(
            f"{type(skeleton).__name__} has the head {', '.join(head)}; expected a single linear layer "
            "without a bias, as in decoder models"
        )
    return lambda name: head[0] if name == "head.weight" else name.replace("body.", body, 1)


def as_classifier(adapter: AdapterParts, model_config: Any) -> AdapterParts:
    """Convert a `ValueModel`'s adapter, including the head, to an adapter for a sequence classifier."""
    settings, tensors = adapter
    name = classifier_names(model_config)
    settings = copy.copy(settings)
    settings.task_type = "SEQ_CLS"
    settings.modules_to_save = [name("head.weight").rpartition(".")[0]]
    base = "base_model.model."
    named = {key.removeprefix(base): tensor for key, tensor in tensors.items()}
    return settings, {
        base + name(key if key == "head.weight" else f"body.{key}"): tensor for key, tensor in named.items()
    }


def export(checkpoint: Path, out: Path, dtype: str | None = None) -> Path:
    """Write the model in a checkpoint, with a model card, to the new folder `out` atomically.

    Args:
        checkpoint: Folder `global_step_N`, or a run's folder, whose last checkpoint is used.
        out: Folder to create.
        dtype: `float32`, `bfloat16` or `float16`, or None for the dtype of the model before training.

    Returns:
        The checkpoint's folder.

    Raises:
        InputError: `checkpoint` contains no checkpoint, or `out` exists.
    """
    found = to_export(checkpoint, out)
    described = str(found / "actor" / "huggingface")
    model_config = load_model_config(described)
    wanted = DTYPES[dtype] if dtype else dtype_of(model_config)
    temporary = out.with_name(f".{out.name}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        with reading(found, "export another checkpoint"):
            options = ModelConfig(**_model_settings(read_facts(found)["config"]))
            if options.lora_adapter_path is not None:
                # The original adapter may have been deleted. The checkpoint's adapter has the same shape.
                options.lora_adapter_path = str(found / "actor" / "lora_adapter")
            scores = (Path(described) / CARD).is_file()
            weights = _weights(found / "actor", model_config, options, wanted, scores=scores)
        write_weights(weights, model_config, temporary, wanted, scores=scores)
        tokenizer = load_tokenizer(described)
        vision = Vision.of(described, tokenizer)
        (tokenizer if vision is None else vision.processor).save_pretrained(temporary)
        if scores:
            shutil.copy(Path(described) / CARD, temporary)
        write_card(found, temporary, PIPELINES[_model_class(model_config, scores=scores)])
        for path in (*temporary.rglob("*"), temporary):
            sync(path)
        temporary.rename(out)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return found


def _model_settings(config: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of the model that PPO or another stage has trained."""
    settings: dict[str, Any] = config.get("actor_rollout_ref", config)["model"]
    return settings


def saved_tensors(folder: Path) -> dict[str, TensorStorageMetadata]:
    """Return the shape and dtype of each tensor that torch.distributed.checkpoint wrote to a folder."""
    entries = FileSystemReader(folder).read_metadata().state_dict_metadata
    return {key: entry for key, entry in entries.items() if isinstance(entry, TensorStorageMetadata)}


def _weights(
    folder: Path, model_config: Any, options: ModelConfig, dtype: torch.dtype, *, scores: bool
) -> dict[str, Tensor]:
    """Load a model with this config from a checkpoint, and return its full tensors by name."""
    saved_tensors(folder)  # This check comes first, because torch would log a traceback for damaged files.
    kind = AutoModel if scores else language_model_class(model_config)
    with torch.device("meta"):  # This context skips the random initial weights.
        body = kind.from_config(model_config, dtype=torch.float32)
    if has_adapter(options):
        add_lora(body, options, weights=False)
    body.to_empty(device="cpu").tie_weights()
    model = ValueModel(body, model_config.get_text_config().hidden_size) if scores else body
    state = {f"model.{name}": parameter.detach() for name, parameter in model.named_parameters()}
    with warnings.catch_warnings(action="ignore"):  # torch warns if a single process loads the checkpoint.
        load(state, storage_reader=FileSystemReader(folder), no_dist=True)
    return dict(full_tensors(model, dtype))
