"""What processes live below one, told safely: a process may end between being listed and being looked at."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from pathlib import Path


def descendants(pid: int) -> list[int]:
    """Process ids of all living and dead children of a process, and theirs."""
    parents: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            parents.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    found, new = [], [pid]
    while new:
        new = [child for parent in new for child in parents.get(parent, [])]
        found += new
    return found


def state(pid: int) -> str:
    """The letter of a process in `/proc`: `Z` for a zombie; `""` when it is no more."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def alive(pid: int) -> bool:
    """Whether a process runs, or could: it is there, and no zombie."""
    return state(pid) not in ("", "Z")


def until(condition: Callable[[], object], seconds: float = 20.0) -> None:
    """Wait for something to become true, and fail when it does not."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never became true"
        time.sleep(0.02)
