"""`hermes`, of Hermes, Qwen 2.5 and 3: `<tool_call>{"name": ..., "arguments": {...}}</tool_call>`.

The last call need not be closed. A call may stand in a code fence, and several in a list.
"""

from __future__ import annotations

from typing import Any

from rewardkit.fences import last_fence
from rewardkit.tool_calls.call import (
    MAX_CALLS,
    Call,
    UnreadableCall,
    calls_of,
    failed,
    json_at,
    json_of,
    name_in,
    shown,
)

OPEN, CLOSE = "<tool_call>", "</tool_call>"


def read(text: str) -> tuple[str, list[Call]]:
    """Return the text beside the calls, and the calls."""
    content: list[str] = []
    calls: list[Call] = []
    position = 0
    while len(calls) <= MAX_CALLS:
        start = text.find(OPEN, position)
        content.append(text[position : start if start >= 0 else len(text)])
        if CLOSE in content[-1]:
            calls.append(failed(f"{CLOSE} without {OPEN} before it"))
            content[-1] = content[-1].replace(CLOSE, "")
        if start < 0:
            break
        found, position = _block(text, start + len(OPEN))
        calls += found
    return "".join(content).strip(), calls


def _block(text: str, start: int) -> tuple[list[Call], int]:
    """The calls that begin after a tag, and where what follows them begins."""
    try:
        value, end = _value(text, start)
        rest = text[end:].lstrip()
        if rest and not rest.startswith((CLOSE, OPEN)):
            raise UnreadableCall(f"expected {CLOSE} after the JSON object, found {shown(rest)}")
        calls = calls_of(value)
    except UnreadableCall as error:
        end = min(_find(text, CLOSE, start), _find(text, OPEN, start))
        calls = [failed(str(error), name_in(text[start:end]))]
    close = text.find(CLOSE, end)
    closed = close >= 0 and not text[end:close].strip()
    return calls, close + len(CLOSE) if closed else end


def _value(text: str, start: int) -> tuple[Any, int]:
    """The JSON of a block, which may stand in a code fence, and where it ends.

    JSON says itself where it ends: a tag within a text of it ends nothing.
    """
    end = _find(text, CLOSE, start)
    if text[start:end].lstrip().startswith("```"):
        return json_of(last_fence(text[start:end], "json")), end
    return json_at(text, start)


def _find(text: str, mark: str, start: int) -> int:
    """Return the place of a mark, or the text's end."""
    place = text.find(mark, start)
    return place if place >= 0 else len(text)
