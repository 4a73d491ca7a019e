"""Check of the lengths of prompts in tokens, with a tokenizer and its chat template."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rewardkit.checks.findings import Findings
from rewardkit.checks.items import Item
from rewardkit.errors import InputError, MissingDependencyError, reason_of
from rewardkit.messages import message_text
from rewardkit.model_folders import why_no_model
from rewardkit.types import Message


class Lengths:
    """Counter of the tokens in prompts, which reports prompts that are too long.

    Args:
        tokenizer: Folder or hub ID of a transformers tokenizer.
        most: Maximum number of tokens in a prompt, or None for no limit.

    Raises:
        InputError: The tokenizer does not exist or cannot be loaded.
        MissingDependencyError: transformers is not installed.
    """

    def __init__(self, tokenizer: str, most: int | None) -> None:
        self._tokenizer = _load(tokenizer)
        self._most = most
        self.longest = 0
        """Number of tokens in the longest prompt so far."""

    def check(self, items: Sequence[Item], file: str, findings: Findings) -> None:
        """Count the tokens in the prompts of these rows, and report prompts that are too long."""
        texts = [self._text(item, file) for item in items]
        counts = [len(ids) for ids in self._tokenizer(texts, add_special_tokens=False)["input_ids"]]
        for item, count in zip(items, counts, strict=True):
            self.longest = max(self.longest, count)
            if self._most is not None and count > self._most:
                what = f"the prompt has {count:,} tokens; at most {self._most:,} are allowed"
                findings.add("error", "length", file, what, item.row)

    def _text(self, item: Item, file: str) -> str:
        prompt: str | list[Message] | None = item.prompt
        turns = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt or []
        messages = [{"role": str(t.get("role")), "content": message_text(t)} for t in turns]
        if not self._tokenizer.chat_template:
            return "\n".join(message["content"] for message in messages)
        try:
            text = self._tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
            return str(text)
        except Exception as error:  # A template may raise any error.
            raise InputError(
                f"{file}, row {item.row}: the tokenizer's chat template rejects the prompt: {error}"
            ) from None


def _load(tokenizer: str) -> Any:
    if reason := why_no_model(tokenizer, tokenizer_only=True):
        raise InputError(f"--tokenizer: {reason}")
    try:
        from transformers import AutoTokenizer
    except ImportError:
        raise MissingDependencyError(
            "--tokenizer needs transformers: pip install 'rewardkit[model]'"
        ) from None
    try:
        return AutoTokenizer.from_pretrained(tokenizer)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot load the tokenizer {tokenizer}: {reason_of(error)}") from None
