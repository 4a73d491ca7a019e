"""Reads task sets from the output of `rewardkit prep`. A parquet file is a split, and a folder is a set."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from rewardkit.errors import InputError, reason_of
from rewardkit.server.tasks import TaskSet
from rewardkit.tables import column_of, names_in

COLUMNS = ("data_source", "ground_truth", "prompt", "extra_info")


def open_task_sets(words: Iterable[str]) -> dict[str, TaskSet]:
    """Open the task sets given as `NAME=PATH` or `PATH`. The default name is the name of the file or folder.

    Raises:
        InputError: Two sets have the same name, or a set cannot be opened.
    """
    found: dict[str, TaskSet] = {}
    for word in words:
        name, _, path = word.rpartition("=")
        name = (name or Path(path).resolve().stem).lower()
        if name in found:
            raise InputError(f"--tasks {word}: two task sets are named '{name}'; rename one with NAME=PATH")
        found[name] = open_task_set(name, Path(path))
    return found


def open_task_set(name: str, path: Path) -> TaskSet:
    """Read a task set from a parquet file, or from a folder of parquet files.

    Raises: InputError: There is no file, a file cannot be read, or a required column is missing.
    """
    files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    if not files:
        raise InputError(
            f"{path} contains no parquet file; `rewardkit prep` writes train.parquet and test.parquet"
        )
    return TaskSet(name, {file.stem: _read(file) for file in files})


def _read(path: Path) -> pa.Table:
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"cannot read {path}: {reason_of(error)}") from None
    names = names_in(table.schema)
    for needed in ("data_source", "ground_truth", "prompt"):
        if getattr(names, needed) is None:
            raise InputError(
                f"{path} has no {needed.replace('_', ' ')} column; prepare the file with `rewardkit prep`"
            )
    empty = pa.nulls(len(table))
    columns = {name: getattr(names, name) for name in COLUMNS}
    return pa.table({name: column_of(table, at) if at else empty for name, at in columns.items()})
