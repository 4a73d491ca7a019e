"""Prepared rows as tasks that an environment's client asks for: what it may see of them, and what it may not.

Reading them from files is `task_files`' business: a server without tasks does without Arrow.
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
    """One row."""

    prompt: list[Message]
    data_source: str
    ground_truth: str
    """Never leaves the server."""
    extra_info: dict[str, Any]
    """Neither does this: many sets keep the reference solution there."""

    def sample(self, response: str) -> Sample:
        """The response to this task, ready to be scored."""
        return Sample(self.data_source, response, self.ground_truth, self.prompt, self.extra_info)


class TaskSet:
    """The tasks of one name, in splits.

    Args:
        name: under which clients ask for it.
        splits: the rows of each, with the columns of `task_files.COLUMNS`.
    """

    def __init__(self, name: str, splits: Mapping[str, pa.Table]) -> None:
        self.name = name
        self._splits = dict(splits)

    @property
    def splits(self) -> dict[str, int]:
        """Return the number of tasks of each split."""
        return {name: len(table) for name, table in self._splits.items()}

    @property
    def data_sources(self) -> set[str]:
        """Those of all rows."""
        return {
            str(source)
            for table in self._splits.values()
            for source in table["data_source"].unique().to_pylist()
        }

    def task(self, split: str, index: int) -> Task:
        """Return one task.

        Raises:
            KeyError: no such split.
            IndexError: no such row.
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
    """The set of a name, in any case; the first one for none.

    Raises:
        HTTPException: 404, no such set.
    """
    if name is None:
        return next(iter(sets.values()))
    found = sets.get(name.lower())
    if found is None:
        raise HTTPException(404, f"unknown environment '{name}'; environments: {', '.join(sets)}")
    return found
