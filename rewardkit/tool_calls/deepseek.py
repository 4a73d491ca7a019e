"""Format `deepseek` for DeepSeek V3.1: `<｜tool▁call▁begin｜>name<｜tool▁sep｜>{...}<｜tool▁call▁end｜>`.

V3 and R1 write `function<｜tool▁sep｜>name` and a code fence. `minimax.py` parses the format of V3.2.
"""

from __future__ import annotations

import re

from rewardkit.fences import last_fence
from rewardkit.tool_calls.call import Call, blocks, checked, failed, json_of

MARK = "<｜tool▁"
_OPENING = re.compile(r"<｜tool▁call▁begin｜>([^<]{0,200})<｜tool▁sep｜>")
_FORM = "<｜tool▁call▁begin｜> NAME <｜tool▁sep｜> ARGUMENTS <｜tool▁call▁end｜>"
_AROUND = re.compile(r"<｜tool▁calls▁(?:begin|end)｜>")


def read(text: str) -> tuple[str, list[Call]]:
    """Return the text outside the calls and the parsed calls."""
    content, calls = blocks(text, _OPENING, "<｜tool▁call▁end｜>", _FORM, _call)
    if MARK in content and not calls:
        calls.append(failed(f"the call is not finished: it is {_FORM}"))
    return _AROUND.sub("", content).strip(), calls


def _call(name: str, body: str) -> Call:
    if name.strip() == "function" and "```" in body:
        name, _, body = body.partition("\n")
        body = last_fence(body, "json")
    return checked(name, json_of(body))
