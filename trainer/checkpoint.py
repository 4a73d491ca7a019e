"""The actor as a Hugging Face folder, written atomically: the folder is whole, or it is not there."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoModelForCausalLM

from rewardkit.trainer.distributed import World
from rewardkit.trainer.models import DTYPES, full_tensors


def save_actor(model: nn.Module, model_config: Any, tokenizer: Any, folder: Path, world: World) -> None:
    """Save weights (safetensors), config and tokenizer to `folder`, in the type the model came in.

    All processes must call it: the weights are gathered one at a time. The main process writes.
    """
    dtype = _dtype_of(model_config)
    state: dict[str, Tensor] = {}
    for name, tensor in full_tensors(model):
        if world.is_main:
            state[name] = tensor.to("cpu", dtype, copy=True)
    if world.is_main:
        _write(state, model_config, tokenizer, folder, dtype)
    world.gather(None)  # nobody runs ahead of a checkpoint that is not yet on disk


def _write(
    state: dict[str, Tensor], model_config: Any, tokenizer: Any, folder: Path, dtype: torch.dtype
) -> None:
    temporary = folder.with_name(f".{folder.name}.{os.getpid()}")
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        with torch.device("meta"):
            skeleton = AutoModelForCausalLM.from_config(model_config, dtype=dtype)
        skeleton.save_pretrained(temporary, state_dict=state)
        tokenizer.save_pretrained(temporary)
        for path in [*temporary.iterdir(), temporary]:
            _fsync(path)
        shutil.rmtree(folder, ignore_errors=True)
        temporary.rename(folder)
        _fsync(folder.parent)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _dtype_of(model_config: Any) -> torch.dtype:
    found = model_config.dtype or torch.float32
    return found if isinstance(found, torch.dtype) else DTYPES[found]


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
