"""Rows that rewardkit has scored: the columns that scoring adds, and the detection of scored rows."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import astuple
from typing import Any

from rewardkit.files.records import RawRow
from rewardkit.logs.lists import list_in_text
from rewardkit.rows import GROUP, RowNames
from rewardkit.types import STATUSES

RENAMED = "logged_"
"""Prefix added to the names of a row's own columns if rewardkit needs these names."""

VERLS = "reward_model.ground_truth"
"""Name of the ground truth in verl's rows. Scored rows keep this name, except in CSV, where structs are
text."""


def carried_fields(response_name: str) -> tuple[str, ...]:
    """Return the names of all fields in a scored row other than the scores, in order."""
    return ("data_source", GROUP, "prompt", response_name, "ground_truth", "extra_info", "finish_reason")


def score_prefixes(columns: Collection[str], rows: Sequence[RawRow]) -> list[str]:
    """Return the prefixes of the scores that rewardkit has added, in the order in which they were added.

    The list is empty for rows that rewardkit has not scored.

    Args:
        columns: Names of all columns.
        rows: First rows. Their values are checked because another tool may use the same column names.
    """
    found = [name.removesuffix("scorer") for name in columns if name.endswith("scorer")]
    found = [prefix for prefix in found if {f"{prefix}score", f"{prefix}status"} <= set(columns)]
    return [prefix for prefix in found if _are_ours(rows, prefix)]


def _are_ours(rows: Sequence[RawRow], prefix: str) -> bool:
    """Return True if no row has scores from another tool."""
    names = [f"{prefix}{name}" for name in ("score", "status", "scorer")]
    scored = [row for row in rows if any(row.get(name) not in (None, "") for name in names)]
    return all(_is_ours(row, prefix) for row in scored)


def _is_ours(row: RawRow, prefix: str) -> bool:
    """Return True if all scores in a row are from rewardkit: failures, or scores that name a reward."""
    statuses, scorers = row.get(f"{prefix}status"), row.get(f"{prefix}scorer")
    listed = [list_in_text(one) or one for one in (statuses, scorers)]
    statuses, scorers = (one if isinstance(one, list) else [one] for one in listed)
    return len(statuses) == len(scorers) and all(
        status in STATUSES
        and (_SCORER.fullmatch(scorer) is not None if scorer else status != "ok")
        and isinstance(scorer, str | None)
        for status, scorer in zip(statuses, scorers, strict=True)
    )


_SCORER = re.compile(r".+@\w+")
"""Pattern for the name and the version of a reward."""


def names_of_ours(columns: Collection[str], rows: Sequence[RawRow], chosen: RowNames) -> RowNames | None:
    """Return the names of the fields in rows that rewardkit has scored, or None for other rows."""
    response = next((name for name in ("responses", "response") if name in columns), None)
    if response is None or not score_prefixes(columns, rows):
        return None
    truth = "ground_truth" if "ground_truth" in columns else VERLS
    ours = RowNames("data_source", response, truth, "prompt", "extra_info", None, GROUP)
    there = (name if name and name.partition(".")[0] in columns else None for name in astuple(ours))
    return RowNames(*(given or name for given, name in zip(astuple(chosen), there, strict=True)))


def renamed(row: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Return a row in which the fields that are in `names` have the prefix `RENAMED`."""
    return dict(zip(renamed_names(list(row), names), row.values(), strict=True))


def renamed_names(columns: Sequence[str], names: Collection[str]) -> list[str]:
    """Return the column names of a row, with the prefix `RENAMED` added to the names that are in `names`."""
    return [_free(f"{RENAMED}{name}", columns) if name in names else name for name in columns]


def _free(name: str, taken: Collection[str]) -> str:
    return _free(f"{RENAMED}{name}", taken) if name in taken else name
