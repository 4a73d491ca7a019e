"""Sequence classifiers in vLLM's pooling runner, which does its own batching.

This module calls `LLM(model, runner="pooling").classify(token ids, PoolingParams(use_activation=False))`, as
defined in version 0.32. vLLM reads the logits at the last token, even if the sequence ends with the padding
token, which transformers skips.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import torch
import transformers

from rewardkit.errors import InputError, message_of
from rewardkit.model_folders import read_config
from rewardkit.model_shapes import cpu_cache_bytes, read_positions
from rewardkit.rewards.model.classifier import load_tokenizer, read_length
from rewardkit.rewards.model.encode import ModelEncoder
from rewardkit.rewards.model.heads import find_head
from rewardkit.rewards.model.options import ModelOptions
from rewardkit.vllm_starts import import_vllm, start_llm, undisturbed

_LONGEST = 4096
"""Number of tokens in a sequence if neither the options nor the model limit it."""
_TOKENS = 16_384
"""Number of tokens for which the KV cache on a CPU has room. A sequence is in the cache only for one pass."""


class VllmClassifier:
    """A sequence classifier in a vLLM engine in this process.

    Raises:
        MissingDependencyError: The package vllm is not installed.
        InputError: vLLM cannot load the model.
    """

    def __init__(self, options: ModelOptions) -> None:
        _show_only(options.device)
        overrides = _overrides(options)
        with undisturbed():
            vllm = import_vllm("backend=vllm needs vllm")
            try:
                self._llm: Any = start_llm(
                    options.path,
                    runner="pooling",
                    hf_overrides=overrides,
                    dtype=options.dtype,
                    max_model_len=options.max_length or None,
                    **_memory(options),
                    # CUDA graphs speed up only generation, and each sequence here needs a single pass.
                    enforce_eager=True,
                )
            except (ValueError, RuntimeError, OSError) as error:
                why = message_of(error)
                raise InputError(f"vLLM cannot load the reward model {options.path}: {why}") from None
        self._raw = vllm.PoolingParams(use_activation=False)
        tokenizer = load_tokenizer(options.path)
        max_length = read_length(options.max_length, self._llm.model_config.hf_config, tokenizer)
        self.encoder = ModelEncoder(tokenizer, options.template, max_length)

    def logits(self, ids: Sequence[Sequence[int]]) -> list[list[float] | str]:
        """Return the logits for each sequence, in order."""
        if not ids:
            return []
        prompts = [{"prompt_token_ids": list(one)} for one in ids]
        outputs = self._llm.classify(prompts, pooling_params=self._raw, use_tqdm=False)
        return [[float(x) for x in output.outputs.probs] for output in outputs]


def _overrides(options: ModelOptions) -> dict[str, Any]:
    """Return the changes to config.json that make vLLM build a sequence classifier.

    Raises:
        InputError: vLLM would not find the head, or would drop a part of it.
    """
    head = find_head(options.path, options.head)
    named = ((read_config(options.path) or {}).get("architectures") or [""])[0]
    classifies = "SequenceClassification" in named
    if head is None or (classifies and head.name != "score"):
        return {}  # The model is an encoder, or vLLM will download it.
    if head.name != "score" or head.has_bias:
        raise InputError(
            f"backend=vllm supports only heads that are named score and have no bias, but {options.path} has "
            f"{head}; use backend=transformers"
        )
    config = transformers.AutoConfig.from_pretrained(options.path)
    kind = transformers.MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING[type(config)].__name__
    return {"num_labels": head.rows, "architectures": [named if classifies else kind]}


def _memory(options: ModelOptions) -> dict[str, Any]:
    """Return the limit of vLLM's KV cache. On a CPU, a share of all memory would be filled with zeros."""
    if torch.cuda.is_available():
        return {"gpu_memory_utilization": options.gpu_memory_utilization}
    longest = options.max_length or read_positions(read_config(options.path)) or _LONGEST
    return {"kv_cache_memory_bytes": cpu_cache_bytes(options.path, longest, _TOKENS)}


def _show_only(device: str) -> None:
    """Make only the given GPU visible to vLLM, which uses the first visible one. Ignore `cpu` and `auto`."""
    kind, _, index = device.partition(":")
    if kind != "cuda" or not index:
        return
    seen = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    os.environ["CUDA_VISIBLE_DEVICES"] = seen.split(",")[int(index)] if seen else index
