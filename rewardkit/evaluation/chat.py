"""An episode's turns as a chat to read: who spoke, what was called, what came of it, and the rewards.

Takes what generation and training write in the column `turns`; what others wrote there is left alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

from rewardkit.messages import message_text
from rewardkit.text import printable

FOLDED = 400
"""Characters of what a tool or a user said that a terminal shows; of more the start and the end."""


def is_chat(turns: Any) -> TypeGuard[list[Mapping[str, Any]]]:
    """Return True if a value is an episode's turns."""
    return (
        isinstance(turns, list)
        and bool(turns)
        and all(isinstance(turn, Mapping) and "role" in turn and "text" in turn for turn in turns)
    )


def chat_lines(turns: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return an episode as lines of text that no turn can steer a terminal with."""
    lines = []
    for turn in turns:
        own = turn["role"] == "assistant"
        text = printable(str(turn["text"]))
        lines.append(f"{heading(turn)} {text if own else folded(text)}".rstrip())
    return lines


def shown_prompt(key: str) -> str:
    """Return a prompt's key (`prompt_key`) to be read: of chat messages their text, each after its role."""
    try:
        messages, end = json.JSONDecoder().raw_decode(key)
    except ValueError:
        return key
    if not isinstance(messages, list) or not all(
        isinstance(one, Mapping) and "role" in one for one in messages
    ):
        return key
    turns = [f"[{one['role']}] {message_text(one)}" for one in messages]
    return "  ".join(turns) + key[end:]


def heading(turn: Mapping[str, Any]) -> str:
    """Return who spoke, with the tools that were called, what came of calls, and the turn's reward."""
    about = ", ".join(str(status) for status in turn.get("statuses") or ())
    head = f"[{printable(str(turn['role']))}{f': {about}' if about else ''}]"
    calls = [_call(one) for one in turn.get("calls") or ()]
    reward = turn.get("reward")
    return (
        head
        + (f" calls {', '.join(calls)}" if calls else "")
        + (f" (reward {reward:g})" if isinstance(reward, int | float) else "")
        + (":" if calls else "")
    )


def folded(text: str) -> str:
    """Return a long text without its middle."""
    if len(text) <= FOLDED:
        return text
    half = FOLDED // 2
    return f"{text[:half]} [... {len(text) - 2 * half:,} characters ...] {text[-half:]}"


def _call(one: Any) -> str:
    """A call as `name(arguments)`; it is a mapping, or JSON of one."""
    try:
        call = json.loads(one) if isinstance(one, str) else one
        name = call.get("name")
        arguments = call.get("arguments")
    except (ValueError, AttributeError):
        return printable(folded(str(one)))
    shown = folded(json.dumps(arguments, ensure_ascii=False, default=str))
    error = f" [{call['error']}]" if call.get("error") else ""
    return printable(f"{name}({shown}){error}")
