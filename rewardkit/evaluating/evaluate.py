"""`rewardkit.evaluate`: figures with intervals for files, a table or datasets.

If a model is given, responses are generated first. Files without scores from rewardkit are scored.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rewardkit.checks.checked_scoring import OnNote, RunOptions, score_files
from rewardkit.composition.given import GivenRewards
from rewardkit.datasets_prep import DATASETS, find_dataset
from rewardkit.errors import InputError, OptionsError, did_you_mean
from rewardkit.evaluating.datasets import Benchmark, DatasetsRun, OnStep, run_datasets
from rewardkit.evaluating.parts import dropped_sources, lost_rows, parts_of
from rewardkit.evaluating.pooling import PromptCounts, pooled_line
from rewardkit.evaluating.result import Evaluation, unscored_problem
from rewardkit.evaluation.evaluation import figures_by_flag, figures_by_source
from rewardkit.evaluation.html.report import write_report
from rewardkit.evaluation.scored import dumps_in, read_groups, read_rows
from rewardkit.files.inputs import STDIN
from rewardkit.generation.generate import OnUnused, generate
from rewardkit.generation.settings import checked
from rewardkit.logs.layout import ReadOptions
from rewardkit.logs.reader import PLAIN
from rewardkit.offline.chunk import BadRowPolicy
from rewardkit.offline.frame import as_file
from rewardkit.offline.on_ray import RaySettings
from rewardkit.offline.origins import head, merged, origin_of
from rewardkit.offline.report import Report
from rewardkit.offline.writing import scored_name
from rewardkit.scoring.scorer import Scorer

_TITLE = 3
"""Maximum number of files in the title of a report."""


def evaluate(
    responses: Any,
    *,
    model: str | None = None,
    out: str | Path | None = None,
    report: str | Path | None = None,
    scorer: Scorer | None = None,
    options: ReadOptions = PLAIN,
    prefix: str = "",
    bad_rows: BadRowPolicy = "mark",
    resume: bool = False,
    restart: bool = False,
    force: bool = False,
    cluster: RaySettings | None = None,
    workers: int | None = None,
    split: str | None = None,
    limit: int | None = None,
    system: str = "",
    prep: Mapping[str, Any] | None = None,
    given: GivenRewards | None = None,
    on_unused: OnUnused | None = None,
    on_progress: OnStep = lambda step, done, total: None,
    on_note: OnNote = lambda line: None,
    **settings: Any,
) -> Evaluation:
    """Evaluate responses in files or a table, or a model's responses to datasets or prompts.

    Args:
        responses: File with responses (scored or not), a folder, a glob or a URL; a `pandas.DataFrame` or a
            `pyarrow.Table`; the name of a dataset, or a `Benchmark`; or a list of files or of datasets.
        model: Model that answers the prompts in datasets or in one file. It is a model folder, a hub ID, or
            the name of the model at `url`.
        out: File for the scored rows. For datasets, the folder for all files, by default `eval/MODEL`.
        report: File for an HTML report.
        scorer: Scorer for the responses. By default, a new `Scorer` is created.
        options: Options for reading the rows, a `rewardkit.offline.ReadOptions`.
        prefix: Prefix for the names of the score columns.
        bad_rows: Policy for unusable rows, as in `score_file`.
        resume: True to continue an interrupted run.
        restart: True to discard the partial output of an interrupted run.
        force: True to replace an existing output.
        cluster: Ray cluster on which to generate and score, or None for this machine.
        workers: Number of scoring processes on the cluster.
        split: Split of the datasets. The default is `test`, or `validation` if a dataset has no `test`.
        limit: Maximum number of prompts to use, for runs with a model.
        system: System prompt for rows without a system prompt, for runs with a model.
        prep: Settings of `rewardkit.prepare` for the datasets.
        given: Tracker of the given rewards and options that no row uses, or None.
        on_unused: Callback for `rewardkit.generate`, for runs with a model.
        on_progress: Function called with the step, the amount done, and the total, or None if unknown.
        on_note: Function called with one line of text for each remark.
        settings: Settings for `rewardkit.generate`, for runs with a model.

    Raises:
        InputError: A file, table or dataset cannot be used, or an output already exists.
        OptionsError: A setting is unknown or has no effect.
        UnknownDataSourceError: None of the rows has a reward.
        RequestsFailedError: The model did not answer all prompts. `resume` retries the missing prompts.
    """
    if model is None and (settings or limit is not None or system):
        name = next(iter(settings), "limit" if limit is not None else "system")
        raise OptionsError(f"{name} has no effect: nothing is generated without a model")
    with ExitStack() as stack:
        in_memory = not isinstance(responses, str | Path | Benchmark | list | tuple)
        if in_memory:
            responses, on_note = stack.enter_context(as_file(responses, on_note))
        words = list(responses) if isinstance(responses, list | tuple) else [responses]
        run = RunOptions(prefix, bad_rows, workers, resume, restart, force, cluster)
        scorer = scorer or stack.enter_context(Scorer())
        benchmarks = find_benchmarks(
            words, lambda name: Benchmark.named(name, prep or {}), chosen=bool(prep or split)
        )
        if benchmarks:
            if model is None:
                raise OptionsError(f"evaluating on {benchmarks[0].name} needs a model; pass --model")
            asked = [_asked(one, split, limit, system, checked(settings)) for one in benchmarks]
            folder = Path(out) if out is not None else Path("eval", Path(model).name)
            shared = DatasetsRun(model, folder, run, scorer, given, on_unused, on_progress, on_note)
            return _datasets(asked, shared, report)
        keeps = not in_memory or out is not None
        how = _FilesRun(options, run, scorer, given, on_unused, on_progress, on_note, keeps)
        files = [str(word) for word in words]
        if model is not None:
            out = _target(files, out)
            files = [_generated(files[0], out, model, how, system, limit, checked(settings))]
        return _files([dumps_in(file) for file in files], out, how, report)


def find_benchmarks(
    words: Sequence[str | Path | Benchmark], make: Callable[[str], Benchmark], *, chosen: bool
) -> list[Benchmark]:
    """Return the datasets among the words, or an empty list if the words are files.

    Args:
        words: Benchmarks, or names of datasets or files.
        make: Function that returns the benchmark for a dataset name.
        chosen: True if the call contains settings for datasets.

    Raises:
        InputError: A word is neither a file nor a dataset, or the words contain both files and datasets.
        OptionsError: The call contains settings for datasets but names files, or a setting is unknown.
    """
    found: dict[str, Benchmark | None] = {}
    for word in words:
        if isinstance(word, Benchmark):
            found[word.name] = word
        elif not isinstance(word, str | Path):
            raise InputError(f"expected files, names of datasets or a table, found {type(word).__name__}")
        elif Path(word).exists() or find_dataset(str(word)) is None:
            _check_word(str(word))
            found[str(word)] = None
        else:
            made = make(str(word))
            found[made.name] = made
    files = [word for word, one in found.items() if one is None]
    if files and len(files) < len(found):
        one = next(word for word in found if word not in files)
        raise InputError(
            f"{files[0]} is a file and {one} is a dataset; evaluate files and datasets with separate commands"
        )
    if files and chosen:
        raise OptionsError(f"--raw, --prep and --split apply only to datasets, but {files[0]} is a file")
    return [one for one in found.values() if one is not None]


def _check_word(word: str) -> None:
    """Check that a word that is not a dataset can be a file.

    Raises:
        InputError: The word looks like the name of a dataset, but neither a dataset nor a file has this name.
    """
    if word.replace("_", "").replace("-", "").isalnum() and not Path(word).exists():
        near = did_you_mean(word, DATASETS) or "; `rewardkit eval --list` shows the datasets"
        raise InputError(f"'{word}' is neither a file nor a dataset{near}")


def _asked(
    one: Benchmark, split: str | None, limit: int | None, system: str, generation: dict[str, Any]
) -> Benchmark:
    """Return the benchmark, with settings that it lacks taken from the call."""
    return replace(
        one,
        split=one.split or split,
        limit=one.limit or limit,
        system=one.system or system,
        generation=generation | one.generation,
    )


def _datasets(benchmarks: Sequence[Benchmark], shared: DatasetsRun, report: str | Path | None) -> Evaluation:
    runs, figures, problems = run_datasets(benchmarks, shared)
    if report is not None:
        scored = [one.scored for one in runs.values()]
        facts = head(merged(map(origin_of, scored)))
        write_report(read_rows(scored, prefix=shared.run.prefix), Path(report), shared.out.name, facts)
    return Evaluation(figures, str(shared.out), tuple(problems), runs)


@dataclass(frozen=True, slots=True)
class _FilesRun:
    """Settings and callbacks for generating, reading and scoring files."""

    options: ReadOptions
    run: RunOptions
    scorer: Scorer
    given: GivenRewards | None
    on_unused: OnUnused | None
    on_step: OnStep
    on_note: OnNote
    keeps: bool
    """False if the rows are from a table in memory and no output file was requested."""


def _target(files: Sequence[str], out: str | Path | None) -> Path:
    """Return the path of the file for a model's scored responses."""
    if len(files) > 1:
        raise OptionsError(f"--model requires exactly one prompt file, found {len(files)} files")
    prompts = Path(files[0])
    return Path(out) if out is not None else prompts.with_name(f"{prompts.stem}.scored.parquet")


