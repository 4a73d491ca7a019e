"""Compares tool calls with the ground truth, by the rules of BFCL's AST check (gorilla, `ast_checker.py`).

Names must be equal. Every argument must have one of its accepted values, with the right type. Only optional
arguments may be missing, and no arguments may be added. The rules differ where BFCL can be deceived or makes
errors. Parallel calls are matched as a whole rather than greedily, strings keep the signs and decimal points
of numbers, `true` does not equal 1 at any depth, and an object or a list may be given as JSON text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rewardkit.tool_calls.call import PLAIN, Call, UnreadableCall, json_of
from rewardkit.tool_calls.pythonic import literal

_FORMULA = re.compile(
    r"[=^*+<>\\|]|://|(?<![^\W\d_])[^\W\d_]\s*[-/]\s*\w(?![^\W\d_])|\d\s*[-/]\s*[\d(]|\)\s*[-/]|[-/]\s*\("
)
"""Pattern for texts that keep their signs, such as formulas, ranges, units and addresses. `x^2` is not `x*2`,
and `m/s` is not `ms`."""
_FILLERS = re.compile(
    r"(?<!\d)[ ,_]|[ ,_](?!\d)|,(?=\d{3}(?!\d))|\.(?!\d)|(?<=[^\W\d_])[-/]|(?<=[\w ])[-/](?=[^\W\d_])"
)
_BLANKS = re.compile(r"(?<!\d)\s+|\s+(?!\d)")
_DATE = re.compile(r"(?<!\d)(\d{4})/(\d{1,2})/(\d{1,2})(?!\d)")
_NUMBERS = (int, float)


@dataclass(frozen=True, slots=True)
class WantedCall:
    """One expected call."""

    name: str
    accepted: Mapping[str, tuple[Any, ...]]
    """Accepted values, by name of the argument."""
    optional: frozenset[str]


@dataclass(frozen=True, slots=True)
class AcceptedObject:
    """An object with one or more accepted values for each of its keys."""

    accepted: Mapping[str, tuple[Any, ...]]
    optional: frozenset[str]


def right_arguments(call: Call, wanted: WantedCall) -> float:
    """Return the share of right arguments, from 0.0 to 1.0. It is 0.0 if the call has a different name."""
    if call.name != wanted.name:
        return 0.0
    if PLAIN in call.arguments:
        call = _named(call, wanted)
    names = call.arguments.keys() | (wanted.accepted.keys() - wanted.optional)
    right = sum(_right(name, call, wanted) for name in names)
    return right / len(names) if names else 1.0


def _named(call: Call, wanted: WantedCall) -> Call:
    """Name a call's unnamed argument after the argument that the tool needs, if it needs just one."""
    names = list(wanted.accepted.keys() - wanted.optional or wanted.accepted)
    return replace(call, arguments={names[0]: call.arguments[PLAIN]}) if len(names) == 1 else call


def _right(name: str, call: Call, wanted: WantedCall) -> bool:
    if name not in call.arguments or name not in wanted.accepted:
        return False
    value = call.arguments[name]
    return any(same(value, a) or (call.untyped and _as_text(value, a)) for a in wanted.accepted[name])


def same(value: Any, accepted: Any) -> bool:
    """Return True if two values are equal and of the same type, except that an int may replace a float."""
    if isinstance(accepted, bool) or isinstance(value, bool):
        return value is accepted
    if isinstance(value, str) and not isinstance(accepted, str):
        value = _decoded(value)
    if isinstance(accepted, float):
        return isinstance(value, _NUMBERS) and value == accepted
    if isinstance(accepted, str):
        return isinstance(value, str) and standard(value) == standard(accepted)
    if isinstance(accepted, AcceptedObject):
        return isinstance(value, Mapping) and _fits(value, accepted)
    if isinstance(accepted, Mapping):
        return (
            isinstance(value, Mapping)
            and value.keys() == accepted.keys()
            and all(same(value[key], accepted[key]) for key in accepted)
        )
    if isinstance(accepted, list | tuple):
        return (
            isinstance(value, list | tuple)
            and len(value) == len(accepted)
            and all(map(same, value, accepted))
        )
    return type(value) is type(accepted) and bool(value == accepted)


def _decoded(value: Any) -> Any:
    """Return the object or list in JSON text. Return any other value unchanged."""
    if not (isinstance(value, str) and value.strip()[:1] in ("{", "[")):
        return value
    try:
        return json_of(value)
    except UnreadableCall:
        return value


def _fits(value: Mapping[str, Any], choices: AcceptedObject) -> bool:
    missing = choices.accepted.keys() - choices.optional - value.keys()
    return not missing and all(
        any(same(inner, accepted) for accepted in choices.accepted.get(key, ()))
        for key, inner in value.items()
    )


def standard(text: str) -> str:
    """Return a text without letter case, blanks and punctuation, for comparison as in BFCL.

    Unlike BFCL, keep numbers and the signs in formulas.
    """
    text = _DATE.sub(r"\1-\2-\3", text.lower().replace("'", '"').strip())
    if _FORMULA.search(text):
        return _BLANKS.sub("", text).replace("**", "^")
    return _FILLERS.sub("", text)


def _as_text(value: Any, accepted: Any) -> bool:
    """Return True if a text represents a value, for formats in which all arguments are text."""
    if not isinstance(value, str) or isinstance(accepted, str):
        return False
    if isinstance(accepted, bool):
        return value.strip().lower() == str(accepted).lower()
    if accepted is None:
        return value.strip().lower() in ("null", "none")
    for read in (json_of, literal):
        try:
            return same(read(value), accepted)
        except UnreadableCall:
            continue
    return False


def best_match(calls: Sequence[Call], wanted: Sequence[WantedCall]) -> tuple[int, float]:
    """Match calls with the expected calls one to one, in any order.

    Returns:
        Largest possible number of right calls, and the mean share of right arguments over the calls or the
        expected calls, whichever are more.
    """
    shares = [[right_arguments(call, want) for want in wanted] for call in calls]
    matched: dict[int, int] = {}
    for i in range(len(calls)):
        _augment(i, shares, matched, set())
    partial = _greedy(shares)
    return len(matched), partial / max(1, len(calls), len(wanted))


def _augment(call: int, shares: list[list[float]], matched: dict[int, int], seen: set[int]) -> bool:
    """Match a call, reassigning other calls if needed (Kuhn's algorithm). Return True if it was matched."""
    for want, share in enumerate(shares[call]):
        if share == 1.0 and want not in seen:
            seen.add(want)
            if want not in matched or _augment(matched[want], shares, matched, seen):
                matched[want] = call
                return True
    return False


def _greedy(shares: list[list[float]]) -> float:
    pairs = sorted(((s, i, j) for i, row in enumerate(shares) for j, s in enumerate(row)), reverse=True)
    used_calls: set[int] = set()
    used_wants: set[int] = set()
    total = 0.0
    for share, i, j in pairs:
        if i not in used_calls and j not in used_wants:
            used_calls.add(i)
            used_wants.add(j)
            total += share
    return total
