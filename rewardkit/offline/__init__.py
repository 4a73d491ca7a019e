"""Offline scoring of files with responses.

Use `read_samples` to read files of any supported kind for scoring, viewing or comparing:

    for batch in read_samples(["rollouts/*.jsonl"], ReadOptions(data_source="gsm8k")):
        batch.samples    # a Sample for each response
        batch.rows       # the row number of each sample in its file
        batch.bad        # the reasons why samples cannot be used, by index
        batch.records    # the rows as they were read

`score_file` scores files, and `score_frame` scores tables in memory.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rewardkit.logs.layout import ReadOptions as ReadOptions
    from rewardkit.logs.reader import read_join as read_join
    from rewardkit.logs.reader import read_samples as read_samples
    from rewardkit.logs.samples import SampleBatch as SampleBatch
    from rewardkit.offline.frame import score_frame as score_frame
    from rewardkit.offline.report import Report as Report
    from rewardkit.offline.score import score_file as score_file

_HOME = {
    "ReadOptions": "rewardkit.logs.layout",
    "Report": "rewardkit.offline.report",
    "SampleBatch": "rewardkit.logs.samples",
    "read_join": "rewardkit.logs.reader",
    "read_samples": "rewardkit.logs.reader",
    "score_file": "rewardkit.offline.score",
    "score_frame": "rewardkit.offline.frame",
}
"""Module that defines each public name. A module is imported on first use, because workers need only some."""

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'rewardkit.offline' has no attribute '{name}'")
    return getattr(importlib.import_module(_HOME[name]), name)
