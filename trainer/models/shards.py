"""Builds models without weights, and reads weights from safetensors files directly into the shards.

Each process reads only its own part of a model. If the files contain the tensors under other names or in
another format, `match` returns None, and every process loads the whole model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageReader
from torch.distributed.checkpoint.state_dict_loader import load
from torch.nn.modules.module import register_module_parameter_registration_hook

TYPES = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
"""Supported dtypes of weights."""

Saved = dict[str, tuple[tuple[int, ...], torch.dtype]]
"""Shape and dtype of each tensor in a folder's safetensors files, by name."""


@dataclass(frozen=True, slots=True)
class ShardPlaces:
    """Locations of a model's weights in files."""

    folder: Path
    names: Mapping[str, str]
    """Name of each tensor in the folder's files, by the name of its parameter or buffer in the model."""


def read_saved(folder: Path) -> Saved:
    """Return the shape and dtype of each tensor in a folder, from the headers of its safetensors files."""
    found: Any = HuggingFaceStorageReader(str(folder)).read_metadata().state_dict_metadata
    return {name: (tuple(about.size), about.properties.dtype) for name, about in found.items()}


@contextmanager
def parameters_on_meta() -> Iterator[None]:
    """Create parameters on the meta device in the block. Buffers are real, as files do not contain them."""

    def without_data(module: nn.Module, name: str, parameter: nn.Parameter | None) -> Any:
        if parameter is None or parameter.is_meta:  # a tied parameter stays the same object
            return None
        return nn.Parameter(parameter.to("meta"), requires_grad=parameter.requires_grad)

    handle = register_module_parameter_registration_hook(without_data)
    try:
        yield
    finally:
        handle.remove()


def match(model: Any, folder: Path) -> ShardPlaces | None:
    """Return the locations of the parameters and saved buffers in a model.

    Return None if a tensor is missing or would have to be converted. The files for a model without a head may
    contain its tensors under the prefix of the model with a head.
    """
    saved = read_saved(folder)
    state = model.state_dict()
    prefix = f"{model.base_model_prefix}."
    bare = any(not name.startswith(prefix) and f"{prefix}{name}" in saved for name in state)
    under = {name: f"{prefix}{name}" if bare and f"{prefix}{name}" in saved else name for name in state}
    names = {name: under[name] for name in state if under[name] in saved}
    unique = {name for name, _ in model.named_parameters()}
    aliases = {name for name, _ in model.named_parameters(remove_duplicate=False)} - unique
    fits = all(name in names for name in state if name not in aliases)
    if not fits or any(name in names for name in aliases) or converts(model):
        return None
    for name, there in names.items():
        shape, dtype = saved[there]
        if shape != tuple(state[name].shape) or dtype not in TYPES:
            return None
    return ShardPlaces(folder, names)


def converts(model: Any) -> bool:
    """Return True if transformers changes more than the names of this model's tensors when it loads them."""
    try:
        from transformers.conversion_mapping import WeightConverter, get_model_conversion_mapping
    except ImportError:
        return False
    return any(isinstance(step, WeightConverter) for step in get_model_conversion_mapping(model))


@torch.no_grad()
def fill(model: Any, places: ShardPlaces, device: torch.device) -> None:
    """Allocate a model's parameters on `device`, and read this process's part of the weights in its `body`.

    All processes must call this function together.
    """
    _give_memory(model, device)
    own: dict[str, Tensor] = {**dict(model.named_buffers()), **dict(model.named_parameters())}
    body = {name.removeprefix("body."): t.detach() for name, t in own.items() if name.startswith("body.")}
    wanted = {there: body[name] for name, there in places.names.items() if name in body}
    load(wanted, storage_reader=HuggingFaceStorageReader(str(places.folder)))


def _give_memory(model: Any, device: torch.device) -> None:
    """Allocate memory for parameters that have none, and keep tied parameters tied.

    In contrast, `Module.to_empty` would allocate memory for all parameters again.
    """
    made: dict[nn.Parameter, nn.Parameter] = {}
    for module in model.modules():
        for name, parameter in list(module.named_parameters(recurse=False)):
            if not parameter.is_meta:
                continue
            if parameter not in made:
                empty = torch.empty_like(parameter, device=device)
                made[parameter] = nn.Parameter(empty, requires_grad=parameter.requires_grad)
            setattr(module, name, made[parameter])
