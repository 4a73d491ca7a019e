"""Requests, responses and response streams in the format of OpenAI's responses API."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rewardkit.agents.endpoint.chat import ROLES
from rewardkit.agents.endpoint.program_requests import (
    ApiError,
    AskedTurn,
    SaidTurn,
    call_in,
    forced_in,
    least_in,
    named,
    number_in,
    object_in,
    objects_in,
    refuse_others,
    schema_of,
    structure_in,
    text_in,
)
from rewardkit.types import Message

HONOURED: Mapping[str, tuple[Any, ...] | None] = {
    **dict.fromkeys(
        ("input", "instructions", "tools", "max_output_tokens", "stream", "previous_response_id")
    ),
    **dict.fromkeys(("tool_choice", "text", "min_tokens", "chat_template_kwargs")),
    "parallel_tool_calls": (True, False),
    "background": (False,),
    "top_logprobs": (0,),
}


def read(body: Mapping[str, Any], earlier: Mapping[str, Sequence[Message]]) -> AskedTurn:
    """Parse a request for a turn.

    Args:
        body: Fields of the request.
        earlier: Conversations without instructions, by the id of their last response.

    Raises:
        ApiError: The request is malformed or asks for an unsupported feature.
    """
    refuse_others(body, HONOURED)
    before: list[Message] = []
    previous = body.get("previous_response_id")
    if previous is not None:
        if not isinstance(previous, str) or previous not in earlier:
            raise ApiError(
                f"previous_response_id: this episode has no response '{previous}'",
                param="previous_response_id",
            )
        before = list(earlier[previous])
    instructions = text_in(body.get("instructions"), "instructions")
    if instructions:
        before.insert(0, {"role": "system", "content": instructions})
    asked = body.get("input")
    items = [{"role": "user", "content": asked}] if isinstance(asked, str) else objects_in(body, "input")
    messages = named([*before, *_messages(items)])
    if not messages:
        raise ApiError("'input' is missing or empty; send a string or a list of items", param="input")
    choice = body.get("tool_choice")
    tools = [] if choice == "none" else objects_in(body, "tools")
    schemas = [schema_of(tool, tool) for tool in tools]
    form = object_in(body, "text").get("format")
    return AskedTurn(
        messages,
        schemas,
        number_in(body, "max_output_tokens"),
        (),
        bool(body.get("stream")),
        body.get("parallel_tool_calls") is False,
        body,
        forced_in(choice, schemas, choice.get("name") if isinstance(choice, dict) else None),
        {
            **structure_in(form, form.get("schema") if isinstance(form, dict) else None, "text"),
            **least_in(body),
        },
        object_in(body, "chat_template_kwargs"),
    )


def _messages(items: Sequence[Mapping[str, Any]]) -> list[Message]:
    """Convert items to messages. Text and tool calls from the same turn of the model become one message."""
    messages: list[Message] = []
    for item in items:
        kind = item.get("type") or "message"
        if kind == "message":
            role = ROLES.get(str(item.get("role")))
            if role in (None, "tool"):
                raise ApiError(
                    f"'input' has a message with the role '{item.get('role')}'; expected one of "
                    f"{', '.join(name for name in ROLES if name != 'tool')}",
                    param="input",
                )
            messages.append({"role": role, "content": text_in(item.get("content"), "input")})
        elif kind == "function_call":
            if not messages or messages[-1]["role"] != "assistant":
                messages.append({"role": "assistant", "content": ""})
            call = call_in(item.get("call_id"), item, "input")
            messages[-1] = {**messages[-1], "tool_calls": [*messages[-1].get("tool_calls", ()), call]}
        elif kind == "function_call_output":
            text = text_in(item.get("output"), "input")
            messages.append({"role": "tool", "tool_call_id": str(item.get("call_id")), "content": text})
        elif kind != "reasoning":  # the endpoint returns reasoning as text, so reasoning items are ignored
            raise ApiError(
                f"'input' has an item of type '{kind}'; rewardkit's endpoint supports message, "
                "function_call, function_call_output and reasoning",
                param="input",
            )
    return messages


def conversation(asked: AskedTurn, said: SaidTurn) -> list[Message]:
    """Return the messages that a later request may refer to by the id of this response."""
    before = asked.messages[1:] if asked.body.get("instructions") else asked.messages
    message: Message = {"role": "assistant", "content": said.text}
    return [*before, {**message, "tool_calls": said.calls} if said.calls else message]


def response_id(said: SaidTurn) -> str:
    """Return the id of the response that contains a turn."""
    return f"resp_{said.number}"


def answer(asked: AskedTurn, said: SaidTurn) -> dict[str, Any]:
    """Return the body of the response."""
    return _response(asked, said, "incomplete" if said.cut else "completed", _output(said))


def _output(said: SaidTurn) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if said.text or not said.calls:
        part = {"type": "output_text", "text": said.text, "annotations": [], "logprobs": []}
        head = {"id": f"msg_{said.number}", "type": "message", "role": "assistant"}
        items.append({**head, "status": "completed", "content": [part]})
    for i, call in enumerate(said.calls):
        function = call["function"]
        items.append(
            {
                "id": f"fc_{said.number}_{i}",
                "type": "function_call",
                "status": "completed",
                "call_id": call["id"],
                "name": function["name"],
                "arguments": function["arguments"],
            }
        )
    return items


def _response(asked: AskedTurn, said: SaidTurn, status: str, output: list[dict[str, Any]]) -> dict[str, Any]:
    body = asked.body
    ended = status in ("completed", "incomplete")
    usage = {
        "input_tokens": said.prompt_tokens,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": said.tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": said.prompt_tokens + said.tokens,
    }
    return {
        "id": response_id(said),
        "object": "response",
        "created_at": int(time.time()),
        "status": status,
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
        "instructions": body.get("instructions"),
        "max_output_tokens": body.get("max_output_tokens"),
        "metadata": body.get("metadata") or {},
        "model": str(body.get("model") or "policy"),
        "output": output,
        "parallel_tool_calls": body.get("parallel_tool_calls") is not False,
        "previous_response_id": body.get("previous_response_id"),
        "temperature": None,
        "text": {"format": {"type": "text"}},
        "tool_choice": body.get("tool_choice") or "auto",
        "tools": body.get("tools") or [],
        "top_p": None,
        "usage": usage if ended else None,
    }


def events(asked: AskedTurn, said: SaidTurn) -> Iterator[tuple[str | None, Any]]:
    """Yield the type and data of each event in the response stream."""
    for number, event in enumerate(_events(asked, said)):
        yield event["type"], {**event, "sequence_number": number}


def _events(asked: AskedTurn, said: SaidTurn) -> Iterator[dict[str, Any]]:
    begun = _response(asked, said, "in_progress", [])
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    for place, item in enumerate(_output(said)):
        of_item = {"output_index": place, "item_id": item["id"]}
        empty: dict[str, Any] = {"content": []} if item["type"] == "message" else {"arguments": ""}
        added = {**item, "status": "in_progress", **empty}
        yield {"type": "response.output_item.added", "output_index": place, "item": added}
        yield from _of_text(item, of_item) if item["type"] == "message" else _of_call(item, of_item)
        yield {"type": "response.output_item.done", "output_index": place, "item": item}
    ended = answer(asked, said)
    yield {"type": f"response.{ended['status']}", "response": ended}


def _of_text(item: dict[str, Any], of_item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    part = item["content"][0]
    place = {**of_item, "content_index": 0}
    yield {"type": "response.content_part.added", **place, "part": {**part, "text": ""}}
    yield {"type": "response.output_text.delta", **place, "delta": part["text"], "logprobs": []}
    yield {"type": "response.output_text.done", **place, "text": part["text"], "logprobs": []}
    yield {"type": "response.content_part.done", **place, "part": part}


def _of_call(item: dict[str, Any], of_item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    arguments = item["arguments"]
    yield {"type": "response.function_call_arguments.delta", **of_item, "delta": arguments}
    done = {"arguments": arguments, "name": item["name"]}
    yield {"type": "response.function_call_arguments.done", **of_item, **done}
