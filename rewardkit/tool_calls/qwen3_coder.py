"""Format `qwen3_coder`: `<tool_call><function=f><parameter=x>1</parameter></function></tool_call>`.

All values are strings. The outer tags are optional. A JSON object may be written in place of the parameters.
"""

from __future__ import annotations

import re
from typing import Any

from rewardkit.tool_calls.call import (
    MAX_CALLS,
    Call,
    UnreadableCall,
    by_name,
    checked,
    failed,
    json_at,
    shown,
)

_MARK = re.compile(r"<tool_call>\s*|<function=|</function>|<parameter=|</tool_call>")
_HEAD = re.compile(r"<function=([^>\n]*)>\s*")
_PARAMETER = re.compile(r"<parameter=([^>\n]*)>(.*?)</parameter>\s*", re.DOTALL)
_OPENS_PARAMETER = re.compile(r"<parameter=([^>\n]*)>")
_CLOSE = re.compile(r"\s*(?:</function>|(?=<tool_call>|<function=|</tool_call>))")
_END = re.compile(r"</function>|</tool_call>|(?=<tool_call>|<function=)")
_OUTER_CLOSE = re.compile(r"(?:\s*</tool_call>)?")


def read(text: str) -> tuple[str, list[Call]]:
    """Return the text outside the calls and the parsed calls."""
    content: list[str] = []
    calls: list[Call] = []
    position = 0
    while len(calls) <= MAX_CALLS:
        mark = _MARK.search(text, position)
        content.append(text[position : mark.start() if mark else len(text)])
        if mark is None:
            break
        start = mark.end() if mark[0].startswith("<tool_call>") else mark.start()
        head = _HEAD.match(text, start)
        try:
            if head is None:
                raise UnreadableCall(
                    f"a call must begin with <function=NAME>; found {shown(text[start:][:60])}"
                )
            call, position = _call(head[1], text, head.end())
        except UnreadableCall as error:
            call = failed(str(error), head[1] if head else "")
            end = _END.search(text, head.end() if head else start + text.startswith("<function=", start))
            position = end.end() if end else len(text)
        calls.append(call)
        closed = _OUTER_CLOSE.match(text, position)
        position = closed.end() if closed else position
    return "".join(content).strip(), calls


def _call(name: str, text: str, start: int) -> tuple[Call, int]:
    """Return the call whose arguments begin at `start`, and the position after the call."""
    is_object = text.startswith("{", start)
    arguments, end = json_at(text, start) if is_object else _parameters(text, start)
    close = _CLOSE.match(text, end)
    if close is None and text[end:].strip():
        raise UnreadableCall(f"unexpected text between <parameter=NAME> blocks: {shown(text[end:])}")
    if close is None:
        raise UnreadableCall("the call is not finished: </function> is missing")
    return checked(name, arguments, untyped=not is_object), close.end()


def _parameters(text: str, position: int) -> tuple[dict[str, Any], int]:
    """Return the parameters at a position, and the position after the parameters.

    Only `</parameter>` ends a value.
    """
    given: list[tuple[str, str]] = []
    while (found := _PARAMETER.match(text, position)) is not None and "\n<parameter=" not in found[2]:
        given.append((found[1].strip(), found[2].removeprefix("\n").removesuffix("\n")))
        position = found.end()
    broken = _OPENS_PARAMETER.match(text, position)
    if broken is not None:
        raise UnreadableCall(f"parameter '{broken[1].strip()}' is not finished: </parameter> is missing")
    return by_name(given), position
