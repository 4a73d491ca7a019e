"""Converts the results of reward functions to a common form. A failure never becomes a number.

A result is `{"score": ...}`, optionally with `correct`, `extracted`, `parts` (numbers by name) and `detail`.
A failure is `{"error": why}`. The result for a row that cannot be scored is `{"invalid": why}`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

RowResult = dict[str, Any]

SCORES = ("score", "reward", "overall", "rewards")
"""Names of the keys or attributes that may contain the score. The first existing name is used."""
CORRECT = ("acc", "correct", "is_correct")
EXTRACTED = ("pred", "extracted")
_NONE = "the reward returned None"
MOST_PARTS = 64
LONGEST = 300


def read_all(value: Any, n: int, kind: str) -> list[RowResult]:
    """Convert the value returned by a call with `n` rows to `n` results."""
    if kind == "openrlhf":
        value = _split(value, n)
    if isinstance(value, (str, bytes, Mapping)) or not hasattr(value, "__iter__"):
        return [failed(f"the reward returned {_shown(value)}; expected a list of {n} results")] * n
    listed = value.tolist() if hasattr(value, "tolist") else list(value)
    if len(listed) != n:
        return [failed(f"the reward returned {len(listed)} results for {n} rows")] * n
    return [read(one, kind) for one in listed]


def read(value: Any, kind: str) -> RowResult:
    """Convert the value returned for a single row to a result."""
    if value is None:
        scoreless = kind in ("trl", "swift")
        return {"invalid": f"not scored: {_NONE}"} if scoreless else failed(_NONE)
    if isinstance(value, (str, bytes)):
        return failed(f"the reward returned {_shown(value)}; expected a number")
    if isinstance(value, Mapping):
        return _of_fields(value)
    if isinstance(value, (tuple, list)) and not hasattr(value, "_fields") and value:
        return _of_tuple(value)
    fields = _fields_of(value)
    return _of_fields(fields) if fields is not None else _of_number(value)


def failed(why: str) -> RowResult:
    return {"error": why[:LONGEST]}


def add_notes(result: RowResult, metrics: Mapping[str, float], extras: Mapping[str, Any]) -> RowResult:
    """Add the metrics and extra values that the function logged to the result for a row."""
    if "score" not in result:
        return result
    parts = {**_finite(metrics), **_finite(extras), **result.get("parts", {})}
    words = _words({name: value for name, value in extras.items() if name not in parts})
    detail = "; ".join(word for word in (result.get("detail"), words) if word)
    return {**result, "parts": _first(parts), "detail": detail[:LONGEST] or None}


def _of_number(value: Any) -> RowResult:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        return failed(f"the reward returned {_shown(value)}; expected a number")
    if not math.isfinite(number):
        return failed(f"the reward returned the score {number}; expected a finite number")
    return {"score": number, "correct": value} if isinstance(value, bool) else {"score": number}


def _of_tuple(value: Sequence[Any]) -> RowResult:
    """Convert a tuple to a result.

    The score is the first item that is not a mapping without a score. A bool after the score is `correct`.
    """
    rest = list(value)
    place = next((i for i, one in enumerate(rest) if not _has_no_score(one)), 0)
    result = read(rest.pop(place), "")
    if "score" not in result:
        return result
    if rest and isinstance(rest[0], bool):
        result["correct"] = rest.pop(0)
    rest = [one for one in rest if one is not None]
    return {**result, "detail": _words({"rest": rest})} if rest else result


def _has_no_score(value: Any) -> bool:
    return isinstance(value, Mapping) and not any(name in value for name in SCORES)


def _of_fields(fields: Mapping[Any, Any]) -> RowResult:
    key = next((name for name in SCORES if name in fields), None)
    if key is None:
        return failed(f"the reward returned an object without a score; fields: {', '.join(map(str, fields))}")
    score = fields[key]
    result = failed(_NONE) if score is None else read(_alone(score), "")
    if "score" not in result:
        return result
    rest = {str(name): value for name, value in fields.items() if name != key}
    correct = next((rest[name] for name in CORRECT if isinstance(rest.get(name), (bool, int, float))), None)
    extracted = next((rest.pop(name) for name in EXTRACTED if rest.get(name) is not None), None)
    if correct is not None:
        result["correct"] = bool(correct)
    if extracted is not None:
        result["extracted"] = str(extracted)[: 8 * LONGEST]
    for name in CORRECT:
        rest.pop(name, None)
    parts = _finite(_flat(rest))
    words = _words({name: value for name, value in rest.items() if name not in parts and value is not None})
    return {**result, "parts": _first(parts), "detail": words or None}


def _alone(value: Any) -> Any:
    """Return the only item in a list with one item. Return any other value unchanged."""
    listed = value.tolist() if hasattr(value, "tolist") else value
    return listed[0] if isinstance(listed, (list, tuple)) and len(listed) == 1 else listed


def _split(value: Any, n: int) -> Any:
    """Convert OpenRLHF's dict of lists to one dict per row. Return tensors and lists unchanged."""
    if not isinstance(value, Mapping):
        return value
    flat = _flat({str(name): part for name, part in value.items()})
    return [{name: _nth(part, i, n) for name, part in flat.items()} for i in range(n)]


def _nth(value: Any, i: int, n: int) -> Any:
    listed = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(listed, (list, tuple)):
        return listed
    return listed[i] if len(listed) == n else None


def _flat(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Replace each value that is a mapping with the entries of that mapping."""
    flat: dict[str, Any] = {}
    for name, value in fields.items():
        flat.update({str(k): v for k, v in value.items()} if isinstance(value, Mapping) else {name: value})
    return flat


def _finite(fields: Mapping[str, Any]) -> dict[str, float]:
    numbers = {name: _number(value) for name, value in fields.items()}
    return {str(name): number for name, number in numbers.items() if number is not None}


def _number(value: Any) -> float | None:
    if isinstance(value, (str, bytes)) or not hasattr(value, "__float__"):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        return None
    return number if math.isfinite(number) else None


def _first(parts: Mapping[str, float]) -> dict[str, float]:
    return dict(list(parts.items())[:MOST_PARTS])


def _fields_of(value: Any) -> Mapping[str, Any] | None:
    """Return the fields of an object with a score, or None if the object has no score."""
    if hasattr(value, "__float__"):
        return None
    if not any(hasattr(value, name) for name in SCORES):
        return None
    names = getattr(value, "_fields", None) or getattr(value, "__dataclass_fields__", None)
    names = names or getattr(value, "__dict__", None) or SCORES
    return {name: getattr(value, name) for name in names if hasattr(value, name)}


def _words(fields: Mapping[str, Any]) -> str:
    return "; ".join(f"{name}={_shown(value)}" for name, value in fields.items())[:LONGEST]


def _shown(value: Any) -> str:
    """Format a value as one short line. For a large value, show only the type and the length."""
    if isinstance(value, (str, bytes)):
        value = value[:LONGEST]
    elif hasattr(value, "__len__") and len(value) > LONGEST:
        return f"<{type(value).__name__} of {len(value)}>"
    try:
        text = repr(value)[:LONGEST]
    except Exception:
        text = f"<{type(value).__name__}>"
    return " ".join(text.split())
