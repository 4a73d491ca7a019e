"""ReAct's calls, in plain text: a line `Action: search` and one `Action Input: {"query": "x"}`.

Also `Action: search[x]`, `Action: search("x")`, `Action: search(query="x")`, and LangChain's object of
`action` and `action_input`, which may come without the label. One call at most: what follows an
`Observation:` is not the model's to say. Labels stand at the beginning of a line, so that what is quoted is
none; within a code fence they are an example unless the fence is all there is. A text in place of an object
is the tool's only argument.
"""

from __future__ import annotations

import ast
import re
from typing import Any, NamedTuple

from rewardkit.fences import last_fence
from rewardkit.rewards.tool_call.bare import in_python, literal
from rewardkit.rewards.tool_call.calls import PLAIN, UnreadableCall, WrittenCall, loads, object_of

_LABEL = re.compile(
    r"^[ \t]*(?:\*\*)?(Thought|Action Input|Action|Observation|Final Answer)[ \t]*(?:\*\*)?[ \t]*:"
    r"[ \t]*(?:\*\*)?[ \t]*",
    re.MULTILINE | re.IGNORECASE,
)
_NAME = re.compile(r"[`*\"']{0,3}([A-Za-z_][\w.-]{0,199})[`*\"']{0,3}")
_NOTHING = re.compile(
    r"[`*\"'(\[]{0,3}(?:none|nothing|null|n/?a|no)(?: (?:action|tools?)\b)?"
    r"(?: (?:is |are )?(?:needed|required|necessary))?[`*\"')\].]{0,4}",
    re.IGNORECASE,
)
_FINISH = "finish"
"""ReAct's name for the action that is none: `Action: Finish[Paris]` answers."""
FINAL_ANSWER = "Final Answer"
"""LangChain's name for the action that is none."""
_SAID_BESIDE = frozenset(("thought", "thoughts", "reasoning"))
_BRACKETS = re.compile(r"([A-Za-z_][\w.-]{0,199})[ \t]?\[(.*)\]", re.DOTALL)
_PARENTHESES = re.compile(r"([A-Za-z_][\w.-]{0,199})[ \t]?\((.*)\)", re.DOTALL)


class ReactPart(NamedTuple):
    """What stands behind a label."""

    label: str
    text: str
    start: int


def read(text: str) -> tuple[WrittenCall, ...] | None:
    """Return the call of a text; None if it attempts none in this form.

    Raises:
        UnreadableCall: it attempts one that cannot be read, or several.
    """
    text = _without_fence(text)
    parts = _until_observed(_parts(text))
    told = _without_nothing([part for part in parts if part.label not in ("thought", "observation")])
    if not told and (stated := action_object(text)) is not None:
        return _call_of(stated)
    actions = [part for part in told if part.label == "action"]
    if not actions and not any(part.label == "action input" for part in told):
        return None
    if any(text.count("```", 0, part.start) % 2 for part in told):
        raise UnreadableCall("an Action within a code fence")
    labels = [part.label for part in told]
    if labels == ["action"]:
        return _alone(told[0].text)
    if labels != ["action", "action input"]:
        raise UnreadableCall(f"one Action with one Action Input is a call; found {', '.join(labels)}")
    name = _NAME.fullmatch(told[0].text)
    if name is None:
        raise UnreadableCall("an Action that is no name of a tool")
    return (_with_input(name[1], told[1].text),)


def attempts(text: str) -> bool:
    """Return True where a text has a label of a call."""
    return any(part.label in ("action", "action input") for part in _parts(text))


