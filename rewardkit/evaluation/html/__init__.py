"""A scored file as one HTML page that needs no network: figures, charts, and every response to look at."""

from __future__ import annotations

from rewardkit.evaluation.html.report import write_report as write_report
