"""Episodes formatted as chats: speakers, tool calls, outcomes of tool calls, and rewards.

The functions accept values of the column `turns`, which generation and training write. `is_chat` recognises
such values.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

from rewardkit.json_objects import NOT_JSON
from rewardkit.messages import message_text
from rewardkit.text import printable

FOLDED = 400
"""Maximum number of characters shown of a text from a tool or user. The middle of longer texts is omitted."""


def is_chat(turns: Any) -> TypeGuard[list[Mapping[str, Any]]]:
    """Return True if the value is a list of an episode's turns."""
    return (
        isinstance(turns, list)
        and bool(turns)
        and all(isinstance(turn, Mapping) and "role" in turn and "text" in turn for turn in turns)
    )


def chat_lines(turns: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the turns of an episode as text, without control characters that could affect a terminal."""
    lines = []
    for head, turn in zip(headings(turns), turns, strict=True):
        own = turn["role"] == "assistant"
        text = printable(str(turn["text"]))
        lines.append(f"{head} {text if own else folded(text)}".rstrip())
    return lines


def shown_prompt(key: str) -> str:
    """Return a prompt's key (`prompt_key`) in readable form, with chat messages as `[role] text`."""
    try:
        messages, end = json.JSONDecoder().raw_decode(key)
    except ValueError:
        return key
    if not isinstance(messages, list) or not all(
        isinstance(one, Mapping) and "role" in one for one in messages
    ):
        return key
    turns = [f"[{one['role']}] {message_text(one)}" for one in with_calls(messages)]
    return "  ".join(turns) + key[end:]


def with_calls(messages: Sequence[Any]) -> list[Any]:
    """Return chat messages whose roles also name the tools that they call, or whose results they contain."""
    known: dict[Any, str] = {}
    shown = []
    for one in messages:
        if not isinstance(one, Mapping):
            shown.append(one)
            continue
        calls = []
        for given in one.get("tool_calls") or ():
            if isinstance(given, Mapping):
                calls.append(_call(given.get("function") or given))
                known[given.get("id")] = calls[-1]
        role = str(one.get("role"))
        if calls:
            role = f"{role} calls {', '.join(calls)}"
        elif role in ("tool", "function"):
            role = " ".join([role, *filter(None, [known.get(one.get("tool_call_id")) or one.get("name")])])
        named = {name: value for name, value in one.items() if name not in ("tool_calls", "tool_call_id")}
        shown.append({**named, "role": role})
    return shown


def headings(turns: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the heading of each turn of an episode. A tool's turn names the calls of the turn before."""
    found = []
    before: Sequence[Any] = ()
    for turn in turns:
        found.append(_heading(turn, before if turn["role"] == "tool" else ()))
        before = turn.get("calls") or ()
    return found


def _heading(turn: Mapping[str, Any], answered: Sequence[Any]) -> str:
    """Return the heading of a turn, with its role, the statuses of tool calls, the calls and the reward."""
    about = ", ".join(str(status) for status in turn.get("statuses") or ())
    role = " ".join([printable(str(turn["role"])), *filter(None, [", ".join(map(_call, answered))])])
    head = f"[{role}{f': {about}' if about else ''}]"
    calls = [_call(one) for one in turn.get("calls") or ()]
    reward = turn.get("reward")
    return (
        head
        + (f" calls {', '.join(calls)}" if calls else "")
        + (f" (reward {reward:g})" if isinstance(reward, int | float) else "")
        + (":" if calls else "")
    )


def folded(text: str, longest: int = FOLDED) -> str:
    """Return the text. If it is longer than `longest` characters, omit its middle."""
    if len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]} [... {len(text) - 2 * half:,} characters ...] {text[-half:]}"


def _call(one: Any) -> str:
    """Return a tool call, given as a mapping or as JSON, in the form `name(arguments)`."""
    try:
        call = json.loads(one) if isinstance(one, str) else one
        name = call.get("name")
        arguments = call.get("arguments")
        if isinstance(arguments, str) and arguments.startswith("{"):
            arguments = json.loads(arguments)
    except (*NOT_JSON, AttributeError):
        return printable(folded(str(one)))
    shown = folded(json.dumps(arguments, ensure_ascii=False, default=str))
    error = f" [{call['error']}]" if call.get("error") else ""
    return printable(f"{name}({shown}){error}")
