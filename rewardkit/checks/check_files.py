"""Checks of files with prompts, row by row and with bounded memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rewardkit.checks.contents import Known, check_agent, check_contents
from rewardkit.checks.findings import Findings
from rewardkit.checks.forms import FileForm, check_columns, form_of
from rewardkit.checks.ground_truths import check_ground_truths
from rewardkit.checks.items import Item, read_items
from rewardkit.checks.lengths import Lengths
from rewardkit.checks.overlap import EvalIndex
from rewardkit.checks.repeats import (
    Repeats,
    check_against,
    check_near,
    file_template,
    question_tokens,
    split_of,
)
from rewardkit.checks.texts import Template
from rewardkit.checks.trainable import check_training, check_training_rows
from rewardkit.files.formats import open_rows
from rewardkit.files.inputs import Input, find_inputs
from rewardkit.registry import REGISTRY
from rewardkit.rows import RowNames
from rewardkit.scoring.scorer import Scorer

_HELD_OUT_BYTES = 16 << 20


@dataclass(frozen=True)
class CheckSettings:
    """Settings for checking files."""

    names: RowNames = field(default_factory=RowNames)
    """Names of columns. None selects the first column with one of the known names."""
    data_source: str | None = None
    """Data source of every row, which overrides any data source in the files."""
    known: Known = field(default_factory=lambda: Known(REGISTRY))
    lengths: Lengths | None = None
    against: tuple[str, ...] = ()
    """Evaluation sets whose questions must not be in the files."""


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """File that was checked."""

    path: str
    form: str
    rows: int
    data_sources: list[str] = field(default_factory=list)


def check_files(
    paths: Iterable[str | Path], scorer: Scorer, settings: CheckSettings
) -> tuple[list[CheckedFile], Findings]:
    """Check every row in files, folders, globs and URLs, and return the checked files and the findings.

    Raises:
        InputError: A file cannot be read, or does not contain prompts.
    """
    findings = Findings()
    inputs = find_inputs(paths)
    held = Held(_index_of(settings.against), _index_of(_splits_to_hold_out(inputs)), Repeats())
    checked = [_check_file(source, scorer, settings, findings, held) for source in inputs]
    return checked, findings


@dataclass(frozen=True, slots=True)
class Held:
    """Questions with which the questions in a file are compared."""

    against: EvalIndex
    """Questions in the evaluation sets that the user named."""
    splits: EvalIndex
    """Questions in all other splits, for files in the train split."""
    repeats: Repeats
    """All questions that have been checked so far."""


def _index_of(paths: Sequence[str]) -> EvalIndex:
    index = EvalIndex()
    for question in eval_questions(paths) if paths else ():
        index.add(question.forms, question.place, question.media)
    return index


def _splits_to_hold_out(inputs: Sequence[Input]) -> list[str]:
    """Return the files of splits other than the train split, or none if there is no train file.

    Large files are left out because their n-grams use a lot of memory. Standard input is left out because it
    can be read only once.
    """
    others = [source for source in inputs if not _is_train(source)]
    if len(others) == len(inputs):
        return []
    return [
        s.path for s in others if Path(s.path).is_file() and Path(s.path).stat().st_size < _HELD_OUT_BYTES
    ]


def _is_train(source: Input) -> bool:
    return "train" in source.name


@dataclass(frozen=True, slots=True)
class EvalQuestion:
    """Question in an evaluation set."""

    forms: list[list[str]]
    """Tokens of each form of the question, from `question_tokens`."""
    place: str
    """File and row of the question."""
    media: object


def eval_questions(paths: Iterable[str | Path], data_source: str | None = None) -> Iterator[EvalQuestion]:
    """Yield the questions in evaluation sets, which are files with prompts in any form.

    Raises:
        InputError: A file cannot be read, or does not contain prompts.
    """
    for source in find_inputs(paths):
        file = open_rows(source)
        try:
            form = form_of(file, RowNames())
            template: Template | None = None
            for rows in read_items(file, form.names, data_source):
                items = [item for item in rows if isinstance(item, Item)]
                template = template or file_template(items)
                for item in items:
                    place = f"{source.name}[{item.row}]"
                    yield EvalQuestion(question_tokens(item, template), place, item.media)
        finally:
            file.close()


def _check_file(
    source: Input,
    scorer: Scorer,
    settings: CheckSettings,
    findings: Findings,
    held: Held,
) -> CheckedFile:
    count = 0
    sources: set[str] = set()
    template: Template | None = None
    file = open_rows(source)
    try:
        form = form_of(file, settings.names)
        check_columns(file, form, findings, data_source=settings.data_source)
        trained = check_training(file, form, settings.names, settings.data_source, findings)
        for rows in read_items(file, form.names, settings.data_source):
            items = check_rows(rows, form, source.path, scorer, settings, findings)
            if trained is not None:
                check_training_rows(items, source.path, trained, findings)
            if template is None:
                template = file_template(items)
                held.repeats.open(source.path, split_of(source.name, items))
            for item in items:
                asked = question_tokens(item, template)
                held.repeats.check(item, asked, findings)
                check_against(item, asked, source.path, held.against, findings)
                if _is_train(source):
                    check_near(item, asked, source.path, held.splits, findings)
            sources.update(item.data_source for item in items if item.data_source)
            count += len(rows)
        return CheckedFile(source.path, form.name, count, sorted(sources))
    finally:
        file.close()


def check_rows(
    rows: Sequence[Item | tuple[int, str]],
    form: FileForm,
    file: str,
    scorer: Scorer,
    settings: CheckSettings,
    findings: Findings,
) -> list[Item]:
    """Check rows individually, and return the readable rows."""
    items: list[Item] = []
    for row in rows:
        if isinstance(row, Item):
            check_contents(row, form, file, settings.known, findings)
            check_agent(row, file, settings.known, findings)
            items.append(row)
        else:
            findings.add("error", "row", file, row[1], row[0])
    if settings.lengths is not None:
        settings.lengths.check([item for item in items if item.prompt], file, findings)
    if form.names.ground_truth is not None:
        check_ground_truths(items, file, scorer, findings)
    return items
