"""Models that vLLM cannot generate with, told from config.json alone, before vLLM is imported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from rewardkit.trainer.models.shape import text_part

CPU_HEAD_SIZES = (32, 64, 80, 96, 112, 128, 160, 192, 224, 256, 512)
"""Widths of a head that vLLM's attention on a CPU computes with (0.32, `CPUAttentionBackend`)."""


def why_not_on_cpu(model_config: Mapping[str, Any]) -> str | None:
    """Return why vLLM cannot run a model on a CPU; None where it can, or nothing is known of the model."""
    text = text_part(model_config)
    heads, hidden = text.get("num_attention_heads"), text.get("hidden_size")
    if not heads or not hidden or "kv_lora_rank" in text:  # heads of latents have other widths
        return None
    size = text.get("head_dim") or hidden // heads
    if size in CPU_HEAD_SIZES:
        return None
    known = ", ".join(map(str, CPU_HEAD_SIZES))
    return f"on a CPU, vLLM supports attention heads of size {known}; this model has {size}"


def reason_of(error: Exception) -> str:
    """Return what vLLM says of a model that it cannot load, in one line."""
    said = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
    return next((line.strip() for line in said.splitlines() if line.strip()), type(error).__name__)
