"""`minimax`, of MiniMax M2: `<invoke name="f"><parameter name="k">v</parameter></invoke>`. Values are texts.

DeepSeek V3.2 writes the same with `｜DSML｜` in each tag, and says which values are texts.
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
    json_of,
    shown,
)

MARK = "invoke name="
DSML = "｜DSML｜"
_OPEN = re.compile(r'<(?:｜DSML｜)?invoke name="?([^">\n]{1,200})"?>')
_CLOSE = re.compile(r"</(?:｜DSML｜)?invoke>")
_PARAMETER = re.compile(
    r'<(?:｜DSML｜)?parameter name="?([^">\n]{1,200}?)"?(?:\s+string="(?P<text>true|false)")?>(?P<value>.*?)'
    r"</(?:｜DSML｜)?parameter>",
    re.DOTALL,
)
_AROUND = re.compile(r"</?(?:｜DSML｜function_calls|minimax:tool_call|function_calls)>")


def read(text: str) -> tuple[str, list[Call]]:
    """Return the text beside the calls, and the calls."""
    content: list[str] = []
    calls: list[Call] = []
    position = 0
    while len(calls) <= MAX_CALLS and (head := _OPEN.search(text, position)) is not None:
        content.append(text[position : head.start()])
        close = _CLOSE.search(text, head.end())
        position = close.end() if close else len(text)
        try:
            if close is None:
                raise UnreadableCall("the call is not finished: </invoke> is missing")
            calls.append(_call(head[1], text[head.end() : close.start()]))
        except UnreadableCall as error:
            calls.append(failed(str(error), head[1]))
    outside = "".join([*content, text[position:]])
    if MARK in outside:
        calls.append(failed('a call begins with <invoke name="NAME">'))
    return _AROUND.sub("", outside).strip(), calls


def _call(name: str, body: str) -> Call:
    given = list(_PARAMETER.finditer(body))
    if beside := _PARAMETER.sub("", body).strip():
        raise UnreadableCall(f"beside the parameters stands {shown(beside)}")
    typed = any(one["text"] for one in given)
    return checked(name, by_name([(one[1], _value(one)) for one in given]), untyped=not typed)


def _value(parameter: re.Match[str]) -> Any:
    if parameter["text"] == "false":
        return json_of(parameter["value"])
    return parameter["value"].strip("\n")
