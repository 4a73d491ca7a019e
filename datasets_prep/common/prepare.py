"""Implements `rewardkit.prepare`, which writes a dataset, filters its rows and verifies its solutions.

`recipe.py` writes the dataset. `quality/` finds the rows to leave out.
"""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from rewardkit.datasets_prep import DATASETS, Dataset, find_dataset
from rewardkit.datasets_prep.common.recipe import PrepResult
from rewardkit.datasets_prep.common.settings import PrepSettings
from rewardkit.datasets_prep.common.verification import (
    Verification,
    is_quick,
    solutions_scored_by,
    sum_up,
    verify_file,
)
from rewardkit.datasets_prep.common.writer import screened
from rewardkit.datasets_prep.quality.decontaminate import Decontaminate
from rewardkit.datasets_prep.quality.dedup import Dedup
from rewardkit.datasets_prep.quality.screen import QualityScreen, Stage
from rewardkit.datasets_prep.quality.verifying import Verifier
from rewardkit.errors import InputError, OptionsError, did_you_mean
from rewardkit.files.publishing import exists_already
from rewardkit.scoring.scorer import Scorer

VerifyMode = Literal["keep", "drop", "fail", "off"]
OnRows = Callable[[str, int, int | None], None]
"""Progress callback. It receives the step and split (such as `writing train`), the number of rows done, and
the total number of rows, or None if the total is unknown."""

