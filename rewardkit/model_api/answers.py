"""Extracts the model's text from API responses.

These formats are supported as plain data: OpenAI's chat completions, completions and responses (also from
vLLM and SGLang), Anthropic's messages, Gemini's candidates, responses from Ollama, Cohere, Bedrock,
DashScope, TGI and SGLang, chat messages, and the parts of a message's content. `failures` handles errors that
an API returns instead of a response.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rewardkit.errors import NoResponseError
from rewardkit.messages import REASONING_PARTS, content_of, content_text, message_text
from rewardkit.model_api.failures import broken_choice, why_broken, why_empty, why_failed, why_silent

_SPEAKERS = frozenset({"assistant", "model", "gpt", "ai", "bot", "chatbot"})
"""Roles whose messages are responses."""

_STEPS = frozenset({"reasoning", "function_call", "function_call_output"})
_ITEMS = {"message", *_STEPS}
"""Types of items in the `output` of OpenAI's responses."""

_HOLDERS = frozenset({"generated_text", "meta_info", "choices", "candidates", "error"})
"""Keys that occur in API responses but not in messages."""

_OF_BATCHES = frozenset({"status_code", "request_id", "type", "custom_id"})
"""Keys that occur in or next to an API response in the output of a batch API."""

_LANGCHAIN = frozenset({"human", "ai", "system", "tool", "function"})
"""Types of LangChain messages, which have no role."""


def texts_of(answer: Mapping[str, Any]) -> list[str]:
    """Return the texts in an API response, as `answer_texts` does, or a tool call as JSON.

    Raises:
        NoResponseError: See `answer_texts`. Also raised if the object is neither an API response nor a tool
            call.
    """
    texts = answer_texts(answer)
    if texts is not None:
        return texts
    if is_call(answer):
        return [json.dumps(answer, ensure_ascii=False)]
    raise NoResponseError(unknown_shape("an object with " + _keys(answer), _nearest(answer)))


def is_call(value: Any) -> bool:
    """Return True if a value is a tool call in a form that the reward `tool_call` reads from a text."""
    if not isinstance(value, Mapping):
        return False
    called = value["function"] if isinstance(value.get("function"), Mapping) else value
    return isinstance(called.get("name"), str) and bool({"arguments", "parameters", "args"} & set(called))


_SHAPES = {
    "OpenAI's chat completions": ("choices", "id", "object", "created", "model", "usage"),
    "OpenAI's responses": ("output", "id", "object", "created_at", "model", "usage", "status"),
    "Anthropic's messages": ("content", "id", "type", "role", "model", "usage", "stop_reason"),
    "Gemini's answers": ("candidates", "usageMetadata", "modelVersion"),
    "Ollama's answers": ("message", "model", "created_at", "done"),
    "chat messages": ("content", "role", "name"),
}
"""Keys in the supported kinds of API responses. The first key of each kind contains the model's text."""


def _nearest(answer: Mapping[str, Any]) -> str:
    """Return a hint that names the most similar kind of API response and its main key.

    The hint is empty if the object shares no keys with any kind of API response.
    """
    shared = {shape: len(set(keys) & set(answer)) for shape, keys in _SHAPES.items()}
    shape = max(shared, key=lambda name: shared[name])
    return f"; the nearest is {shape}, with '{_SHAPES[shape][0]}'" if shared[shape] else ""


def unknown_shape(what: str, nearest: str = "") -> str:
    """Return the error message for a response in an unknown form, which `what` describes."""
    return (
        f"the response is {what}; expected text, chat messages or a known API answer{nearest}; "
        "if the model answered in JSON, write the JSON as a string"
    )


def _keys(value: Mapping[str, Any]) -> str:
    names = [str(name)[:40] for name in list(value)[:6]]
    return f"the keys {', '.join(names)}{', ...' if len(value) > 6 else ''}" if names else "no keys"


