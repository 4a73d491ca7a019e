"""Format `mistral`: `[TOOL_CALLS][{"name": ..., "arguments": {...}}]`.

Some models write `[TOOL_CALLS]f[ARGS]{...}` for each call instead.
"""

from __future__ import annotations

import re

from rewardkit.tool_calls.call import (
    MAX_CALLS,
    Call,
    UnreadableCall,
    calls_of,
    checked,
    failed,
    json_at,
    name_in,
    shown,
)

MARK = "[TOOL_CALLS]"
_HEAD = re.compile(r"\s*([A-Za-z_][\w.-]{0,199})\s*(?:\[CALL_ID\]\s*\w{1,40})?\s*(?:\[ARGS\])?\s*(?=\{)")


def read(text: str) -> tuple[str, list[Call]]:
    """Return the text before the calls and the parsed calls."""
    start = text.find(MARK)
    if start < 0:
        return text.strip(), []
    calls: list[Call] = []
    position = start
    try:
        while position < len(text) and len(calls) <= MAX_CALLS:
            found, position = _calls_at(text, position)
            calls += found
    except UnreadableCall as error:
        calls.append(failed(str(error), name_in(text[position:])))
    return text[:start].strip(), calls


def _calls_at(text: str, position: int) -> tuple[list[Call], int]:
    """Return the calls after a mark, and the position after the calls."""
    if not text.startswith(MARK, position):
        raise UnreadableCall(
            f"expected {MARK} or the end after the call's JSON, found {shown(text[position:])}"
        )
    head = _HEAD.match(text, position + len(MARK))
    value, end = json_at(text, head.end() if head else position + len(MARK))
    while end < len(text) and text[end].isspace():
        end += 1
    return [checked(head[1], value)] if head else calls_of(value), end
