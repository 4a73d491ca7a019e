"""Answers as the APIs of models return them, where a text is expected: what the model said in them.

OpenAI's chat completions, completions and responses (vLLM's and SGLang's too), Anthropic's messages, Gemini's
candidates, single chat messages, and the parts of a message's content. Plain data only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any


def texts_of(answer: Mapping[str, Any]) -> list[str]:
    """Return what an answer says: a text for each of its choices.

    Calls of tools stand at its end as Hermes' templates write them. Nothing said is the empty text.
    What is no answer of an API is the one text of its JSON, as a model that answers in JSON means it.
    """
    for name, read in (("choices", _choices), ("candidates", _candidates), ("output", _output)):
        parts = answer.get(name)
        if isinstance(parts, list) and parts and all(isinstance(part, Mapping) for part in parts):
            found = read(parts)
            if found:
                return found
    if isinstance(answer.get("role"), str) and "content" in answer:
        return [said_in(answer)]
    if is_content([answer]):
        return [said_in({"content": [answer]})]
    return [json.dumps(answer, ensure_ascii=False)]


def is_content(parts: Sequence[Any]) -> bool:
    """Return True for the parts of one message's content: objects of a type, without a role of their own."""
    return bool(parts) and all(
        isinstance(part, Mapping) and "role" not in part and _is_part(part) for part in parts
    )


def _is_part(part: Mapping[str, Any]) -> bool:
    kind = part.get("type")
    if kind in ("text", "output_text"):
        return isinstance(part.get("text"), str)
    return kind in ("thinking", "redacted_thinking", "reasoning", "refusal", "tool_use")


def content_text(content: Any) -> str:
    """Return the text of a message's content: itself, or that of its parts, without reasoning and calls."""
    if isinstance(content, str):
        return content
    parts = [part.get("text") for part in content or () if isinstance(part, Mapping)]
    return "".join(part for part in parts if isinstance(part, str))


def said_in(message: Mapping[str, Any]) -> str:
    """Return what a message says: its text, and after it the calls that it makes."""
    content = message.get("content")
    calls = [*_calls(message.get("tool_calls")), *_uses(content)]
    blocks = [f"<tool_call>\n{json.dumps(call, ensure_ascii=False)}\n</tool_call>" for call in calls]
    return "\n".join(filter(None, [content_text(content), *blocks]))


def _calls(calls: Any) -> list[dict[str, Any]]:
    """OpenAI's calls of functions, whose arguments are JSON in a text."""
    functions = [call.get("function") for call in calls or () if isinstance(call, Mapping)]
    found = [function for function in functions if isinstance(function, Mapping) and "name" in function]
    return [{"name": one["name"], "arguments": _arguments(one.get("arguments"))} for one in found]


def _arguments(arguments: Any) -> Any:
    """Arguments as an object. A text that is no JSON stays one, and no call that anyone would take."""
    if not isinstance(arguments, str):
        return arguments
    try:
        return json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return arguments


def _uses(content: Any) -> list[dict[str, Any]]:
    """Anthropic's uses of tools, which are parts of the content."""
    parts = content if isinstance(content, list) else ()
    uses = [part for part in parts if isinstance(part, Mapping) and part.get("type") == "tool_use"]
    return [{"name": use.get("name"), "arguments": use.get("input")} for use in uses]


def choice_text(choice: Mapping[str, Any]) -> str:
    """Return what one of OpenAI's choices says, in a message or as a text."""
    message = choice.get("message")
    return said_in(message) if isinstance(message, Mapping) else content_text(choice.get("text"))


def output_text(items: list[Any]) -> str:
    """Return the texts of the messages in the `output` of OpenAI's responses."""
    said = [item for item in items if isinstance(item, Mapping) and item.get("type") == "message"]
    parts = [part for item in said for part in item.get("content") or () if isinstance(part, Mapping)]
    texts = [part["text"] for part in parts if part.get("type") == "output_text" and "text" in part]
    return "".join(map(str, texts))


def _choices(choices: list[Any]) -> list[str]:
    if not all("message" in choice or "text" in choice for choice in choices):
        return []
    return [choice_text(choice) for choice in sorted(choices, key=choice_index)]


def choice_index(choice: Mapping[str, Any]) -> int:
    """Return the place of a choice among those of its answer."""
    return int(choice.get("index") or 0)


def _candidates(candidates: list[Any]) -> list[str]:
    contents = [candidate.get("content") for candidate in candidates]
    if not all(isinstance(content, Mapping) for content in contents):
        return []
    return [_spoken(content.get("parts")) for content in contents]


def _spoken(parts: Any) -> str:
    """Gemini's parts but its thoughts."""
    spoken = [part for part in parts or () if isinstance(part, Mapping) and not part.get("thought")]
    return content_text(spoken)


def _output(items: list[Any]) -> list[str]:
    return [output_text(items)] if any(item.get("type") == "message" for item in items) else []
