"""The calls of tools in a model's text: `parse` reads them, in the format that the model writes.

`hermes` (Qwen 2.5 and 3, Hermes): `<tool_call>{"name": ..., "arguments": {...}}</tool_call>`; `llama3_json`:
JSON objects with `name` and `parameters` after an optional `<|python_tag|>`; `qwen3_coder`: `<function=f>`
and `<parameter=x>`; `react`: lines of `Action:` and `Action Input:`; `gpt-oss`: messages to `functions.f`.
A call that cannot be read is a `Call` whose `error` says why; it is never taken for a turn without a
call. Nothing is executed here.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from rewardkit.agents.harmony import Part, parts_of
from rewardkit.agents.types import Call
from rewardkit.errors import ConfigError, did_you_mean
from rewardkit.json_objects import object_of_pairs
from rewardkit.rewards.tool_call.calls import PLAIN, UnreadableCall, is_call, name_and_arguments
from rewardkit.rewards.tool_call.react import FINAL_ANSWER, action_object, in_parentheses, says_nothing

MAX_CALLS = 64
"""Calls that are read of one turn. All further ones are a single call with an error."""

_THOUGHT_END = "</think>"
_THOUGHT = re.compile(r"<think>.*?</think>", re.DOTALL)
"""A `<think>` that is never closed is no thought: it may stand in an argument."""
_NAME_CHARS = 200
_OPEN, _CLOSE = "<tool_call>", "</tool_call>"
_PYTHON_TAG = "<|python_tag|>"
_LLAMA_END = re.compile(r"<\|(?:eot_id|eom_id)\|>")
_ARGUMENTS = re.compile(r"\"(?:arguments|parameters)\"\s*:")
_LLAMA_BARE = re.compile(r"^[ \t]*\{(?=\s*\"(?:name|type|function|parameters|arguments)\")", re.MULTILINE)
_FUNCTION = re.compile(r"<function=([^>\n]*)>")
_FUNCTION_END = re.compile(r"</function>|</tool_call>|<tool_call>|(?=<function=)")
_PARAMETER = re.compile(r"<parameter=([^>\n]*)>")
_CODER_MARK = re.compile(r"<tool_call>|<function=|</function>|<parameter=|</tool_call>")
_CODER_ENDS = ("</function>", "</tool_call>")
_CODER_CLOSE = re.compile(r"\s*(?:</tool_call>)?")
_REACT_MARK = re.compile(
    r"^[ \t]*(?:[-*>#]{1,6}[ \t]+)?[*_`]{0,3}(Thought|Action Input|Action|Observation|Final Answer)"
    r"(?:[ \t]{1,3}\d{1,3})?[*_`]{0,3}[ \t]*:[*_`]{0,3}[ \t]*",
    re.MULTILINE | re.IGNORECASE,
)
"""A label at a line's beginning, as plain text, in Markdown or with the number of its step."""
_REACT_BRACKETS = re.compile(r"([^\[\]()\n]+)\[(.*)\]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Format:
    """How a family of models writes its calls."""

    read: Callable[[str], tuple[str, list[Call]]]
    """(the text of a turn without its thinking) -> (the text beside the calls, the calls in order)."""
    stop: tuple[str, ...] = ()
    """Texts that end a turn, as the label of an observation does, which the model must not write itself."""


class _Unreadable(ValueError):
    """Says why a call cannot be read."""


def parse(format: str, text: str) -> tuple[str, list[Call]]:
    """Return the text of a turn beside its calls, and its calls in order.

    The thinking (up to `</think>`, and each later thought) is part of the text; calls in it do not count. The
    calls have the ids `call_0`, `call_1` and so on.

    Args:
        format: A name in `FORMATS`.
        text: Of the turn, with its special tokens.

    Raises:
        ConfigError: there is no such format.
    """
    form = format_named(format)
    thoughts, said = _thoughts_and_said(text)
    content, calls = form.read(said)
    kept = calls[:MAX_CALLS]
    if len(calls) > MAX_CALLS:
        kept.append(Call("", {}, error=f"a turn makes at most {MAX_CALLS} calls"))
    numbered = [Call(call.name, call.arguments, f"call_{i}", call.error) for i, call in enumerate(kept)]
    return thoughts + content, numbered


def _thoughts_and_said(text: str) -> tuple[str, str]:
    """Return a turn's thoughts and the text outside of them. The prompt may have opened the first thought."""
    thought, end, said = text.partition(_THOUGHT_END)
    if not end or "<think>" in thought:
        thought, end, said = "", "", text
    closed = said.rfind(_THOUGHT_END) + len(_THOUGHT_END) if _THOUGHT_END in said else 0  # or it is quadratic
    thoughts = "".join(_THOUGHT.findall(said, 0, closed))
    return thought + end + thoughts, _THOUGHT.sub("", said[:closed]) + said[closed:]


def format_named(name: str) -> Format:
    """Return the format of that name.

    Raises:
        ConfigError: there is none; the message names the formats.
    """
    if name not in FORMATS:
        hint = did_you_mean(name, FORMATS) or f"; there are {', '.join(FORMATS)}"
        raise ConfigError(f"no format of tool calls is named '{name}'{hint}")
    return FORMATS[name]


def detect_format(chat_template: str | None) -> str | None:
    """Return the format in which a chat template tells its model to write calls.

    `react` if the template does not mention tools. None if it does, in a format that is not in `FORMATS`.
    """
    template = chat_template or ""
    if "<|channel|>" in template:
        return "gpt-oss"
    if "<function=" in template:
        return "qwen3_coder"
    if _OPEN in template:
        return None if "<arg_key>" in template else "hermes"
    if _PYTHON_TAG in template or ("ipython" in template and '"parameters"' in template):
        return "llama3_json"
    return None if re.search(r"\btools\b", template) else "react"


def _hermes(text: str) -> tuple[str, list[Call]]:
    content: list[str] = []
    calls: list[Call] = []
    position = 0
    while len(calls) <= MAX_CALLS:
        start = text.find(_OPEN, position)
        content.append(text[position : start if start >= 0 else len(text)])
        if _CLOSE in content[-1]:
            calls.append(_failed(f"{_CLOSE} without {_OPEN} before it"))
            content[-1] = content[-1].replace(_CLOSE, "")
        if start < 0:
            break
        call, position = _hermes_call(text, start + len(_OPEN))
        calls.append(call)
    return "".join(content).strip(), calls


def _hermes_call(text: str, start: int) -> tuple[Call, int]:
    """The call that begins after a tag, and where what follows it begins."""
    try:
        value, end = _json_at(text, start)
        rest = text[end:].lstrip()
        if rest and not rest.startswith((_CLOSE, _OPEN)):
            raise _Unreadable(f"after the JSON object comes {_shown(rest)}; {_CLOSE} should")
        call = _from_object(value)
    except _Unreadable as error:
        end = _first_of(text, (_CLOSE, _OPEN), start)
        call = _failed(str(error), _name_in(text[start:end]))
    close = text.find(_CLOSE, end)
    closed = close >= 0 and not text[end:close].strip()
    return call, close + len(_CLOSE) if closed else end


def _llama3_json(text: str) -> tuple[str, list[Call]]:
    text = _LLAMA_END.split(text, maxsplit=1)[0]
    before, tag, rest = text.partition(_PYTHON_TAG)
    if not tag:
        start = _llama_bare(text)
        if start is None:
            return text.strip(), []
        before, rest = text[:start], text[start:]
    calls: list[Call] = []
    try:
        calls.extend(_llama_calls(rest))
    except _Unreadable as error:
        calls.append(_failed(str(error), _name_in(rest) if not calls else ""))
    return before.strip(), calls or [_failed(f"nothing comes after {_PYTHON_TAG}")]


def _llama_bare(text: str) -> int | None:
    """Where the first object begins that is a call though nothing announces it; None if none does.

    One has arguments or parameters, whole or broken off; where it is the whole text its name will do.
    """
    for found in itertools.islice(_LLAMA_BARE.finditer(text), MAX_CALLS):
        start = found.start()
        try:
            value, end = _json_at(text, start)
        except _Unreadable:
            if _ARGUMENTS.search(text, start) or not text[:start].strip():
                return start
            continue
        if is_call(value) or not (text[:start].strip() or text[end:].strip()):
            return start
    return None


def _llama_calls(text: str) -> Iterator[Call]:
    """Calls one after another, with `;`, commas or blanks between. Raises where one cannot be read."""
    position = 0
    for _ in range(MAX_CALLS + 1):
        while position < len(text) and text[position] in " \t\r\n;,":
            position += 1
        if text.startswith(_PYTHON_TAG, position):
            position += len(_PYTHON_TAG)
            continue
        if position >= len(text):
            return
        value, position = _json_at(text, position)
        for one in value if isinstance(value, list) else [value]:
            yield _from_object(one)


def _qwen3_coder(text: str) -> tuple[str, list[Call]]:
    content: list[str] = []
    calls: list[Call] = []
    position = 0
    while len(calls) <= MAX_CALLS:
        mark = _CODER_MARK.search(text, position)
        content.append(text[position : mark.start() if mark else len(text)])
        if mark is None:
            break
        start = mark.end() if mark[0] == _OPEN else mark.start()
        call, position = _coder_call(text, start)
        calls.append(call)
    return "".join(content).strip(), calls


def _coder_call(text: str, start: int) -> tuple[Call, int]:
    while start < len(text) and text[start].isspace():
        start += 1
    head = _FUNCTION.match(text, start)
    if head is None:
        return _coder_stray(text, start)
    try:
        arguments, end = _coder_parameters(text, head.end())
        call = _checked(head[1].strip(), arguments)
    except _Unreadable as error:
        call = _failed(str(error), head[1].strip())
        found_end = _FUNCTION_END.search(text, head.end())
        end = found_end.end() if found_end else len(text)
    closed = _CODER_CLOSE.match(text, end)
    return call, closed.end() if closed else end


def _coder_stray(text: str, start: int) -> tuple[Call, int]:
    """What stands where a function should begin, and where the next call may begin."""
    found = _shown(text[start:]) if text[start:].strip() else "nothing"
    end = next((start + len(mark) for mark in _CODER_ENDS if text.startswith(mark, start)), -1)
    if end < 0:
        after = _FUNCTION_END.search(text, start + 1)
        end = len(text) if after is None else after.start() if after[0] == _OPEN else after.end()
    closed = _CODER_CLOSE.match(text, end)
    return _failed(f"a call begins with <function=NAME>; found {found}"), closed.end() if closed else end


def _coder_parameters(text: str, position: int) -> tuple[dict[str, Any], int]:
    """Read parameters up to the function's end. Their values are texts; only `</parameter>` ends one."""
    arguments: dict[str, Any] = {}
    while True:
        end = _FUNCTION_END.search(text, position)
        head = _PARAMETER.search(text, position)
        last = head is None or (end is not None and end.start() < head.start())
        following = head if head is not None and not last else end
        between = text[position : following.start() if following else len(text)].strip()
        if between:
            raise _Unreadable(f"between <parameter=NAME> blocks stands {_shown(between)}")
        if end is None and head is None:
            raise _Unreadable("the call is not finished: </function> is missing")
        if last and end is not None:
            return arguments, end.end() if end[0] == "</function>" else end.start()
        if head is not None:
            position = _coder_parameter(text, head, arguments)


def _coder_parameter(text: str, head: re.Match[str], arguments: dict[str, Any]) -> int:
    """Put one parameter among the arguments; return where it ends."""
    name = head[1].strip()
    close = text.find("</parameter>", head.end())
    if close < 0 or "\n<parameter=" in text[head.end() : close]:
        raise _Unreadable(f"parameter '{name}' is not finished: </parameter> is missing")
    if name in arguments:
        raise _Unreadable(f"parameter '{name}' stands twice")
    arguments[name] = text[head.end() : close].removeprefix("\n").removesuffix("\n")
    return close + len("</parameter>")


def _react(text: str) -> tuple[str, list[Call]]:
    """Read one call at most. What follows it is an observation that the model made up."""
    parts = _react_parts(text)
    place = next((i for i, part in enumerate(parts) if part[0] not in ("thought", "observation")), None)
    if place is None and (stated := action_object(text)) is not None:
        before = text[: text.find("```" if "```" in text else "{")].strip()
        return _react_object(stated, before, text)
    if place is None or _is_final(parts[place:]):
        return text.strip(), []
    kind, value, start = parts[place]
    following = parts[place + 1] if place + 1 < len(parts) else None
    before = text[:start].strip()
    if kind == "action" and (stated := action_object(value)) is not None:
        return _react_object(stated, before, text)
    try:
        if kind == "action input":
            raise _Unreadable("an Action Input without an Action before it")
        given = following[1] if following and following[0] == "action input" else None
        return before, [_react_call(value, given)]
    except _Unreadable as error:
        return before, [_failed(str(error), value.split("\n")[0] if kind == "action" else "")]


def _is_final(parts: list[tuple[str, str, int]]) -> bool:
    """Whether the labels begin with a final answer, with or without an `Action: None` before it."""
    labels = [label for label, _, _ in parts]
    nothing = labels[0] == "action" and says_nothing(parts[0][1])
    inputs = labels[1:2] == ["action input"]
    return labels[1 + inputs : 2 + inputs] == ["final answer"] if nothing else labels[0] == "final answer"


def _react_object(stated: dict[str, Any], before: str, text: str) -> tuple[str, list[Call]]:
    """The call of LangChain's object of `action` and `action_input`; its final answer is none."""
    if stated["action"] in (None, FINAL_ANSWER):
        return text.strip(), []
    given = stated["action_input"]
    try:
        return before, [_checked(stated["action"], {PLAIN: given} if isinstance(given, str) else given or {})]
    except _Unreadable as error:
        return before, [_failed(str(error))]


def _react_parts(text: str) -> list[tuple[str, str, int]]:
    """Return each label at the beginning of a line, in lower case, with its text and its place."""
    marks = list(_REACT_MARK.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)] * bool(marks)
    return [
        (mark[1].lower(), text[mark.end() : end].strip(), mark.start())
        for mark, end in zip(marks, ends, strict=True)
    ]


