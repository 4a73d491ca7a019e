"""Finds rows whose reference solution is not scored as correct, before the rows are published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from rewardkit.datasets_prep.common.verification import verify_records
from rewardkit.datasets_prep.quality.screen import Dropped, Reason
from rewardkit.errors import InputError
from rewardkit.scoring.scorer import Scorer

REASON = "solution scored as wrong"
_SCORED_ROWS = 1_024


class Unverified(InputError):
    """Raised with `--verify fail` if solutions are not scored as correct."""

    def __init__(self, rows: Sequence[Dropped]) -> None:
        super().__init__(
            f"rows with a solution that is not scored as right: {len(rows):,}; nothing was written "
            "(--verify keep writes these rows, --verify drop skips them)"
        )
        self.rows = rows


class Verifier:
    """Stage that scores the solution of every row that has a solution."""

    def __init__(self, scorer: Scorer, *, fail: bool) -> None:
        self._scorer = scorer
        self._fail = fail
        self._failed: list[Dropped] = []

    def find(self, split: str, batch: pa.RecordBatch, seen: int) -> Mapping[int, Reason]:
        """See `Stage.find`. If failures are errors, keep the rows and collect all failures for `finish`."""
        failed: dict[int, Reason] = {}
        for start in range(0, batch.num_rows, _SCORED_ROWS):
            records = batch.slice(start, _SCORED_ROWS).to_pylist()
            for row, why in verify_records(records, self._scorer)[1].items():
                failed[start + row] = Reason(REASON, why)
                if self._fail:
                    extra = records[row]["extra_info"]
                    self._failed.append(Dropped(split, extra["index"], REASON, why, extra["question"][:80]))
        return {} if self._fail else failed

    def finish(self) -> None:
        """Raise an error if failures are errors and any row has failed.

        Raises:
            Unverified: At least one solution was not scored as correct.
        """
        if self._failed:
            raise Unverified(self._failed)

    def describe(self) -> dict[str, object]:
        """See `Stage.describe`."""
        return {"verify": "fail" if self._fail else "drop"}
