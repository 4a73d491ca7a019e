"""A reward that stops a run at a chosen place, so that it can be killed there however fast the machine is."""

from __future__ import annotations

from pathlib import Path

REWARD = """
import time
from pathlib import Path
from rewardkit import reward

HOLD, PROGRESS = Path({hold!r}), Path({progress!r})

@reward({source!r}, replace_existing=True, batch=True, reads=())
def lengths(samples):
    while HOLD.exists() and len(list(PROGRESS.glob("*.msgpack"))) >= {chunks}:
        time.sleep(0.01)
    return [float(len(s.response)) for s in samples]
"""


def write_reward(path: Path, source: str, *, hold: Path, progress: Path, chunks: int) -> Path:
    """Write a reward file: it scores by length, and not at all once so many chunks are done and `hold` is there."""
    text = REWARD.format(source=source, hold=str(hold), progress=str(progress), chunks=chunks)
    path.write_text(text)
    return path
