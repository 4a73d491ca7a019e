"""Which of our files a call passes: those in which it calls a function, in order, and how often it changes from
one to another.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import rewardkit

ROOT = str(Path(rewardkit.__file__).parent) + "/"


class Walk:
    """What was passed. `calls`: how often a function was called in each file; no module's body counts."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.stays: list[str] = []

    @property
    def files(self) -> list[str]:
        """The files, in the order in which they were first entered."""
        return list(self.calls)

    def note(self, frame: FrameType, event: str, _: Any) -> None:
        """Called by the interpreter at each call and return."""
        if event not in ("call", "return"):
            return
        place = _place(frame.f_code)
        if place is None:
            return
        if event == "call":
            self.calls[place] += 1
        if not self.stays or self.stays[-1] != place:
            self.stays.append(place)


def _place(code: CodeType) -> str | None:
    name = code.co_filename
    if not name.startswith(ROOT) or code.co_name == "<module>":
        return None
    return name.removeprefix(ROOT)


@contextmanager
def walking(*, threads: bool = False) -> Iterator[Walk]:
    """Note which of our files are passed in this thread, with `threads` also in those that it starts, until the
    block ends."""
    walk = Walk()
    before = sys.getprofile()
    if threads:
        threading.setprofile(walk.note)
    sys.setprofile(walk.note)
    try:
        yield walk
    finally:
        sys.setprofile(before)
        if threads:
            threading.setprofile(None)


def walked(call: Callable[[], Any], *, threads: bool = False) -> Walk:
    """Return which of our files a call passes, as `walking` does."""
    with walking(threads=threads) as walk:
        call()
    return walk
