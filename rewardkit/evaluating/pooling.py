"""Remarks on how an evaluation groups responses: what it pools, and rows that name no prompt."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

from rewardkit.evaluation.scored import Groups, ScoredRow, named_prompt, status_of
from rewardkit.offline.origins import Origin, changes_line, differences, reward_changes, some

_FILES = 2
"""Number of files that `rewardkit compare` reads."""


class PromptCounts:
    """Counts of the rows without a prompt, and of the prompts with responses in several files."""

    def __init__(self) -> None:
        self._nameless: set[int] = set()
        """Rows without a prompt, each of which counts as a prompt of its own."""
        self._file = 0
        self._last = {"file_row": -1, "place": -1}
        self._first: dict[tuple[Any, int], int] = {}
        """File in which each prompt was seen first, by data source and hash."""
        self._shared: set[tuple[Any, int]] = set()

    def see(self, row: ScoredRow) -> None:
        """Count a row of `read_rows`. Rows without a prompt that cannot be read do not count."""
        last, self._last = self._last, row
        self._file += row["place"] != last["place"] and row["file_row"] <= last["file_row"]
        prompt = named_prompt(row)
        if prompt is not None:
            key = (row.get("data_source"), hash(prompt))
            if self._first.setdefault(key, self._file) != self._file:
                self._shared.add(key)
        elif status_of(row) != "invalid":
            self._nameless.add(row["place"])

    @property
    def shared(self) -> int:
        """Number of prompts with responses in several files."""
        return len(self._shared)

    @property
    def line(self) -> str:
        """Line about the rows without a prompt, or "" if there are none."""
        if not self._nameless:
            return ""
        return (
            f"rows without a prompt: {len(self._nameless):,}; each counts as a prompt of its own in pass@k "
            "and intervals; name the column of the prompt or of its id with --prompt-key"
        )


def pooled_line(files: Sequence[str], origins: Sequence[Origin], groups: Groups, shared: int) -> str:
    """Return a line if the responses have different origins, or "" if they are samples of one origin.

    Args:
        files: Files of the evaluation.
        origins: Origin of each file.
        groups: Responses in the files.
        shared: Number of prompts with responses in several files, which may come from different models if no
            origin is recorded.
    """
    prompts = chain.from_iterable(one.values() for one in groups.values())
    models = sorted({one.model for group in prompts for one in group} - {""})
    found = differences(origins)
    if len(models) > 1 and not any(one.startswith("model ") for one in found):
        found.insert(0, f"model ({some(models)})")
    what = f"differ in {', '.join(found)}" if found else ""
    if scored := reward_changes(origins):
        what += f"{' and ' * bool(what)}were scored differently ({changes_line(scored)})"
    unknown = len(files) > 1 and not any(origin.generations for origin in origins)
    if not what and shared and unknown:
        what = f"to {shared:,} prompts are in several files"
    if not what:
        return ""
    two = " ".join(files) if len(files) == _FILES else "A B"
    advice = "" if len(files) > 1 else ", with the rows of each in a file of its own"
    return f"the responses {what}, and each figure pools them; run rewardkit compare {two}{advice}"
