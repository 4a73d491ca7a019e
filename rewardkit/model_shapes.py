"""Reads facts about a model from its config.json and the headers of its weight files.

This takes milliseconds for a model of any size, because no weights are read and torch is not imported.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rewardkit.host_memory import available_bytes
from rewardkit.model_folders import model_folder, read_config, read_tensors


@dataclass(frozen=True)
class Shape:
    """Sizes that determine a model's memory. `kv_width` counts the cached values per layer and token."""

    parameters: int
    layers: int
    hidden: int
    kv_width: int
    vocabulary: int
    intermediate: int
    """Width of the feed-forward layers."""
    tied: bool = False
    """True if the output layer shares the embedding's weight."""


HEADS = ("lm_head.weight", "embed_out.weight", "output.weight")
"""Names of the output layer's weight in models that do not tie it to the embedding."""


def read_shape(path: str) -> Shape | None:
    """Return the shape of a model in a folder or in the Hub's cache, or None if it cannot be determined."""
    folder = model_folder(path)
    files = sorted(folder.glob("*.safetensors")) if folder else []
    whole = read_config(path)
    if whole is None or not files:
        return None
    config = text_part(whole)
    heads = config.get("num_attention_heads")
    if not heads or not config.keys() >= {"hidden_size", "num_hidden_layers", "vocab_size"}:
        return None
    headers = [read_tensors(file) for file in files]
    heads_of_words = any(name.endswith(HEADS) for header in headers for name in header)
    head_dim = config.get("head_dim") or config["hidden_size"] // heads
    return Shape(
        parameters=sum(math.prod(shape) for header in headers for shape in header.values()),
        layers=config["num_hidden_layers"],
        hidden=config["hidden_size"],
        kv_width=2 * head_dim * (config.get("num_key_value_heads") or heads),
        vocabulary=config["vocab_size"],
        intermediate=config.get("intermediate_size") or 4 * config["hidden_size"],
        tied=bool(whole.get("tie_word_embeddings")) or not heads_of_words,
    )


CPU_CACHE_BYTES = 64 << 20, 2 << 30
"""Minimum and maximum size of vLLM's KV cache on a CPU, in bytes, unless a single sequence needs more."""


def cpu_cache_bytes(model: str, longest: int, tokens: int) -> int:
    """Return the size of vLLM's KV cache on a CPU, in bytes.

    By default, vLLM uses a share of all memory and fills it with zeros at startup. If the model's shape is
    unknown, the cache has the maximum size. It is at most half of the free memory.

    Args:
        model: Path or name of the model.
        longest: Number of tokens in the longest sequence, for which the cache has room in float32.
        tokens: Number of tokens for which the cache has room if it stays below the maximum size.
    """
    least, most = CPU_CACHE_BYTES
    shape = read_shape(model)
    if shape is not None:
        each = 4 * shape.layers * shape.kv_width
        most = max(least, each * longest, min(most, each * tokens))
    return min(most, available_bytes() // 2)


def read_positions(config: Mapping[str, Any] | None) -> int | None:
    """Return the number of positions in a model with this config.json, or None if the file does not state it.

    If rotary positions are scaled, the original number of positions is multiplied by the scaling factor.
    """
    text = text_part(config or {})
    most = text.get("max_position_embeddings") or text.get("n_positions")
    if not isinstance(most, int):
        return None
    scaling = text.get("rope_parameters") or text.get("rope_scaling") or {}
    before = scaling.get("original_max_position_embeddings") or most
    return max(most, int(before * (scaling.get("factor") or 1)))


def text_part(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the text part of a config.json, or the whole config for a text-only model."""
    inner = config.get("text_config")
    return inner if isinstance(inner, dict) else config
