"""What processes live below one, told safely: a process may end between being listed and being looked at."""

from __future__ import annotations

import contextlib
import gc
import os
import threading
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


def held() -> tuple[set[str], set[threading.Thread]]:
    """The descriptors and threads of this process, after what nobody refers to has gone."""
    gc.collect()
    return set(os.listdir("/proc/self/fd")), set(threading.enumerate())


def nothing_more_than(before: tuple[set[str], set[threading.Thread]]) -> bool:
    """Whether all that this process holds is of `before`: what others have let go meanwhile is no fault."""
    descriptors, threads = held()
    return len(descriptors) <= len(before[0]) and threads <= before[1]


def until(condition: Callable[[], object], seconds: float = 60.0) -> None:
    """Wait for something to become true, and fail when it does not."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never became true"
        time.sleep(0.02)
