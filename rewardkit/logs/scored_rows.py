"""Rows that rewardkit has scored: the columns that scoring adds, and how such rows are known again."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import astuple
from typing import Any

from rewardkit.rows import GROUP, RowNames

RENAMED = "logged_"
"""Put before the names of a row's own columns that ours take."""

SCORE_COLUMNS = ("score", "status", "correct", "extracted", "detail", "scorer", "parts", "seconds")
"""What scoring adds to a row."""

VERLS = "reward_model.ground_truth"
"""Ground truth in the rows of verl, which a scored row keeps there, but in csv, where structs are text."""


def carried_fields(response_name: str) -> tuple[str, ...]:
    """Return our names of the fields that a scored row carries, besides its scores, in order."""
    return ("data_source", GROUP, "prompt", response_name, "ground_truth", "extra_info", "finish_reason")


def score_prefixes(columns: Collection[str]) -> list[str]:
    """Return the prefixes under which rewardkit has added scores to columns of these names, the last one
    last; none for rows that it has not scored."""
    found = [name.removesuffix("scorer") for name in columns if name.endswith("scorer")]
    return [prefix for prefix in found if {f"{prefix}score", f"{prefix}status"} <= set(columns)]


def names_of_ours(columns: Collection[str], chosen: RowNames) -> RowNames | None:
    """Return the names of the fields of rows that rewardkit has scored; None for others."""
    response = next((name for name in ("responses", "response") if name in columns), None)
    if not score_prefixes(columns) or response is None:
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
