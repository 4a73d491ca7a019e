"""`qwen3_coder`: `<tool_call><function=f><parameter=x>1</parameter></function></tool_call>`.

Values are texts. The outer tags may be missing, and an object of JSON may stand in place of the parameters.
"""

from __future__ import annotations

import re

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

_FUNCTION = re.compile(r"<function=([^>\n]*)>")
_FUNCTION_END = re.compile(r"</function>|</tool_call>|<tool_call>|(?=<function=)")
_PARAMETER = re.compile(r"<parameter=([^>\n]*)>")
_MARK = re.compile(r"<tool_call>|<function=|</function>|<parameter=|</tool_call>")
_ENDS = ("</function>", "</tool_call>")
_CLOSE = re.compile(r"\s*(?:</tool_call>)?")
_OBJECT = re.compile(r"\s*(?=\{)")


def read(text: str) -> tuple[str, list[Call]]:
    """Return the text beside the calls, and the calls."""
    content: list[str] = []
    calls: list[Call] = []
    position = 0
    while len(calls) <= MAX_CALLS:
        mark = _MARK.search(text, position)
        content.append(text[position : mark.start() if mark else len(text)])
        if mark is None:
            break
        start = mark.end() if mark[0] == "<tool_call>" else mark.start()
        call, position = _call(text, start)
        calls.append(call)
    return "".join(content).strip(), calls


def _call(text: str, start: int) -> tuple[Call, int]:
    while start < len(text) and text[start].isspace():
        start += 1
    head = _FUNCTION.match(text, start)
    if head is None:
        return _stray(text, start)
    try:
        if _OBJECT.match(text, head.end()):
            call, end = _with_object(head[1], text, head.end())
        else:
            arguments, end = _parameters(text, head.end())
            call = checked(head[1], by_name(arguments), untyped=True)
    except UnreadableCall as error:
        call = failed(str(error), head[1])
        found_end = _FUNCTION_END.search(text, head.end())
        end = found_end.end() if found_end else len(text)
    closed = _CLOSE.match(text, end)
    return call, closed.end() if closed else end


def _stray(text: str, start: int) -> tuple[Call, int]:
    """What stands where a function should begin, and where the next call may begin."""
    found = shown(text[start : start + 60]) if text[start : start + 60].strip() else "nothing"
    end = next((start + len(mark) for mark in _ENDS if text.startswith(mark, start)), -1)
    if end < 0:
        after = _FUNCTION_END.search(text, start + 1)
        end = len(text) if after is None else after.start() if after[0] == "<tool_call>" else after.end()
    closed = _CLOSE.match(text, end)
    return failed(f"a call begins with <function=NAME>; found {found}"), closed.end() if closed else end


def _with_object(name: str, text: str, position: int) -> tuple[Call, int]:
    """The call whose arguments are an object of JSON, and where it ends."""
    value, end = json_at(text, position)
    closing = _FUNCTION_END.search(text, end)
    if closing is None or text[end : closing.start()].strip():
        raise UnreadableCall(f"after the JSON object comes {shown(text[end:])}; </function> should")
    return checked(name, value), closing.end() if closing[0] == "</function>" else closing.start()


def _parameters(text: str, position: int) -> tuple[list[tuple[str, str]], int]:
    """Read parameters up to the function's end. Their values are texts; only `</parameter>` ends one."""
    arguments: list[tuple[str, str]] = []
    while True:
        end = _FUNCTION_END.search(text, position)
        head = _PARAMETER.search(text, position)
        last = head is None or (end is not None and end.start() < head.start())
        following = head if head is not None and not last else end
        between = text[position : following.start() if following else len(text)].strip()
        if between:
            raise UnreadableCall(f"between <parameter=NAME> blocks stands {shown(between)}")
        if end is None and head is None:
            raise UnreadableCall("the call is not finished: </function> is missing")
        if last and end is not None:
            return arguments, end.end() if end[0] == "</function>" else end.start()
        if head is not None:
            value, position = _parameter(text, head)
            arguments.append((head[1].strip(), value))


def _parameter(text: str, head: re.Match[str]) -> tuple[str, int]:
    """The value of one parameter, and where it ends."""
    close = text.find("</parameter>", head.end())
    if close < 0 or "\n<parameter=" in text[head.end() : close]:
        raise UnreadableCall(f"parameter '{head[1].strip()}' is not finished: </parameter> is missing")
    value = text[head.end() : close].removeprefix("\n").removesuffix("\n")
    return value, close + len("</parameter>")
