"""Loads tokenizers, configs, language models and value models from Hugging Face folders."""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import torch
from torch import nn
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForImageTextToText,
    AutoTokenizer,
    GenerationConfig,
)
from transformers.utils import logging as transformers_logging

from rewardkit.errors import ConfigError, message_of
from rewardkit.model_folders import model_folder
from rewardkit.trainer.config.workers import DTYPE_NAMES, ModelConfig, has_adapter
from rewardkit.trainer.models.heads import ValueModel, has_no_weights
from rewardkit.trainer.models.quantised import in_eval_mode, loading_arguments
from rewardkit.trainer.models.shards import ShardPlaces, match, parameters_on_meta
from rewardkit.trainer.models.value_head import read_value_head
from rewardkit.trainer.models.vision import MODEL_TYPES

DTYPES: dict[str, torch.dtype] = {name: getattr(torch, full) for name, full in DTYPE_NAMES.items()}


def load_tokenizer(path: str, *, trust_remote_code: bool = False) -> Any:
    """Load the tokenizer from a model folder. The padding token defaults to the end-of-sequence token.

    Raises:
        ConfigError: The tokenizer cannot be loaded, or it has no end-of-sequence token.
    """
    quiet_transformers()
    try:
        tokenizer = AutoTokenizer.from_pretrained(path, trust_remote_code=trust_remote_code)
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot load a tokenizer from '{path}': {message_of(error)}") from None
    if tokenizer.eos_token_id is None:
        raise ConfigError(
            f"the tokenizer of '{path}' has no end-of-sequence token, so responses could not end"
        )
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def load_generation_config(path: str) -> GenerationConfig | None:
    """Load the generation config from a model folder, or return None if the folder does not contain one."""
    with suppress(OSError, ValueError):
        return GenerationConfig.from_pretrained(path)
    return None


def end_token_ids(tokenizer: Any, generation_config: Any) -> list[int]:
    """Return the token ids that end a response according to the tokenizer or the generation config."""
    configured = None if generation_config is None else generation_config.eos_token_id
    listed = configured if isinstance(configured, list) else [configured]
    return sorted({tokenizer.eos_token_id, *(i for i in listed if i is not None)})


def load_model_config(path: str, options: ModelConfig | None = None) -> Any:
    """Load the config from a model folder and apply `options.override_config`."""
    options = options or ModelConfig(path)
    changes = {k: v for k, v in options.override_config.items() if k != "attn_implementation"}
    quiet_transformers()
    try:
        found = AutoConfig.from_pretrained(path, trust_remote_code=options.trust_remote_code, **changes)
    except Exception as error:  # a config class may raise any exception for invalid values
        changed = f" with override_config={changes}" if changes else ""
        raise ConfigError(f"cannot load a model from '{path}'{changed}: {message_of(error)}") from None
    if options.quantization_config and getattr(found, "quantization_config", None):
        raise ConfigError(
            f"the weights in '{path}' are quantised already (quantization_config in config.json); use the "
            "original model, whose weights rewardkit quantises"
        )
    return found


def load_causal_lm(
    path: str, dtype: torch.dtype = torch.float32, options: ModelConfig | None = None
) -> nn.Module:
    """Load a causal language model on the CPU, in eval mode.

    The model stays in eval mode during training, because dropout would make the trained policy differ from
    the policy that generated the responses.
    """
    model: nn.Module = _load(None, path, dtype, options)
    return model


def load_value_model(
    path: str,
    dtype: torch.dtype = torch.float32,
    options: ModelConfig | None = None,
    *,
    say: Callable[[str], None] = lambda line: None,
) -> ValueModel:
    """Load a critic from a language model's folder, on the CPU, in eval mode.

    The value head is loaded if the folder contains a head of the right size. Otherwise, it starts at 0.

    Args:
        say: Callback that receives a message about the value head in the folder, if there is one.
    """
    body = _load(AutoModel, path, dtype, options)
    quantised = options is not None and options.quantization_config
    return _with_value_head(body, path, torch.float32 if quantised else dtype, say)


