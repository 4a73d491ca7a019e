"""Tool calls in the forms in which models write them -> names and arguments. No comparing here.

`hermes` (Qwen 2.5 and 3): `<tool_call>{"name": ..., "arguments": {...}}</tool_call>`; `llama3`: JSON
objects with `parameters` after an optional `<|python_tag|>`; `qwen3_coder`: `<function=f><parameter=x>`, or
an object in place of the parameters; `mistral`: `[TOOL_CALLS]`; `react`: lines of `Action:` and
`Action Input:`, see `react`; `pythonic` and `json`: see `bare`; all others: see `marked`. Forms as read by
vLLM's parsers (0.32). Nothing is evaluated: Python's literals are read from the syntax tree.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

from rewardkit.fences import last_fence
from rewardkit.rewards.tool_call import marked, react
from rewardkit.rewards.tool_call.bare import in_json, in_python
from rewardkit.rewards.tool_call.calls import (
    UnreadableCall,
    WrittenCall,
    first_value,
    from_list,
    loads,
    object_of,
)

CallForm = Literal[
    "hermes", "llama3", "qwen3_coder", "pythonic", "mistral", "json", "deepseek", "kimi", "glm", "invoke",
    "harmony", "react",
]  # fmt: skip

MAX_CHARS = 100_000
"""A longer response makes no call."""
_FUNCTION = re.compile(r"<function=([^>\n]{1,200})>(.*?)(?:</function>|\Z)", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=([^>\n]{1,200})>(.*?)(?:</parameter>|(?=<parameter=)|\Z)", re.DOTALL)
_MISTRAL = re.compile(
    r"\[TOOL_CALLS\]\s*([A-Za-z_][\w.-]{0,199})\s*(?:\[CALL_ID\]\w{1,40})?\s*(?:\[ARGS\])?\s*(?=\{)"
)
_BLOCK_ENDS = {"<tool_call>": "</tool_call>", "<function=": "</function>"}
_BLOCK_START = re.compile("|".join(_BLOCK_ENDS))
_SIGNS = (
    *(
        "<tool_call",
        "<function=",
        "<|python_tag|>",
        "[TOOL_CALLS]",
        "<|tool_call",
        "<｜tool▁",
        "<function_call",
    ),
    *("<invoke name=", "functools[", "<start_function_call>", "<|action_start|>", "<minimax:tool_call"),
)
"""What announces a call in the forms of any model."""


def read(text: str, forms: tuple[CallForm, ...]) -> tuple[WrittenCall, ...]:
    """Return the calls of a response, in order; none if it attempts none.

    Raises:
        UnreadableCall: it attempts one that cannot be read. That is no abstention.
    """
    if len(text) > MAX_CHARS:
        raise UnreadableCall("the response is too long")
    for form in forms:
        if form not in _MARKED and (calls := _READERS[form](text)) is not None:
            return calls
    if any(sign in text for sign in _SIGNS):
        raise UnreadableCall("a call in none of the forms: " + ", ".join(forms))
    return ()


def read_marked(response: str, forms: tuple[CallForm, ...]) -> tuple[WrittenCall, ...] | None:
    """Return the calls between special tokens, which a reader does not see; None if there are none.

    Raises:
        UnreadableCall: there is one that cannot be read, or a call in another form besides.
    """
    text = marked.turn(response) if len(response) <= MAX_CHARS else ""
    found = {form: _MARKED[form](text) for form in forms if form in _MARKED}
    read_as = [form for form, calls in found.items() if calls is not None]
    if not read_as:
        return None
    others = ["[TOOL_CALLS]", "<function=", "<|python_tag|>"]
    others += ["<tool_call>"] if "glm" not in read_as else []
    if len(read_as) > 1 or any(sign in text for sign in others):
        raise UnreadableCall("calls in several forms")
    return found[read_as[0]]


_MARKED: dict[CallForm, Callable[[str], tuple[WrittenCall, ...] | None]] = {
    "deepseek": marked.deepseek,
    "kimi": marked.kimi,
    "glm": marked.glm,
    "invoke": marked.invoke,
    "harmony": marked.harmony,
}


def _react(text: str) -> tuple[WrittenCall, ...] | None:
    """Lines such as `Action:` may stand in another form's text, where they are none; beside it they are."""
    if not any(sign in text for sign in _SIGNS):
        return react.read(text)
    if react.attempts(_without_blocks(text)):
        raise UnreadableCall("calls in several forms")
    return None


def _without_blocks(text: str) -> str:
    """Drop the calls of other forms that end, in one pass: ten thousand that never end took seconds."""
    kept: list[str] = []
    position = 0
    endless: set[str] = set()
    for start in _BLOCK_START.finditer(text):
        if start.start() < position or start[0] in endless:
            continue
        closing = _BLOCK_ENDS[start[0]]
        end = text.find(closing, start.end())
        if end < 0:
            endless.add(start[0])
            continue
        kept.append(text[position : start.start()])
        position = end + len(closing)
    return "".join([*kept, text[position:]])


def _hermes(text: str) -> tuple[WrittenCall, ...] | None:
    if "<tool_call>" not in text or "<function=" in text:
        return None
    blocks = (block.partition("</tool_call>")[0] for block in text.split("<tool_call>")[1:])
    return tuple(call for block in blocks for call in from_list(loads(last_fence(block, "json"))))


def _qwen3_coder(text: str) -> tuple[WrittenCall, ...] | None:
    if "<function=" not in text:
        return None
    return tuple(_function(function[1].strip(), function[2]) for function in _FUNCTION.finditer(text))


def _function(name: str, body: str) -> WrittenCall:
    if body.lstrip().startswith("{"):
        return WrittenCall(name, object_of(loads(body)))
    arguments = [
        (p[1].strip(), p[2].removeprefix("\n").removesuffix("\n")) for p in _PARAMETER.finditer(body)
    ]
    if len(dict(arguments)) != len(arguments):
        raise UnreadableCall("a parameter stands twice")
    return WrittenCall(name, dict(arguments), untyped=True)


def _mistral(text: str) -> tuple[WrittenCall, ...] | None:
    if "[TOOL_CALLS]" not in text:
        return None
    heads = list(_MISTRAL.finditer(text))
    if not heads:
        return from_list(loads(text.partition("[TOOL_CALLS]")[2]))
    return tuple(WrittenCall(head[1], object_of(first_value(text, head.end())[0])) for head in heads)


def _llama3(text: str) -> tuple[WrittenCall, ...] | None:
    if "<|python_tag|>" not in text:
        return in_json(text)
    rest = text.partition("<|python_tag|>")[2].strip()
    calls: list[WrittenCall] = []
    position = 0
    while position < len(rest):
        value, position = first_value(rest, position)
        calls += from_list(value)
        while position < len(rest) and rest[position] in " \t\r\n;,":
            position += 1
    return tuple(calls)


_READERS: dict[CallForm, Callable[[str], tuple[WrittenCall, ...] | None]] = {
    "react": _react,
    "hermes": _hermes,
    "qwen3_coder": _qwen3_coder,
    "mistral": _mistral,
    "llama3": _llama3,
    "pythonic": in_python,
    "json": in_json,
}
