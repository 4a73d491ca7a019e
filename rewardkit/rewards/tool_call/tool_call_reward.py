"""Scores tool calls by tools and arguments. The calls may be in any order, but there must be no others.

The ground truth is JSON:
- BFCL's possible answers: a list of `{name: {argument: [accepted values, ...]}}`, where `""` among the values
  means that the argument may be omitted;
- calls: `{"name": ..., "arguments": {...}}`, or a list of such calls (or OpenAI's `{"function": {...}}`);
- an empty list, if the response must not call any tool. A call that cannot be parsed still counts as a call,
  and so does a call in a comment, where no reader sees it.

`pay="all"` gives 1.0 if every call is right and there are no others. `share` gives the mean share of right
arguments over the calls. The `parts` are `format` (the calls can be parsed), `names` (the right tools are
called) and `calls` (share of right calls). Thoughts are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import msgspec

from rewardkit.rewards.answers.place import reply, says, without_comments
from rewardkit.rewards.tool_call.matching import AcceptedObject, WantedCall, best_match
from rewardkit.special_tokens import outside_thoughts, strip_end
from rewardkit.tool_calls.call import Call
from rewardkit.tool_calls.formats import FORMATS, announced, read_any
from rewardkit.tool_calls.pythonic import MARKS
from rewardkit.types import Sample, Score, failure

_ENDS = re.compile(
    r"<｜(?:end▁of▁sentence|User|Assistant)｜>|<\|(?:im_end|im_start|user|observation|endoftext)\|>|</s>|\[e~\["
)
"""Ends of a turn in formats whose calls are written between tokens that would otherwise end a turn."""


@dataclass(frozen=True)
class ToolCallOptions:
    """Options for the tool_call reward."""

    pay: Literal["all", "share"] = "all"
    """`all` gives 1.0 only if all calls match. `share` gives the average share of right arguments per call.
    Missing and extra calls count as 0."""
    formats: tuple[str, ...] = FORMATS.shipped
    """Call formats to accept (docs/tools.md)."""
    format_score: float = 0.0
    """Minimum score of a response whose calls can be parsed but are wrong, if calls are expected."""

    def __post_init__(self) -> None:
        """Check that all formats exist, and that there is at least one."""
        unknown = [name for name in self.formats if name not in FORMATS]
        if unknown or not self.formats:
            found = f"formats has '{unknown[0]}'" if unknown else "formats is empty"
            raise ValueError(f"{found}; expected one or more of {', '.join(FORMATS)}")


def score(sample: Sample, options: ToolCallOptions) -> Score:
    """Score the tool calls in one response by the rules at the top of this file."""
    wanted = _wanted(sample.ground_truth)
    if isinstance(wanted, str):
        return failure("invalid", wanted)
    calls = _calls(sample.response, options.formats)
    if (error := _error(calls)) is not None:
        return _made(0.0, False, None, (0.0, 0.0, 0.0), error)
    if not wanted or not calls:
        right = says(reply(sample.response)) and not wanted and not calls
        paid = float(right)
        return _made(paid, right, None, (paid, paid, paid), f"{len(calls)} calls, expected {len(wanted)}")
    found, share = best_match(calls, wanted)
    right = found == len(calls) == len(wanted)
    names = float(sorted(c.name for c in calls) == sorted(w.name for w in wanted))
    value = 1.0 if right else max(options.format_score, share if options.pay == "share" else 0.0)
    shown = "; ".join(f"{call.name}({', '.join(call.arguments)})" for call in calls)[:200]
    parts = (1.0, names, found / max(len(calls), len(wanted)))
    return _made(value, right, shown, parts, f"{found} of {len(wanted)} calls right, {len(calls)} made")


def _error(calls: Sequence[Call]) -> str | None:
    """Return the reason why one of the calls cannot be parsed, or None if all can be parsed."""
    return next((call.error for call in calls if call.error is not None), None)


def _calls(response: str, formats: tuple[str, ...]) -> list[Call]:
    """Return the calls in a response, or a single erroneous call if any of them is in a comment."""
    response = MARKS.sub("", response)
    calls = _written(response, formats)
    commented = any(map(response.__contains__, _SIGNS_OF_COMMENTS))
    if commented and _error(calls) is None and _hides(response, formats, len(calls)):
        return [Call("", {}, error="a call is in a comment")]
    return calls


_SIGNS_OF_COMMENTS = ("<!--", "<\\!--", "[//]:")


def _hides(response: str, formats: tuple[str, ...], calls: int) -> bool:
    """Return True if a comment in a response contains a call.

    A comment inside an argument is part of the argument. If removing the comment also removes the end of the
    call, the rest cannot be parsed, and the comment does not count.
    """
    left = _written(without_comments(response), formats)
    return len(left) < calls and _error(left) is None


def _written(response: str, formats: tuple[str, ...]) -> list[Call]:
    """Return the calls in a response, including calls in comments.

    A mark that ends a turn may also occur inside an argument, where cutting the text would leave half a call.
    Some models' calls even start with such a mark. If the calls in the model's own turn cannot be parsed, the
    whole text is therefore read.
    """
    whole = outside_thoughts(response)
    said = _own_turn(whole)
    calls = read_any(said, formats)
    if _error(calls) is not None and len(whole) != len(said):
        return read_any(strip_end(whole), formats)
    return calls


def _own_turn(text: str) -> str:
    """Return the model's own turn, including the tokens that surround its calls."""
    if not any(FORMATS[name].between_tokens for name in announced(text)):
        return reply(text)
    end = _ENDS.search(text)
    return text[: end.start()] if end else text


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
    """Convert objects whose values are lists of accepted values, which BFCL nests, even inside lists."""
    if isinstance(value, list):
        return [_nested(item) if isinstance(item, Mapping) else item for item in value]
    if not isinstance(value, Mapping) or not value or not all(isinstance(v, list) for v in value.values()):
        return value
    optional = frozenset(key for key, values in value.items() if "" in values)
    return AcceptedObject({key: tuple(map(_nested, values)) for key, values in value.items()}, optional)
