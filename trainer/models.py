"""Models: loading from a Hugging Face folder, the value head, and sharding with FSDP2.

Every model takes part in training through its root `forward` alone: a submodule called past FSDP2's root
hook would meet sharded weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor
from transformers import AutoConfig, AutoModel, AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging as transformers_logging

from rewardkit.errors import ConfigError
from rewardkit.trainer.config import FsdpConfig
from rewardkit.trainer.distributed import World

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def load_tokenizer(path: str) -> Any:
    """Load the tokenizer of a model folder; it must have a chat template and an end-of-sequence token."""
    quiet_transformers()
    try:
        tokenizer = AutoTokenizer.from_pretrained(path)
    except (OSError, ValueError) as error:
        raise ConfigError(f"no tokenizer can be loaded from '{path}': {_first_line(error)}") from None
    if tokenizer.eos_token_id is None:
        raise ConfigError(f"the tokenizer of '{path}' has no end-of-sequence token: no response could end")
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def load_model_config(path: str) -> Any:
    """Load the configuration of a model folder, without its weights."""
    quiet_transformers()
    try:
        return AutoConfig.from_pretrained(path)
    except (OSError, ValueError) as error:
        raise ConfigError(f"no model can be loaded from '{path}': {_first_line(error)}") from None


def load_causal_lm(path: str, dtype: torch.dtype = torch.float32) -> nn.Module:
    """Load a causal language model, on the CPU, in eval mode.

    It stays in eval mode while it trains: dropout would make the policy that is updated another one than
    the policy that acted.
    """
    quiet_transformers()
    try:
        model: nn.Module = AutoModelForCausalLM.from_pretrained(path, dtype=dtype)
    except (OSError, ValueError) as error:
        raise ConfigError(f"no causal model can be loaded from '{path}': {_first_line(error)}") from None
    return model.eval()


class ValueModel(nn.Module):
    """A language model's body with a scalar head: the value of the state after each token.

    The head starts at zero, so that the first values are 0 rather than noise that the critic has to unlearn.
    """

    def __init__(self, body: nn.Module, hidden_size: int) -> None:
        super().__init__()
        self.body = body
        self.head = nn.Linear(hidden_size, 1, bias=False)
        nn.init.zeros_(self.head.weight)

    def forward(self, input_ids: Tensor, attention_mask: Tensor, position_ids: Tensor) -> Tensor:
        """Return (B, L) float32."""
        hidden = self.body(
            input_ids=input_ids, attention_mask=attention_mask, position_ids=position_ids, use_cache=False
        ).last_hidden_state
        values: Tensor = self.head(hidden).squeeze(-1).float().clone()  # FSDP2 wants no views back
        return values


def load_value_model(path: str) -> ValueModel:
    """Load a critic from a language model's folder, on the CPU, in float32."""
    quiet_transformers()
    try:
        body = AutoModel.from_pretrained(path, dtype=torch.float32)
    except (OSError, ValueError) as error:
        raise ConfigError(f"no critic can be loaded from '{path}': {_first_line(error)}") from None
    return ValueModel(body, body.config.get_text_config().hidden_size).eval()


def shard(model: nn.Module, world: World, config: FsdpConfig) -> nn.Module:
    """Shard a model over all processes with FSDP2, one group per decoder layer.

    float32 master weights; computation in `config.dtype`; gradients reduced in float32.
    """
    mesh = _mesh(world)
    precision = MixedPrecisionPolicy(param_dtype=DTYPES[config.dtype], reduce_dtype=torch.float32)
    layers = _layer_classes(model)
    model.to(world.device)
    for module in list(model.modules()):
        if type(module).__name__ in layers:
            fully_shard(
                module, mesh=mesh, mp_policy=precision, reshard_after_forward=config.reshard_after_forward
            )
    fully_shard(model, mesh=mesh, mp_policy=precision)
    return model


def full_tensors(model: nn.Module, dtype: torch.dtype | None = None) -> Iterator[tuple[str, Tensor]]:
    """Yield every parameter gathered from its shards, one at a time. All processes must iterate together.

    A tied weight comes once, under its first name.

    Args:
        dtype: cast each shard to this before it travels; None: as it is.
    """
    for module in model.modules():
        if isinstance(module, FSDPModule):
            module.reshard()  # after a forward alone the root still holds its copy in the computing type
    for name, parameter in model.named_parameters():
        value = parameter.detach().to(dtype) if dtype is not None else parameter.detach()
        yield name, value.full_tensor() if isinstance(value, DTensor) else value


def _mesh(world: World) -> DeviceMesh:
    return init_device_mesh(world.device.type, (world.size,))


def _layer_classes(model: nn.Module) -> set[str]:
    """Names of the classes that hold one decoder layer, as the model declares them."""
    declared = (getattr(m, "_no_split_modules", None) for m in model.modules())
    return {name for names in declared if names for name in names}


def quiet_transformers() -> None:
    """Keep transformers' progress bars and advice off the console; its errors are raised."""
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
