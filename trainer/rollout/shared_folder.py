"""Folders through which servers on this machine get weights; light, since vLLM's workers import it too."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

SHARED_MEMORY = Path("/dev/shm")


def shared_folder(needed: int) -> tempfile.TemporaryDirectory[str]:
    """Return a folder for so many bytes: in memory, or on disk where that is too small.

    A container's shared memory is 64 MiB by default.
    """
    fits = SHARED_MEMORY.is_dir() and shutil.disk_usage(SHARED_MEMORY).free > needed + (1 << 20)
    return tempfile.TemporaryDirectory(prefix="rewardkit-weights-", dir=SHARED_MEMORY if fits else None)
