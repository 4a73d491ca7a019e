"""Checks the arguments of vLLM's `SamplingParams` that users pass by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from rewardkit.errors import ConfigError, did_you_mean, reason_of
from rewardkit.trainer.rollout.vllm_arguments import constraint_arguments

KEEPS_PROBABILITIES = ("stop_token_ids", "skip_reading_prefix_cache")
"""Arguments that change neither which tokens can be sampled nor their probabilities."""
NEEDS_TEXT = ("stop", "include_stop_str_in_output", "bad_words", "structured_outputs")
"""Arguments for which vLLM needs a tokenizer."""


def check_sampling_params(
    key: str, given: Mapping[str, Any], owned: Iterable[str], *, text: bool, trained: bool
) -> None:
    """Check the names and values of further arguments of `SamplingParams`.

    Args:
        key: Setting that contains the arguments.
        owned: Names of arguments that other settings determine.
        text: True if the engine has a tokenizer.
        trained: True if the responses are trained on.

    Raises:
        ConfigError: A name is unknown, another setting determines the argument, or vLLM rejects its value.
            The error is also raised if the engine lacks a tokenizer that the argument needs, or if the
            argument would make the responses' log-probabilities differ from the policy's.
    """
    if not given:
        return
    from vllm import SamplingParams  # Importing vLLM takes seconds.

    known = [name for name in SamplingParams.__struct_fields__ if not name.startswith("_")]
    for name in given:
        if name not in known:
            raise ConfigError(
                f"{key}: vLLM's SamplingParams has no argument {name}{did_you_mean(name, known)}; its "
                f"arguments are {', '.join(known)}"
            )
        if name in owned and name != "stop_token_ids":
            raise ConfigError(f"{key}.{name} is determined by other settings, such as temperature and n")
        if not text and name in NEEDS_TEXT:
            raise ConfigError(f"{key}.{name} needs a tokenizer, but in training the engine has none")
        if trained and name not in KEEPS_PROBABILITIES:
            raise ConfigError(
                f"{key}.{name} may change the probabilities of the sampled tokens, which would then differ "
                f"from the policy's, so that training would be wrong; only {', '.join(KEEPS_PROBABILITIES)} "
                "can be set for training (validation also accepts others, in val_kwargs.sampling_params)"
            )
    try:
        msgspec.convert(constraint_arguments(given), SamplingParams)
    except Exception as error:  # vLLM raises its own exception types.
        raise ConfigError(f"{key}: {reason_of(error)}") from None


def extended(own: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return rewardkit's own arguments with the user's. Stop tokens are combined."""
    stops = [*own.get("stop_token_ids", ()), *given.get("stop_token_ids", ())]
    return {**own, **given} | ({"stop_token_ids": stops} if stops else {})