def _react_call(action: str, given: str | None) -> Call:
    if given is None:
        if (called := _react_parentheses(action)) is not None:
            return called
        if (brackets := _REACT_BRACKETS.fullmatch(action)) is None:
            raise _Unreadable("an Action without an Action Input after it")
        action = brackets[1]
        given = brackets[2]
    name = action.strip().strip("`*\"'")
    body = given.strip()
    if body.startswith("```"):
        body = body.partition("\n")[2].rpartition("```")[0].strip()
    if not body.startswith("{"):
        return _checked(name, {PLAIN: body} if body else {})
    value, end = _json_at(body, 0)
    if body[end:].strip():
        raise _Unreadable(f"after the JSON object comes {_shown(body[end:])}")
    return _checked(name, value)


def _react_parentheses(action: str) -> Call | None:
    """The call `search("x")` or `search(query="x")`, None for another form."""
    try:
        called = in_parentheses(action)
    except UnreadableCall as error:
        raise _Unreadable(str(error)) from None
    return None if called is None else _checked(called.name, called.arguments)


def _gpt_oss(text: str) -> tuple[str, list[Call]]:
    """A message to a tool is a call, on any channel. One to the assistant is a result that the model made
    up."""
    said: list[str] = []
    calls: list[Call] = []
    for part in parts_of(text):
        if part.recipient and part.recipient != "assistant":
            calls.append(_gpt_oss_call(part))
        elif not part.recipient and part.channel != "analysis" and part.body is not None:
            said.append(part.body.strip())
        if len(calls) > MAX_CALLS:
            break
    return "\n".join(filter(None, said)), calls


