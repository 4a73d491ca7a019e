"""Calls between special tokens and tags of their model's own: DeepSeek, Kimi, GLM, MiniMax, gpt-oss.

- `deepseek`: `<｜tool▁call▁begin｜>name<｜tool▁sep｜>{...}<｜tool▁call▁end｜>` (V3.1), or
  `function<｜tool▁sep｜>name` and a fence (V3, R1).
- `kimi`: `<|tool_call_begin|>functions.name:0<|tool_call_argument_begin|>{...}<|tool_call_end|>`.
- `glm`: `<tool_call>name<arg_key>k</arg_key><arg_value>v</arg_value></tool_call>`, whose values are texts.
- `invoke`: `<invoke name="f"><parameter name="k">v</parameter></invoke>`, whose values are texts (MiniMax M2;
  DeepSeek V3.2 has `｜DSML｜` in each tag, and says which values are).
- `harmony`: gpt-oss' messages `to=functions.name`.
Forms as their chat templates write them, and vLLM's parsers read them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from rewardkit.fences import last_fence
from rewardkit.rewards.answers.place import outside_thoughts
from rewardkit.rewards.tool_call.calls import UnreadableCall, WrittenCall, loads, object_of

_ENDS = re.compile(
    r"<｜(?:end▁of▁sentence|User|Assistant)｜>|<\|(?:im_end|im_start|user|observation|endoftext)\|>|</s>|\[e~\["
)
"""Where the model's turn ends: what follows is not its own to say."""
_DEEPSEEK = re.compile(r"<｜tool▁call▁begin｜>(.*?)<｜tool▁call▁end｜>", re.DOTALL)
_KIMI = re.compile(
    r"<\|tool_call_begin\|>\s*(?:functions\.)?([\w.-]{1,200}?)(?::\d{1,4})?\s*<\|tool_call_argument_begin\|>(.*?)"
    r"<\|tool_call_end\|>",
    re.DOTALL,
)
_GLM = re.compile(r"<tool_call>\s*([^\s<{]{1,200})\s*(.*?)</tool_call>", re.DOTALL)
_GLM_NAME_ALONE = re.compile(r"<tool_call>\s*[\w.-]{1,200}\s*</tool_call>")
"""A call of a function without arguments."""
_PAIR = re.compile(r"<arg_key>([^<]{1,200})</arg_key>\s*<arg_value>(.*?)</arg_value>", re.DOTALL)
_INVOKE = re.compile(r'<(?:｜DSML｜)?invoke name="?([^">\n]{1,200})"?>(.*?)</(?:｜DSML｜)?invoke>', re.DOTALL)
_PARAMETER = re.compile(
    r'<(?:｜DSML｜)?parameter name="?([^">\n]{1,200}?)"?(?:\s+string="(?P<text>true|false)")?>(?P<value>.*?)'
    r"</(?:｜DSML｜)?parameter>",
    re.DOTALL,
)
_MESSAGE = re.compile(
    r"(?P<head>.*?)<\|message\|>(?P<body>.*?)(?:<\|(?:end|call|return)\|>|(?=<\|start\|>)|\Z)", re.DOTALL
)
_RECIPIENT = re.compile(r"\bto=functions\.([^\s<]{1,200})")


def turn(response: str) -> str:
    """Return what a model says in its own turn after its reasoning, its special tokens kept."""
    said = outside_thoughts(response)
    end = _ENDS.search(said)
    return said[: end.start()] if end else said


def deepseek(text: str) -> tuple[WrittenCall, ...] | None:
    """Read DeepSeek's calls."""
    if "<｜tool▁" not in text:
        return None
    found = list(_DEEPSEEK.finditer(text))
    return _all(map(_deepseek_call, found), len(found), text.count("<｜tool▁call▁begin｜>"))


def _deepseek_call(found: re.Match[str]) -> WrittenCall:
    name, _, rest = found[1].partition("<｜tool▁sep｜>")
    if name.strip() == "function" and "```" in rest:
        name, _, rest = rest.partition("\n")
        rest = last_fence(rest, "json")
    return WrittenCall(name.strip(), object_of(loads(rest)))


def kimi(text: str) -> tuple[WrittenCall, ...] | None:
    """Read Kimi K2's calls."""
    if "<|tool_call_begin|>" not in text:
        return None
    found = list(_KIMI.finditer(text))
    calls = (WrittenCall(call[1], object_of(loads(call[2]))) for call in found)
    return _all(calls, len(found), text.count("<|tool_call_begin|>"))


def glm(text: str) -> tuple[WrittenCall, ...] | None:
    """Read GLM's calls (4.5 and later)."""
    if "<tool_call>" not in text or not ("<arg_key>" in text or _GLM_NAME_ALONE.search(text)):
        return None
    found = list(_GLM.finditer(text))
    calls = (_untyped(call[1], call[2], _PAIR.finditer(call[2])) for call in found)
    return _all(calls, len(found), text.count("<tool_call>"))


def _untyped(name: str, body: str, pairs: Iterable[re.Match[str]]) -> WrittenCall:
    arguments = [(pair[1].strip(), pair[2].strip("\n")) for pair in pairs]
    if len(dict(arguments)) != len(arguments):
        raise UnreadableCall("an argument stands twice")
    if _PAIR.sub("", body).strip():
        raise UnreadableCall("something else stands among the arguments")
    return WrittenCall(name, dict(arguments), untyped=True)


def invoke(text: str) -> tuple[WrittenCall, ...] | None:
    """Read calls as `<invoke name=...>`."""
    if "invoke name=" not in text:
        return None
    found = list(_INVOKE.finditer(text))
    return _all(map(_invoked, found), len(found), text.count("invoke name="))


def _invoked(found: re.Match[str]) -> WrittenCall:
    given = list(_PARAMETER.finditer(found[2]))
    if len({pair[1] for pair in given}) != len(given) or _PARAMETER.sub("", found[2]).strip():
        raise UnreadableCall("an argument stands twice, or something else among them")
    typed = any(pair["text"] for pair in given)
    values = {
        pair[1]: loads(pair["value"]) if pair["text"] == "false" else pair["value"].strip("\n")
        for pair in given
    }
    return WrittenCall(found[1].strip(), values, untyped=not typed)


def harmony(text: str) -> tuple[WrittenCall, ...] | None:
    """Read the calls of gpt-oss; None for a text without one."""
    if "<|message|>" not in text or "to=functions." not in text:
        return None
    calls = []
    for message in _MESSAGE.finditer(text):
        head = message["head"].rpartition("<|start|>")
        if head[1] and not head[2].lstrip().startswith("assistant"):
            break  # a turn of the user's or of a tool's, made up
        recipient = _RECIPIENT.search(head[2])
        if recipient is not None:
            calls.append(WrittenCall(recipient[1], object_of(loads(message["body"]))))
    return tuple(calls) or None


def _all(calls: Iterable[WrittenCall], read: int, begun: int) -> tuple[WrittenCall, ...]:
    if read != begun or not read:
        raise UnreadableCall("a call that is not finished")
    return tuple(calls)
