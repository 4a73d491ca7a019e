"""Format `kimi` for Kimi K2: `<|tool_call_begin|>f:0<|tool_call_argument_begin|>{...}<|tool_call_end|>`."""

from __future__ import annotations

import re

from rewardkit.tool_calls.call import Call, blocks, checked, json_of

MARK = "<|tool_call_begin|>"
_OPENING = re.compile(
    r"<\|tool_call_begin\|>\s*(?:functions\.)?([\w.-]{1,200}?)(?::\d{1,4})?\s*<\|tool_call_argument_begin\|>"
)
_FORM = f"{MARK} functions.NAME:0 <|tool_call_argument_begin|> ARGUMENTS <|tool_call_end|>"
_AROUND = re.compile(r"<\|tool_calls_section_(?:begin|end)\|>")


def read(text: str) -> tuple[str, list[Call]]:
    """Return the text outside the calls and the parsed calls."""
    content, calls = blocks(text, _OPENING, "<|tool_call_end|>", _FORM, _call)
    return _AROUND.sub("", content).strip(), calls


def _call(name: str, body: str) -> Call:
    return checked(name, json_of(body))