def answer_texts(answer: Mapping[str, Any]) -> list[str] | None:
    """Return the texts in an API response, one for each choice, or None for any other object.

    Tool calls are appended to the text in the format of Hermes' templates. If the model was cut off while
    thinking, the text is empty.

    Raises:
        NoResponseError: The object is an API error, an API response without choices, or a message that has
            another role than the model's.
    """
    if (why := why_failed(answer)) is not None:
        raise NoResponseError(why)
    for name, read in (("choices", _choices), ("candidates", _candidates), ("output", _output)):
        parts = answer.get(name)
        if isinstance(parts, list) and parts and all(isinstance(part, Mapping) for part in parts):
            found = read(parts)
            if found:
                return found
    if isinstance(answer.get("role"), str) and _is_message(answer):
        return [conversation_text([answer])]
    if is_content([answer]):
        return [said_in({"content": [answer]})]
    if (text := _single(answer)) is not None:
        return [text]
    for name in ("body", "result", "response"):  # lines in the output of batch APIs (OpenAI, Anthropic)
        held = answer.get(name)
        if isinstance(held, Mapping) and not _OF_BATCHES.isdisjoint({*answer, *held}):
            return answer_texts(held)
    output = answer.get("output")
    if isinstance(output, Mapping) and "request_id" in answer:  # DashScope
        return [output["text"]] if isinstance(output.get("text"), str) else answer_texts(output)
    if (why := why_empty(answer)) is not None:
        raise NoResponseError(why)
    return None


def _single(answer: Mapping[str, Any]) -> str | None:
    """Return the text in an API response with at most one message or text, or None for any other object."""
    output = answer.get("output")
    for holder in (answer, output if isinstance(output, Mapping) else {}):  # Ollama and Cohere, or Bedrock
        message = holder.get("message")
        if isinstance(message, Mapping) and _is_message(message):
            return conversation_text([message])
    generated = answer.get("generated_text")  # TGI, or a transformers pipeline whose input is a chat
    if isinstance(generated, str):
        return generated
    if isinstance(generated, list) and is_conversation(generated):
        return conversation_text(generated)
    if isinstance(answer.get("response"), str) and isinstance(answer.get("done"), bool):  # Ollama's generate
        return str(answer["response"])
    if isinstance(answer.get("text"), str) and isinstance(
        answer.get("meta_info"), Mapping
    ):  # SGLang's generate
        return str(answer["text"])
    is_cut_off = answer.get("object") == "response" and output == []  # the text was cut off at its start
    return "" if is_cut_off else None


def is_answers(value: Sequence[Any]) -> bool:
    """Return True if a list contains only API responses, as lists from TGI, SGLang and transformers do."""
    return bool(value) and all(isinstance(one, Mapping) and _HOLDERS & set(one) for one in value)


def is_conversation(value: Any) -> bool:
    """Return True if a value is a list of chat messages."""
    return isinstance(value, list) and any(isinstance(one, Mapping) and _is_message(one) for one in value)


def _is_message(value: Mapping[str, Any]) -> bool:
    return (
        "content" in value or ("role" in value and "tool_calls" in value) or {"from", "value"} <= set(value)
    )


def role_of(message: Mapping[str, Any]) -> str | None:
    """Return the role of a message, or None if it has no role."""
    kind = str(message.get("type"))
    role = message.get("role") or message.get("from") or (kind if kind in _LANGCHAIN else None)
    return None if role is None else str(role)


def is_said(message: Mapping[str, Any]) -> bool:
    """Return True if a message is from the model. Any message without a role is assumed to be."""
    role = role_of(message)
    return role is None or role.lower() in _SPEAKERS


def conversation_text(messages: Sequence[Any]) -> str:
    """Return the model's texts in chat messages, and the tool calls in the model's last message.

    Calls in earlier messages are left out, since they have already been answered.

    Raises:
        NoResponseError: No message is from the model.
    """
    told = [message for message in messages if isinstance(message, Mapping)]
    if any(str(message.get("type")) in _STEPS for message in told):
        return output_text(told)
    said = [message for message in told if is_said(message)]
    if told and not said:
        raise _only_others(told)
    if said and (why := why_silent(said[-1])) is not None:
        raise NoResponseError(why)
    return "".join([*map(message_text, said[:-1]), *map(said_in, said[-1:])])


def _only_others(messages: Sequence[Mapping[str, Any]]) -> NoResponseError:
    roles = ", ".join(dict.fromkeys(str(role_of(message)) for message in messages))
    return NoResponseError(f"no message has the role assistant (roles: {roles}), so there is no response")


def is_content(parts: Sequence[Any]) -> bool:
    """Return True if a list contains the parts of a message's content: objects with a type and no role."""
    kinds = [isinstance(part, Mapping) and "role" not in part and part.get("type") for part in parts]
    return all(isinstance(kind, str) for kind in kinds) and any(map(_is_part, parts))


def _is_part(part: Mapping[str, Any]) -> bool:
    kind = str(part.get("type"))
    if kind in ("text", "output_text"):
        return isinstance(part.get("text"), str)
    return kind in REASONING_PARTS or kind in ("refusal", "tool_use")


