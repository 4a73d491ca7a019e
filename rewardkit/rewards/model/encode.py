"""Converts a prompt and a response to tokens for a reward model, within the model's length limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rewardkit.errors import InputError
from rewardkit.messages import plain_prompt
from rewardkit.types import Message


class UnreadableError(ValueError):
    """Raised if the model cannot read a sample. The message gives the reason."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """Tokens of one sample."""

    ids: list[int]
    truncated: int = 0
    """Number of tokens that were cut off the start of the prompt."""
    note: str = ""
    """Note about a change to the text that a user might not expect."""


class ModelEncoder:
    """Encoder that converts samples to tokens with a model's tokenizer.

    Args:
        tokenizer: A transformers tokenizer.
        template: Input format, as in `rewardkit.rewards.model.ModelOptions`.
        max_length: Number of tokens that the model reads.

    Raises:
        InputError: `template` is `chat`, but the tokenizer has no chat template.
    """

    def __init__(self, tokenizer: Any, template: Literal["auto", "chat", "plain"], max_length: int) -> None:
        if template == "chat" and not tokenizer.chat_template:
            raise InputError("the reward model's tokenizer has no chat template; set template=plain")
        self._tokenizer = tokenizer
        self._chat = template == "chat" or (template == "auto" and bool(tokenizer.chat_template))
        self._max_length = max_length
        self._specials = _special_tokens(tokenizer)

    def encode(self, prompt: str | Sequence[Message] | None, response: str) -> Encoded:
        """Return the tokens of a prompt and a response.

        If there are too many tokens, the start of the prompt is cut off, but never any part of the response.

        Raises:
            UnreadableError: The messages do not fit the template, there is no text, or the response alone
                exceeds the model's limit.
        """
        messages = _messages(prompt)
        defused = _defuse(response, self._specials)
        answered = [*messages, {"role": "assistant", "content": defused}]
        whole = self._template(answered) if self._chat else _plain(messages) + defused
        # A chat template adds the special tokens itself.
        ids: list[int] = self._tokenizer(whole, add_special_tokens=not self._chat)["input_ids"]
        if not ids:
            raise UnreadableError("the prompt and the response are empty")
        notes = ["special tokens in the response were split into plain text"] if defused != response else []
        cut = max(0, len(ids) - self._max_length)
        if cut:
            before = self._template(messages, add_generation_prompt=True) if self._chat else _plain(messages)
            ids = self._without_front(ids, whole[_common_length(whole, before) :])
            notes.append(f"the prompt lost its first {cut} tokens to fit {self._max_length}")
        return Encoded(ids, cut, "; ".join(notes))

    def _without_front(self, ids: list[int], tail: str) -> list[int]:
        """Return the last tokens that fit, after the special token that opens every sequence, if any.

        `tail` is the response and any text that the template adds after the response.
        """
        special = self._tokenizer.all_special_ids
        opening = 1 if ids[0] in special else 0
        of_tail = len(self._tokenizer(tail, add_special_tokens=False)["input_ids"])
        closing = 1 if not self._chat and ids[-1] in special else 0
        if opening + of_tail + closing > self._max_length:
            raise UnreadableError(
                f"the response alone has {of_tail} tokens, but the model's limit is "
                f"{self._max_length}; score shorter responses or raise max_length"
            )
        return ids[:opening] + ids[len(ids) - self._max_length + opening :]

    def _template(self, messages: list[dict[str, str]], *, add_generation_prompt: bool = False) -> str:
        if not messages:
            return ""
        try:
            text: str = self._tokenizer.apply_chat_template(
                messages, tokenize=False, add_generation_prompt=add_generation_prompt
            )
        except Exception as error:
            # Templates are programs that may reject roles, or their order, with any kind of exception.
            reason = str(error).partition("\n")[0]
            raise UnreadableError(f"the messages do not fit the model's chat template: {reason}") from None
        return text


def _common_length(a: str, b: str) -> int:
    """Return the length of the common prefix of two texts, in characters."""
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def _plain(messages: list[dict[str, str]]) -> str:
    return "\n\n".join(message["content"] for message in messages)


def _messages(prompt: str | Sequence[Message] | None) -> list[dict[str, str]]:
    if prompt is None or isinstance(prompt, str):
        return [{"role": "user", "content": prompt}] if prompt else []
    messages = plain_prompt(prompt)
    for message in messages:
        if not isinstance(message.get("role"), str) or not isinstance(message.get("content"), str):
            raise UnreadableError("in every message of the prompt, role and content must be strings")
    return [{"role": message["role"], "content": message["content"]} for message in messages]


def _special_tokens(tokenizer: Any) -> list[str]:
    """Return the special tokens that have more than one character, longest first."""
    added = [str(token) for token in tokenizer.added_tokens_decoder.values() if token.special]
    return sorted({t for t in [*added, *tokenizer.all_special_tokens] if len(t) > 1}, key=len, reverse=True)


def _defuse(response: str, specials: list[str]) -> str:
    """Break up special tokens that a response spells out as text, and return the new response.

    Otherwise, the tokenizer would convert them to real special tokens, and a response could end its own turn
    and start another turn that praises it.
    """
    for token in specials:
        response = response.replace(token, f"{token[0]} {token[1:]}")
    return response
