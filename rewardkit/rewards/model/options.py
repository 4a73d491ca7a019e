"""Options for loading a reward model and for its input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rewardkit.reward_options import file_option


@dataclass(frozen=True)
class ModelOptions:
    """Options for loading a reward model and for its input."""

    path: str = file_option("")
    """Model folder, or the name of a model on the Hugging Face hub."""
    head: str = ""
    """Name of the layer whose output is the score, such as `v_head.summary`, if the model's files contain
    several heads. By default, the head is found by its shape."""
    backend: Literal["transformers", "vllm"] = "transformers"
    device: str = "auto"
    """Torch device, such as `cuda:1`. `auto` uses a GPU if one is available, otherwise the CPU."""
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    """Number format of the weights. `auto` means float32 on the CPU, bfloat16 on GPUs that support it, and
    float16 on other GPUs."""
    template: Literal["auto", "chat", "plain"] = "auto"
    """Input format. `chat` is the model's chat template, and `plain` is the prompt's text followed by the
    response. `auto` means `chat` if the model has a chat template, otherwise `plain`."""
    max_length: int = 0
    """Maximum number of tokens in the prompt and the response together. 0 means the model's limit."""
    batch_tokens: int = 16_384
    """Maximum number of tokens in one forward pass, including padding. vLLM does its own batching and ignores
    this."""
    gpu_memory_utilization: float = 0.5
    """Share of the GPU's memory that vLLM may use."""