def _gpt_oss_call(part: Part) -> Call:
    name = part.recipient.removeprefix("functions.")
    try:
        if part.body is None:
            raise _Unreadable("the call is not finished: <|message|> and its arguments are missing")
        value, end = _json_at(part.body, 0)
        if part.body[end:].strip():
            raise _Unreadable(f"after the JSON object comes {_shown(part.body[end:])}")
        return _checked(name, value)
    except _Unreadable as error:
        return _failed(str(error), name)


def _from_object(value: Any) -> Call:
    """A call from `{"name", "arguments"}`, or `parameters`, or OpenAI's `{"function": {...}}`."""
    if isinstance(value, dict) and isinstance(value.get("function"), dict):
        value = value["function"]
    if not isinstance(value, dict):
        raise _Unreadable('a call is a JSON object with "name" and "arguments"')
    name, arguments = name_and_arguments(value)
    if name is None:
        raise _Unreadable('the call has no "name"')
    if isinstance(arguments, str):
        arguments, _ = _json_at(arguments, 0)
    return _checked(name, {} if arguments is None else arguments)


def _checked(name: Any, arguments: Any) -> Call:
    if not isinstance(name, str) or not name.strip():
        raise _Unreadable("the call's name is not a text")
    if len(name) > _NAME_CHARS or "\n" in name.strip():
        raise _Unreadable("the call's name is no name")
    if not isinstance(arguments, dict):
        raise _Unreadable("the call's arguments are not a JSON object")
    try:
        (name + json.dumps(arguments, ensure_ascii=False)).encode()
    except UnicodeEncodeError:
        raise _Unreadable("a text of the call holds half a character (a lone surrogate)") from None
    except RecursionError:
        raise _Unreadable("the call's arguments are nested too deeply") from None
    return Call(name.strip(), arguments)


