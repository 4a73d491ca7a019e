"""Shards a model over processes with FSDP2, and gathers its full tensors.

In training, a model is called only through its root's `forward` (`heads.py`). A direct call to a submodule
would bypass FSDP2's root hook and run with sharded weights.
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
from torch.distributed.tensor import DTensor, Replicate
from transformers import PreTrainedModel

from rewardkit.trainer.config.workers import FsdpConfig, computing_dtype, may_stay_whole, offloads
from rewardkit.trainer.distributed import World, gathered
from rewardkit.trainer.models.heads import PolicyModel, ValueModel
from rewardkit.trainer.models.load import DTYPES
from rewardkit.trainer.models.lora import merged_tensors
from rewardkit.trainer.models.prepare import decoder_layers
from rewardkit.trainer.models.quantised import has_quantised
from rewardkit.trainer.models.shards import ShardPlaces, fill


def shard(model: nn.Module, world: World, config: FsdpConfig, places: ShardPlaces | None = None) -> nn.Module:
    """Shard a model over all processes with FSDP2, with one group per decoder layer.

    Master weights keep their dtype. A causal language model is wrapped in a `PolicyModel`. If a single
    process computes in the dtype of its weights, the model is not sharded, because FSDP2 would copy all
    weights in each forward and backward pass. A quantised model is never sharded.

    Args:
        places: Locations of the weights if `model` is an outline. Each process reads only its own part.
    """
    if isinstance(model, PreTrainedModel):
        model = PolicyModel(model)
    if has_quantised(model) or _stays_whole(model, world, config):
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
    # In training, the root's weights stay gathered, because the backward pass begins with them.
    trained = any(p.requires_grad for p in model.parameters())
    fully_shard(model, reshard_after_forward=None if trained else config.reshard_after_forward, **settings)
    if places is not None:
        assert isinstance(model, PolicyModel | ValueModel)
        offloaded = isinstance(settings["offload_policy"], CPUOffloadPolicy)
        fill(model, places, torch.device("cpu") if offloaded else world.device)
        register_fsdp_forward_method(model, "find_out")  # `find_out` gathers weights like `forward`
        with torch.no_grad():
            # Before torch 2.13, FSDP2 fails on CUDA if the forward pass has no arguments.
            model.find_out(world.device)
        root: Any = model
        root.reshard()  # frees the weights that the root keeps for a backward pass
    return model


def _stays_whole(model: nn.Module, world: World, config: FsdpConfig) -> bool:
    """Return True if the model need not be sharded (`may_stay_whole`) and no parameter needs a cast.

    Every parameter is checked, because an adapter's dtype may differ from the base model's dtype.
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
    """Free the gathered weights that FSDP2 keeps for a backward pass."""
    for module in model.modules():
        if isinstance(module, FSDPModule):
            module.reshard()


def language_model(model: nn.Module) -> nn.Module:
    """Return the Hugging Face model in a policy, or any other model unchanged."""
    return model.body if isinstance(model, PolicyModel) else model


def is_adapted(model: nn.Module) -> bool:
    """Return True if the model has an adapter, which is trained instead of the model's weights."""
    return bool(getattr(getattr(model, "body", model), "peft_config", None))


def full_tensors(model: nn.Module, dtype: torch.dtype | None = None) -> Iterator[tuple[str, Tensor]]:
    """Yield every parameter gathered from its shards, one at a time. All processes must iterate together.

    Names are as in the Hugging Face model. A tied weight is yielded once, under its first name. An adapter is
    merged into the weight that it adapts.

    Args:
        dtype: Dtype to cast to, or None to keep the dtype. Without an adapter, shards are cast before they
            are gathered.
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


def move_towards(parameter: Tensor, whole: Tensor, alpha: float) -> None:
    """Interpolate a parameter, sharded or not, towards a full tensor, which every process has."""
    if isinstance(parameter, DTensor):
        mesh = parameter.device_mesh
        everywhere = DTensor.from_local(whole, mesh, [Replicate()] * mesh.ndim, run_check=False)
        whole = everywhere.redistribute(placements=parameter.placements).to_local()
        parameter = parameter.to_local()
    parameter.lerp_(whole.to(parameter), alpha)


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
