"""Failures and facts about episodes, which are read from the columns of a row.

Failures include broken episodes, aborted requests, and masked or filtered samples. Code that reads rows calls
this module once per row, and stores the results in `Sample.known` and `Sample.extra_info`. Some kinds of logs
report failures in their own format, which `rewardkit.logs` reads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from math import isfinite
from typing import Any

from rewardkit.model_api.failures import error_said, why_broken
from rewardkit.types import Score, Status, failure

FAILED_ENDS: Mapping[str, Status] = {
    "seconds": "timeout",
    "tool_failed": "error",
    "interaction_failed": "error",
    "cancelled": "error",
    "no_turn": "error",
    "error": "error",
}
"""Status of an episode by the reason for its end. The reasons listed here are not the model's fault. For any
other reason, the status is `ok`."""

_FAILING: Mapping[str, Status] = {
    **dict.fromkeys(("failed", "failure", "error", "errored", "abort", "aborted", "crashed"), "error"),
    **dict.fromkeys(("exception", "killed"), "error"),
    **dict.fromkeys(("cancelled", "canceled", "expired", "filtered", "content_filter", "masked"), "error"),
    **dict.fromkeys(("timeout", "timed_out", "timedout"), "timeout"),
    "invalid": "invalid",
}
"""Status of a failed row by the word in its status column. No other word reports a failure."""

_NO_ERROR = frozenset({"", "none", "null", "nan", "n/a", "no error", "ok", "success"})
"""Texts in an error column which mean that no error occurred."""

_Report = Callable[[str, Any], tuple[Status, str] | None]
"""Function that maps the name and value of a column to the status and reason of a failure, or to None."""


EPISODE = frozenset({"turns", "num_turns", "turn_rewards", "tool_rewards", "interaction_score"})
"""Columns that describe a multi-turn episode."""


def known_score(row: Mapping[str, Any], place: int | None = None) -> Score | None:
    """Return the Score that a row already has, or None if the row is still to be scored.

    The Score is the failure that the row reports, or the score that the episode's interaction gave.

    Args:
        row: Values of the row by column.
        place: Index of the response in a row with lists of responses, or None for a row with one response.
    """
    return own_failure(row, place) or interaction_score(_of_response(row.get("interaction_score"), place))


def interaction_score(value: Any) -> Score | None:
    """Return the Score that an episode's interaction or environment gave, or None if it gave no score."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
    return Score(float(value), scorer="interaction@1") if is_number else None


def episode_facts(row: Mapping[str, Any], place: int | None = None) -> dict[str, Any]:
    """Return the `extra_info` fields that describe an episode to a reward, named as in verl.

    The result is empty if the row is not an episode.

    Args:
        row: Values of the row by column, including any columns of `EPISODE`.
        place: Index of the response in a row with lists of responses, or None for a row with one response.
    """
    said = {name: _of_response(row.get(name), place) for name in EPISODE}
    if said["turns"] is None and said["turn_rewards"] is None:
        return {}
    rewards = list(said["turn_rewards"] or ())
    tools = said["tool_rewards"] or {}
    if isinstance(tools, list):
        tools = {one["tool"]: one["reward"] for one in tools}
    scores = [reward or 0.0 for reward in rewards]
    if scores:
        scores[-1] += sum(reward or 0.0 for reward in tools.values())
    return {
        "num_turns": said["num_turns"] or len(said["turns"] or ()) + 1,  # verl counts the prompt as a turn
        "turn_rewards": rewards,
        "turn_scores": scores,
        "tool_rewards": dict(tools),
        "interaction_score": said["interaction_score"],
    }


def own_failure(row: Mapping[str, Any], place: int | None = None) -> Score | None:
    """Return the failure that a row reports, or None if it reports no failure.

    Args:
        row: Values of the row by column.
        place: Index of the response in a row with lists of responses, or None for a row with one response.
    """
    for name, report in _reports_in(tuple(row)):
        value = _of_response(row[name], place)
        found = None if value is None else report(name, value)
        if found is not None:
            status, why = found
            if name in ("episode_status", "ended"):
                end = _of_response(row.get("ended"), place)
                detail = _of_response(row.get("episode_detail"), place)
                why = why if end is None else f"the episode ended with {end}"
                why += f": {detail}" if isinstance(detail, str) and detail else ""
            return failure(status, why)
    return None