def said_in(message: Mapping[str, Any]) -> str:
    """Return the text or refusal of a message, followed by its tool calls."""
    content = content_of(message) or message.get("refusal")
    legacy = message.get("function_call")
    calls = [*_calls(message.get("tool_calls") or [legacy]), *_uses(content)]
    return "\n".join(filter(None, [content_text(content), *map(_block, calls)]))


def _block(call: Mapping[str, Any]) -> str:
    """Format a call as in Hermes' templates."""
    return f"<tool_call>\n{json.dumps(call, ensure_ascii=False)}\n</tool_call>"


def _calls(calls: Any) -> list[dict[str, Any]]:
    """Return OpenAI's function calls with parsed arguments, which OpenAI encodes as JSON strings."""
    held = calls if isinstance(calls, list | tuple) else ()
    functions = [call.get("function", call) for call in held if isinstance(call, Mapping)]
    found = [function for function in functions if isinstance(function, Mapping) and "name" in function]
    return [
        {"name": one["name"], "arguments": _arguments(one.get("arguments", one.get("args")))} for one in found
    ]


def _arguments(arguments: Any) -> Any:
    """Parse arguments that are a JSON string. Invalid JSON stays a string, which makes the call invalid."""
    if not isinstance(arguments, str):
        return arguments
    try:
        return json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return arguments


def _uses(content: Any) -> list[dict[str, Any]]:
    """Return the tool uses in the content of Anthropic's messages, converted to calls."""
    parts = content if isinstance(content, list) else ()
    uses = [part for part in parts if isinstance(part, Mapping) and part.get("type") == "tool_use"]
    return [{"name": use.get("name"), "arguments": use.get("input")} for use in uses]


def choice_text(choice: Mapping[str, Any]) -> str:
    """Return the text of a choice in OpenAI's format, from its message or its `text`."""
    message = choice.get("message")
    return said_in(message) if isinstance(message, Mapping) else content_text(message or choice.get("text"))


def output_text(items: list[Any]) -> str:
    """Return the text in the `output` of one of OpenAI's responses.

    The text consists of the model's messages and the function calls without an output. Reasoning, function
    outputs and messages with other roles are left out.

    Raises:
        NoResponseError: The output contains only messages with other roles.
    """
    things = [item for item in items if isinstance(item, Mapping)]
    messages = [item for item in things if item.get("type", "message") == "message"]
    said = [message for message in messages if is_said(message)]
    if messages and not said and len(messages) == len(things):
        raise _only_others(messages)
    texts = list(map(message_text, said))
    answered = [item.get("call_id") for item in things if item.get("type") == "function_call_output"]
    calls = [
        {"name": item.get("name"), "arguments": _arguments(item.get("arguments"))}
        for item in things
        if item.get("type") == "function_call" and item.get("call_id") not in answered
    ]
    return "\n".join(filter(None, ["".join(texts), *map(_block, calls)]))


def _choices(choices: list[Any]) -> list[str]:
    if (why := next(filter(None, map(_why_none, choices)), None)) is not None:
        raise NoResponseError(why)
    if not all("message" in choice or "text" in choice for choice in choices):
        return []
    return [choice_text(choice) for choice in sorted(choices, key=choice_index)]


def _why_none(choice: Mapping[str, Any]) -> str | None:
    if (why := broken_choice(choice)) is not None or choice.get("finish_reason") == "length":
        return why
    message = choice.get("message")
    return why_silent(message) if isinstance(message, Mapping) else None


def choice_index(choice: Mapping[str, Any]) -> int:
    """Return the index of a choice in an API response, or 0 if the choice has no index."""
    index = choice.get("index")
    return index if isinstance(index, int) else 0


def _candidates(candidates: list[Any]) -> list[str]:
    contents = [candidate.get("content") for candidate in candidates]
    ended = [candidate.get("finishReason") or candidate.get("finish_reason") for candidate in candidates]
    if (why := next(filter(None, map(why_broken, ended)), None)) is not None:
        raise NoResponseError(why)
    if not all(isinstance(one, Mapping) or end for one, end in zip(contents, ended, strict=True)):
        return []
    return [content_text(one.get("parts")) if isinstance(one, Mapping) else "" for one in contents]


def _output(items: list[Any]) -> list[str]:
    """Return a list that contains the text of the output. The text is empty if reasoning was cut off."""
    return [output_text(items)] if any(str(item.get("type")) in _ITEMS for item in items) else []
