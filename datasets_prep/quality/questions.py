"""Reads the questions in a batch, to find duplicates and questions from evaluation sets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from rewardkit.checks.items import item_of
from rewardkit.checks.repeats import file_template, question_tokens
from rewardkit.checks.texts import Template
from rewardkit.tables import names_in


@dataclass(frozen=True, slots=True)
class RowQuestion:
    """Question in a row."""

    forms: list[list[str]]
    """Tokens of the question, followed by the tokens of the whole prompt if the prompt has a template."""
    ground_truth: str
    media: object
    """Images and other media in the question, or None."""


class Questions:
    """Reader for questions. The first batch of a split determines the template of the split's prompts."""

    def __init__(self) -> None:
        self._templates: dict[str, Template] = {}

    def read(self, split: str, batch: pa.RecordBatch) -> Iterator[RowQuestion]:
        """Yield the question in each row of a batch."""
        names = names_in(batch.schema)
        items = [item_of(raw, row, names, None) for row, raw in enumerate(batch.to_pylist())]
        if split not in self._templates:
            self._templates[split] = file_template(items)
        template = self._templates[split]
        for item in items:
            yield RowQuestion(question_tokens(item, template), item.ground_truth, item.media)