def _with_value_head(body: Any, path: str, dtype: torch.dtype, say: Callable[[str], None]) -> ValueModel:
    model = ValueModel(body, body.config.get_text_config().hidden_size)
    model.head.to(dtype)  # rotary frequencies in the body need float32
    weight, said = read_value_head(path, model.head.in_features)
    if weight is not None:
        with torch.no_grad():
            model.head.weight.copy_(weight)
    if said:
        say(said)
    return in_eval_mode(model)


def outline_causal_lm(path: str, dtype: torch.dtype, options: ModelConfig) -> tuple[Any, ShardPlaces | None]:
    """Return a causal language model without weights, and the locations of its weights.

    If the weights cannot be read later, return the loaded model and None.
    """
    outlined = _outline(None, path, dtype, options)
    if outlined is None:
        return load_causal_lm(path, dtype, options), None
    model, places = outlined
    if (found := load_generation_config(path)) is not None:
        model.generation_config = found
    return model, places


def language_model_class(config: Any) -> Any:
    """Return the class that loads a language model with this config, with its vision tower if it has one."""
    return AutoModelForImageTextToText if config.model_type in MODEL_TYPES else AutoModelForCausalLM


def outline_value_model(
    path: str, dtype: torch.dtype, options: ModelConfig, *, say: Callable[[str], None]
) -> tuple[ValueModel, ShardPlaces | None]:
    """Return a critic whose body has no weights, and the locations of these weights.

    If the weights cannot be read later, return the loaded critic and None.
    """
    outlined = _outline(AutoModel, path, dtype, options)
    if outlined is None:
        return load_value_model(path, dtype, options, say=say), None
    return _with_value_head(outlined[0], path, dtype, say), outlined[1]


def _outline(
    kind: Any, path: str, dtype: torch.dtype, options: ModelConfig
) -> tuple[Any, ShardPlaces] | None:
    """Return a model without weights, and the locations of its weights.

    `kind` is the class that loads the model, or None for a language model. Return None if the weights cannot
    be read tensor by tensor, or if the model gets an adapter, which needs loaded weights.
    """
    folder = model_folder(path)
    config = load_model_config(path, options)
    if folder is None or has_adapter(options) or getattr(config, "quantization_config", None):
        return None
    if not any(folder.glob("*.safetensors")):
        return None
    remote = options.trust_remote_code
    with parameters_on_meta():
        model = (kind or language_model_class(config)).from_config(
            config, dtype=dtype, trust_remote_code=remote, **_attention(config)
        )
    if getattr(model, "_keep_in_fp32_modules", None) and dtype != torch.float32:
        return None
    matched = match(model, folder)
    return None if matched is None else (in_eval_mode(model), matched)


def _load(kind: Any, path: str, dtype: torch.dtype, options: ModelConfig | None) -> Any:
    config = load_model_config(path, options)
    remote = options is not None and options.trust_remote_code
    try:
        model = (kind or language_model_class(config)).from_pretrained(
            path,
            config=config,
            dtype=dtype,
            trust_remote_code=remote,
            **_attention(config),
            **loading_arguments(options, dtype),
        )
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot load a model from '{path}': {message_of(error)}") from None
    return in_eval_mode(model)


def _attention(config: Any) -> dict[str, str]:
    """Return the argument that selects eager attention if the model caps attention scores.

    torch's attention would silently ignore the cap.
    """
    capped = getattr(config.get_text_config(), "attn_logit_softcapping", None)
    return {"attn_implementation": "eager"} if capped else {}


def unsharded_copy(model: nn.Module, dtype: torch.dtype, device: torch.device) -> nn.Module:
    """Return a copy of a model that is not sharded yet, with parameters in `dtype` on `device`.

    Only parameters are cast, because rotary frequencies are a buffer and would lose too much precision in
    bfloat16.
    """
    copied = copy.deepcopy(model).to(device)
    for parameter in copied.parameters():
        parameter.data = parameter.data.to(dtype)
    return copied


def whole_copy(
    model: nn.Module, dtype: torch.dtype, device: torch.device, path: str, options: ModelConfig
) -> nn.Module:
    """Return an unsharded copy of `model`, or load it from its folder if `model` is an outline."""
    if has_no_weights(model):
        loaded: nn.Module = load_causal_lm(path, dtype, options).to(device)
        return loaded
    return unsharded_copy(model, dtype, device)


def quiet_transformers() -> None:
    """Suppress progress bars and advice from transformers. Errors are still raised."""
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
