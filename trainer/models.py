"""Models: loading from a Hugging Face folder, options that change how they compute, and sharding by FSDP2.

Every model takes part in training through its root `forward` alone (`heads.py`): a submodule called past
FSDP2's root hook would meet sharded weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import (
    CPUOffloadPolicy,
    FSDPModule,
    MixedPrecisionPolicy,
    OffloadPolicy,
    fully_shard,
)
from torch.utils.checkpoint import checkpoint
from transformers import AutoConfig, AutoModel, AutoModelForCausalLM, AutoTokenizer, PreTrainedModel
from transformers.utils import is_flash_attn_2_available
from transformers.utils import logging as transformers_logging

from rewardkit.errors import ConfigError
from rewardkit.trainer.config_workers import DTYPE_NAMES, FsdpConfig, ModelConfig
from rewardkit.trainer.distributed import World, gathered
from rewardkit.trainer.heads import PolicyModel, ValueModel, keeps_apart
from rewardkit.trainer.lora import add_lora, merged_tensors

DTYPES: dict[str, torch.dtype] = {name: getattr(torch, full) for name, full in DTYPE_NAMES.items()}


def load_tokenizer(path: str, *, trust_remote_code: bool = False) -> Any:
    """Load the tokenizer of a model folder; it must have a chat template and an end-of-sequence token."""
    quiet_transformers()
    try:
        tokenizer = AutoTokenizer.from_pretrained(path, trust_remote_code=trust_remote_code)
    except (OSError, ValueError) as error:
        raise ConfigError(f"no tokenizer can be loaded from '{path}': {_first_line(error)}") from None
    if tokenizer.eos_token_id is None:
        raise ConfigError(f"the tokenizer of '{path}' has no end-of-sequence token: no response could end")
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def load_model_config(path: str, options: ModelConfig | None = None) -> Any:
    """Load the configuration of a model folder, without its weights; `options.override_config` changes it."""
    options = options or ModelConfig(path)
    changes = {k: v for k, v in options.override_config.items() if k != "attn_implementation"}
    quiet_transformers()
    try:
        return AutoConfig.from_pretrained(path, trust_remote_code=options.trust_remote_code, **changes)
    except (OSError, ValueError) as error:
        raise ConfigError(f"no model can be loaded from '{path}': {_first_line(error)}") from None


def load_causal_lm(
    path: str, dtype: torch.dtype = torch.float32, options: ModelConfig | None = None
) -> nn.Module:
    """Load a causal language model, on the CPU, in eval mode.

    It stays in eval mode while it trains: dropout would make the policy that is updated another one than
    the policy that acted.
    """
    model: nn.Module = _load(AutoModelForCausalLM, path, dtype, options)
    return model


def load_value_model(
    path: str, dtype: torch.dtype = torch.float32, options: ModelConfig | None = None
) -> ValueModel:
    """Load a critic from a language model's folder, on the CPU, in eval mode."""
    body = _load(AutoModel, path, dtype, options)
    return ValueModel(body, body.config.get_text_config().hidden_size).to(dtype).eval()


def _load(kind: Any, path: str, dtype: torch.dtype, options: ModelConfig | None) -> Any:
    config = load_model_config(path, options)
    remote = options is not None and options.trust_remote_code
    try:
        model = kind.from_pretrained(path, config=config, dtype=dtype, trust_remote_code=remote)
    except (OSError, ValueError) as error:
        raise ConfigError(f"no model can be loaded from '{path}': {_first_line(error)}") from None
    return model.eval()


def prepare(
    model: nn.Module, options: ModelConfig, device: torch.device, fsdp: FsdpConfig
) -> PolicyModel | ValueModel:
    """Apply the model options to a causal language model or a `ValueModel`, before it is sharded.

    Args:
        device: where it is going to compute.

    Raises:
        ConfigError: an option needs a package that is not there, or the model cannot do it.
    """
    prepared = model if isinstance(model, ValueModel) else PolicyModel(model)
    assert isinstance(prepared, PolicyModel | ValueModel)
    body: Any = prepared.body
    packs = options.use_remove_padding and keeps_apart(body)
    if options.lora_rank > 0:
        add_lora(body, options)
    flash = device.type == "cuda" and is_flash_attn_2_available()
    attention = options.override_config.get("attn_implementation", "flash_attention_2" if flash else None)
    if attention:
        body.set_attn_implementation(attention)
    if packs:
        prepared.packing = "flat" if str(attention).startswith("flash") else "rows"
    if options.use_liger:
        _apply_liger(body)
    if options.enable_gradient_checkpointing:
        for layer in _layers(prepared, fsdp):
            # Not transformers' own switch: that works in training mode only, where dropout is on.
            layer.forward = partial(checkpoint, layer.forward, use_reentrant=False, preserve_rng_state=False)
    return prepared