def _of_response(value: Any, place: int | None) -> Any:
    """Return the value for one response. The column may contain a list with one value for each response."""
    if place is None or not isinstance(value, list):
        return value
    return value[place] if place < len(value) else None


def report_columns(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return those of the given columns that may report a failure or describe an episode."""
    found = [name for name, _ in _reports_in(names)]
    if not {"turn_rewards", "interaction_score"}.isdisjoint(names):
        found += [name for name in names if name in EPISODE]
    found += [name for name in ("ended", "episode_detail") if found and name in names]
    return tuple(dict.fromkeys(found))


@lru_cache(maxsize=1024)  # all rows of a file have the same column names
def _reports_in(names: tuple[str, ...]) -> tuple[tuple[str, _Report], ...]:
    """Return each column that may report a failure, with its report function.

    Status columns are omitted if rewardkit's own scoring wrote them.
    """
    ours = {f"{name.removesuffix('scorer')}status" for name in names if name.endswith("scorer")}
    return tuple((name, report) for name in names if name not in ours and (report := _report_of(name)))


def _report_of(name: str) -> _Report | None:
    whose, _, report = name.rpartition("_")
    return _NAMED.get(name) or (_BY_LAST_WORD.get(report) if whose in _OF_A_RESPONSE else None)


def _of_status(name: str, value: Any) -> tuple[Status, str] | None:
    """Read a status, which is a word, an enumeration member (`Status.ABORTED`) or an HTTP status."""
    if isinstance(value, int) and not isinstance(value, bool) and 400 <= value < 600:
        return "error", f"the row failed: '{name}' is {value}"
    status = _FAILING.get(value.rpartition(".")[2].lower()) if isinstance(value, str) else None
    return None if status is None else (status, f"the row failed: '{name}' is '{value}'")


def _of_end(name: str, value: Any) -> tuple[Status, str] | None:
    status = FAILED_ENDS.get(value) if isinstance(value, str) else None
    return None if status is None else (status, f"the episode ended with {value}")


def _of_finish(name: str, value: Any) -> tuple[Status, str] | None:
    why = why_broken(value) if isinstance(value, str | Mapping) else None
    return _of_status(name, value) if why is None else ("error", why)


def _of_error(name: str, value: Any) -> tuple[Status, str] | None:
    if value is True:
        return "error", f"the row failed: '{name}' is true"
    if not value or not isinstance(value, str | Mapping | list) or _is_placeholder(str(value)):
        return None  # a number in an error column is a measured error, as in a regression
    return "error", f"the row failed: {error_said(value[0] if isinstance(value, list) else value)}"


def _is_placeholder(text: str) -> bool:
    """Return True if a text means that there was no error, such as `<not_executed>` in NeMo-Skills."""
    text = text.strip().lower()
    return text in _NO_ERROR or (text.startswith("<") and text.endswith(">") and " " not in text)


def _of_flag(name: str, value: Any) -> tuple[Status, str] | None:
    is_set = value is True or value in ("true", "True")
    if name.startswith("time"):
        return ("timeout", f"the row failed: '{name}' is true") if is_set else None
    return ("error", f"the row is left out: '{name}' is true") if is_set or value == 1 else None


def _of_mask(name: str, value: Any) -> tuple[Status, str] | None:
    items = value if isinstance(value, list) else [value]
    kept = any(item not in (0, "0", False) for item in items)
    return None if kept or not items else ("error", f"the row is left out: '{name}' is zero")


_NAMED: Mapping[str, _Report] = {
    "ended": _of_end,
    "finish_reason": _of_finish,
    "stop_reason": _of_finish,
    "remove_sample": _of_flag,
    "loss_multiplier": _of_mask,
    "status_code": _of_status,
    "timed_out": _of_flag,
    "timeout": _of_flag,
    **dict.fromkeys(("error_message", "exception_message", "errors"), _of_error),
}
_BY_LAST_WORD: Mapping[str, _Report] = {
    "status": _of_status,
    **dict.fromkeys(("error", "exception"), _of_error),
    **dict.fromkeys(("masked", "filtered", "aborted"), _of_flag),
    "mask": _of_mask,
}
_OF_A_RESPONSE = frozenset(
    {"", "is", "was", "logged", "loss", "rollout", "episode", "generation", "request", "response", "judge"}
    | {"completion", "sample", "trajectory", "run", "eval"}
)
"""First words of column names that describe a response, as in `is_filtered` and `episode_status`."""
