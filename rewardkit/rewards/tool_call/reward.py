"""Tool calls: the right tools with the right arguments, as many as asked for, in any order.

The ground truth is JSON:
- BFCL's possible answers: a list of `{name: {argument: [accepted values, ...]}}`, where `""` among the
  values means that the argument may be left out;
- calls: `{"name": ..., "arguments": {...}}` or a list of them (or OpenAI's `{"function": {...}}`);
- an empty list: the right thing is to call nothing. A call that cannot be read is a call, not an
  abstention, and neither is one in a comment, which no reader sees.

`pay="all"` pays when every call is right and none is too many; `share` pays the mean share of right
arguments over the calls. `parts`: `format` (calls can be read), `names` (the tools called are those),
`calls` (share of calls that are right). Reasoning before `</think>` does not count.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, get_args

import msgspec

from rewardkit.rewards.answers.place import outside_thoughts, reply, says, without_comments
from rewardkit.rewards.tool_call.calls import UnreadableCall, WrittenCall
from rewardkit.rewards.tool_call.matching import AcceptedObject, WantedCall, best_match
from rewardkit.rewards.tool_call.reading import CallForm, read, read_marked
from rewardkit.special_tokens import strip_end
from rewardkit.types import Sample, Score, failure

_MAX_CALLS = 64
_PYTHON_MARKS = re.compile(r"<\|python_(?:start|end)\|>")
"""Around Llama 4's calls in Python."""


@dataclass(frozen=True)
class ToolCallOptions:
    """Options of the tool_call reward."""

    pay: Literal["all", "share"] = "all"
    forms: tuple[CallForm, ...] = (
        "deepseek", "kimi", "glm", "invoke", "harmony", "react", "hermes", "qwen3_coder", "mistral",
        "llama3", "pythonic", "json",
    )  # fmt: skip
    """The forms that are read; the first that fits counts."""
    format_score: float = 0.0
    """For calls that can be read and are wrong."""

    def __post_init__(self) -> None:
        """Refuse to read no form at all: every response would call nothing."""
        if not self.forms:
            raise ValueError(f"forms is empty; expected one or more of {', '.join(get_args(CallForm))}")


def score(sample: Sample, options: ToolCallOptions) -> Score:
    """Score the tool calls of one response by the rules at the top of this file."""
    wanted = _wanted(sample.ground_truth)
    if isinstance(wanted, str):
        return failure("invalid", wanted)
    try:
        calls = _calls(sample.response, options.forms)
    except UnreadableCall as error:
        return _made(0.0, False, None, (0.0, 0.0, 0.0), str(error))
    if not wanted or not calls:
        right = says(reply(sample.response)) and not wanted and not calls
        paid = float(right)
        return _made(paid, right, None, (paid, paid, paid), f"{len(calls)} calls, {len(wanted)} asked for")
    if len(calls) > _MAX_CALLS:
        return _made(0.0, False, None, (1.0, 0.0, 0.0), f"more than {_MAX_CALLS} calls")
    found, share = best_match(calls, wanted)
    right = found == len(calls) == len(wanted)
    names = float(sorted(c.name for c in calls) == sorted(w.name for w in wanted))
    value = 1.0 if right else max(options.format_score, share if options.pay == "share" else 0.0)
    shown = "; ".join(f"{call.name}({', '.join(call.arguments)})" for call in calls)[:200]
    parts = (1.0, names, found / max(len(calls), len(wanted)))
    return _made(value, right, shown, parts, f"{found} of {len(wanted)} calls right, {len(calls)} made")


def _calls(response: str, forms: tuple[CallForm, ...]) -> tuple[WrittenCall, ...]:
    """The calls of a response, of which none may stand in a comment."""
    calls = _written(_PYTHON_MARKS.sub("", response), forms)
    if any(map(response.__contains__, _SIGNS_OF_COMMENTS)) and _hides(response, forms, len(calls)):
        raise UnreadableCall("a call stands in a comment")
    return calls


_SIGNS_OF_COMMENTS = ("<!--", "<\\!--", "[//]:")


def _hides(response: str, forms: tuple[CallForm, ...], calls: int) -> bool:
    """Whether fewer calls are left of a response without its comments. One within an argument is a part of
    it, and one that begins there may take the call's end along: that leaves nothing to be read."""
    try:
        return len(_written(without_comments(response), forms)) < calls
    except UnreadableCall:
        return False


def _written(response: str, forms: tuple[CallForm, ...]) -> tuple[WrittenCall, ...]:
    """The calls of a response, those in comments too. A mark that ends texts may stand within an argument,
    where cutting there would leave half a call; and some models' calls begin with one."""
    if (marked := read_marked(response, forms)) is not None:
        return marked
    whole = outside_thoughts(response)
    said = reply(whole)
    try:
        calls = read(said, forms)
    except UnreadableCall:
        if len(whole) == len(said):
            raise
        return read(strip_end(whole), forms)
    if not calls and "<｜tool▁" in whole:
        raise UnreadableCall("a call in none of the forms: " + ", ".join(forms))
    return calls


def _made(value: float, right: bool, shown: str | None, parts: tuple[float, float, float], why: str) -> Score:
    return Score(value, "ok", right, shown, dict(zip(("format", "names", "calls"), parts, strict=True)), why)


@lru_cache(maxsize=16_384)
def _wanted(ground_truth: str) -> tuple[WantedCall, ...] | str:
    try:
        given = msgspec.json.decode(ground_truth.encode())
    except (msgspec.DecodeError, UnicodeEncodeError):
        return "the ground truth is not JSON"
    items = given if isinstance(given, list) else [given]
    try:
        return tuple(map(_one_wanted, items))
    except (TypeError, ValueError, AttributeError, msgspec.MsgspecError):
        return "the ground truth is neither BFCL's possible answers nor a list of calls"


def _one_wanted(item: Any) -> WantedCall:
    item = item["function"] if "function" in item and isinstance(item["function"], Mapping) else item
    if isinstance(item.get("name"), str) and not isinstance(item.get("arguments"), list):
        arguments = item.get("arguments", item.get("parameters", {}))
        if isinstance(arguments, str):
            arguments = msgspec.json.decode(arguments.encode())
        return WantedCall(item["name"], {name: (value,) for name, value in arguments.items()}, frozenset())
    ((name, arguments),) = item.items()
    if not all(isinstance(values, list) for values in arguments.values()):
        raise TypeError
    optional = frozenset(a for a, values in arguments.items() if "" in values)
    return WantedCall(
        name, {a: tuple(_nested(v) for v in values) for a, values in arguments.items()}, optional
    )


def _nested(value: Any) -> Any:
    """BFCL has the values within an object in lists of accepted ones too, and so within lists of objects."""
    if isinstance(value, list):
        return [_nested(item) if isinstance(item, Mapping) else item for item in value]
    if not isinstance(value, Mapping) or not value or not all(isinstance(v, list) for v in value.values()):
        return value
    optional = frozenset(key for key, values in value.items() if "" in values)
    return AcceptedObject({key: tuple(map(_nested, values)) for key, values in value.items()}, optional)
