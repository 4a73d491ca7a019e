"""What the rows of a batch ask, as duplicates and evaluation sets are told by."""

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
    """What one row asks."""

    forms: list[list[str]]
    """Its question as tokens; after it the whole prompt, where a template is around it."""
    ground_truth: str
    media: object
    """Images and the like; None where there are none."""


class Questions:
    """Reads batches; what a split's prompts have around their questions is learnt from its first."""

    def __init__(self) -> None:
        self._templates: dict[str, Template] = {}

    def read(self, split: str, batch: pa.RecordBatch) -> Iterator[RowQuestion]:
        """Yield what each row of a batch asks."""
        names = names_in(batch.schema)
        items = [item_of(raw, row, names, None) for row, raw in enumerate(batch.to_pylist())]
        if split not in self._templates:
            self._templates[split] = file_template(items)
        template = self._templates[split]
        for item in items:
            yield RowQuestion(question_tokens(item, template), item.ground_truth, item.media)
