"""Format `json`: calls as JSON objects without marks, as the whole text, in a code fence or in prose.

In prose, an object is a call if it has a name and arguments.
"""

from __future__ import annotations

import re

from rewardkit.tool_calls.call import (
    Call,
    UnreadableCall,
    calls_of,
    failed,
    is_call,
    json_at,
    json_of,
    name_in,
    said_before,
)

_MAX_OBJECTS = 256
_OBJECT = re.compile(
    r"(?:\[\s{0,20})?\{\s{0,20}\"(?P<key>name|function|tool_calls|type|id|arguments|parameters"
    r"|tool(?:_name|_input|_arguments)?|function_name|args|input|kwargs)\"\s{0,20}:"
)
_SAYS_LITTLE = frozenset(("type", "id", "tool", "args", "input", "kwargs"))
"""Keys with which other objects also often begin. Malformed JSON after such a key need not be a call."""
_ARGUMENTS = re.compile(r"\"(?:arguments|parameters)\"\s{0,20}:")
_CLAUSE = r"(?:(?!,\s(?:so|but|and|let|i|we|now|then|instead|therefore)\b)[^.!?;\n])*$"
_MENTIONED = re.compile(
    r"(?:\b(?:not|never|cannot|without|instead\sof|rather\sthan)|n['’]t)(?:\W*$|\s(?:\w+\s){0,2}?(?:run|call|us|execut"
    rf"|invok|mak|send|issu|emit|writ|output|return|say|try)\w*\b{_CLAUSE})|\bexamples?\b{_CLAUSE}|\be\.g\.{_CLAUSE}",
    re.IGNORECASE,
)
"""Pattern for words before an object that make it an example, or a call that is not to be made."""
_CLAUSE_CHARS = 200
_SINGLE_QUOTES = re.compile(r"\{\s{0,20}'name'\s{0,20}:")


def read(text: str) -> tuple[str, list[Call]]:
    """Return the text before the first call and the parsed calls."""
    if _is_name_alone(text):
        return "", calls_of(json_of(text))
    calls: list[Call] = []
    first = len(text)
    position = 0
    for _ in range(_MAX_OBJECTS):
        start = _OBJECT.search(text, position)
        if start is None:
            break
        try:
            value, end = json_at(text, start.start())
        except UnreadableCall as error:
            if not _is_attempt(text, start, bool(calls)):
                position = start.end()
                continue
            found, end = [failed(str(error), name_in(text[start.start() :]))], len(text)
        else:
            found = _calls(text, value, position, start.start())
        first = min(first, start.start()) if found else first
        calls += found
        position = end
    if not calls and (quoted := _SINGLE_QUOTES.search(text)):
        return said_before(text, quoted.start()), [failed("the call is not JSON: single quotes")]
    return said_before(text, first) if calls else text.strip(), calls


def _is_name_alone(text: str) -> bool:
    """Return True if a text is a call to a function without arguments, `{"name": "f"}`."""
    if not (text.lstrip().startswith("{") and '"name"' in text):
        return False
    try:
        value = json_of(text)
    except UnreadableCall:
        return False
    return isinstance(value, dict) and value.keys() == {"name"} and isinstance(value["name"], str)


def _is_attempt(text: str, start: re.Match[str], has_called: bool) -> bool:
    """Return True if an object that cannot be parsed was probably meant as a call."""
    if start["key"] in _SAYS_LITTLE:
        return False
    return has_called or not text[: start.start()].strip() or bool(_ARGUMENTS.search(text, start.start()))


def _calls(text: str, value: object, position: int, start: int) -> list[Call]:
    if not is_call(value):
        return []
    clause = max(position, start - _CLAUSE_CHARS, text.rfind("\n", 0, start) + 1)
    if _MENTIONED.search(text[clause:start]):
        return [failed("the call is only mentioned, as an example or as a call not to make")]
    try:
        return calls_of(value)
    except UnreadableCall as error:
        return [failed(str(error))]
