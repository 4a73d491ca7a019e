"""Reader of rows whose ground truths are examined, and of the responses to these rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rewardkit.checks.forms import form_of
from rewardkit.checks.items import Item, read_items
from rewardkit.checks.overlap import EvalIndex
from rewardkit.checks.repeats import file_template, question_tokens
from rewardkit.checks.texts import Template
from rewardkit.errors import InputError
from rewardkit.files.formats import open_rows
from rewardkit.files.inputs import find_inputs
from rewardkit.logs.layout import ReadOptions
from rewardkit.logs.reader import read_samples
from rewardkit.rows import RowNames
from rewardkit.types import Sample

_SURE = 0.8
"""Minimum share of the n-grams in a row's question that a prompt must contain to match the row. The prompt
may be longer, for example because of a chat template."""


@dataclass(slots=True)
class Labelled:
    """Row with the responses to its prompt."""

    item: Item
    asked: list[list[str]] = field(repr=False)
    responses: list[str] = field(default_factory=list)
    generators: list[int] = field(default_factory=list)
    """For each response, the index of the file that contains it."""

    @property
    def solution(self) -> str:
        """Worked solution in the row; empty if the row has no solution."""
        return str(self.item.extra_info.get("answer") or self.item.raw.get("solution") or "")

    @property
    def question(self) -> str:
        """Question as published or, by default, the text of the last user message."""
        return str(self.item.extra_info.get("question") or self.item.question)

    def sample(self, response: str, ground_truth: str | None = None) -> Sample:
        """Return a response as a sample.

        Args:
            response: Text of the response.
            ground_truth: Ground truth for the sample, or None to use the row's ground truth.
        """
        item = self.item
        ground_truth = item.ground_truth if ground_truth is None else ground_truth
        return Sample(item.data_source, response, ground_truth, item.prompt, dict(item.extra_info))


def read_labelled(path: str | Path, names: RowNames, data_source: str | None) -> list[Labelled]:
    """Return the rows in a file that have a data source and a ground truth.

    Raises:
        InputError: The file cannot be read, or no row has both a data source and a ground truth.
    """
    found: list[Labelled] = []
    for source in find_inputs([path]):
        file = open_rows(source)
        try:
            form = form_of(file, names)
            template = None
            for rows in read_items(file, form.names, data_source):
                items = [row for row in rows if isinstance(row, Item)]
                template = template or file_template(items)
                found += [Labelled(item, question_tokens(item, template)) for item in items]
        finally:
            file.close()
    usable = [one for one in found if one.item.data_source and one.item.ground_truth]
    if not usable:
        raise InputError(
            f"{path} has no row with a data source and a ground truth; pass --data-source, and the "
            "ground-truth column with --ground-truth-key"
        )
    return usable


def add_responses(rows: Sequence[Labelled], paths: Sequence[str], options: ReadOptions) -> tuple[int, int]:
    """Add responses to the rows with their prompts, and return the counts of added and unmatched responses.

    Raises:
        InputError: A file with responses cannot be used, or no response belongs to a row.
    """
    index = EvalIndex()
    for number, row in enumerate(rows):
        index.add(row.asked, str(number), row.item.media)
    given = lost = 0
    known: dict[str, int | None] = {}
    for generator, path in enumerate(paths):
        for batch in read_samples([path], replace(options, to_score=False), reads=("prompt",)):
            for i, sample in enumerate(batch.samples):
                if i in batch.bad:
                    continue
                place = _place(sample.prompt, index, known)
                if place is None:
                    lost += 1
                    continue
                rows[place].responses.append(sample.response)
                rows[place].generators.append(generator)
                given += 1
    if not given:
        raise InputError(
            f"no response in {', '.join(paths)} matches the prompt of any row; if both files have an id "
            "column, pass the column's name with --on"
        )
    return given, lost


def _place(prompt: Any, index: EvalIndex, known: dict[str, int | None]) -> int | None:
    """Return the index of the row to which a prompt belongs, or None. `known` caches the latest result."""
    item = Item(0, "", prompt, "", {})
    if item.question not in known:
        known.clear()
        found = index.find(question_tokens(item, Template()))
        sure = found is not None and (found.same or found.share >= _SURE)
        known[item.question] = int(found.place) if found is not None and sure else None
    return known[item.question]
