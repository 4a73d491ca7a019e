"""`rewardkit eval DATASET... --model M`: prepares, generates, scores and reports, dataset by dataset.

Each step is that of `prep`, `generate`, `score` and `eval FILE`. What is done stays in a folder, and the same
command resumes an interrupted run.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import click
import msgspec
import pyarrow.compute as pc
import pyarrow.parquet as pq
from rich.table import Table

from rewardkit.commands.generate import PromptForm, generate_file
from rewardkit.commands.options.benchmarks import Benchmark
from rewardkit.commands.options.generation import to_settings
from rewardkit.commands.options.printing import figure, interval, results_console
from rewardkit.commands.options.rewards import given_to_run
from rewardkit.commands.options.scoring import RunOptions, note, score_files
from rewardkit.datasets_prep.cached import prepared, splits
from rewardkit.errors import InputError, did_you_mean
from rewardkit.evaluation.evaluation import OVERALL, Figures, evaluate
from rewardkit.evaluation.html.report import write_report
from rewardkit.evaluation.scored import read_groups, read_rows
from rewardkit.files.publishing import make_folder, published, sole_writer
from rewardkit.generation.engines import require_engine
from rewardkit.offline import ReadOptions

_SPLITS = ("test", "validation", "val")
"""Those that are for evaluation, the better one first."""


@dataclass(slots=True)
class Evaluated:
    """The result of one dataset; kept as `NAME.json` beside its responses and scores."""

    asked: dict[str, Any]
    """All that the responses depend on; the prompts by the key of the prepared dataset."""
    prompts: str
    responses: str
    scored: str
    prompt_tokens: int = 0
    response_tokens: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    """By step: `generate`, of all runs together, and `score`."""
    figures: dict[str, Any] | None = None
    """By data source, as `rewardkit eval FILE --json` has them; None: not scored yet."""


def eval_datasets(
    benchmarks: Sequence[Benchmark],
    model: str,
    out: Path,
    run: RunOptions,
    options: dict[str, dict[str, Any]],
    timeout_s: float | None,
) -> dict[str, tuple[Evaluated, Figures]] | None:
    """Evaluate a model on datasets; None where requests failed, which has been printed.

    All are prepared before the model is loaded.

    Raises:
        InputError: a dataset cannot be prepared, or the folder holds the files of another run.
    """
    for one in benchmarks:
        require_engine(to_settings(one.generation | {"model": model})[0].name)
    prompts = {one.name: _prompts(one) for one in benchmarks}
    if given := given_to_run():
        for path in prompts.values():
            given.saw(pq.read_table(path, columns=["data_source"]).column(0).unique().to_pylist())
        given.refuse_unused()
    make_folder(out.parent)
    with sole_writer(out):
        make_folder(out)
        begun = {one.name: _begin(one, prompts[one.name], model, out, run) for one in benchmarks}
        found: dict[str, tuple[Evaluated, Figures]] = {}
        for one in benchmarks:
            place = begun[one.name]
            with _kept(place, out / f"{one.name}.json"):
                if not _generate(one, place, model, run):
                    return None
                figures = _score(place, run, options, timeout_s)
            found[one.name] = place, figures.get(OVERALL) or next(iter(figures.values()))
    return found


def _prompts(one: Benchmark) -> Path:
    """The file of the split to evaluate on, prepared where it is not yet."""
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
    note(f"{one.name}: {known[name]}")
    return known[name]


def _begin(one: Benchmark, prompts: Path, model: str, out: Path, run: RunOptions) -> Evaluated:
    """A new run, or the one that has been begun.

    Raises:
        InputError: what is there is of another run, and is not to be replaced.
    """
    asked = {"prompts": f"{prompts.parent.name}/{prompts.name}", "model": model, "limit": one.limit}
    asked |= {"system": one.system, **one.generation}
    responses, scored = (out / f"{one.name}.{what}.parquet" for what in ("responses", "scored"))
    made = Evaluated(
        msgspec.json.decode(msgspec.json.encode(asked)), str(prompts), str(responses), str(scored)
    )
    record = out / f"{one.name}.json"
    if run.force or run.restart:
        responses.unlink(missing_ok=True)
    elif record.exists():
        before = msgspec.json.decode(record.read_bytes(), type=Evaluated)
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
def _kept(place: Evaluated, path: Path) -> Iterator[None]:
    """Write what is known of a run before and after it, however it ends."""
    try:
        _write(place, path)
        yield
    finally:
        _write(place, path)


def _write(place: Evaluated, path: Path) -> None:
    with published(path) as file:
        file.write(msgspec.json.format(msgspec.json.encode(place)) + b"\n")


def _generate(one: Benchmark, place: Evaluated, model: str, run: RunOptions) -> bool:
    """Generate the responses that are missing; False: requests failed, which has been printed."""
    responses = Path(place.responses)
    if not responses.exists():
        started = time.monotonic()
        anew = run.force or run.restart
        run = replace(run, resume=not anew, restart=anew)
        values = one.generation | {"model": model}
        form = PromptForm(None, one.system, "", one.limit)
        try:
            if generate_file(place.prompts, responses, values, form, run) is None:
                return False
        finally:
            place.seconds["generate"] = place.seconds.get("generate", 0.0) + time.monotonic() - started
    table = pq.read_table(responses, columns=["prompt_tokens", "response_tokens"])
    place.prompt_tokens, place.response_tokens = (
        pc.sum(pc.list_flatten(table.column(name))).as_py() or 0 for name in table.column_names
    )
    return True


def _score(
    place: Evaluated, run: RunOptions, options: dict[str, dict[str, Any]], timeout_s: float | None
) -> dict[str, Figures]:
    """Score the responses, again where they have been: rewards may have changed."""
    started = time.monotonic()
    anew = replace(run, force=True, restart=True, resume=False)
    score_files([place.responses], place.scored, anew, ReadOptions(), options, timeout_s)
    place.seconds["score"] = time.monotonic() - started
    figures = evaluate(read_groups([place.scored], prefix=run.prefix))
    place.figures = {name: found.as_dict() for name, found in figures.items()}
    return figures


def write_page(done: dict[str, tuple[Evaluated, Figures]], report: Path, title: str) -> None:
    """Write the page of all responses of a run."""
    write_report(read_rows([place.scored for place, _ in done.values()]), report, title)


def print_datasets(done: dict[str, tuple[Evaluated, Figures]], out: Path, as_json: bool) -> int:
    """Print what came of a run, a line for each dataset or all as JSON; return the exit code."""
    if as_json:
        datasets = {name: asdict(place) for name, (place, _) in done.items()}
        click.echo(json.dumps({"out": str(out), "datasets": datasets}, indent=2))
    else:
        console = results_console()
        console.print(_table(done))
        console.print(f"\nall metrics of a dataset: rewardkit eval {out}/NAME.scored.parquet", soft_wrap=True)
    return 0 if any(figures.scored for _, figures in done.values()) else 1


def _table(done: dict[str, tuple[Evaluated, Figures]]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("dataset", overflow="fold")
    for heading in ("accuracy", "95 % interval", "n", "not scored", "tokens", "cut off", "seconds"):
        table.add_column(heading, justify="right")
    for name, (place, figures) in done.items():
        table.add_row(name, *_cells(place, figures))
    return table


def _cells(place: Evaluated, one: Figures) -> Iterator[str]:
    best = one.accuracy or one.score  # a reward that knows no right and wrong has a mean
    yield from (figure(best.mean), interval(best.low, best.high)) if best else ("-", "-")
    yield f"{one.responses:,}"
    yield ", ".join(f"{n:,} {status}" for status, n in one.failures.items()) or "0"
    yield f"{place.response_tokens:,}"
    yield "-" if one.truncated is None else f"{one.truncated:.1%}"
    yield f"{sum(place.seconds.values()):,.1f}"
