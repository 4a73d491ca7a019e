"""Advice on the reward that would read the responses of a file, where its data source has none, or where all
score alike. How a log that names no data source is read is in `logs.trial`.

Only rewards of text are tried, on the first rows; judges and the sandbox are not asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rewardkit.checks.first_look import near_inputs
from rewardkit.errors import InputError
from rewardkit.logs.layout import ReadOptions
from rewardkit.logs.reader import opened
from rewardkit.logs.samples import to_batch
from rewardkit.logs.trial import ROWS, is_right
from rewardkit.offline.report import Report
from rewardkit.registry import REGISTRY
from rewardkit.scoring.scorer import Scorer
from rewardkit.types import Sample

_MOST = 0.5
"""Share of the rows from which on a reward reads a file."""
_OFFERED = 0.2
"""A reward that scores fewer of the rows as right is not offered."""


@dataclass(frozen=True, slots=True)
class _Reading:
    """Reading of some responses by one reward."""

    source: str
    read: float
    """Share of the responses in which it finds an answer."""
    right: float
    """Share of those that it pays in full."""


def which_reward(paths: Iterable[str | Path], options: ReadOptions, scorer: Scorer) -> str:
    """Return in one line which rewards would score the first file, the best first; empty where none would.

    Args:
        options: what the user says of the file, but for the data source.
    """
    samples = _some_samples(paths, replace(options, data_source="?"))
    offered = _offered(_readings(samples, scorer)) if samples else []
    return f"of the first {len(samples)} responses, {', '.join(offered)}" if offered else ""


def second_look(paths: Iterable[str | Path], options: ReadOptions, scorer: Scorer, report: Report) -> str:
    """Return in one line what is odd where no response is right, or all are; empty for nothing.

    Some rows are scored again for it, so it looks at nothing that a reward other than those tried has scored:
    the user has chosen that one, and a call of it may take long, or cost something.

    Args:
        report: the totals of scoring these files.
    """
    scored = [name for name, source in report.sources.items() if source.scored]
    if not scored or not all(scorer.reward_for(name).readings for name in scored):
        return ""
    shares = {source.accuracy if source.scored else 0.0 for source in report.sources.values()}
    if shares not in ({0.0}, {1.0}):
        return ""
    samples = _some_samples(paths, options)
    if not samples:
        return ""
    own = _reading("it", samples, scorer)
    others = [one for one in _readings(samples, scorer) if one.source not in report.sources]
    if shares == {1.0}:
        strict = [one for one in others if _is_framed(one.source) and one.read >= _MOST > one.right]
        found = [
            f"{one.source} finds an answer in {one.read:.0%} and scores only {one.right:.0%} as right"
            for one in strict
        ]
        all_right = "all responses are scored as right, but of the first"
        return f"{all_right} {len(samples)} responses, {found[0]}" if found else ""
    if own.read >= _MOST and not any(one.right for one in others):
        return ""
    offered = _offered(others) or ["no other reward of text scores more as right"]
    return f"no response is scored as right; of the first {len(samples)} responses, {', '.join(offered)}"


def _is_framed(source: str) -> bool:
    """Tell whether a reward finds an answer in few texts that hold none."""
    reward = REGISTRY.find(source)
    return reward is not None and "format" in reward.parts


def _offered(readings: Sequence[_Reading]) -> list[str]:
    paying = sorted((one for one in readings if one.right >= _OFFERED), key=lambda one: -one.right)[:3]
    return [f"--data-source {one.source} scores {one.right:.0%} as right" for one in paying]


def _readings(samples: Sequence[Sample], scorer: Scorer) -> list[_Reading]:
    """Readings of samples by each reward that is right by its frames alone; with an option it may guess."""
    return [_reading(source, samples, scorer) for source in REGISTRY.readings() if ":" not in source]


def _reading(source: str, samples: Sequence[Sample], scorer: Scorer) -> _Reading:
    """Readings of samples by a reward; `it`: the reward of each."""
    scores = scorer.score_batch([one if source == "it" else _named(one, source) for one in samples])
    read = [score for score in scores if score.status == "ok" and score.extracted]
    return _Reading(source, len(read) / len(scores), sum(map(is_right, read)) / len(scores))


def _some_samples(paths: Iterable[str | Path], options: ReadOptions) -> list[Sample]:
    """The first samples of the first file that say something."""
    for source in near_inputs(paths)[:1]:
        try:
            with opened(source, options) as (file, layout):
                batch = to_batch(next(file.chunks()).first(ROWS), layout)
        except (InputError, StopIteration):
            continue
        return [one for one in batch.usable if one.response.strip()]
    return []


def _named(sample: Sample, source: str) -> Sample:
    return Sample(source, sample.response, sample.ground_truth, sample.prompt, sample.extra_info)
