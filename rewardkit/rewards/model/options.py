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
    backend: Literal["transformers", "vllm"] = "transformers"
    device: str = "auto"
    """Torch device such as `cuda:1`. `auto` uses a GPU if one is available, otherwise the CPU."""
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    """Number format of the weights. `auto`: bfloat16 if the device supports it, float16 on another GPU,
    float32 on the CPU."""
    template: Literal["auto", "chat", "plain"] = "auto"
    """Input format. `chat`: the model's chat template. `plain`: the prompt's text followed by the response.
    `auto`: the chat template if the model has one."""
    max_length: int = 0
    """Maximum number of tokens of prompt and response together. 0 means the model's limit."""
    batch_tokens: int = 16_384
    """Maximum number of tokens in one forward pass, with padding. Ignored by vLLM, which batches itself."""
    gpu_memory_utilization: float = 0.5
    """Share of the GPU's memory that vLLM may use."""