def shard(model: nn.Module, world: World, config: FsdpConfig) -> nn.Module:
    """Shard a model over all processes with FSDP2, one group per decoder layer.

    Master weights stay in the type they have. A causal language model comes back inside a `PolicyModel`.
    """
    if isinstance(model, PreTrainedModel):
        model = PolicyModel(model)
    mixed = config.mixed_precision
    settings: dict[str, Any] = {
        "mesh": _mesh(world, config.fsdp_size),
        "mp_policy": MixedPrecisionPolicy(
            param_dtype=DTYPES[mixed.param_dtype or config.dtype], reduce_dtype=DTYPES[mixed.reduce_dtype]
        ),
        "offload_policy": _offload(world, config),
    }
    for layer in _layers(model, config):
        fully_shard(layer, reshard_after_forward=config.reshard_after_forward, **settings)
    # The root's weights are the first that backward needs: what has no backward need not keep them.
    trained = any(p.requires_grad for p in model.parameters())
    fully_shard(model, reshard_after_forward=None if trained else config.reshard_after_forward, **settings)
    return model


def language_model(model: nn.Module) -> nn.Module:
    """Return the Hugging Face model within a policy; anything else as it is."""
    return model.body if isinstance(model, PolicyModel) else model


def full_tensors(model: nn.Module, dtype: torch.dtype | None = None) -> Iterator[tuple[str, Tensor]]:
    """Yield every parameter gathered from its shards, one at a time. All processes must iterate together.

    Names are those of the Hugging Face model. A tied weight comes once, under its first name; an adapter
    comes added to the weight it adapts.

    Args:
        dtype: cast to this (each shard before it travels, where there is no adapter); None: as it is.
    """
    for module in model.modules():
        if isinstance(module, FSDPModule):
            module.reshard()  # after a forward alone the root still holds its copy in the computing type
    body = language_model(model)
    if getattr(body, "peft_config", None):
        for name, tensor in merged_tensors(body, gathered):
            yield name, tensor if dtype is None else tensor.to(dtype)
        return
    for name, parameter in body.named_parameters():
        value = parameter.detach()
        yield name, gathered(value if dtype is None else value.to(dtype))


def _mesh(world: World, fsdp_size: int) -> DeviceMesh:
    if 0 < fsdp_size < world.size:
        groups = world.size // fsdp_size
        names = ("replicate", "shard")
        return init_device_mesh(world.device.type, (groups, fsdp_size), mesh_dim_names=names)
    return init_device_mesh(world.device.type, (world.size,))


def _offload(world: World, config: FsdpConfig) -> OffloadPolicy:
    if config.param_offload or config.offload_policy:
        return CPUOffloadPolicy(pin_memory=world.device.type == "cuda")
    return OffloadPolicy()


def _layers(model: nn.Module, config: FsdpConfig) -> list[nn.Module]:
    """Return the decoder layers: the modules of the classes that the config names, or the model declares."""
    declared = (getattr(m, "_no_split_modules", None) for m in model.modules())
    names = config.wrap_policy.transformer_layer_cls_to_wrap or sorted({n for d in declared if d for n in d})
    layers = [m for m in model.modules() if type(m).__name__ in names]
    if not layers:
        raise ConfigError(
            f"{type(model.body).__name__} has no layer of class {', '.join(names) or '(none declared)'}: "
            "name it in fsdp_config.wrap_policy.transformer_layer_cls_to_wrap"
        )
    return layers


def _apply_liger(body: Any) -> None:
    try:
        from liger_kernel.transformers.monkey_patch import (  # type: ignore[import-not-found]
            _apply_liger_kernel_to_instance,
        )
    except ImportError:
        raise ConfigError(
            "model.use_liger needs Liger: pip install liger-kernel, or use_liger=false"
        ) from None
    _apply_liger_kernel_to_instance(model=body)


def quiet_transformers() -> None:
    """Keep transformers' progress bars and advice off the console; its errors are raised."""
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
