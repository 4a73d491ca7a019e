"""Extraction of text from chat messages in prompts, responses and episodes, and parsing of dialogues.

The content of a message is a string, or a list of parts of which some are text. `model_api.answers` finds the
messages that the model wrote, and the tool calls in these messages.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

TEXT_PARTS = ("text", "input_text", "output_text")
"""Types of content parts that are plain text."""
REASONING_PARTS = frozenset({"thinking", "redacted_thinking", "reasoning", "reasoning_text", "thought"})
"""Types of content parts that contain a model's reasoning rather than its answer."""


def message_text(message: Mapping[str, Any] | str) -> str:
    """Return the text of a message (see `content_text`). A string is returned unchanged."""
    return message if isinstance(message, str) else content_text(content_of(message))


def content_of(message: Mapping[str, Any]) -> Any:
    """Return the content of a message (`value` in ShareGPT), or None if the message has no content."""
    content = message.get("content")
    return message.get("value") if content is None else content


def content_text(content: Any) -> str:
    """Return the text of a message's content, with text parts joined without a separator.

    Chat templates also join text parts without a separator. Images, reasoning, tool calls and other parts are
    skipped. The result is empty if the content is None or has no text.
    """
    if isinstance(content, str):
        return content
    if isinstance(content, int | float):
        return str(content)
    return "".join(map(_part_text, _parts(content)))


def whole_text(content: Any) -> str | None:
    """Return the text of a message's content, or None if the content has other parts or no parts."""
    if isinstance(content, str):
        return content
    parts = _parts(content)
    return content_text(parts) if parts and all(map(_is_text, parts)) else None


def plain_message(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of a message, with its content as a string if the content is only text."""
    content = message.get("content")
    text = None if content is None or isinstance(content, str) else whole_text(content)
    return dict(message) if text is None else {**message, "content": text}


def plain_prompt(prompt: str | Sequence[Mapping[str, Any]] | None) -> Any:
    """Return a prompt with plain messages (see `plain_message`), or the same object if they are all plain."""
    if prompt is None or isinstance(prompt, str):
        return prompt
    for one in prompt:  # a generator expression would take twice as long as this loop
        if not (isinstance(one, dict) and isinstance(one.get("content"), str)):
            break
    else:
        return prompt
    return [plain_message(one) if isinstance(one, Mapping) else one for one in prompt]


def prompt_text(prompt: str | Sequence[Mapping[str, Any]] | None) -> str:
    """Return a prompt as one text, with the texts of its messages on separate lines."""
    if prompt is None or isinstance(prompt, str):
        return prompt or ""
    return "\n".join(map(message_text, prompt))


def messages_in(text: str) -> list[dict[str, Any]] | None:
    """Return the chat messages that a text encodes as JSON, or None for any other text."""
    try:
        held = json.loads(text)
    except (ValueError, RecursionError):
        return None
    is_chat = isinstance(held, list) and held and all(isinstance(one, dict) and "role" in one for one in held)
    return held if is_chat else None


ASSISTANT_TURN = "\n\nAssistant:"
"""Text that precedes the assistant's answer in a dialogue that is written as one text, as in HH-RLHF."""
_TURN = re.compile(r"(?:^|\n\n)(Human|Assistant):")
_ROLES = {"Human": "user", "Assistant": "assistant"}


def is_dialogue(prompt: str) -> bool:
    """Return True if a prompt is a dialogue in one text, which ends where the assistant's answer begins."""
    return prompt.lstrip().startswith("Human:") and prompt.rstrip().endswith(ASSISTANT_TURN)


def dialogue_turns(dialogue: str) -> tuple[dict[str, str], ...]:
    """Split a dialogue into messages, the last of which must be a user message.

    A paragraph that starts with "Human:" or "Assistant:" begins a turn. Text without such paragraphs becomes
    a single user message. Consecutive turns by the same speaker are merged.

    Raises:
        ValueError: There is text before the first turn, or the last message is not a user message.
    """
    before, *parts = _TURN.split(dialogue)
    if not parts:
        return ({"role": "user", "content": dialogue.strip()},)
    if before.strip():
        raise ValueError("there is text before the first turn")
    messages: list[dict[str, str]] = []
    for speaker, said in zip(parts[::2], parts[1::2], strict=True):
        role = _ROLES[speaker]
        content = said.strip()
        if not content:
            continue
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] += f"\n\n{content}"
        else:
            messages.append({"role": role, "content": content})
    if not messages or messages[-1]["role"] != "user":
        raise ValueError("the last turn before the answer is not a human turn")
    return tuple(messages)


def with_text(message: Mapping[str, Any], before: str = "", after: str = "") -> dict[str, Any]:
    """Return a message with text added before and after its content. Parts other than text are kept."""
    content = content_of(message)
    text = content_text(content) if content is None else whole_text(content)
    if text is None:
        parts = [{"type": "text", "text": text} for text in (before, after)]
        return {**message, "content": [*parts[: bool(before)], *_parts(content), *parts[2 - bool(after) :]]}
    return {**message, "content": f"{before}{text}{after}"}


def _parts(content: Any) -> list[Any]:
    """Return the parts of a message's content: a list, an array (as in pandas) or a single part."""
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
