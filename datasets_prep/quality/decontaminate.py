"""Finds rows that contain a question from an evaluation set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec

import pyarrow as pa

from rewardkit.checks.check_files import eval_questions
from rewardkit.checks.overlap import EvalIndex
from rewardkit.datasets_prep.quality.dedup import block_of
from rewardkit.datasets_prep.quality.near import NearIndex
from rewardkit.datasets_prep.quality.questions import Questions, RowQuestion
from rewardkit.datasets_prep.quality.screen import Reason

SIMILARITY = 0.7


class Decontaminate:
    """Stage that finds rows in `train` that contain a question from an evaluation set.

    A row contains a question if it has the same question, most of the question's n-grams or (if rensa is
    installed) nearly the same question. Other splits are not searched, because they are evaluation sets
    themselves.

    Args:
        paths: Files with prompts in any format.

    Raises:
        InputError: A file cannot be read, or has no prompts.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = list(paths)
        self._index = EvalIndex()
        self._questions = Questions()
        self._near = NearIndex(SIMILARITY) if find_spec("rensa") else None
        self._places: list[str] = []
        for question in eval_questions(paths):
            self._index.add(question.forms, question.place, question.media)
            self._places.append(question.place)
            if self._near is not None:
                (sketch,) = self._near.sketches([question.forms[0]])
                if sketch is not None:
                    block = block_of(question.forms[0], question.media)
                    self._near.add(block, sketch, len(self._places) - 1)

    def find(self, split: str, batch: pa.RecordBatch, seen: int) -> Mapping[int, Reason]:
        """See `Stage.find`."""
        if split != "train":
            return {}
        asked = list(self._questions.read(split, batch))
        found: dict[int, Reason] = {}
        for row, one in enumerate(asked):
            overlap = self._index.find(one.forms, one.media)
            if overlap is not None:
                found[row] = Reason("contaminated", overlap.describe())
        return found | self._nearly_same(asked, found)

    def _nearly_same(self, asked: Sequence[RowQuestion], found: Mapping[int, Reason]) -> dict[int, Reason]:
        if self._near is None:
            return {}
        rest = [row for row in range(len(asked)) if row not in found]
        near: dict[int, Reason] = {}
        for row, sketch in zip(rest, self._near.sketches(asked[r].forms[0] for r in rest), strict=True):
            block = block_of(asked[row].forms[0], asked[row].media)
            place = None if sketch is None else self._near.find(block, sketch)
            if place is not None:
                near[row] = Reason("contaminated", f"nearly the same question as {self._places[place]}")
        return near

    def finish(self) -> None:
        """See `Stage.finish`."""

    def describe(self) -> dict[str, object]:
        """See `Stage.describe`."""
        return {"decontaminate": self._paths}