SIMILARITY = 0.7
"""Default minimum similarity of near duplicates."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """Result of `prepare`, with the files, the rows that were left out and the failed solutions."""

    dataset: str
    result: PrepResult
    verified: dict[str, Verification]
    """Result of verifying the solutions in each verified split."""
    screen: QualityScreen

    @property
    def files(self) -> dict[str, Path]:
        """Return the parquet file, or the folder of shards, for each split."""
        return {split: file.path for split, file in self.result.files.items()}

    @property
    def failures(self) -> int:
        """Return the number of solutions that were not scored as correct."""
        return sum(len(found.failures) for found in self.verified.values())

    def as_dict(self) -> dict[str, Any]:
        """Return all results as JSON-ready data."""
        splits: dict[str, object] = {}
        for split, file in self.result.files.items():
            checked = self.verified.get(split)
            odd = self.result.unread_truths.get(split)
            splits[split] = {
                "path": str(file.path),
                "rows": file.rows,
                "bytes": file.bytes,
                "verified": checked.rows if checked else None,
                "failed": len(checked.failures) if checked else None,
                "without_solution": checked.without_solution if checked else None,
                "failures": [failure.as_dict() for failure in checked.failures] if checked else [],
                "unread_truths": odd.as_dict() if odd else None,
            }
        return {
            "dataset": self.dataset,
            "splits": splits,
            "dropped": self.result.dropped,
            "first_dropped": list(self.result.first_dropped),
            "not_read": list(self.result.unread),
            "notes": list(self.result.notes),
            "unused_columns": list(self.result.unused),
            **self.screen.as_dict(),
        }

    def __str__(self) -> str:
        lines = [f"{split}: {file.rows:,} rows in {file.path}" for split, file in self.result.files.items()]
        for split, found in self.verified.items():
            lines.append(
                f"{split}: {len(found.failures):,} of {found.rows:,} solutions are not scored as right"
            )
        return "\n".join(lines)


def prepare(
    dataset: str,
    out: str | Path,
    *,
    force: bool = False,
    verify: VerifyMode | None = None,
    dedup: float | Literal["exact", "near"] | None = None,
    decontaminate: Sequence[str] = (),
    on_progress: OnRows = lambda step, done, total: None,
    **settings: Any,
) -> Prepared:
    """Write the splits of a dataset to a folder and verify the solutions.

    Args:
        dataset: Name of a dataset in `rewardkit prep --list`.
        out: Output folder.
        force: True to overwrite existing output.
        verify: Action if a reference solution is scored as wrong. `keep` keeps and reports the row, `drop`
            drops the row, and `fail` raises an error. `off` disables the verification. None means `keep` for
            splits that take less than a minute to verify, and `off` for all other splits.
        dedup: Kind of duplicates to drop, `exact` or `near`, or the minimum similarity of the duplicates to
            drop. None keeps duplicates.
        decontaminate: Files of evaluation sets. Rows that contain a question from these files are left out of
            the training split.
        on_progress: Progress callback (see `OnRows`).
        settings: Options of `rewardkit prep DATASET`, such as `raw="FOLDER"`, `limit=100` or `level="easy"`.

    Raises:
        InputError: The raw data or the output folder cannot be used, or a solution is wrong and `verify` is
            `fail`.
        OptionsError: The dataset or a setting is unknown, or a value has the wrong type.
        MissingDependencyError: `raw` is not set and the package `datasets` is not installed.
    """
    found = dataset_named(dataset)
    common, own = settings_of(found, settings)
    wanted = QualityOptions.of(found, common, verify, dedup, tuple(decontaminate))
    folder = Path(out)
    if not force and any(next(folder.glob(files), None) for files in ("*.parquet", "*/*.parquet")):
        raise exists_already(folder)
    write = found.load()
    with screening(wanted) as screen:
        result = write(
            folder, common, **own, progress=lambda split, rows: on_progress(f"writing {split}", rows, None)
        )
        screen.write(folder)
        verified = _verify(result, wanted, on_progress)
    return Prepared(found.name, result, verified, screen)


def dataset_named(name: str) -> Dataset:
    """Return the dataset with this name.

    Raises:
        OptionsError: The name is unknown.
    """
    found = find_dataset(name)
    if found is None:
        near = did_you_mean(name, DATASETS) or "; `rewardkit prep --list` shows all datasets"
        raise OptionsError(f"no dataset '{name}'{near}")
    return found


def common_hints() -> dict[str, Any]:
    """Return the annotated type of each setting that all datasets share, by name."""
    hints = typing.get_type_hints(PrepSettings, include_extras=True)
    names = [field.name for field in dataclasses.fields(PrepSettings)]
    return {name: hints[name] for name in names if typing.get_origin(hints[name]) is typing.Annotated}


def own_parameters(dataset: Dataset) -> dict[str, tuple[Any, Any]]:
    """Return the annotated type and default value of each dataset-specific setting, by name."""
    write = dataset.load()
    hints = typing.get_type_hints(write, include_extras=True)
    parameters = inspect.signature(write).parameters.values()
    return {
        one.name: (hints[one.name], one.default)
        for one in parameters
        if one.kind is one.KEYWORD_ONLY and one.name != "progress"
    }


def union_members(hint: Any) -> tuple[Any, ...]:
    """Return the members of a union type. For any other type, return a tuple with only this type."""
    return typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)


def settings_of(dataset: Dataset, given: Mapping[str, Any]) -> tuple[PrepSettings, dict[str, Any]]:
    """Divide settings into common settings, which all datasets share, and dataset-specific settings.

    Raises:
        OptionsError: A setting is unknown, or a value has the wrong type.
        InputError: A value is out of range.
    """
    own = {name: hint for name, (hint, _) in own_parameters(dataset).items()}
    common = {name: hint for name, hint in common_hints().items() if name not in own}
    hints = common | own
    for name in given:
        if name not in hints:
            near = did_you_mean(name, hints) or f"; expected one of {', '.join(hints)}"
            raise OptionsError(f"{dataset.name} has no setting '{name}'{near}")
    values = {name: _of_its_type(name, value, hints[name]) for name, value in given.items()}
    mine = {name: values.pop(name) for name in list(values) if name in own}
    return PrepSettings(**values), mine


def _of_its_type(name: str, value: Any, hint: Any) -> Any:
    """Convert a value to the type of its setting. Paths may be given as strings, and tuples as lists."""
    kinds = union_members(typing.get_args(hint)[0])
    if value is None and types.NoneType in kinds:
        return None
    for kind in kinds:
        origin = typing.get_origin(kind)
        if origin is tuple and isinstance(value, str | tuple | list):
            return (value,) if isinstance(value, str) else tuple(value)
        if origin is typing.Literal and isinstance(value, str):
            return value  # The dataset's `prepare` checks the value and suggests the nearest valid value.
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            return float(value)
        if kind in (bool, int, float, str) and type(value) is kind:
            return value
    if Path in kinds and isinstance(value, str | Path):
        return Path(value)
    named = " or ".join(getattr(kind, "__name__", str(kind)) for kind in kinds if kind is not types.NoneType)
    raise OptionsError(f"setting {name} must be {named}, not {value!r:.60}")


@dataclass(frozen=True, slots=True)
class QualityOptions:
    """Options that determine which rows are left out and which solutions are scored."""

    verify: VerifyMode | None
    """Verification mode. None means `keep` for splits that can be scored quickly, and `off` for all other
    splits."""
    dedup: float | None = None
    """Minimum similarity of duplicates, or None to keep duplicates."""
    against: tuple[str, ...] = ()
    """Files of evaluation sets, whose questions must not appear in the training split."""

    @classmethod
    def of(
        cls,
        dataset: Dataset,
        settings: PrepSettings,
        verify: VerifyMode | None,
        dedup: float | str | None,
        against: tuple[str, ...],
    ) -> QualityOptions:
        """Create options for a dataset after checking the values.

        Raises:
            InputError: A value is invalid, an option does not apply to the dataset, or the options cannot be
                combined.
        """
        if verify not in (*typing.get_args(VerifyMode), None):
            raise InputError(f"--verify must be keep, drop or fail, not {verify}")
        if verify not in (None, "off") and not dataset.verifiable:
            raise InputError(f"{dataset.name} has no solutions to verify; drop --verify")
        similarity = _similarity(dedup)
        if settings.like:
            if verify not in (None, "off") or similarity or against:
                raise InputError("--like cannot be combined with --verify, --dedup or --decontaminate")
            return cls("off")
        return cls(verify if dataset.verifiable else "off", similarity, against)

    @property
    def verifies_later(self) -> bool:
        """Return True if solutions are scored after publishing, in which case no rows are dropped."""
        return self.verify in ("keep", None)


def _similarity(given: float | str | None) -> float | None:
    if given is None:
        return None
    named = {"near": SIMILARITY, "exact": 1.0}
    try:
        found = named[given] if given in named else float(given)
    except ValueError:
        found = 0.0
    if not 0.5 <= found <= 1.0:
        raise InputError(f"--dedup must be exact, near, or a similarity from 0.5 to 1, not {given}")
    return found


@contextlib.contextmanager
def screening(wanted: QualityOptions) -> Iterator[QualityScreen]:
    """Apply the requested filters to every row that is written in the block."""
    with contextlib.ExitStack() as stack:
        stages: list[Stage] = []
        if wanted.dedup is not None:
            stages.append(Dedup(wanted.dedup))
        if wanted.against:
            stages.append(Decontaminate(wanted.against))
        if wanted.verify in ("keep", "drop", "fail"):
            scorer = stack.enter_context(Scorer())
            stack.enter_context(solutions_scored_by(scorer))
        if wanted.verify in ("drop", "fail"):
            stages.append(Verifier(scorer, fail=wanted.verify == "fail"))
        screen = QualityScreen(stages)
        stack.enter_context(screened(screen if stages else None))
        yield screen


def _verify(result: PrepResult, wanted: QualityOptions, on_progress: OnRows) -> dict[str, Verification]:
    if not wanted.verifies_later:
        return {}
    files = {split: file for split, file in result.files.items() if wanted.verify or is_quick(file.parts)}

    def progressed(split: str, rows: int) -> None:
        on_progress(f"verifying {split}", rows, files[split].rows)

    with Scorer() as scorer:
        return {
            split: sum_up([verify_file(part, scorer, partial(progressed, split)) for part in file.parts])
            for split, file in files.items()
        }
