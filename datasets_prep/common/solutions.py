"""Which of a row's published solutions stands as its answer: the first, or the first that is scored as right.

The second where solutions are verified: sets that were collected hold programs that fail their own tests.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from dataclasses import replace

from rewardkit.datasets_prep.common.schema import Row
from rewardkit.datasets_prep.common.verify import is_right
from rewardkit.scoring.scorer import Scorer
from rewardkit.types import Sample

MOST = 5
"""Solutions of a row that are tried."""
_ROWS = 64
"""Rows whose solutions are scored together."""

Located = tuple[str, Row]
"""Where a row's record stands, and the row."""
_SCORER: ContextVar[Scorer | None] = ContextVar("scorer", default=None)


@contextlib.contextmanager
def solutions_scored_by(scorer: Scorer) -> Iterator[None]:
    """Within this context, let the answer of a row be the first of its solutions that is right."""
    token = _SCORER.set(scorer)
    try:
        yield
    finally:
        _SCORER.reset(token)


def chosen(rows: Iterable[Located]) -> Iterator[Located]:
    """Return the rows, each with one solution; the first where none is right, or none is scored."""
    scorer = _SCORER.get()
    if scorer is None:
        yield from rows
        return
    source = iter(rows)
    while some := list(itertools.islice(source, _ROWS)):
        better = _right_ones([row for _, row in some], scorer)
        yield from ((where, row) for (where, _), row in zip(some, better, strict=True))


def _right_ones(rows: list[Row], scorer: Scorer) -> list[Row]:
    """The rows with a right solution for those that have several, as far as there is one."""
    open_places = [i for i, row in enumerate(rows) if row.alternatives]
    tried = {i: (rows[i].answer, *rows[i].alternatives)[:MOST] for i in open_places}
    made = list(rows)
    for turn in range(MOST):
        asked = [i for i in open_places if turn < len(tried[i])]
        scores = scorer.score_batch([_sample(rows[i], tried[i][turn]) for i in asked])
        right = [i for i, score in zip(asked, scores, strict=True) if is_right(score)]
        for i in right:
            made[i] = replace(rows[i], answer=tried[i][turn])
        open_places = [i for i in open_places if i not in right]
        if not open_places:
            break
    return made


def _sample(row: Row, answer: str) -> Sample:
    extra = replace(row, answer=answer).as_record()["extra_info"]
    return Sample(row.data_source, answer, row.ground_truth, extra_info=extra)  # type: ignore[arg-type]
