"""The rows of a file of prompts, and the chat messages that each becomes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from rewardkit.errors import InputError, did_you_mean
from rewardkit.rows import PROMPT, first_of, prompt_of
from rewardkit.tables import type_of, values_of
from rewardkit.types import Message

QUESTION = (*PROMPT, "question", "problem")
"""Columns that may hold the prompt, in order of precedence."""


def messages_of(
    table: pa.Table, path: str | Path, *, prompt_key: str | None, system: str, template: str
) -> list[list[Message]]:
    """Return the chat messages of every row.

    Args:
        path: Of the file, for messages.
        prompt_key: The column of the prompt; None: the first of the columns that may hold it.
        system: A system prompt for rows that have none; "" for no system prompt.
        template: Of a prompt that is a text, which replaces `{prompt}` in it; "" for the text alone.

    Raises:
        InputError: there is no column of prompts, or a row has no prompt.
    """
    name = prompt_key or first_of(QUESTION, lambda name: type_of(table.schema, name) is not None)
    if name is None or type_of(table.schema, name) is None:
        hint = did_you_mean(name or "prompt", table.schema.names)
        has = ", ".join(table.schema.names)
        raise InputError(
            f"{path} has no column '{name or 'prompt'}'{hint}; pass the prompt column with --prompt-key "
            f"(columns: {has})"
        )
    if template and "{prompt}" not in template:
        raise InputError("--template must contain {prompt}")
    return [
        _messages(value, row, path, name, system, template)
        for row, value in enumerate(values_of(table, name))
    ]


def _messages(value: Any, row: int, path: str | Path, name: str, system: str, template: str) -> list[Message]:
    prompt = prompt_of(value)
    if not prompt:
        raise InputError(f"{path}, row {row}: '{name}' is empty")
    if isinstance(prompt, str):
        text = template.replace("{prompt}", prompt) if template else prompt
        prompt = [{"role": "user", "content": text}]
    _check(prompt, row, path, name)
    has_system = prompt[0].get("role") == "system"
    return prompt if has_system or not system else [{"role": "system", "content": system}, *prompt]


def _check(messages: Sequence[Message], row: int, path: str | Path, name: str) -> None:
    for message in messages:
        if not isinstance(message.get("role"), str) or message.get("content") is None:
            raise InputError(f"{path}, row {row}: '{name}' must be a list of messages with role and content")
