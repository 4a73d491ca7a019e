"""Scoring of files for commands and `evaluate`, with checks of the first rows before and advice afterwards.

`rewardkit.offline.score_file` scores the files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from rewardkit.checks.first_look import look_at_responses
from rewardkit.checks.which_reward import second_look, which_reward
from rewardkit.composition.given import GivenRewards
from rewardkit.errors import InputError, UnknownDataSourceError
from rewardkit.files.inputs import STDIN, find_inputs
from rewardkit.logs.known import all_data_sources_of
from rewardkit.logs.layout import ReadOptions
from rewardkit.logs.reader import opened
from rewardkit.offline.chunk import BadRowPolicy
from rewardkit.offline.on_ray import RaySettings, RayWorkers
from rewardkit.offline.receipt import read_receipt
from rewardkit.offline.report import Report
from rewardkit.offline.score import OnProgress, score_file
from rewardkit.scoring.scorer import Scorer

Paths = Sequence[str | Path]
OnNote = Callable[[str], None]

_LISTED = 5
"""Maximum number of unusable rows to list."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Settings for a run over files that do not depend on the rewards."""

    prefix: str = ""
    bad_rows: BadRowPolicy = "mark"
    workers: int | None = None
    resume: bool = False
    restart: bool = False
    force: bool = False
    ray: RaySettings | None = None
    """Ray cluster on which to score the files, or None for this machine."""


def score_files(
    outputs: Sequence[tuple[Paths, str]],
    *,
    scorer: Scorer,
    options: ReadOptions,
    run: RunOptions,
    kept: bool = True,
    skip_bad_files: bool = False,
    given: GivenRewards | None = None,
    on_progress: OnProgress = lambda done, total: None,
    on_note: OnNote = lambda line: None,
) -> Report:
    """Score files, and report suspicious files and rows that could not be used.

    Args:
        outputs: Pairs of the input files and the name of an output.
        scorer: Scorer for the rows.
        options: Options for reading the files.
        run: Settings for the run.
        kept: True if the outputs are kept, so that an interrupted run can be resumed.
        skip_bad_files: True to skip files that cannot be scored, as in `score_file`.
        given: Rewards and options given for this run, all of which the rows must use, or None.
        on_progress: Function called with the number of finished rows and the total, or None if the total is
            unknown.
        on_note: Function called with one line of text for each remark.

    Raises:
        OptionsError: A part of `given` is not used by any row. This error is raised only before scoring.
        KeyboardInterrupt: The run was interrupted. The message explains how to resume it.
        RewardkitError: An error from `score_file`. If there is no reward, the message suggests a reward.
    """
    files = [file for some, _ in outputs for file in some]
    report = Report()
    if given and (known := sources_of_files(files, options)) is not None:
        given.saw(known)
        given.refuse_unused()
    with RayWorkers(run.ray, scorer, run.workers) if run.ray else nullcontext() as workers:
        for finding in look_at_responses(files, options, scorer):
            on_note(f"warning: {finding.line()}")
        if workers is None:
            scorer.warm_up()
        try:
            for some, out in outputs:
                before = sum(source.n for source in report.sources.values())
                found = score_file(
                    some,
                    out,
                    scorer=scorer,
                    options=options,
                    prefix=run.prefix,
                    bad_rows=run.bad_rows,
                    resume=run.resume,
                    restart=run.restart,
                    force=run.force,
                    skip_bad_files=skip_bad_files,
                    on_progress=_after(before, on_progress) if len(outputs) > 1 else on_progress,
                    on_note=on_note,
                    workers=workers,
                )
                report.merge(found.sources)
                report.bad_rows += found.bad_rows
                report.bad_count += found.bad_count
                report.files += found.files
                if given is not None:
                    given.saw(found.sources or _sources_of_receipt(out))
        except KeyboardInterrupt:
            advice = "--resume continues this run, --restart starts again" if kept else ""
            raise KeyboardInterrupt(advice) from None
        except UnknownDataSourceError as error:
            others_are_known = run.bad_rows == "fail" and any(
                scorer.find(source) for source in sources_of_files(files, options) or ()
            )
            advice = (
                "fix these rows, or pass --bad-rows mark or drop"
                if others_are_known
                else which_reward(files, options, scorer)
            )
            raise UnknownDataSourceError(f"{error}; {advice}" if advice else str(error)) from None
        advice = second_look(files, options, scorer, report)
    _note_bad_rows(report, run.bad_rows, on_note)
    if advice:
        on_note(advice)
    return report


def sources_of_files(files: Paths, options: ReadOptions) -> set[str] | None:
    """Return the data sources of all rows in files, or None if they can be found only by scoring."""
    found: set[str] = set()
    try:
        for source in find_inputs(files):
            # Standard input can be read only once, and reading remote files twice is slow.
            if source.path == STDIN or "://" in source.path:
                return None
            with opened(source, options) as (file, layout):
                held = all_data_sources_of(file, layout)
            if held is None:
                return None
            found.update(held)
    except InputError:  # Scoring reports the error.
        return None
    return found


def _sources_of_receipt(out: str) -> Sequence[str]:
    """Return the data sources in an output that an earlier run completed."""
    receipt = read_receipt(Path(out)) if Path(out).is_file() else None
    return () if receipt is None else list(receipt.rewards)


def _after(before: int, on_progress: OnProgress) -> OnProgress:
    """Return a progress callback for one of several outputs, whose total number of rows is unknown."""
    return lambda done, total: on_progress(before + done, None)


def _note_bad_rows(report: Report, bad_rows: BadRowPolicy, on_note: OnNote) -> None:
    """Report unusable rows with the reasons and possible remedies."""
    for line in report.bad_rows[:_LISTED]:
        on_note(line)
    if report.bad_count:
        done = "dropped" if bad_rows == "drop" else "marked invalid"
        other = "mark" if bad_rows == "drop" else "drop"
        listed = f" (the first {_LISTED} are listed above)" if report.bad_count > _LISTED else ""
        on_note(
            f"rows that could not be used: {report.bad_count:,}{listed}, {done}; "
            f"fix these rows, or pass --bad-rows {other}"
        )
