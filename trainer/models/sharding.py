"""Shards a model over processes with FSDP2, and gathers its full tensors.

In training, every model is called only by its root `forward` (`heads.py`). A submodule called directly would
bypass FSDP2's root hook and run with sharded weights.
"""

from __future__ import annotations

from collections.abc import Iterator
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
    register_fsdp_forward_method,
)
from transformers import PreTrainedModel

from rewardkit.trainer.config.workers import FsdpConfig, computing_dtype, may_stay_whole, offloads
from rewardkit.trainer.distributed import World, gathered
from rewardkit.trainer.models.heads import PolicyModel, ValueModel
from rewardkit.trainer.models.load import DTYPES
from rewardkit.trainer.models.lora import merged_tensors
from rewardkit.trainer.models.prepare import decoder_layers
from rewardkit.trainer.models.shards import ShardPlaces, fill


def shard(model: nn.Module, world: World, config: FsdpConfig, places: ShardPlaces | None = None) -> nn.Module:
    """Shard a model over all processes with FSDP2, one group per decoder layer.

    Master weights keep their dtype. A causal language model is wrapped in a `PolicyModel`. If a single
    process computes in the dtype of its weights, the model is not sharded, as FSDP2 would copy all weights
    for each forward and backward.

    Args:
        places: Locations of an outline's weights. Each process reads only its own part.
    """
    if isinstance(model, PreTrainedModel):
        model = PolicyModel(model)
    if _stays_whole(model, world, config):
        return _whole(model, world.device, places)
    mixed = config.mixed_precision
    settings: dict[str, Any] = {
        "mesh": _mesh(world, config.fsdp_size),
        "mp_policy": MixedPrecisionPolicy(
            param_dtype=DTYPES[computing_dtype(config)], reduce_dtype=DTYPES[mixed.reduce_dtype]
        ),
        "offload_policy": _offload(world, config),
    }
    for layer in decoder_layers(model, config):
        fully_shard(layer, reshard_after_forward=config.reshard_after_forward, **settings)
    # Backward needs the root's weights first, so they stay gathered only if there is a backward.
    trained = any(p.requires_grad for p in model.parameters())
    fully_shard(model, reshard_after_forward=None if trained else config.reshard_after_forward, **settings)
    if places is not None:
        assert isinstance(model, PolicyModel | ValueModel)
        offloaded = isinstance(settings["offload_policy"], CPUOffloadPolicy)
        fill(model, places, torch.device("cpu") if offloaded else world.device)
        register_fsdp_forward_method(model, "find_out")  # it gathers weights as a forward does
        with torch.no_grad():
            # FSDP2 of torch before 2.13 fails, on CUDA, in a forward without arguments.
            model.find_out(world.device)
        root: Any = model
        root.reshard()  # frees the weights that it keeps for a backward
    return model


def _stays_whole(model: nn.Module, world: World, config: FsdpConfig) -> bool:
    """Return True if the model need not be sharded (`may_stay_whole`), and no parameter needs a cast.

    The dtype of an adapter may differ from that of the model.
    """
    computing = DTYPES[computing_dtype(config)]
    return may_stay_whole(config, world.size) and all(p.dtype == computing for p in model.parameters())


def _whole(model: nn.Module, device: torch.device, places: ShardPlaces | None) -> nn.Module:
    if places is None:
        return model.to(device)
    assert isinstance(model, PolicyModel | ValueModel)
    fill(model, places, device)
    model.to(device)
    model.find_out(device)
    return model


def drop_gathered(model: nn.Module) -> None:
    """Free the gathered weights that the root keeps for a backward."""
    for module in model.modules():
        if isinstance(module, FSDPModule):
            module.reshard()


def language_model(model: nn.Module) -> nn.Module:
    """Return the Hugging Face model in a policy, or any other model unchanged."""
    return model.body if isinstance(model, PolicyModel) else model


def is_adapted(model: nn.Module) -> bool:
    """Return True if a policy is trained by an adapter."""
    return bool(getattr(language_model(model), "peft_config", None))


def full_tensors(model: nn.Module, dtype: torch.dtype | None = None) -> Iterator[tuple[str, Tensor]]:
    """Yield every parameter gathered from its shards, one at a time. All processes must iterate together.

    Names are those of the Hugging Face model. A tied weight is yielded once, under its first name. An adapter
    is merged into the weight that it adapts.

    Args:
        dtype: Type to cast to, or None to keep the type. Without an adapter, shards are cast before they are
            gathered.
    """
    drop_gathered(model)
    body = language_model(model)
    if is_adapted(model):
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
    if offloads(config):
        return CPUOffloadPolicy(pin_memory=world.device.type == "cuda")
    return OffloadPolicy()
