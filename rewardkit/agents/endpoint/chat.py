"""Requests, responses and response streams in the format of OpenAI's chat completions API."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

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
    texts_in,
)
from rewardkit.types import Message

ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant", "tool": "tool"}
HONOURED: Mapping[str, tuple[Any, ...] | None] = {
    **dict.fromkeys(("messages", "tools", "max_tokens", "max_completion_tokens", "stop", "stream")),
    "n": (1,),
    **dict.fromkeys(("tool_choice", "response_format", "min_tokens", "chat_template_kwargs")),
    "parallel_tool_calls": (True, False),
    "logprobs": (False,),
    "top_logprobs": (0,),
    "modalities": (["text"],),
}


def read(body: Mapping[str, Any]) -> AskedTurn:
    """Parse a request for a turn.

    Raises:
        ApiError: The request is malformed or asks for an unsupported feature.
    """
    refuse_others(body, HONOURED)
    messages = named([_message(one) for one in objects_in(body, "messages")])
    if not messages:
        raise ApiError("'messages' is missing or empty; send at least one message", param="messages")
    choice = body.get("tool_choice")
    tools = [] if choice == "none" else objects_in(body, "tools")
    schemas = [schema_of(tool, tool.get("function")) for tool in tools]
    named_tool = choice.get("function") if isinstance(choice, dict) else None
    structure = body.get("response_format")
    schema = structure.get("json_schema") if isinstance(structure, dict) else None
    return AskedTurn(
        messages,
        schemas,
        number_in(body, "max_completion_tokens", "max_tokens"),
        texts_in(body, "stop"),
        bool(body.get("stream")),
        body.get("parallel_tool_calls") is False,
        body,
        forced_in(choice, schemas, named_tool.get("name") if isinstance(named_tool, dict) else None),
        {
            **structure_in(
                structure, schema.get("schema") if isinstance(schema, dict) else None, "response_format"
            ),
            **least_in(body),
        },
        object_in(body, "chat_template_kwargs"),
    )


def _message(given: Mapping[str, Any]) -> Message:
    role = ROLES.get(str(given.get("role")))
    if role is None:
        raise ApiError(
            f"'messages' has a message with the role '{given.get('role')}'; expected one of "
            f"{', '.join(ROLES)}",
            param="messages",
        )
    message: Message = {"role": role, "content": text_in(given.get("content"))}
    if role == "tool":
        message["tool_call_id"] = str(given.get("tool_call_id") or "")
    calls = objects_in(given, "tool_calls")
    if calls and role == "assistant":
        message["tool_calls"] = [call_in(one.get("id"), one.get("function"), "messages") for one in calls]
    return message


def answer(asked: AskedTurn, said: SaidTurn) -> dict[str, Any]:
    """Return the body of the response."""
    message: dict[str, Any] = {"role": "assistant", "content": said.text or None, "refusal": None}
    if said.calls:
        message["tool_calls"] = said.calls
    elif not said.text:
        message["content"] = ""
    choice = {"index": 0, "message": message, "finish_reason": _finish(said), "logprobs": None}
    return {**_head(asked, said, "chat.completion"), "choices": [choice], "usage": _usage(said)}


def events(asked: AskedTurn, said: SaidTurn) -> Iterator[tuple[str | None, Any]]:
    """Yield the name and data of each event in the response stream. In this API, the name is always None."""
    head = _head(asked, said, "chat.completion.chunk")

    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return {**head, "choices": [choice]}

    yield None, chunk({"role": "assistant", "content": ""})
    if said.text:
        yield None, chunk({"content": said.text})
    for i, call in enumerate(said.calls):
        yield None, chunk({"tool_calls": [{"index": i, **call}]})
    yield None, chunk({}, _finish(said))
    options = asked.body.get("stream_options")
    if isinstance(options, dict) and options.get("include_usage"):
        yield None, {**head, "choices": [], "usage": _usage(said)}


def _finish(said: SaidTurn) -> str:
    if said.calls:
        return "tool_calls"
    return "length" if said.cut else "stop"


def _head(asked: AskedTurn, said: SaidTurn, kind: str) -> dict[str, Any]:
    model = str(asked.body.get("model") or "policy")
    return {"id": f"chatcmpl-{said.number}", "object": kind, "created": int(time.time()), "model": model}


def _usage(said: SaidTurn) -> dict[str, Any]:
    total = said.prompt_tokens + said.tokens
    return {"prompt_tokens": said.prompt_tokens, "completion_tokens": said.tokens, "total_tokens": total}
