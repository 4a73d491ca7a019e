"""Generates problems with reasoning_gym (github.com/open-thought/reasoning-gym). Every task has its own
verifier.

Install the package with `pip install 'rewardkit[reasoning-gym]'`. No data is downloaded. Use --task to choose
the tasks. The ground truth is the entire entry (question, answer and metadata) as JSON, because the task's
verifier needs all of it.
"""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from rewardkit.datasets_prep.common.prompts import after, read_template, shaped
from rewardkit.datasets_prep.common.recipe import PrepResult, publish
from rewardkit.datasets_prep.common.schema import Row, chat, to_batches
from rewardkit.datasets_prep.common.settings import PrepSettings, check_count
from rewardkit.datasets_prep.common.sources import Source
from rewardkit.datasets_prep.common.writer import OnWritten
from rewardkit.errors import InputError, MissingDependencyError, did_you_mean

INSTRUCTION = "Give the final answer between <answer> and </answer>."


def prepare(
    out_dir: Path,
    settings: PrepSettings | None = None,
    *,
    task: Annotated[tuple[str, ...], "Name of a task. May be repeated."] = (
        "chain_sum",
        "basic_arithmetic",
    ),
    n_train: Annotated[int, "Number of problems in train.parquet."] = 10_000,
    n_test: Annotated[int, "Number of problems in test.parquet. They use different seeds."] = 500,
    seed: Annotated[int, "Random seed for the problems."] = 0,
    progress: OnWritten | None = None,
) -> PrepResult:
    """Generate problems and write them to train.parquet and test.parquet in `out_dir`.

    The rows alternate between the tasks.

    Raises:
        InputError: A task is unknown or has too few different problems, or the output folder cannot be
            written.
        MissingDependencyError: The package reasoning_gym is not installed.
    """
    settings = settings or PrepSettings()
    settings.refuse("reasoning_gym", "raw", "split_name", "revision")
    sizes = {"train": n_train, "test": n_test}
    for split, wanted in sizes.items():
        check_count(f"n_{split}", wanted)
    instruction = INSTRUCTION if settings.instruction is None else settings.instruction
    template = read_template(settings.template)

    version = str(getattr(_package(), "__version__", "unknown"))
    seen: set[bytes] = set()

    def rows(split: str) -> Iterator[Row]:
        for row in _rows(task, split, sizes[split], seed, instruction, seen):
            yield shaped(row, template, instruction, settings.system)

    return publish(
        out_dir,
        "reasoning_gym",
        {split: to_batches(rows(split)) for split in sizes},
        settings,
        source=Source({}, {"generator": "reasoning_gym", "version": version}),
        arguments={"task": list(task), "n_train": n_train, "n_test": n_test, "seed": seed},
        progress=progress,
    )


def _rows(
    tasks: tuple[str, ...], split: str, wanted: int, seed: int, instruction: str, seen: set[bytes]
) -> Iterator[Row]:
    """Yield rows that alternate between the tasks. Questions in `seen` are skipped."""
    each = -(-wanted // len(tasks))
    drawn = [_entries(task, each, _start(task, split, seed), seen) for task in tasks]
    for index in range(wanted):
        task = tasks[index % len(tasks)]
        entry = next(drawn[index % len(tasks)], None)
        if entry is None:
            raise InputError(
                f"reasoning_gym has too few different problems of '{task}' for n_{split}={wanted}; lower "
                f"n_{split}"
            )
        question = str(entry["question"])
        answer = entry["answer"]
        kept = {"question": question, "answer": answer, "metadata": entry["metadata"]}
        yield Row(
            data_source=f"reasoning_gym/{task}",
            prompt=chat(after(question, instruction)),
            ability="reasoning",
            ground_truth=json.dumps(kept, default=str, ensure_ascii=False),
            split=split,
            index=index,
            question=question,
            answer="" if answer is None else f"<answer>{answer}</answer>",
            metadata={"task": task},
        )


def _entries(task: str, wanted: int, start: int, seen: set[bytes]) -> Iterator[dict[str, Any]]:
    dataset = _dataset(task, wanted * 4 + 100, start)
    for place in range(len(dataset)):
        entry = dataset[place]
        digest = hashlib.blake2b(str(entry["question"]).encode(), digest_size=16).digest()
        if digest not in seen:
            seen.add(digest)
            yield entry


def _start(task: str, split: str, seed: int) -> int:
    """Return the first seed for one split of a task.

    First seeds must be far apart, because reasoning_gym generates the same problem for index `i` with seed
    `s` as for index 0 with seed `s + i`.
    """
    digest = hashlib.blake2b(f"{task} {split} {seed}".encode(), digest_size=5).digest()
    return int.from_bytes(digest, "big")


def _dataset(task: str, size: int, seed: int) -> Any:
    gym = _package()
    known = sorted(importlib.import_module("reasoning_gym.factory").DATASETS)
    if task not in known:
        raise InputError(f"reasoning_gym has no task '{task}'{did_you_mean(task, known)}")
    try:
        return gym.create_dataset(task, size=size, seed=seed)
    except Exception as error:  # a generator may raise any exception when it checks its arguments
        raise InputError(f"reasoning_gym cannot generate '{task}': {str(error)[:120]}") from error


def _package() -> Any:
    try:
        return importlib.import_module("reasoning_gym")
    except ImportError:
        raise MissingDependencyError(
            "reasoning_gym is not installed: pip install 'rewardkit[reasoning-gym]'"
        ) from None
