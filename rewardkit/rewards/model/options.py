"""How a reward model is loaded and what it is shown: the options of the reward. Nothing is loaded here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rewardkit.reward_options import file_option


@dataclass(frozen=True)
class ModelOptions:
    """How a reward model is loaded and what it is shown."""

    path: str = file_option("")
    """A folder, or the name of a model on the Hugging Face hub."""
    backend: Literal["transformers", "vllm"] = "transformers"
    device: str = "auto"
    """A torch device such as `cuda:1`. `auto`: a GPU if there is one, else the CPU."""
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    """`auto`: bfloat16 on a device that has it, float16 on another GPU, float32 on the CPU."""
    template: Literal["auto", "chat", "plain"] = "auto"
    """`chat`: the model's chat template. `plain`: the prompt's text and the response, one behind the other.
    `auto`: the chat template if the model has one."""
    max_length: int = 0
    """Tokens of prompt and response together. 0: as many as the model reads."""
    batch_tokens: int = 16_384
    """Tokens of one forward pass, padding included. vLLM sees to this itself."""
    gpu_memory_utilization: float = 0.5
    """For vLLM: the share of the GPU's memory that it may take."""