def _generated(
    prompts: str,
    target: Path,
    model: str,
    how: _FilesRun,
    system: str,
    limit: int | None,
    generation: Mapping[str, Any],
) -> str:
    """Generate a model's responses if necessary, and return the path of their file beside `target`."""
    generated = target.with_name(f"{target.stem}.generated.parquet")
    if how.run.resume and generated.exists():
        how.on_note(f"using the responses of an earlier run: {generated}")
        return str(generated)
    generate(
        prompts,
        generated,
        model=model,
        options=replace(how.options, names=replace(how.options.names, response=None)),
        system=system,
        limit=limit,
        resume=how.run.resume,
        restart=how.run.restart,
        force=how.run.force,
        cluster=how.run.ray,
        given=how.given,
        on_unused=how.on_unused,
        on_progress=lambda done, total, _: how.on_step("generating", done, total),
        on_note=how.on_note,
        **generation,
    )
    return str(generated)


def _files(
    files: Sequence[str], out: str | Path | None, how: _FilesRun, report: str | Path | None
) -> Evaluation:
    prefix = how.run.prefix
    parts = parts_of(files, prefix)
    had = [part.word for part in parts if part.scored]
    if out is not None and len(had) == len(parts):
        raise OptionsError(f"--out has no effect: {files[0]} already has scores")
    with tempfile.TemporaryDirectory() as folder:
        kept = _kept(files, out, how) if not had or out is not None else None
        # If the scores are not kept, each part has an output of its own, so that the parts may be in any
        # order and of any kind.
        made = {
            part.word: kept or f"{folder}/{i}{'' if Path(part.word).is_dir() else '.jsonl'}"
            for i, part in enumerate(parts)
            if not part.scored
        }
        scored = _scored(made, files if kept and not had else None, how, kept=kept is not None)
        read = [*dict.fromkeys(made.get(part.word, part.word) for part in parts)]
        prompts = PromptCounts()
        groups = read_groups(read, how.options, prefix, on_row=prompts.see)
        if prompts.line:
            how.on_note(prompts.line)
        origins = [origin_of(word) for word in files if word != STDIN]
        if line := pooled_line(files, origins, groups, prompts.shared):
            how.on_note(f"warning: {line}")
        figures, by_flag = figures_by_source(groups), figures_by_flag(groups)
        problems = [line for name, one in figures.items() if (line := unscored_problem(name, one))]
        outputs = [*dict.fromkeys(made.values())]
        problems += lost_rows(groups, had, outputs, scored, how.options, prefix)
        problems += dropped_sources([*made], how.options, scored)
        if report is not None:
            facts = head(merged([*origins, *map(origin_of, outputs)]))
            rows = read_rows(read, how.options, prefix)
            write_report(rows, Path(report), " ".join(Path(file).name for file in files[:_TITLE]), facts)
    only = files[0] if not made and len(files) == 1 else None
    return Evaluation(figures, (kept or only) if how.keeps else None, tuple(problems), by_flag=by_flag)


