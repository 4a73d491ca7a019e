"""Holds the frozen weights under an adapter in 4 bits, using bitsandbytes.

This is QLoRA (Dettmers et al. 2023, arXiv:2305.14314). The adapter is trained in float32, and all other
weights have the data type that the model computes in.
"""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from rewardkit.errors import ConfigError, did_you_mean, reason_of
from rewardkit.trainer.config.workers import FsdpConfig, ModelConfig, has_adapter, offloads

TYPES = ("nf4", "fp4")

M = TypeVar("M", bound=nn.Module)


def check_quantization(
    key: str, options: ModelConfig, fsdp_key: str, fsdp: FsdpConfig, processes: int
) -> None:
    """Check `quantization_config`, whose arguments are those of transformers' `BitsAndBytesConfig`.

    Args:
        key: Setting of `options`, such as `actor_rollout_ref.model`.
        fsdp_key: Setting of `fsdp`, such as `actor_rollout_ref.actor.fsdp_config`.
        processes: Number of processes of the run.

    Raises:
        ConfigError: An argument is unknown or invalid, or another setting excludes a quantised model.
    """
    given = options.quantization_config
    if not given:
        return
    adapter = f"{key}.lora_rank or {key}.lora_adapter_path"
    key = f"{key}.quantization_config"
    if not has_adapter(options):
        raise ConfigError(f"{key} freezes the weights, so only an adapter can be trained; set {adapter}")
    if processes > 1:
        raise ConfigError(
            f"{key} works with one process, but this run has {processes}; set trainer.nnodes=1 and "
            "trainer.n_gpus_per_node=1, or unset it"
        )
    if offloads(fsdp):
        raise ConfigError(f"{key} keeps the weights on the device; set {fsdp_key}.param_offload=false")
    _check_arguments(key, given)


def _check_arguments(key: str, given: dict[str, Any]) -> None:
    from transformers import BitsAndBytesConfig  # importing transformers takes seconds

    kinds = inspect.signature(BitsAndBytesConfig).parameters.values()
    known = [one.name for one in kinds if one.kind is not inspect.Parameter.VAR_KEYWORD]
    for name in given:
        if name not in known:
            hint = did_you_mean(name, known)
            raise ConfigError(f"{key}: transformers' BitsAndBytesConfig has no argument {name}{hint}")
    if given.get("load_in_8bit"):
        raise ConfigError(
            f"{key}.load_in_8bit also rounds the activations, so the policy that is trained would not be the "
            "one that generates; use load_in_4bit instead"
        )
    if given.get("load_in_4bit") is not True:
        raise ConfigError(f"{key} must contain load_in_4bit: true")
    kind = given.get("bnb_4bit_quant_type", "fp4")
    if kind not in TYPES:
        raise ConfigError(f"{key}.bnb_4bit_quant_type must be one of {', '.join(TYPES)}; found {kind}")
    try:
        BitsAndBytesConfig(**given)
    except (TypeError, ValueError, AttributeError) as error:  # AttributeError: an unknown name of a dtype
        raise ConfigError(f"{key}: {reason_of(error)}") from None


def loading_arguments(options: ModelConfig | None, dtype: torch.dtype) -> dict[str, Any]:
    """Return arguments of `from_pretrained` that quantise the weights, or none.

    The weights are quantised on the CPU. This gives the same weights on all devices, which a resumed run
    requires.
    """
    if options is None or not options.quantization_config:
        return {}
    from transformers import BitsAndBytesConfig

    given = {"bnb_4bit_compute_dtype": dtype, **options.quantization_config}
    return {"quantization_config": BitsAndBytesConfig(**given), "device_map": {"": "cpu"}}


def without_quantization(options: ModelConfig) -> ModelConfig:
    """Return the options for a rollout engine, which receives full weights with the adapter merged."""
    return replace(options, quantization_config={}, lora_rank=0, lora_adapter_path=None)


def is_quantised(weight: Any) -> bool:
    """Return True if a parameter is quantised."""
    return getattr(weight, "quant_state", None) is not None


def has_quantised(model: nn.Module) -> bool:
    """Return True if a parameter of the model is quantised."""
    return any(map(is_quantised, model.parameters()))


def unquantised(weight: Any) -> Tensor:
    """Return a parameter's values or, if it is quantised, the matrix that the model computes with."""
    if not is_quantised(weight):
        detached: Tensor = weight.detach()
        return detached
    from bitsandbytes.functional import dequantize_4bit

    found: Tensor = dequantize_4bit(weight.data, weight.quant_state)
    return found


def in_eval_mode(model: M) -> M:
    """Set a model to eval mode, except its quantised layers, and return it.

    In eval mode, bitsandbytes converts these layers to a CPU's bfloat16 format, which rounds their scales and
    gives no gradients.
    """
    model.eval()
    for module in model.modules():
        if is_quantised(getattr(module, "weight", None)):
            module.train()
    return model
