"""Format `glm`: `<tool_call>name<arg_key>k</arg_key><arg_value>v</arg_value></tool_call>`.

GLM 4.5 and later models use this format. All values are strings.
"""

from __future__ import annotations

import re

from rewardkit.tool_calls.call import Call, UnreadableCall, blocks, by_name, checked, shown

MARK = "<arg_key>"
NAME_ALONE = re.compile(r"<tool_call>\s*[\w.-]{1,200}\s*</tool_call>")
"""Pattern for a call to a function without arguments."""
_OPENING = re.compile(r"<tool_call>\s*([^\s<{]{1,200})")
_FORM = "<tool_call> NAME <arg_key>KEY</arg_key> <arg_value>VALUE</arg_value> </tool_call>"
_PAIR = re.compile(r"<arg_key>([^<]{1,200})</arg_key>\s*<arg_value>(.*?)</arg_value>", re.DOTALL)


def read(text: str) -> tuple[str, list[Call]]:
    """Return the text outside the calls and the parsed calls."""
    content, calls = blocks(text, _OPENING, "</tool_call>", _FORM, _call)
    return content.strip(), calls


def _call(name: str, body: str) -> Call:
    pairs = [(pair[1].strip(), pair[2].strip("\n")) for pair in _PAIR.finditer(body)]
    if beside := _PAIR.sub("", body).strip():
        raise UnreadableCall(f"unexpected text between the <arg_key> and <arg_value> pairs: {shown(beside)}")
    return checked(name, by_name(pairs), untyped=True)