def in_parentheses(action: str) -> WrittenCall | None:
    """Return the call `search("x")` or `search(query="x")`; None for a text of another form.

    Raises:
        UnreadableCall: its arguments cannot be read.
    """
    found = _PARENTHESES.fullmatch(action.strip("` "))
    if found is None:
        return None
    try:
        written = ast.parse(f"f({found[2]})", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise UnreadableCall("arguments in parentheses that are no literals") from None
    if not isinstance(written, ast.Call) or (len(written.args) + bool(written.keywords)) > 1:
        raise UnreadableCall("one argument in parentheses needs no name, several do")
    if written.args:
        return WrittenCall(found[1], {PLAIN: literal(found[2])}, plain=True)
    if not written.keywords:
        return WrittenCall(found[1], {})
    calls = in_python(f"[f({found[2]})]")
    if calls is None or len(calls) != 1:
        raise UnreadableCall("arguments in parentheses that are no literals")
    return WrittenCall(found[1], calls[0].arguments)


def _without_fence(text: str) -> str:
    inner = text.strip()
    if inner.startswith("```") and inner.endswith("```") and inner.count("```") == 2:
        return inner[3:-3].partition("\n")[2]
    return text


def _parts(text: str) -> list[ReactPart]:
    marks = list(_LABEL.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)] * bool(marks)
    return [
        ReactPart(mark[1].lower(), text[mark.end() : end].strip(), mark.start())
        for mark, end in zip(marks, ends, strict=True)
    ]


def _until_observed(parts: list[ReactPart]) -> list[ReactPart]:
    labels = [part.label for part in parts]
    acted = labels.index("action") if "action" in labels else len(labels)
    observed = next((i for i in range(acted, len(labels)) if labels[i] == "observation"), len(labels))
    return parts[:observed]


def _without_nothing(told: list[ReactPart]) -> list[ReactPart]:
    """What is told without `Action: None` and the input that goes with it."""
    kept: list[ReactPart] = []
    dropped = False
    for part in told:
        dropped = (
            says_nothing(part.text) if part.label == "action" else dropped and part.label == "action input"
        )
        kept += [] if dropped else [part]
    return kept


def says_nothing(action: str) -> bool:
    """Return True for `None`, `N/A`, "no action needed": an Action that calls nothing."""
    return _NOTHING.fullmatch(action.strip().partition("\n")[0].rstrip()) is not None


def _alone(action: str) -> tuple[WrittenCall, ...] | None:
    """The call of an Action without an input; None where its text is prose."""
    if (brackets := _BRACKETS.fullmatch(action)) is not None:
        if brackets[1].casefold() == _FINISH:
            return None
        return (_with_input(brackets[1], brackets[2]),)
    if (called := in_parentheses(action)) is not None:
        return (called,)
    body = last_fence(action, "json").strip() if "```" in action else action
    if body.startswith("{"):
        return _call_of(loads(body))
    if _NAME.fullmatch(action.partition("\n")[0].strip()) is None:
        return None
    raise UnreadableCall("an Action without an Action Input")


def action_object(text: str) -> dict[str, Any] | None:
    """Return LangChain's object of `action` and `action_input` that a text is or ends with, fenced or not."""
    inner = text.rstrip()
    fenced = inner.endswith("```")
    body = last_fence(inner, "json").strip() if fenced else inner[max(inner.find("{"), 0) :]
    if not (body.startswith("{") and '"action_input"' in body):
        return None
    try:
        value = loads(body)
    except UnreadableCall:
        return None
    return value if _is_action(value) else None


def _is_action(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() - _SAID_BESIDE == {"action", "action_input"}


def _call_of(value: Any) -> tuple[WrittenCall, ...] | None:
    """The call of LangChain's object; None for the one that is the answer."""
    if not _is_action(value):
        raise UnreadableCall("an Action is an object of action and action_input")
    name = value["action"]
    if name is None or name == FINAL_ANSWER:
        return None
    if not isinstance(name, str):
        raise UnreadableCall("an action without a name")
    given = value["action_input"]
    if isinstance(given, str):
        return (WrittenCall(name, {PLAIN: given} if given else {}, plain=bool(given), untyped=True),)
    return (WrittenCall(name, object_of(given)),)


def _with_input(name: str, given: str) -> WrittenCall:
    body = last_fence(given, "json").strip() if given.startswith("```") else given.strip()
    if body.startswith("{"):
        return WrittenCall(name, object_of(loads(body)))
    if body.startswith('"') and body.endswith('"') and len(body) > 1:
        body = str(loads(body))
    return WrittenCall(name, {PLAIN: body} if body else {}, untyped=True, plain=bool(body))
