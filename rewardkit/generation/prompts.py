"""Converts the rows in a file of prompts to chat messages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from rewardkit.errors import InputError, did_you_mean
from rewardkit.pictures import PictureError, PictureStore, has_media, media_columns, with_pictures
from rewardkit.rows import PROMPT, first_of, prompt_of
from rewardkit.tables import type_of, values_of
from rewardkit.types import Message

QUESTION = (*PROMPT, "question", "problem")
"""Columns that may contain the prompt, in order of precedence."""


def messages_of(
    table: pa.Table, path: str | Path, *, prompt_key: str | None, system: str, template: str
) -> list[list[Message]]:
    """Return the chat messages for every row. Pictures are content parts with a `Picture`.

    Args:
        table: Table of prompts.
        path: File that contains the table, for error messages.
        prompt_key: Column with the prompts, or None for the first existing column in `QUESTION`.
        system: System prompt for rows without a system prompt, or "" for none.
        template: Template for prompts that are strings, in which `{prompt}` is replaced, or "" for none.

    Raises:
        InputError: The table has no column with prompts, a row has no prompt, an option has no effect, or a
            picture cannot be used.
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
    values = values_of(table, name)
    asked = [_prompt(value, row, path, name) for row, value in enumerate(values)]
    if template and asked and not any(isinstance(prompt, str) for prompt in asked):
        raise InputError(f"--template: no row uses it: every prompt of {path} is a list of messages")
    if system and asked and all(_has_system(prompt) for prompt in asked):
        raise InputError(f"--system: no row uses it: every prompt of {path} has a system message")
    made = [_messages(prompt, system, template) for prompt in asked]
    media = table.select(media_columns(table.schema.names))
    store = PictureStore()
    folder = Path(path) if Path(path).is_dir() else Path(path).parent
    for row, (value, prompt) in enumerate(zip(values, made, strict=True)):
        beside = media.slice(row, 1).to_pylist()[0] if media.num_columns else {}
        if has_media(beside, prompt):
            try:
                made[row] = store.keep_all(with_pictures(beside, prompt, folder, read=value))
            except PictureError as error:
                raise InputError(f"{path}, row {row}: {error}") from None
    return made


def _prompt(value: Any, row: int, path: str | Path, name: str) -> str | list[Message]:
    prompt = prompt_of(value)
    if not prompt:
        raise InputError(f"{path}, row {row}: '{name}' is empty")
    if not isinstance(prompt, str):
        _check(prompt, row, path, name)
    return prompt


def _has_system(prompt: str | list[Message]) -> bool:
    return not isinstance(prompt, str) and prompt[0].get("role") == "system"


def _messages(prompt: str | list[Message], system: str, template: str) -> list[Message]:
    if isinstance(prompt, str):
        text = template.replace("{prompt}", prompt) if template else prompt
        prompt = [{"role": "user", "content": text}]
    add = bool(system) and not _has_system(prompt)
    return [{"role": "system", "content": system}, *prompt] if add else prompt


def _check(messages: Sequence[Message], row: int, path: str | Path, name: str) -> None:
    for message in messages:
        if not isinstance(message.get("role"), str) or message.get("content") is None:
            raise InputError(f"{path}, row {row}: '{name}' must be a list of messages with role and content")
