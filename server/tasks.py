"""Prepared rows as tasks that an environment's client asks for: what it may see of them, and what it may not.

A set is a file or a folder of parquet as `rewardkit prep` writes it; its files are the splits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from starlette.exceptions import HTTPException

from rewardkit.errors import InputError
from rewardkit.rows import ground_truth_text, plain_mapping, prompt_of
from rewardkit.tables import column_of, names_in
from rewardkit.types import Message, Sample

_COLUMNS = ("data_source", "ground_truth", "prompt", "extra_info")


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
        path: a parquet file, or a folder of them.

    Raises:
        InputError: there is no such file, or one cannot be read or has not the columns of prepared rows.
    """

    def __init__(self, name: str, path: Path) -> None:
        files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
        if not files:
            raise InputError(
                f"{path} holds no parquet file; `rewardkit prep` writes train.parquet and test.parquet"
            )
        self.name = name
        self._splits = {file.stem: _read(file) for file in files}

    @property
    def splits(self) -> dict[str, int]:
        """How many tasks each split has."""
        return {name: len(table) for name, table in self._splits.items()}

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
        raise HTTPException(404, f"no environment '{name}'; there are {', '.join(sets)}")
    return found


def open_task_sets(words: Iterable[str]) -> dict[str, TaskSet]:
    """Open the sets that `NAME=PATH` words name; a path alone is named after its file or folder.

    Raises:
        InputError: two of one name, or what `TaskSet` raises.
    """
    found: dict[str, TaskSet] = {}
    for word in words:
        name, _, path = word.rpartition("=")
        name = (name or Path(path).resolve().stem).lower()
        if name in found:
            raise InputError(f"--tasks {word}: there are two sets called '{name}'; name one with NAME=PATH")
        found[name] = TaskSet(name, Path(path))
    return found


def _read(path: Path) -> pa.Table:
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"cannot read {path}: {error}") from None
    names = names_in(table.schema)
    for needed in ("data_source", "ground_truth", "prompt"):
        if getattr(names, needed) is None:
            raise InputError(
                f"{path} has no column of {needed.replace('_', ' ')}s; prepare it with `rewardkit prep`"
            )
    empty = pa.nulls(len(table))
    columns = {name: getattr(names, name) for name in _COLUMNS}
    return pa.table({name: column_of(table, at) if at else empty for name, at in columns.items()})