def _scored(made: Mapping[str, str], whole: Sequence[str] | None, how: _FilesRun, *, kept: bool) -> Report:
    """Score each file or folder, and write the scored rows to its output.

    Args:
        made: Output for each file or folder.
        whole: All words of the call if all files share one output, otherwise None.
        how: Settings and callbacks.
        kept: True if the output is kept after the evaluation.
    """
    if not made:
        return Report()
    outputs: dict[str, list[str]] = {}
    for word, out in made.items():
        outputs.setdefault(out, []).append(word)
    if whole is not None:
        outputs = {next(iter(outputs)): [*whole]}
    return score_files(
        [(words, out) for out, words in outputs.items()],
        scorer=how.scorer,
        options=how.options,
        run=how.run,
        kept=kept,
        given=how.given,
        on_progress=lambda done, total: how.on_step("scoring", done, total),
        on_note=how.on_note,
    )


def _kept(files: Sequence[str], out: str | Path | None, how: _FilesRun) -> str | None:
    """Return the path of the output, by default beside the only input, or None if it is not kept."""
    if out is not None:
        return str(out)
    if not how.keeps or len(files) != 1 or files[0] == STDIN or not Path(files[0]).exists():
        return None
    kept = scored_name(files[0])
    run = how.run
    if Path(kept).exists() and not (run.force or run.resume or run.restart):
        how.on_note(f"{kept} exists, so the new scores are not saved; pass --force to overwrite the file")
        return None
    return kept
