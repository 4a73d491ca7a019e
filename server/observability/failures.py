"""Logs why samples could not be scored, since only clients see the scores.

Each data source and status gets at most one line per minute. The line contains the number of failed samples
since the previous line.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable

from rewardkit.server.tally import Tally
from rewardkit.types import Status

EVERY_S = 60.0
"""Minimum number of seconds between two lines about the same data source and status."""
_LONGEST = 300

_log = logging.getLogger("rewardkit.server")


class FailureLog:
    """Observer of scored batches that logs failures.

    Args:
        clock: Function that returns the time in seconds. Tests may pass their own clock.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._waiting: Counter[tuple[str, Status]] = Counter()
        self._logged: dict[tuple[str, Status], float] = {}

    def observe(self, tally: Tally, seconds: float) -> None:
        """Log the failures in a batch, or count them for the next line."""
        failed = Counter[tuple[str, Status]]()
        for one in tally.outcomes:
            if one.status != "ok":
                failed[one.label, one.status] += one.n
        for key, n in failed.items():
            self._waiting[key] += n
            now = self._clock()
            if now - self._logged.get(key, -EVERY_S) >= EVERY_S:
                self._logged[key] = now
                self._write(*key, self._waiting.pop(key), tally)

    def _write(self, label: str, status: Status, n: int, tally: Tally) -> None:
        sources = {one.source for one in tally.outcomes if one.label == label}
        found = (
            score
            for sample, score in zip(tally.samples, tally.scores, strict=True)
            if score.status == status and (sample.data_source in sources or label == sample.data_source)
        )
        score = next(found, None)  # For a large request, only a few of its samples are available here.
        scorer, detail = (score.scorer, score.detail or "") if score is not None else ("", "")
        _log.warning(
            "%d sample%s of %s could not be scored: %s: %s",
            n,
            "s" * (n > 1),
            label,
            f"{status}, {scorer}" if scorer else status,
            detail[:_LONGEST],
        )
