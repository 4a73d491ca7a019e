"""Format `hermes` for Hermes, Qwen 2.5 and 3: `<tool_call>{"name": ..., "arguments": {...}}</tool_call>`.

The closing tag of the last call is optional. A block may contain a code fence or a list of calls.
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
    """Return the text outside the calls and the parsed calls."""
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
    """Return the calls in the block that begins after an opening tag, and the position after the block."""
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
    """Return the JSON value in a block, which may be in a code fence, and the position after the value.

    The JSON parser determines the end of the value, since a string in the JSON may contain a tag.
    """
    end = _find(text, CLOSE, start)
    if text[start:end].lstrip().startswith("```"):
        return json_of(last_fence(text[start:end], "json")), end
    return json_at(text, start)


def _find(text: str, mark: str, start: int) -> int:
    """Return the position of the next mark, or the end of the text if there is no further mark."""
    place = text.find(mark, start)
    return place if place >= 0 else len(text)
