"""Answers as the APIs of models return them, where a text is expected: what the model said in them.

OpenAI's chat completions, completions and responses (vLLM's and SGLang's too), Anthropic's messages, Gemini's
candidates, the answers of Ollama, Cohere, Bedrock and TGI, single chat messages, and the parts of a message's
content. Plain data only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

_OBJECTS = frozenset({"chat.completion", "text_completion", "response"})
"""What OpenAI's answers call themselves."""


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
    if (text := _single(answer)) is not None:
        return [text]
    return [json.dumps(answer, ensure_ascii=False)]


def _single(answer: Mapping[str, Any]) -> str | None:
    """What an answer that holds one message, or one text, or nothing says; None for another object."""
    output = answer.get("output")
    for holder in (answer, output if isinstance(output, Mapping) else {}):  # Ollama, Cohere; Bedrock
        message = holder.get("message")
        if isinstance(message, Mapping) and isinstance(message.get("role"), str) and "content" in message:
            return said_in(message)
    if isinstance(answer.get("generated_text"), str):  # TGI
        return str(answer["generated_text"])
    if isinstance(answer.get("response"), str) and isinstance(answer.get("done"), bool):  # Ollama's generate
        return str(answer["response"])
    lists = [answer[name] for name in ("choices", "output") if name in answer]
    is_empty = answer.get("object") in _OBJECTS and lists == [[]]
    return "" if is_empty else None  # a request cut off before anything was said


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
    return "\n".join(filter(None, [content_text(content), *map(_block, calls)]))


def _block(call: Mapping[str, Any]) -> str:
    """A call as Hermes' templates write it."""
    return f"<tool_call>\n{json.dumps(call, ensure_ascii=False)}\n</tool_call>"


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
    """Return what the `output` of OpenAI's responses says: its messages' texts, and the calls of functions
    that nothing has answered. Reasoning, results and what others wrote are not said.
    """
    things = [item for item in items if isinstance(item, Mapping)]
    said = [
        item
        for item in things
        if item.get("type", "message") == "message" and item.get("role", "assistant") == "assistant"
    ]
    texts = [content_text(item.get("content")) for item in said]
    answered = [item.get("call_id") for item in things if item.get("type") == "function_call_output"]
    calls = [
        {"name": item.get("name"), "arguments": _arguments(item.get("arguments"))}
        for item in things
        if item.get("type") == "function_call" and item.get("call_id") not in answered
    ]
    return "\n".join(filter(None, ["".join(texts), *map(_block, calls)]))


def _choices(choices: list[Any]) -> list[str]:
    if not all("message" in choice or "text" in choice for choice in choices):
        return []
    return [choice_text(choice) for choice in sorted(choices, key=choice_index)]


def choice_index(choice: Mapping[str, Any]) -> int:
    """Return the place of a choice among those of its answer."""
    return int(choice.get("index") or 0)


def _candidates(candidates: list[Any]) -> list[str]:
    contents = [candidate.get("content") for candidate in candidates]
    ended = [candidate.get("finishReason") for candidate in candidates]
    if not all(isinstance(one, Mapping) or end for one, end in zip(contents, ended, strict=True)):
        return []
    return [_spoken(one.get("parts")) if isinstance(one, Mapping) else "" for one in contents]


def _spoken(parts: Any) -> str:
    """Gemini's parts but its thoughts."""
    spoken = [part for part in parts or () if isinstance(part, Mapping) and not part.get("thought")]
    return content_text(spoken)


_ITEMS = frozenset({"message", "reasoning", "function_call", "function_call_output"})


def _output(items: list[Any]) -> list[str]:
    """One text, empty where the model was cut off in its reasoning: that is not what it said."""
    return [output_text(items)] if any(item.get("type") in _ITEMS for item in items) else []
