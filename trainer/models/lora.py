"""Low-rank adapters (Hu et al. 2021, arXiv:2106.09685) for a model's linear layers, using peft.

Adapters are injected in place, so that the model keeps its Hugging Face class.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from rewardkit.errors import ConfigError, reason_of
from rewardkit.trainer.config.workers import ModelConfig
from rewardkit.trainer.distributed import gathered

ADAPTER = "default"
AdapterParts = tuple[Any, dict[str, Tensor]]
"""Parts of an adapter: peft's `LoraConfig`, and the tensors by the names that `adapter_tensors` yields."""


def add_lora(model: Any, options: ModelConfig, *, weights: bool = True) -> None:
    """Freeze a Hugging Face model and add an adapter to its linear layers.

    A new adapter does not change the model's output before it is trained.

    Args:
        weights: If True and `options.lora_adapter_path` is set, load the adapter's weights from that path.

    Raises:
        ConfigError: peft is not installed, `target_modules` matches no layer or a layer that is not linear,
            or the path does not contain an adapter that fits this model.
    """
    try:
        from peft.tuners.lora import Linear, LoraLayer
    except ImportError:
        raise ConfigError(
            "LoRA (model.lora_rank, model.lora_adapter_path) needs peft: pip install 'rewardkit[train]'"
        ) from None
    if not isinstance(options.target_modules, str | list | tuple):
        raise ConfigError(
            "target_modules must be all-linear, a list of names, or a regex; "
            f"found {options.target_modules!r}"
        )
    settings = adapter_settings(options)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)  # so that all processes create and shard the same adapter
            model.add_adapter(settings, ADAPTER)
    except (ValueError, TypeError, re.error) as error:
        raise ConfigError(f"target_modules={options.target_modules}: {reason_of(error)}") from None
    for name, layer in model.named_modules():
        if isinstance(layer, LoraLayer) and not isinstance(layer, Linear):
            raise ConfigError(f"target_modules includes {name}, which is not a linear layer")
    if weights and options.lora_adapter_path is not None:
        _load_adapter(model, Path(options.lora_adapter_path))


def adapter_settings(options: ModelConfig) -> Any:
    """Return peft's `LoraConfig` for a model's options, read from `lora_adapter_path` if it is set.

    Raises:
        ConfigError: The path contains no adapter, or an adapter of another type.
    """
    from peft import LoraConfig

    if options.lora_adapter_path is None:
        return LoraConfig(
            r=options.lora_rank,
            lora_alpha=options.lora_alpha,
            target_modules=options.target_modules,
            exclude_modules=options.exclude_modules,
        )
    folder = Path(options.lora_adapter_path)
    if not (folder / "adapter_config.json").is_file():
        raise ConfigError(f"lora_adapter_path={folder} contains no adapter: adapter_config.json is missing")
    try:
        settings = LoraConfig.from_pretrained(str(folder))
    except Exception as error:  # invalid JSON, or settings unknown to peft
        raise ConfigError(f"lora_adapter_path={folder}: {reason_of(error)}") from None
    if not isinstance(settings, LoraConfig):
        raise ConfigError(f"the adapter in {folder} has the type {settings.peft_type.value}; expected LORA")
    settings.inference_mode = False
    return settings


@torch.no_grad()
def _load_adapter(model: nn.Module, folder: Path) -> None:
    """Load the adapter's weights into the model, from a file in the format of `write_adapter`."""
    try:
        saved = load_file(folder / "adapter_model.safetensors")
    except (OSError, SafetensorError) as error:
        raise ConfigError(f"cannot read {folder / 'adapter_model.safetensors'}: {reason_of(error)}") from None
    for name, parameter in model.named_parameters():
        if ".lora_" in name:
            tensor = saved.pop(f"base_model.model.{name.replace(f'.{ADAPTER}.', '.')}", None)
            if tensor is None or tensor.shape != parameter.shape:
                raise ConfigError(
                    f"the adapter in {folder} does not fit this model: {name} is missing from the adapter or "
                    "has a different shape"
                )
            parameter.copy_(tensor)
    if saved:
        raise ConfigError(
            f"the adapter in {folder} does not fit this model: the model has no layer for {next(iter(saved))}"
        )


@contextmanager
def adapters_off(model: nn.Module) -> Iterator[None]:
    """Disable the adapters for the block, so that the model behaves like the base model."""
    # peft's `enable_adapters` would freeze and unfreeze parameters without FSDP's knowledge.
    layers: list[Any] = [m for m in model.modules() if hasattr(m, "_disable_adapters")]
    for layer in layers:
        layer._disable_adapters = True
    try:
        yield
    finally:
        for layer in layers:
            layer._disable_adapters = False


def merged_tensors(model: nn.Module, gather: Callable[[Tensor], Tensor]) -> Iterator[tuple[str, Tensor]]:
    """Yield the base model's parameters by name, as new tensors with the adapters merged into them."""
    for name, parameter in model.named_parameters():
        owner, base, rest = name.rpartition(".base_layer.")
        if ".lora_" in name:
            continue
        weight = gather(parameter.detach())
        if base and rest == "weight":
            layer: Any = model.get_submodule(owner)
            down, up = (gather(m[ADAPTER].weight.detach()) for m in (layer.lora_A, layer.lora_B))
            weight = weight + ((up @ down) * layer.scaling[ADAPTER]).to(weight.dtype)
        yield f"{owner}.{rest}" if base else name, weight


def adapter_tensors(model: Any) -> Iterator[tuple[str, Tensor]]:
    """Yield the adapter's tensors, gathered from the shards, with their names in an adapter file.

    Args:
        model: `PolicyModel` or `ValueModel` with an adapter, sharded or not. All processes must iterate.
    """
    for name, parameter in model.body.named_parameters():
        if ".lora_" in name:
            yield f"base_model.model.{name.replace(f'.{ADAPTER}.', '.')}", gathered(parameter.detach())


def gather_adapter(model: Any, *, keep: bool = True) -> AdapterParts:
    """Return a model's adapter settings and CPU copies of its adapter tensors, for `write_adapter`.

    All processes must call this function.

    Args:
        model: `PolicyModel` or `ValueModel` with an adapter.
        keep: If False, return no tensors in this process.
    """
    copies = {name: tensor.to("cpu", copy=True) for name, tensor in adapter_tensors(model) if keep}
    return model.body.peft_config[ADAPTER], copies


def write_adapter(settings: Any, tensors: Mapping[str, Tensor], folder: Path) -> None:
    """Write an adapter to a folder, in a format that `PeftModel.from_pretrained` and vLLM can load.

    Args:
        settings: peft's `LoraConfig`.
        tensors: CPU tensors by the names that `adapter_tensors` yields.
    """
    folder.mkdir(parents=True, exist_ok=True)
    settings.save_pretrained(folder)
    contiguous = {name: tensor.contiguous() for name, tensor in tensors.items()}
    save_file(contiguous, folder / "adapter_model.safetensors", metadata={"format": "pt"})
