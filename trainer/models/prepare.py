"""Applies options that change a model's computation, before the model is sharded.

These options concern packing, adapters, kernels, and the checkpointing of decoder layers.
"""

from __future__ import annotations

import logging
import os
import shutil
from functools import cache, partial
from importlib.util import find_spec
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
from transformers.utils import is_flash_attn_2_available

from rewardkit.errors import ConfigError, reason_of
from rewardkit.trainer.config.workers import FsdpConfig, ModelConfig, has_adapter
from rewardkit.trainer.models.attention import ATTENTION, why_unserved, why_unshared
from rewardkit.trainer.models.heads import PolicyModel, ValueModel, has_no_weights, keeps_apart
from rewardkit.trainer.models.lora import add_lora, has_dropout
from rewardkit.trainer.models.vision import MODEL_TYPES, has_own_positions

log = logging.getLogger(__name__)


def prepare(
    model: nn.Module,
    options: ModelConfig,
    device: torch.device,
    fsdp: FsdpConfig,
    *,
    sequence_parallel: int = 1,
) -> PolicyModel | ValueModel:
    """Apply the model options to a causal language model or a `ValueModel`, before it is sharded.

    Args:
        device: Device on which the model will compute.
        sequence_parallel: Maximum number of processes that share a row's tokens.

    Raises:
        ConfigError: An option needs a package that is not installed, or the model does not support an option.
    """
    prepared = model if isinstance(model, ValueModel) else PolicyModel(model)
    assert isinstance(prepared, PolicyModel | ValueModel)
    body: Any = prepared.body
    attention = _attention(body, options, device, sequence_parallel)
    sees = body.config.model_type in MODEL_TYPES
    if sees and options.use_liger:
        raise ConfigError("model.use_liger is not supported for vision-language models; leave it out")
    if attention:
        _attend_by(body, attention)
    if options.use_remove_padding and (has_no_weights(body) or keeps_apart(body, body.device)):
        flat = not sees and str(attention).startswith(("flash", ATTENTION))
        prepared.packing = "flat" if flat else "off" if has_own_positions(body) else "rows"
    if has_adapter(options):
        add_lora(body, options)
    if options.use_liger:
        _apply_liger(body)
    if isinstance(prepared, PolicyModel):
        prepared.compiled = fsdp.use_torch_compile and device.type == "cuda" and _can_compile()
    if options.enable_gradient_checkpointing:
        for layer in decoder_layers(prepared, fsdp):
            # The switch of transformers requires training mode, which activates the model's dropout.
            again = partial(checkpoint, use_reentrant=False, preserve_rng_state=has_dropout(layer))
            layer.forward = partial(again, layer.forward)
    return prepared


def _attention(body: Any, options: ModelConfig, device: torch.device, sequence_parallel: int) -> str | None:
    """Return the attention implementation to use, or None to keep transformers' choice."""
    if sequence_parallel > 1:
        if reason := why_unshared(body.config, remote=options.trust_remote_code):
            raise ConfigError(f"ulysses_sequence_parallel_size cannot be above 1 for this model: {reason}")
        return ATTENTION
    asked: str | None = options.override_config.get("attn_implementation")
    if asked == "flex_attention" and device.type == "cpu":
        raise ConfigError(
            "override_config.attn_implementation=flex_attention cannot train on a CPU; use sdpa, or leave "
            "attn_implementation out"
        )
    if asked:
        return asked
    if device.type == "cuda" and is_flash_attn_2_available():
        return "flash_attention_2"
    if not options.use_remove_padding or why_unserved(body.config, remote=options.trust_remote_code):
        return None
    return ATTENTION


@cache
def _can_compile() -> bool:
    """Return True if Triton (part of torch for CUDA) and a C compiler, which Triton needs, are installed."""
    compilers = [os.environ.get("CC"), "gcc", "clang", "cc"]
    can = find_spec("triton") is not None and any(shutil.which(name) for name in compilers if name)
    if not can:
        log.warning(
            "log-probabilities are computed without torch.compile, which needs Triton and a C "
            "compiler; to hide this line, set fsdp_config.use_torch_compile=false"
        )
    return can


def _attend_by(body: Any, attention: Any) -> None:
    if not isinstance(attention, str):
        raise ConfigError(f"override_config.attn_implementation must be a name, found {attention!r}")
    try:
        body.set_attn_implementation(attention)
    except Exception as error:  # unknown, not installed, or not supported by this model or machine
        raise ConfigError(f"override_config.attn_implementation={attention}: {reason_of(error)}") from None


def decoder_layers(model: nn.Module, config: FsdpConfig) -> list[nn.Module]:
    """Return the decoder layers, found by a class that the config names or the model declares.

    Some vision towers declare a layer's attention class. The whole layer is returned in this case.
    """
    declared = (getattr(m, "_no_split_modules", None) for m in model.modules())
    given = config.wrap_policy.transformer_layer_cls_to_wrap
    names = given or sorted({n for d in declared if d for n in d})
    listed = [m for many in model.modules() if isinstance(many, nn.ModuleList) for m in many]
    found = [m for m in model.modules() if type(m).__name__ in names]
    whole = {id(part): m for m in listed for part in m.modules()}  # the innermost list comes last
    layers = list(dict.fromkeys(found if given else (whole.get(id(m), m) for m in found)))
    if not layers:
        raise ConfigError(
            f"{type(model.body).__name__} has no layer of class {', '.join(names) or '(none declared)'}; set "
            "fsdp_config.wrap_policy.transformer_layer_cls_to_wrap to the class of the decoder layers"
        )
    return layers


def _apply_liger(body: Any) -> None:
    try:
        from liger_kernel.transformers.monkey_patch import (  # type: ignore[import-not-found]
            _apply_liger_kernel_to_instance,
        )
    except ImportError:
        raise ConfigError(
            "model.use_liger=true needs Liger: pip install liger-kernel, or set use_liger=false"
        ) from None
    _apply_liger_kernel_to_instance(model=body)
