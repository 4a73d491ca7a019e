"""Offline scoring: a parquet or a DataFrame in, the same rows with their scores out."""

from __future__ import annotations

from rewardkit.offline.columns import Columns
from rewardkit.offline.frame import score_frame
from rewardkit.offline.metrics import best_at_k, group_metrics, maj_at_k, pass_at_k
from rewardkit.offline.report import Report, SourceReport
from rewardkit.offline.score import score_file

__all__ = [
    "Columns",
    "Report",
    "SourceReport",
    "best_at_k",
    "group_metrics",
    "maj_at_k",
    "pass_at_k",
    "score_file",
    "score_frame",
]
