"""Format `minimax` for MiniMax M2: `<invoke name="f"><parameter name="k">v</parameter></invoke>`.

All values are strings. DeepSeek V3.2 writes the same format with `｜DSML｜` in each tag, and marks the values
that are strings.
"""

from __future__ import annotations

import re
from typing import Any

from rewardkit.tool_calls.call import Call, UnreadableCall, blocks, by_name, checked, json_of, shown

MARK = "<invoke name="
DSML = "｜DSML｜"
_OPENING = re.compile(r'<invoke name="?([^">\n]{1,200})"?>')
_FORM = '<invoke name="NAME"> <parameter name="KEY">VALUE</parameter> </invoke>'
_PARAMETER = re.compile(
    r'<parameter name="?([^">\n]{1,200}?)"?(?:\s+string="(?P<text>true|false)")?>(?P<value>.*?)</parameter>',
    re.DOTALL,
)
_AROUND = re.compile(r"</?(?:minimax:tool_call|function_calls)>")


def read(text: str) -> tuple[str, list[Call]]:
    """Return the text outside the calls and the parsed calls."""
    content, calls = blocks(text.replace(DSML, ""), _OPENING, "</invoke>", _FORM, _call)
    return _AROUND.sub("", content).strip(), calls


def _call(name: str, body: str) -> Call:
    given = list(_PARAMETER.finditer(body))
    if beside := _PARAMETER.sub("", body).strip():
        raise UnreadableCall(f"unexpected text between the parameters: {shown(beside)}")
    typed = any(one["text"] for one in given)
    return checked(name, by_name([(one[1], _value(one)) for one in given]), untyped=not typed)


def _value(parameter: re.Match[str]) -> Any:
    if parameter["text"] == "false":
        return json_of(parameter["value"])
    return parameter["value"].strip("\n")
