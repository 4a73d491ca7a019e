"""Prepared rows as tasks for environment protocols, whose clients do not see all fields of a row.

The rows are read by `task_files`, a separate module, because a server without tasks does not need Arrow.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.exceptions import HTTPException

from rewardkit.rows import ground_truth_text, plain_mapping, prompt_of
from rewardkit.types import Message, Sample

if TYPE_CHECKING:
    import pyarrow as pa


class Task(NamedTuple):
    """A prepared row, as a task with one answer."""

    prompt: list[Message]
    data_source: str
    ground_truth: str
    """Ground truth of the row. It is never sent to clients."""
    extra_info: dict[str, Any]
    """Extra info of the row. It is never sent to clients, since it often contains the reference solution."""

    def sample(self, response: str) -> Sample:
        """Return a sample for scoring a response to this task."""
        return Sample(self.data_source, response, self.ground_truth, self.prompt, self.extra_info)


class TaskSet:
    """A named set of tasks, divided into splits.

    Args:
        name: Name by which clients request the set.
        splits: Rows of each split, with the columns `task_files.COLUMNS`.
    """

    def __init__(self, name: str, splits: Mapping[str, pa.Table]) -> None:
        self.name = name
        self._splits = dict(splits)

    @property
    def splits(self) -> dict[str, int]:
        """Number of tasks in each split."""
        return {name: len(table) for name, table in self._splits.items()}

    @property
    def data_sources(self) -> set[str]:
        """Data sources of all rows."""
        return {
            str(source)
            for table in self._splits.values()
            for source in table["data_source"].unique().to_pylist()
        }

    def task(self, split: str, index: int) -> Task:
        """Return a task by its split and index.

        Raises:
            KeyError: The split does not exist.
            IndexError: The split has no row with this index.
        """
        table = self._splits[split]
        if not 0 <= index < len(table):
            raise IndexError(index)
        (row,) = table.slice(index, 1).to_pylist()
        prompt = prompt_of(row["prompt"])
        return Task(
            [{"role": "user", "content": prompt or ""}]
            if prompt is None or isinstance(prompt, str)
            else prompt,
            str(row["data_source"] or ""),
            ground_truth_text(row["ground_truth"]) or "",
            plain_mapping(row["extra_info"]),
        )


def task_set_of(sets: Mapping[str, TaskSet], name: str | None) -> TaskSet:
    """Return the task set with this name (case is ignored), or the first task set if the name is None.

    Raises:
        HTTPException: There is no task set with this name (status 404).
    """
    if name is None:
        return next(iter(sets.values()))
    found = sets.get(name.lower())
    if found is None:
        raise HTTPException(404, f"unknown environment '{name}'; environments: {', '.join(sets)}")
    return found
