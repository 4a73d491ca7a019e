"""Use of the machine: model FLOPs utilization, and a trace of chosen steps by torch's profiler.

Model FLOPs utilization is the computation of the updates as a share of the GPUs' capacity in that time.
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
"""Dense bfloat16 operations per second, by a word in the device's name (NVIDIA's data sheets)."""


def peak_flops(device: torch.device) -> float | None:
    """Return a device's maximum operations per second, or None for a CPU or an unknown device."""
    if device.type != "cuda":
        return None
    words = torch.cuda.get_device_name(device).replace("-", " ").split()
    return next((peak for name, peak in PEAKS.items() if name in words), None)


def training_flops(model: Any, lengths: Tensor) -> float:
    """Return the number of operations of a forward and a backward over sequences of these lengths.

    6 per weight and token, and 12 per pair of tokens, head unit and layer, half of which a causal kernel need
    not compute (Chowdhery et al. 2022, appendix B). Recomputation by checkpointing and embedding lookups are
    not counted.
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
    """Return `perf/mfu/<name>` of each updated model, or nothing if the peak is unknown.

    Args:
        models: Hugging Face model, passes over the batch, and lengths of this process's sequences, by name.
            The sequences of other processes are assumed to be equally long.
        seconds: Seconds of the step's phases. `update_<name>` is the update of the model.
        peak: Maximum operations per second of a device, if known.
    """
    found = {name: seconds.get(f"update_{name}", 0.0) for name in models}
    return {
        f"perf/mfu/{name}": passes * training_flops(model, lengths) / found[name] / peak
        for name, (model, passes, lengths) in models.items()
        if peak and found[name] > 0
    }


@contextmanager
def profiled(file: Path) -> Iterator[None]:
    """Write a trace of the block to `file`, a .json.gz for https://ui.perfetto.dev or chrome://tracing."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with profile() as trace:
        yield
    trace.export_chrome_trace(str(file))
