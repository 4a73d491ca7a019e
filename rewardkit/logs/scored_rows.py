"""Rows that rewardkit has scored: the columns that scoring adds, and how such rows are known again."""

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
"""Put before the names of a row's own columns that ours take."""

VERLS = "reward_model.ground_truth"
"""Ground truth in the rows of verl, which a scored row keeps there, but in csv, where structs are text."""


def carried_fields(response_name: str) -> tuple[str, ...]:
    """Return our names of the fields that a scored row carries, besides its scores, in order."""
    return ("data_source", GROUP, "prompt", response_name, "ground_truth", "extra_info", "finish_reason")


def score_prefixes(columns: Collection[str], rows: Sequence[RawRow]) -> list[str]:
    """Return the prefixes under which rewardkit has added scores, the last one last; none for rows that it
    has not scored.

    Args:
        columns: names of all columns.
        rows: the first rows. Columns of another tool may have the names of ours, but not our values.
    """
    found = [name.removesuffix("scorer") for name in columns if name.endswith("scorer")]
    found = [prefix for prefix in found if {f"{prefix}score", f"{prefix}status"} <= set(columns)]
    return [prefix for prefix in found if _are_ours(rows, prefix)]


def _are_ours(rows: Sequence[RawRow], prefix: str) -> bool:
    """Tell whether no row has scores of another tool."""
    names = [f"{prefix}{name}" for name in ("score", "status", "scorer")]
    scored = [row for row in rows if any(row.get(name) not in (None, "") for name in names)]
    return all(_is_ours(row, prefix) for row in scored)


def _is_ours(row: RawRow, prefix: str) -> bool:
    """Tell whether all scores of a row are of rewardkit: by a reward with its version, or failures."""
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
"""Name and version of a reward."""


def names_of_ours(columns: Collection[str], rows: Sequence[RawRow], chosen: RowNames) -> RowNames | None:
    """Return the names of the fields of rows that rewardkit has scored; None for others."""
    response = next((name for name in ("responses", "response") if name in columns), None)
    if response is None or not score_prefixes(columns, rows):
        return None
    truth = "ground_truth" if "ground_truth" in columns else VERLS
    ours = RowNames("data_source", response, truth, "prompt", "extra_info", None, GROUP)
    there = (name if name and name.partition(".")[0] in columns else None for name in astuple(ours))
    return RowNames(*(given or name for given, name in zip(astuple(chosen), there, strict=True)))


def renamed(row: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Return a row whose own fields make room for those of these names."""
    return dict(zip(renamed_names(list(row), names), row.values(), strict=True))


def renamed_names(columns: Sequence[str], names: Collection[str]) -> list[str]:
    """Return the names of a row's own columns, which make room for those of these names."""
    return [_free(f"{RENAMED}{name}", columns) if name in names else name for name in columns]


def _free(name: str, taken: Collection[str]) -> str:
    return _free(f"{RENAMED}{name}", taken) if name in taken else name
