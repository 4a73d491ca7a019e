"""A model without its weights, and its weights read from safetensors files straight into the shards.

No process ever holds more of a model than its own part and one slice of a tensor. Where a folder does not
hold the tensors as the model names them, or not in safetensors, `outline` says so, and it is loaded whole.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.fsdp import FSDPModule
from torch.distributed.tensor import DTensor
from torch.distributed.tensor._utils import compute_local_shape_and_global_offset

TYPES = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}


@dataclass(frozen=True, slots=True)
class ShardPlace:
    """Where a tensor lies in a safetensors file."""

    file: Path
    start: int
    shape: tuple[int, ...]
    dtype: torch.dtype | None
    """None: one that no weight of ours has."""

    def rows(self, first: int, count: int) -> Tensor:
        """Read rows of the first dimension, and nothing else of the file; a scalar has one row."""
        assert self.dtype is not None
        inner = self.shape[1:]
        read = torch.empty((count, *inner), dtype=self.dtype)
        width = self.dtype.itemsize * int(torch.Size(inner).numel())
        with self.file.open("rb") as opened:  # not mapped: pages of the file would count as this process's
            opened.seek(self.start + first * width)
            into: Any = read.view(-1).view(torch.uint8).numpy()
            if opened.readinto(into) != into.nbytes:
                raise OSError(f"{self.file} ends within a tensor")
        return read


ShardPlaces = Mapping[str, ShardPlace]


def read_places(folder: Path) -> dict[str, ShardPlace]:
    """Return all tensors of a folder's safetensors files, from their headers."""
    places = {}
    for file in sorted(folder.glob("*.safetensors")):
        with file.open("rb") as opened:
            (length,) = struct.unpack("<Q", opened.read(8))
            header = json.loads(opened.read(length))
        for name, about in header.items():
            if name != "__metadata__":
                start = 8 + length + about["data_offsets"][0]
                places[name] = ShardPlace(file, start, tuple(about["shape"]), TYPES.get(about["dtype"]))
    return places


@contextmanager
def parameters_on_meta() -> Iterator[None]:
    """Let models be built in the block without weights; buffers, which no file holds, are real."""
    kind: Any = nn.Module
    register = kind.register_parameter

    def without_data(module: nn.Module, name: str, parameter: nn.Parameter | None) -> None:
        register(module, name, parameter)
        if parameter is not None and not parameter.is_meta:  # one that is tied stays the same object
            empty = nn.Parameter(parameter.to("meta"), requires_grad=parameter.requires_grad)
            module._parameters[name] = empty

    kind.register_parameter = without_data
    try:
        yield
    finally:
        kind.register_parameter = register


def match(model: Any, places: ShardPlaces) -> dict[str, ShardPlace] | None:
    """Return the place of each parameter and saved buffer of a model; None if one has none, or needs work.

    A model without a head finds its tensors under the prefix of the one that has it.
    """
    prefix = f"{model.base_model_prefix}."
    if any(not name.startswith(prefix) and f"{prefix}{name}" in places for name in model.state_dict()):
        places = {name.removeprefix(prefix): place for name, place in places.items()}
    unique = {name for name, _ in model.named_parameters()}
    saved = model.state_dict()
    found = {name: places[name] for name in saved if name in places}
    parameters = dict(model.named_parameters(remove_duplicate=False))
    aliases = parameters.keys() - unique
    fits = all(name in found for name in saved if name not in aliases)
    if not fits or any(name in found for name in aliases):
        return None
    same = (place.dtype is not None and place.shape == tuple(saved[n].shape) for n, place in found.items())
    return found if all(same) and not converts(model) else None


def converts(model: Any) -> bool:
    """Whether transformers changes tensors of this model between file and memory, beyond their names."""
    try:
        from transformers.conversion_mapping import WeightConverter, get_model_conversion_mapping
    except ImportError:
        return False
    return any(isinstance(step, WeightConverter) for step in get_model_conversion_mapping(model))


@torch.no_grad()
def fill(model: Any, places: ShardPlaces, device: torch.device) -> None:
    """Give a model's parameters memory on `device`, and those of its `body` what this process has of them."""
    if isinstance(model, FSDPModule):
        model._apply(lambda t: torch.empty_like(t, device=device) if t.is_meta else t)
    else:
        _give_memory(model, device)
    own: dict[str, Tensor] = {**dict(model.named_buffers()), **dict(model.named_parameters())}
    own = {name.removeprefix("body."): t for name, t in own.items() if name.startswith("body.")}
    for name, tensor in own.items():
        if name not in places:
            continue
        if not isinstance(tensor, DTensor):
            count = tensor.shape[0] if tensor.dim() else 1
            tensor.copy_(places[name].rows(0, count).view(tensor.shape))
            continue
        placed = compute_local_shape_and_global_offset(tensor.shape, tensor.device_mesh, tensor.placements)
        (count, *_), (first, *_) = placed
        if count:
            tensor.to_local().copy_(places[name].rows(first, count))


def _give_memory(model: Any, device: torch.device) -> None:
    """Not `_apply`, which makes two parameters of one that is tied."""
    made: dict[nn.Parameter, nn.Parameter] = {}
    for module in model.modules():
        for name, parameter in module._parameters.items():
            if parameter is None or not parameter.is_meta:
                continue
            if parameter not in made:
                empty = torch.empty_like(parameter, device=device)
                made[parameter] = nn.Parameter(empty, requires_grad=parameter.requires_grad)
            module._parameters[name] = made[parameter]
