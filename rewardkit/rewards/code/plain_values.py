"""Reads values that occur in all published formats of tests, such as JSON text, lists and limits."""

from __future__ import annotations

import json
from typing import Any

from rewardkit.rewards.code.problem import GroundTruthError


def metadata_of(holder: dict[str, Any]) -> dict[str, Any]:
    """Return the object in `metadata`, which may be JSON text, or {} if it is neither."""
    found = holder.get("metadata") or {}
    found = from_json(found) if isinstance(found, str) and found.lstrip()[:1] == "{" else found
    return found if isinstance(found, dict) else {}


def limits_in(ground_truth: dict[str, Any]) -> dict[str, float]:
    """Return the limits in a ground truth, with the time limit converted from any notation to seconds."""
    limits = {name: float(value) for name, value in (ground_truth.get("limits") or {}).items()}
    given = ground_truth.get("time_limit")
    if isinstance(given, dict):  # CodeContests uses {seconds, nanos}.
        given = float(given.get("seconds") or 0) + float(given.get("nanos") or 0) / 1e9
    if isinstance(given, str):  # TACO uses text such as "2.0 seconds".
        given = given.split()[0] if given.strip() else None
    return limits | ({"time_limit": float(given)} if given else {})


def text_of(value: Any, stream: str = "") -> str:
    """Return a test's text. Some datasets give a list of lines, and SandboxFusion an object of streams."""
    if isinstance(value, dict) and stream:
        if set(value) - {stream}:
            raise GroundTruthError(f"a test has the files {sorted(value)}; expected only {stream}")
        value = value.get(stream, "")
    if isinstance(value, list):
        if not all(isinstance(line, str) for line in value):
            raise GroundTruthError(
                "a test's input or output is a list, either of lines or of a function's arguments; use "
                "strings, or set 'fn_name' to the function's name"
            )
        return "\n".join(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)  # The value is a number if its text was decoded as JSON once too often.
    if not isinstance(value, str):
        raise GroundTruthError(f"a test's input and output must be strings, found {type(value).__name__}")
    return value


def list_of(value: Any, key: str) -> list[Any]:
    """Return a list that is given as a list or as JSON text."""
    value = from_json(value) if isinstance(value, str) else value
    if not isinstance(value, list):
        raise GroundTruthError(f"'{key}' must be a list of tests, found {type(value).__name__}")
    return value


def from_json(text: str) -> Any:
    """Return the value of a JSON text.

    Raises:
        GroundTruthError: The text is not JSON.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise GroundTruthError(f"expected JSON in a test, found {text[:60]!r}") from None


def is_json(text: str) -> bool:
    """Return True if a text is JSON."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def json_lines(text: str) -> list[Any]:
    """Return the values in a text with one JSON value per line."""
    return [from_json(line) for line in text.split("\n") if line.strip()]
