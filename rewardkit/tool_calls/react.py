"""Format `react`: calls in plain text, with the lines `Action: search` and `Action Input: {"query": "x"}`.

Other forms are `Action: search[x]`, `Action: search("x")`, `Action: search(query="x")`, and LangChain's
object with `action` and `action_input`, which needs no label. A text contains at most one call, since the
model must not write the text after `Observation:`. A label must be at the beginning of a line, so that quoted
labels are ignored. Labels in a code fence are treated as examples, unless the fence is the whole text. A
string in place of an object is the value of the tool's only argument.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from rewardkit.fences import last_fence, without_fence
from rewardkit.tool_calls import pythonic
from rewardkit.tool_calls.call import (
    Call,
    UnreadableCall,
    checked,
    failed,
    json_of,
    said_before,
    with_one_argument,
)

STOP = "\nObservation:"
_LABEL = re.compile(
    r"^[ \t]*(?:[-*#]{1,6}[ \t]+)?[*_`]{0,3}(Thought|Action Input|Action|Observation|Final Answer)"
    r"(?:[ \t]{1,3}\d{1,3})?[ \t]{0,3}[*_`]{0,3}[ \t]{0,3}:[*_]{0,3}[ \t]*",
    re.MULTILINE | re.IGNORECASE,
)
"""Pattern for a label at the beginning of a line, in plain text or Markdown, with an optional step number."""
_NAME = re.compile(r"[`*\"']{0,3}([A-Za-z_][\w.-]{0,199})[`*\"']{0,3}")
_NOTHING = re.compile(
    r"[`*\"'(\[]{0,3}(?:none|nothing|null|n/?a|no)(?: (?:action|tools?)\b)?"
    r"(?: (?:is |are )?(?:needed|required|necessary))?[`*\"')\].]{0,4}",
    re.IGNORECASE,
)
_FINISH = "finish"
"""ReAct's name for an action that is an answer, not a call: `Action: Finish[Paris]`."""
_FINAL_ANSWER = "Final Answer"
"""LangChain's name for an action that is an answer, not a call."""
_SAID_BESIDE = frozenset(("thought", "thoughts", "reasoning"))
_BRACKETS = re.compile(r"([A-Za-z_][\w.-]{0,199})[ \t]?\[(.*)\]", re.DOTALL)
_PARENTHESES = re.compile(r"([A-Za-z_][\w.-]{0,199})[ \t]?\((.*)\)", re.DOTALL)


class _Part(NamedTuple):
    """A label and the text after it."""

    label: str
    """Label in lower case."""
    text: str
    start: int


def read(text: str) -> tuple[str, list[Call]]:
    """Return the text before the call, and a list that contains the call, if any."""
    inner = without_fence(text)
    parts = _until_observed(_parts(inner))
    told = [part for part in parts if part.label in ("action", "action input", "final answer")]
    stated = None if told else _object_in(inner)
    start = told[0].start if told else stated[1] if stated else 0
    try:
        call = _told(inner, parts, told) if told else _from_object(stated[0]) if stated else None
    except UnreadableCall as error:
        named = told[0].text.partition("\n")[0] if told and told[0].label == "action" else ""
        call = failed(str(error), named)
    return (text.strip(), []) if call is None else (said_before(inner, start), [call])


def attempts(text: str) -> bool:
    """Return True if a text contains a label for a call."""
    return any(part.label in ("action", "action input") for part in _parts(text))


def _parts(text: str) -> list[_Part]:
    marks = list(_LABEL.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)] * bool(marks)
    return [
        _Part(mark[1].lower(), text[mark.end() : end].strip(), mark.start())
        for mark, end in zip(marks, ends, strict=True)
    ]


def _until_observed(parts: list[_Part]) -> list[_Part]:
    labels = [part.label for part in parts]
    acted = labels.index("action") if "action" in labels else len(labels)
    observed = next((i for i in range(acted, len(labels)) if labels[i] == "observation"), len(labels))
    return parts[:observed]