def _failed(why: str, name: str = "") -> Call:
    printable = name.strip()[:_NAME_CHARS].encode(errors="replace").decode()
    return Call(printable, {}, error=why.encode(errors="replace").decode())


def _json_at(text: str, position: int) -> tuple[Any, int]:
    """The JSON value at a position, and where it ends."""
    while position < len(text) and text[position].isspace():
        position += 1
    if position >= len(text):
        raise _Unreadable("nothing stands where the call's JSON should")
    try:
        return _DECODER.raw_decode(text, position)
    except json.JSONDecodeError as error:
        place = f"character {error.pos - position}"
        raise _Unreadable(f"the call is not JSON: {error.msg} at {place}") from None
    except RecursionError:
        raise _Unreadable("the call's JSON is nested too deeply") from None
    except ValueError as error:
        raise _Unreadable(f"the call is not JSON: {str(error)[:100]}") from None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


_DECODER = json.JSONDecoder(object_pairs_hook=object_of_pairs, parse_constant=_no_constant)


def _name_in(text: str) -> str:
    """The name that a call which cannot be read seems to have, for the observation."""
    found = re.search(r'"name"\s*:\s*"([^"\\\n]{1,200})"', text[:2_000])
    return found[1] if found else ""


def _first_of(text: str, marks: tuple[str, ...], start: int) -> int:
    places = [place for mark in marks if (place := text.find(mark, start)) >= 0]
    return min(places, default=len(text))


def _shown(text: str) -> str:
    shown = text.strip()
    return repr(shown[:40] + ("..." if len(shown) > 40 else ""))


FORMATS: dict[str, Format] = {
    "hermes": Format(_hermes),
    "llama3_json": Format(_llama3_json),
    "qwen3_coder": Format(_qwen3_coder),
    "gpt-oss": Format(_gpt_oss),
    "react": Format(_react, stop=("\nObservation:",)),
}
"""The formats that `parse` reads, by their names in `multi_turn.format`."""
