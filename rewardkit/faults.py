"""Record of internal errors (faults) that responses trigger. Each kind is counted, and logged once.

A response must not be able to choose its own status. Callers therefore score a response as wrong if it
triggers a fault, and the log informs the maintainers of the fault. This module only records faults.
"""

from __future__ import annotations

from collections import Counter

_MAX_KINDS = 1_000
_SHOWN = 300
"""Maximum number of characters of the input in a log message."""
_FRAMES = 20
"""Number of traceback frames in a log message. A `RecursionError` has a thousand frames."""

Kind = tuple[str, str, str, int]
"""Module that noted the fault, class name of the exception, and file and line where it was raised."""

COUNTS: Counter[Kind] = Counter()
"""Number of faults in this process, by kind."""


def note(where: str, error: BaseException, given: str) -> None:
    """Count a fault, and log the first of each kind with its traceback and input."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    file, line = (place.tb_frame.f_code.co_filename, place.tb_lineno) if place is not None else ("", 0)
    kind = (where, type(error).__name__, file, line)
    if kind not in COUNTS and len(COUNTS) >= _MAX_KINDS:
        return
    COUNTS[kind] += 1
    if COUNTS[kind] == 1:
        import logging
        import traceback

        frames = "".join(traceback.format_exception(error, limit=-_FRAMES)).rstrip()
        log = logging.getLogger("rewardkit.faults")
        log.error("%s raised %s on %.*r\n%s", where, type(error).__name__, _SHOWN, given, frames)
