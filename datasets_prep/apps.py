"""APPS (Hendrycks et al. 2021, arXiv:2105.09938) contains programming problems from coding websites, 5,000
for training and 5,000 for testing.

Raw files: `train.jsonl` and `test.jsonl` from codeparrot/apps, or the original folders `APPS/{train,
test}/NNNN/` with the files `question.txt`, `solutions.json`, `input_output.json`, `starter_code.py` and
`metadata.json`.

Raw columns: `problem_id`, `question`, `solutions` (JSON list), `input_output` (JSON object), `difficulty`,
`url` and `starter_code`. A problem without tests is a bad row.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from rewardkit.datasets_prep.common.layout import SplitLayout
from rewardkit.datasets_prep.common.programs import ProblemSet, inputs_outputs
from rewardkit.datasets_prep.common.readers import BadRows
from rewardkit.datasets_prep.common.sources import Hub, Record, Source, open_raw
from rewardkit.errors import InputError

_FILES = {
    "question": "question.txt",
    "solutions": "solutions.json",
    "input_output": "input_output.json",
    "starter_code": "starter_code.py",
}


def _open(raw: str | Path, layout: SplitLayout) -> Source:
    """Open the published files, or the original folder with one subfolder per problem."""
    root = Path(raw)
    folders = {split: _problems(root / split) for split in ("train", "test")}
    if not any(folders.values()):
        return open_raw(raw, layout)
    files = (file for problems in folders.values() for p in problems for file in sorted(p.iterdir()))
    digest = hashlib.sha256()
    try:
        for file in files:
            digest.update(f"{file.relative_to(root).as_posix()} {file.stat().st_size}\n".encode())
    except OSError as error:
        raise InputError(f"cannot read {error.filename}: {error.strerror}") from error
    splits: dict[str, Callable[[BadRows], Iterator[Record]]] = {
        split: partial(_read, problems, root) for split, problems in folders.items() if problems
    }
    names = {split: len(problems) for split, problems in folders.items()}
    return Source(splits, {"folders": names, "sha256_of_names_and_sizes": digest.hexdigest()})


def _problems(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if (path / "question.txt").is_file())


def _read(problems: list[Path], raw: Path, bad: BadRows) -> Iterator[Record]:
    for index, problem in enumerate(problems):
        where = problem.relative_to(raw).as_posix()
        try:
            values: dict[str, Any] = {
                column: (problem / name).read_text(encoding="utf-8") if (problem / name).is_file() else ""
                for column, name in _FILES.items()
            }
            told = problem / "metadata.json"
            metadata = json.loads(told.read_text(encoding="utf-8")) if told.is_file() else {}
            if not isinstance(metadata, dict):
                raise ValueError("metadata.json must be a JSON object")
        except (OSError, ValueError) as error:
            bad.add(InputError(f"cannot read the raw files of the APPS problem {where}: {str(error)[:120]}"))
            continue
        number = int(problem.name) if problem.name.isdecimal() else index
        yield Record(where, index, {**values, **metadata, "problem_id": number})


prepare = ProblemSet(
    "apps",
    Hub("codeparrot/apps", "all", ("train", "test"), "train.jsonl and test.jsonl", script=True),
    metadata=("problem_id", "difficulty", "url"),
    problem=inputs_outputs,
    open=_open,
).prepare
