"""The text of a chat message: the one reader of it, for prompts, responses and turns of episodes alike.

A content is a string or a list of parts, some of them text. Plain data only; which messages are the model's,
and which calls they make, is in `model_api.answers`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

TEXT_PARTS = ("text", "input_text", "output_text")
"""Types of parts that are plain text."""
REASONING_PARTS = frozenset({"thinking", "redacted_thinking", "reasoning", "reasoning_text", "thought"})
"""Types of parts that a model thought and did not say."""


def message_text(message: Mapping[str, Any] | str) -> str:
    """Return the text of a message, or of a text that stands in its place; see `content_text`."""
    return message if isinstance(message, str) else content_text(content_of(message))


def content_of(message: Mapping[str, Any]) -> Any:
    """Return the content of a message, which ShareGPT calls `value`; None if it has none."""
    content = message.get("content")
    return message.get("value") if content is None else content


def content_text(content: Any) -> str:
    """Return the text of a message's content: a string itself, or the text parts, joined without a separator
    as chat templates join them.

    Images, reasoning, calls and other parts are skipped. None and a content without text are the empty text.
    """
    if isinstance(content, str):
        return content
    if isinstance(content, int | float):
        return str(content)
    return "".join(map(_part_text, _parts(content)))


def whole_text(content: Any) -> str | None:
    """Return the text of a content that is nothing but text; None if it has other parts, or none at all."""
    if isinstance(content, str):
        return content
    parts = _parts(content)
    return content_text(parts) if parts and all(map(_is_text, parts)) else None


def plain_message(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message whose content is a string if it is nothing but text; other parts stay as they are."""
    content = message.get("content")
    text = None if content is None or isinstance(content, str) else whole_text(content)
    return dict(message) if text is None else {**message, "content": text}


def plain_prompt(prompt: str | Sequence[Mapping[str, Any]] | None) -> Any:
    """Return a prompt whose messages are plain (`plain_message`); the prompt itself if they all are."""
    if prompt is None or isinstance(prompt, str):
        return prompt
    if all(isinstance(one, Mapping) and isinstance(one.get("content"), str) for one in prompt):
        return prompt
    return [plain_message(one) if isinstance(one, Mapping) else one for one in prompt]


def prompt_text(prompt: str | Sequence[Mapping[str, Any]] | None) -> str:
    """Return a prompt as one text: that of its messages, one below the other."""
    if prompt is None or isinstance(prompt, str):
        return prompt or ""
    return "\n".join(map(message_text, prompt))


def messages_in(text: str) -> list[dict[str, Any]] | None:
    """Return the chat messages that a text is the JSON of; None for any other text."""
    try:
        held = json.loads(text)
    except (ValueError, RecursionError):
        return None
    is_chat = isinstance(held, list) and held and all(isinstance(one, dict) and "role" in one for one in held)
    return held if is_chat else None


def with_text(message: Mapping[str, Any], before: str = "", after: str = "") -> dict[str, Any]:
    """Return a message with more text around its content; a content with other parts keeps them."""
    content = content_of(message)
    text = content_text(content) if content is None else whole_text(content)
    if text is None:
        parts = [{"type": "text", "text": text} for text in (before, after)]
        return {**message, "content": [*parts[: bool(before)], *_parts(content), *parts[2 - bool(after) :]]}
    return {**message, "content": f"{before}{text}{after}"}


def _parts(content: Any) -> list[Any]:
    """The parts of a content, also where pandas holds them in an array; one that stands alone is a part."""
    held = content.tolist() if hasattr(content, "tolist") else content
    return [held] if isinstance(held, Mapping) else list(held) if isinstance(held, list | tuple) else []


def _is_text(part: Any) -> bool:
    if not isinstance(part, Mapping):
        return isinstance(part, str)
    is_said = part.get("type") in (None, *TEXT_PARTS) and not part.get("thought")
    return is_said and isinstance(part.get("text"), str)


def _part_text(part: Any) -> str:
    if not isinstance(part, Mapping):
        return part if isinstance(part, str) else ""
    if str(part.get("type")) in REASONING_PARTS or part.get("thought"):
        return ""
    text = part.get("text") or part.get("refusal")
    return text if isinstance(text, str) else ""