def _told(text: str, parts: Sequence[_Part], told: list[_Part]) -> Call | None:
    """Return the call in the labelled parts, or None if they are an answer or `Action` is part of prose."""
    real = _without_nothing(told)
    if not real and text.strip() == text[told[0].start :].strip() and "\n" not in told[0].text:
        raise UnreadableCall("the Action calls no tool, and there is no Final Answer")
    if not real or real[0].label == "final answer":
        return None
    if any(text.count("```", 0, part.start) % 2 for part in real[:2]):
        raise UnreadableCall("an Action within a code fence")
    labels = [part.label for part in real]
    if labels == ["action"]:
        return _alone(real[0].text, is_step=any(part.label == "thought" for part in parts))
    if labels[0] == "action input":
        raise UnreadableCall("an Action Input without an Action before it")
    if labels[1] != "action input":
        raise UnreadableCall("an Action without an Action Input after it")
    if len(labels) > 2:
        raise UnreadableCall(f"a call needs one Action and one Action Input; found {', '.join(labels)}")
    return _with_input(_name(real[0].text), real[1].text)


def _without_nothing(told: Sequence[_Part]) -> list[_Part]:
    """Remove actions such as `Action: None`, and the inputs that follow them, from the parts."""
    kept: list[_Part] = []
    dropped = False
    for part in told:
        if part.label != "action input":
            dropped = part.label == "action" and _is_nothing(part.text)
        kept += [] if dropped else [part]
    return kept


def _is_nothing(action: str) -> bool:
    """Return True if an action means that no tool is called, such as `None`, `N/A` or "no action needed"."""
    return _NOTHING.fullmatch(action.strip().partition("\n")[0].rstrip()) is not None


def _name(action: str) -> str:
    name = _NAME.fullmatch(action)
    if name is not None:
        return name[1]
    raise UnreadableCall(
        "an Action must be the name of a tool" if action else "the call's name is not a string"
    )


def _alone(action: str, is_step: bool) -> Call | None:
    """Return the call in an Action without an input, or None if the Action is an answer or prose."""
    if (brackets := _BRACKETS.fullmatch(action)) is not None:
        return None if brackets[1].casefold() == _FINISH else _with_input(brackets[1], brackets[2])
    if (called := _PARENTHESES.fullmatch(action.strip("` "))) is not None:
        return _with_python(called[1], called[2])
    body = last_fence(action, "json") if "```" in action else action
    if body.startswith("{"):
        return _from_object(json_of(body))
    if action and not is_step and _NAME.fullmatch(action.partition("\n")[0].strip()) is None:
        return None
    raise UnreadableCall("an Action without an Action Input after it")


def _with_python(name: str, given: str) -> Call:
    """Return the call for `search("x")` or `search(query="x")`."""
    values, named = pythonic.in_parentheses(given)
    if not values:
        return checked(name, named)
    if len(values) > 1 or named:
        raise UnreadableCall("several arguments in parentheses need names")
    return with_one_argument(name, values[0])


def _with_input(name: str, given: str) -> Call:
    body = last_fence(given, "json") if given.startswith("```") else given.strip()
    if body.startswith("{"):
        return checked(name, json_of(body))
    if body.startswith('"') and body.endswith('"') and len(body) > 1:
        body = str(json_of(body))
    return with_one_argument(name, body, untyped=True) if body else checked(name, {})


def _object_in(text: str) -> tuple[dict[str, Any], int] | None:
    """Return LangChain's object at the end of a text, which may be in a code fence, and its position."""
    inner = text.rstrip()
    fenced = inner.endswith("```")
    start = inner.find("```" if fenced else "{")
    body = last_fence(inner, "json") if fenced else inner[max(start, 0) :]
    if not (body.startswith("{") and '"action_input"' in body):
        return None
    try:
        value = json_of(body)
    except UnreadableCall:
        return None
    return (value, start) if _is_action(value) else None


def _is_action(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() - _SAID_BESIDE == {"action", "action_input"}


def _from_object(value: Any) -> Call | None:
    """Return the call in LangChain's object, or None if the object is the answer."""
    if not _is_action(value):
        raise UnreadableCall("an Action object must have action and action_input")
    if value["action"] in (None, _FINAL_ANSWER):
        return None
    given = value["action_input"]
    if isinstance(given, str) and given:
        return with_one_argument(value["action"], given, untyped=True)
    return checked(value["action"], given or {})
