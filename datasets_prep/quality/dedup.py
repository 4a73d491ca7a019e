"""Finds rows with the same or nearly the same question as another row."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence

import pyarrow as pa

from rewardkit.checks.texts import digest
from rewardkit.datasets_prep.quality.near import NearIndex
from rewardkit.datasets_prep.quality.questions import Questions, RowQuestion
from rewardkit.datasets_prep.quality.screen import Reason, places_of

_SHORT = 256
"""Maximum length of a ground truth that distinguishes questions. Longer texts are tests, not answers."""


class Dedup:
    """Stage that finds rows that repeat an earlier row. The stage stores about 700 bytes per row.

    Exact duplicates have the same words, numbers and operators. Near duplicates have the same numbers and
    ground truth, and share most pairs of adjacent words. A row is compared only with rows that were kept.

    Args:
        similarity: Minimum fraction of common word pairs in near duplicates. 1.0 finds only exact duplicates.
    """

    def __init__(self, similarity: float) -> None:
        self._similarity = similarity
        self._questions = Questions()
        self._near = NearIndex(similarity) if similarity < 1 else None
        self._first: dict[int, int] = {}
        self._rows = array("q")
        self._splits = array("H")
        self._names: list[str] = []
        self._truths = array("Q")

    def find(self, split: str, batch: pa.RecordBatch, seen: int) -> Mapping[int, Reason]:
        """See `Stage.find`."""
        if split not in self._names:
            self._names.append(split)
        places = places_of(batch, seen)
        asked = list(self._questions.read(split, batch))
        found: dict[int, Reason] = {}
        fresh: list[tuple[int, int]] = []
        for row, one in enumerate(asked):
            key = digest(one.forms[-1], one.media) if one.forms[-1] else None
            known = None if key is None else self._first.setdefault(key, len(self._rows))
            if known is not None and known < len(self._rows):
                found[row] = self._same(known, one)
                continue
            fresh.append((row, len(self._rows)))
            self._rows.append(places[row])
            self._splits.append(self._names.index(split))
            self._truths.append(digest([one.ground_truth]))
        if self._near is not None:
            found |= self._nearly_same(self._near, asked, fresh)
        return found

    def _same(self, known: int, one: RowQuestion) -> Reason:
        other = (
            "" if self._truths[known] == digest([one.ground_truth]) else ", which has another ground truth"
        )
        return Reason("duplicate", f"the same question as {self._place(known)}{other}")

    def _nearly_same(
        self, near: NearIndex, asked: Sequence[RowQuestion], fresh: Sequence[tuple[int, int]]
    ) -> dict[int, Reason]:
        """Return the new rows that are near duplicates of earlier rows, and add the rest to the index."""
        found: dict[int, Reason] = {}
        sketches = near.sketches(asked[row].forms[0] for row, _ in fresh)
        for (row, key), sketch in zip(fresh, sketches, strict=True):
            if sketch is None:
                continue
            block = block_of(asked[row].forms[0], asked[row].media, asked[row].ground_truth)
            other = near.find(block, sketch)
            if other is None:
                near.add(block, sketch, key)
            else:
                found[row] = Reason("near duplicate", f"nearly the same question as {self._place(other)}")
        return found

    def _place(self, known: int) -> str:
        return f"{self._names[self._splits[known]]}[{self._rows[known]}]"

    def finish(self) -> None:
        """See `Stage.finish`."""

    def describe(self) -> dict[str, object]:
        """See `Stage.describe`."""
        return {"dedup": self._similarity}


def block_of(tokens: Sequence[str], media: object, ground_truth: str = "") -> int:
    """Return a digest of a question's numbers, images and answer, which is the same for near duplicates."""
    numbers = sorted(token for token in tokens if token[0].isdigit())
    answer = ground_truth.strip() if len(ground_truth) <= _SHORT else ""
    return digest([*numbers, "=", answer], media)
