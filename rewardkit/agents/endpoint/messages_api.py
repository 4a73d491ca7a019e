"""Requests, responses and response streams in the format of Anthropic's messages API."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rewardkit.agents.endpoint.program_requests import (
    ApiError,
    AskedTurn,
    SaidTurn,
    call_in,
    forced_in,
    named,
    number_in,
    object_in,
    objects_in,
    refuse_others,
    schema_of,
    text_in,
    texts_in,
)
from rewardkit.messages import REASONING_PARTS
from rewardkit.types import Message

HONOURED: Mapping[str, tuple[Any, ...] | None] = dict.fromkeys(
    ("messages", "system", "tools", "tool_choice", "max_tokens", "stop_sequences", "stream")
)
CHOICES = {"auto": "auto", "any": "required", "none": "none"}
"""Values of `tool_choice` in OpenAI's chat completions API, by the `tool_choice.type` of a request."""


def read(body: Mapping[str, Any]) -> AskedTurn:
    """Parse a request for a turn.

    Raises:
        ApiError: The request is malformed or asks for an unsupported feature.
    """
    refuse_others(body, HONOURED)
    system = text_in(body.get("system"), "system")
    messages: list[Message] = [{"role": "system", "content": system}] if system else []
    for one in objects_in(body, "messages"):
        messages += _messages(one)
    if not any(message["role"] != "system" for message in messages):
        raise ApiError("'messages' is missing or empty; send at least one message", param="messages")
    choice = object_in(body, "tool_choice")
    kind = choice.get("type")
    tools = [] if kind == "none" else objects_in(body, "tools")
    schemas = [_schema(tool) for tool in tools]
    return AskedTurn(
        named(messages),
        schemas,
        number_in(body, "max_tokens"),
        texts_in(body, "stop_sequences"),
        bool(body.get("stream")),
        choice.get("disable_parallel_tool_use") is True,
        body,
        forced_in(CHOICES.get(str(kind), choice) if choice else None, schemas, choice.get("name")),
    )


def _schema(tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a tool, which has no type or the type `custom`."""
    kind = "function" if tool.get("type") in (None, "custom") else tool.get("type")
    function = {name: tool.get(name) for name in ("name", "description")}
    return schema_of({"type": kind}, {**function, "parameters": tool.get("input_schema")})


def _messages(given: Mapping[str, Any]) -> list[Message]:
    """Convert a message. Each tool result in it becomes a separate message before the other content."""
    role = given.get("role")
    if role not in ("user", "assistant"):
        raise ApiError(
            f"'messages' has a message with the role '{role}'; expected user or assistant", param="messages"
        )
    content = given.get("content")
    if not isinstance(content, list):
        return [{"role": role, "content": text_in(content)}]
    results: list[Message] = []
    calls, texts = [], []
    for block in objects_in(given, "content"):
        kind = block.get("type")
        if kind == "tool_result" and role == "user":
            text = text_in(block.get("content"))
            results.append({"role": "tool", "tool_call_id": str(block.get("tool_use_id")), "content": text})
        elif kind == "tool_use" and role == "assistant":
            function = {"name": block.get("name"), "arguments": block.get("input")}
            calls.append(call_in(block.get("id"), function, "messages"))
        elif kind not in REASONING_PARTS:  # the endpoint returns reasoning as text
            texts.append(block)
    message: Message = {"role": role, "content": text_in(texts)}
    if calls:
        message["tool_calls"] = calls
    return [*results, message] if texts or calls or not results else results


def answer(asked: AskedTurn, said: SaidTurn) -> dict[str, Any]:
    """Return the body of the response."""
    return _message(asked, said, _blocks(said), _stop_reason(said), said.tokens)


def _message(
    asked: AskedTurn, said: SaidTurn, content: Sequence[Any], stop: str | None, tokens: int
) -> dict[str, Any]:
    return {
        "id": f"msg_{said.number}",
        "type": "message",
        "role": "assistant",
        "model": str(asked.body.get("model") or "policy"),
        "content": list(content),
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": said.prompt_tokens, "output_tokens": tokens},
    }


def _blocks(said: SaidTurn) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = [{"type": "text", "text": said.text}] if said.text else []
    for call in said.calls:
        function = call["function"]
        given = json.loads(function["arguments"])
        blocks.append({"type": "tool_use", "id": call["id"], "name": function["name"], "input": given})
    return blocks


def _stop_reason(said: SaidTurn) -> str:
    if said.calls:
        return "tool_use"
    return "max_tokens" if said.cut else "end_turn"


def events(asked: AskedTurn, said: SaidTurn) -> Iterator[tuple[str | None, Any]]:
    """Yield the type and data of each event in the response stream."""
    for event in _events(asked, said):
        yield event["type"], event


def _events(asked: AskedTurn, said: SaidTurn) -> Iterator[dict[str, Any]]:
    yield {"type": "message_start", "message": _message(asked, said, [], None, 0)}
    for place, block in enumerate(_blocks(said)):
        empty: dict[str, Any]
        if block["type"] == "text":
            empty, delta = {"text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            written = json.dumps(block["input"])
            empty, delta = {"input": {}}, {"type": "input_json_delta", "partial_json": written}
        yield {"type": "content_block_start", "index": place, "content_block": {**block, **empty}}
        yield {"type": "content_block_delta", "index": place, "delta": delta}
        yield {"type": "content_block_stop", "index": place}
    ended = {"stop_reason": _stop_reason(said), "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": {"output_tokens": said.tokens}}
    yield {"type": "message_stop"}
