"""Loads the tokenizer for both local engines, encodes chats, and finds the tokens that end a response."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from transformers import AutoTokenizer, GenerationConfig

from rewardkit.errors import ConfigError, InputError, reason_of
from rewardkit.generation.engines.limits import too_long
from rewardkit.generation.types import Completion, Done, EngineSettings, GenerationRequest
from rewardkit.trainer.models.vision import PicturePrompt, Vision
from rewardkit.types import Message


def load_tokenizer(engine: EngineSettings) -> Any:
    """Load the model's tokenizer, which must have a chat template.

    Raises:
        ConfigError: The model has no tokenizer, or the tokenizer has no chat template.
    """
    path = engine.model
    try:
        tokenizer = AutoTokenizer.from_pretrained(path, trust_remote_code=engine.trust_remote_code)
    except (OSError, ValueError) as error:
        reason = reason_of(error)
        raise ConfigError(f"cannot load a tokenizer from '{path}': {reason}") from None
    if not tokenizer.chat_template:
        raise ConfigError(f"the tokenizer of '{path}' has no chat template; use an instruct model")
    return tokenizer


def encode(tokenizer: Any, messages: Sequence[Message]) -> list[int]:
    """Return the token ids of a conversation of texts, up to the beginning of the model's response."""
    text = tokenizer.apply_chat_template(list(messages), add_generation_prompt=True, tokenize=False)
    ids: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
    return ids


def encode_fitting(
    tokenizer: Any, vision: Vision | None, requests: Sequence[GenerationRequest], limit: int, done: Done
) -> list[tuple[GenerationRequest, PicturePrompt]]:
    """Return the requests whose prompts can be used and have at most `limit` tokens, with these prompts.

    The other requests are done with an error.
    """
    fitting = []
    for request in requests:
        try:
            if vision is None:
                ids = encode(tokenizer, request.messages)
                prompt = PicturePrompt(ids, ids, [])
            else:
                prompt = vision.encode(request.messages)
            why = too_long(len(prompt.long_ids), limit)
        except InputError as error:
            why = str(error)
        if why:
            done(Completion(request.row, request.sample, error=why))
        else:
            fitting.append((request, prompt))
    return fitting


def eos_ids(path: str, tokenizer: Any) -> list[int]:
    """Return the ids of the tokens that end a response, from the generation config and the tokenizer."""
    try:
        given = GenerationConfig.from_pretrained(path).eos_token_id
    except (OSError, ValueError):
        given = None
    ids = [] if given is None else [given] if isinstance(given, int) else list(given)
    return sorted({*ids, tokenizer.eos_token_id} - {None})
