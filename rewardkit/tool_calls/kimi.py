"""`kimi`, of Kimi K2: `<|tool_call_begin|>f:0<|tool_call_argument_begin|>{...}<|tool_call_end|>`."""

from __future__ import annotations

import re

from rewardkit.tool_calls.call import Call, UnreadableCall, blocks, checked, json_of, shown

MARK = "<|tool_call_begin|>"
_HEAD = re.compile(r"\s*(?:functions\.)?([\w.-]{1,200}?)(?::\d{1,4})?\s*<\|tool_call_argument_begin\|>")
_AROUND = re.compile(r"<\|tool_calls_section_(?:begin|end)\|>")


def read(text: str) -> tuple[str, list[Call]]:
    """Return the text beside the calls, and the calls."""
    content, calls = blocks(text, MARK, "<|tool_call_end|>", _call)
    return _AROUND.sub("", content).strip(), calls


def _call(block: str) -> Call:
    head = _HEAD.match(block)
    if head is None:
        raise UnreadableCall(
            f"a call is functions.NAME:0<|tool_call_argument_begin|>...; found {shown(block)}"
        )
    return checked(head[1], json_of(block[head.end() :]))
