"""Memory of this machine, or of this process's container if the container has a memory limit."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

CGROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)
"""Pairs of files that contain the memory limit and the memory use of a container (cgroup v2, cgroup v1)."""


def total_bytes() -> int:
    """Return the total memory of the machine, or the container's memory limit if the limit is lower."""
    found = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for limit, _ in CGROUPS:
        with contextlib.suppress(OSError, ValueError):  # without a limit, the file contains "max"
            found.append(int(Path(limit).read_text()))
    return min(found)


def available_bytes() -> int:
    """Return the free memory of the machine, or the rest of the container's limit if the rest is smaller."""
    found = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    with contextlib.suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text().splitlines()
        found.append(int(next(line for line in lines if line.startswith("MemAvailable:")).split()[1]) << 10)
    for limit, used in CGROUPS:
        with contextlib.suppress(OSError, ValueError):
            found.append(int(Path(limit).read_text()) - int(Path(used).read_text()))
    return max(min(found), 0)
