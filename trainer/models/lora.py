"""Low-rank adapters (Hu et al. 2021, arXiv:2106.09685) for a model's linear layers, using peft.

Adapters are injected in place, so that the model keeps its Hugging Face class.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from rewardkit.errors import ConfigError, did_you_mean, reason_of
from rewardkit.trainer.config.workers import ModelConfig
from rewardkit.trainer.distributed import gathered
from rewardkit.trainer.models.quantised import is_quantised, unquantised

ADAPTER = "default"
_SAVED = f".modules_to_save.{ADAPTER}."
"""Part of the names of the parameters of a module that is trained as a whole."""
_ORIGINAL = ".original_module."
"""Part of the names of the parameters that such a module had before."""
BY_OTHER_SETTINGS = {
    "r": "lora_rank",
    "lora_alpha": "lora_alpha",
    "target_modules": "target_modules",
    "exclude_modules": "exclude_modules",
}
"""Setting for each argument of peft's `LoraConfig` that has one."""
AdapterParts = tuple[Any, dict[str, Tensor]]
"""Parts of an adapter: peft's `LoraConfig`, and the tensors by the names that `adapter_tensors` yields."""


def add_lora(model: Any, options: ModelConfig, *, weights: bool = True) -> None:
    """Freeze a Hugging Face model and add an adapter to its linear layers.

    A new adapter does not change the model's output before it is trained.

    Args:
        weights: If True and `options.lora_adapter_path` is set, load the adapter's weights from that path.

    Raises:
        ConfigError: peft is not installed, `target_modules` matches no layer or a layer that is not linear,
            the path does not contain an adapter that fits this model, or the adapter trains weights that are
            quantised.
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
    if options.quantization_config and settings.modules_to_save:
        raise ConfigError(
            f"the adapter's modules_to_save={sorted(settings.modules_to_save)} trains weights that "
            "quantization_config freezes; leave out one of the two"
        )
    if settings.exclude_modules is None:
        settings.exclude_modules = _all_but_text(model)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)  # all processes must create the same adapter
            model.add_adapter(settings, ADAPTER)
    except (ValueError, TypeError, re.error) as error:
        raise ConfigError(f"target_modules={options.target_modules}: {reason_of(error)}") from None
    for name, layer in model.named_modules():
        if isinstance(layer, LoraLayer) and not isinstance(layer, Linear):
            if options.quantization_config and is_quantised(getattr(layer.get_base_layer(), "weight", None)):
                continue  # peft has its own class for these linear layers
            raise ConfigError(f"target_modules includes {name}, which is not a linear layer")
    for name, parameter in model.named_parameters():
        if parameter.requires_grad and not _is_of_adapter(name):
            raise ConfigError(
                f"override_lora_config={options.override_lora_config} would train {name}, which cannot be "
                "merged into the model's weights; leave out the argument that causes this"
            )
        if parameter.requires_grad and options.quantization_config:
            parameter.data = parameter.data.float()  # the other weights are in the dtype of the computation
    drop_out(model, active=False)
    if weights and options.lora_adapter_path is not None:
        _load_adapter(model, Path(options.lora_adapter_path))


def _all_but_text(model: Any) -> str | None:
    """Return a pattern for the layers of a vision-language model that do not compute text."""
    if model.get_encoder("image") is model:
        return None
    text = model.get_decoder()
    name = next(name for name, module in model.named_modules() if module is text)
    return rf"(?!{re.escape(name)}\.).*"


def check_lora(key: str, options: ModelConfig) -> None:
    """Check the names of the arguments of peft's `LoraConfig`.

    Args:
        key: Setting of `options`, such as `actor_rollout_ref.model`.

    Raises:
        ConfigError: An argument is unknown, is determined by another setting or would change the model, or
            there is no new adapter.
    """
    given = options.override_lora_config
    if not given:
        return
    key = f"{key}.override_lora_config"
    if options.lora_adapter_path is not None or not options.lora_rank:
        raise ConfigError(f"{key} is for a new adapter; set lora_rank, and no lora_adapter_path")
    from peft import LoraConfig  # importing peft takes seconds

    known = [one.name for one in fields(LoraConfig) if one.init]
    for name in given:
        if name in BY_OTHER_SETTINGS:
            raise ConfigError(f"{key}.{name}: set {BY_OTHER_SETTINGS[name]} instead")
        if name not in known:
            raise ConfigError(f"{key}: peft's LoraConfig has no argument {name}{did_you_mean(name, known)}")
    start = given.get("init_lora_weights", True)
    if start not in (True, "gaussian", "orthogonal"):
        raise ConfigError(
            f"{key}.init_lora_weights={start} changes the model before it is trained; use true, gaussian or "
            "orthogonal"
        )


def _is_of_adapter(name: str) -> bool:
    """Return True if a parameter belongs to the adapter or to a module that is trained as a whole."""
    matrix = name.endswith((f".lora_A.{ADAPTER}.weight", f".lora_B.{ADAPTER}.weight"))
    return matrix or _SAVED in name


def _saved_name(name: str) -> str:
    """Return the name of an adapter's parameter in an adapter file."""
    return f"base_model.model.{name.replace(_SAVED, '.').replace(f'.{ADAPTER}.', '.')}"


