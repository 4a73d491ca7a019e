"""Errors of our own that a response brought about: counted, and each kind logged once with the input.

No response chooses its status, so where these are noted the response is wrong, and whoever maintains the code
learns of the fault from the log. Nothing is decided here.
"""

from __future__ import annotations

from collections import Counter

_MAX_KINDS = 1_000
_SHOWN = 300
"""Characters of the input in the log."""

Kind = tuple[str, str, str, int]
"""Place where a fault was noted, the exception, and the file and line that raised it."""

COUNTS: Counter[Kind] = Counter()
"""Faults of this process by kind."""


def note(where: str, error: BaseException, given: str) -> None:
    """Count a fault; log the first of its kind with its traceback and the input that caused it."""
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

        log = logging.getLogger("rewardkit.faults")
        log.error("%s raised %s on %.*r", where, type(error).__name__, _SHOWN, given, exc_info=error)
