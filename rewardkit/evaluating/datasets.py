"""Evaluation of a model on datasets, with preparation, generation and scoring.

All files of a run are in one folder. Repeating the same call resumes an interrupted run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rewardkit.checks.checked_scoring import OnNote, RunOptions, score_files
from rewardkit.composition.given import GivenRewards
from rewardkit.datasets_prep import Dataset
from rewardkit.datasets_prep.cached import prepared, splits
from rewardkit.datasets_prep.common.prepare import dataset_named, settings_of
from rewardkit.datasets_prep.common.settings import PrepSettings
from rewardkit.errors import InputError, did_you_mean
from rewardkit.evaluating.parts import lost_rows
from rewardkit.evaluating.result import DatasetRun, unscored_problem
from rewardkit.evaluation.evaluation import OVERALL, Figures, figures_by_source
from rewardkit.evaluation.scored import read_groups
from rewardkit.files.publishing import make_folder, published, sole_writer
from rewardkit.generation.engines import require_engine
from rewardkit.generation.generate import OnUnused, generate
from rewardkit.generation.settings import to_settings
from rewardkit.logs.reader import PLAIN
from rewardkit.scoring.scorer import Scorer

OnStep = Callable[[str, int, int | None], None]
"""Callback that receives the name of the step, the amount done, and the total, or None if unknown."""

_SPLITS = ("test", "validation", "val")
"""Names of splits to evaluate on, in order of preference."""


@dataclass(frozen=True, slots=True)
class Benchmark:
    """Dataset with the settings for preparing it and for generating responses."""

    name: str
    dataset: Dataset
    settings: PrepSettings
    own: dict[str, Any]
    """Preparation settings that only this dataset has."""
    split: str | None = None
    limit: int | None = None
    system: str = ""
    generation: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def named(cls, name: str, prep: Mapping[str, Any]) -> Benchmark:
        """Return the benchmark for the dataset with this name, with settings for `rewardkit.prepare`.

        Raises:
            OptionsError: The dataset or a setting is unknown, or a value has the wrong type.
        """
        dataset = dataset_named(name)
        return cls(dataset.name, dataset, *settings_of(dataset, prep))


@dataclass(frozen=True, slots=True)
class DatasetsRun:
    """Settings and callbacks shared by all datasets in a run."""

    model: str
    out: Path
    run: RunOptions
    scorer: Scorer
    given: GivenRewards | None
    on_unused: OnUnused | None
    on_step: OnStep
    on_note: OnNote


def run_datasets(
    benchmarks: Sequence[Benchmark], shared: DatasetsRun
) -> tuple[dict[str, DatasetRun], dict[str, Figures], list[str]]:
    """Evaluate a model on datasets.

    Return the runs and the figures by name of the dataset, and messages about rows missing from the figures.

    All datasets are prepared before the model is loaded.

    Raises:
        InputError: A dataset cannot be prepared, or the folder contains the files of another run.
        RequestsFailedError: The model did not answer all prompts. The same call retries the missing prompts.
    """
    out = shared.out
    for one in benchmarks:
        require_engine(to_settings(one.generation | {"model": shared.model})[0].name)
    prompts = {one.name: _prompts(one, shared.on_note) for one in benchmarks}
    if shared.given:
        for path in prompts.values():
            shared.given.saw(pq.read_table(path, columns=["data_source"]).column(0).unique().to_pylist())
        shared.given.refuse_unused()
    make_folder(out.parent)
    with sole_writer(out):
        make_folder(out)
        begun = {one.name: _begin(one, prompts[one.name], shared) for one in benchmarks}
        found: dict[str, Figures] = {}
        problems: list[str] = []
        for one in benchmarks:
            with _kept(begun[one.name], out / f"{one.name}.json"):
                _generate(one, begun[one.name], shared)
                figures, lost = _score(begun[one.name], shared)
            found[one.name] = figures.get(OVERALL) or next(iter(figures.values()))
            problems += [f"{one.name}: {line}" for line in lost]
        return begun, found, problems


def _prompts(one: Benchmark, on_note: OnNote) -> Path:
    """Prepare the dataset if necessary, and return the file with the split to evaluate on."""
    known = splits(prepared(one.dataset, one.settings, one.own))
    name = one.split or next((split for split in _SPLITS if split in known), None)
    if name is None and len(known) == 1:
        (name,) = known
    if name is None or name not in known:
        usual = " or ".join(_SPLITS)
        what = f"has no split '{name}'" if name else f"has several splits, but none named {usual}"
        near = did_you_mean(name, known) if name else ""
        raise InputError(
            f"the dataset {one.dataset.name} {what}; pass --split with one of {', '.join(known)}{near}"
        )
    on_note(f"{one.name}: {known[name]}")
    return known[name]


def _begin(one: Benchmark, prompts: Path, shared: DatasetsRun) -> DatasetRun:
    """Return a new run, or the run started by an earlier call.

    Raises:
        InputError: The folder contains files of another run, and neither `force` nor `restart` is True.
    """
    out, run = shared.out, shared.run
    asked = {"prompts": f"{prompts.parent.name}/{prompts.name}", "model": shared.model, "limit": one.limit}
    asked |= {"system": one.system, **one.generation}
    responses, scored = (out / f"{one.name}.{what}.parquet" for what in ("responses", "scored"))
    made = DatasetRun(
        msgspec.json.decode(msgspec.json.encode(asked)), str(prompts), str(responses), str(scored)
    )
    record = out / f"{one.name}.json"
    if run.force or run.restart:
        responses.unlink(missing_ok=True)
    elif record.exists():
        before = msgspec.json.decode(record.read_bytes(), type=DatasetRun)
        keys = {*before.asked, *made.asked}
        if changed := sorted(key for key in keys if before.asked.get(key) != made.asked.get(key)):
            raise InputError(
                f"{record} belongs to a run with different settings ({', '.join(changed)}); "
                "pass --force to replace it, or another folder with --out"
            )
        made.seconds = before.seconds
    elif responses.exists():
        raise InputError(
            f"{responses} already exists; pass --force to overwrite it, or another folder with --out"
        )
    return made


@contextmanager
def _kept(place: DatasetRun, path: Path) -> Iterator[None]:
    """Write the record of a run before and after the block, even if the block raises an exception."""
    try:
        _write(place, path)
        yield
    finally:
        _write(place, path)


def _write(place: DatasetRun, path: Path) -> None:
    with published(path) as file:
        file.write(msgspec.json.format(msgspec.json.encode(place)) + b"\n")


def _generate(one: Benchmark, place: DatasetRun, shared: DatasetsRun) -> None:
    """Generate the responses if their file does not exist, and record the time and the number of tokens."""
    responses = Path(place.responses)
    if not responses.exists():
        started = time.monotonic()
        anew = shared.run.force or shared.run.restart
        try:
            generate(
                place.prompts,
                responses,
                model=shared.model,
                system=one.system,
                limit=one.limit,
                resume=not anew,
                restart=anew,
                cluster=shared.run.ray,
                on_unused=shared.on_unused,
                on_progress=lambda done, total, _: shared.on_step(f"{one.name}: generating", done, total),
                on_note=shared.on_note,
                **one.generation,
            )
        finally:
            place.seconds["generate"] = place.seconds.get("generate", 0.0) + time.monotonic() - started
    table = pq.read_table(responses, columns=["prompt_tokens", "response_tokens"])
    place.prompt_tokens, place.response_tokens = (
        pc.sum(pc.list_flatten(table.column(name))).as_py() or 0 for name in table.column_names
    )


def _score(place: DatasetRun, shared: DatasetsRun) -> tuple[dict[str, Figures], list[str]]:
    """Score the responses again even if they have scores, since rewards may have changed.

    Return the figures by data source, and messages about missing rows.
    """
    started = time.monotonic()
    report = score_files(
        [([place.responses], place.scored)],
        scorer=shared.scorer,
        options=PLAIN,
        run=replace(shared.run, force=True, restart=True, resume=False),
        on_progress=lambda done, total: shared.on_step("scoring", done, total),
        on_note=shared.on_note,
    )
    place.seconds["score"] = time.monotonic() - started
    prefix = shared.run.prefix
    groups = read_groups([place.scored], prefix=prefix)
    figures = figures_by_source(groups)
    place.figures = {name: found.as_dict() for name, found in figures.items()}
    lost = [line for name, found in figures.items() if (line := unscored_problem(name, found))]
    return figures, [*lost, *lost_rows(groups, [], [place.scored], report, PLAIN, prefix)]
