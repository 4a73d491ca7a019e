"""Creates folders for sending weights to local servers. This module is small, as vLLM's workers import it."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

SHARED_MEMORY = Path("/dev/shm")


def shared_folder(needed: int) -> tempfile.TemporaryDirectory[str]:
    """Create a temporary folder for `needed` bytes, in shared memory if possible, or else on disk.

    A container has only 64 MiB of shared memory by default.
    """
    fits = SHARED_MEMORY.is_dir() and shutil.disk_usage(SHARED_MEMORY).free > needed + (1 << 20)
    return tempfile.TemporaryDirectory(prefix="rewardkit-weights-", dir=SHARED_MEMORY if fits else None)
