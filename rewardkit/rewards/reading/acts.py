"""What an agent's response does: a ReAct `Action: Finish[x]` answers x; one that ends in a call of a tool
asks, and answers nothing. What tools return is not the response's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from rewardkit.rewards.tool_call.react import says_nothing

_LINE = re.compile(
    r"^[ \t>*_`-]{0,6}(?P<label>Action[ ]Input|Action|Observation|Thought|Final[ ]Answer)(?:[ \t]?\d{1,3})?"
    r"[ \t]?[*_]{0,2}:[*_]{0,2}[ \t]*(?P<said>[^\n]*)",
    re.IGNORECASE | re.MULTILINE,
)
_FINISH = re.compile(
    r"[`*\"']{0,3}(?:finish|final[_ ]?answer|(?:submit|give)?_?answer|submit|finali[sz]e)(?:_answer)?[ ]?"
    r"(?P<open>[\[(])[ ]?(?:[\"']?(?:final_)?(?:answer|response|value|output)[\"']?[ ]?[=:][ ]?)?"
    r"(?P<said>[^\n]*?)[ ]?[\])][`*.]{0,3}\s*",
    re.IGNORECASE,
)
_FINISHES = re.compile(
    r"[`*\"']{0,3}(?:(?:finish|final|submit|give|provide|return|report)?[ _]?(?:answer|choice|option)"
    r"|finish|submit)[`*\"']{0,3}\s*",
    re.IGNORECASE,
)
"""The name of the act, whose input stands on the next line."""
_SUBMITS = re.compile(rf"\"(?:name|action)\"\s*:\s*\"(?:{_FINISHES.pattern})\"", re.IGNORECASE)
_ELEMENT = re.compile(
    r"<(?:(?P<name>search|query|tool_call|function_call|tool|tool_response|tool_result|information"
    r"|observation)>"
    r".*?(?:</(?P=name)>|\Z))",
    re.DOTALL,
)
_SEARCH = re.compile(
    r"<\|begin_(?P<what>search_query|search_result|of_query|of_documents|click_link|click_result)\|>"
    r".*?(?:<\|end_(?P=what)\|>|\Z)",
    re.DOTALL,
)
_CALL = re.compile(
    r"`{0,3}\[?\s*[\w.]{0,40}(?:search|look_?up|query|google|wiki|retriev|browse"
    r"|tool)[\w.]{0,40}\s?[\[(][^\n]*[\])]"
    r"\s*\]?`{0,3}\W{0,3}",
    re.IGNORECASE,
)
_OBJECT = re.compile(
    r"(?:```\w*\s*)?\[?\s*\{\s*\"(?:name|tool|tool_name|function"
    r"|action)\"\s*:\s*\"(?P<name>[^\"\n]*)\"\s*,\s*"
    r"\"(?:arguments|parameters|args|kwargs|input|tool_input|action_input)\"\s*:\s*(?P<said>.*?)\s*\}"
    r"[\s\]`]*",
    re.DOTALL,
)
_LONGEST_CALL = 2_000
_DONE_IN_CODE = re.compile(
    r"^[ \t]*final_answer\((?:answer\s?=\s?)?"
    r"(?:(?P<quote>[\"'])(?P<said>[^\"'\n]{1,400})(?P=quote)|(?P<number>-?\d[\d.,]*))\)[ \t]*"
    r"(?:\n(?:```)?\s*(?:<end_code>)?\s*)?\Z",
    re.MULTILINE,
)
"""An agent in code ends so; what it gives is a text or a number, no name of a variable."""


def without_searches(response: str) -> str:
    """Return a response without searches in special tokens and what they returned; "" if it ends in these."""
    ends = [found.end() for found in _SEARCH.finditer(response)]
    if not ends:
        return response
    return _SEARCH.sub("\n", response) if response[ends[-1] :].strip() else ""


def acted(text: str) -> str:
    """Return a text with the answer that it finishes with in tags, without its calls of tools and what those
    returned; nothing of one that ends in a call."""
    if "<" in text and _ELEMENT.search(text) is not None:
        *_, last = _ELEMENT.finditer(text)
        if not text[last.end() :].strip():
            return text if _SUBMITS.search(last[0]) else ""
        text = _ELEMENT.sub(lambda m: m[0] if _SUBMITS.search(m[0]) else "\n", text)
    if "final_answer(" in text and (done := _DONE_IN_CODE.search(text)) is not None:
        return _answer(done["said"] or done["number"])
    if "ction" in text or "inish" in text or "bservation" in text:
        text = _without_labels(text)
    return _after_call(text) if text.endswith(_CLOSING) and text.rstrip()[-1:] in _CLOSING else text


_CLOSING = (")", "]", "}", "`", "\n", " ")


Does = Literal["says", "answers", "asks", "told"]
"""What a piece of a response does: `told` is what a tool returned."""


def _without_labels(text: str) -> str:
    """A text without ReAct's actions and observations, from its first answer on; nothing where an action or
    an observation is the last of it."""
    pieces = [piece for piece in _pieces(text) if piece[0] != "says" or piece[1].strip()]
    does = [kind for kind, _ in pieces]
    if {*does} <= {"says"}:
        return _of_bare_finish(text)
    if does[-1] == "asks" or (does[-1] == "told" and "answers" not in does):
        return ""
    start = does.index("answers") if "answers" in does else 0
    return "\n".join(said for _, said in pieces[start:])


def _pieces(text: str) -> Iterator[tuple[Does, str]]:
    position = 0
    finishes = False
    for line in _LINE.finditer(text):
        yield "says", text[position : line.start()]
        position = max(position, line.end())
        label = line["label"].casefold()
        answer = _FINISH.fullmatch(line["said"]) if label == "action" else None
        if answer or (label == "action input" and finishes):
            yield "answers", _answer(answer["said"] if answer else line["said"])
        elif label == "observation":
            position = _end_of_paragraph(text, position)
            yield "told", ""
        else:
            asks = label.startswith("action") and not says_nothing(line["said"])
            yield ("asks", "") if asks else ("says", "" if label == "action" else line[0])
        finishes = label == "action" and _FINISHES.fullmatch(line["said"]) is not None
    yield "says", text[position:]


def _end_of_paragraph(text: str, start: int) -> int:
    """Where what a tool returned ends: at a blank line or the next label."""
    line = _LINE.search(text, start)
    blank = text.find("\n\n", start, line.start() if line else len(text))
    return blank if blank >= 0 else line.start() if line else len(text)


def _of_bare_finish(text: str) -> str:
    """A text whose last line is `Finish[x]` by the answer that it gives."""
    line = text.rstrip().rpartition("\n")[2]
    found = _FINISH.fullmatch(line.strip()) if line.lstrip(" `*")[:6].casefold() == "finish" else None
    return text if found is None else _answer(found["said"])


def _answer(said: str) -> str:
    return "<answer>" + said.strip(" \t\"'") + "</answer>"


def _after_call(text: str) -> str:
    """A text, or nothing where its last line is a call, or all of it an object that calls a tool."""
    plain = text.strip()
    if plain.endswith(("}", "]", "`")) and len(plain) < _LONGEST_CALL and (found := _OBJECT.fullmatch(plain)):
        if _FINISHES.fullmatch(found["name"]):
            return text if found["said"].startswith("{") else _answer(found["said"])
        return ""
    line = plain.rpartition("\n")[2]
    return "" if len(line) < _LONGEST_CALL and _CALL.fullmatch(line) else text
