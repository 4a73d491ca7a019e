"""`deepseek`: `<｜tool▁call▁begin｜>name<｜tool▁sep｜>{...}<｜tool▁call▁end｜>` (V3.1).

V3 and R1 write `function<｜tool▁sep｜>name` and a code fence. V3.2's is in `minimax.py`.
"""

from __future__ import annotations

import re

from rewardkit.fences import last_fence
from rewardkit.tool_calls.call import Call, UnreadableCall, blocks, checked, failed, json_of

MARK = "<｜tool▁"
_SEPARATOR = "<｜tool▁sep｜>"
_AROUND = re.compile(r"<｜tool▁calls▁(?:begin|end)｜>")


def read(text: str) -> tuple[str, list[Call]]:
    """Return the text beside the calls, and the calls."""
    content, calls = blocks(text, "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>", _call)
    if MARK in text and not calls:
        calls.append(failed("the call is not finished: <｜tool▁call▁begin｜> is missing"))
    return _AROUND.sub("", content).strip(), calls


def _call(block: str) -> Call:
    name, separator, rest = block.partition(_SEPARATOR)
    if not separator:
        raise UnreadableCall(f"a call is NAME{_SEPARATOR}ARGUMENTS; {_SEPARATOR} is missing")
    if name.strip() == "function" and "```" in rest:
        name, _, rest = rest.partition("\n")
        rest = last_fence(rest, "json")
    return checked(name, json_of(rest))
