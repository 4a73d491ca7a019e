"""Offline: any file of responses in, a scored one out.

To read files of responses of any known kind, for scoring, viewing or comparing, use `read_samples`:

    for batch in read_samples(["rollouts/*.jsonl"], ReadOptions(data_source="gsm8k")):
        batch.samples    # a Sample for each response
        batch.rows       # the number of the row in its file, of each
        batch.bad        # why some cannot be used, by index
        batch.groups     # what the responses to one prompt have in common, where the log says
        batch.records    # the rows as they were read

`score_file` and `score_frame` score them.
"""

from __future__ import annotations

from rewardkit.evaluation.metrics import best_at_k, group_metrics, maj_at_k, pass_at_k
from rewardkit.logs.layout import Joined, ReadOptions, RowLayout
from rewardkit.logs.reader import opened, read_join, read_samples
from rewardkit.logs.samples import SampleBatch
from rewardkit.offline.frame import score_frame
from rewardkit.offline.report import Report, SourceReport
from rewardkit.offline.score import score_file

__all__ = [
    "Joined",
    "ReadOptions",
    "Report",
    "RowLayout",
    "SampleBatch",
    "SourceReport",
    "best_at_k",
    "group_metrics",
    "maj_at_k",
    "opened",
    "pass_at_k",
    "read_join",
    "read_samples",
    "score_file",
    "score_frame",
]
