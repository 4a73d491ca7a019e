"""Uses a model's config.json to detect that vLLM cannot run the model, without importing vLLM."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from rewardkit.model_shapes import text_part

CPU_HEAD_SIZES = (32, 64, 80, 96, 112, 128, 160, 192, 224, 256, 512)
"""Head sizes that vLLM's attention supports on a CPU (`CPUAttentionBackend` in vLLM 0.32)."""


def why_not_on_cpu(model_config: Mapping[str, Any]) -> str | None:
    """Return the reason why vLLM cannot run a model on a CPU, or None if no reason is known."""
    text = text_part(model_config)
    heads, hidden = text.get("num_attention_heads"), text.get("hidden_size")
    # Multi-head latent attention uses other head sizes.
    if not heads or not hidden or "kv_lora_rank" in text:
        return None
    size = text.get("head_dim") or hidden // heads
    if size in CPU_HEAD_SIZES:
        return None
    known = ", ".join(map(str, CPU_HEAD_SIZES))
    return f"on a CPU, vLLM supports attention heads of size {known}; this model has {size}"


def reason_of(error: Exception) -> str:
    """Return the first line of vLLM's error message about a model that it cannot load."""
    said = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
    return next((line.strip() for line in said.splitlines() if line.strip()), type(error).__name__)