def drop_out(model: nn.Module, *, active: bool) -> None:
    """Turn the dropout of adapters on or off. Dropout is only on in updates."""
    for layer in model.modules():
        if isinstance(dropout := getattr(layer, "lora_dropout", None), nn.Module):
            dropout.train(active)


def has_dropout(model: nn.Module) -> bool:
    """Return True if the model has an adapter with dropout."""
    found: list[Any] = [getattr(layer, "lora_dropout", None) for layer in model.modules()]
    return any(isinstance(one, nn.Dropout) for given in found if given is not None for one in given.values())


def adapter_settings(options: ModelConfig) -> Any:
    """Return peft's `LoraConfig` for a model's options, read from `lora_adapter_path` if it is set.

    Raises:
        ConfigError: The path contains no adapter, or an adapter of another type.
    """
    from peft import LoraConfig

    if options.lora_adapter_path is None:
        own = {name: getattr(options, setting) for name, setting in BY_OTHER_SETTINGS.items()}
        try:
            return LoraConfig(**own, **options.override_lora_config)
        except (TypeError, ValueError) as error:
            raise ConfigError(
                f"override_lora_config={options.override_lora_config}: {reason_of(error)}"
            ) from None
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
        if _is_of_adapter(name):
            tensor = saved.pop(_saved_name(name), None)
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
    """Yield the base model's parameters by name, as new tensors with the adapters merged into them.

    Quantised weights are yielded as the matrices that the model computes with, in the adapter's dtype.
    """
    for name, parameter in model.named_parameters():
        owner, base, rest = name.rpartition(".base_layer.")
        if ".lora_" in name or _ORIGINAL in name:
            continue
        weight = gather(unquantised(parameter))
        if base and rest == "weight":
            layer: Any = model.get_submodule(owner)
            down, up = (gather(m[ADAPTER].weight.detach()) for m in (layer.lora_A, layer.lora_B))
            added = (up @ down) * layer.scaling[ADAPTER]
            added = added.T if layer.fan_in_fan_out else added  # `Conv1D` stores its weight transposed
            weight = weight + (added if is_quantised(parameter) else added.to(weight.dtype))
        yield f"{owner}.{rest}" if base else name.replace(_SAVED, "."), weight


def adapter_tensors(model: Any) -> Iterator[tuple[str, Tensor]]:
    """Yield the adapter's tensors, gathered from the shards, with their names in an adapter file.

    The head of a `ValueModel`, which is trained with the adapter, is yielded as `base_model.model.head`.

    Args:
        model: `PolicyModel` or `ValueModel` with an adapter, sharded or not. All processes must iterate.
    """
    for name, parameter in model.body.named_parameters():
        if _is_of_adapter(name):
            yield _saved_name(name), gathered(parameter.detach())
    if isinstance(head := getattr(model, "head", None), nn.Linear):
        yield "base_model.model.head.weight", gathered(head.weight.detach())


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
