"""Limits that are checked before a request is passed to an engine."""

from __future__ import annotations

from rewardkit.errors import ConfigError
from rewardkit.generation.types import EngineSettings, GenerationSettings
from rewardkit.model_folders import read_config
from rewardkit.model_shapes import read_positions


def window(engine: EngineSettings, settings: GenerationSettings) -> int | None:
    """Return the maximum number of tokens in a prompt and its response, or None if the model has no limit.

    Raises:
        ConfigError: A response of `max_tokens` leaves no room for a prompt.
    """
    tokens = engine.max_model_len or read_positions(read_config(engine.model))
    if tokens is not None and settings.max_tokens >= tokens:
        raise ConfigError(
            f"'{engine.model}' has a context of {tokens} tokens, and --max-tokens "
            f"{settings.max_tokens} leaves no room for a prompt; pass a smaller --max-tokens"
        )
    return tokens


def too_long(length: int, limit: int) -> str | None:
    """Return the reason why a prompt of `length` tokens is too long, or None if it fits."""
    if length <= limit:
        return None
    return (
        f"the prompt has {length} tokens, and the limit is {limit}; raise --max-prompt-tokens "
        "or --max-model-len, or lower --max-tokens"
    )
