"""Measures model FLOPs utilization, and traces steps with torch's profiler.

Model FLOPs utilization is the number of operations in an update, divided by the number of operations that the
GPUs could compute in the same time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.profiler import profile

PEAKS = {
    "B200": 2250e12,
    "H200": 989e12,
    "H100": 989e12,
    "H800": 989e12,
    "L40S": 362e12,
    "A100": 312e12,
    "A800": 312e12,
    "H20": 148e12,
    "A10": 125e12,
}
"""Dense bfloat16 operations per second, by a word in the device's name (from NVIDIA's data sheets)."""


def peak_flops(device: torch.device) -> float | None:
    """Return a device's maximum operations per second, or None for a CPU or an unknown device."""
    if device.type != "cuda":
        return None
    words = torch.cuda.get_device_name(device).replace("-", " ").split()
    return next((peak for name, peak in PEAKS.items() if name in words), None)


def training_flops(model: Any, lengths: Tensor) -> float:
    """Return the number of operations in a forward and a backward pass over sequences of these lengths.

    There are 6 operations per weight and token, and 12 per pair of tokens, head unit and layer, although a
    causal kernel needs only half of the latter (Chowdhery et al. 2022, appendix B). Recomputation due to
    checkpointing and embedding lookups are not counted.
    """
    config = model.config.get_text_config()
    weights: int = sum(p.numel() for p in model.parameters())
    if not config.tie_word_embeddings or model.get_output_embeddings() is None:
        weights -= model.get_input_embeddings().weight.numel()
    heads = config.num_attention_heads
    width: int = heads * (getattr(config, "head_dim", None) or config.hidden_size // heads)
    tokens = lengths.double()
    linear = 6.0 * weights * float(tokens.sum())
    pairs = float(tokens.square().sum()) * int(config.num_hidden_layers)
    return linear + 12.0 * width * pairs


def utilization(
    models: Mapping[str, tuple[Any, int, Tensor]], seconds: Mapping[str, float], peak: float | None
) -> dict[str, float]:
    """Return `perf/mfu/<name>` for each updated model, or {} if `peak` is None.

    Args:
        models: Hugging Face model, number of passes over the batch, and lengths of this process's sequences,
            by name. Sequences in other processes are assumed to be equally long.
        seconds: Seconds for each phase of the step. The phase `update_<name>` updates the model.
        peak: Maximum number of operations per second for a device, or None if it is unknown.
    """
    found = {name: seconds.get(f"update_{name}", 0.0) for name in models}
    return {
        f"perf/mfu/{name}": passes * training_flops(model, lengths) / found[name] / peak
        for name, (model, passes, lengths) in models.items()
        if peak and found[name] > 0
    }


@contextmanager
def profiled(file: Path) -> Iterator[None]:
    """Write a trace of the block to `file`, a .json.gz file for https://ui.perfetto.dev or chrome://tracing."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with profile() as trace:
        yield
    trace.export_chrome_trace(str(file))
